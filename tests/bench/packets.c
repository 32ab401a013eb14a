/* SPDX-License-Identifier: BSD-3-Clause */
/* The working set: mbufs in random order, and for each a frame of a random subscriber to or from a
 * random address of a random route. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_gre.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "bench.h"
#include "engine/pools/pools.h"
#include "packet/ipv6.h"
#include "packet/qinq.h"
#include "packet/stamp.h"

#define SPARE           1024u /* mbufs beside those in flight: the pool's own cache */
#define POOL_CACHE      256u
#define PPPOE_ETHERTYPE 0x8864u
#define INNER_LEN       (sizeof(struct rte_ipv4_hdr) + sizeof(struct rte_udp_hdr))
#define ACCESS_LEN      60u /* 64 with FCS, padded */
#define CORE_KEY_AT     42u /* the GRE key of a core frame: its subscriber */

static uint64_t random_state = 0x9e3779b97f4a7c15;

/* xorshift64: the same packets in every run. */
static uint32_t random_below(uint32_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 32) * n >> 32);
}

static uint8_t *put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
    return p + 2;
}

static uint8_t *put32(uint8_t *p, uint32_t v)
{
    return put16(put16(p, v >> 16), v & 0xffff);
}

static uint8_t *put_mac(uint8_t *p, uint8_t kind, uint32_t n)
{
    p[0] = 2;
    p[1] = kind;
    return put32(p + 2, n);
}

static uint8_t *put_ipv4(uint8_t *p, uint32_t src, uint32_t dst, uint8_t proto, size_t len)
{
    struct rte_ipv4_hdr ip = {
        .version_ihl = 0x45,
        .total_length = rte_cpu_to_be_16((uint16_t)len),
        .time_to_live = 64,
        .next_proto_id = proto,
        .src_addr = rte_cpu_to_be_32(src),
        .dst_addr = rte_cpu_to_be_32(dst),
    };

    ip.hdr_checksum = rte_ipv4_cksum(&ip);
    memcpy(p, &ip, sizeof(ip));
    return p + sizeof(ip);
}

static uint8_t *put_udp(uint8_t *p)
{
    p = put32(p, 4000u << 16 | 4001u);
    return put32(p, (uint32_t)sizeof(struct rte_udp_hdr) << 16);
}

static void make_upstream(struct frame *f, uint32_t subscriber, uint32_t server)
{
    uint8_t *p = f->bytes;

    p = put_mac(p, 0, 1 + WIRE_ACCESS);
    p = put_mac(p, CPE_MAC_KIND, subscriber);
    p = put16(p, 0x88a8);
    p = put16(p, FIRST_SVLAN + subscriber / subscribers_plan()->cvlans);
    p = put16(p, RTE_ETHER_TYPE_VLAN);
    p = put16(p, FIRST_CVLAN + subscriber % subscribers_plan()->cvlans);
    p = put16(p, RTE_ETHER_TYPE_IPV4);
    p = put_ipv4(p, SUBSCRIBER_IP + subscriber, server, IPPROTO_UDP, INNER_LEN);
    put_udp(p);
    f->len = ACCESS_LEN;
}

/* An outer header of IPv6 before len bytes. */
static uint8_t *put_outer6(uint8_t *p, uint32_t server, size_t len)
{
    p = put32(p, 6u << 28);
    p = put32(p, (uint32_t)len << 16 | IPPROTO_GRE << 8 | 64);
    ipv6_put(p, (struct ipv6){TUNNEL_FAR6, 1 + server % N_NEXTHOPS});
    ipv6_put(p + IPV6_ADDR_LEN, (struct ipv6){GATEWAY_NET6, 1});
    return p + 2 * IPV6_ADDR_LEN;
}

/* The headers before what is in the tunnel, which has so many bytes. */
static uint8_t *put_tunnel(uint8_t *p, uint32_t subscriber, uint32_t server, uint32_t type,
                           size_t len, bool over6)
{
    const size_t gre = sizeof(struct rte_gre_hdr) + 4;

    p = put_mac(p, 0, 1 + WIRE_CORE);
    p = put_mac(p, CORE_MAC_KIND, 0);
    p = put16(p, RTE_ETHER_TYPE_MPLS);
    p = put32(p, FIRST_LABEL << 12 | 1 << 8 | 64); /* S 1, TTL 64 */
    p = over6 ? put_outer6(p, server, gre + len)
              : put_ipv4(p, TUNNEL_FAR + server % N_NEXTHOPS, TUNNEL_NEAR, IPPROTO_GRE,
                         sizeof(struct rte_ipv4_hdr) + gre + len);
    p = put32(p, 0x2000u << 16 | type); /* key present */
    return put32(p, subscriber);
}

static void make_downstream(struct frame *f, uint32_t subscriber, uint32_t server, bool over6)
{
    uint8_t *p = put_tunnel(f->bytes, subscriber, server, RTE_ETHER_TYPE_IPV4, INNER_LEN, over6);

    p = put_ipv4(p, server, SUBSCRIBER_IP + subscriber, IPPROTO_UDP, INNER_LEN);
    p = put_udp(p);
    f->len = (uint16_t)(p - f->bytes);
}

/* An IPv6 header and UDP; upper: of the subscriber's address, at which a random host is. */
static uint8_t *put_ipv6(uint8_t *p, bool from_subscriber, uint64_t upper, uint64_t net,
                         uint32_t server)
{
    uint64_t addr[2][2] = {{upper, random_below(UINT32_MAX)}, {net, server}};

    p = put32(p, 6u << 28);
    p = put32(p, (uint32_t)sizeof(struct rte_udp_hdr) << 16 | IPPROTO_UDP << 8 | 64);
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t *a = addr[from_subscriber ? i : 1 - i];

        p = put32(put32(p, (uint32_t)(a[0] >> 32)), (uint32_t)a[0]);
        p = put32(put32(p, (uint32_t)(a[1] >> 32)), (uint32_t)a[1]);
    }
    return put_udp(p);
}

/* An address of a subscriber: of his link, or on one of the links of what is delegated to him. */
static uint64_t upper_of(uint32_t subscriber)
{
    return random_below(2) == 0
               ? subscribers_plan()->links6 + subscriber
               : subscribers_plan()->delegated6 + ((uint64_t)subscriber << 8) + random_below(256);
}

/* The upper half of a server's address: below one of the routes. */
static uint64_t server_net(uint32_t server)
{
    return ROUTED_IP6 + ((uint64_t)((server - ROUTED_IP) / 16) << 16);
}

static void make_upstream6(struct frame *f, uint32_t subscriber, uint32_t server)
{
    uint8_t *p;

    make_upstream(f, subscriber, server);
    p = put16(f->bytes + 20, RTE_ETHER_TYPE_IPV6);
    p = put_ipv6(p, true, upper_of(subscriber), server_net(server), server);
    f->len = (uint16_t)(p - f->bytes);
}

static void make_downstream6(struct frame *f, uint32_t subscriber, uint32_t server, bool over6)
{
    uint8_t *p = put_tunnel(f->bytes, subscriber, server, RTE_ETHER_TYPE_IPV6,
                            IPV6_LEN + sizeof(struct rte_udp_hdr), over6);

    p = put_ipv6(p, false, upper_of(subscriber), server_net(server), server);
    f->len = (uint16_t)(p - f->bytes);
}

/* The same frame in the subscriber's session of PPPoE. */
static void make_session(struct frame *f, const struct frame *plain, uint32_t subscriber)
{
    uint8_t *p = f->bytes + QINQ_LEN - 2;
    bool is_six = load16(plain->bytes + QINQ_LEN - 2) == RTE_BE16(RTE_ETHER_TYPE_IPV6);
    uint32_t len = is_six ? plain->len - (uint32_t)QINQ_LEN : (uint32_t)INNER_LEN;

    memcpy(f->bytes, plain->bytes, QINQ_LEN - 2);
    p = put16(p, PPPOE_ETHERTYPE);
    p = put16(p, 0x1100); /* version and type 1, session data */
    p = put16(p, FIRST_SESSION + subscriber % SESSIONS);
    p = put16(p, 2 + len);
    p = put16(p, is_six ? 0x0057 : 0x0021);
    memcpy(p, plain->bytes + QINQ_LEN, len);
    p += len;
    f->len = (uint16_t)RTE_MAX((size_t)(p - f->bytes), (size_t)ACCESS_LEN);
}

/* net: the upper half of the source of IPv6, or 0: the frame is of IPv4. */
static void make_plain(struct frame *f, uint32_t subscriber, uint32_t server, uint64_t net)
{
    uint8_t *p = f->bytes;

    p = put_mac(p, 0, 1 + WIRE_CORE);
    p = put_mac(p, CORE_MAC_KIND, 0);
    p = put16(p, net != 0 ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4);
    if (net != 0) {
        p = put_ipv6(p, false, upper_of(subscriber), net, server);
        f->len = (uint16_t)(p - f->bytes);
        return;
    }
    p = put_ipv4(p, server, SUBSCRIBER_IP + subscriber, IPPROTO_UDP, INNER_LEN);
    put_udp(p);
    f->len = ACCESS_LEN;
}

void packets_draw(const struct packets *p, uint32_t i)
{
    uint32_t subscriber = random_below(bench_subscribers);
    uint32_t server = ROUTED_IP + random_below(N_ROUTES) * 16 + random_below(16);
    bool is_six = random_below(2) == 0;

    make_upstream(&p->frames[UPSTREAM][i], subscriber, server);
    make_downstream(&p->frames[DOWNSTREAM][i], subscriber, server, false);
    make_upstream6(&p->frames[UPSTREAM6][i], subscriber, server);
    make_downstream6(&p->frames[DOWNSTREAM6][i], subscriber, server, false);
    make_downstream(&p->frames[DOWNSTREAM_OVER6][i], subscriber, server, true);
    make_downstream6(&p->frames[DOWNSTREAM6_OVER6][i], subscriber, server, true);
    p->frames[UPSTREAM_MIX][i] = p->frames[is_six ? UPSTREAM6 : UPSTREAM][i];
    p->frames[DOWNSTREAM_MIX][i] = p->frames[is_six ? DOWNSTREAM6 : DOWNSTREAM][i];
    make_session(&p->frames[UPSTREAM_PPPOE][i], &p->frames[UPSTREAM][i], subscriber);
    make_session(&p->frames[UPSTREAM6_PPPOE][i], &p->frames[UPSTREAM6][i], subscriber);
    make_plain(&p->frames[PLAIN_DOWN][i], subscriber, server, 0);
    make_plain(&p->frames[PLAIN_DOWN6][i], subscriber, server, server_net(server));
    make_plain(&p->frames[PLAIN_DOWN6_NEAR][i], subscriber, server, GATEWAY_NET6);
    p->frames[PLAIN_DOWN_MIX][i] = p->frames[is_six ? PLAIN_DOWN6 : PLAIN_DOWN][i];
}

static void shuffle(struct rte_mbuf **m, uint32_t n)
{
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t k = random_below(i + 1);
        struct rte_mbuf *swap = m[i];

        m[i] = m[k];
        m[k] = swap;
    }
}

int packets_make(struct packets *p)
{
    struct rte_mbuf **all = calloc(N_PACKETS + SPARE, sizeof(all[0]));
    bool have_frames = true;

    p->pool = pool_create("bench", N_PACKETS + SPARE, POOL_CACHE, DATA_ROOM, 0);
    if (p->pool == NULL) {
        fprintf(stderr, "bench: no memory for mbufs: %s\n", rte_strerror(rte_errno));
        free(all);
        return -1;
    }
    p->staged = calloc(N_PACKETS, sizeof(p->staged[0]));
    for (unsigned i = 0; i < N_KINDS; i++) {
        p->frames[i] = aligned_alloc(64, N_PACKETS * sizeof(struct frame));
        have_frames &= p->frames[i] != NULL;
    }
    if (all == NULL || p->staged == NULL || !have_frames ||
        rte_pktmbuf_alloc_bulk(p->pool, all, N_PACKETS + SPARE)) {
        fprintf(stderr, "bench: no memory for frames\n");
        free(all);
        return -1;
    }
    /* the spare ones leave holes, and go back in random order as all others will */
    shuffle(all, N_PACKETS + SPARE);
    p->mbuf = all;
    p->spare = all + N_PACKETS;
    rte_mempool_put_bulk(p->pool, (void **)p->spare, SPARE);
    for (uint32_t i = 0; i < N_PACKETS; i++)
        packets_draw(p, i);
    return 0;
}

void packets_free(struct packets *p)
{
    if (p->pool != NULL)
        rte_mempool_free(p->pool);
    free(p->mbuf);
    free(p->staged);
    for (unsigned i = 0; i < N_KINDS; i++)
        free(p->frames[i]);
}

void packets_restore(const struct packets *p, enum bench_way d, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++) {
        const struct frame *f = &p->frames[d][i];
        struct rte_mbuf *m = p->mbuf[i];

        if (bench_subscribers > N_PACKETS)
            packets_draw(p, i);
        rte_pktmbuf_reset(m);
        m->data_len = f->len;
        m->pkt_len = f->len;
        memcpy(rte_pktmbuf_mtod(m, void *), f->bytes, f->len);
    }
}

void packets_stamp(const struct packets *p)
{
    const uint64_t now = rte_rdtsc(), most = rte_get_tsc_hz() / 10000;
    static uint32_t seq;

    for (uint32_t i = 0; i < N_PACKETS; i++) {
        struct rte_mbuf *m = p->mbuf[i];
        struct stamp s = {
            .tsc = now - random_below((uint32_t)most),
            .seq = (seq + i) / 4,
            .stream = (uint16_t)(1 + i % 4),
            .user = net32(load32(rte_pktmbuf_mtod_offset(m, uint8_t *, CORE_KEY_AT))),
        };

        stamp_write((uint8_t *)rte_pktmbuf_append(m, STAMP_LEN), &s);
    }
    seq += N_PACKETS;
}

void packets_lend(struct packets *p)
{
    rte_mempool_put_bulk(p->pool, (void **)p->mbuf, N_PACKETS);
}

/* All leave the pool and the spare ones return to it: mbuf[] keeps its order, so that every round
 * measures the same. */
int packets_take_back(struct packets *p)
{
    static void *all[N_PACKETS + SPARE];

    rte_mempool_cache_flush(rte_mempool_default_cache(p->pool, rte_lcore_id()), p->pool);
    if (rte_mempool_get_bulk(p->pool, all, N_PACKETS + SPARE) != 0) {
        fprintf(stderr, "bench: a task has lost mbufs\n");
        return -1;
    }
    rte_mempool_put_bulk(p->pool, (void **)p->spare, SPARE);
    return 0;
}
