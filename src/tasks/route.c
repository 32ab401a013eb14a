/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * route: finds the next hop by the longest prefix of the destination, and by the flow where the
 * route has several; then TTL (RFC 1812 section 5.3.1) or hop limit (RFC 8200 section 3), size
 * against the egress MTU, the Ethernet header of the next hop, and padding where no tunnel will
 * make the frame long enough. The packets of a burst are looked up family by family.
 */
#include "tasks/route.h"

#include "engine/drops.h"
#include "packet/frame.h"

enum { OUT_TO, OUT_PUNT, OUT_FRAGMENT };

enum {
    DROP_NO_ROUTE,
    DROP_NOT_UNICAST,
    DROP_LINK_LOCAL,
    DROP_FOR_US,
    DROP_TTL_EXPIRED,
    DROP_TOO_BIG,
    DROP_NO_NEXTHOP_MAC,
    DROP_NO_TAILROOM,
    DROP_HOP_LIMIT,
    DROP_IPV6_TOO_BIG,
    N_DROPS
};

static const struct task_drop drops[N_DROPS] = {
    [DROP_NO_ROUTE] = {"no_route", "No route leads to the destination",
                       "Add a route; connect the output punt, and the sender is told."},
    [DROP_NOT_UNICAST] = {"not_unicast", "To a multicast or broadcast address",
                          "None: it is not forwarded."},
    [DROP_LINK_LOCAL] = {"link_local",
                         "To an address of 169.254/16 or fe80::/10, which stays on its link",
                         "None: it is not forwarded (RFC 3927 section 7, RFC 4291 section "
                         "2.5.6)."},
    [DROP_FOR_US] = {"for_us", "For an address of the gateway, which nobody answers",
                     "Connect the output punt to a task arp, or accept it."},
    [DROP_TTL_EXPIRED] = {DROP_IS_TTL_EXPIRED},
    [DROP_TOO_BIG] = {"too_big",
                      "Larger than the next hop takes: the port's mtu less tunnel and "
                      "labels",
                      "Larger mtu of the port, or connect the output fragment."},
    [DROP_NO_NEXTHOP_MAC] = {"no_nexthop_mac", "The next hop's MAC is not known",
                             "Is the neighbour up? Connect the output punt to a task arp, or give "
                             "the route a mac."},
    [DROP_NO_TAILROOM] = {DROP_IS_NO_TAILROOM},
    [DROP_HOP_LIMIT] = {DROP_IS_HOP_LIMIT},
    [DROP_IPV6_TOO_BIG] = {"ipv6_too_big",
                           "IPv6, larger than the next hop takes: the port's mtu less tunnel and "
                           "labels",
                           "Larger mtu of the port; connect the output punt, and the sender is "
                           "told, so that path MTU discovery (RFC 8201) works."},
};

static int init(struct task *t, const struct task_env *env)
{
    const struct plan_instance *self = &env->plan->instances[env->instance];
    const struct route_table *table = env->tables->routes;
    unsigned copy = env->plan->cores[self->core].routes;
    struct route *r = t->state;

    r->first = fib_copy(&table->fib, copy)->first;
    r->line = fib_copy(&table->fib, copy)->line;
    r->fib6 = route_has6(table) ? fib6_copy(&table->fib6, copy) : NULL;
    r->nexthop = table->nexthop;
    r->set = table->set;
    r->cold = self->n_rx > 0 || self->in_ring != CFG_NONE;
    return 0;
}

static inline struct rte_ipv4_hdr *header(const struct rte_mbuf *m)
{
    return (struct rte_ipv4_hdr *)(frame_bytes(m) + ETH_LEN);
}

static inline struct ipv6_hdr *header6(const struct rte_mbuf *m)
{
    return (struct ipv6_hdr *)(frame_bytes(m) + ETH_LEN);
}

/* Write the Ethernet header of the next hop, pad, and say where the packet goes. */
static inline void leave(struct rte_mbuf *m, const struct nexthop *nh, uint32_t id)
{
    uint8_t *f = frame_bytes(m);

    if (unlikely(m->data_len < nh->min_len)) /* IEEE 802.3 clause 4.2.3.3 */
        frame_pad(m, nh->min_len);
    route_write_eth(f, nh);
    meta_set_nexthop(m, (uint16_t)id);
    meta_set_out_port(m, nh->port);
}

static inline void forward(struct rte_mbuf *m, const struct nexthop *nh, uint32_t id)
{
    ipv4_ttl_decrement(header(m));
    leave(m, nh, id);
}

static inline void forward6(struct rte_mbuf *m, const struct nexthop *nh, uint32_t id)
{
    header6(m)->hop_limit--;
    leave(m, nh, id);
    store16(frame_bytes(m) + ETH_MACS, RTE_BE16(RTE_ETHER_TYPE_IPV6));
}

/* End a packet to an address that no route leads to. Its sender is told (RFC 1812 section 4.3.3.1),
 * but where no router may forward. */
static void no_route(struct task *t, struct rte_mbuf *m, uint32_t dst)
{
    if (!ipv4_is_unicast(dst))
        task_drop(t, m, DROP_NOT_UNICAST);
    else if (ipv4_is_link_local(dst))
        task_drop(t, m, DROP_LINK_LOCAL);
    else
        task_punt_back(t, OUT_PUNT, m, PUNT_NO_ROUTE, DROP_NO_ROUTE);
}

/* Handle a packet that is not plain: drop, punt, or hand over to be fragmented. Next hop 0 (no
 * route) and the gateway's own next hop have no MAC, so their packets come here. */
static void special(struct task *t, struct rte_mbuf *m, const struct nexthop *nh, uint32_t id)
{
    const struct rte_ipv4_hdr *ip = header(m);
    bool too_big = net16(ip->total_length) > nh->max_ip;

    meta_set_nexthop(m, (uint16_t)id);
    if (id == 0) {
        no_route(t, m, rte_be_to_cpu_32(ip->dst_addr));
    } else if (nh->local) {
        task_punt_back(t, OUT_PUNT, m, PUNT_FOR_US, DROP_FOR_US);
    } else if (ip->time_to_live <= 1) {
        task_punt_back(t, OUT_PUNT, m, PUNT_TTL_EXPIRED, DROP_TTL_EXPIRED);
    } else if (too_big && (ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_DF_FLAG)) != 0) {
        task_punt_back(t, OUT_PUNT, m, PUNT_TOO_BIG,
                       DROP_TOO_BIG); /* RFC 1812 section 4.3.3.3, RFC 1191 */
    } else if (too_big && !task_has_output(t, OUT_FRAGMENT)) {
        task_drop(t, m, DROP_TOO_BIG);
    } else if (!nh->mac_known) {
        meta_set_out_port(m, nh->port); /* the ARP request leaves there */
        task_punt(t, OUT_PUNT, m, PUNT_NO_MAC, DROP_NO_NEXTHOP_MAC);
    } else if (!too_big) {
        task_drop(t, m, DROP_NO_TAILROOM);
    } else {
        forward(m, nh, id);
        task_emit(t, OUT_FRAGMENT, m);
    }
}

/* May the packet be sent at once? */
static inline bool is_plain(const struct rte_mbuf *m, const struct nexthop *nh)
{
    return route_is_plain(header(m), nh) && route_fits(nh, m, 0, m->data_len);
}

/* Each pass over the burst prefetches what the next pass reads: first entry, second entry, next
 * hop. */
static inline void look_up(const struct route *r, struct rte_mbuf **m, uint16_t n, uint32_t *id)
{
    const uint32_t *entry[BURST_MAX];
    uint32_t dst[BURST_MAX];

    for (uint16_t i = 0; i < n; i++) {
        dst[i] = rte_be_to_cpu_32(header(m[i])->dst_addr);
        rte_prefetch0(route_first(r, dst[i]));
    }
    for (uint16_t i = 0; i < n; i++) {
        entry[i] = route_entry(r, dst[i]);
        rte_prefetch0(entry[i]);
    }
    for (uint16_t i = 0; i < n; i++) {
        id[i] = route_nexthop(r, route_number(r, entry[i], dst[i]), header(m[i]),
                              (uint32_t)m[i]->data_len - ETH_LEN);
        rte_prefetch0(&r->nexthop[id[i]]);
    }
}

/* The id of another next hop of the same route, or 0: where the MAC of the one that a flow has is
 * not known, the flow goes where it would go without that one. */
static uint32_t instead(const struct route *r, const struct rte_mbuf *m)
{
    const struct rte_ipv4_hdr *ip = header(m);
    uint32_t dst = rte_be_to_cpu_32(ip->dst_addr),
             number = route_number(r, route_entry(r, dst), dst);

    if ((number & ROUTE_SET) == 0)
        return 0;
    return nexthop_set_pick_known(
        &r->set[number & ~ROUTE_SET], r->nexthop,
        flow_of_ipv4((const uint8_t *)ip, (uint32_t)m->data_len - ETH_LEN));
}

/* Handle a packet that cannot be sent to its next hop at once. Returns whether it is ready to be
 * sent to another one. */
static bool handle_other(struct task *t, struct rte_mbuf *m, uint32_t id)
{
    const struct route *r = t->state;
    uint32_t other = r->nexthop[id].mac_known ? 0 : instead(r, m);

    id = other != 0 ? other : id;
    if (other == 0 || !is_plain(m, &r->nexthop[id])) {
        special(t, m, &r->nexthop[id], id);
        return false;
    }
    forward(m, &r->nexthop[id], id);
    return true;
}

/* What may leave by the output to: those of usual packets first. */
struct leaving {
    struct rte_mbuf *good[BURST_MAX], *late[BURST_MAX];
    uint16_t n_good, n_late;
};

/* Route n packets of IPv4. */
static inline void route4(struct task *t, struct rte_mbuf **m, uint16_t n, struct leaving *to)
{
    const struct route *r = t->state;
    const struct nexthop *nexthop = r->nexthop;
    uint32_t id[BURST_MAX];
    uint16_t k = to->n_good;

    look_up(r, m, n, id);
    for (uint16_t i = 0; i < n; i++) {
        const struct nexthop *nh = &nexthop[id[i]];

        if (likely(is_plain(m[i], nh))) {
            forward(m[i], nh, id[i]);
            to->good[k++] = m[i];
        } else if (handle_other(t, m[i], id[i])) {
            to->late[to->n_late++] = m[i];
        }
    }
    to->n_good = k;
}

/* --- IPv6 --- */

/* Handle a packet that is not plain: its sender is told (RFC 4443 section 3), or its next hop's MAC
 * is asked for. No router fragments it: RFC 8200 section 5. */
static void special6(struct task *t, struct rte_mbuf *m, const struct nexthop *nh, uint32_t id)
{
    const struct ipv6_hdr *ip = header6(m);

    meta_set_nexthop(m, (uint16_t)id);
    if (id == 0 && ipv6_is_forwarded(ipv6_upper(ip->destination)))
        task_punt_back(t, OUT_PUNT, m, PUNT_NO_ROUTE, DROP_NO_ROUTE);
    else if (id == 0)
        task_drop(t, m,
                  ipv6_kind(ip->destination) == IPV6_LINK_LOCAL ? DROP_LINK_LOCAL
                                                                : DROP_NOT_UNICAST);
    else if (nh->local)
        task_punt_back(t, OUT_PUNT, m, PUNT_FOR_US, DROP_FOR_US);
    else if (ip->hop_limit <= 1)
        task_punt_back(t, OUT_PUNT, m, PUNT_TTL_EXPIRED, DROP_HOP_LIMIT);
    else if (ipv6_len(ip) > nh->max_ip)
        task_punt_back(t, OUT_PUNT, m, PUNT_TOO_BIG, DROP_IPV6_TOO_BIG);
    else if (nh->mac_known)
        task_drop(t, m, DROP_NO_TAILROOM);
    else {
        meta_set_out_port(m, nh->port); /* the ARP request leaves there */
        task_punt(t, OUT_PUNT, m, PUNT_NO_MAC, DROP_NO_NEXTHOP_MAC);
    }
}

uint32_t route_pick6(const struct route *r, uint32_t number, const struct ipv6_hdr *ip,
                     uint32_t len)
{
    const struct nexthop_set *set = &r->set[number & ~ROUTE_SET];
    uint32_t flow = flow_of_ipv6((const uint8_t *)ip, len), id = nexthop_set_pick(set, flow),
             known = r->nexthop[id].mac_known ? id : nexthop_set_pick_known(set, r->nexthop, flow);

    return known != 0 ? known : id;
}

/* The ids of next hops; 0 where there is none, or where no router may forward to. */
static void look_up6(const struct route *r, struct rte_mbuf **m, uint16_t n, uint32_t *id)
{
    struct ipv6 dst[BURST_MAX];

    for (uint16_t i = 0; i < n; i++)
        dst[i] = ipv6_of(header6(m[i])->destination);
    fib6_lookup_burst(r->fib6, dst, n, id);
    for (uint16_t i = 0; i < n; i++) {
        id[i] = route_nexthop6(r, id[i], dst[i], header6(m[i]), (uint32_t)m[i]->data_len - ETH_LEN);
        rte_prefetch0(&r->nexthop[id[i]]);
    }
}

/* The same as route4() of n packets of IPv6. */
static void route6(struct task *t, struct rte_mbuf **m, uint16_t n, struct leaving *to)
{
    const struct route *r = t->state;
    uint32_t id[BURST_MAX] = {0};
    uint16_t k = to->n_good;

    if (likely(r->fib6 != NULL))
        look_up6(r, m, n, id);
    for (uint16_t i = 0; i < n; i++) {
        const struct nexthop *nh = &r->nexthop[id[i]];

        if (likely(route_is_plain6(header6(m[i]), nh) && route_fits(nh, m[i], 0, m[i]->data_len))) {
            forward6(m[i], nh, id[i]);
            to->good[k++] = m[i];
        } else {
            special6(t, m[i], nh, id[i]);
        }
    }
    to->n_good = k;
}

static bool are_ipv4(struct rte_mbuf **m, uint16_t n)
{
    bool others = false;

    for (uint16_t i = 0; i < n; i++)
        others |= eth_is_ipv6(frame_bytes(m[i]));
    return !others;
}

/* Route the packets of a burst in which there are both families, or IPv6 alone. */
static void route_both(struct task *t, struct rte_mbuf **m, uint16_t n, struct leaving *to)
{
    struct rte_mbuf *four[BURST_MAX], *six[BURST_MAX];
    uint16_t n4 = 0, n6 = 0;

    for (uint16_t i = 0; i < n; i++) {
        bool is_six = eth_is_ipv6(frame_bytes(m[i]));

        four[n4] = six[n6] = m[i];
        n4 = (uint16_t)(n4 + !is_six);
        n6 = (uint16_t)(n6 + is_six);
    }
    if (n4 > 0)
        route4(t, four, n4, to);
    route6(t, six, n6, to);
}

static void handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    const struct route *r = t->state;
    struct leaving to;

    to.n_good = to.n_late = 0;
    if (r->cold)
        burst_prefetch_encap(m, n, 0);
    if (likely(are_ipv4(m, n)))
        route4(t, m, n, &to);
    else
        route_both(t, m, n, &to);
    for (uint16_t i = 0; i < to.n_late; i++)
        to.good[to.n_good++] = to.late[i];
    if (likely(to.n_good > 0))
        task_emit_burst(t, OUT_TO, to.good, to.n_good);
}

const struct task_type task_route = {
    .schema = {.type = "route",
               .help = "finds the next hop by the destination address and decrements TTL or hop "
                       "limit",
               .kind = TASK_WORKER,
               .outputs = {[OUT_TO] = {"to", "packets with their next hop"},
                           [OUT_PUNT] = {"punt", "packets that the slow path must answer, or ask "
                                                 "a MAC for"},
                           [OUT_FRAGMENT] = {"fragment", "packets that are larger than the next "
                                                         "hop takes"}},
               .drops = drops,
               .n_drops = N_DROPS,
               .needs = FACT_IPV4,
               .gives = FACT_NEXTHOP | FACT_EGRESS,
               .egress = EGRESS_NEXTHOPS},
    .state_size = sizeof(struct route),
    .init = init,
    .handle = handle,
};
