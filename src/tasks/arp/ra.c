/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Router advertisements (RFC 4861 section 6.2): to a subscriber who solicits one, at once, because
 * on his link is no other router whose answer could collide; and to all nodes of each link once in
 * an interval, over which the subscribers are spread, so that no burst leaves however many they
 * are. A CPE gets its prefix and its default router by them alone (RFC 4862).
 *
 * The first round is a faster one, and so is the one after a port's link has come up again: the
 * gateway may be another device, with another MAC, and announces itself. An advertisement of a
 * router says all that one of a neighbour does, and to CPEs that have not heard of that router,
 * too.
 */
#include "packet/arp.h"
#include "packet/frame.h"
#include "packet/nd.h"
#include "packet/qinq.h"
#include "tasks/arp/discovery.h"

#define LOOK_MAX 256u               /* subscribers looked at in one round of the core */
#define SEND_MAX (BURST_MAX / 2)    /* frames sent in one round, and one more */
#define ANNOUNCE (60 * TICKS_PER_S) /* over which announcements are spread */

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

/* Where there are no router advertisements: an unsolicited one of a neighbour (RFC 4861 section
 * 7.2.6). */
static bool announce_neighbour(struct task *t, uint32_t id)
{
    struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];
    struct rte_mbuf *m = arp_new_frame(t, s->l2, QINQ_LEN, ND_NEIGHBOUR_SIZE);
    uint8_t all[IPV6_ADDR_LEN], ours[IPV6_ADDR_LEN], *f;

    if (m == NULL)
        return false;
    f = frame_bytes(m);
    nd_all_nodes(all);
    nd_group_mac(all, f);
    nd_link_local(s->l2 + 6, ours);
    store16(f + QINQ_LEN - 2, RTE_BE16(RTE_ETHER_TYPE_IPV6));
    nd_write((struct ipv6_hdr *)(f + QINQ_LEN), ICMPV6_ADVERT, ND_FLAG_ROUTER | ND_FLAG_OVERRIDE,
             ours, all, ours, s->l2 + 6);
    a->announced++;
    arp_send_question(t, m, s->port);
    return true;
}

/* The announcement of RFC 5227 section 3, a gratuitous request, of the address that the subscriber
 * has for his gateway. */
static bool announce_ipv4(struct task *t, uint32_t id)
{
    struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];
    uint32_t ours = arp_gateway_address(a, s->port, rte_be_to_cpu_32(subscriber_ipv4(s)));
    struct rte_mbuf *m;
    uint8_t *f;

    if (ours == 0)
        return false;
    m = arp_new_frame(t, s->l2, QINQ_LEN, ARP_LEN);
    if (m == NULL)
        return false;
    f = frame_bytes(m);
    memset(f, 0xff, 6);
    store16(f + QINQ_LEN - 2, RTE_BE16(RTE_ETHER_TYPE_ARP));
    arp_write((struct rte_arp_hdr *)(f + QINQ_LEN), RTE_ARP_OP_REQUEST, s->l2 + 6,
              rte_cpu_to_be_32(ours), NULL, rte_cpu_to_be_32(ours));
    a->announced++;
    arp_send_question(t, m, s->port);
    return true;
}

/* What a subscriber's link has in his turn. A PPPoE session has no ARP. */
static uint16_t take_turn(struct task *t, uint32_t id)
{
    const struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];
    bool announces = (a->announcing >> s->port & 1) != 0;
    uint16_t sent = 0;

    if (s->has_ipv6 && a->ra_interval != 0)
        sent += send_to_all(t, id);
    else if (s->has_ipv6 && announces)
        sent += announce_neighbour(t, id);
    if (announces && s->ipv4_mask != 0 && s->session == 0)
        sent += announce_ipv4(t, id);
    return sent;
}

bool arp_is_whole(const struct arp *a, uint32_t id)
{
    const struct subscriber_table *table = a->tables->subscribers;
    const struct subscriber *s = &table->record[id];
    uint16_t svlan = net16(load16(s->l2 + ETH_MACS + 2)),
             cvlan = net16(load16(s->l2 + QINQ_LEN - 4));

    return idmap_get(table->by_vlan, subscriber_vlan_key(s->port, svlan, cvlan)) == id;
}

/* Nobody waits longer for his turn in a round that announces. */
static void set_pace(struct arp *a)
{
    uint64_t entries = a->tables->subscribers->capacity;
    uint32_t ticks = a->ra_interval;

    if (a->announcing != 0 && (ticks == 0 || ticks > ANNOUNCE))
        ticks = ANNOUNCE;
    if (ticks != 0)
        arp_walk_pace(&a->advertisements, entries, ticks);
    else
        a->advertisements = (struct arp_walk){.at = a->advertisements.at};
}

static void announce(struct arp *a, uint64_t ports)
{
    if (!a->is_silent)
        a->announcing |= ports;
    a->announce_left = a->tables->subscribers->capacity;
    set_pace(a);
}

void arp_look_at_links(struct arp *a)
{
    uint64_t ports = 0;

    for (unsigned i = 0; a->link_ups != NULL && i < a->cfg->n_ports; i++) {
        uint32_t ups = __atomic_load_n(&a->link_ups[i], __ATOMIC_RELAXED);

        if (ups != a->ups_seen[i])
            ports |= UINT64_C(1) << i;
        a->ups_seen[i] = ups;
    }
    if (ports != 0)
        announce(a, ports);
}

uint16_t arp_advertise_all(struct task *t)
{
    struct arp *a = t->state;
    uint64_t entries = a->tables->subscribers->capacity;
    uint32_t look = arp_walk_due(&a->advertisements, entries, LOOK_MAX);
    uint16_t sent = 0;

    for (; look > 0 && sent < SEND_MAX; look--) {
        uint32_t id = arp_walk_next(&a->advertisements, entries) + 1;

        if (arp_is_whole(a, id))
            sent += take_turn(t, id);
        if (a->announcing != 0 && --a->announce_left == 0) {
            a->announcing = 0;
            set_pace(a);
            break;
        }
    }
    return sent;
}

void arp_advertise_init(struct arp *a, uint32_t interval)
{
    if (a->tables->subscribers->v6 != NULL)
        a->ra_interval = interval;
    announce(a, UINT64_MAX);
}
