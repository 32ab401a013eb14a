/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gre_decap: takes the outer IPv4 or IPv6 header and GRE off. The key names the subscriber; with
 * key = "optional" the inner destination does where there is no key. Checked are, in this order,
 * the outer header, the tunnel's two ends, the GRE header, the inner header (IPv4 or IPv6), whether
 * the destination is an address of that subscriber, and whether the source can be behind the core.
 */
#include "tasks/gre_decap.h"

#include "engine/drops.h"
#include "packet/ethernet.h"
#include "packet/frame.h"
#include "packet/nd.h"
#include "tasks/fused/fused.h"

enum { OUT_TO, OUT_PUNT };
enum { KEY_REQUIRED, KEY_OPTIONAL };
enum { FAR_CONFIGURED, FAR_ANY };
enum { ARG_KEY, ARG_FAR_ENDS, ARG_SCHEDULER, ARG_SHED, N_ARGS };

static const char *const far_ends[] = {[FAR_CONFIGURED] = "configured", [FAR_ANY] = "any", NULL};
static const char *const keys[] = {[KEY_REQUIRED] = "required", [KEY_OPTIONAL] = "optional", NULL};

static const struct task_param params[N_ARGS] = {
    [ARG_KEY] = {.name = "key",
                 .type = PARAM_ENUM,
                 .def = "required",
                 .choices = keys,
                 .help = "whether packets without a key are accepted, for the subscriber of their "
                         "destination"},
    [ARG_FAR_ENDS] = {.name = "far_ends",
                      .type = PARAM_ENUM,
                      .def = "configured",
                      .choices = far_ends,
                      .help = "whose tunnels end here: from the far end (gre) of a route to the "
                              "address that its tunnel leads from, or from anybody to any address "
                              "of the gateway"},
    [ARG_SCHEDULER] = {.name = "scheduler",
                       .type = PARAM_SCHEDULER,
                       .set_gives = FACT_PATH,
                       .help = "write the queue of this scheduler, by the inner DSCP, into the "
                               "mbuf"},
    [ARG_SHED] = {PARAM_IS_SHED},
};

/* The three reasons for a wrong IPv4 header, outer and inner, have the order of enum ipv4_verdict.
 */
enum {
    DROP_SEGMENTED,
    DROP_SHORT_FRAME,
    DROP_NOT_IP,
    DROP_BAD_IPV4,
    DROP_BAD_LENGTH,
    DROP_BAD_CHECKSUM,
    DROP_BAD_IPV6,
    DROP_NOT_FOR_US,
    DROP_OUTER_FRAGMENT,
    DROP_OUTER_EXTENSION,
    DROP_UNKNOWN_FAR_END,
    DROP_BAD_GRE,
    DROP_BAD_GRE_CHECKSUM,
    DROP_NOT_IPV4,
    DROP_NO_KEY,
    DROP_UNKNOWN_KEY,
    DROP_UNKNOWN_ADDRESS,
    DROP_INNER_BAD_IPV4,
    DROP_INNER_BAD_LENGTH,
    DROP_INNER_BAD_CHECKSUM,
    DROP_INNER_BAD_IPV6,
    DROP_MISDELIVERED,
    DROP_MARTIAN_SOURCE,
    DROP_CONGESTED,
    DROP_NO_SLOW_PATH,
    DROP_FOREIGN_MAC,
    DROP_OVERLOAD,
    N_DROPS
};

#define TUNNEL_END "Look at the tunnel's other end."

static const struct task_drop drops[N_DROPS] = {
    [DROP_SEGMENTED] = {DROP_IS_SEGMENTED},
    [DROP_SHORT_FRAME] = {DROP_IS_SHORT_FRAME},
    [DROP_NOT_IP] = {"not_ip", "Neither IPv4 nor ARP, nor IPv6 where the gateway has that",
                     "None, if rare: other protocols are not carried."},
    [DROP_BAD_IPV4] = {"bad_ipv4", "The outer IPv4 header is malformed", TUNNEL_END},
    [DROP_BAD_IPV6] = {"bad_ipv6", "The outer IPv6 header is malformed", TUNNEL_END},
    [DROP_BAD_LENGTH] = {"bad_length", "The outer header says to be longer than the frame",
                         "Find who sends it: a device that cuts frames off."},
    [DROP_BAD_CHECKSUM] = {"bad_checksum", "The checksum of the outer IPv4 header is wrong",
                           "Look for a device or cable that damages packets."},
    [DROP_NOT_FOR_US] = {"not_for_us",
                         "For an address that is not the gateway's, in a tunnel or in none",
                         "None, if rare: what routers say to all of them (multicast) ends here, "
                         "too. Else correct the far end of the tunnel, or give the port that "
                         "address."},
    [DROP_OUTER_FRAGMENT] = {"outer_fragment", "The tunnel's packet came in fragments",
                             "Larger MTU on the way of the tunnel."},
    [DROP_OUTER_EXTENSION] = {"outer_extension",
                              "Between the outer IPv6 header and GRE are extension headers, which "
                              "the gateway does nothing with",
                              "Let the tunnel's other end send none: of Linux, encaplimit none."},
    [DROP_UNKNOWN_FAR_END] = {"unknown_far_end",
                              "The tunnel's packet does not come from a route's far end (gre) to "
                              "the address that its tunnel leads from",
                              "Find who forges it; or correct gre of the route; or say far_ends = "
                              "\"any\", if the core lets nobody else send here."},
    [DROP_BAD_GRE] = {"bad_gre", "A GRE header that RFC 2784 and 2890 do not allow",
                      "Correct the tunnel at its other end."},
    [DROP_BAD_GRE_CHECKSUM] = {"bad_gre_checksum", "The GRE checksum is wrong",
                               "Look for a device that damages packets."},
    [DROP_NOT_IPV4] = {"not_ipv4",
                       "In the tunnel is something else than IPv4, or than IPv4 and IPv6 where "
                       "subscribers have IPv6",
                       "None, if rare; else tell the tunnel's other end."},
    [DROP_NO_KEY] = {"no_key", "A GRE header without a key",
                     "Let the tunnel's other end send keys, or say key = \"optional\"."},
    [DROP_UNKNOWN_KEY] = {"unknown_key", "No subscriber has the GRE key",
                          "Add the subscriber, or correct its gre_key."},
    [DROP_UNKNOWN_ADDRESS] = {"unknown_address",
                              "No subscriber has the address, and the tunnel has no key",
                              "Add the subscriber, or correct its ipv4."},
    [DROP_INNER_BAD_IPV4] = {"inner_bad_ipv4", "The IPv4 header in the tunnel is malformed",
                             TUNNEL_END},
    [DROP_INNER_BAD_IPV6] = {"inner_bad_ipv6", "The IPv6 header in the tunnel is malformed",
                             TUNNEL_END},
    [DROP_INNER_BAD_LENGTH] = {"inner_bad_length",
                               "IP in the tunnel says to be longer than the packet", TUNNEL_END},
    [DROP_INNER_BAD_CHECKSUM] = {"inner_bad_checksum",
                                 "The checksum of the IPv4 header in the tunnel is wrong",
                                 TUNNEL_END},
    [DROP_MISDELIVERED] = {"misdelivered", "The key's subscriber does not have the address",
                           "Correct gre_key or ipv4, here or at the tunnel's other end."},
    [DROP_MARTIAN_SOURCE] = {DROP_IS_MARTIAN_SOURCE},
    [DROP_CONGESTED] = {"congested",
                        "A router in the core has marked the tunnel's packet as congested (CE), "
                        "and the packet in it cannot say so (Not-ECT): RFC 6040 section 4.2",
                        "Normal in times of congestion where the tunnel's other end sends ECT for "
                        "all; more room in the core."},
    [DROP_NO_SLOW_PATH] = {DROP_IS_NO_SLOW_PATH},
    [DROP_FOREIGN_MAC] = {DROP_IS_FOREIGN_MAC},
    [DROP_OVERLOAD] = {DROP_IS_OVERLOAD},
};

static int init(struct task *t, const struct task_env *env)
{
    const struct plan_instance *self = &env->plan->instances[env->instance];
    struct gre_decap *d = t->state;

    d->cold = self->n_rx > 0 || self->in_ring != CFG_NONE;
    d->port_mac = env->tables->port_mac;
    d->subscribers = env->tables->subscribers;
    d->routes = env->tables->routes;
    d->far_ends = env->tables->routes->far_ends;
    d->any_far_end = env->cfg->param[ARG_FAR_ENDS].u == FAR_ANY;
    d->key_required = env->cfg->param[ARG_KEY].u == KEY_REQUIRED;
    if (env->cfg->param[ARG_SCHEDULER].set)
        d->dscp = &env->tables->dscp[env->cfg->param[ARG_SCHEDULER].u * QOS_DIRECTIONS + QOS_DOWN];
    if (d->dscp != NULL)
        t->hold = (uint16_t)env->cfg->param[ARG_SHED].u;
    t->direction = DIRECTION_DOWN;
    return 0;
}

/* Find the subscriber of a packet without a key by its destination. */
static void find_by_address(const struct gre_decap *d, const uint8_t *inner, struct gre_found *out)
{
    const struct subscriber_table *s = d->subscribers;

    if (out->is_ipv6) {
        out->id = subscriber6_find(s->v6, ipv6_of(((const struct ipv6_hdr *)inner)->destination));
        out->slot = &out->id;
    } else {
        out->slot = idmap_slot(
            s->by_ipv4, rte_be_to_cpu_32(((const struct rte_ipv4_hdr *)inner)->dst_addr), &out->id);
    }
}

/* Parse the GRE header at p; avail: bytes to the end of the outer packet. Returns the verdict for
 * an empty slot. */
static inline int parse_gre(const struct gre_decap *d, const uint8_t *p, uint32_t avail,
                            struct gre_found *out)
{
    const struct subscriber_table *s = d->subscribers;
    uint16_t flags;
    uint32_t len;

    if (likely(avail >= GRE_KEY_LEN && gre_decap_is_usual(d, load32(p)))) {
        out->is_ipv6 = load32(p) == GRE_DECAP_KEY_IPV6;
        out->inner += GRE_KEY_LEN;
        out->avail = avail - GRE_KEY_LEN;
        out->slot = idmap_slot(s->by_gre_key, rte_be_to_cpu_32(load32(p + GRE_LEN)), &out->id);
        return DROP_UNKNOWN_KEY;
    }
    if (unlikely(avail < GRE_LEN))
        return DROP_BAD_GRE;
    flags = gre_flags(p);
    len = gre_len(flags);
    if (unlikely(!gre_flags_ok(flags) || avail < len))
        return DROP_BAD_GRE;
    if (unlikely((flags & GRE_HAS_SUM) != 0) && !gre_checksum_ok(p, avail))
        return DROP_BAD_GRE_CHECKSUM;
    out->is_ipv6 = gre_protocol(p) == RTE_BE16(GRE_PROTO_IPV6) && s->v6 != NULL;
    if (unlikely(!out->is_ipv6 && gre_protocol(p) != RTE_BE16(GRE_PROTO_IPV4)))
        return DROP_NOT_IPV4;
    out->inner += len;
    out->avail = avail - len;
    if (likely((flags & GRE_HAS_KEY) != 0)) {
        out->slot = idmap_slot(s->by_gre_key, rte_be_to_cpu_32(gre_key(p, flags)), &out->id);
        return DROP_UNKNOWN_KEY;
    }
    if (d->key_required)
        return DROP_NO_KEY;
    if (out->avail < (out->is_ipv6 ? IPV6_LEN : sizeof(struct rte_ipv4_hdr)))
        return out->is_ipv6 ? DROP_INNER_BAD_IPV6 : DROP_INNER_BAD_IPV4;
    find_by_address(d, p + len, out);
    return DROP_UNKNOWN_ADDRESS;
}

int gre_decap_parse(const struct gre_decap *d, const struct rte_ipv4_hdr *ip, uint32_t avail,
                    struct gre_found *out)
{
    enum ipv4_verdict v = ipv4_check(ip, avail);
    bool known;

    *out = (struct gre_found){.slot = idmap_no_slot()};
    if (unlikely(v != IPV4_OK))
        return DROP_BAD_IPV4 + (int)v - IPV4_BAD_HEADER;
    /* a far end is known with the gateway's address that its tunnel leads from */
    known = far_ends_have(&d->far_ends, load64(&ip->src_addr));
    if (unlikely(!known) && !route_is_local(d->routes, rte_be_to_cpu_32(ip->dst_addr)))
        return DROP_NOT_FOR_US;
    /* reassembly, which RFC 2784 leaves to IP, is not done here */
    if (unlikely((ip->fragment_offset & RTE_BE16(GRE_DECAP_FRAGMENT)) != 0))
        return DROP_OUTER_FRAGMENT;
    if (unlikely(ip->next_proto_id != IPPROTO_GRE))
        return VERDICT_FOR_US;
    if (unlikely(!known) && !d->any_far_end)
        return DROP_UNKNOWN_FAR_END;
    out->inner = rte_ipv4_hdr_len(ip);
    out->outer_class = ip->type_of_service;
    return parse_gre(d, (const uint8_t *)ip + out->inner, net16(ip->total_length) - out->inner,
                     out);
}

/* The verdict on a packet of IPv6 to the gateway whose header does not lead to GRE. */
static int behind_extensions(const struct ipv6_hdr *ip, uint32_t avail, bool may_enter)
{
    struct ipv6_payload to;

    if (ipv6_walk(ip, avail, &to) != IPV6_WALK_OK || to.protocol != IPPROTO_GRE)
        return VERDICT_FOR_US;
    if (to.has_fragment)
        return DROP_OUTER_FRAGMENT;
    return may_enter ? DROP_OUTER_EXTENSION : DROP_UNKNOWN_FAR_END;
}

int gre_decap_parse6(const struct gre_decap *d, const struct ipv6_hdr *ip, uint32_t avail,
                     struct gre_found *out)
{
    enum ipv6_verdict v = ipv6_check(ip, avail);
    bool known, may_enter;

    *out = (struct gre_found){.slot = idmap_no_slot()};
    if (v != IPV6_OK)
        return v == IPV6_BAD_LENGTH ? DROP_BAD_LENGTH : DROP_BAD_IPV6;
    known =
        far_ends6_any(&d->routes->far_ends6) && far_ends6_have(&d->routes->far_ends6, ip->source);
    if (!known && !route_is_local6(d->routes, ipv6_of(ip->destination)))
        return DROP_NOT_FOR_US;
    may_enter = known || d->any_far_end;
    if (ip->next_header != IPPROTO_GRE)
        return behind_extensions(ip, avail, may_enter);
    if (!may_enter)
        return DROP_UNKNOWN_FAR_END;
    out->inner = IPV6_LEN;
    out->outer_class = ipv6_traffic_class(ip);
    return parse_gre(d, (const uint8_t *)(ip + 1), net16(ip->payload_length), out);
}

/* Parse a frame that is not IPv4. Returns the verdict for an empty slot. */
static int parse_other(const struct gre_decap *d, const struct rte_mbuf *m, struct gre_found *out)
{
    const uint8_t *f = frame_bytes(m);

    if (!eth_is_ipv6(f))
        return eth_type(f) == RTE_BE16(RTE_ETHER_TYPE_ARP) ? VERDICT_FOR_US : DROP_NOT_IP;
    if (nd_is_frame(f, ETH_LEN, m->data_len))
        return VERDICT_FOR_US;
    if (!route_has6(d->routes))
        return DROP_NOT_IP;
    return gre_decap_parse6(d, (const struct ipv6_hdr *)(f + ETH_LEN), m->data_len - ETH_LEN, out);
}

/* Parse the frame. Returns the verdict for an empty slot. */
static inline int parse(const struct gre_decap *d, const struct rte_mbuf *m, struct gre_found *out)
{
    const uint8_t *f = frame_bytes(m);

    *out = (struct gre_found){.slot = idmap_no_slot()};
    if (unlikely(m->nb_segs != 1))
        return DROP_SEGMENTED;
    if (unlikely(m->data_len < ETH_LEN))
        return DROP_SHORT_FRAME;
    if (unlikely(eth_type(f) != RTE_BE16(RTE_ETHER_TYPE_IPV4)))
        return parse_other(d, m, out);
    return gre_decap_parse(d, (const struct rte_ipv4_hdr *)(f + ETH_LEN), m->data_len - ETH_LEN,
                           out);
}

/* Take the outer headers off, so that a packet of size bytes is behind an Ethernet header. */
static inline void take_off(struct rte_mbuf *m, uint32_t inner, rte_be16_t type, uint32_t size)
{
    uint8_t *f = frame_bytes(m), *to = f + inner;

    eth_move_macs(to, f);
    store16(to + ETH_MACS, type);
    frame_set(m, (int)inner, ETH_LEN + size);
}

/* The same as decap() of an inner packet of IPv6. */
static int decap6(const struct gre_decap *d, struct rte_mbuf *m, uint32_t id,
                  const struct gre_found *in)
{
    const struct subscriber6 *s6 = &d->subscribers->v6->record[id];
    const struct subscriber *s = &d->subscribers->record[id];
    uint8_t *f = frame_bytes(m);
    struct ipv6_hdr *ip = (struct ipv6_hdr *)(f + ETH_LEN + in->inner);
    enum ipv6_verdict v = ipv6_check(ip, in->avail);
    struct ipv6 to, from;

    if (v != IPV6_OK)
        return v == IPV6_BAD_LENGTH ? DROP_INNER_BAD_LENGTH : DROP_INNER_BAD_IPV6;
    to = ipv6_of(ip->destination);
    from = ipv6_of(ip->source);
    if (!ipv6_is_forwarded(to.upper) || !subscriber_has_ipv6(s, d->subscribers->v6, s6, to))
        return DROP_MISDELIVERED;
    if (gre_decap_is_martian6(d, from, s, s6))
        return DROP_MARTIAN_SOURCE;
    if (unlikely(ipv4_tells_ecn(in->outer_class)) && !ipv6_merge_ecn(ip, in->outer_class))
        return DROP_CONGESTED;
    take_off(m, in->inner, RTE_BE16(RTE_ETHER_TYPE_IPV6), ipv6_len(ip));
    return VERDICT_GOOD;
}

/* Check the inner packet, of which in->avail bytes are there, and take the outer headers off. */
static inline int decap(struct rte_mbuf *m, const struct route_table *routes,
                        const struct subscriber *s, const struct gre_found *in)
{
    uint8_t *f = frame_bytes(m);
    struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(f + ETH_LEN + in->inner);
    enum ipv4_verdict v = ipv4_check(ip, in->avail);

    if (unlikely(v != IPV4_OK))
        return DROP_INNER_BAD_IPV4 + (int)v - IPV4_BAD_HEADER;
    if (unlikely(!gre_decap_is_to(ip, s)))
        return DROP_MISDELIVERED;
    if (unlikely(source_is_martian(routes, s, ip->src_addr)))
        return DROP_MARTIAN_SOURCE;
    if (unlikely(ipv4_tells_ecn(in->outer_class)) && !ipv4_merge_ecn(ip, in->outer_class))
        return DROP_CONGESTED;
    take_off(m, in->inner, RTE_BE16(RTE_ETHER_TYPE_IPV4), net16(ip->total_length));
    return VERDICT_GOOD;
}

/* Write the path (pipe and queue) of the packet, by its inner header, into the mbuf. */
static inline void mark(struct rte_mbuf *m, const struct dscp_table *dscp,
                        const struct subscriber *s)
{
    const uint8_t *f = frame_bytes(m);
    uint8_t tos = unlikely(eth_is_ipv6(f))
                      ? ipv6_traffic_class((const struct ipv6_hdr *)(f + ETH_LEN))
                      : ((const struct rte_ipv4_hdr *)(f + ETH_LEN))->type_of_service;

    meta_set_path(m, s->path + dscp_queue(dscp, tos));
}

/* Each pass over the burst prefetches what the next pass reads: slot, then record. */
static void handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    const struct gre_decap d = *(const struct gre_decap *)t->state;
    const struct subscriber *record = d.subscribers->record;
    const uint16_t in_port = t->in_port;
    struct rte_mbuf *good[BURST_MAX];
    struct gre_found found[BURST_MAX];
    uint32_t id[BURST_MAX], n6 = 0;
    uint64_t bytes = 0, bytes6 = 0; /* of both families, of IPv6 */
    uint16_t k = 0;

    if (d.cold)
        burst_prefetch_fresh(m, n, 2);
    for (uint16_t i = 0; i < n; i++) {
        found[i].verdict = parse(&d, m[i], &found[i]);
        rte_prefetch0(found[i].slot);
    }
    for (uint16_t i = 0; i < n; i++) {
        id[i] = __atomic_load_n(found[i].slot, __ATOMIC_RELAXED);
        rte_prefetch0(&record[id[i]]);
        if (unlikely(found[i].is_ipv6))
            rte_prefetch0(&d.subscribers->v6->record[id[i]]);
    }
    for (uint16_t i = 0; i < n; i++) {
        int verdict = found[i].verdict;

        if (likely(id[i] != 0))
            verdict = unlikely(found[i].is_ipv6) ? decap6(&d, m[i], id[i], &found[i])
                                                 : decap(m[i], d.routes, &record[id[i]], &found[i]);

        /* whoever called us directly has looked already */
        if (d.cold && verdict == VERDICT_GOOD &&
            unlikely(!eth_is_to(frame_bytes(m[i]), task_own_mac(d.port_mac, in_port, m[i]))))
            verdict = DROP_FOREIGN_MAC;
        if (d.dscp != NULL && likely(verdict == VERDICT_GOOD))
            mark(m[i], d.dscp, &record[id[i]]);
        meta_set_subscriber(m[i], id[i]);
        if (in_port != PORT_IN_MBUF)
            meta_set_in_port(m[i], in_port);
        if (likely(verdict == VERDICT_GOOD)) {
            good[k++] = m[i];
            bytes += m[i]->data_len - ETH_LEN;
            n6 += found[i].is_ipv6;
            bytes6 += found[i].is_ipv6 * (m[i]->data_len - ETH_LEN);
        } else {
            task_refuse(t, OUT_PUNT, m[i], verdict, DROP_NO_SLOW_PATH);
        }
    }
    task_count_ip(t, FAMILY_IPV4, k - n6, bytes - bytes6);
    task_count_ip(t, FAMILY_IPV6, n6, bytes6);
    if (likely(k > 0))
        task_emit_burst(t, OUT_TO, good, k);
}

static void rank(const struct task *t, struct rte_mbuf *const *m, uint32_t n, uint8_t *rank)
{
    shed_rank(((const struct gre_decap *)t->state)->dscp, m, n, rank);
}

const struct task_type task_gre_decap = {
    .schema = {.type = "gre_decap",
               .help = "takes packets out of GRE tunnels and finds their subscriber",
               .kind = TASK_WORKER,
               .params = params,
               .n_params = N_ARGS,
               .outputs = {[OUT_TO] = {"to", "packets to subscribers"},
                           [OUT_PUNT] = {"punt", "ARP, neighbour discovery, and packets to the "
                                                 "gateway"}},
               .drops = drops,
               .n_drops = N_DROPS,
               .gives = FACT_SUBSCRIBER | FACT_IPV4,
               .loses = FACT_QINQ_IPV4},
    .state_size = sizeof(struct gre_decap),
    .init = init,
    .handle = handle,
    .rank = rank,
    .overload = DROP_OVERLOAD,
    .chains = chains_tunnel,
    .n_chains = N_CHAINS_TUNNEL,
};
