/* SPDX-License-Identifier: BSD-3-Clause */
#define ALLOW_EXPERIMENTAL_API /* rte_lpm_rcu_qsbr_add() */
#include "tables/route.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_rcu_qsbr.h>

#include "tables/martians.h"
#include "tables/memory.h"

#define MAX_LOCALS    (LOCAL_SET_SLOTS / 2)
#define DEFAULT_RULES 2     /* a default route is two of the library's rules */
#define BARRED_RULES  1     /* 169.254/16 */
#define GROUP_BYTES   1024u /* of such a prefix: 256 entries */
#define RULE_BYTES    8u    /* address and next hop, as the library keeps each rule */
#define MAX_NEXTHOPS  UINT16_MAX
#define HALF          0x80000000u

/* Make the prefix tree, with room for the worst case: every route is longer than /24 and alone in
 * its /24. */
static int create_lpm(struct route_table *t, uint32_t n_routes, int socket)
{
    static unsigned n_created;
    uint32_t groups = n_routes + MAX_LOCALS;
    struct rte_lpm_config config = {
        .max_rules = n_routes + MAX_LOCALS + DEFAULT_RULES + BARRED_RULES,
        .number_tbl8s = RTE_MIN(groups, ROUTE_MAX_GROUPS),
    };
    char name[RTE_LPM_NAMESIZE];

    snprintf(name, sizeof(name), "routes%u", n_created++);
    t->lpm = rte_lpm_create(name, socket, &config);
    if (t->lpm == NULL)
        t->lpm = rte_lpm_create(name, SOCKET_ID_ANY, &config);
    if (t->lpm == NULL)
        return -ENOMEM;
    t->lpm_bytes = sizeof(*t->lpm) + (uint64_t)config.number_tbl8s * GROUP_BYTES +
                   (uint64_t)config.max_rules * RULE_BYTES;
    return 0;
}

/* Mark the first octets of martians. */
static void fill_filter(struct route_table *t)
{
    for (uint32_t net = 0; net < 256; net++)
        if (!ipv4_is_unicast(net << 24) || net == IPV4_LINK_LOCAL >> 24)
            t->sources.net[net / 64] |= UINT64_C(1) << net % 64;
}

struct route_table *route_table_create(uint32_t n_nexthops, uint32_t n_routes, int socket)
{
    struct route_table *t;

    if (n_nexthops > MAX_NEXTHOPS)
        return NULL;
    t = table_zalloc(sizeof(*t), socket);
    if (t == NULL)
        return NULL;
    t->capacity = n_nexthops;
    /* [0] is empty and the gateway itself is the last one, so that next hops have ids from 1 */
    t->local_id = n_nexthops + 1;
    t->nexthop = table_zalloc((n_nexthops + UINT64_C(2)) * sizeof(t->nexthop[0]), socket);
    /* link-local destinations lead nowhere, whatever the default route: RFC 3927 section 7; an
     * address of the gateway in there is more specific */
    if (t->nexthop == NULL || far_ends_create(&t->far_ends, n_nexthops, socket) != 0 ||
        create_lpm(t, n_routes, socket) != 0 ||
        rte_lpm_add(t->lpm, IPV4_LINK_LOCAL, IPV4_LINK_LOCAL_LEN, 0) != 0) {
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
    rte_lpm_free(t->lpm);
    far_ends_free(&t->far_ends);
    rte_free(t->nexthop);
    rte_free(t);
}

int route_table_share(struct route_table *t, struct rte_rcu_qsbr *readers)
{
    struct rte_lpm_rcu_config config = {.v = readers, .mode = RTE_LPM_QSBR_MODE_DQ};

    return rte_lpm_rcu_qsbr_add(t->lpm, &config) == 0 ? 0 : -ENOMEM;
}

/* Source and destination of what comes out of a next hop's tunnel, as they lie in the packet. */
static uint64_t pair_of(const struct nexthop *nh)
{
    const struct rte_ipv4_hdr *sent = (const struct rte_ipv4_hdr *)nh->ip_gre;

    return far_ends_pair(sent->dst_addr, sent->src_addr);
}

int route_add_nexthop(struct route_table *t, const struct nexthop_spec *spec)
{
    uint32_t id = t->free;

    if (id != 0) {
        t->free = t->nexthop[id].ip_sum;
    } else {
        if (t->n_nexthops == t->capacity)
            return -ENOSPC;
        id = t->n_nexthops + 1;
    }
    nexthop_init(&t->nexthop[id], spec);
    if (spec->has_gre)
        far_ends_add(&t->far_ends, pair_of(&t->nexthop[id]));
    if (id > t->n_nexthops)
        __atomic_store_n(&t->n_nexthops, id, __ATOMIC_RELEASE);
    return (int)id;
}

void route_release_nexthop(struct route_table *t, uint32_t id)
{
    if (t->nexthop[id].has_gre)
        far_ends_remove(&t->far_ends, pair_of(&t->nexthop[id]));
    memset(&t->nexthop[id], 0, sizeof(t->nexthop[id]));
    t->nexthop[id].ip_sum = t->free;
    t->free = id;
}

/* Set a half of the default route: rte_lpm has no prefix of length 0, so it is two routes /1. A
 * half that the configuration has a route for keeps that one, which is more specific. */
static int set_half(struct route_table *t, unsigned half)
{
    uint32_t prefix = half == 0 ? 0 : HALF;

    if ((t->own_halves & 1 << half) != 0)
        return 0;
    if (t->default_nexthop != 0)
        return rte_lpm_add(t->lpm, prefix, 1, t->default_nexthop) == 0 ? 0 : -ENOSPC;
    rte_lpm_delete(t->lpm, prefix, 1);
    return 0;
}

static int set_default(struct route_table *t, uint32_t nexthop_id)
{
    t->default_nexthop = nexthop_id;
    return set_half(t, 0) != 0 ? -ENOSPC : set_half(t, 1);
}

int route_add(struct route_table *t, uint32_t prefix, uint8_t len, uint32_t nexthop_id)
{
    if (len > 32 || nexthop_id == 0 || nexthop_id > t->n_nexthops)
        return -EINVAL;
    if (len == 0)
        return set_default(t, nexthop_id);
    if (len == 32 && route_is_local(t, prefix))
        return 0;
    if (len >= IPV4_LINK_LOCAL_LEN && ipv4_is_link_local(prefix))
        return -EINVAL;
    if (rte_lpm_add(t->lpm, prefix, len, nexthop_id) != 0)
        return -ENOSPC;
    if (len == 1)
        t->own_halves |= (uint8_t)(1 << (prefix >> 31));
    return 0;
}

int route_remove(struct route_table *t, uint32_t prefix, uint8_t len)
{
    if (len == 0)
        return t->default_nexthop != 0 ? set_default(t, 0) : -ENOENT;
    if (len == 32 && route_is_local(t, prefix))
        return 0;
    if (len >= IPV4_LINK_LOCAL_LEN && ipv4_is_link_local(prefix))
        return -ENOENT;
    if (len == 1) {
        if ((t->own_halves & 1 << (prefix >> 31)) == 0)
            return -ENOENT;
        t->own_halves &= (uint8_t) ~(1 << (prefix >> 31));
        if (t->default_nexthop != 0)
            return set_half(t, prefix >> 31);
    }
    return rte_lpm_delete(t->lpm, prefix, len) == 0 ? 0 : -ENOENT;
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
    if (t->n_locals == MAX_LOCALS || rte_lpm_add(t->lpm, addr, 32, t->local_id) != 0)
        return -ENOSPC;
    t->n_locals++;
    t->local[i] = addr;
    own = source_hash(rte_cpu_to_be_32(addr));
    t->sources.own[own / 64] |= UINT64_C(1) << own % 64;
    return 0;
}

uint64_t route_table_bytes(const struct route_table *t)
{
    return sizeof(*t) + (t->capacity + UINT64_C(2)) * sizeof(t->nexthop[0]) + t->lpm_bytes +
           far_ends_bytes(t->capacity);
}
