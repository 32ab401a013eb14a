/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Router advertisements (RFC 4861 section 6.2): to a subscriber who solicits one, at once, because
 * on his link is no other router whose answer could collide; and to all nodes of each link once in
 * an interval, over which the subscribers are spread, so that no burst leaves however many they
 * are. A CPE gets its prefix and its default router by them alone (RFC 4862).
 */
#include "packet/frame.h"
#include "packet/nd.h"
#include "packet/qinq.h"
#include "tasks/arp/discovery.h"

#define LOOK_MAX 256u            /* subscribers looked at in one round of the core */
#define SEND_MAX (BURST_MAX / 2) /* advertisements sent in one round */

/* Write what the gateway advertises on a subscriber's link to an address, behind the tags. Returns
 * the length of the frame. A prefix is for addresses that hosts make; one address is given by
 * DHCPv6 (M). */
static uint32_t write_advert(const struct arp *a, uint32_t id, uint8_t *f, const uint8_t *to)
{
    const struct subscriber *s = &a->tables->subscribers->record[id];
    const struct subscriber6 *s6 = &a->tables->subscribers->v6->record[id];
    struct nd_router r = a->router;
    uint8_t ours[IPV6_ADDR_LEN];

    r.mtu = s->mtu >= IPV6_MIN_MTU ? s->mtu : 0;
    r.has_prefix = s6->wan_len == 64;
    r.prefix = s6->wan_upper;
    if (s6->wan_len == 128)
        r.flags |= ND_FLAG_MANAGED;
    nd_link_local(s->l2 + 6, ours);
    store16(f + QINQ_LEN - 2, RTE_BE16(RTE_ETHER_TYPE_IPV6));
    return QINQ_LEN + nd_write_router((struct ipv6_hdr *)(f + QINQ_LEN), &r, ours, to, s->l2 + 6);
}

void arp_advertise(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                   const struct nd *nd, uint32_t id)
{
    struct arp *a = t->state;
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)(f->bytes + f->l2_len);
    const struct subscriber *s = &a->tables->subscribers->record[id];
    uint8_t to[IPV6_ADDR_LEN], mac[6];

    if (m->data_off + QINQ_LEN + ND_ROUTER_MOST > m->buf_len) {
        task_drop(t, m, DROP_NO_ROOM);
        return;
    }
    if (ipv6_kind(ip->source) == IPV6_UNSPECIFIED) {
        nd_all_nodes(to);
        nd_group_mac(to, mac);
    } else {
        memcpy(to, ip->source, sizeof(to));
        memcpy(mac, nd->mac != NULL ? nd->mac : f->bytes + 6, sizeof(mac));
    }
    memcpy(f->bytes, s->l2, QINQ_LEN);
    memcpy(f->bytes, mac, sizeof(mac));
    frame_set(m, 0, write_advert(a, id, f->bytes, to));
    meta_set_out_port(m, s->port);
    a->adverts++;
    arp_send(t, m);
}

static bool send_to_all(struct task *t, uint32_t id)
{
    struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];
    struct rte_mbuf *m = arp_new_frame(t, s->l2, QINQ_LEN, ND_ROUTER_MOST);
    uint8_t all[IPV6_ADDR_LEN];

    if (m == NULL)
        return false;
    nd_all_nodes(all);
    nd_group_mac(all, frame_bytes(m));
    frame_set(m, 0, write_advert(a, id, frame_bytes(m), all));
    a->adverts++;
    arp_send_question(t, m, s->port);
    return true;
}

bool arp_is_whole(const struct arp *a, uint32_t id)
{
    const struct subscriber_table *table = a->tables->subscribers;
    const struct subscriber *s = &table->record[id];
    uint16_t svlan = net16(load16(s->l2 + ETH_MACS + 2)),
             cvlan = net16(load16(s->l2 + QINQ_LEN - 4));

    return idmap_get(table->by_vlan, subscriber_vlan_key(s->port, svlan, cvlan)) == id;
}

uint16_t arp_advertise_all(struct task *t)
{
    struct arp *a = t->state;
    uint64_t entries = a->tables->subscribers->capacity;
    uint32_t look = arp_walk_due(&a->advertisements, entries, LOOK_MAX);
    uint16_t sent = 0;

    for (; look > 0 && sent < SEND_MAX; look--) {
        uint32_t id = arp_walk_next(&a->advertisements, entries) + 1;

        if (arp_is_whole(a, id) && a->tables->subscribers->record[id].has_ipv6)
            sent += send_to_all(t, id);
    }
    return sent;
}

void arp_advertise_init(struct arp *a, uint32_t interval)
{
    uint64_t entries = a->tables->subscribers->capacity;

    if (a->tables->subscribers->v6 != NULL && interval != 0)
        arp_walk_pace(&a->advertisements, entries, interval);
}
