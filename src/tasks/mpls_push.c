/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpls_push: pushes the label of the next hop, with the TTL of the IPv4 header or the hop limit of
 * the IPv6 header (RFC 3443 section 3.1, the uniform model) and a traffic class from its DSCP.
 * Packets whose next hop has no label pass unchanged.
 */
#include "tasks/mpls_push.h"

#include "engine/drops.h"
#include "packet/frame.h"

enum { OUT_TO };
enum { EXP_DSCP, EXP_ZERO };
enum { ARG_EXP, N_ARGS };
enum { DROP_NO_HEADROOM, N_DROPS };

static const char *const exps[] = {[EXP_DSCP] = "dscp", [EXP_ZERO] = "zero", NULL};

static const struct task_param params[N_ARGS] = {
    [ARG_EXP] = {.name = "exp",
                 .type = PARAM_ENUM,
                 .def = "dscp",
                 .choices = exps,
                 .help = "traffic class of the label: the upper bits of the DSCP, or 0"},
};

static const struct task_drop drops[N_DROPS] = {[DROP_NO_HEADROOM] = {DROP_IS_NO_HEADROOM}};

static int init(struct task *t, const struct task_env *env)
{
    const struct plan_instance *self = &env->plan->instances[env->instance];
    struct mpls_push *p = t->state;

    p->nexthop = env->tables->routes->nexthop;
    p->exp_from_dscp = env->cfg->param[ARG_EXP].u == EXP_DSCP;
    p->cold = self->n_rx > 0 || self->in_ring != CFG_NONE;
    return 0;
}

static inline void push(struct rte_mbuf *m, const struct nexthop *nh, bool exp_from_dscp)
{
    uint8_t *f = frame_bytes(m);

    if (unlikely(eth_is_ipv6(f)))
        mpls_push_write6(f + ETH_LEN, nh, exp_from_dscp);
    else
        mpls_push_write(f + ETH_LEN, nh, exp_from_dscp);
    frame_set(m, -MPLS_ENTRY_LEN, m->data_len + MPLS_ENTRY_LEN);
}

static void handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    const struct mpls_push *p = t->state;
    const struct nexthop *nexthop = p->nexthop;
    const bool exp_from_dscp = p->exp_from_dscp;
    struct rte_mbuf *good[BURST_MAX];
    uint16_t k = 0;

    if (p->cold)
        burst_prefetch_frames(m, n);
    for (uint16_t i = 0; i < n; i++) {
        const struct nexthop *nh = &nexthop[meta_nexthop(m[i])];

        if (likely(nh->has_mpls)) {
            if (unlikely(rte_pktmbuf_headroom(m[i]) < MPLS_ENTRY_LEN)) {
                task_drop(t, m[i], DROP_NO_HEADROOM);
                continue;
            }
            push(m[i], nh, exp_from_dscp);
        }
        good[k++] = m[i];
    }
    if (likely(k > 0))
        task_emit_burst(t, OUT_TO, good, k);
}

const struct task_type task_mpls_push = {
    .schema = {.type = "mpls_push",
               .help = "pushes the MPLS label of the next hop",
               .kind = TASK_WORKER,
               .params = params,
               .n_params = N_ARGS,
               .outputs = {[OUT_TO] = {"to", "labelled packets, and those whose next hop has no "
                                             "label"}},
               .drops = drops,
               .n_drops = N_DROPS,
               .needs = FACT_IPV4 | FACT_NEXTHOP,
               .loses = FACT_IPV4},
    .state_size = sizeof(struct mpls_push),
    .init = init,
    .handle = handle,
};
