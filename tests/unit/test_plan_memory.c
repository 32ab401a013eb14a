/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of a plan, and the mbufs that a pool needs. */
#include "common/program.h"
#include "plan_model.h"

/* --- memory --- */

#define KIB     1024ull
#define MIB     (1024 * KIB)
#define BLOCKS6 (4096 * 4 + 254 * 8 + 16) /* by block, in common, and no pages */
#define RECORD  68                        /* and the magic number of LCP */

static void memory_of_pools(void)
{
    struct plan *p;
    unsigned a;

    start();
    a = task("a", &pass);
    from(a, port("p0", "net_null0"));
    to_port(a, 0);
    place(0, 1, a, a);
    m->pools[0].mbufs = 4096;
    m->pools[1] = (struct cfg_pool){.name = "odd", .mbufs = 64, .data_room = 2177};
    m->n_pools = 2;
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    /* 64 header + 128 struct + 2176 = 2368; 2177 is rounded up to 2240 */
    CU_ASSERT_EQUAL(p->memory.mbufs[0], 4096 * 2368ull);
    CU_ASSERT_EQUAL(p->memory.mbufs[1], 64 * (64 + 128 + 2240ull));
    CU_ASSERT_EQUAL(p->memory.mbufs_total, p->memory.mbufs[0] + p->memory.mbufs[1]);
    CU_ASSERT_EQUAL(p->memory.rings, 0);
    /* nothing is configured, and 64 subscribers and 64 routes with their next hops may be added */
    CU_ASSERT_EQUAL(p->memory.tables, (64 + 1) * RECORD + 3 * (512 + 256 + 256) * KIB);
    CU_ASSERT_EQUAL(p->memory.routes, 64 * MIB + (2 * (513 + 64) + 1024) * 68 +
                                          (577 + 288 + 8) * 8 + (64 + 2 + 64 + 1) * 64 + 65 * 16 +
                                          128 * 12);
    CU_ASSERT_EQUAL(p->memory.spare, 64 * RECORD + 3 * 256 * KIB +
                                         64 * (2 * 68 + 12 + 64 + 64 + 16) + (128 - 8) * 12);
    CU_ASSERT_EQUAL(p->memory.total, p->memory.mbufs_total + p->memory.tables + p->memory.routes);
    CU_ASSERT_EQUAL(p->memory.pages_2m, (p->memory.total + 2 * MIB - 1) / (2 * MIB));
    CU_ASSERT_EQUAL(p->memory.pages_1g, 1);
    /* 4096 * 2368 = 4.6 pages of 2 MiB; mbufs of the other pool never reach the core */
    CU_ASSERT_EQUAL(p->memory.core_pages_2m, 5 + 1);
    CU_ASSERT_EQUAL(p->memory.core_pages_1g, 1 + 1);
    CU_ASSERT_EQUAL(p->memory.pool_need[1], 0);
    finish(p);
}

/* The paper's 65536 subscribers on two access ports. */
static void memory_of_subscribers(void)
{
    struct plan *p;
    unsigned a;

    start();
    a = task("a", &pass);
    from(a, port("cpe0", "net_null0"));
    to_port(a, port("cpe1", "net_null1"));
    place(0, 1, a, a);
    for (uint32_t i = 0; i < 65536; i++) {
        add_subscriber(i >> 15, 128 + (i >> 8 & 127), 256 + (i & 255), 0x0a000000 + i);
        m->subscribers[i].has_gre_key = true;
        m->subscribers[i].gre_key = i;
    }
    m->max_subscribers = 65536;
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    /* 256 more records for who was removed; pages: 8 of 16 S-VLANs on each port, one of keys, one
     * of addresses */
    CU_ASSERT_EQUAL(p->memory.tables,
                    65793ull * RECORD + 3 * (512 + 256) * KIB + (16 + 1 + 1) * 256 * KIB);
    CU_ASSERT_TRUE(p->memory.tables < 32 * MIB);
    plan_free(p);
    m->subscribers[0].has_gre_key = false;
    m->subscribers[1].gre_key = 0xffffffff;
    m->subscribers[2].ipv4 = 0x0a010000;
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->memory.tables,
                    65793ull * RECORD + 3 * (512 + 256) * KIB + (16 + 2 + 2) * 256 * KIB);
    finish(p);
}

/* Two subscribers of whom one has IPv6 alone; three prefixes, the address counting as two. */
static void memory_of_ipv6(void)
{
    struct plan *p;
    unsigned a;
    uint64_t tables;

    start();
    a = task("a", &pass);
    from(a, port("cpe0", "net_null0"));
    to_port(a, 0);
    place(0, 1, a, a);
    add_subscriber(0, 1, 1, 0x0a000001);
    add_subscriber(0, 1, 2, 0);
    m->max_subscribers = 2;
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    tables = p->memory.tables;
    plan_free(p);
    m->subscribers[1].ipv4_len = 0;
    m->subscribers[1].ipv6 = (struct cpe_prefixes){.wan_len = 128, .n_delegated = 2};
    m->n_prefixes = m->most_prefixes = 4;
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    /* the page of address 0 is gone; 3 records, the blocks, 1 bucket for 4 prefixes and 8 more */
    CU_ASSERT_EQUAL(p->memory.tables, tables - 256 * KIB + BLOCKS6 + 64 * (3 + 4 / 4 + 0 + 8));
    plan_free(p);
    m->max_subscribers = 3; /* who is added may have as much */
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->memory.tables,
                    tables + 2 * 256 * KIB + RECORD + BLOCKS6 + 64 * (4 + 8 / 4 + 1 + 8));
    plan_free(p);
    m->max_prefixes = 800;
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->memory.tables,
                    tables + 2 * 256 * KIB + RECORD + BLOCKS6 + 64 * (4 + 200 + 100 + 8));
    finish(p);
}

static void memory_of_routes(void)
{
    struct plan *p;
    unsigned a;

    start();
    a = task("a", &pass);
    from(a, port("p0", "net_null0"));
    to_port(a, 0);
    place(0, 1, a, a);
    for (unsigned i = 0; i < 4; i++)
        add_route(0);
    m->max_routes = 4;
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->memory.routes, 64 * MIB + (2 * (513 + 4) + 1024) * 68 + (517 + 258 + 8) * 8 +
                                          (4 + 2 + 1) * 64 + 5 * 16 + 8 * 12);
    plan_free(p);
    m->n_routes = 1 << 20;
    m->routes = realloc(m->routes, m->n_routes * sizeof(m->routes[0]));
    memset(m->routes, 0, m->n_routes * sizeof(m->routes[0]));
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->memory.routes, 64 * MIB + (2 * ((1 << 20) + 513) + 1024) * 68ull +
                                          ((1 << 20) + 513 + (1 << 19) + 256 + 8) * 8ull +
                                          (4 + 2 + 1) * 64 + 5 * 16 + 8 * 12);
    finish(p);
}

/* Nothing for IPv6 where nothing is of IPv6; 64 routes and their next hops where a subscriber is,
 * or as many as max_routes6 says. */
static void memory_of_routes6(void)
{
    uint64_t without;
    struct plan *p;
    unsigned a;

    start();
    a = task("a", &pass);
    from(a, port("p0", "net_null0"));
    to_port(a, 0);
    place(0, 1, a, a);
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    without = p->memory.routes;
    plan_free(p);
    m->n_prefixes = 1;
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->memory.routes - without, 4 * MIB + (2 * 64 + 1024) * 132 + 2 * 64 * 36 + 4 +
                                                    (2 * 64 + 16) * 64 + (256 - 128) * 12 +
                                                    256 * 44);
    plan_free(p);
    m->n_prefixes = 0;
    m->max_routes6 = 1000;
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->memory.routes - without,
                    4 * MIB + 256 * KIB + (2 * 1000 + 1024) * 132 + 2 * (1000 * 32 + 1024 * 4) +
                        2 * 4 + 1000 * (2 * 64 + 16) + (4096 - 128) * 12 + 4096 * 44);
    finish(p);
}

static void need_of_a_pool(void)
{
    struct plan *p;
    char want[256];
    unsigned a, b;

    start();
    a = task("a", &pass);
    b = task("b", &pass);
    from(a, port("p0", "net_null0"));
    port("p1", "net_null1"); /* no task reads or writes the port, but its receive queue takes mbufs
                                all the same */
    to(a, b);
    to_port(b, 0);
    place(0, 2, a, a);
    place(2, 2, b, b);
    /* rx 2 queues, rx 1 queue, tx 2 queues, 2 rings, 4 caches of 256 * 1.5, 4 instances */
    m->pools[0].mbufs = 2 * 1024 + 1024 + 2 * 512 + 2 * 512 + 4 * 384 + 4 * 64;
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->memory.pool_need[0], m->pools[0].mbufs);
    CU_ASSERT_EQUAL(p->memory.rings, 2 * (384 + 8 * 512));
    plan_free(p);
    m->pools[0].loc.line = 99;
    m->pools[0].mbufs--;
    snprintf(want, sizeof(want),
             "t.cfg:99: error: pool 'default' has %u mbufs, but the queues, rings and caches that "
             "take from it hold %u: give it at least that many, or make rings and queues "
             "smaller\n",
             m->pools[0].mbufs, m->pools[0].mbufs + 1);
    refused(want);
}

/* A wire has a ring instead of descriptors, and carries the sender's mbufs to the port at the other
 * end. */
static void need_through_a_wire(void)
{
    struct plan *p;
    unsigned g, a;

    start();
    m->pools[1] = m->pools[0];
    m->pools[1].name = "gen";
    m->n_pools = 2;
    port("w0", "wire:x");
    port("w1", "wire:x");
    port("out", "net_null0");
    m->ports[0].rx_desc = 256;
    m->ports[1].rx_desc = 128;
    g = task("g", &gen);
    a = task("a", &pass);
    m->tasks[g].pool = 1;
    to_port(g, 0);
    from(a, 1);
    to_port(a, 2);
    place(0, 1, g, g);
    place(1, 1, a, a);
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    /* gen's packets: the wire towards w1, out's queue, 2 cores, 2 instances */
    CU_ASSERT_EQUAL(p->memory.pool_need[1], 128 + 512 + 2 * 384 + 2 * 64);
    /* the default pool: only what out's receive queue takes */
    CU_ASSERT_EQUAL(p->memory.pool_need[0], 1024 + 2 * 384);
    CU_ASSERT_EQUAL(p->memory.rings, 384 + 8 * 256 + 384 + 8 * 128);
    finish(p);
}

/* What a task has for each subscriber: each instance once more than there may be subscribers. */
static void memory_of_counters(void)
{
    struct task_schema counts = pass;
    uint64_t tables[2], spare[2];

    for (unsigned i = 0; i < 2; i++) {
        struct plan *p;
        unsigned a;

        counts.per_subscriber = i * 32;
        start();
        a = task("a", &counts);
        from(a, port("p0", "net_null0"));
        to_port(a, 0);
        place(0, 1, a, a);
        p = make();
        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        tables[i] = p->memory.tables;
        spare[i] = p->memory.spare;
        finish(p);
    }
    CU_ASSERT_EQUAL(tables[1] - tables[0], (64 + 1) * 32);
    CU_ASSERT_EQUAL(spare[1] - spare[0], 64 * 32);
}

static const struct test tests[] = {
    {"memory of pools", memory_of_pools},
    {"memory of counters", memory_of_counters},
    {"memory of subscribers", memory_of_subscribers},
    {"memory of IPv6", memory_of_ipv6},
    {"memory of routes", memory_of_routes},
    {"memory of routes of IPv6", memory_of_routes6},
    {"need of a pool", need_of_a_pool},
    {"need through a wire", need_through_a_wire},
    {NULL, NULL},
};

const struct test_program test_program = {"plan memory", tests, NULL, NULL};
