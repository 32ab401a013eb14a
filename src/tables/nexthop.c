/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables/nexthop.h"

#include <stddef.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>

#include "packet/ethernet.h"
#include "packet/ipv6.h"
#include "tables/mac.h"

#define GRE_KEY_PRESENT 0x2000 /* RFC 2890 section 2 */
#define OUTER_TTL       64
#define TUNNEL_BYTES    28 /* IPv4 and GRE with key */
#define MORE_OF_IPV6    20 /* bytes of an IPv6 header than of one of IPv4 */
#define KEY_BYTES       4  /* of the key */
#define LABEL_BYTES     4
#define MIN_IP          20
#define LABEL_BOTTOM    0x100 /* S bit, RFC 3032 section 2.1 */

static_assert(offsetof(struct nexthop, eth) == 0, "the neighbour's MAC begins an aligned word");
static_assert(sizeof(struct rte_ipv4_hdr) == 20, "outer header of a tunnel");

/* Fill in the outer IPv4 header (RFC 791; DF and ID 0 make an atomic datagram: RFC 6864
 * section 4.1) and GRE with key (RFC 2784 section 2, RFC 2890). */
static void fill_tunnel(struct nexthop *nh, const struct nexthop_spec *s)
{
    struct rte_ipv4_hdr ip = {
        .version_ihl = RTE_IPV4_VHL_DEF,
        .fragment_offset = RTE_BE16(RTE_IPV4_HDR_DF_FLAG),
        .time_to_live = OUTER_TTL,
        .next_proto_id = IPPROTO_GRE,
        .src_addr = rte_cpu_to_be_32((uint32_t)s->gre_source.lower),
        .dst_addr = rte_cpu_to_be_32((uint32_t)s->gre_destination.lower),
    };
    const rte_be16_t gre[2] = {RTE_BE16(GRE_KEY_PRESENT), RTE_BE16(RTE_ETHER_TYPE_IPV4)};

    memcpy(nh->ip_gre, &ip, sizeof(ip));
    memcpy(nh->ip_gre + sizeof(ip), gre, sizeof(gre));
    for (unsigned i = 0; i < sizeof(ip); i += 2) {
        uint16_t word;

        memcpy(&word, nh->ip_gre + i, sizeof(word));
        nh->ip_sum += word;
    }
}

/* Fill in both ends of a tunnel whose outer header is IPv6. */
static void fill_tunnel6(struct nexthop *nh, const struct nexthop_spec *s)
{
    ipv6_put(nh->ends6, s->gre_source);
    ipv6_put(nh->ends6 + IPV6_ADDR_LEN, s->gre_destination);
}

static enum nexthop_tunnel tunnel_of(const struct nexthop_spec *s)
{
    if (!s->has_gre)
        return TUNNEL_NONE;
    return is_mapped6(s->gre_destination) ? TUNNEL_IPV4 : TUNNEL_IPV6;
}

/* The bytes that come between the Ethernet header and a packet, whose tunnel has a key or not. */
static unsigned bytes_before(const struct nexthop_spec *s, bool key)
{
    unsigned tunnel =
        TUNNEL_BYTES - (key ? 0 : KEY_BYTES) + (tunnel_of(s) == TUNNEL_IPV6 ? MORE_OF_IPV6 : 0);

    return (s->has_gre ? tunnel : 0) + (s->has_mpls ? LABEL_BYTES : 0);
}

void nexthop_init(struct nexthop *nh, const struct nexthop_spec *spec)
{
    unsigned most = bytes_before(spec, spec->gre_keys != GRE_KEYS_NEVER),
             least = bytes_before(spec, spec->gre_keys == GRE_KEYS_ALWAYS);

    memset(nh, 0, sizeof(*nh));
    memcpy(nh->eth + 6, spec->gateway_mac, 6);
    nh->eth[12] = RTE_ETHER_TYPE_IPV4 >> 8;
    nh->eth[13] = RTE_ETHER_TYPE_IPV4 & 0xff;
    /* the labels are part of what the link's MTU limits: RFC 3032 section 3.2 */
    nh->max_ip = (uint16_t)(spec->mtu > most ? spec->mtu - most : 0);
    nh->before = (uint8_t)most;
    nh->port = spec->port;
    nh->min_len = (uint8_t)(least < ETH_MIN_LEN - ETH_LEN - MIN_IP ? ETH_MIN_LEN - least : 0);
    nh->has_gre = (uint8_t)tunnel_of(spec);
    nh->has_mpls = spec->has_mpls;
    if (nh->has_gre == TUNNEL_IPV4)
        fill_tunnel(nh, spec);
    if (nh->has_gre == TUNNEL_IPV6)
        fill_tunnel6(nh, spec);
    if (spec->has_mpls)
        nh->mpls = rte_cpu_to_be_32(spec->label << 12 | LABEL_BOTTOM);
    if (spec->mac != NULL)
        nexthop_set_mac(nh, spec->mac);
}

void nexthop_set_mac(struct nexthop *nh, const uint8_t *mac)
{
    record_set_mac(nh->eth, &nh->mac_known, mac);
}

struct tunnel_ends nexthop_ends(const struct nexthop *nh)
{
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)nh->ip_gre;

    if (nh->has_gre == TUNNEL_IPV4)
        return (struct tunnel_ends){mapped6(rte_be_to_cpu_32(ip->src_addr)),
                                    mapped6(rte_be_to_cpu_32(ip->dst_addr))};
    if (nh->has_gre == TUNNEL_IPV6)
        return (struct tunnel_ends){ipv6_of(nh->ends6), ipv6_of(nh->ends6 + IPV6_ADDR_LEN)};
    return (struct tunnel_ends){{0, 0}, {0, 0}};
}
