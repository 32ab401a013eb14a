/* SPDX-License-Identifier: BSD-3-Clause */
/* What a configuration makes of the tables. */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_lcore.h>

#include "provision.h"
#include "tables_bed.h"

/* The engine, which knows the machine's sockets, asks for the types of tasks. */
const struct task_type *const task_types[] = {NULL};

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

static struct tables *provided(const struct cfg_model *m)
{
    struct plan_core core = {0};
    struct plan p = {.cfg = m, .n_cores = 1, .cores = &core, .n_routes_on = 1};

    return provision(&p, port_mac);
}

static void test_provision(void)
{
    struct cfg_model m = model();
    struct tables *t = provided(&m);
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
    CU_ASSERT_PTR_NULL(provided(&m));
    subscribers[1] = was;
    m.ports[CORE0].n_addresses = 0;
    CU_ASSERT_PTR_NULL(provided(&m));
    m = model();
    take_memory();
    CU_ASSERT_PTR_NULL(provided(&m));
    give_memory();
}

/* --- a machine with two sockets, whose memory is all on the first one --- */

/* These functions stand before DPDK's, which has ordinary pages here. */
static bool two_sockets;

unsigned rte_socket_count(void)
{
    unsigned (*real)(void);

    *(void **)&real = dlsym(RTLD_NEXT, "rte_socket_count");
    return two_sockets ? 2 : real();
}

int rte_socket_id_by_idx(unsigned i)
{
    int (*real)(unsigned);

    *(void **)&real = dlsym(RTLD_NEXT, "rte_socket_id_by_idx");
    return two_sockets ? (int)i : real(i);
}

int rte_eal_has_hugepages(void)
{
    int (*real)(void);

    *(void **)&real = dlsym(RTLD_NEXT, "rte_eal_has_hugepages");
    return two_sockets ? 1 : real();
}

/* Make tables of a plan that has copies of the routes on n sockets, and keep in said[] what is
 * written to stderr meanwhile. */
static struct tables *on_sockets(struct cfg_model *m, uint16_t n, char *said, size_t len)
{
    struct plan_core core = {0};
    struct plan p = {.cfg = m, .n_cores = 1, .cores = &core, .n_routes_on = n, .routes_on = {0, 1}};
    FILE *f = tmpfile();
    int before = dup(2);
    struct tables *t;

    m->path = "a.cfg";
    m->max_routes6 = 10;
    m->routes_per = ROUTES_PER_SOCKET;
    p.memory.routes_copy = 65 << 20;
    fflush(stderr);
    dup2(fileno(f), 2);
    t = provision(&p, port_mac);
    fflush(stderr);
    dup2(before, 2);
    close(before);
    rewind(f);
    said[fread(said, 1, len - 1, f)] = '\0';
    fclose(f);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    return t;
}

static void test_copies(void)
{
    struct cfg_model m = model();
    struct route_table *r;
    struct tables *t;
    char said[1024];

    t = on_sockets(&m, 2, said, sizeof(said)); /* this machine has one, which is not told */
    r = t->routes;
    CU_ASSERT_STRING_EQUAL(said, "");
    CU_ASSERT_EQUAL_FATAL(route_copies(r), 2);
    CU_ASSERT_PTR_NOT_EQUAL(r->fib.own.first, fib_copy(&r->fib, 1)->first);
    CU_ASSERT_EQUAL(fib_lookup(fib_copy(&r->fib, 1), 0x14000001), lookup(r, 0x14000001));
    CU_ASSERT_EQUAL(fib_lookup(fib_copy(&r->fib, 1), ADDR_CORE1), r->local_id);
    CU_ASSERT_EQUAL(r->fib6.n_more, 1);
    provision_free(t);
    two_sockets = true;
    t = on_sockets(&m, 1, said, sizeof(said));
    CU_ASSERT_STRING_EQUAL(said, "");
    provision_free(t);
    t = on_sockets(&m, 2, said, sizeof(said));
    EXPECT(strcmp(said, "vbng: warning: a.cfg: socket 1 has no room for its copy of the routes, 65 "
                        "MiB, which lies on another one: its cores reach it by the link between "
                        "the sockets; reserve huge pages in "
                        "/sys/devices/system/node/node1/hugepages\n") == 0,
           "'%s'", said);
    CU_ASSERT_EQUAL(route_copies(t->routes), 2);
    CU_ASSERT_EQUAL(route_copy_socket(t->routes, 1), 0);
    provision_free(t);
    two_sockets = false;
}

static const struct test tests[] = {
    {"from the configuration to the tables", test_provision},
    {"configurations without tables", test_provision_fails},
    {"copies of the routes", test_copies},
    {NULL, NULL},
};

const struct test_program test_program = {"provision", tests, harness_open, harness_close};
