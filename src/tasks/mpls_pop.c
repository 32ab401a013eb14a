/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpls_pop: takes the whole label stack off, because the gateway is the end of the label switched
 * path. Below the stack must be IPv4 or IPv6 (6PE, RFC 4798): the first four bits tell which, and
 * an explicit null at the bottom must agree with them. Frames without labels pass, or are dropped.
 */
#include "tasks/mpls_pop.h"

#include "engine/drops.h"
#include "packet/ethernet.h"
#include "packet/frame.h"
#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "packet/nd.h"
#include "packet/stages.h"
#include "tasks/fused/fused.h"

enum { OUT_TO, OUT_PUNT };
enum { UNLABELLED_ACCEPT, UNLABELLED_DROP };
enum { ARG_UNLABELLED, ARG_LABEL, ARG_MAX_LABELS, ARG_SCHEDULER, ARG_SHED, N_ARGS };

static const char *const unlabelled[] = {
    [UNLABELLED_ACCEPT] = "accept", [UNLABELLED_DROP] = "drop", NULL};

static const struct task_param params[N_ARGS] = {
    [ARG_UNLABELLED] = {.name = "unlabelled",
                        .type = PARAM_ENUM,
                        .def = "accept",
                        .choices = unlabelled,
                        .help = "what becomes of IPv4 and IPv6 frames without labels"},
    [ARG_LABEL] =
        {.name = "label",
         .type = PARAM_RANGE,
         .def = "16-1048575",
         .min = MPLS_FIRST_LABEL,
         .max = 1048575,
         .help = "labels that are accepted, beside the explicit nulls of IPv4 (0) and IPv6 (2)"},
    [ARG_MAX_LABELS] = {.name = "max_labels",
                        .type = PARAM_COUNT,
                        .def = "8",
                        .min = 1,
                        .max = 64,
                        .help = "deepest label stack that is accepted"},
    [ARG_SCHEDULER] = {.name = "scheduler",
                       .type = PARAM_SCHEDULER,
                       .help = "the scheduler that follows: what classes there are to shed by"},
    [ARG_SHED] = {PARAM_IS_SHED},
};

enum {
    DROP_SEGMENTED,
    DROP_SHORT_FRAME,
    DROP_NOT_IP_OR_MPLS,
    DROP_NO_BOTTOM,
    DROP_TOO_MANY_LABELS,
    DROP_UNKNOWN_LABEL,
    DROP_SPECIAL_LABEL,
    DROP_TTL_EXPIRED,
    DROP_NOT_IP,
    DROP_UNLABELLED,
    DROP_FOREIGN_MAC,
    DROP_NO_SLOW_PATH,
    DROP_OVERLOAD,
    N_DROPS
};

static const struct task_drop drops[N_DROPS] = {
    [DROP_SEGMENTED] = {DROP_IS_SEGMENTED},
    [DROP_SHORT_FRAME] = {DROP_IS_SHORT_FRAME},
    [DROP_NOT_IP_OR_MPLS] = {"not_ip_or_mpls", "Neither IP, MPLS nor ARP",
                             "None, if rare: other protocols are not carried."},
    [DROP_NO_BOTTOM] = {"no_bottom", "The label stack has no bottom within the frame",
                        "Look at the neighbour in the core."},
    [DROP_TOO_MANY_LABELS] = {"too_many_labels", "The label stack is deeper than max_labels",
                              "Look at the neighbour in the core, or raise max_labels."},
    [DROP_UNKNOWN_LABEL] = {"unknown_label", "A label outside of the range label",
                            "Correct the label, here or at the neighbour."},
    [DROP_SPECIAL_LABEL] =
        {"special_label",
         "A label from 1 to 15 (RFC 7274: router alert, entropy label, OAM), but "
         "for IPv6 explicit null, which the gateway does nothing with",
         "Let the neighbour in the core not send it: the gateway's end of the "
         "path signals no such label."},
    [DROP_TTL_EXPIRED] = {"ttl_expired", "The TTL of the label ran out",
                          "A traceroute, or a loop in the core."},
    [DROP_NOT_IP] = {"not_ip",
                     "Below the labels is something else than IPv4 or IPv6, or not what the "
                     "explicit null says",
                     "None, if rare; else tell the neighbour in the core."},
    [DROP_UNLABELLED] = {"unlabelled", "IP without a label, with unlabelled = \"drop\"",
                         "Correct the neighbour, or accept unlabelled packets."},
    [DROP_NO_SLOW_PATH] = {DROP_IS_NO_SLOW_PATH},
    [DROP_FOREIGN_MAC] = {DROP_IS_FOREIGN_MAC},
    [DROP_OVERLOAD] = {DROP_IS_OVERLOAD},
};

static void rank(const struct task *t, struct rte_mbuf *const *m, uint32_t n, uint8_t *rank)
{
    shed_rank(((const struct mpls_pop *)t->state)->dscp, m, n, rank);
}

static int init(struct task *t, const struct task_env *env)
{
    const struct param_value *param = env->cfg->param;
    struct mpls_pop *p = t->state;

    p->port_mac = env->tables->port_mac;
    p->drop_unlabelled = param[ARG_UNLABELLED].u == UNLABELLED_DROP;
    p->first = (uint32_t)param[ARG_LABEL].u;
    p->last = (uint32_t)param[ARG_LABEL].u2;
    p->max_labels = (unsigned)param[ARG_MAX_LABELS].u;
    if (param[ARG_SCHEDULER].set) {
        p->dscp = &env->tables->dscp[param[ARG_SCHEDULER].u * QOS_DIRECTIONS + QOS_DOWN];
        t->hold = (uint16_t)param[ARG_SHED].u;
    }
    return 0;
}

/* The verdict on the labels of a stack: all must be accepted. */
static inline int judge_labels(const struct mpls_pop *p, const uint8_t *stack, uint32_t len)
{
    for (uint32_t i = 0; i < len; i += MPLS_ENTRY_LEN) {
        uint32_t label = mpls_label(rte_be_to_cpu_32(load32(stack + i)));

        if (unlikely(!mpls_pop_takes(p, label) && label != MPLS_IPV6_NULL))
            return label < MPLS_FIRST_LABEL ? DROP_SPECIAL_LABEL : DROP_UNKNOWN_LABEL;
    }
    return VERDICT_GOOD;
}

/*
 * The label's TTL becomes the packet's (RFC 3443 section 3.1, the uniform model); the routing that
 * follows decrements it. A greater TTL is ignored, because a tunnel's ingress that hides its hops
 * writes 255, and no packet may live longer.
 */
static inline void lower_ttl(struct rte_ipv4_hdr *ip, uint8_t ttl)
{
    uint16_t old, new;

    if (likely(ttl >= ip->time_to_live))
        return;
    old = load16(&ip->time_to_live);
    ip->time_to_live = ttl;
    new = load16(&ip->time_to_live);
    ip->hdr_checksum = csum_replace(ip->hdr_checksum, old, new);
}

/* The EtherType of the packet of avail bytes below a stack, whose bottom label is that one, with
 * its TTL lowered; 0 where there is neither IPv4 nor IPv6, or not what the label says. */
static inline rte_be16_t below(uint8_t *packet, uint32_t avail, uint32_t bottom, uint8_t ttl)
{
    struct ipv6_hdr *ip6 = (struct ipv6_hdr *)packet;

    if (likely(avail >= sizeof(struct rte_ipv4_hdr) && packet[0] >> 4 == 4 &&
               bottom != MPLS_IPV6_NULL)) {
        lower_ttl((struct rte_ipv4_hdr *)packet, ttl);
        return RTE_BE16(RTE_ETHER_TYPE_IPV4);
    }
    if (avail < IPV6_LEN || packet[0] >> 4 != 6 || bottom == MPLS_EXPLICIT_NULL)
        return 0;
    ip6->hop_limit = RTE_MIN(ip6->hop_limit, ttl);
    return RTE_BE16(RTE_ETHER_TYPE_IPV6);
}

static inline int pop(const struct mpls_pop *p, struct rte_mbuf *m)
{
    uint8_t *f = frame_bytes(m), *stack = f + ETH_LEN;
    uint32_t avail = m->data_len - ETH_LEN;
    int len = mpls_stack_len(stack, avail, p->max_labels);
    rte_be16_t type;
    int verdict;
    uint8_t ttl;

    if (unlikely(len < 0))
        return len == MPLS_NO_BOTTOM ? DROP_NO_BOTTOM : DROP_TOO_MANY_LABELS;
    verdict = judge_labels(p, stack, (uint32_t)len);
    if (unlikely(verdict != VERDICT_GOOD))
        return verdict;
    /* a decremented TTL of 0 must be neither stripped nor forwarded (RFC 3032 section 2.4.2) */
    ttl = mpls_ttl(rte_be_to_cpu_32(load32(stack)));
    if (unlikely(ttl <= 1))
        return DROP_TTL_EXPIRED;
    type = below(stack + len, avail - (uint32_t)len,
                 mpls_label(rte_be_to_cpu_32(load32(stack + len - MPLS_ENTRY_LEN))), ttl);
    if (unlikely(type == 0))
        return DROP_NOT_IP;
    f += len;
    eth_move_macs(f, f - len);
    store16(f + ETH_MACS, type);
    frame_set(m, len, m->data_len - (uint32_t)len);
    return VERDICT_GOOD;
}

/* The verdict on a frame that is not MPLS. */
static int other(const struct mpls_pop *p, const struct rte_mbuf *m)
{
    if (m->nb_segs != 1)
        return DROP_SEGMENTED;
    if (m->data_len < ETH_LEN)
        return DROP_SHORT_FRAME;
    if (nd_is_frame(frame_bytes(m), ETH_LEN, m->data_len))
        return VERDICT_FOR_US;
    if (eth_type(frame_bytes(m)) == RTE_BE16(RTE_ETHER_TYPE_IPV4) || eth_is_ipv6(frame_bytes(m)))
        return p->drop_unlabelled ? DROP_UNLABELLED : VERDICT_GOOD;
    return eth_type(frame_bytes(m)) == RTE_BE16(RTE_ETHER_TYPE_ARP) ? VERDICT_FOR_US
                                                                    : DROP_NOT_IP_OR_MPLS;
}

static void handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    const struct mpls_pop p = *(const struct mpls_pop *)t->state;
    const uint16_t in_port = t->in_port;
    const uint32_t ahead = STAGE_FRAMES * stage_step(n);
    struct rte_mbuf *good[BURST_MAX];
    uint16_t k = 0;

    burst_prefetch_fresh(m, (uint16_t)RTE_MIN(n, ahead), 2);
    for (uint16_t i = 0; i < n; i++) {
        int verdict;

        if (i + ahead < n)
            frame_prefetch_fresh(m[i + ahead], 2);
        if (in_port != PORT_IN_MBUF)
            meta_set_in_port(m[i], in_port);
        if (likely(m[i]->nb_segs == 1 && m[i]->data_len >= ETH_LEN &&
                   eth_type(frame_bytes(m[i])) == RTE_BE16(MPLS_TYPE)))
            verdict = pop(&p, m[i]);
        else
            verdict = other(&p, m[i]);
        if (likely(verdict == VERDICT_GOOD) &&
            unlikely(!eth_is_to(frame_bytes(m[i]), task_own_mac(p.port_mac, in_port, m[i]))))
            verdict = DROP_FOREIGN_MAC;
        if (unlikely(verdict != VERDICT_GOOD))
            task_refuse(t, OUT_PUNT, m[i], verdict, DROP_NO_SLOW_PATH);
        else
            good[k++] = m[i];
    }
    if (likely(k > 0))
        task_emit_burst(t, OUT_TO, good, k);
}

const struct task_type task_mpls_pop = {
    .schema = {.type = "mpls_pop",
               .help = "takes MPLS labels off",
               .kind = TASK_WORKER,
               .params = params,
               .n_params = N_ARGS,
               .outputs = {[OUT_TO] = {"to", "packets without their labels"},
                           [OUT_PUNT] = {"punt", "ARP and neighbour discovery"}},
               .drops = drops,
               .n_drops = N_DROPS,
               .loses = FACT_IPV4 | FACT_QINQ_IPV4},
    .state_size = sizeof(struct mpls_pop),
    .init = init,
    .handle = handle,
    .rank = rank,
    .overload = DROP_OVERLOAD,
    .chains = chains_down,
    .n_chains = N_CHAINS_DOWN,
};
