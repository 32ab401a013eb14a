/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables/route.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "packet/ipv6.h"
#include "tables/martians.h"
#include "tables/memory.h"

#define MAX_LOCALS    (LOCAL_SET_SLOTS / 2)
#define BARRED_ROUTES 1 /* 169.254/16 */
#define MAX_NEXTHOPS  UINT16_MAX
#define MAX_SETS      UINT16_MAX

static_assert(ROUTE_OWN == MAX_LOCALS + BARRED_ROUTES, "what the plan counts beside the routes");
static_assert(MAX_NEXTHOPS + 1 < ROUTE_SET && (ROUTE_SET | MAX_SETS) <= FIB6_NUMBER,
              "a number tells a set from a next hop");

/* Mark the first octets of martians. */
static void fill_filter(struct route_table *t)
{
    for (uint32_t net = 0; net < 256; net++)
        if (!ipv4_is_unicast(net << 24) || net == IPV4_LINK_LOCAL >> 24)
            t->sources.net[net / 64] |= UINT64_C(1) << net % 64;
}

struct route_table *route_table_create(uint32_t n_nexthops, uint32_t n_sets, uint32_t n_routes,
                                       int socket)
{
    struct route_table *t;

    if (n_nexthops > MAX_NEXTHOPS || n_sets > MAX_SETS)
        return NULL;
    t = table_zalloc(sizeof(*t), socket);
    if (t == NULL)
        return NULL;
    t->capacity = n_nexthops;
    t->room = n_routes;
    t->set_capacity = n_sets;
    t->free_set = ROUTE_SET;
    /* [0] is empty and the gateway itself is the last one, so that next hops have ids from 1 */
    t->local_id = n_nexthops + 1;
    t->nexthop = table_zalloc((n_nexthops + UINT64_C(2)) * sizeof(t->nexthop[0]), socket);
    t->via = table_zalloc((n_nexthops + UINT64_C(1)) * sizeof(t->via[0]), socket);
    t->set = table_zalloc((n_sets + UINT64_C(1)) * sizeof(t->set[0]), socket);
    /* link-local destinations lead nowhere, whatever the default route: RFC 3927 section 7; an
     * address of the gateway in there is more specific */
    if (t->nexthop == NULL || t->via == NULL || t->set == NULL ||
        far_ends_create(&t->far_ends, n_nexthops, socket) != 0 ||
        fib_create(&t->fib, n_routes + ROUTE_OWN, socket) != 0 ||
        fib_add(&t->fib, IPV4_LINK_LOCAL, IPV4_LINK_LOCAL_LEN, 0) != 0) {
        route_table_free(t);
        return NULL;
    }
    fill_filter(t);
    t->nexthop[t->local_id].local = 1;
    return t;
}

void route_table_free(struct route_table *t)
{
    if (t == NULL)
        return;
    fib_free(&t->fib);
    fib6_free(&t->fib6);
    far_ends_free(&t->far_ends);
    far_ends6_free(&t->far_ends6);
    rte_free(t->nexthop);
    rte_free(t->via);
    rte_free(t->set);
    rte_free(t);
}

void route_table_share(struct route_table *t, struct rte_rcu_qsbr *readers)
{
    t->fib.lines.readers = readers;
    fib6_set_readers(&t->fib6, readers);
}

/* Source and destination of what comes out of a next hop's tunnel, as they lie in the packet. */
static uint64_t pair_of(const struct nexthop *nh)
{
    const struct rte_ipv4_hdr *sent = (const struct rte_ipv4_hdr *)nh->ip_gre;

    return far_ends_pair(sent->dst_addr, sent->src_addr);
}

/* Let what comes out of the tunnel of a next hop in, or do so no more. */
static void open_tunnel(struct route_table *t, const struct nexthop *nh, bool open)
{
    uint8_t ends[FAR_END_BYTES6];

    if (nh->has_gre == TUNNEL_IPV4)
        (open ? far_ends_add : far_ends_remove)(&t->far_ends, pair_of(nh));
    if (nh->has_gre == TUNNEL_IPV6) {
        memcpy(ends, nh->ends6 + IPV6_ADDR_LEN, IPV6_ADDR_LEN);
        memcpy(ends + IPV6_ADDR_LEN, nh->ends6, IPV6_ADDR_LEN);
        (open ? far_ends6_add : far_ends6_remove)(&t->far_ends6, ends);
    }
}

int route_add_nexthop(struct route_table *t, const struct nexthop_spec *spec)
{
    uint32_t id = t->free;

    if (spec->has_gre && !is_mapped6(spec->gre_destination) && !route_has6(t))
        return -EINVAL;
    if (id != 0) {
        t->free = t->nexthop[id].ip_sum;
    } else {
        if (t->n_nexthops == t->capacity)
            return -ENOSPC;
        id = t->n_nexthops + 1;
    }
    nexthop_init(&t->nexthop[id], spec);
    t->via[id] = spec->mac == NULL ? spec->via : (struct ipv6){0, 0};
    open_tunnel(t, &t->nexthop[id], true);
    if (id > t->n_nexthops)
        __atomic_store_n(&t->n_nexthops, id, __ATOMIC_RELEASE);
    return (int)id;
}

void route_release_nexthop(struct route_table *t, uint32_t id)
{
    open_tunnel(t, &t->nexthop[id], false);
    memset(&t->nexthop[id], 0, sizeof(t->nexthop[id]));
    t->via[id] = (struct ipv6){0, 0};
    t->nexthop[id].ip_sum = t->free;
    t->free = id;
}

int route_add_set(struct route_table *t, const uint32_t *id, uint32_t n)
{
    uint32_t index = t->free_set;

    if (index != ROUTE_SET)
        memcpy(&t->free_set, &t->set[index], sizeof(t->free_set));
    else if (t->n_sets < t->set_capacity)
        index = t->n_sets++;
    else
        return -ENOSPC;
    nexthop_set_init(&t->set[index], t->nexthop, t->via, id, n);
    for (uint32_t i = 0; i < n; i++)
        __atomic_store_n(&t->nexthop[id[i]].in_sets, 1, __ATOMIC_RELAXED);
    return (int)(ROUTE_SET | index);
}

void route_release_set(struct route_table *t, uint32_t number)
{
    uint32_t index = number & ~ROUTE_SET;

    memcpy(&t->set[index], &t->free_set, sizeof(t->free_set));
    t->free_set = index;
}

static bool is_number(const struct route_table *t, uint32_t number)
{
    return (number & ROUTE_SET) != 0 ? (number & ~ROUTE_SET) < t->n_sets
                                     : number >= 1 && number <= t->n_nexthops;
}

int route_add(struct route_table *t, uint32_t prefix, uint8_t len, uint32_t nexthop_id)
{
    if (len > 32 || !is_number(t, nexthop_id))
        return -EINVAL;
    if (len == 32 && route_is_local(t, prefix))
        return 0;
    if (len >= IPV4_LINK_LOCAL_LEN && ipv4_is_link_local(prefix))
        return -EINVAL;
    prefix &= prefix_mask(len);
    if (prefixes_get(&t->fib.routes, prefix, len) == PREFIXES_NONE) {
        if (t->n_routes == t->room)
            return -ENOSPC;
        t->n_routes++;
    }
    return fib_add(&t->fib, prefix, len, nexthop_id);
}

int route_remove(struct route_table *t, uint32_t prefix, uint8_t len)
{
    if (len == 32 && route_is_local(t, prefix))
        return 0;
    if (len >= IPV4_LINK_LOCAL_LEN && ipv4_is_link_local(prefix))
        return -ENOENT;
    if (fib_remove(&t->fib, prefix & prefix_mask(len), len) != 0)
        return -ENOENT;
    t->n_routes--;
    return 0;
}

int route_add_local(struct route_table *t, uint32_t addr)
{
    uint32_t i = (addr * 2654435761u) >> 22;
    uint8_t own;

    if (addr == 0)
        return -EINVAL;
    while (t->local[i] != 0) {
        if (t->local[i] == addr)
            return 0;
        i = (i + 1) & (LOCAL_SET_SLOTS - 1);
    }
    if (t->n_locals == MAX_LOCALS || fib_add(&t->fib, addr, 32, t->local_id) != 0)
        return -ENOSPC;
    t->n_locals++;
    t->local[i] = addr;
    own = source_hash(rte_cpu_to_be_32(addr));
    t->sources.own[own / 64] |= UINT64_C(1) << own % 64;
    return 0;
}

int route_open6(struct route_table *t, uint32_t n, int socket)
{
    int rc = far_ends6_create(&t->far_ends6, t->capacity, socket);

    return rc != 0 ? rc : fib6_create(&t->fib6, n, socket);
}

int route_add_copy(struct route_table *t, int socket)
{
    int rc = fib_add_copy(&t->fib, socket);

    return rc == 0 && route_has6(t) ? fib6_add_copy(&t->fib6, socket) : rc;
}

int route_copy_socket(const struct route_table *t, unsigned copy)
{
    const struct fib_copy *four = fib_copy(&t->fib, copy);
    int on = table_socket(four->first);
    bool alike = table_socket(four->line) == on;

    if (route_has6(t)) {
        const struct fib6_copy *six = fib6_copy(&t->fib6, copy);

        alike = alike && table_socket(six->first) == on && table_socket(six->node) == on;
    }
    return alike ? on : SOCKET_ID_ANY;
}

int route_add6(struct route_table *t, struct ipv6 prefix, uint8_t len, uint32_t nexthop_id)
{
    if (len > PREFIX6_BITS || !is_number(t, nexthop_id))
        return -EINVAL;
    if (len == PREFIX6_BITS && route_is_local6(t, prefix))
        return 0;
    return route_has6(t) ? fib6_add(&t->fib6, first6(prefix, len), len, nexthop_id) : -ENOSPC;
}

int route_add_local6(struct route_table *t, struct ipv6 addr)
{
    uint8_t own = route_hash6(addr);

    t->own6[own / 64] |= UINT64_C(1) << own % 64;
    return route_has6(t) ? fib6_add(&t->fib6, addr, PREFIX6_BITS, t->local_id) : 0;
}

int route_remove6(struct route_table *t, struct ipv6 prefix, uint8_t len)
{
    if (len == PREFIX6_BITS && route_is_local6(t, prefix))
        return 0;
    return route_has6(t) ? fib6_remove(&t->fib6, first6(prefix, len), len) : -ENOENT;
}

uint64_t route_table_bytes(const struct route_table *t)
{
    return sizeof(*t) + (t->capacity + UINT64_C(2)) * sizeof(t->nexthop[0]) +
           (t->capacity + UINT64_C(1)) * sizeof(t->via[0]) +
           (t->set_capacity + UINT64_C(1)) * sizeof(t->set[0]) + fib_bytes(t->room + ROUTE_OWN) +
           far_ends_bytes(t->capacity) + t->fib.n_more * fib_copy_bytes(t->room + ROUTE_OWN) +
           (route_has6(t) ? fib6_bytes(t->fib6.routes.room) + far_ends6_bytes(t->capacity) +
                                t->fib6.n_more * fib6_copy_bytes(t->fib6.routes.room)
                          : 0);
}
