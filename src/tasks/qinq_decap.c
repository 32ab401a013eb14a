/* SPDX-License-Identifier: BSD-3-Clause */
/* qinq_decap: takes off both tags, and the padding of Ethernet behind the packet (RFC 894; RFC 2464
 * has the same for IPv6). */
#include "tasks/qinq_decap.h"

#include "packet/bytes.h"
#include "packet/frame.h"
#include "packet/ipv6.h"
#include "tables/tables.h"
#include "tasks/fused/fused.h"

enum { OUT_TO };
enum { DSCP_KEEP, DSCP_PCP };
enum { ARG_DSCP, N_ARGS };

static const char *const dscps[] = {[DSCP_KEEP] = "keep", [DSCP_PCP] = "pcp", NULL};

static const struct task_param params[N_ARGS] = {
    [ARG_DSCP] = {.name = "dscp",
                  .type = PARAM_ENUM,
                  .def = "keep",
                  .choices = dscps,
                  .help = "DSCP of the packet: as it is, or the class selector of the outer tag's "
                          "priority"},
};

static int init(struct task *t, const struct task_env *env)
{
    const struct plan_instance *self = &env->plan->instances[env->instance];
    struct qinq_decap *d = t->state;

    d->dscp_from_pcp = env->cfg->param[ARG_DSCP].u == DSCP_PCP;
    d->encapsulates = route_has_encap(env->tables->routes);
    d->cold = self->n_rx > 0 || self->in_ring != CFG_NONE ||
              plan_is_behind_waiting(env->plan, env->instance);
    return 0;
}

static inline void decap(struct rte_mbuf *m, const struct qinq_decap *d)
{
    uint8_t *f = frame_bytes(m), *packet = f + QINQ_LEN;
    uint32_t len;

    if (likely(qinq_type(f) != RTE_BE16(RTE_ETHER_TYPE_IPV6))) {
        qinq_decap_dscp(d, f);
        len = net16(((const struct rte_ipv4_hdr *)packet)->total_length);
    } else {
        qinq_decap_dscp6(d, f);
        len = ipv6_len((const struct ipv6_hdr *)packet);
    }
    eth_move_macs(f + QINQ_TAGS_LEN, f);
    frame_set(m, QINQ_TAGS_LEN, ETH_LEN + len);
}

static void handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    const struct qinq_decap d = *(const struct qinq_decap *)t->state;

    if (d.cold && d.encapsulates)
        burst_prefetch_encap(m, n, QINQ_TAGS_LEN);
    else if (d.cold)
        burst_prefetch_frames(m, n);
    for (uint16_t i = 0; i < n; i++)
        decap(m[i], &d);
    task_emit_burst(t, OUT_TO, m, n);
}

const struct task_type task_qinq_decap = {
    .schema = {.type = "qinq_decap",
               .help = "takes both VLAN tags and the Ethernet padding off",
               .kind = TASK_WORKER,
               .params = params,
               .n_params = N_ARGS,
               .outputs = {[OUT_TO] = {"to", "all packets, without tags"}},
               .needs = FACT_QINQ_IPV4,
               .gives = FACT_IPV4,
               .loses = FACT_QINQ_IPV4},
    .state_size = sizeof(struct qinq_decap),
    .init = init,
    .handle = handle,
    .chains = chains_routed,
    .n_chains = N_CHAINS_ROUTED,
};
