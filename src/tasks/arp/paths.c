/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tunnels that the core is too narrow for. A router there drops the outer packet, which has DF set,
 * and tells the gateway, which is its sender: RFC 1191 section 3. The message quotes too little to
 * be handed on to whom the inner packet is from, so the gateway remembers: from then on the tunnel
 * takes smaller packets, and larger ones are fragmented before it or answered here (RFC 2003
 * section 5.1, "soft state"). After PATH_TICKS the larger size is tried again (RFC 1191
 * section 6.3).
 *
 * What a message says is not believed below PATH_LEAST, so that a forged one slows a tunnel down
 * and no more.
 */
#include "packet/bytes.h"
#include "packet/gre.h"
#include "packet/icmp.h"
#include "tables/far_ends.h"
#include "tasks/arp/instance.h"

#define PATH_LEAST  576u /* bytes that every host takes: RFC 791 section 3.1 */
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

/* The tunnel of a packet that the gateway has sent. */
static uint64_t tunnel_of(const struct rte_ipv4_hdr *sent)
{
    return far_ends_pair(sent->dst_addr, sent->src_addr);
}

/* Are len bytes the beginning of a packet that a tunnel of the gateway has sent? The key, where
 * there is one, must be a subscriber's. */
static bool is_ours(const struct arp *a, const struct rte_ipv4_hdr *sent, uint32_t len)
{
    const uint8_t *gre = (const uint8_t *)(sent + 1);
    uint16_t flags;

    if (len < sizeof(*sent) + GRE_LEN || sent->version_ihl != RTE_IPV4_VHL_DEF ||
        sent->next_proto_id != IPPROTO_GRE ||
        !far_ends_have(&a->tables->routes->far_ends, tunnel_of(sent)))
        return false;
    flags = gre_flags(gre);
    if ((gre_protocol(gre) != RTE_BE16(GRE_PROTO_IPV4) &&
         gre_protocol(gre) != RTE_BE16(GRE_PROTO_IPV6)) ||
        (flags & ~GRE_HAS_KEY) != 0)
        return false;
    return flags == 0 || (len >= sizeof(*sent) + GRE_KEY_LEN &&
                          idmap_get(a->tables->subscribers->by_gre_key,
                                    rte_be_to_cpu_32(gre_key(gre, flags))) != 0);
}

/* Let all next hops of a tunnel take what the way through the core takes, mtu bytes with the outer
 * header, and no more than their ports. */
static void apply(const struct arp *a, uint64_t tunnel, uint32_t mtu)
{
    const struct route_table *r = a->tables->routes;

    for (uint32_t id = 1; id <= r->n_nexthops; id++) {
        struct nexthop *nh = &r->nexthop[id];
        uint32_t most, outer;

        if (!nh->has_gre || tunnel_of((const struct rte_ipv4_hdr *)nh->ip_gre) != tunnel)
            continue;
        outer = nh->before - (nh->has_mpls ? LABEL_BYTES : 0);
        most = a->cfg->ports[nh->port].mtu - nh->before;
        __atomic_store_n(&nh->max_ip, (uint16_t)RTE_MIN(most, mtu - outer), __ATOMIC_RELAXED);
    }
}

/* Where a tunnel is remembered, or else may be: in a free place, or in that of the one which is
 * tried again first. */
static struct narrow_path *place_of(struct arp *a, uint64_t tunnel)
{
    struct narrow_path *best = &a->path[0];

    for (struct narrow_path *p = a->path; p < a->path + ARP_PATHS; p++) {
        if (p->tunnel == tunnel)
            return p;
        if (best->tunnel != 0 && (p->tunnel == 0 || (int32_t)(p->until - best->until) < 0))
            best = p;
    }
    return best;
}

static void forget(struct arp *a, struct narrow_path *p)
{
    apply(a, p->tunnel, UINT16_MAX);
    p->tunnel = 0;
    a->n_paths--;
}

static void remember(struct arp *a, uint64_t tunnel, uint32_t mtu)
{
    struct narrow_path *p = place_of(a, tunnel);

    if (p->tunnel == tunnel && p->mtu <= mtu) /* of a packet that was on its way */
        return;
    if (p->tunnel != 0 && p->tunnel != tunnel)
        forget(a, p);
    a->n_paths += p->tunnel == 0;
    *p = (struct narrow_path){.tunnel = tunnel, .mtu = mtu, .until = a->tick + PATH_TICKS};
    apply(a, tunnel, mtu);
}

void arp_path_learn(struct task *t, struct rte_mbuf *m, const struct rte_ipv4_hdr *ip)
{
    struct arp *a = t->state;
    uint32_t header = rte_ipv4_hdr_len(ip), len = rte_be_to_cpu_16(ip->total_length) - header;
    const uint8_t *icmp = (const uint8_t *)ip + header;
    const struct rte_ipv4_hdr *sent = (const struct rte_ipv4_hdr *)(icmp + ICMP_LEN);
    uint32_t mtu = net16(load16(icmp + 6));
    enum arp_side side = arp_side_of(a, m, rte_be_to_cpu_32(ip->src_addr));

    if (rte_raw_cksum(icmp, len) != 0xffff) {
        task_drop(t, m, DROP_ICMP_MALFORMED);
    } else if (!arp_bucket_take(&a->bucket[side][CLASS_ECHO])) {
        task_drop(t, m, DROP_ICMP_RATE);
    } else if (side != SIDE_CORE || !is_ours(a, sent, len - ICMP_LEN) ||
               mtu >= rte_be_to_cpu_16(sent->total_length)) {
        task_drop(t, m, DROP_NO_TUNNEL);
    } else {
        if (a->notes != NULL)
            fprintf(a->notes, "would take %u bytes for the MTU of the tunnel\n",
                    (unsigned)RTE_MAX(mtu, PATH_LEAST));
        else
            remember(a, tunnel_of(sent), RTE_MAX(mtu, PATH_LEAST));
        task_consume(t, &m, 1);
    }
}

void arp_paths_age(struct arp *a)
{
    if (likely(a->n_paths == 0))
        return;
    for (struct narrow_path *p = a->path; p < a->path + ARP_PATHS; p++)
        if (p->tunnel != 0 && (int32_t)(a->tick - p->until) >= 0)
            forget(a, p);
}
