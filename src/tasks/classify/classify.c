/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * classify: finds the subscriber of each packet of IPv4 or IPv6, on the access side by port and
 * VLAN pair, on a core side without tunnels by the destination address; checks headers and source;
 * writes the subscriber's id, and the queue where a scheduler follows, into the mbuf.
 */
#include "tasks/classify/classify.h"

#include <errno.h>

#include <rte_malloc.h>

#include "base/log.h"
#include "engine/drops.h"
#include "packet/nd.h"
#include "packet/stages.h"
#include "tables/martians.h"
#include "tasks/classify/pppoe.h"
#include "tasks/classify/schema.h"
#include "tasks/fused/fused.h"

enum { OUT_TO, OUT_PUNT };

static int init(struct task *t, const struct task_env *env)
{
    const struct plan_output *to = &env->plan->instances[env->instance].output[OUT_TO];
    const struct subscriber_table *s = env->tables->subscribers;
    struct classify *c = t->state;

    c->not_only_ip = env->cfg->param[ARG_MATCH].u == MATCH_ANY;
    c->by_address = env->cfg->param[ARG_MATCH].u == MATCH_IPV4;
    c->map = c->by_address ? s->by_ipv4 : s->by_vlan;
    c->record = s->record;
    c->v6 = s->v6;
    c->port_mac = env->tables->port_mac;
    c->routes = env->tables->routes;
    c->encap = !c->by_address && to->n_dests > 0 && to->dest[0].kind == DEST_CALL &&
               !plan_waits(env->plan, to->dest[0].index) && route_has_encap(c->routes);
    if (env->cfg->param[ARG_SCHEDULER].set)
        c->dscp = &env->tables->dscp[env->cfg->param[ARG_SCHEDULER].u * QOS_DIRECTIONS +
                                     (c->by_address ? QOS_DOWN : QOS_UP)];
    if (c->dscp != NULL)
        t->hold = (uint16_t)env->cfg->param[ARG_SHED].u;
    c->anti_spoof = env->cfg->param[ARG_ANTI_SPOOF].u != 0 && !c->by_address;
    t->direction = c->by_address ? DIRECTION_DOWN : DIRECTION_UP;
    c->has_control = env->plan->cfg->punt_socket != NULL && task_has_output(t, OUT_PUNT) &&
                     env->cfg->param[ARG_MATCH].u == MATCH_QINQ;
    if (!c->has_control)
        return 0;
    c->lines = rte_zmalloc_socket("lines", sizeof(*c->lines), RTE_CACHE_LINE_SIZE, env->socket);
    if (c->lines == NULL)
        log_error("task %s: no memory for the shares of lines", env->cfg->name);
    return c->lines != NULL ? 0 : -ENOMEM;
}

static void fini(struct task *t)
{
    rte_free(((struct classify *)t->state)->lines);
}

/* Is the frame, of a known family behind l2 bytes, long enough for an IPv6 header? */
static inline bool is_ipv6(const struct rte_mbuf *m, uint32_t l2)
{
    return m->nb_segs == 1 && m->data_len >= l2 + IPV6_LEN &&
           load16(frame_bytes(m) + l2 - 2) == RTE_BE16(RTE_ETHER_TYPE_IPV6);
}

static inline const struct ipv6_hdr *ipv6_at(const struct rte_mbuf *m, uint32_t l2)
{
    return (const struct ipv6_hdr *)(frame_bytes(m) + l2);
}

static inline int bad_ipv6(enum ipv6_verdict v)
{
    return v == IPV6_BAD_HEADER ? DROP_BAD_IPV6 : DROP_BAD_IPV6_LENGTH;
}

static bool is_of_link(const uint8_t *addr)
{
    enum ipv6_kind kind = ipv6_kind(addr);

    return kind == IPV6_LINK_LOCAL || kind == IPV6_UNSPECIFIED;
}

/* Is a packet from or to what no router forwards? */
static inline bool is_for_link(const struct ipv6_hdr *ip)
{
    return !ipv6_is_forwarded(ipv6_upper(ip->source)) ||
           !ipv6_is_forwarded(ipv6_upper(ip->destination));
}

/* The verdict on a frame of IPv6 that names no subscriber. */
static int why_nobody6(const struct classify *c, const struct rte_mbuf *m)
{
    const struct ipv6_hdr *ip = ipv6_at(m, ETH_LEN);
    enum ipv6_verdict v = ipv6_check(ip, m->data_len - ETH_LEN);

    if (v != IPV6_OK)
        return bad_ipv6(v);
    if (nd_is_for_link(ip, m->data_len - ETH_LEN) &&
        !ipv6_is_forwarded(ipv6_upper(ip->destination)))
        return VERDICT_FOR_US;
    if (route_is_local6(c->routes, ipv6_of(ip->destination)))
        return VERDICT_FOR_US;
    return is_of_link(ip->source) || is_of_link(ip->destination) ? DROP_LINK_LOCAL
                                                                 : DROP_UNKNOWN_SUBSCRIBER;
}

/* The verdict on a frame that names no subscriber. */
static int why_nobody(const struct classify *c, const struct rte_mbuf *m)
{
    const uint8_t *f = frame_bytes(m);
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(f + ETH_LEN);

    if (m->nb_segs != 1)
        return DROP_SEGMENTED;
    if (m->data_len < (c->by_address ? ETH_LEN : QINQ_LEN))
        return DROP_SHORT_FRAME;
    if (!c->by_address)
        return qinq_is_double(qinq_tags(f)) ? DROP_UNKNOWN_SUBSCRIBER : DROP_NOT_QINQ;
    if (eth_type(f) == RTE_BE16(RTE_ETHER_TYPE_ARP))
        return VERDICT_FOR_US;
    if (eth_type(f) == RTE_BE16(RTE_ETHER_TYPE_IPV6) &&
        (c->v6 != NULL || nd_is_frame(f, ETH_LEN, m->data_len)))
        return why_nobody6(c, m);
    if (eth_type(f) != RTE_BE16(RTE_ETHER_TYPE_IPV4))
        return DROP_NOT_IPV4;
    switch (ipv4_check(ip, m->data_len - ETH_LEN)) {
    case IPV4_BAD_HEADER:
        return DROP_BAD_IPV4;
    case IPV4_BAD_LENGTH:
        return DROP_BAD_LENGTH;
    case IPV4_BAD_CHECKSUM:
        return DROP_BAD_CHECKSUM;
    case IPV4_OK:
        break;
    }
    return route_is_local(c->routes, rte_be_to_cpu_32(ip->dst_addr)) ? VERDICT_FOR_US
                                                                     : DROP_UNKNOWN_SUBSCRIBER;
}

/* The verdict on a frame of IPv6 of a subscriber who has it. */
static int check6(const struct rte_mbuf *m, uint32_t id, bool by_address, const struct classify *c,
                  const uint8_t *own_mac)
{
    const uint32_t l2 = by_address ? ETH_LEN : QINQ_LEN;
    const struct subscriber6 *s6 = &c->v6->record[id];
    const struct subscriber *s = &c->record[id];
    const struct ipv6_hdr *ip = ipv6_at(m, l2);
    const uint8_t *f = frame_bytes(m);
    enum ipv6_verdict v = ipv6_check(ip, m->data_len - l2);
    bool own;

    if (unlikely(v != IPV6_OK))
        return bad_ipv6(v);
    if (!by_address && unlikely(is_for_link(ip)) && nd_is_for_link(ip, m->data_len - l2))
        return VERDICT_FOR_US;
    if (unlikely(!ipv6_is_forwarded(ipv6_upper(ip->source))))
        return is_of_link(ip->source) ? DROP_LINK_LOCAL : DROP_MARTIAN_SOURCE;
    if (unlikely(!eth_is_to(f, own_mac)) && !c->not_only_ip)
        return (f[0] & 1) != 0 ? DROP_GROUP_MAC : DROP_FOREIGN_MAC;
    if (by_address)
        return unlikely(source_is_martian6(c->routes, c->v6, s, s6, ipv6_of(ip->source)))
                   ? DROP_MARTIAN_SOURCE
                   : VERDICT_GOOD;
    own = subscriber_has_ipv6(s, c->v6, s6, ipv6_of(ip->source));
    return !own && c->anti_spoof ? DROP_SPOOFED : VERDICT_GOOD; /* RFC 2827 */
}

/* The verdict on a subscriber's frame: IPv4, IPv6 or, behind tags, ARP. */
static inline int check(const struct rte_mbuf *m, const struct subscriber *s, bool by_address,
                        const struct classify *c, const uint8_t *own_mac)
{
    const uint32_t l2 = by_address ? ETH_LEN : QINQ_LEN;
    const uint8_t *f = frame_bytes(m);
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(f + l2);
    enum ipv4_verdict v;

    if (!by_address && likely(classify_is_good(c, f, m->data_len, s)))
        return VERDICT_GOOD;
    if (load16(f + l2 - 2) == RTE_BE16(RTE_ETHER_TYPE_IPV6) && s->has_ipv6)
        return check6(m, (uint32_t)(s - c->record), by_address, c, own_mac);
    if (unlikely(load16(f + l2 - 2) != RTE_BE16(RTE_ETHER_TYPE_IPV4)))
        return load16(f + l2 - 2) == RTE_BE16(RTE_ETHER_TYPE_ARP) ? VERDICT_FOR_US
               : load16(f + l2 - 2) == RTE_BE16(PPPOE_TYPE)       ? DROP_UNKNOWN_SESSION
                                                                  : DROP_NOT_IPV4;
    if (unlikely(!eth_is_to(f, own_mac)) && !c->not_only_ip)
        return (f[0] & 1) != 0 ? DROP_GROUP_MAC : DROP_FOREIGN_MAC;
    v = ipv4_check(ip, m->data_len - l2);
    if (unlikely(v != IPV4_OK))
        return v == IPV4_BAD_HEADER   ? DROP_BAD_IPV4
               : v == IPV4_BAD_LENGTH ? DROP_BAD_LENGTH
                                      : DROP_BAD_CHECKSUM;
    /* ingress filtering: RFC 2827 */
    if (c->anti_spoof && unlikely(!subscriber_has_ipv4(s, ip->src_addr)))
        return DROP_SPOOFED;
    if (by_address && unlikely(source_is_martian(c->routes, s, ip->src_addr)))
        return DROP_MARTIAN_SOURCE;
    return VERDICT_GOOD;
}

/* The queue of a good frame that is not IPv4: of a subscriber with IPv6, its header was checked. */
static uint8_t other_queue(const struct rte_mbuf *m, const struct dscp_table *dscp,
                           const struct subscriber *s, uint32_t l2)
{
    return s->has_ipv6 && is_ipv6(m, l2) ? dscp_queue(dscp, ipv6_traffic_class(ipv6_at(m, l2)))
                                         : dscp->non_ip;
}

/* Write the path (pipe and queue) of the packet into the mbuf. */
static inline void mark(struct rte_mbuf *m, const struct dscp_table *dscp,
                        const struct subscriber *s, uint32_t l2)
{
    const uint8_t *f = frame_bytes(m);
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(f + l2);
    bool other = load16(f + l2 - 2) != RTE_BE16(RTE_ETHER_TYPE_IPV4);

    meta_set_path(m, s->path + (unlikely(other) ? other_queue(m, dscp, s, l2)
                                                : dscp_queue(dscp, ip->type_of_service)));
}

/* A burst on its way through the stages of classify(). */
struct batch {
    struct rte_mbuf **m;
    const uint32_t *slot[BURST_MAX];
    struct subscriber6_search search[BURST_MAX]; /* of IPv6 by its destination */
    uint32_t id[BURST_MAX];
    struct rte_mbuf *good[BURST_MAX];
    uint16_t n_good;
    uint32_t packets[N_FAMILIES];
    uint64_t bytes[N_FAMILIES];
};

/* Count a good frame, without a branch by its family: where both are mixed it would be guessed
 * wrong. With match = "any" a frame may be of none. */
static inline void count(struct batch *b, const struct rte_mbuf *m, const struct classify *c,
                         const struct subscriber *s, uint32_t l2)
{
    const uint8_t *f = frame_bytes(m);
    const rte_be16_t type = load16(f + l2 - 2);
    const uint32_t six = type == RTE_BE16(RTE_ETHER_TYPE_IPV6);
    uint32_t len;

    if (unlikely(c->not_only_ip) && type != RTE_BE16(RTE_ETHER_TYPE_IPV4) &&
        !(s->has_ipv6 && is_ipv6(m, l2)))
        return;
    /* total length of IPv4, or payload length of IPv6 */
    len = net16(load16(f + l2 + (2 + 2 * six))) + six * IPV6_LEN;
    b->packets[FAMILY_IPV6] += six;
    b->packets[FAMILY_IPV4] += 1 - six;
    b->bytes[FAMILY_IPV6] += six * len;
    b->bytes[FAMILY_IPV4] += (1 - six) * len;
}

static inline void find_slots(struct batch *b, struct part p, const struct classify *c,
                              uint16_t in_port, bool by_address)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        const struct rte_mbuf *m = b->m[i];

        b->slot[i] = by_address
                         ? classify_slot_by_address(c, m, &b->id[i])
                         : classify_slot(c, m, in_port != PORT_IN_MBUF ? in_port : meta_in_port(m),
                                         &b->id[i]);
        rte_prefetch0(b->slot[i]);
        if (by_address && c->v6 != NULL && unlikely(is_ipv6(m, ETH_LEN)))
            b->search[i] = subscriber6_begin(c->v6, ipv6_of(ipv6_at(m, ETH_LEN)->destination));
    }
}

static inline void find_records(struct batch *b, struct part p, const struct classify *c,
                                bool by_address)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        const struct rte_mbuf *m = b->m[i];

        b->id[i] = __atomic_load_n(b->slot[i], __ATOMIC_RELAXED);
        if (c->v6 != NULL && unlikely(is_ipv6(m, by_address ? ETH_LEN : QINQ_LEN))) {
            if (by_address)
                b->id[i] = subscriber6_end(c->v6, &b->search[i],
                                           ipv6_of(ipv6_at(m, ETH_LEN)->destination));
            if (!by_address || subscriber6_suspects(c->v6, ipv6_upper(ipv6_at(m, ETH_LEN)->source)))
                rte_prefetch0(&c->v6->record[b->id[i]]);
        }
        rte_prefetch0(&c->record[b->id[i]]);
    }
}

/* End a frame that is not good; what the control plane answers goes there, of any line. session: it
 * was in. */
static void refuse(struct task *t, const struct classify *c, struct rte_mbuf *m, uint32_t id,
                   rte_be16_t session, int verdict)
{
    const uint8_t *f = frame_bytes(m);
    enum punt_kind kind = c->has_control
                              ? classify_line_kind(m, task_own_mac(c->port_mac, t->in_port, m))
                              : PUNT_HELLO;

    meta_set_session(m, net16(session));
    if (kind == PUNT_HELLO)
        task_refuse(t, OUT_PUNT, m, verdict, DROP_NO_SLOW_PATH);
    else if (!classify_line_source(c, f, kind, id))
        task_drop(t, m, DROP_SPOOFED);
    else
        task_punt_line(t, OUT_PUNT, m, c->lines,
                       subscriber_vlan_key((uint8_t)task_in_port(t, m), qinq_svlan(qinq_tags(f)),
                                           qinq_cvlan(qinq_tags(f))),
                       kind);
}

/* With match = "any": may a subscriber's frame that was to be refused pass all the same? */
static bool passes(int verdict)
{
    return verdict == DROP_NOT_IPV4 || verdict == DROP_LINK_LOCAL ||
           verdict == DROP_UNKNOWN_SESSION || verdict == VERDICT_FOR_US;
}

/* Write into the mbuf what is found of every packet. */
static inline void finish(struct rte_mbuf *m, const struct classify *c, uint32_t id,
                          uint16_t in_port)
{
    meta_set_subscriber(m, id);
    if (in_port != PORT_IN_MBUF)
        meta_set_in_port(m, in_port);
    if (c->encap)
        frame_prefetch_encap(m, QINQ_TAGS_LEN);
}

/* Judge any packet of a burst. A function of its own, so that what the usual one needs stays in
 * registers. */
static __rte_noinline void judge_any(struct task *t, struct batch *b, uint32_t i, bool by_address)
{
    const struct classify *c = t->state;
    const uint32_t l2 = by_address ? ETH_LEN : QINQ_LEN;
    struct rte_mbuf *m = b->m[i];
    const uint32_t id = b->id[i];
    const struct subscriber *s = &c->record[id];
    /* the gateway's MAC towards a subscriber is the source in the subscriber's header template */
    const uint8_t *own_mac = by_address ? task_own_mac(c->port_mac, t->in_port, m) : s->l2 + 6;
    rte_be16_t session = 0;
    int verdict = VERDICT_GOOD;

    if (!by_address && unlikely(s->session != 0) && !c->not_only_ip) {
        verdict = classify_leave_session(m, s);
        session = verdict == VERDICT_GOOD ? s->session : 0;
    }
    if (likely(verdict == VERDICT_GOOD))
        verdict = likely(id != 0) ? check(m, s, by_address, c, own_mac) : why_nobody(c, m);
    if (unlikely(c->not_only_ip) && id != 0 && passes(verdict))
        verdict = VERDICT_GOOD;
    if (c->dscp != NULL && likely(verdict == VERDICT_GOOD))
        mark(m, c->dscp, s, l2);
    finish(m, c, id, t->in_port);
    if (likely(verdict == VERDICT_GOOD)) {
        if (unlikely(session != 0))
            classify_clamp_mss(frame_bytes(m) + QINQ_LEN, s, is_ipv6(m, QINQ_LEN));
        count(b, m, c, s, l2);
        b->good[b->n_good++] = m;
    } else {
        refuse(t, c, m, id, session, verdict);
    }
}

/* Let the usual packets of a part go on: good ones of IPv4, without a session. */
static inline void judge(struct task *t, struct batch *b, struct part p, const struct classify *c,
                         bool by_address, struct traffic *usual)
{
    const uint32_t l2 = by_address ? ETH_LEN : QINQ_LEN;
    const uint16_t in_port = t->in_port, before = b->n_good;

    for (uint32_t i = p.from; i < p.to; i++) {
        struct rte_mbuf *m = b->m[i];
        const uint32_t id = b->id[i];
        const struct subscriber *s = &c->record[id];
        const uint8_t *f = frame_bytes(m);
        const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(f + l2);

        if (by_address ||
            unlikely(id == 0 || s->session != 0 || !classify_is_good(c, f, m->data_len, s))) {
            judge_any(t, b, i, by_address);
            continue;
        }
        if (c->dscp != NULL)
            meta_set_path(m, s->path + dscp_queue(c->dscp, ip->type_of_service));
        finish(m, c, id, in_port);
        usual->packets++;
        usual->bytes += net16(ip->total_length);
        b->good[b->n_good++] = m;
    }
    task_announce(t, &b->good[before], (uint32_t)b->n_good - before);
}

static inline void fetch(struct rte_mbuf **m, struct part p)
{
    burst_prefetch_fresh(m + p.from, (uint16_t)(p.to - p.from), 1);
}

/* The stages of packet/stages.h: slot, record, verdict. */
static inline void classify(struct task *t, struct rte_mbuf **m, uint16_t n, bool by_address)
{
    const struct classify c = *(const struct classify *)t->state;
    struct traffic usual = {0};
    const uint32_t step = stage_step(n);
    struct batch b;

    b.m = m;
    b.n_good = 0;
    memset(b.packets, 0, sizeof(b.packets));
    memset(b.bytes, 0, sizeof(b.bytes));
    fetch(m, part_near(step, n));
    for (uint32_t at = 0; at < n + 2 * step; at += step) {
        fetch(m, part_of(step, n, at + STAGE_FRAMES * step, 0));
        find_slots(&b, part_of(step, n, at, 0), &c, t->in_port, by_address);
        find_records(&b, part_of(step, n, at, step), &c, by_address);
        judge(t, &b, part_of(step, n, at, 2 * step), &c, by_address, &usual);
    }
    task_count_ip(t, FAMILY_IPV4, (uint32_t)usual.packets, usual.bytes);
    for (unsigned k = 0; k < N_FAMILIES; k++)
        task_count_ip(t, k, b.packets[k], b.bytes[k]);
    if (likely(b.n_good > 0))
        task_emit_burst(t, OUT_TO, b.good, b.n_good);
}

static void handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    const struct classify *c = t->state;

    if (c->by_address)
        classify(t, m, n, true);
    else
        classify(t, m, n, false);
}

static_assert(SHED_RANKS <= RANKS, "the engine has a place for every rank");

static void rank(const struct task *t, struct rte_mbuf *const *m, uint32_t n, uint8_t *rank)
{
    shed_rank(((const struct classify *)t->state)->dscp, m, n, rank);
}

const struct task_type task_classify = {
    .schema = {.type = "classify",
               .help = "finds the subscriber, checks the packet's IP header and source, chooses "
                       "its queue",
               .kind = TASK_WORKER,
               .params = classify_params,
               .n_params = N_CLASSIFY_ARGS,
               .outputs = {[OUT_TO] = {"to", "packets of subscribers"},
                           [OUT_PUNT] = {"punt", "ARP, neighbour discovery, packets to the "
                                                 "gateway, and with punt_socket DHCP and PPPoE "
                                                 "discovery"}},
               .drops = classify_drops,
               .n_drops = N_CLASSIFY_DROPS,
               .gives = FACT_SUBSCRIBER},
    .state_size = sizeof(struct classify),
    .init = init,
    .fini = fini,
    .handle = handle,
    .rank = rank,
    .overload = DROP_OVERLOAD,
    .chains = chains_classify,
    .n_chains = N_CHAINS_CLASSIFY,
};
