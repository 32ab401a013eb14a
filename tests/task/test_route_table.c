/* SPDX-License-Identifier: BSD-3-Clause */
/* Next hops, routes, and the addresses of the gateway itself. */
#include <errno.h>
#include <string.h>

#include <rte_ip.h>

#include "tables/martians.h"
#include "tables_bed.h"

static const uint8_t gateway_mac[6] = {0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee};
static const uint8_t cpe_mac[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};

static void test_nexthop(void)
{
    struct nexthop_spec s = {.port = 2,
                             .mtu = 1500,
                             .gateway_mac = gateway_mac,
                             .has_gre = true,
                             .has_mpls = true,
                             .gre_source = mapped6(0xc6336401),
                             .gre_destination = mapped6(0xc0000201),
                             .label = 1048575};
    static const uint8_t ip_gre[28] = {0x45, 0, 0,   0, 0, 0, 0x40, 0, 64,   47, 0, 0, 198, 51,
                                       100,  1, 192, 0, 2, 1, 0x20, 0, 0x08, 0,  0, 0, 0,   0};
    struct rte_ipv4_hdr ip;
    struct nexthop nh;
    uint32_t sum;

    nexthop_init(&nh, &s);
    CU_ASSERT_EQUAL(memcmp(nh.eth, "\0\0\0\0\0\0\x02\xaa\xbb\xcc\xdd\xee\x08\x00", 14), 0);
    CU_ASSERT_EQUAL(memcmp(nh.ip_gre, ip_gre, sizeof(ip_gre)), 0);
    CU_ASSERT_EQUAL(nh.max_ip, 1468);
    CU_ASSERT_EQUAL(nh.mpls, RTE_BE32(0xfffff100));
    CU_ASSERT_EQUAL(nh.port, 2);
    CU_ASSERT_EQUAL(nh.mac_known, 0);
    CU_ASSERT_EQUAL(nh.local, 0);
    CU_ASSERT(nh.has_gre && nh.has_mpls);
    /* what gre_encap does with ip_sum gives a header that is right */
    memcpy(&ip, nh.ip_gre, sizeof(ip));
    ip.total_length = RTE_BE16(48);
    sum = nh.ip_sum + ip.total_length;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    ip.hdr_checksum = (rte_be16_t)~sum;
    CU_ASSERT_EQUAL(rte_raw_cksum(&ip, sizeof(ip)), 0xffff);

    nexthop_set_mac(&nh, cpe_mac);
    CU_ASSERT_EQUAL(nh.mac_known, 1);
    CU_ASSERT_EQUAL(memcmp(nh.eth, "\x02\x11\x22\x33\x44\x55\x02\xaa\xbb\xcc\xdd\xee", 12), 0);
    nexthop_set_mac(&nh, NULL);
    CU_ASSERT_EQUAL(nh.mac_known, 0);
    CU_ASSERT_EQUAL(memcmp(nh.eth, "\0\0\0\0\0\0\x02\xaa\xbb\xcc\xdd\xee", 12), 0);

    s.has_gre = false;
    s.mac = cpe_mac;
    nexthop_init(&nh, &s);
    CU_ASSERT_EQUAL(nh.max_ip, 1496);
    CU_ASSERT_EQUAL(nh.mac_known, 1);
    s.has_mpls = false;
    nexthop_init(&nh, &s);
    CU_ASSERT_EQUAL(nh.max_ip, 1500);
    CU_ASSERT_EQUAL(nh.mpls, 0);
    s.has_gre = true;
    nexthop_init(&nh, &s);
    CU_ASSERT_EQUAL(nh.max_ip, 1472);
    CU_ASSERT_EQUAL(nh.min_len, 0);
    s.gre_keys = GRE_KEYS_NEVER;
    nexthop_init(&nh, &s);
    CU_ASSERT_EQUAL(nh.max_ip, 1476);
    CU_ASSERT_EQUAL(nh.min_len, 60 - 24);
    s.gre_keys = GRE_KEYS_SOMETIMES;
    nexthop_init(&nh, &s);
    CU_ASSERT_EQUAL(nh.max_ip, 1472);
    CU_ASSERT_EQUAL(nh.min_len, 60 - 24);
    s.gre_destination = (struct ipv6){0x2001, 1};
    nexthop_init(&nh, &s);
    CU_ASSERT(nh.has_gre == TUNNEL_IPV6 && nh.max_ip == 1452 && nh.before == 48);
    CU_ASSERT_EQUAL(nh.min_len, 0);
    s.gre_keys = GRE_KEYS_NEVER;
    s.has_mpls = true;
    nexthop_init(&nh, &s);
    CU_ASSERT(nh.max_ip == 1452 && nh.before == 48);
    s.has_mpls = false;
    s.gre_keys = GRE_KEYS_ALWAYS;
    s.mtu = 20;
    nexthop_init(&nh, &s);
    CU_ASSERT_EQUAL(nh.max_ip, 0);
}

static void test_routes(void)
{
    struct route_table *t = route_table_create(3, 2, 100, SOCKET_ID_ANY);
    struct nexthop_spec s = {.port = 2, .mtu = 1500, .gateway_mac = gateway_mac};

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(route_add(t, 0x0a000000, 8, 1), -EINVAL); /* no such next hop */
    for (int i = 1; i <= 3; i++)
        CU_ASSERT_EQUAL(route_add_nexthop(t, &s), i);
    CU_ASSERT_EQUAL(route_add_nexthop(t, &s), -ENOSPC);
    CU_ASSERT_EQUAL(t->n_nexthops, 3);
    CU_ASSERT_EQUAL(route_add(t, 0x0a000000, 8, 0), -EINVAL);
    CU_ASSERT_EQUAL(route_add(t, 0x0a000000, 8, 4), -EINVAL); /* local, but not by a route */
    CU_ASSERT_EQUAL(route_add(t, 0x0a000000, 33, 1), -EINVAL);
    CU_ASSERT_EQUAL(lookup(t, 0x0a010203), 0);
    CU_ASSERT_EQUAL(route_add(t, 0x0a000000, 8, 1), 0);
    CU_ASSERT_EQUAL(route_add(t, 0x0a010203, 32, 2), 0);
    CU_ASSERT_EQUAL(route_add(t, 0x0a010203, 16, 3), 0); /* bits behind the length do not matter */
    CU_ASSERT_EQUAL(lookup(t, 0x0a000000), 1);
    CU_ASSERT_EQUAL(lookup(t, 0x0a010203), 2);
    CU_ASSERT_EQUAL(lookup(t, 0x0a010204), 3);
    CU_ASSERT_EQUAL(lookup(t, 0x0b000000), 0);
    CU_ASSERT_EQUAL(route_add(t, 0x0a000000, 8, 2), 0); /* replaced */
    CU_ASSERT_EQUAL(lookup(t, 0x0a000000), 2);
    /* what plan/memory.c says to the byte: tests/unit/test_plan_memory.c */
    CU_ASSERT_EQUAL(route_table_bytes(t), sizeof(*t) + (64 << 20) + (2 * (513 + 100) + 1024) * 68 +
                                              (613 + 306 + 8) * 8 + (3 + 2 + 2 + 1) * 64 + 4 * 16 +
                                              8 * 12);
    route_table_free(t);
    route_table_free(NULL);
}

static void test_default_route(void)
{
    struct route_table *t = route_table_create(3, 2, 100, SOCKET_ID_ANY);
    struct nexthop_spec s = {.port = 2, .mtu = 1500, .gateway_mac = gateway_mac};

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    for (int i = 1; i <= 3; i++)
        CU_ASSERT_EQUAL(route_add_nexthop(t, &s), i);
    CU_ASSERT_EQUAL(route_add(t, 0x80000000, 1, 3), 0);
    CU_ASSERT_EQUAL(route_add(t, 0, 0, 1), 0);
    CU_ASSERT_EQUAL(lookup(t, 0), 1);
    CU_ASSERT_EQUAL(lookup(t, 0x7fffffff), 1);
    CU_ASSERT_EQUAL(lookup(t, 0x80000000), 3); /* more specific, though it came before */
    CU_ASSERT_EQUAL(route_add(t, 0, 0, 2), 0);
    CU_ASSERT_EQUAL(lookup(t, 0), 2);
    CU_ASSERT_EQUAL(lookup(t, UINT32_MAX), 3);
    CU_ASSERT_EQUAL(route_add(t, 0, 1, 3), 0);
    CU_ASSERT_EQUAL(lookup(t, 0), 3);
    CU_ASSERT_EQUAL(route_add(t, 0, 0, 1), 0);
    CU_ASSERT_EQUAL(lookup(t, 0), 3);
    route_table_free(t);
}

static void test_remove_routes(void)
{
    struct route_table *t = route_table_create(2, 0, 16, SOCKET_ID_ANY);
    struct nexthop_spec spec = {.mtu = 1500, .gateway_mac = gateway_mac, .mac = cpe_mac},
                        asked = {.mtu = 1500, .gateway_mac = gateway_mac};

    asked.via = (struct ipv6){UINT64_C(0xfe80000000000000), 9};
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(route_add_nexthop(t, &asked), 1);
    CU_ASSERT_EQUAL(route_add_nexthop(t, &spec), 2);
    CU_ASSERT_EQUAL(route_add_nexthop(t, &spec), -ENOSPC);
    CU_ASSERT(same6(t->via[1], asked.via) && is_none6(t->via[2]));
    route_release_nexthop(t, 1);
    CU_ASSERT(is_none6(t->via[1]));
    CU_ASSERT_EQUAL(route_add_nexthop(t, &spec), 1);
    CU_ASSERT_EQUAL(route_add(t, 0, 0, 1), 0);
    CU_ASSERT_EQUAL(route_add(t, 0x80000000, 1, 2), 0);
    CU_ASSERT_EQUAL(route_add(t, 0x0a000000, 8, 2), 0);
    CU_ASSERT(lookup(t, 0xc0000000) == 2 && lookup(t, 0x0b000000) == 1);
    CU_ASSERT_EQUAL(route_remove(t, 0x0a000000, 8), 0);
    CU_ASSERT_EQUAL(lookup(t, 0x0a000001), 1);
    CU_ASSERT_EQUAL(route_remove(t, 0x80000000, 1), 0); /* the default is below it */
    CU_ASSERT_EQUAL(lookup(t, 0xc0000000), 1);
    CU_ASSERT_EQUAL(route_add(t, 0, 1, 2), 0);
    CU_ASSERT_EQUAL(route_remove(t, 0, 0), 0);
    CU_ASSERT(lookup(t, 0xc0000000) == 0 && lookup(t, 0x0b000000) == 2);
    CU_ASSERT_EQUAL(route_remove(t, 0, 0), -ENOENT);
    CU_ASSERT_EQUAL(route_remove(t, 0x80000000, 1), -ENOENT);
    CU_ASSERT_EQUAL(route_remove(t, 0x0a000000, 8), -ENOENT);
    /* the gateway's own addresses stay the gateway's */
    CU_ASSERT_EQUAL(route_add_local(t, 0x0a000005), 0);
    CU_ASSERT_EQUAL(route_add(t, 0x0a000005, 32, 1), 0);
    CU_ASSERT_EQUAL(lookup(t, 0x0a000005), t->local_id);
    CU_ASSERT_EQUAL(route_remove(t, 0x0a000005, 32), 0);
    CU_ASSERT_EQUAL(lookup(t, 0x0a000005), t->local_id);
    route_table_free(t);
}

/* Sets have numbers of their own, which are used again. */
static void test_sets(void)
{
    struct route_table *t = route_table_create(3, 2, 16, SOCKET_ID_ANY);
    struct nexthop_spec s = {.port = 2, .mtu = 1500, .gateway_mac = gateway_mac};
    static const uint32_t all[] = {1, 2, 3};

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    for (uint32_t i = 1; i <= 3; i++) {
        s.via = mapped6(i);
        CU_ASSERT_EQUAL(route_add_nexthop(t, &s), (int)i);
    }
    CU_ASSERT_EQUAL(route_add(t, 0x0a000000, 8, ROUTE_SET), -EINVAL);
    CU_ASSERT_EQUAL(route_add_set(t, all, 2), (int)ROUTE_SET);
    CU_ASSERT(route_has_set_room(t));
    CU_ASSERT_EQUAL(route_add_set(t, all + 1, 2), (int)ROUTE_SET + 1);
    CU_ASSERT_FALSE(route_has_set_room(t));
    CU_ASSERT_EQUAL(route_add_set(t, all, 3), -ENOSPC);
    CU_ASSERT_EQUAL(route_add(t, 0x0a000000, 8, ROUTE_SET + 1), 0);
    CU_ASSERT_EQUAL(lookup(t, 0x0a000001), ROUTE_SET + 1);
    CU_ASSERT_EQUAL(t->nexthop[3].in_sets, 1);
    CU_ASSERT_EQUAL(route_remove(t, 0x0a000000, 8), 0);
    route_release_set(t, ROUTE_SET + 1);
    route_release_set(t, ROUTE_SET);
    CU_ASSERT_EQUAL(route_add_set(t, all, 3), (int)ROUTE_SET);
    CU_ASSERT_EQUAL(nexthop_set_size(&t->set[0]), 3);
    CU_ASSERT_EQUAL(route_add_set(t, all + 1, 2), (int)ROUTE_SET + 1);
    CU_ASSERT_EQUAL(route_add_set(t, all, 2), -ENOSPC);
    CU_ASSERT(route_table_bytes(t) > 0);
    route_table_free(t);
}

/* Routes of both families change in all copies; memory of each is counted. */
static void test_copies(void)
{
    struct route_table *t = route_table_create(2, 0, 16, SOCKET_ID_ANY);
    struct nexthop_spec s = {.port = 2, .mtu = 1500, .gateway_mac = gateway_mac};
    const struct ipv6 net = {UINT64_C(0x2400cb0000000000), 0};
    uint64_t bytes;

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL_FATAL(route_open6(t, 600, SOCKET_ID_ANY), 0);
    CU_ASSERT_EQUAL(route_copies(t), 1);
    CU_ASSERT_EQUAL(route_add_nexthop(t, &s), 1);
    CU_ASSERT_EQUAL(route_add(t, 0x0a010203, 32, 1), 0);
    CU_ASSERT_EQUAL(route_add6(t, net, 48, 1), 0);
    bytes = route_table_bytes(t);
    CU_ASSERT_EQUAL_FATAL(route_add_copy(t, SOCKET_ID_ANY), 0);
    CU_ASSERT_EQUAL(route_copies(t), 2);
    /* what plan/memory.c says to the byte: tests/unit/test_plan_memory.c */
    CU_ASSERT_EQUAL(route_table_bytes(t) - bytes, (64 << 20) + (2 * (513 + 16) + 1024) * 64 +
                                                      (4 << 20) + (256 << 10) +
                                                      (2 * 600 + 1024) * 128 + 16 + 256 * 8);
    CU_ASSERT_EQUAL(route_copy_socket(t, 1), route_copy_socket(t, 0));
    CU_ASSERT_EQUAL(fib_lookup(fib_copy(&t->fib, 1), 0x0a010203), 1);
    CU_ASSERT_EQUAL(fib6_lookup(fib6_copy(&t->fib6, 1), net), 1);
    CU_ASSERT_EQUAL(route_add_local(t, 0x0a010203), 0);
    CU_ASSERT_EQUAL(route_add_local6(t, net), 0);
    CU_ASSERT_EQUAL(route_remove6(t, net, 48), 0);
    for (unsigned i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(fib_lookup(fib_copy(&t->fib, i), 0x0a010203), t->local_id);
        CU_ASSERT_EQUAL(fib_lookup(fib_copy(&t->fib, i), IPV4_LINK_LOCAL), 0);
        CU_ASSERT_EQUAL(fib6_lookup(fib6_copy(&t->fib6, i), net), t->local_id);
        CU_ASSERT_EQUAL(fib6_lookup(fib6_copy(&t->fib6, i), (struct ipv6){net.upper, 1}), 0);
    }
    route_table_free(t);
}

static void test_martians(void)
{
    static const uint32_t bad[] = {0,          0x00ffffff, 0x7f000001, 0x7fffffff, 0xa9fe0000,
                                   0xa9feffff, 0xe0000000, 0xefffffff, 0xf0000000, 0xffffffff};
    static const uint32_t good[] = {0x01000000, 0x7effffff, 0x80000000, 0xa9fdffff,
                                    0xa9ff0000, 0xdfffffff, ADDR_CPE0,  ADDR_CPE0 + 1};
    struct route_table *t = route_table_create(1, 0, 1, SOCKET_ID_ANY);
    struct nexthop_spec s = {.port = 2, .mtu = 1500, .gateway_mac = gateway_mac};

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(route_add_nexthop(t, &s), 1);
    for (unsigned i = 0; i < RTE_DIM(bad); i++)
        CU_ASSERT(route_suspects(t, rte_cpu_to_be_32(bad[i])) &&
                  route_is_martian(t, rte_cpu_to_be_32(bad[i])));
    for (unsigned i = 0; i < RTE_DIM(good); i++)
        CU_ASSERT_FALSE(route_is_martian(t, rte_cpu_to_be_32(good[i])));
    CU_ASSERT_FALSE(route_suspects(t, rte_cpu_to_be_32(ADDR_CPE0)));
    /* the gateway's own, whatever their hashes */
    for (uint32_t i = 0; i < LOCAL_SET_SLOTS / 2; i++) {
        rte_be32_t addr = rte_cpu_to_be_32(0x0b000000 + i * 0x10001);

        CU_ASSERT_EQUAL(route_add_local(t, rte_be_to_cpu_32(addr)), 0);
        CU_ASSERT(route_suspects(t, addr) && route_is_martian(t, addr));
    }
    /* no route leads to a link's addresses, but to the gateway's own among them */
    CU_ASSERT_EQUAL(route_add(t, 0xa9000000, 8, 1), 0);
    CU_ASSERT_EQUAL(route_add(t, 0xa9fe0000, 16, 1), -EINVAL);
    CU_ASSERT_EQUAL(route_add(t, 0xa9fea9fe, 32, 1), -EINVAL);
    CU_ASSERT_EQUAL(route_remove(t, 0xa9fe0000, 16), -ENOENT);
    CU_ASSERT(lookup(t, 0xa9fdffff) == 1 && lookup(t, 0xa9fea9fe) == 0);
    route_table_free(t);
}

/* Pairs come and go at random; a model says which are there. */
static void test_far_ends(void)
{
    enum { N = 24, ROUNDS = 20000 };
    uint32_t uses[N] = {0}, total = 0, seed = 1;
    struct far_ends f = {0};

    CU_ASSERT_EQUAL_FATAL(far_ends_create(&f, N / 2, SOCKET_ID_ANY), 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned k;

        seed = seed * 1664525 + 1013904223;
        k = (seed >> 16) % N;
        if (uses[k] > 0 && seed >> 31 != 0) {
            far_ends_remove(&f, UINT64_C(0x010200c0000000cb) + k);
            uses[k]--;
            total--;
        } else if (total < N / 2) {
            far_ends_add(&f, UINT64_C(0x010200c0000000cb) + k);
            uses[k]++;
            total++;
        }
        for (unsigned i = 0; i < N; i++)
            if (far_ends_have(&f, UINT64_C(0x010200c0000000cb) + i) != (uses[i] > 0)) {
                CU_FAIL_FATAL("a far end is lost, or stays");
            }
        CU_ASSERT(!far_ends_have(&f, FAR_END_NONE) && !far_ends_have(&f, FAR_END_REMOVED));
    }
    far_ends_free(&f);
}

/* The same of IPv6, some of whose pairs differ in one address or half of it. */
static void test_far_ends6(void)
{
    enum { N = 24, ROUNDS = 20000 };
    uint8_t ends[N][FAR_END_BYTES6] = {{0}};
    uint32_t uses[N] = {0}, total = 0, seed = 7;
    struct far_ends6 f = {.n = 0};

    CU_ASSERT_EQUAL_FATAL(far_ends6_create(&f, N / 2, SOCKET_ID_ANY), 0);
    CU_ASSERT(!far_ends6_any(&f) && !far_ends6_have(&f, ends[0]));
    for (unsigned k = 0; k < N; k++) {
        ends[k][k % 4 * 8] = (uint8_t)(1 + k / 4);
        ends[k][0] |= 0x20;
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned k;

        seed = seed * 1664525 + 1013904223;
        k = (seed >> 16) % N;
        if (uses[k] > 0 && seed >> 31 != 0) {
            far_ends6_remove(&f, ends[k]);
            uses[k]--;
            total--;
        } else if (total < N / 2) {
            far_ends6_add(&f, ends[k]);
            uses[k]++;
            total++;
        }
        for (unsigned i = 0; i < N; i++)
            if (far_ends6_have(&f, ends[i]) != (uses[i] > 0)) {
                CU_FAIL_FATAL("a far end is lost, or stays");
            }
        CU_ASSERT_EQUAL(far_ends6_any(&f), total > 0);
    }
    far_ends6_free(&f);
}

/* Two tunnels of IPv6 between the same ends, and one more: whose packets come in. */
static void test_tunnels6(void)
{
    struct route_table *t = route_table_create(4, 0, 1, SOCKET_ID_ANY);
    struct nexthop_spec s = {.port = 2,
                             .mtu = 1500,
                             .gateway_mac = gateway_mac,
                             .has_gre = true,
                             .gre_source = {1, 2},
                             .gre_destination = {3, 4}};
    static const uint8_t from_far[FAR_END_BYTES6] = {[7] = 3, [15] = 4, [23] = 1, [31] = 2},
                         from_other[FAR_END_BYTES6] = {[7] = 3, [15] = 5, [23] = 1, [31] = 2};
    struct tunnel_ends ends;

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(route_add_nexthop(t, &s), -EINVAL); /* there is no room for IPv6 */
    CU_ASSERT_EQUAL_FATAL(route_open6(t, 1, SOCKET_ID_ANY), 0);
    CU_ASSERT_EQUAL(route_add_nexthop(t, &s), 1);
    s.port = 1;
    CU_ASSERT_EQUAL(route_add_nexthop(t, &s), 2);
    s.gre_destination.lower = 5;
    CU_ASSERT_EQUAL(route_add_nexthop(t, &s), 3);
    ends = nexthop_ends(&t->nexthop[3]);
    CU_ASSERT(same6(ends.ours, s.gre_source) && same6(ends.far, s.gre_destination));
    CU_ASSERT(far_ends6_have(&t->far_ends6, from_far) && far_ends6_have(&t->far_ends6, from_other));
    route_release_nexthop(t, 1);
    CU_ASSERT(far_ends6_have(&t->far_ends6, from_far));
    route_release_nexthop(t, 2);
    CU_ASSERT(!far_ends6_have(&t->far_ends6, from_far) && far_ends6_any(&t->far_ends6));
    route_release_nexthop(t, 3);
    CU_ASSERT(!far_ends6_any(&t->far_ends6));
    /* the ids come back in their order */
    CU_ASSERT(route_add_nexthop(t, &s) == 3 && route_add_nexthop(t, &s) == 2);
    route_table_free(t);
}

static void test_local(void)
{
    struct route_table *t = route_table_create(1, 0, 1, SOCKET_ID_ANY);
    struct nexthop_spec s = {.port = 2, .mtu = 1500, .gateway_mac = gateway_mac};
    int rc = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(route_add_nexthop(t, &s), 1);
    CU_ASSERT_EQUAL(route_add(t, 0, 0, 1), 0);
    CU_ASSERT_FALSE(route_is_local(t, 0));
    CU_ASSERT_FALSE(route_is_local(t, ADDR_CPE0));
    CU_ASSERT_EQUAL(route_add_local(t, 0), -EINVAL);
    CU_ASSERT_EQUAL(route_add_local(t, ADDR_CPE0), 0);
    CU_ASSERT_EQUAL(route_add_local(t, ADDR_CPE0), 0);
    CU_ASSERT(route_is_local(t, ADDR_CPE0));
    CU_ASSERT_FALSE(route_is_local(t, ADDR_CPE0 + 1));
    CU_ASSERT_FALSE(route_is_local(t, 0));
    CU_ASSERT_EQUAL(lookup(t, ADDR_CPE0), t->local_id);
    CU_ASSERT_EQUAL(lookup(t, ADDR_CPE0 - 1), 1);
    CU_ASSERT_EQUAL(t->nexthop[t->local_id].local, 1);
    CU_ASSERT_EQUAL(t->nexthop[1].local, 0);
    for (uint32_t i = 1; i < LOCAL_SET_SLOTS / 2; i++)
        rc |= route_add_local(t, 0x0b000000 + i * 0x10001);
    CU_ASSERT_EQUAL(rc, 0);
    CU_ASSERT_EQUAL(route_add_local(t, 0x0c000000), -ENOSPC);
    CU_ASSERT_FALSE(route_is_local(t, 0x0c000000));
    CU_ASSERT(route_is_local(t, 0x0b000000 + (LOCAL_SET_SLOTS / 2 - 1) * 0x10001));
    route_table_free(t);
}

static const struct test tests[] = {
    {"a next hop's headers", test_nexthop},
    {"routes", test_routes},
    {"the default route", test_default_route},
    {"routes go", test_remove_routes},
    {"the gateway's own addresses", test_local},
    {"martians", test_martians},
    {"far ends", test_far_ends},
    {"far ends of IPv6", test_far_ends6},
    {"tunnels of IPv6", test_tunnels6},
    {"sets of next hops", test_sets},
    {"copies", test_copies},
    {NULL, NULL},
};

const struct test_program test_program = {"route table", tests, harness_open, harness_close};
