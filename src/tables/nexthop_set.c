/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables/nexthop_set.h"

#include <stdbool.h>
#include <string.h>

#include "packet/ipv6.h"

#define TUNNEL_TO 16u /* where the destination stands in an IPv4 header, */
#define ADDR_LEN  4u  /* and its length */

static uint64_t number_of6(struct ipv6 addr)
{
    return (addr.upper * UINT64_C(0x9e3779b97f4a7c15) ^ addr.lower) * UINT64_C(0xff51afd7ed558ccd);
}

/* A number of the neighbour: of its address, or of its static MAC. */
static uint64_t neighbour_of(const struct nexthop *nh, struct ipv6 via)
{
    uint64_t mac = 0;

    if (is_mapped6(via))
        return rte_cpu_to_be_32((uint32_t)via.lower);
    if (!is_none6(via))
        return number_of6(via) >> 8;
    memcpy(&mac, nh->eth, 6);
    return mac;
}

/* A hash of a next hop's port, neighbour, tunnel and label: independent of its id and of whether
 * its MAC is known. */
static uint64_t name_of(const struct nexthop *nh, struct ipv6 via)
{
    uint64_t neighbour = neighbour_of(nh, via), tunnel = 0, x;

    if (nh->has_gre == TUNNEL_IPV4)
        memcpy(&tunnel, nh->ip_gre + TUNNEL_TO, ADDR_LEN);
    if (nh->has_gre == TUNNEL_IPV6)
        tunnel = number_of6(ipv6_of(nh->ends6 + IPV6_ADDR_LEN)) >> 32;
    x = (neighbour << 8 | nh->port) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 32 ^ tunnel << 32 ^ nh->mpls) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 32) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 32;
}

struct member {
    uint64_t name;
    uint32_t id;
};

static void sort(struct member *m, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k > 0 && m[k].name < m[k - 1].name; k--) {
            struct member swap = m[k];

            m[k] = m[k - 1];
            m[k - 1] = swap;
        }
}

static bool has_seed(const struct nexthop_set *set, uint32_t n, uint16_t seed)
{
    for (uint32_t i = 0; i < n; i++)
        if (set->seed[i] == seed)
            return true;
    return false;
}

void nexthop_set_init(struct nexthop_set *set, const struct nexthop *table, const struct ipv6 *via,
                      const uint32_t *id, uint32_t n)
{
    struct member m[NEXTHOP_SET_MOST];

    for (uint32_t i = 0; i < n; i++)
        m[i] = (struct member){.name = name_of(&table[id[i]], via[id[i]]), .id = id[i]};
    sort(m, n);
    for (uint32_t i = 0; i < NEXTHOP_SET_MOST; i++) {
        const struct member *one = &m[i < n ? i : 0];
        uint16_t seed = (uint16_t)one->name;

        /* of two with the same seed the second would get no flow */
        while (i < n && has_seed(set, i, seed))
            seed++;
        set->seed[i] = i < n ? seed : set->seed[0];
        set->id[i] = (uint16_t)one->id;
    }
}

uint32_t nexthop_set_pick_known(const struct nexthop_set *set, const struct nexthop *table,
                                uint32_t flow)
{
    uint32_t best = 0, id = 0;

    for (uint32_t i = 0; i < NEXTHOP_SET_MOST; i++) {
        uint32_t drawn = nexthop_set_draw(set->seed[i], flow) | i;

        if (!table[set->id[i]].mac_known || (id != 0 && drawn < best))
            continue;
        best = drawn;
        id = set->id[i];
    }
    return id;
}
