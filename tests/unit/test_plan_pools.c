/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of mbufs, on which socket each is and who takes from it; and where a device may put mbufs
 * back without a look at each. */
#include "common/program.h"
#include "plan_model.h"

#define NIC0   "0000:01:00.0"
#define NIC1   "0000:02:00.0"
#define AF_XDP "net_af_xdp0,iface=x,queue_count=2"

static const struct task_drop segmented[] = {{.name = "segmented"}};
static const struct task_schema checks = {.type = "classify",
                                          .outputs = {{.name = "to"}, {.name = "punt"}},
                                          .drops = segmented,
                                          .n_drops = 1};
static const struct task_schema maker = {
    .type = "fragment", .makes = true, .outputs = {{.name = "to"}}};

static void is_set(const struct plan *p, unsigned i, const char *name, unsigned socket)
{
    EXPECT(strcmp(p->pools[i].name, name) == 0, "'%s', not '%s'", p->pools[i].name, name);
    EXPECT(p->pools[i].socket == socket, "%s on socket %u", name, p->pools[i].socket);
}

static struct plan *made(void)
{
    struct plan *p = make();
    char *text = all_diags();

    EXPECT(p != NULL, "%s", text);
    free(text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    return p;
}

/* A port of each socket, which a task of its own reads and sends to. */
static void two_sockets(const struct task_schema *schema)
{
    start();
    for (unsigned i = 0; i < 2; i++) {
        unsigned t = task(i == 0 ? "a" : "b", schema);

        from(t, port(i == 0 ? "p0" : "p1", i == 0 ? NIC0 : NIC1));
        to_port(t, i);
        place(cpu_on(i, 0), 1, t, t);
    }
}

static void set_of_each_socket(void)
{
    struct plan *p;

    two_sockets(&pass);
    m->pools[0].mbufs = 1024 + 512 + 2 * 384 + 64;
    p = made();
    CU_ASSERT_EQUAL_FATAL(p->n_pools, 2);
    is_set(p, 0, "default.s0", 0);
    is_set(p, 1, "default.s1", 1);
    for (unsigned i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(plan_queue_pool(p, i, 0), i);
        CU_ASSERT_EQUAL(p->instances[i].pool, i);
        CU_ASSERT_EQUAL(p->memory.pool_need[i], m->pools[0].mbufs);
        CU_ASSERT_EQUAL(p->memory.mbufs[i], m->pools[0].mbufs * 2368ull);
    }
    CU_ASSERT_EQUAL(p->memory.mbufs_total, 2 * m->pools[0].mbufs * 2368ull);
    /* each core touches the mbufs of its socket */
    CU_ASSERT_EQUAL(p->memory.core_pages_1g, 1 + 1);
    finish(p);
}

/* Each needs what its mbufs can get to, as if there were no others. */
static void set_too_small(void)
{
    char want[256];

    two_sockets(&pass);
    m->ports[1].rx_desc = 2048;
    m->pools[0].loc.line = 99;
    m->pools[0].mbufs = 1024 + 512 + 2 * 384 + 64;
    snprintf(want, sizeof(want),
             "t.cfg:99: error: pool 'default.s1' has %u mbufs, but the queues, rings and caches "
             "that take from it hold %u: give it at least that many, or make rings and queues "
             "smaller\n",
             m->pools[0].mbufs, m->pools[0].mbufs + 1024);
    refused(want);
}

/* Where all cores are on one socket, there is the one set, there. */
static void far_socket(void)
{
    struct plan *p;
    unsigned a;

    start();
    a = task("a", &pass);
    from(a, port("p0", NIC0));
    port("unread", NIC1);
    to_port(a, 0);
    place(cpu_on(1, 2), 1, a, a);
    p = made();
    CU_ASSERT_EQUAL_FATAL(p->n_pools, 1);
    is_set(p, 0, "default", 1);
    CU_ASSERT_EQUAL(plan_queue_pool(p, 1, 0), 0);
    finish(p);
}

static void said_socket(void)
{
    struct plan *p;

    two_sockets(&pass);
    m->pools[0].socket = 1;
    p = made();
    CU_ASSERT_EQUAL_FATAL(p->n_pools, 1);
    is_set(p, 0, "default", 1);
    finish(p);
}

static void set_of_the_gateway(void)
{
    struct plan *p;

    two_sockets(&pass);
    m->pools[0].per = POOL_PER_GATEWAY;
    p = made();
    CU_ASSERT_EQUAL_FATAL(p->n_pools, 1);
    is_set(p, 0, "default", 0);
    CU_ASSERT_EQUAL(plan_queue_pool(p, 1, 0), 0);
    finish(p);
}

/* Who makes few packets has no set of its own: it takes from that of its socket, else the first. */
static void set_of_a_maker(void)
{
    struct plan *p;
    unsigned a, f;

    for (unsigned socket = 0; socket < 2; socket++) {
        two_sockets(&pass);
        a = task("c", &pass);
        f = task("f", &maker);
        from(a, port("p2", "0000:03:00.0"));
        to(a, f);
        to_port(f, 2);
        place(cpu_on(socket, 1), 1, a, f);
        p = made();
        CU_ASSERT_EQUAL_FATAL(p->n_pools, 2);
        CU_ASSERT_EQUAL(p->instances[f].pool, socket);
        finish(p);
    }
    start();
    a = task("a", &pass);
    f = task("f", &maker);
    from(a, port("p0", NIC0));
    to(a, f);
    to_port(f, 0);
    place(cpu_on(0, 0), 1, a, a);
    place(cpu_on(1, 0), 1, f, f);
    p = made();
    CU_ASSERT_EQUAL_FATAL(p->n_pools, 1);
    is_set(p, 0, "default", 0);
    CU_ASSERT_EQUAL(p->instances[f].pool, 0);
    finish(p);
}

/* A pool from which only such a task takes is on its socket, and not idle. */
static void pool_of_a_maker(void)
{
    struct plan *p;
    unsigned a, f;

    start();
    m->pools[1] = m->pools[0];
    m->pools[1].name = "own";
    m->n_pools = 2;
    a = task("a", &pass);
    f = task("f", &maker);
    m->tasks[f].pool = 1;
    from(a, port("p0", NIC0));
    to(a, f);
    to_port(f, 0);
    place(cpu_on(0, 0), 1, a, a);
    place(cpu_on(1, 0), 1, f, f);
    p = made();
    CU_ASSERT_EQUAL_FATAL(p->n_pools, 2);
    is_set(p, 1, "own", 1);
    CU_ASSERT_EQUAL(p->instances[f].pool, 1);
    CU_ASSERT_EQUAL(p->memory.pool_need[1], 512 + 64 + 2 * 384);
    finish(p);
}

static void set_of_each_queue(void)
{
    struct plan *p;
    unsigned a, g;

    start();
    m->pools[0].per = POOL_PER_QUEUE;
    a = task("a", &pass);
    g = task("g", &gen);
    from(a, port("p0", NIC0));
    from(a, port("p1", NIC1));
    to_port(a, 0);
    to_port(g, 1);
    place(cpu_on(0, 0), 1, a, a);
    place_instances(cpu_on(1, 0), 1, a, 1);
    place(cpu_on(1, 1), 1, g, g);
    p = made();
    CU_ASSERT_EQUAL_FATAL(p->n_pools, 5);
    is_set(p, 0, "default.p0.rx0", 0);
    is_set(p, 1, "default.p1.rx0", 0);
    is_set(p, 2, "default.p0.rx1", 1);
    is_set(p, 3, "default.p1.rx1", 1);
    is_set(p, 4, "default.g", 1);
    CU_ASSERT_EQUAL(plan_queue_pool(p, 0, 1), 2);
    CU_ASSERT_EQUAL(plan_queue_pool(p, 1, 1), 3);
    CU_ASSERT_EQUAL(p->instances[2].pool, 4);
    /* its queue, one of the two transmit queues, three caches, an instance */
    for (unsigned i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(p->memory.pool_need[i], 1024 + 512 + 3 * 384 + 64);
    CU_ASSERT_EQUAL(p->memory.pool_need[4], 512 + 3 * 384 + 64);
    finish(p);
}

/* A wire has no mbufs of its own. */
static void set_behind_a_wire(void)
{
    struct plan *p;
    unsigned g, s;

    start();
    m->pools[0].per = POOL_PER_QUEUE;
    port("w0", "wire:x");
    port("w1", "wire:x");
    g = task("g", &gen);
    s = task("s", &sink);
    to_port(g, 0);
    from(s, 1);
    place(cpu_on(0, 0), 1, g, g);
    place(cpu_on(1, 0), 1, s, s);
    p = made();
    CU_ASSERT_EQUAL_FATAL(p->n_pools, 1);
    is_set(p, 0, "default.g", 0);
    finish(p);
}

/* --- fast free --- */

static void is_free(struct plan *p, unsigned port_index, unsigned queue, const char *why)
{
    char text[128];
    bool fast = plan_fast_free(p, port_index, queue, text, sizeof(text));

    CU_ASSERT_EQUAL(fast, why[0] == '\0');
    CU_ASSERT_EQUAL(fast, plan_fast_free(p, port_index, queue, NULL, 0));
    EXPECT(strcmp(text, why) == 0, "'%s', not '%s'", text, why);
}

static void free_of_one_pool(void)
{
    struct plan *p;

    two_sockets(&checks);
    p = made();
    is_free(p, 0, 0, "");
    is_free(p, 1, 0, "");
    finish(p);
    two_sockets(&checks);
    connect(1, 1, true, 0); /* each core has a queue of its own */
    p = made();
    CU_ASSERT_EQUAL_FATAL(p->tx_queues[0], 2);
    CU_ASSERT_EQUAL(p->tx[0][1].core, 1);
    is_free(p, 0, 0, "");
    is_free(p, 0, 1, "");
    finish(p);
}

static void free_of_several_pools(void)
{
    struct plan *p;
    unsigned x;

    two_sockets(&checks);
    x = task("x", &pass);
    connect(0, 1, false, x);
    connect(1, 1, false, x);
    to_port(x, 0);
    place(cpu_on(0, 3), 1, x, x);
    p = made();
    is_free(p, 0, 0, "");
    is_free(p, 1, 0, "");
    is_free(p, 0, 1, "mbufs of several pools: default.s0, default.s1");
    finish(p);
}

/* What a task makes of another pool comes between. */
static void free_beside_a_maker(void)
{
    struct plan *p;
    unsigned a, f;

    for (unsigned own = 0; own < 2; own++) {
        start();
        m->pools[1] = m->pools[0];
        m->pools[1].name = "own";
        m->n_pools = 2;
        a = task("a", &checks);
        f = task("f", &maker);
        m->tasks[f].pool = own;
        from(a, port("p0", NIC0));
        to(a, f);
        to_port(f, 0);
        place(cpu_on(0, 0), 1, a, f);
        p = made();
        is_free(p, 0, 0, own ? "mbufs of several pools: default, own" : "");
        finish(p);
    }
}

static void free_of_what_a_device_chains(void)
{
    struct plan *p;
    unsigned c;

    two_sockets(&pass);
    p = made();
    is_free(p, 0, 0, "no task before it drops packets of several mbufs");
    finish(p);
    two_sockets(&pass); /* what of it goes through a task that looks is whole */
    c = task("c", &checks);
    connect(0, 1, false, c);
    to_port(c, 1);
    place(cpu_on(0, 1), 1, c, c);
    p = made();
    is_free(p, 0, 0, "no task before it drops packets of several mbufs");
    is_free(p, 1, 1, "");
    finish(p);
}

/* A device that gives each packet in one mbuf, and can send no other. */
static void free_of_what_is_whole(void)
{
    struct plan *p;

    two_sockets(&pass);
    m->ports[0].device = m->ports[1].device = AF_XDP;
    p = made();
    is_free(p, 0, 0, "");
    finish(p);
    for (unsigned looks = 0; looks < 2; looks++) {
        two_sockets(looks ? &checks : &pass);
        m->ports[1].device = AF_XDP;
        m->tasks[0].loc.line = 7;
        connect(0, 1, true, 1);
        if (looks)
            finish(made());
        else
            refused("t.cfg:7: error: task 'a' sends to port 'p1' what may lie in several mbufs, "
                    "but net_af_xdp sends only what lies in one: expected a task before it that "
                    "drops the others (classify, gre_decap or mpls_pop), or net_af_packet\n");
    }
}

static void free_of_what_a_device_attaches(void)
{
    static const char *const devices[] = {NIC0 ",mprq_en=1", "net_vhost0,iface=/x,ext-buf=1"};
    struct plan *p;

    for (unsigned i = 0; i < 2; i++) {
        two_sockets(&checks);
        m->ports[0].device = devices[i];
        p = made();
        is_free(p, 0, 0, "a device attaches buffers of its own");
        is_free(p, 1, 0, "");
        finish(p);
    }
}

/* Through a wire come the sender's. */
static void free_behind_a_wire(void)
{
    struct plan *p;
    unsigned g, a;

    start();
    port("w0", "wire:x");
    port("w1", "wire:x");
    port("out", NIC0);
    g = task("g", &gen);
    a = task("a", &pass);
    to_port(g, 0);
    from(a, 1);
    to_port(a, 2);
    place(cpu_on(0, 0), 1, g, g);
    place(cpu_on(1, 0), 1, a, a);
    p = made();
    is_free(p, 2, 0, "");
    finish(p);
}

static const struct test tests[] = {
    {"a set of each socket", set_of_each_socket},
    {"a set that is too small", set_too_small},
    {"the far socket", far_socket},
    {"a socket that is said", said_socket},
    {"one set of the gateway", set_of_the_gateway},
    {"the set of who makes few packets", set_of_a_maker},
    {"the pool of who makes packets", pool_of_a_maker},
    {"a set of each queue", set_of_each_queue},
    {"no set behind a wire", set_behind_a_wire},
    {"fast free: one pool", free_of_one_pool},
    {"fast free: several pools", free_of_several_pools},
    {"fast free: who makes packets", free_beside_a_maker},
    {"fast free: packets of several mbufs", free_of_what_a_device_chains},
    {"fast free: what is whole", free_of_what_is_whole},
    {"fast free: a device's own buffers", free_of_what_a_device_attaches},
    {"fast free: behind a wire", free_behind_a_wire},
    {NULL, NULL},
};

const struct test_program test_program = {"plan pools", tests, NULL, NULL};
