/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of subscribers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tables_bed.h"

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

static void test_record(void)
{
    static const uint8_t l2[SUBSCRIBER_L2_LEN] = {0,    0,    0,    0,    0,    0,    0x02, 0xaa,
                                                  0xbb, 0xcc, 0xdd, 0xee, 0x88, 0xa8, 0x0f, 0xfe,
                                                  0x81, 0x00, 0x00, 0x01, 0x08, 0x00};
    struct subscriber_table *t = subscriber_table_create(2, 0, SOCKET_ID_ANY);
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
    CU_ASSERT_EQUAL(subscriber_ipv4(r), RTE_BE32(0x0a010203));
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
    struct subscriber_table *t = subscriber_table_create(2, 0, SOCKET_ID_ANY);
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
    CU_ASSERT_PTR_NULL(subscriber_table_create(1000, 0, SOCKET_ID_ANY));
    CU_ASSERT_PTR_NULL(route_table_create(10, 10, 10, SOCKET_ID_ANY));
    give_memory();
    CU_ASSERT_PTR_NULL(route_table_create(65536, 1, 10, SOCKET_ID_ANY)); /* ids travel in 16 bits */
}

static void test_learned_mac(void)
{
    struct subscriber_table *t = subscriber_table_create(1, 0, SOCKET_ID_ANY);
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

/* Of this process on a CPU: what else runs does not count. */
static double seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* Who is taken out is found no more; his number is given out again only when it was given back. */
static void test_release(void)
{
    struct subscriber_table *t = subscriber_table_create(2, 0, SOCKET_ID_ANY);
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
    CU_ASSERT_EQUAL(t->record[1].ipv4_net, RTE_BE32(0x0a000008)); /* for those who have found it */
    CU_ASSERT_EQUAL(subscriber_check(t, &a), 0);
    CU_ASSERT_EQUAL(subscriber_add(t, &a), -ENOSPC);
    subscriber_release(t, 1);
    CU_ASSERT_EQUAL(t->record[1].ipv4_mask, 0);
    subscriber_unpublish(t, 2);
    subscriber_release(t, 2);
    CU_ASSERT_EQUAL(subscriber_add(t, &b), 2);
    CU_ASSERT_EQUAL(subscriber_add(t, &a), 1);
    CU_ASSERT_EQUAL(subscriber_next_id(t), 0);
    CU_ASSERT_EQUAL(t->record[1].gre_key, RTE_BE32(7));
    subscriber_table_free(t);
}

/* The paper's load: two access ports with 7 S-VLAN bits and 8 C-VLAN bits each. */
static void test_65536(void)
{
    double start = seconds(), took;
    struct subscriber_table *t = subscriber_table_create(65536, 0, SOCKET_ID_ANY);
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

static const struct test tests[] = {
    {"the record of a subscriber", test_record},
    {"subscribers that are refused change nothing", test_refusals},
    {"without memory", test_no_memory},
    {"learned MACs", test_learned_mac},
    {"numbers are given out again", test_release},
    {"65536 subscribers: memory and time", test_65536},
    {NULL, NULL},
};

const struct test_program test_program = {"subscriber table", tests, harness_open, harness_close};
