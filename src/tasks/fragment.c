/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fragment: fragments IPv4 packets that are larger than the next hop or the access port takes (RFC
 * 791 section 2.3, RFC 1812 section 5.2.6). route (untagged) and qinq_encap (with two tags) hand
 * over packets whose DF bit is clear. Fragments are copies with the Ethernet header and the
 * metadata of their packet. This is a slow path: packets of the right size do not come here.
 */
#define ALLOW_EXPERIMENTAL_API /* rte_ipv4_fragment_copy_nonseg_packet() */

#include <errno.h>
#include <string.h>

#include <rte_ip_frag.h>

#include "base/log.h"
#include "engine/task.h"
#include "packet/frame.h"
#include "packet/ipv4.h"
#include "packet/pppoe.h"
#include "packet/qinq.h"
#include "tables/tables.h"

enum { OUT_TO, OUT_PUNT };
enum { BY_NEXTHOP, BY_SUBSCRIBER };
enum { ARG_BY, N_ARGS };
enum { DROP_BAD_FRAME, DROP_DF_SET, DROP_NO_MBUF, DROP_NO_MTU, DROP_TOO_MANY, N_DROPS };

static const char *const by_choices[] = {
    [BY_NEXTHOP] = "nexthop", [BY_SUBSCRIBER] = "subscriber", NULL};
static const uint32_t by_needs[] = {[BY_NEXTHOP] = FACT_NEXTHOP, [BY_SUBSCRIBER] = FACT_SUBSCRIBER};

static const struct task_param params[N_ARGS] = {
    [ARG_BY] = {.name = "by",
                .type = PARAM_ENUM,
                .def = "nexthop",
                .choices = by_choices,
                .choice_needs = by_needs,
                .help = "whose limit it is: the next hop's (MTU less tunnel and labels) or that of "
                        "the subscriber's access port"},
};

static const struct task_drop drops[N_DROPS] = {
    [DROP_BAD_FRAME] = {"bad_frame", "Neither plain nor double-tagged IPv4",
                        "Connect only the output fragment of route or qinq_encap to the task."},
    [DROP_DF_SET] = {"df_set", "Too large for the way on, and must not be fragmented (DF)",
                     "Larger mtu of the port, or a smaller MSS at the subscriber; connect the "
                     "output punt, and the sender is told."},
    [DROP_NO_MBUF] = {"no_mbuf", "The pool had no buffers for the fragments",
                      "More mbufs in the task's pool."},
    [DROP_NO_MTU] = {"no_mtu", "No MTU is known for the way on",
                     "Correct the parameter by: the packet names no subscriber or next hop."},
    [DROP_TOO_MANY] = {"too_many", "It would need more than 64 fragments",
                       "Larger mtu of the port."},
};

#define MAX_FRAGMENTS BURST_MAX /* of one packet: one flush hands on no more */

struct fragment {
    const struct tables *tables;
    struct rte_mempool *pool;
    unsigned by;
    uint16_t room; /* largest IP packet that an mbuf of the pool holds */
};

/* Largest IP packet that the packet's next hop or access port takes; 0: not known. */
static uint16_t max_ip(const struct fragment *f, const struct rte_mbuf *m)
{
    const struct subscriber_table *s = f->tables->subscribers;
    const struct route_table *r = f->tables->routes;
    uint32_t id;
    uint16_t max = 0;

    if (f->by == BY_SUBSCRIBER) {
        id = meta_subscriber(m);
        if (id >= 1 && id <= s->n)
            max = s->record[id].mtu;
    } else {
        id = meta_nexthop(m);
        if (id >= 1 && id <= r->n_nexthops)
            max = r->nexthop[id].max_ip;
    }
    return RTE_MIN(max, f->room);
}

/* Bytes before the IPv4 header, ETH_LEN, QINQ_LEN or PPPOE_QINQ_LEN; 0: the frame is neither plain
 * nor double-tagged IPv4, nor that in a PPPoE session. The headers are checked here because a task
 * has no fact for "either form". */
static uint32_t l2_length(const struct rte_mbuf *m)
{
    const uint8_t *f = frame_bytes(m);
    uint32_t l2 = ETH_LEN;
    struct pppoe session;
    rte_be16_t type;

    if (m->data_len < ETH_LEN)
        return 0;
    type = eth_type(f);
    if (type == RTE_BE16(TPID_S) || type == RTE_BE16(TPID_C)) {
        if (m->data_len < QINQ_LEN || !qinq_is_double(qinq_tags(f)))
            return 0;
        l2 = QINQ_LEN;
        type = qinq_type(f);
    }
    if (type == RTE_BE16(PPPOE_TYPE)) {
        if (!pppoe_read(f + l2, m->data_len - l2, &session) || session.protocol != PPP_IPV4)
            return 0;
        l2 += PPPOE_PPP_LEN;
        type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
    }
    if (type != RTE_BE16(RTE_ETHER_TYPE_IPV4) ||
        ipv4_check((const struct rte_ipv4_hdr *)(f + l2), m->data_len - l2) != IPV4_OK)
        return 0;
    return l2;
}

/* Give a fragment the Ethernet header and the metadata of its packet, and a checksum. */
static void finish(struct rte_mbuf *part, const struct rte_mbuf *whole, const uint8_t *l2,
                   uint32_t l2_len, uint32_t min_len)
{
    struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod(part, struct rte_ipv4_hdr *);
    uint8_t *f;

    ip->hdr_checksum = 0;
    ip->hdr_checksum = rte_ipv4_cksum(ip);
    /* an mbuf from the pool has its whole headroom, which is larger than l2_len */
    f = (uint8_t *)rte_pktmbuf_prepend(part, (uint16_t)l2_len);
    memcpy(f, l2, l2_len);
    if (l2_len == PPPOE_QINQ_LEN)
        store16(f + QINQ_LEN + 4, net16((uint16_t)(part->pkt_len - QINQ_LEN - PPPOE_LEN)));
    /* an mbuf of the pool holds the shortest frame: fragment_init() */
    frame_pad(part, min_len);
    part->port = whole->port;
    part->packet_type = whole->packet_type;
    part->vlan_tci = whole->vlan_tci;
    part->vlan_tci_outer = whole->vlan_tci_outer;
    part->hash = whole->hash;
    part->l3_len = 0;
}

/* Length up to which a fragment is padded: a tagged frame goes to a port next, an untagged one may
 * get headers that make it long enough. */
static uint32_t min_length(const struct fragment *f, const struct rte_mbuf *m, uint32_t l2_len)
{
    if (l2_len >= QINQ_LEN)
        return ETH_MIN_LEN;
    return f->by == BY_NEXTHOP ? f->tables->routes->nexthop[meta_nexthop(m)].min_len : 0;
}

static void split(struct task *t, struct rte_mbuf *m, uint32_t l2_len, uint16_t max)
{
    const struct fragment *f = t->state;
    struct rte_mbuf *part[MAX_FRAGMENTS];
    uint32_t min_len = min_length(f, m, l2_len);
    uint8_t l2[PPPOE_QINQ_LEN];
    int32_t n;

    memcpy(l2, frame_bytes(m), l2_len);
    rte_pktmbuf_adj(m, (uint16_t)l2_len);
    n = rte_ipv4_fragment_copy_nonseg_packet(m, part, MAX_FRAGMENTS, max, f->pool);
    if (unlikely(n < 0)) {
        task_drop(t, m, n == -ENOMEM ? DROP_NO_MBUF : DROP_TOO_MANY);
        return;
    }
    t->created += (uint64_t)n;
    for (int32_t i = 0; i < n; i++) {
        finish(part[i], m, l2, l2_len, min_len);
        task_emit(t, OUT_TO, part[i]);
    }
    task_consume(t, &m, 1);
}

static void fragment_one(struct task *t, struct rte_mbuf *m)
{
    uint32_t l2 = l2_length(m), total;
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(frame_bytes(m) + l2);
    uint16_t max = max_ip(t->state, m);

    if (unlikely(l2 == 0 || max == 0)) {
        task_drop(t, m, l2 == 0 ? DROP_BAD_FRAME : DROP_NO_MTU);
        return;
    }
    total = rte_be_to_cpu_16(ip->total_length);
    if (total <= max) {
        task_emit(t, OUT_TO, m);
        return;
    }
    if ((ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_DF_FLAG)) != 0) {
        task_punt(t, OUT_PUNT, m, PUNT_TOO_BIG, DROP_DF_SET);
        return;
    }
    frame_set(m, 0, l2 + total); /* padding is no payload */
    split(t, m, l2, max);
}

/* The fragments of one packet may fill a burst, so each packet's leave before the next packet. */
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
    f->by = (unsigned)env->cfg->param[ARG_BY].u;
    if (room < RTE_PKTMBUF_HEADROOM + RTE_ETHER_MIN_MTU) {
        log_error("task %s: its pool's data_room of %u bytes holds no fragment", env->cfg->name,
                  room);
        return -EINVAL;
    }
    f->room = (uint16_t)(room - RTE_PKTMBUF_HEADROOM);
    return 0;
}

const struct task_type task_fragment = {
    .schema = {.type = "fragment",
               .help = "fragments IPv4 packets that are larger than their way out takes",
               .kind = TASK_WORKER,
               .makes = true,
               .params = params,
               .n_params = N_ARGS,
               .outputs = {[OUT_TO] = {"to", "fragments, and packets that need not be cut"},
                           [OUT_PUNT] = {"punt", "packets that must not be fragmented"}},
               .drops = drops,
               .n_drops = N_DROPS,
               /* IPv4, with tags or without, is no fact: the task checks it */
               .needs = FACT_EGRESS},
    .state_size = sizeof(struct fragment),
    .init = fragment_init,
    .handle = fragment_handle,
};
