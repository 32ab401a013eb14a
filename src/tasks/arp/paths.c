/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tunnels that the core is too narrow for. A router there drops the outer packet, which has DF set,
 * and tells the gateway, which is its sender: RFC 1191 section 3. The message quotes too little to
 * be handed on to whom the inner packet is from, so the gateway remembers: from then on the tunnel
 * takes smaller packets, and larger ones are fragmented before it or answered here (RFC 2003
 * section 5.1, "soft state"). After PATH_TICKS the larger size is tried again (RFC 1191
 * section 6.3).
 *
 * What a message says is not believed below PATH_LEAST (RFC 8201 section 4: IPV6_MIN_MTU), so that
 * a forged one slows a tunnel down and no more.
 */
#include <inttypes.h>

#include "packet/bytes.h"
#include "packet/gre.h"
#include "packet/icmp.h"
#include "packet/icmpv6.h"
#include "tables/far_ends.h"
#include "tasks/arp/instance.h"

#define PATH_LEAST  576u /* bytes that every host takes: RFC 791 section 3.1; of IPv6: 1280 */
#define PATH_TICKS  (600 * TICKS_PER_S)
#define LABEL_BYTES 4u

bool arp_path_is_news(const struct rte_ipv4_hdr *ip)
{
    uint32_t header = rte_ipv4_hdr_len(ip);
    const uint8_t *icmp = (const uint8_t *)ip + header;

    return rte_be_to_cpu_16(ip->total_length) >= header + ICMP_LEN &&
           (ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_OFFSET_MASK)) == 0 &&
           icmp[0] == ICMP_UNREACHABLE && icmp[1] == ICMP_TOO_BIG_CODE;
}

/* Is a GRE header of which len bytes are there one that the gateway has written? The key, where
 * there is one, must be a subscriber's. */
static bool is_our_gre(const struct arp *a, const uint8_t *gre, uint32_t len)
{
    uint16_t flags;

    if (len < GRE_LEN)
        return false;
    flags = gre_flags(gre);
    if ((gre_protocol(gre) != RTE_BE16(GRE_PROTO_IPV4) &&
         gre_protocol(gre) != RTE_BE16(GRE_PROTO_IPV6)) ||
        (flags & ~GRE_HAS_KEY) != 0)
        return false;
    return flags == 0 ||
           (len >= GRE_KEY_LEN && idmap_get(a->tables->subscribers->by_gre_key,
                                            rte_be_to_cpu_32(gre_key(gre, flags))) != 0);
}

/* Are len bytes the beginning of a packet that a tunnel of the gateway has sent? */
static bool is_ours(const struct arp *a, const struct rte_ipv4_hdr *sent, uint32_t len)
{
    return len >= sizeof(*sent) && sent->version_ihl == RTE_IPV4_VHL_DEF &&
           sent->next_proto_id == IPPROTO_GRE &&
           far_ends_have(&a->tables->routes->far_ends,
                         far_ends_pair(sent->dst_addr, sent->src_addr)) &&
           is_our_gre(a, (const uint8_t *)(sent + 1), len - sizeof(*sent));
}

static bool is_ours6(const struct arp *a, const struct ipv6_hdr *sent, uint32_t len)
{
    const struct far_ends6 *f = &a->tables->routes->far_ends6;
    uint8_t ends[FAR_END_BYTES6];

    if (len < sizeof(*sent) || sent->first[0] >> 4 != 6 || sent->next_header != IPPROTO_GRE ||
        !far_ends6_any(f))
        return false;
    memcpy(ends, sent->destination, IPV6_ADDR_LEN);
    memcpy(ends + IPV6_ADDR_LEN, sent->source, IPV6_ADDR_LEN);
    return far_ends6_have(f, ends) &&
           is_our_gre(a, (const uint8_t *)(sent + 1), len - sizeof(*sent));
}

/* Let all next hops of a tunnel take what the way through the core takes, mtu bytes with the outer
 * header, and no more than their ports. */
static void apply(const struct arp *a, const struct tunnel_ends *tunnel, uint32_t mtu)
{
    const struct route_table *r = a->tables->routes;

    for (uint32_t id = 1; id <= r->n_nexthops; id++) {
        struct nexthop *nh = &r->nexthop[id];
        struct tunnel_ends ends = nexthop_ends(nh);
        uint32_t most, outer;

        if (!nh->has_gre || !same_ends(&ends, tunnel))
            continue;
        outer = nh->before - (nh->has_mpls ? LABEL_BYTES : 0);
        most = a->cfg->ports[nh->port].mtu - nh->before;
        __atomic_store_n(&nh->max_ip, (uint16_t)RTE_MIN(most, mtu - outer), __ATOMIC_RELAXED);
    }
}

static bool is_free(const struct narrow_path *p)
{
    return is_none6(p->tunnel.far);
}

/* Where a tunnel is remembered, or else may be: in a free place, or in that of the one which is
 * tried again first. */
static struct narrow_path *place_of(struct arp *a, const struct tunnel_ends *tunnel)
{
    struct narrow_path *best = &a->path[0];

    for (struct narrow_path *p = a->path; p < a->path + ARP_PATHS; p++) {
        if (same_ends(&p->tunnel, tunnel))
            return p;
        if (!is_free(best) && (is_free(p) || (int32_t)(p->until - best->until) < 0))
            best = p;
    }
    return best;
}

static void forget(struct arp *a, struct narrow_path *p)
{
    apply(a, &p->tunnel, UINT16_MAX);
    *p = (struct narrow_path){.mtu = 0};
    a->n_paths--;
}

static void remember(struct arp *a, const struct tunnel_ends *tunnel, uint32_t mtu)
{
    struct narrow_path *p = place_of(a, tunnel);
    bool is_known = same_ends(&p->tunnel, tunnel);

    if (is_known && p->mtu <= mtu) /* of a packet that was on its way */
        return;
    if (!is_free(p) && !is_known)
        forget(a, p);
    a->n_paths += is_free(p);
    *p = (struct narrow_path){.tunnel = *tunnel, .mtu = mtu, .until = a->tick + PATH_TICKS};
    apply(a, tunnel, mtu);
}

/* What a message of len bytes says: that a packet, of which a part is quoted, was too big. */
struct news {
    bool is_right; /* its checksum */
    enum arp_side side;
    bool is_ours; /* a tunnel of the gateway has sent the packet, which was greater than the MTU */
    struct tunnel_ends tunnel;
    uint32_t mtu;
};

static void learn(struct task *t, struct rte_mbuf *m, const struct news *n)
{
    struct arp *a = t->state;

    if (!n->is_right) {
        task_drop(t, m, DROP_ICMP_MALFORMED);
    } else if (!arp_bucket_take(&a->bucket[n->side][CLASS_ECHO])) {
        task_drop(t, m, DROP_ICMP_RATE);
    } else if (n->side != SIDE_CORE || !n->is_ours) {
        task_drop(t, m, DROP_NO_TUNNEL);
    } else {
        if (a->notes != NULL)
            fprintf(a->notes, "would take %" PRIu32 " bytes for the MTU of the tunnel\n", n->mtu);
        else
            remember(a, &n->tunnel, n->mtu);
        task_consume(t, &m, 1);
    }
}

void arp_path_learn(struct task *t, struct rte_mbuf *m, const struct rte_ipv4_hdr *ip)
{
    const struct arp *a = t->state;
    uint32_t header = rte_ipv4_hdr_len(ip), len = rte_be_to_cpu_16(ip->total_length) - header;
    const uint8_t *icmp = (const uint8_t *)ip + header;
    const struct rte_ipv4_hdr *sent = (const struct rte_ipv4_hdr *)(icmp + ICMP_LEN);
    uint32_t mtu = net16(load16(icmp + 6));
    struct news n = {.is_right = rte_raw_cksum(icmp, len) == 0xffff,
                     .side = arp_side_of(a, m, rte_be_to_cpu_32(ip->src_addr)),
                     .mtu = RTE_MAX(mtu, PATH_LEAST)};

    n.is_ours = is_ours(a, sent, len - ICMP_LEN) && mtu < rte_be_to_cpu_16(sent->total_length);
    if (n.is_ours)
        n.tunnel = (struct tunnel_ends){mapped6(rte_be_to_cpu_32(sent->src_addr)),
                                        mapped6(rte_be_to_cpu_32(sent->dst_addr))};
    learn(t, m, &n);
}

bool arp_path_is_news6(const struct ipv6_hdr *ip)
{
    const uint8_t *icmp = (const uint8_t *)(ip + 1);

    return ip->next_header == IPPROTO_ICMPV6 && net16(ip->payload_length) >= ICMPV6_LEN &&
           icmp[0] == ICMPV6_TOO_BIG;
}

void arp_path_learn6(struct task *t, struct rte_mbuf *m, const struct arp_frame *f)
{
    const struct arp *a = t->state;
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)(f->bytes + f->l2_len);
    const uint8_t *icmp = (const uint8_t *)(ip + 1);
    const struct ipv6_hdr *sent = (const struct ipv6_hdr *)(icmp + ICMPV6_LEN);
    uint32_t len = net16(ip->payload_length), mtu = net32(load32(icmp + 4));
    struct news n = {.is_right = icmpv6_checksum_ok(ip, icmp, len),
                     .side = arp_side_of6(a, m, f),
                     .mtu = RTE_MAX(mtu, (uint32_t)IPV6_MIN_MTU)};

    n.is_ours = is_ours6(a, sent, len - ICMPV6_LEN) && mtu < ipv6_len(sent);
    if (n.is_ours)
        n.tunnel = (struct tunnel_ends){ipv6_of(sent->source), ipv6_of(sent->destination)};
    learn(t, m, &n);
}

void arp_paths_age(struct arp *a)
{
    if (likely(a->n_paths == 0))
        return;
    for (struct narrow_path *p = a->path; p < a->path + ARP_PATHS; p++)
        if (!is_free(p) && (int32_t)(a->tick - p->until) >= 0)
            forget(a, p);
}
