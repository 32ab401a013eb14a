/* SPDX-License-Identifier: BSD-3-Clause */
/* What a configuration makes of the tables. */
#include <string.h>

#include "provision.h"
#include "tables_bed.h"

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
     .via = {0, UINT64_C(0xffffc6336409)},
     .has_gre = true,
     .has_mpls = true,
     .gre = {0, 0xffffc0000201},
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
    CU_ASSERT(same6(t->routes->via[nh - t->routes->nexthop], mapped6(0xc6336409)));
    nh = &t->routes->nexthop[lookup(t->routes, 0x14000001)];
    CU_ASSERT(nh->port == CORE1 && nh->mac_known &&
              is_none6(t->routes->via[nh - t->routes->nexthop]) && !nh->has_gre);
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

static const struct test tests[] = {
    {"from the configuration to the tables", test_provision},
    {"configurations without tables", test_provision_fails},
    {NULL, NULL},
};

const struct test_program test_program = {"provision", tests, harness_open, harness_close};
