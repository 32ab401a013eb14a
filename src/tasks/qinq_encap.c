/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * qinq_encap: makes a packet ready for its subscriber's access port: TTL or hop limit (the gateway
 * is a router in this direction, too), size against the port's MTU, Ethernet header with both tags,
 * padding.
 */
#include "tasks/qinq_encap.h"

#include "engine/drops.h"

enum { OUT_TO, OUT_PUNT, OUT_FRAGMENT };
enum { PCP_DSCP, PCP_ZERO };
enum { ARG_PCP, N_ARGS };

static const char *const pcps[] = {[PCP_DSCP] = "dscp", [PCP_ZERO] = "zero", NULL};

static const struct task_param params[N_ARGS] = {
    [ARG_PCP] = {.name = "pcp",
                 .type = PARAM_ENUM,
                 .def = "dscp",
                 .choices = pcps,
                 .help = "priority in both tags: the upper bits of the DSCP, or 0"},
};

enum {
    DROP_TTL_EXPIRED,
    DROP_TOO_BIG,
    DROP_HOP_LIMIT,
    DROP_IPV6_TOO_BIG,
    DROP_NO_CPE_MAC,
    DROP_NO_HEADROOM,
    DROP_NO_TAILROOM,
    N_DROPS
};

static const struct task_drop drops[N_DROPS] = {
    [DROP_TTL_EXPIRED] = {DROP_IS_TTL_EXPIRED},
    [DROP_TOO_BIG] = {"too_big", "Larger than the access port's mtu, or his PPPoE session's",
                      "Larger mtu of the port, or connect the output fragment."},
    [DROP_HOP_LIMIT] = {DROP_IS_HOP_LIMIT},
    [DROP_IPV6_TOO_BIG] = {"ipv6_too_big",
                           "IPv6, larger than the access port's mtu, or his PPPoE session's",
                           "Larger mtu of the port; connect the output punt, and the sender is "
                           "told, so that path MTU discovery (RFC 8201) works."},
    [DROP_NO_CPE_MAC] = {"no_cpe_mac", "The subscriber's MAC is not known yet",
                         "Normal until its first packet; else connect the output punt to a task "
                         "arp, or give it a mac."},
    [DROP_NO_HEADROOM] = {DROP_IS_NO_HEADROOM},
    [DROP_NO_TAILROOM] = {DROP_IS_NO_TAILROOM},
};

static int init(struct task *t, const struct task_env *env)
{
    const struct plan_instance *self = &env->plan->instances[env->instance];
    struct qinq_encap *e = t->state;

    e->record = env->tables->subscribers->record;
    e->pcp_from_dscp = env->cfg->param[ARG_PCP].u == PCP_DSCP;
    e->cold = self->n_rx > 0 || self->in_ring != CFG_NONE;
    return 0;
}

static inline struct rte_ipv4_hdr *header(const struct rte_mbuf *m)
{
    return (struct rte_ipv4_hdr *)(frame_bytes(m) + ETH_LEN);
}

static inline void encap(struct rte_mbuf *m, const struct subscriber *s, bool pcp_from_dscp)
{
    frame_set(m, -QINQ_TAGS_LEN, qinq_encap_write(header(m), s, pcp_from_dscp));
    meta_set_out_port(m, s->port);
}

/* Bytes that a frame to a subscriber has before those of one without tags. */
static inline int added(const struct subscriber *s)
{
    return s->session != 0 ? PPPOE_QINQ_LEN - ETH_LEN : QINQ_TAGS_LEN;
}

static inline struct ipv6_hdr *header6(const struct rte_mbuf *m)
{
    return (struct ipv6_hdr *)(frame_bytes(m) + ETH_LEN);
}

static inline void encap6(struct rte_mbuf *m, const struct subscriber *s, bool pcp_from_dscp)
{
    frame_set(m, -QINQ_TAGS_LEN, qinq_encap_write6(header6(m), s, pcp_from_dscp));
    meta_set_out_port(m, s->port);
}

static inline void encap_pppoe(struct rte_mbuf *m, const struct subscriber *s, bool pcp_from_dscp)
{
    frame_set(m, ETH_LEN - PPPOE_QINQ_LEN, qinq_encap_write_pppoe(header(m), s, pcp_from_dscp));
    meta_set_out_port(m, s->port);
}

static inline void encap_pppoe6(struct rte_mbuf *m, const struct subscriber *s, bool pcp_from_dscp)
{
    frame_set(m, ETH_LEN - PPPOE_QINQ_LEN, qinq_encap_write_pppoe6(header6(m), s, pcp_from_dscp));
    meta_set_out_port(m, s->port);
}

/* End a packet of IPv6 that is not plain: its sender is told (RFC 4443 section 3), or the MAC is
 * asked for. */
static void special6(struct task *t, struct rte_mbuf *m)
{
    const struct qinq_encap *e = t->state;
    const struct subscriber *s = &e->record[meta_subscriber(m)];

    if (header6(m)->hop_limit <= 1) {
        task_punt_back(t, OUT_PUNT, m, PUNT_TTL_EXPIRED, DROP_HOP_LIMIT);
    } else if (ipv6_len(header6(m)) > s->mtu) {
        task_punt_back(t, OUT_PUNT, m, PUNT_TOO_BIG, DROP_IPV6_TOO_BIG);
    } else if (!s->mac_known) {
        meta_set_out_port(m, s->port); /* the solicitation leaves there */
        task_punt(t, OUT_PUNT, m, PUNT_NO_MAC, DROP_NO_CPE_MAC);
    } else {
        task_drop(t, m, DROP_NO_HEADROOM);
    }
}

/* Handle a packet that is not plain: punt, drop, hand over to be fragmented; or send it to one of
 * a subscriber's hosts. */
static void special(struct task *t, struct rte_mbuf *m)
{
    const struct qinq_encap *e = t->state;
    const struct subscriber *s = &e->record[meta_subscriber(m)];
    const struct rte_ipv4_hdr *ip = header(m);
    uint32_t total = net16(ip->total_length);
    bool too_big = total > s->mtu;
    bool whole = (ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_DF_FLAG)) != 0;
    uint8_t mac[6];

    if (ip->time_to_live <= 1) {
        task_punt_back(t, OUT_PUNT, m, PUNT_TTL_EXPIRED, DROP_TTL_EXPIRED);
    } else if (too_big && whole) {
        task_punt_back(t, OUT_PUNT, m, PUNT_TOO_BIG,
                       DROP_TOO_BIG); /* RFC 1812 section 4.3.3.3, RFC 1191 */
    } else if (too_big && !task_has_output(t, OUT_FRAGMENT)) {
        task_drop(t, m, DROP_TOO_BIG);
    } else if (!subscriber_find_mac(s, ip->dst_addr, mac)) {
        meta_set_out_port(m, s->port); /* the ARP request leaves there */
        task_punt(t, OUT_PUNT, m, PUNT_NO_MAC, DROP_NO_CPE_MAC);
    } else if (rte_pktmbuf_headroom(m) < added(s)) {
        task_drop(t, m, DROP_NO_HEADROOM);
    } else if (!qinq_encap_has_tailroom(m, m->data_off + ETH_LEN, total)) {
        task_drop(t, m, DROP_NO_TAILROOM);
    } else {
        if (s->session != 0)
            encap_pppoe(m, s, e->pcp_from_dscp);
        else
            encap(m, s, e->pcp_from_dscp);
        memcpy(frame_bytes(m), mac, sizeof(mac)); /* of this host, where there are several */
        task_emit(t, too_big ? OUT_FRAGMENT : OUT_TO, m);
    }
}

/* Put a packet into its subscriber's session. Returns whether that was possible at once; else the
 * packet has its end. */
static bool enter_session(struct task *t, struct rte_mbuf *m, const struct subscriber *s,
                          bool pcp_from_dscp)
{
    uint32_t at = m->data_off + ETH_LEN;

    if (eth_is_ipv6(frame_bytes(m))) {
        if (likely(qinq_encap_fits6(at, header6(m), s, PPPOE_QINQ_LEN))) {
            encap_pppoe6(m, s, pcp_from_dscp);
            return true;
        }
        special6(t, m);
    } else {
        if (likely(qinq_encap_fits(m, at, header(m), s, PPPOE_QINQ_LEN))) {
            encap_pppoe(m, s, pcp_from_dscp);
            return true;
        }
        special(t, m);
    }
    return false;
}

static void handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    const struct qinq_encap *e = t->state;
    const struct subscriber *record = e->record;
    const bool pcp_from_dscp = e->pcp_from_dscp;
    struct rte_mbuf *good[BURST_MAX];
    uint16_t k = 0;

    if (e->cold) {
        burst_prefetch_frames(m, n);
        for (uint16_t i = 0; i < n; i++)
            rte_prefetch0(&record[meta_subscriber(m[i])]);
    }
    for (uint16_t i = 0; i < n; i++) {
        const struct subscriber *s = &record[meta_subscriber(m[i])];

        if (unlikely(s->session != 0)) {
            if (enter_session(t, m[i], s, pcp_from_dscp))
                good[k++] = m[i];
        } else if (eth_is_ipv6(frame_bytes(m[i]))) {
            if (unlikely(!qinq_encap_fits6(m[i]->data_off + ETH_LEN, header6(m[i]), s, QINQ_LEN))) {
                special6(t, m[i]);
                continue;
            }
            encap6(m[i], s, pcp_from_dscp);
            good[k++] = m[i];
        } else if (likely(qinq_encap_fits(m[i], m[i]->data_off + ETH_LEN, header(m[i]), s,
                                          QINQ_LEN))) {
            encap(m[i], s, pcp_from_dscp);
            good[k++] = m[i];
        } else {
            special(t, m[i]);
        }
    }
    if (likely(k > 0))
        task_emit_burst(t, OUT_TO, good, k);
}

const struct task_type task_qinq_encap = {
    .schema = {.type = "qinq_encap",
               .help =
                   "writes the subscriber's Ethernet header with both VLAN tags, and those of his "
                   "PPPoE session, and decrements the TTL or hop limit",
               .kind = TASK_WORKER,
               .params = params,
               .n_params = N_ARGS,
               .outputs = {[OUT_TO] = {"to", "packets that are ready for the access port"},
                           [OUT_PUNT] = {"punt", "packets that the slow path must answer, or ask "
                                                 "a MAC for"},
                           [OUT_FRAGMENT] = {"fragment", "packets that are larger than the access "
                                                         "port's mtu"}},
               .drops = drops,
               .n_drops = N_DROPS,
               .needs = FACT_SUBSCRIBER | FACT_IPV4,
               .gives = FACT_QINQ_IPV4 | FACT_EGRESS,
               .loses = FACT_IPV4,
               .egress = EGRESS_SUBSCRIBERS},
    .state_size = sizeof(struct qinq_encap),
    .init = init,
    .handle = handle,
};
