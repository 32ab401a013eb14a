/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gre_encap: puts packets into the GRE tunnel of their next hop: outer IPv4 and GRE, with the
 * subscriber's key (RFC 2890) or without. Packets whose next hop has no tunnel pass unchanged.
 *
 *   old frame:                       eth 14 | inner IPv4 ...
 *   new frame: eth 14 | outer IPv4 20 | GRE 8 | inner IPv4 ...
 */
#include "engine/drops.h"
#include "engine/task.h"
#include "packet/bytes.h"
#include "packet/ethernet.h"
#include "packet/frame.h"
#include "packet/gre.h"
#include "packet/ipv4.h"
#include "tables/tables.h"

enum { OUT_TO };
enum { DSCP_COPY, DSCP_ZERO };
enum { ARG_KEY, ARG_DSCP, N_ARGS };
enum { DROP_NO_KEY, DROP_NO_HEADROOM, N_DROPS };

static const char *const dscps[] = {[DSCP_COPY] = "copy", [DSCP_ZERO] = "zero", NULL};

static const struct task_param params[N_ARGS] = {
    [ARG_KEY] = {.name = "key",
                 .type = PARAM_BOOL,
                 .def = "true",
                 .help = "write the subscriber's key; false: GRE without key field"},
    [ARG_DSCP] = {.name = "dscp",
                  .type = PARAM_ENUM,
                  .def = "copy",
                  .choices = dscps,
                  .help = "DSCP of the outer header: the packet's, or 0"},
};

static const struct task_drop drops[N_DROPS] = {
    [DROP_NO_KEY] = {"no_key", "The subscriber has no GRE key",
                     "Give the subscriber gre_key, or say key = false."},
    [DROP_NO_HEADROOM] = {DROP_IS_NO_HEADROOM},
};

#define OUTER_LEN (sizeof(struct rte_ipv4_hdr))

struct gre_encap {
    const struct nexthop *nexthop;
    const struct subscriber *record;
    uint8_t tos_mask; /* bits of the inner TOS byte that the outer TOS byte gets */
    bool with_key;
    bool cold; /* packets come from a port or another core */
};

static int init(struct task *t, const struct task_env *env)
{
    const struct plan_instance *self = &env->plan->instances[env->instance];
    struct gre_encap *e = t->state;

    e->nexthop = env->tables->routes->nexthop;
    e->record = env->tables->subscribers->record;
    e->with_key = env->cfg->param[ARG_KEY].u != 0;
    /* the DSCP only (RFC 2983): a Not-ECT outer header works with every far end (RFC 6040 section
     * 4.3) */
    e->tos_mask = env->cfg->param[ARG_DSCP].u == DSCP_COPY ? 0xfc : 0;
    e->cold = self->n_rx > 0 || self->in_ring != CFG_NONE;
    return 0;
}

/*
 * Write the Ethernet header, the outer IPv4 header and the first four bytes of GRE from the next
 * hop's template; len: bytes of outer IPv4 and GRE. Returns the outer IPv4 header. No store reaches
 * the inner header. With the usual headroom, no store that holds a byte which mpls_push will read
 * (DSCP, TTL) crosses a cache line: a load waits until such a store has reached the cache.
 */
static inline uint8_t *write_outer(struct rte_mbuf *m, const struct nexthop *nh, uint32_t len,
                                   uint8_t tos_mask)
{
    uint8_t *inner = frame_bytes(m) + ETH_LEN, *outer = inner - len;
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)inner;
    uint32_t total = net16(ip->total_length) + len;
    /* version and IHL come from the template: here are 0, TOS and total length */
    rte_be32_t first = rte_cpu_to_be_32((uint32_t)(ip->type_of_service & tos_mask) << 16 | total);

    copy16(outer - ETH_LEN, nh->eth); /* the last 2 bytes are overwritten below */
    store32(outer, load32(nh->ip_gre) | first);
    store32(outer + 4, load32(nh->ip_gre + 4));
    copy16(outer + 8, nh->ip_gre + 8);
    store16(outer + offsetof(struct rte_ipv4_hdr, hdr_checksum),
            (uint16_t)~csum_fold(nh->ip_sum + (first & 0xffff) + (first >> 16)));
    frame_set(m, -(int)len, ETH_LEN + total);
    return outer;
}

static inline void encap_with_key(struct rte_mbuf *m, const struct nexthop *nh, rte_be32_t key,
                                  uint8_t tos_mask)
{
    uint8_t *outer = write_outer(m, nh, OUTER_LEN + GRE_KEY_LEN, tos_mask);

    store32(outer + OUTER_LEN + GRE_LEN, key);
}

static inline void encap_without_key(struct rte_mbuf *m, const struct nexthop *nh, uint8_t tos_mask)
{
    uint8_t *outer = write_outer(m, nh, OUTER_LEN + GRE_LEN, tos_mask);

    store32(outer + OUTER_LEN, RTE_BE32(GRE_PROTO_IPV4)); /* no flags */
    /* the room behind the packet is there: route has looked for it */
    frame_pad(m, nh->min_len + OUTER_LEN + GRE_LEN);
}

static void handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    const struct gre_encap *e = t->state;
    const struct nexthop *nexthop = e->nexthop;
    const struct subscriber *record = e->record;
    const uint8_t tos_mask = e->tos_mask;
    const bool with_key = e->with_key;
    const unsigned need = OUTER_LEN + (with_key ? GRE_KEY_LEN : GRE_LEN);
    struct rte_mbuf *good[BURST_MAX];
    uint16_t k = 0;

    if (e->cold) {
        burst_prefetch_encap(m, n, 0);
        for (uint16_t i = 0; i < n; i++)
            rte_prefetch0(&record[meta_subscriber(m[i])]);
    }
    for (uint16_t i = 0; i < n; i++) {
        const struct nexthop *nh = &nexthop[meta_nexthop(m[i])];
        const struct subscriber *s = &record[meta_subscriber(m[i])];

        if (likely(nh->has_gre)) {
            if (unlikely(rte_pktmbuf_headroom(m[i]) < need)) {
                task_drop(t, m[i], DROP_NO_HEADROOM);
                continue;
            }
            if (!with_key) {
                encap_without_key(m[i], nh, tos_mask);
            } else if (likely(s->has_gre_key)) {
                encap_with_key(m[i], nh, s->gre_key, tos_mask);
            } else {
                task_drop(t, m[i], DROP_NO_KEY);
                continue;
            }
        }
        good[k++] = m[i];
    }
    if (likely(k > 0))
        task_emit_burst(t, OUT_TO, good, k);
}

const struct task_type task_gre_encap = {
    .schema = {.type = "gre_encap",
               .help = "puts packets into the GRE tunnel of their next hop",
               .kind = TASK_WORKER,
               .params = params,
               .n_params = N_ARGS,
               .outputs = {[OUT_TO] = {"to", "packets of tunnels, and those whose next hop has "
                                             "none"}},
               .drops = drops,
               .n_drops = N_DROPS,
               .needs = FACT_IPV4 | FACT_SUBSCRIBER | FACT_NEXTHOP},
    .state_size = sizeof(struct gre_encap),
    .init = init,
    .handle = handle,
};
