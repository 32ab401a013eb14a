/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gre_encap: puts packets into the GRE tunnel of their next hop: outer IPv4 or IPv6, and GRE, with
 * the subscriber's key (RFC 2890) or without. Packets whose next hop has no tunnel pass unchanged.
 *
 *   old frame:                               eth 14 | inner IPv4 or IPv6 ...
 *   new frame:         eth 14 | outer IPv4 20 | GRE 8 | inner IPv4 or IPv6 ...
 *   or:                eth 14 | outer IPv6 40 | GRE 8 | inner IPv4 or IPv6 ...
 */
#include "tasks/gre_encap.h"

#include "engine/drops.h"
#include "packet/flow.h"
#include "packet/frame.h"

#define OUTER_HOPS      64
#define FLOW_LABEL_MASK 0xfffffu

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

/* The flow label of an inner packet of that many bytes; 0 would say that there is none: RFC 6437
 * section 2. */
static uint32_t flow_label(const uint8_t *inner, uint32_t size, bool is_six)
{
    uint32_t flow = is_six ? flow_of_ipv6(inner, size) : flow_of_ipv4(inner, size);

    return RTE_MAX(flow & FLOW_LABEL_MASK, 1u);
}

uint8_t *gre_encap_write_over6(const struct gre_encap *e, uint8_t *inner, const struct nexthop *nh,
                               rte_be32_t key, bool is_six)
{
    uint32_t size = is_six ? ipv6_len((const struct ipv6_hdr *)inner)
                           : net16(((const struct rte_ipv4_hdr *)inner)->total_length),
             label = flow_label(inner, size, is_six);
    uint8_t class = is_six ? ipv6_traffic_class((const struct ipv6_hdr *)inner)
                           : ((const struct rte_ipv4_hdr *)inner)->type_of_service;
    uint8_t *gre = inner - (e->with_key ? GRE_KEY_LEN : GRE_LEN), *outer = gre - IPV6_LEN;
    uint32_t payload = (uint32_t)(inner - gre) + size;

    store32(outer, net32(UINT32_C(6) << 28 | (uint32_t)(class & e->tos_mask) << 20 | label));
    store32(outer + 4, net32(payload << 16 | IPPROTO_GRE << 8 | OUTER_HOPS));
    copy16(outer + offsetof(struct ipv6_hdr, source), nh->ends6);
    copy16(outer + offsetof(struct ipv6_hdr, destination), nh->ends6 + IPV6_ADDR_LEN);
    store16(gre, e->with_key ? RTE_BE16(GRE_HAS_KEY) : 0);
    store16(gre + 2, is_six ? RTE_BE16(GRE_PROTO_IPV6) : RTE_BE16(GRE_PROTO_IPV4));
    if (e->with_key)
        store32(gre + GRE_LEN, key);
    return outer;
}

static inline void encap(struct rte_mbuf *m, const struct gre_encap *e, const struct nexthop *nh,
                         rte_be32_t key)
{
    uint8_t *f = frame_bytes(m), *inner = f + ETH_LEN;
    uint32_t len = gre_encap_len_to(e->with_key, nh), total;

    copy16(f - len, nh->eth); /* the last 2 bytes are overwritten below */
    if (unlikely(nh->has_gre == TUNNEL_IPV6)) {
        uint8_t *outer = gre_encap_write_over6(e, inner, nh, key, eth_is_ipv6(f));

        store16(outer - 2, RTE_BE16(RTE_ETHER_TYPE_IPV6));
        total = ipv6_len((const struct ipv6_hdr *)outer) - len;
    } else if (unlikely(eth_is_ipv6(f))) {
        total = ipv6_len((const struct ipv6_hdr *)inner);
        gre_encap_write6(e, inner, nh, key);
    } else {
        total = net16(((const struct rte_ipv4_hdr *)inner)->total_length);
        gre_encap_write(e, inner, nh, key);
    }
    frame_set(m, -(int)len, ETH_LEN + len + total);
    if (!e->with_key) /* the room behind the packet is there: route has looked for it */
        frame_pad(m, nh->min_len + len);
}

static void handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    const struct gre_encap e = *(const struct gre_encap *)t->state;
    const struct nexthop *nexthop = e.nexthop;
    const struct subscriber *record = e.record;
    struct rte_mbuf *good[BURST_MAX];
    uint16_t k = 0;

    if (e.cold) {
        burst_prefetch_encap(m, n, 0);
        for (uint16_t i = 0; i < n; i++)
            rte_prefetch0(&record[meta_subscriber(m[i])]);
    }
    for (uint16_t i = 0; i < n; i++) {
        const struct nexthop *nh = &nexthop[meta_nexthop(m[i])];
        const struct subscriber *s = &record[meta_subscriber(m[i])];

        if (likely(nh->has_gre)) {
            if (unlikely(rte_pktmbuf_headroom(m[i]) < gre_encap_len_to(e.with_key, nh))) {
                task_drop(t, m[i], DROP_NO_HEADROOM);
                continue;
            }
            if (unlikely(e.with_key && !s->has_gre_key)) {
                task_drop(t, m[i], DROP_NO_KEY);
                continue;
            }
            encap(m[i], &e, nh, s->gre_key);
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
