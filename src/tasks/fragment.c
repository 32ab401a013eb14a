/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fragments IPv4 packets that are larger than their way out takes (RFC 791 section 2.3, RFC 1812
 * section 5.2.6): those that route or qinq_encap hand over because their DF bit is clear. Fragments
 * are copies that bear the metadata of their packet. A slow path: a packet of the right size passes
 * by this task elsewhere.
 */
#define ALLOW_EXPERIMENTAL_API /* rte_ipv4_fragment_copy_nonseg_packet() */

#include <errno.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_ip_frag.h>

#include "base/log.h"
#include "tables/tables.h"
#include "tasks/task_types.h"

enum { OUT_TO, OUT_PUNT };
enum { PARAM_BY };
enum { BY_NEXTHOP, BY_SUBSCRIBER };
enum { DROP_DF_SET, DROP_NO_MBUF, DROP_NO_MTU, DROP_TOO_MANY };

#define MAX_FRAGMENTS BURST_MAX /* what one flush may hand on */

struct fragment {
    const struct tables *tables;
    struct rte_mempool *pool;
    unsigned by;
    uint16_t room; /* largest IP packet that an mbuf of the pool holds */
    uint16_t mtu[CFG_MAX_PORTS];
};

/* Largest IP packet on this packet's way out; 0: that is not known. */
static uint16_t max_ip(const struct fragment *f, const struct rte_mbuf *m)
{
    const struct subscriber_table *s = f->tables->subscribers;
    const struct route_table *r = f->tables->routes;
    uint32_t id;
    uint16_t max = 0;

    if (f->by == BY_SUBSCRIBER) {
        id = meta_subscriber(m);
        if (id >= 1 && id <= s->n)
            max = f->mtu[s->record[id].port];
    } else {
        id = meta_nexthop(m);
        if (id >= 1 && id <= r->n_nexthops)
            max = r->nexthop[id].max_ip;
    }
    return RTE_MIN(max, f->room);
}

/* Give a fragment its Ethernet header, its checksum and what the mbuf of the packet says. */
static void finish(struct rte_mbuf *part, const struct rte_mbuf *whole,
                   const struct rte_ether_hdr *eth)
{
    struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod(part, struct rte_ipv4_hdr *);

    ip->hdr_checksum = 0;
    ip->hdr_checksum = rte_ipv4_cksum(ip);
    /* an mbuf fresh from its pool has its headroom */
    memcpy(rte_pktmbuf_prepend(part, sizeof(*eth)), eth, sizeof(*eth));
    part->port = whole->port;
    part->packet_type = whole->packet_type;
    part->vlan_tci = whole->vlan_tci;
    part->vlan_tci_outer = whole->vlan_tci_outer;
    part->hash = whole->hash;
    part->l2_len = 0;
    part->l3_len = 0;
}

static void split(struct task *t, struct rte_mbuf *m, uint16_t max)
{
    const struct fragment *f = t->state;
    struct rte_ether_hdr eth = *rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
    struct rte_mbuf *part[MAX_FRAGMENTS];
    int32_t n;

    rte_pktmbuf_adj(m, sizeof(eth));
    n = rte_ipv4_fragment_copy_nonseg_packet(m, part, MAX_FRAGMENTS, max, f->pool);
    if (unlikely(n < 0)) {
        task_drop(t, m, n == -ENOMEM ? DROP_NO_MBUF : DROP_TOO_MANY);
        return;
    }
    t->created += (uint64_t)n;
    for (int32_t i = 0; i < n; i++) {
        finish(part[i], m, &eth);
        task_emit(t, OUT_TO, part[i]);
    }
    task_consume(t, &m, 1);
}

static void fragment_one(struct task *t, struct rte_mbuf *m)
{
    const struct rte_ipv4_hdr *ip =
        rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, sizeof(struct rte_ether_hdr));
    uint32_t total = rte_be_to_cpu_16(ip->total_length);
    uint32_t frame = (uint32_t)sizeof(struct rte_ether_hdr) + total;
    uint16_t max = max_ip(t->state, m);

    if (unlikely(max == 0)) {
        task_drop(t, m, DROP_NO_MTU);
        return;
    }
    if (total <= max) {
        task_emit(t, OUT_TO, m);
        return;
    }
    if ((ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_DF_FLAG)) != 0) {
        task_punt(t, OUT_PUNT, m, PUNT_TOO_BIG, DROP_DF_SET);
        return;
    }
    if (m->data_len > frame) /* padding is no payload */
        rte_pktmbuf_trim(m, (uint16_t)(m->data_len - frame));
    split(t, m, max);
}

/* One packet may make a whole burst, so each leaves before the next. */
static void fragment_handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    for (uint16_t i = 0; i < n; i++) {
        fragment_one(t, m[i]);
        task_flush(t);
    }
}

static int fragment_init(struct task *t, const struct task_env *env)
{
    struct fragment *f = t->state;
    uint16_t room = rte_pktmbuf_data_room_size(env->pool);

    f->tables = env->tables;
    f->pool = env->pool;
    f->by = (unsigned)env->cfg->param[PARAM_BY].u;
    if (room < RTE_PKTMBUF_HEADROOM + RTE_ETHER_MIN_MTU) {
        log_error("task %s: its pool's data_room of %u bytes holds no fragment", env->cfg->name,
                  room);
        return -EINVAL;
    }
    f->room = (uint16_t)(room - RTE_PKTMBUF_HEADROOM);
    for (unsigned i = 0; i < env->plan->cfg->n_ports; i++)
        f->mtu[i] = env->plan->cfg->ports[i].mtu;
    return 0;
}

static const char *const by_choices[] = {
    [BY_NEXTHOP] = "nexthop", [BY_SUBSCRIBER] = "subscriber", NULL};

const struct task_type task_fragment = {
    .schema =
        {
            .type = "fragment",
            .help = "fragments IPv4 packets that are larger than their way out takes",
            .kind = TASK_WORKER,
            .params =
                {
                    [PARAM_BY] = {.name = "by",
                                  .type = PARAM_ENUM,
                                  .def = "nexthop",
                                  .choices = by_choices,
                                  .help = "whose limit it is: the next hop's (MTU less tunnel and "
                                          "labels) or that of the subscriber's access port"},
                },
            .outputs = {[OUT_TO] = "to", [OUT_PUNT] = "punt"},
            .drops =
                {
                    [DROP_DF_SET] = "df_set",
                    [DROP_NO_MBUF] = "no_mbuf",
                    [DROP_NO_MTU] = "no_mtu",
                    [DROP_TOO_MANY] = "too_many",
                },
            .needs = FACT_IPV4 | FACT_EGRESS,
        },
    .state_size = sizeof(struct fragment),
    .init = fragment_init,
    .handle = fragment_handle,
};
