/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables that the data path reads, and what the configuration makes of them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_ip.h>
#include <rte_malloc.h>

#include "harness.h"
#include "provision.h"

static const uint8_t gateway_mac[6] = {0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee};
static const uint8_t cpe_mac[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};

static struct subscriber_spec spec_of(uint16_t svlan, uint16_t cvlan, uint32_t ipv4, uint32_t key)
{
    return (struct subscriber_spec){.port = 3,
                                    .svlan = svlan,
                                    .cvlan = cvlan,
                                    .tpid = 0x88a8,
                                    .ipv4 = ipv4,
                                    .ipv4_len = 32,
                                    .has_gre_key = true,
                                    .gre_key = key,
                                    .gateway_mac = gateway_mac};
}

/* All memory that EAL has, taken away and given back. */
#define MAX_CHUNKS 8192
static void *chunk[MAX_CHUNKS];
static unsigned n_chunks;

static void take_memory(void)
{
    for (size_t size = 1 << 20; size >= 1 << 14; size /= 2)
        while (n_chunks < MAX_CHUNKS && (chunk[n_chunks] = rte_malloc(NULL, size, 0)) != NULL)
            n_chunks++;
    CU_ASSERT_FATAL(n_chunks < MAX_CHUNKS);
}

static void give_memory(void)
{
    while (n_chunks > 0)
        rte_free(chunk[--n_chunks]);
}

static void test_idmap(void)
{
    struct idmap *m = idmap_create(SOCKET_ID_ANY);
    uint64_t empty;

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    empty = idmap_bytes(m);
    CU_ASSERT_EQUAL(idmap_get(m, 0), 0);
    CU_ASSERT_EQUAL(idmap_get(m, UINT32_MAX), 0);
    CU_ASSERT_EQUAL(idmap_set(m, 77, 0), 0);
    CU_ASSERT_EQUAL(idmap_bytes(m), empty); /* nothing to unmap takes no page */
    CU_ASSERT_EQUAL(idmap_set(m, 0, 1), 0);
    CU_ASSERT_EQUAL(idmap_set(m, UINT32_MAX, UINT32_MAX), 0);
    CU_ASSERT_EQUAL(idmap_get(m, 0), 1);
    CU_ASSERT_EQUAL(idmap_get(m, 1), 0);
    CU_ASSERT_EQUAL(idmap_get(m, UINT32_MAX), UINT32_MAX);
    CU_ASSERT_EQUAL(idmap_get(m, 0x10000), 0); /* another page, the same slot */
    CU_ASSERT_EQUAL(idmap_set(m, 0, 2), -EEXIST);
    CU_ASSERT_EQUAL(idmap_get(m, 0), 1);
    CU_ASSERT_EQUAL(idmap_set(m, 0, 1), 0);
    CU_ASSERT_EQUAL(idmap_set(m, 0, 0), 0);
    CU_ASSERT_EQUAL(idmap_get(m, 0), 0);
    CU_ASSERT_EQUAL(idmap_set(m, 0, 2), 0);
    CU_ASSERT_EQUAL(idmap_bytes(m), empty + 2 * IDMAP_SLOTS * sizeof(uint32_t));
    idmap_free(m);
    idmap_free(NULL);
}

static void test_record(void)
{
    static const uint8_t l2[SUBSCRIBER_L2_LEN] = {0,    0,    0,    0,    0,    0,    0x02, 0xaa,
                                                  0xbb, 0xcc, 0xdd, 0xee, 0x88, 0xa8, 0x0f, 0xfe,
                                                  0x81, 0x00, 0x00, 0x01, 0x08, 0x00};
    struct subscriber_table *t = subscriber_table_create(2, SOCKET_ID_ANY);
    struct subscriber_spec s = spec_of(4094, 1, 0x0a010203, 0xfedcba98);
    const struct subscriber *r;

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    s.ipv4_len = 30; /* 10.1.2.0-3 */
    CU_ASSERT_EQUAL(subscriber_add(t, &s), 1);
    r = &t->record[1];
    CU_ASSERT_EQUAL((uintptr_t)r % 64, 0);
    CU_ASSERT_EQUAL(memcmp(r->l2, l2, sizeof(l2)), 0);
    CU_ASSERT_EQUAL(r->port, 3);
    CU_ASSERT_EQUAL(r->mac_known, 0);
    CU_ASSERT_EQUAL(r->mac_static, 0);
    CU_ASSERT_EQUAL(r->ipv4, RTE_BE32(0x0a010203));
    CU_ASSERT_EQUAL(r->ipv4_mask, RTE_BE32(0xfffffffc));
    CU_ASSERT_EQUAL(r->gre_key, RTE_BE32(0xfedcba98));
    CU_ASSERT_EQUAL(r->has_gre_key, 1);
    CU_ASSERT_EQUAL(idmap_get(t->by_vlan, subscriber_vlan_key(3, 4094, 1)), 1);
    CU_ASSERT_EQUAL(idmap_get(t->by_vlan, subscriber_vlan_key(2, 4094, 1)), 0);
    CU_ASSERT_EQUAL(idmap_get(t->by_gre_key, 0xfedcba98), 1);
    CU_ASSERT_EQUAL(idmap_get(t->by_ipv4, 0x0a0101ff), 0);
    CU_ASSERT_EQUAL(idmap_get(t->by_ipv4, 0x0a010200), 1);
    CU_ASSERT_EQUAL(idmap_get(t->by_ipv4, 0x0a010203), 1);
    CU_ASSERT_EQUAL(idmap_get(t->by_ipv4, 0x0a010204), 0);
    s = spec_of(1, 4094, UINT32_MAX, 0);
    s.ipv4_len = 24; /* up to the last address that there is */
    s.has_gre_key = false;
    s.mac = cpe_mac;
    CU_ASSERT_EQUAL(subscriber_add(t, &s), 2);
    CU_ASSERT_EQUAL(memcmp(t->record[2].l2, cpe_mac, 6), 0);
    CU_ASSERT_EQUAL(t->record[2].mac_known, 1);
    CU_ASSERT_EQUAL(t->record[2].mac_static, 1);
    CU_ASSERT_EQUAL(idmap_get(t->by_gre_key, 0), 0);
    CU_ASSERT_EQUAL(idmap_get(t->by_ipv4, UINT32_MAX), 2);
    CU_ASSERT_EQUAL(idmap_get(t->by_ipv4, UINT32_MAX - 255), 2);
    CU_ASSERT_EQUAL(idmap_get(t->by_ipv4, 0), 0);
    subscriber_table_free(t);
}

/* A subscriber that cannot be added changes nothing. */
static void refused(struct subscriber_table *t, const struct subscriber_spec *s, int why)
{
    struct subscriber before = t->record[2];
    uint64_t bytes = subscriber_table_bytes(t);
    uint32_t vlan = subscriber_vlan_key(s->port, s->svlan, s->cvlan);
    uint32_t old[] = {idmap_get(t->by_vlan, vlan), idmap_get(t->by_gre_key, s->gre_key),
                      idmap_get(t->by_ipv4, s->ipv4)};

    CU_ASSERT_EQUAL(subscriber_add(t, s), why);
    CU_ASSERT_EQUAL(t->n, 1);
    CU_ASSERT_EQUAL(memcmp(&before, &t->record[2], sizeof(before)), 0);
    CU_ASSERT_EQUAL(idmap_get(t->by_vlan, vlan), old[0]);
    CU_ASSERT_EQUAL(idmap_get(t->by_gre_key, s->gre_key), old[1]);
    CU_ASSERT_EQUAL(idmap_get(t->by_ipv4, s->ipv4), old[2]);
    if (why != -ENOMEM) {
        CU_ASSERT_EQUAL(subscriber_table_bytes(t), bytes);
    }
}

static void test_refusals(void)
{
    struct subscriber_table *t = subscriber_table_create(2, SOCKET_ID_ANY);
    struct subscriber_spec s = spec_of(100, 200, 0x0a000080, 5);

    CU_ASSERT_EQUAL_FATAL(subscriber_add(t, &s), 1);
    s = spec_of(100, 200, 0x0b000001, 0x10000);
    refused(t, &s, -EEXIST); /* VLAN pair */
    s = spec_of(101, 200, 0x0b000001, 5);
    refused(t, &s, -EEXIST); /* key */
    s = spec_of(1600, 200, 0x0a000080, 0x10000);
    refused(t, &s, -EEXIST); /* address */
    s = spec_of(1600, 200, 0x0a000000, 0x10000);
    s.ipv4_len = 24;
    refused(t, &s, -EEXIST); /* one of its addresses */
    s.ipv4_len = 23;
    refused(t, &s, -EINVAL);
    s.ipv4_len = 33;
    refused(t, &s, -EINVAL);
    for (unsigned i = 0; i < 4; i++) {
        static const uint16_t bad[] = {0, 4095, 4096, 65535};

        s = spec_of(bad[i], 200, 0x0b000001, 6);
        refused(t, &s, -EINVAL);
        s = spec_of(100, bad[i], 0x0b000001, 6);
        refused(t, &s, -EINVAL);
    }
    s = spec_of(101, 200, 0x0b000001, 6);
    s.gateway_mac = NULL;
    refused(t, &s, -EINVAL);

    /* each page that it needs can be the one that there is no memory for */
    take_memory();
    s = spec_of(1600, 200, 0x0c000001, 0x20000);
    refused(t, &s, -ENOMEM);
    s = spec_of(101, 200, 0x0c000001, 0x20000);
    refused(t, &s, -ENOMEM);
    s = spec_of(101, 200, 0x0c000001, 6);
    refused(t, &s, -ENOMEM);
    give_memory();

    CU_ASSERT_EQUAL(subscriber_add(t, &s), 2);
    t->n--; /* look at record 2 once more: there is no third */
    t->capacity = 1;
    s = spec_of(102, 200, 0x0b000002, 7);
    refused(t, &s, -ENOSPC);
    subscriber_table_free(t);
    subscriber_table_free(NULL);
}

static void test_no_memory(void)
{
    take_memory();
    CU_ASSERT_PTR_NULL(idmap_create(SOCKET_ID_ANY));
    CU_ASSERT_PTR_NULL(subscriber_table_create(1000, SOCKET_ID_ANY));
    CU_ASSERT_PTR_NULL(route_table_create(10, 10, SOCKET_ID_ANY));
    give_memory();
    CU_ASSERT_PTR_NULL(route_table_create(65536, 10, SOCKET_ID_ANY)); /* ids travel in 16 bits */
}

static void test_learned_mac(void)
{
    struct subscriber_table *t = subscriber_table_create(1, SOCKET_ID_ANY);
    struct subscriber_spec s = spec_of(100, 200, 0x0a000001, 5);
    struct subscriber was, *r = &t->record[1];

    CU_ASSERT_EQUAL_FATAL(subscriber_add(t, &s), 1);
    was = *r;
    subscriber_set_mac(r, cpe_mac);
    CU_ASSERT_EQUAL(memcmp(r->l2, cpe_mac, 6), 0);
    CU_ASSERT_EQUAL(r->mac_known, 1);
    CU_ASSERT_EQUAL(r->mac_static, 0);
    CU_ASSERT_EQUAL(memcmp(r->l2 + 6, was.l2 + 6, sizeof(r->l2) - 6), 0);
    subscriber_set_mac(r, NULL);
    CU_ASSERT_EQUAL(memcmp(r, &was, sizeof(was)), 0);
    subscriber_table_free(t);
}

static double seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* The paper's load: two access ports with 7 S-VLAN bits and 8 C-VLAN bits each. */
/* Who is taken out is found no more; his number is given out again only when it was given back. */
static void test_release(void)
{
    struct subscriber_table *t = subscriber_table_create(2, SOCKET_ID_ANY);
    struct subscriber_spec a = spec_of(1, 1, 0x0a000008, 7), b = spec_of(1, 2, 0x0a000100, 8);

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    a.ipv4_len = 29;
    CU_ASSERT_EQUAL(subscriber_add(t, &a), 1);
    CU_ASSERT_EQUAL(subscriber_check(t, &a), -EEXIST);
    CU_ASSERT_EQUAL(subscriber_add(t, &b), 2);
    CU_ASSERT_EQUAL(subscriber_next_id(t), 0);
    subscriber_unpublish(t, 1);
    CU_ASSERT_EQUAL(idmap_get(t->by_vlan, subscriber_vlan_key(3, 1, 1)), 0);
    CU_ASSERT_EQUAL(idmap_get(t->by_gre_key, 7), 0);
    for (uint32_t i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(idmap_get(t->by_ipv4, 0x0a000008 + i), 0);
    CU_ASSERT_EQUAL(t->record[1].ipv4, RTE_BE32(0x0a000008)); /* for those who have found it */
    CU_ASSERT_EQUAL(subscriber_check(t, &a), 0);
    CU_ASSERT_EQUAL(subscriber_add(t, &a), -ENOSPC);
    subscriber_release(t, 1);
    CU_ASSERT_EQUAL(t->record[1].ipv4, 0);
    subscriber_unpublish(t, 2);
    subscriber_release(t, 2);
    CU_ASSERT_EQUAL(subscriber_add(t, &b), 2);
    CU_ASSERT_EQUAL(subscriber_add(t, &a), 1);
    CU_ASSERT_EQUAL(subscriber_next_id(t), 0);
    CU_ASSERT_EQUAL(t->record[1].gre_key, RTE_BE32(7));
    subscriber_table_free(t);
}

static void test_65536(void)
{
    double start = seconds(), took;
    struct subscriber_table *t = subscriber_table_create(65536, SOCKET_ID_ANY);
    int64_t id = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    for (uint32_t i = 0; i < 65536; i++) {
        struct subscriber_spec s = spec_of((uint16_t)(128 + (i >> 8 & 127)),
                                           (uint16_t)(256 + (i & 255)), 0x0a000000 + i, i);

        s.port = (uint8_t)(i >> 15);
        id = subscriber_add(t, &s);
        if (id != i + 1)
            break;
    }
    took = seconds() - start;
    CU_ASSERT_EQUAL(id, 65536);
    for (uint32_t i = 0; i < 65536; i += 257) {
        uint32_t vlan = subscriber_vlan_key((uint8_t)(i >> 15), (uint16_t)(128 + (i >> 8 & 127)),
                                            (uint16_t)(256 + (i & 255)));

        CU_ASSERT_EQUAL(idmap_get(t->by_vlan, vlan), i + 1);
        CU_ASSERT_EQUAL(idmap_get(t->by_gre_key, i), i + 1);
        CU_ASSERT_EQUAL(idmap_get(t->by_ipv4, 0x0a000000 + i), i + 1);
    }
    printf("65536 subscribers: %.1f MiB, %.0f ms ", (double)subscriber_table_bytes(t) / (1 << 20),
           took * 1e3);
    CU_ASSERT(subscriber_table_bytes(t) < 32 << 20);
    CU_ASSERT(took < 1.0);
    subscriber_table_free(t);
}

static void test_nexthop(void)
{
    struct nexthop_spec s = {.port = 2,
                             .mtu = 1500,
                             .gateway_mac = gateway_mac,
                             .via = 0xc6336409,
                             .has_gre = true,
                             .has_mpls = true,
                             .gre_source = 0xc6336401,
                             .gre_destination = 0xc0000201,
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
    CU_ASSERT_EQUAL(nh.via, RTE_BE32(0xc6336409));
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
    CU_ASSERT_EQUAL(nh.via, 0);
    s.has_mpls = false;
    nexthop_init(&nh, &s);
    CU_ASSERT_EQUAL(nh.max_ip, 1500);
    CU_ASSERT_EQUAL(nh.mpls, 0);
    s.has_gre = true;
    nexthop_init(&nh, &s);
    CU_ASSERT_EQUAL(nh.max_ip, 1472);
    s.mtu = 20;
    nexthop_init(&nh, &s);
    CU_ASSERT_EQUAL(nh.max_ip, 0);
}

static uint32_t lookup(const struct route_table *t, uint32_t addr)
{
    uint32_t id;

    return rte_lpm_lookup(t->lpm, addr, &id) == 0 ? id : 0;
}

static void test_routes(void)
{
    struct route_table *t = route_table_create(3, 100, SOCKET_ID_ANY);
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
    CU_ASSERT(route_table_bytes(t) > 64 << 20 && route_table_bytes(t) < 66 << 20);
    route_table_free(t);
    route_table_free(NULL);
}

static void test_default_route(void)
{
    struct route_table *t = route_table_create(3, 100, SOCKET_ID_ANY);
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

static uint32_t leads_to(const struct route_table *t, uint32_t addr)
{
    uint32_t id;

    return rte_lpm_lookup(t->lpm, addr, &id) == 0 ? id : 0;
}

static void test_remove_routes(void)
{
    struct route_table *t = route_table_create(2, 16, SOCKET_ID_ANY);
    struct nexthop_spec spec = {.mtu = 1500, .gateway_mac = gateway_mac, .mac = cpe_mac};

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(route_add_nexthop(t, &spec), 1);
    CU_ASSERT_EQUAL(route_add_nexthop(t, &spec), 2);
    CU_ASSERT_EQUAL(route_add_nexthop(t, &spec), -ENOSPC);
    route_release_nexthop(t, 1);
    CU_ASSERT_EQUAL(t->nexthop[1].via, 0);
    CU_ASSERT_EQUAL(route_add_nexthop(t, &spec), 1);
    CU_ASSERT_EQUAL(route_add(t, 0, 0, 1), 0);
    CU_ASSERT_EQUAL(route_add(t, 0x80000000, 1, 2), 0);
    CU_ASSERT_EQUAL(route_add(t, 0x0a000000, 8, 2), 0);
    CU_ASSERT(leads_to(t, 0xc0000000) == 2 && leads_to(t, 0x0b000000) == 1);
    CU_ASSERT_EQUAL(route_remove(t, 0x0a000000, 8), 0);
    CU_ASSERT_EQUAL(leads_to(t, 0x0a000001), 1);
    CU_ASSERT_EQUAL(route_remove(t, 0x80000000, 1), 0); /* the default is below it */
    CU_ASSERT_EQUAL(leads_to(t, 0xc0000000), 1);
    CU_ASSERT_EQUAL(route_add(t, 0, 1, 2), 0);
    CU_ASSERT_EQUAL(route_remove(t, 0, 0), 0);
    CU_ASSERT(leads_to(t, 0xc0000000) == 0 && leads_to(t, 0x0b000000) == 2);
    CU_ASSERT_EQUAL(route_remove(t, 0, 0), -ENOENT);
    CU_ASSERT_EQUAL(route_remove(t, 0x80000000, 1), -ENOENT);
    CU_ASSERT_EQUAL(route_remove(t, 0x0a000000, 8), -ENOENT);
    /* the gateway's own addresses stay the gateway's */
    CU_ASSERT_EQUAL(route_add_local(t, 0x0a000005), 0);
    CU_ASSERT_EQUAL(route_add(t, 0x0a000005, 32, 1), 0);
    CU_ASSERT_EQUAL(leads_to(t, 0x0a000005), t->local_id);
    CU_ASSERT_EQUAL(route_remove(t, 0x0a000005, 32), 0);
    CU_ASSERT_EQUAL(leads_to(t, 0x0a000005), t->local_id);
    route_table_free(t);
}

static void test_local(void)
{
    struct route_table *t = route_table_create(1, 1, SOCKET_ID_ANY);
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

static struct cfg_subscriber subscribers[] = {
    {.port = CPE0,
     .svlan = 10,
     .cvlan = 20,
     .ipv4 = 0x0a000001,
     .ipv4_len = 32,
     .gre_key = 7,
     .has_gre_key = true,
     .mac = {2, 0x11, 0x22, 0x33, 0x44, 0x55},
     .has_mac = true,
     .line = 4},
    {.port = CPE1, .svlan = 10, .cvlan = 20, .ipv4 = 0x0a000100, .ipv4_len = 24, .line = 5},
};
static struct cfg_nexthop nexthops[] = {
    {.loc = {"a.cfg", 9},
     .port = CORE0,
     .via = 0xc6336409,
     .has_gre = true,
     .has_mpls = true,
     .gre = 0xc0000201,
     .mpls = 16},
    {.loc = {"a.cfg", 10},
     .port = CORE1,
     .mac = {2, 0x11, 0x22, 0x33, 0x44, 0x55},
     .mac_set = true},
};
static struct cfg_route routes[] = {
    {.loc = {"a.cfg", 12}, .prefix = 0, .len = 0, .nexthop = 0},
    {.loc = {"a.cfg", 13}, .prefix = 0xc6336501, .len = 32, .nexthop = 0}, /* of core1 itself */
    {.loc = {"a.cfg", 14}, .prefix = 0x14000000, .len = 8, .nexthop = 1},
};
static const char *files[] = {"a.cfg"};
static const uint8_t port_mac[N_TEST_PORTS][6] = {
    {2, 1, 1, 1, 1, 0}, {2, 1, 1, 1, 1, 1}, {2, 1, 1, 1, 1, 2}, {2, 1, 1, 1, 1, 3}};

static struct cfg_model model(void)
{
    struct cfg_model m = harness_model;

    m.files = files;
    m.n_files = 1;
    m.n_subscribers = RTE_DIM(subscribers);
    m.subscribers = subscribers;
    m.n_nexthops = RTE_DIM(nexthops);
    m.nexthops = nexthops;
    m.n_routes = RTE_DIM(routes);
    m.routes = routes;
    return m;
}

static void test_provision(void)
{
    struct cfg_model m = model();
    struct tables *t = provision(&m, port_mac, SOCKET_ID_ANY);
    const struct subscriber *s;
    const struct nexthop *nh;

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    for (unsigned i = 0; i < N_TEST_PORTS; i++)
        CU_ASSERT_EQUAL(memcmp(t->port_mac[i], port_mac[i], sizeof(port_mac[i])), 0);
    CU_ASSERT_EQUAL(t->subscribers->n, 2);
    s = &t->subscribers
             ->record[idmap_get(t->subscribers->by_vlan, subscriber_vlan_key(CPE0, 10, 20))];
    CU_ASSERT_EQUAL(memcmp(s->l2, "\x02\x11\x22\x33\x44\x55\x02\x01\x01\x01\x01\x00\x88\xa8", 14),
                    0);
    CU_ASSERT(s->mac_static && s->has_gre_key && s->gre_key == RTE_BE32(7));
    s = &t->subscribers->record[idmap_get(t->subscribers->by_ipv4, 0x0a0001fe)];
    CU_ASSERT_EQUAL(
        memcmp(s->l2 + 6, "\x02\x01\x01\x01\x01\x01\x81\x00\x00\x0a\x81\x00\x00\x14", 14), 0);
    CU_ASSERT(!s->mac_known && !s->has_gre_key && s->port == CPE1);
    nh = &t->routes->nexthop[lookup(t->routes, 0x08080808)];
    CU_ASSERT(nh->port == CORE0 && nh->has_gre && nh->has_mpls && nh->max_ip == 1468);
    CU_ASSERT_EQUAL(memcmp(nh->ip_gre + 12, "\xc6\x33\x64\x01\xc0\x00\x02\x01", 8), 0);
    CU_ASSERT_EQUAL(nh->via, RTE_BE32(0xc6336409));
    nh = &t->routes->nexthop[lookup(t->routes, 0x14000001)];
    CU_ASSERT(nh->port == CORE1 && nh->mac_known && nh->via == 0 && !nh->has_gre);
    for (unsigned i = 0; i < N_TEST_PORTS; i++)
        CU_ASSERT(t->routes->nexthop[lookup(t->routes, m.ports[i].addresses[0])].local);
    CU_ASSERT(route_is_local(t->routes, ADDR_CORE1));
    provision_free(t);
    provision_free(NULL);
}

static void test_provision_fails(void)
{
    struct cfg_model m = model();
    struct cfg_subscriber was = subscribers[1];

    subscribers[1].ipv4 = 0x0a000001; /* a prefix that holds the other's address */
    CU_ASSERT_PTR_NULL(provision(&m, port_mac, SOCKET_ID_ANY));
    subscribers[1] = was;
    m.ports[CORE0].n_addresses = 0;
    CU_ASSERT_PTR_NULL(provision(&m, port_mac, SOCKET_ID_ANY));
    m = model();
    take_memory();
    CU_ASSERT_PTR_NULL(provision(&m, port_mac, SOCKET_ID_ANY));
    give_memory();
}

int main(void)
{
    static const struct harness_test tests[] = {
        {"a map from key to id", test_idmap},
        {"the record of a subscriber", test_record},
        {"subscribers that are refused change nothing", test_refusals},
        {"without memory", test_no_memory},
        {"learned MACs", test_learned_mac},
        {"numbers are given out again", test_release},
        {"65536 subscribers: memory and time", test_65536},
        {"a next hop's headers", test_nexthop},
        {"routes", test_routes},
        {"the default route", test_default_route},
        {"routes go", test_remove_routes},
        {"the gateway's own addresses", test_local},
        {"from the configuration to the tables", test_provision},
        {"configurations without tables", test_provision_fails},
        {NULL, NULL},
    };

    return harness_main("tables", tests);
}
