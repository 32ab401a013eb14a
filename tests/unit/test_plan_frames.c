/* SPDX-License-Identifier: BSD-3-Clause */
/* Which sources find the frames that they have made in the mbufs that come back to them. */
#include "common/program.h"
#include "plan_model.h"

#define NIC0 "0000:01:00.0"
#define NIC1 "0000:02:00.0"

/* A gen with a pool of its own, which sends to a port of this device that a sink reads. */
static unsigned own_pool(const char *device)
{
    unsigned g, s, p;

    start();
    m->pools[1] = m->pools[0];
    m->pools[1].name = "own";
    m->n_pools = 2;
    p = port("p0", device);
    port("p1", NIC1);
    g = task("g", &gen);
    s = task("s", &sink);
    m->tasks[g].pool = 1;
    to_port(g, p);
    from(s, p);
    from(s, 1);
    place(cpu_on(0, 0), 1, g, s);
    return g;
}

static void keeps(bool yes, const char *what)
{
    struct plan *p = make();
    char *text = all_diags();

    EXPECT(p != NULL, "%s", text);
    free(text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    EXPECT(p->instances[0].keeps_frames == yes, "%s", what);
    finish(p);
}

static void kept_by_devices(void)
{
    static const struct {
        const char *device;
        bool yes;
    } devices[] = {{NIC0, true},
                   {"net_virtio_user0,path=/x", true},
                   {"net_vhost0,iface=/x", true},
                   {"net_memif0", true},
                   {"net_null0", true},
                   {"net_ring0", false},
                   {"net_bonding0", false}};

    for (unsigned i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        own_pool(devices[i].device);
        keeps(devices[i].yes, devices[i].device);
    }
}

/* Whoever else writes into mbufs of the set. */
static void not_kept(void)
{
    unsigned g, other;

    g = own_pool(NIC0);
    m->tasks[g].pool = 0;
    keeps(false, "ports receive into its pool");
    own_pool(NIC0);
    m->ports[port("p2", "0000:03:00.0")].pool = 1;
    keeps(false, "a port that nobody reads is given mbufs of its pool");
    for (unsigned each = 0; each < 2; each++) {
        own_pool(NIC0);
        other = task("other", &gen);
        m->tasks[other].pool = 1;
        to_port(other, 0);
        place(cpu_on(0, 1), 1, other, other);
        m->pools[1].per = each ? POOL_PER_QUEUE : POOL_PER_SOCKET;
        keeps(each, each ? "each gen has a set of the pool" : "another gen has its pool");
    }
    own_pool(NIC0);
    other = task("x", &pass);
    m->tasks[0].output[0].n_dests = 0;
    to(0, other);
    to_port(other, 0);
    place(cpu_on(0, 1), 1, other, other);
    keeps(false, "a task comes between");
}

static const struct test tests[] = {
    {"frames that devices only read", kept_by_devices},
    {"frames that others may write", not_kept},
    {NULL, NULL},
};

const struct test_program test_program = {"plan frames", tests, NULL, NULL};
