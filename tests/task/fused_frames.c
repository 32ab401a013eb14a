/* SPDX-License-Identifier: BSD-3-Clause */
#include "fused_frames.h"

#include "lanes.h"
#include "tables/dscp.h"

#define PICK(...)                                                                                  \
    ((const uint32_t[]){__VA_ARGS__})[random32() % RTE_DIM(((const uint32_t[]){__VA_ARGS__}))]

#define LINK      UINT64_C(0x20010db8000a0000) /* 2001:db8:a::/64, of SUB_CPE0 */
#define DELEGATED UINT64_C(0x20010db801000000) /* 2001:db8:100::/56, the same */
#define ADDRESS   UINT64_C(0x20010db8000b0000) /* 2001:db8:b::7, of SUB_CPE1 */
#define NO_KEY    UINT64_C(0x20010db802000000) /* 2001:db8:200::/48, of SUB_NO_KEY */
#define IN_PPPOE  UINT64_C(0x20010db8000c0000) /* 2001:db8:c::/64, of SUB_PPPOE */
#define GATEWAY   UINT64_C(0x20010db8fff00000) /* 2001:db8:fff0::1 */
#define NEAR      UINT64_C(0x20010db8eeee0000) /* nobody's, of the same net */
#define FAR_END   UINT64_C(0x20010db8fff10000) /* 2001:db8:fff1::1, of a tunnel from GATEWAY */
#define SET       26u                          /* of the routes 26.0.0.0/8 and 2001:db8:1a::/48 */
#define OVER6     27u /* of 27.0.0.0/8 and 2001:db8:1b::/48: by a tunnel of IPv6, with a label */

unsigned fused_six;
bool fused_good;

/* One in so many is odd, so that bursts hold both kinds. */
static bool odd(void)
{
    return random32() % 24 == 0 && !fused_good;
}

static bool pick_six(void)
{
    return random32() % 100 < fused_six;
}

static struct ip some_ip(uint32_t src, uint32_t dst)
{
    return (struct ip){
        .src = odd() ? PICK(0, 0x7f000001, 0xe0000001, 0xa9fe0001, ADDR_CORE0, 0x0a000001) : src,
        .dst = dst,
        .tos = (uint8_t)random32(),
        .ttl = (uint8_t)(odd() ? PICK(0, 1, 2, 255) : 64),
        .proto = 17,
        .options = (uint8_t)(odd() ? random32() % 3 : 0),
        .fragment = (uint16_t)(odd() ? PICK(0x2000, 1, 0x4000) : 0),
        .payload = (uint16_t)(odd() ? random32() % 1481 : random32() % 64),
    };
}

static struct ip6 some_ip6(uint64_t src, uint64_t dst)
{
    static const uint64_t others[] = {
        0, 0xfe80000000000000, 0xff02000000000000, GATEWAY, NEAR, LINK, DELEGATED | 3, NO_KEY};
    struct ip6 ip = {
        .src = {src, src == ADDRESS ? 7 : random32()},
        .dst = {dst, dst == ADDRESS ? 7 : random32()},
        .class = (uint8_t)random32(),
        .hops = (uint8_t)(odd() ? PICK(0, 1, 2, 255) : 64),
        .next = 17,
        .label = random32() & 0xfffff,
        .payload = (uint16_t)(odd() ? random32() % 1470 : random32() % 64),
    };
    uint64_t *at = random32() % 2 == 0 ? ip.src : ip.dst;

    if (odd())
        at[0] = others[random32() % RTE_DIM(others)];
    if (odd())
        at[1] = PICK(0, 1, 7);
    return ip;
}

/* The upper half of an address of a subscriber, or of nobody. */
static uint64_t upper_of(unsigned who)
{
    static const uint64_t upper[N_TEST_SUBSCRIBERS + 1] = {NEAR, 0,       ADDRESS, NO_KEY | 0xbeef,
                                                           NEAR, IN_PPPOE};

    if (who == SUB_CPE0)
        return random32() % 2 == 0 ? LINK : DELEGATED | random32() % 256;
    return upper[who];
}

static void put_bytes(struct frame *f, const struct frame *more)
{
    memcpy(f->b + f->len, more->b, more->len);
    f->len += more->len;
}

/* Change some bytes, cut the end off, or repair a header's checksum after the change. */
static void spoil(struct frame *f, uint32_t header)
{
    for (unsigned k = odd() ? random32() % 3 : 0; k > 0; k--)
        f->b[random32() % RTE_MIN(f->len, 80)] = (uint8_t)random32();
    if (random32() % 2 == 0 && f->len >= header + 20 && f->b[header] == 0x45)
        fix_ip(f, header);
    if (odd())
        f->len = (uint16_t)(f->len - random32() % f->len);
}

/* The PPPoE header and the PPP protocol before a packet. */
static void put_header(struct frame *f, const struct frame *packet, bool six)
{
    put16(f, odd() ? 0x1101 : 0x1100);
    put16(f, odd() ? 7 * (random32() % 2) : TEST_SESSION);
    put16(f, packet->len + (odd() ? random32() % 50 : 2));
    put16(f, odd() ? PICK(0x57, 0x21, 0xc021, 0) : six ? 0x57 : 0x21);
}

struct frame from_subscriber(uint16_t *port)
{
    static const uint16_t tags[N_TEST_SUBSCRIBERS + 1][2] = {{1, 1},     {128, 256}, {129, 257},
                                                             {128, 258}, {128, 259}, {128, 260}};
    static const uint32_t address[N_TEST_SUBSCRIBERS + 1] = {0x0a000001, 0x0a000001, 0x0a000105,
                                                             0x0a000003, 0x0a000004, 0x0a000005};
    unsigned who = odd() ? 0 : 1 + random32() % (fused_good ? SUB_CPE1 : N_TEST_SUBSCRIBERS);
    uint32_t route = 20 + random32() % (fused_good ? NH_PLAIN : 7), at;
    bool six = pick_six(), in_session = (who == SUB_PPPOE) != odd();
    uint64_t to;
    struct frame f = {0}, in = {0};

    if (random32() % 4 == 0)
        route = OVER6;
    *port = who == SUB_CPE1 ? CPE1 : CPE0;
    to = odd() ? UINT64_C(0xffffffffffff) : GATEWAY_MAC(*port);
    put_qinq(&f, to, CPE_MAC(who), odd() ? 0x9100 : 0x88a8,
             (uint16_t)(tags[who][0] | random32() << 13), tags[who][1],
             odd()        ? 0x0806
             : in_session ? 0x8864
             : six        ? 0x86dd
                          : 0x0800);
    if (six) {
        uint64_t net = route >= SET ? route : route - 19; /* 2001:db8:1::/48 stands beside 20/8 */
        struct ip6 ip = some_ip6(upper_of(who), UINT64_C(0x20010db800000000) | net << 16);

        put_ip6(&in, &ip);
    } else {
        struct ip ip =
            some_ip(address[who], odd() ? PICK(ADDR_CPE0, 0xe0000001, 0xa9fe0001, 0, 0xffffffff)
                                        : route << 24 | (random32() & 0xff));

        put_ip(&in, &ip);
    }
    if (in_session)
        put_header(&f, &in, six);
    at = f.len;
    put_bytes(&f, &in);
    put_pad(&f, 60, 0xee);
    spoil(&f, at);
    return f;
}

static void put_labels(struct frame *f, unsigned usual, bool over6)
{
    unsigned n = odd() ? random32() % 4 : usual;

    put16(f, n > 0 ? 0x8847 : over6 != odd() ? 0x86dd : 0x0800);
    for (unsigned i = n; i > 0; i--)
        put32(f, (odd() ? PICK(0, 2, 3, 15, 99999) : 17) << 12 | (i == 1 && !odd()) << 8 |
                     (odd() ? PICK(0, 1, 2) : 61));
}

/* GRE header, of which the flags say what is there. */
static void put_gre(struct frame *f, uint32_t key, bool six)
{
    uint32_t flags = odd() ? PICK(0, 0x3000, 0xa000, 0x2001, 0x6000) : 0x2000;

    put16(f, flags);
    put16(f, odd() != six ? 0x86dd : 0x0800);
    if ((flags & 0x8000) != 0)
        put32(f, 0);
    if ((flags & 0x2000) != 0)
        put32(f, key);
    if ((flags & 0x1000) != 0)
        put32(f, 7);
}

/* An outer IPv6 header that says what one of IPv4 would. */
static void put_outer6(struct frame *f, const struct ip *outer, uint32_t more)
{
    struct ip6 ip = {.src = {odd() ? NEAR : FAR_END, 1},
                     .dst = {odd() ? NEAR : GATEWAY, 1},
                     .class = outer->tos,
                     .hops = outer->ttl,
                     .next = odd() ? PICK(0, 43, 44, 60, 17) : outer->proto,
                     .label = random32() & 0xfffff};

    put_ip6_header(f, &ip, odd() ? random32() % 100 : more);
}

static struct frame from_tunnel(uint16_t *port, unsigned labels)
{
    static const uint32_t address[N_TEST_SUBSCRIBERS + 1] = {0x0a000009, 0x0a000001, 0x0a000105,
                                                             0x0a000003, 0x0a000004, 0x0a000005};
    static const uint32_t key[N_TEST_SUBSCRIBERS + 1] = {9, 0x1001, 0x1002, 0x1003, 0x1004, 0x1015};
    unsigned who = odd() ? 0 : 1 + random32() % (fused_good ? SUB_CPE1 : N_TEST_SUBSCRIBERS);
    bool six = pick_six(), over6 = random32() % 4 == 0;
    struct ip outer = some_ip(odd() ? 0xc0000209 : 0xc0000201, odd() ? ADDR_CORE1 : ADDR_CORE0);
    struct frame f = {0}, in = {0};
    uint32_t at;

    *port = (uint16_t)(CORE0 + random32() % 2);
    outer.proto = odd() ? 1 : 47;
    outer.options = random32() % 200 == 0 && !fused_good;
    outer.tos &= fused_good ? 0xfc : 0xff;
    put_mac(&f, odd() ? CORE_MAC(9) : GATEWAY_MAC(*port));
    put_mac(&f, CORE_MAC(1));
    put_labels(&f, labels, over6);
    put_gre(&in, key[who], six);
    if (six) {
        struct ip6 ip = some_ip6(random32() % 2 == 0 ? NEAR : UINT64_C(0x2400) << 48,
                                 upper_of(odd() ? 1 + random32() % N_TEST_SUBSCRIBERS : who));

        put_ip6(&in, &ip);
    } else {
        struct ip ip = some_ip(0x14000001, odd() ? 0x0a000001 : address[who]);

        put_ip(&in, &ip);
    }
    at = f.len;
    if (over6)
        put_outer6(&f, &outer, in.len);
    else
        put_ip_header(&f, &outer, in.len);
    put_bytes(&f, &in);
    spoil(&f, odd() ? at : at + (over6 ? 48 : 28));
    return f;
}

struct frame labelled(uint16_t *port)
{
    return from_tunnel(port, 1);
}

struct frame unlabelled(uint16_t *port)
{
    return from_tunnel(port, 0);
}

struct frame from_core(uint16_t *port)
{
    static const uint32_t address[N_TEST_SUBSCRIBERS + 1] = {0x0a000009, 0x0a000001, 0x0a000105,
                                                             0x0a000003, 0x0a000004, 0x0a000005};
    unsigned who = odd() ? 0 : 1 + random32() % (fused_good ? SUB_CPE1 : N_TEST_SUBSCRIBERS);
    bool six = pick_six();
    struct frame f = {0};

    *port = (uint16_t)(CORE0 + random32() % 2);
    put_mac(&f, odd() ? CORE_MAC(9) : GATEWAY_MAC(*port));
    put_mac(&f, CORE_MAC(1));
    put16(&f, odd() ? 0x0806 : six ? 0x86dd : 0x0800);
    if (six) {
        struct ip6 ip =
            some_ip6(random32() % 2 == 0 ? NEAR : UINT64_C(0x2400) << 48, upper_of(who));

        put_ip6(&f, &ip);
    } else {
        struct ip ip = some_ip(0x14000001, address[who]);

        put_ip(&f, &ip);
    }
    put_pad(&f, 60, 0xee);
    spoil(&f, 14);
    return f;
}

void fused_pair(struct rte_mbuf *out[2], struct frame (*make)(uint16_t *port), uint16_t *port)
{
    struct frame f = make(port);
    uint16_t room = (uint16_t)PICK(0, 7, 8, 20, 24, 31, 32, 39, 44, 47, 48, 51, 52);
    unsigned kind = random32() % 100;

    for (unsigned i = 0; i < 2; i++)
        out[i] = kind == 0 && f.len > 2 ? segmented(&f, *port)
                 : kind == 1            ? with_headroom(&f, *port, room)
                                        : frame_mbuf(&f, *port);
}

static int give_ipv6(struct subscriber_table *t, uint32_t id, const struct cpe_prefixes *spec)
{
    if (subscriber6_check(t->v6, spec) != 0)
        return -1;
    subscriber6_fill(t->v6, id, spec);
    subscriber6_publish(t->v6, id);
    subscriber_write_first_line(t, id);
    return 0;
}

static int open_ipv6(struct tables *t)
{
    static const struct cpe_prefixes spec[] = {
        [SUB_CPE0] = {{LINK, 0}, {DELEGATED}, {56}, 1, 64},
        [SUB_CPE1] = {.wan = {ADDRESS, 7}, .wan_len = 128},
        [SUB_NO_KEY] = {.delegated = {NO_KEY}, .delegated_len = {48}, .n_delegated = 1},
    };

    t->subscribers->v6 = subscriber6_table_create(N_TEST_SUBSCRIBERS, 16, SOCKET_ID_ANY);
    if (t->subscribers->v6 == NULL)
        return -1;
    for (uint32_t id = 1; id < RTE_DIM(spec); id++)
        if (give_ipv6(t->subscribers, id, &spec[id]) != 0)
            return -1;
    if (give_ipv6(t->subscribers, SUB_PPPOE,
                  &(struct cpe_prefixes){.wan = {IN_PPPOE, 0}, .wan_len = 64}) != 0)
        return -1;
    return route_add_local6(t->routes, (struct ipv6){GATEWAY, 1});
}

/* A tunnel of IPv6 from GATEWAY, and its routes. */
static int add_over6(struct route_table *t, const uint8_t *mac, uint32_t *id)
{
    struct nexthop_spec spec = {.port = CORE0,
                                .mtu = 1500,
                                .gateway_mac = harness_model.ports[CORE0].mac,
                                .mac = mac,
                                .has_gre = true,
                                .has_mpls = true,
                                .gre_source = {GATEWAY, 1},
                                .gre_destination = {FAR_END, 1},
                                .label = OVER6};
    struct ipv6 prefix = {UINT64_C(0x20010db800000000) | (uint64_t)OVER6 << 16, 0};
    int rc = route_add_nexthop(t, &spec);

    if (rc < 0)
        return rc;
    *id = (uint32_t)rc;
    rc = route_add(t, OVER6 << 24, 8, *id);
    return rc == 0 ? route_add6(t, prefix, 48, *id) : rc;
}

int fused_tables_open(void)
{
    static const uint8_t mac[6] = {2, 0xc0, 0, 0, 0, OVER6};
    static uint32_t all[] = {NH_GRE_MPLS, NH_GRE, NH_MPLS, NH_PLAIN, NH_NO_MAC, 0};
    static struct dscp_table dscp[2];
    int rc = harness_open(), set = 0;

    for (unsigned i = 0; i < RTE_DIM(dscp[0].queue); i++)
        dscp[0].queue[i] = dscp[1].queue[i] = (uint8_t)(i % DSCP_QUEUES);
    if (rc == 0)
        harness_tables()->dscp = dscp;
    if (rc == 0)
        rc = add_over6(harness_tables()->routes, mac, &all[RTE_DIM(all) - 1]);
    if (rc == 0) /* one of the set has no MAC: its packets go to the others */
        rc = set = route_add_set(harness_tables()->routes, all, RTE_DIM(all));
    if (rc >= 0)
        rc = route_add(harness_tables()->routes, SET << 24, 8, (uint32_t)set);
    if (rc == 0)
        rc = route_add6(harness_tables()->routes,
                        (struct ipv6){UINT64_C(0x20010db800000000) | SET << 16, 0}, 48,
                        (uint32_t)set);
    return rc == 0 ? open_ipv6(harness_tables()) : rc;
}
