/* SPDX-License-Identifier: BSD-3-Clause */
/* The cores and instances that a plan makes of a graph and a layout, and the CPUs for them. */
#include "common/program.h"
#include "plan_model.h"

#include <sched.h>

/* --- cores and instances --- */

static void cores_in_layout_order(void)
{
    struct plan *p;
    unsigned a, b;

    start();
    a = task("a", &gen);
    b = task("b", &sink);
    to(a, b);
    place(20, 1, b, b);
    place(3, 2, a, a);
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->n_cores, 3);
    CU_ASSERT_EQUAL(p->n_instances, 3);
    CU_ASSERT_EQUAL(p->cores[0].cpu, 20);
    CU_ASSERT_EQUAL(p->cores[0].run_on, 20);
    CU_ASSERT_EQUAL(p->cores[1].cpu, 3);
    CU_ASSERT_EQUAL(p->cores[2].cpu, 4);
    CU_ASSERT_EQUAL(p->cores[0].socket,
                    0); /* CPUs 16..23 are the second threads of the cores of socket 0 */
    CU_ASSERT_EQUAL(p->instances[0].task, b);
    CU_ASSERT_EQUAL(p->instances[1].worker, 0);
    CU_ASSERT_EQUAL(p->instances[2].worker, 1);
    CU_ASSERT_EQUAL(p->instances[2].core, 2);
    CU_ASSERT_EQUAL(p->cores[2].n_instances, 1);
    CU_ASSERT_EQUAL(p->cores[2].instances[0], 2);
    CU_ASSERT_FALSE(p->share_cpus);
    finish(p);
}

/* Instances are numbered by worker, wherever the layout has them. */
static void instances_apart(void)
{
    static const uint16_t cpu[] = {2, 4, 5};
    struct plan *p;
    unsigned a, b;
    unsigned met = 0;

    start();
    a = task("a", &gen);
    b = task("b", &sink);
    to(a, b);
    place_instances(4, 2, a, 1);
    place(2, 1, a, a); /* its instance 0 */
    place_instances(8, 1, b, 2);
    place_instances(9, 2, b, 0);
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->n_instances, 6);
    for (unsigned i = 0; i < p->n_instances; i++) {
        const struct plan_instance *inst = &p->instances[i];
        const struct plan_core *c = &p->cores[inst->core];

        CU_ASSERT_EQUAL(c->n_instances, 1);
        CU_ASSERT_EQUAL(c->instances[0], i);
        if (inst->task != a)
            continue;
        CU_ASSERT_EQUAL_FATAL(inst->worker, met);
        CU_ASSERT_EQUAL(c->cpu, cpu[met++]);
        CU_ASSERT_EQUAL(p->instances[p->rings[inst->output[0].dest[0].index].consumer].worker,
                        inst->worker);
    }
    CU_ASSERT_EQUAL(met, 3);
    finish(p);
}

static void too_many_cores(void)
{
    struct plan *p;
    unsigned a;

    start();
    topo_parse(&m->topology, "1x128x2");
    a = task("a", &gen);
    to_port(a, port("p", "net_null0"));
    place(0, 127, a, a);
    m->pools[0].mbufs = 1 << 20;
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->n_cores, 127);
    CU_ASSERT_EQUAL(p->tx_queues[0], 127);
    plan_free(p);
    place(200, 1, a, a);
    refused("t.cfg:5: error: the layout has more than 127 cores, which is what DPDK can run\n");
}

/* --- CPUs that this process may not use --- */

static cpu_set_t before;

/* Let this process use CPU 0 only. */
static void use_one_cpu(void)
{
    cpu_set_t one;

    sched_getaffinity(0, sizeof(before), &before);
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

static unsigned first_cpu(void)
{
    unsigned cpu = 0;

    while (!CPU_ISSET(cpu, &before))
        cpu++;
    return cpu;
}

static void missing_cpu(void)
{
    char err[256], want[256];
    struct plan *p;
    unsigned a;

    start();
    a = task("a", &gen);
    to_port(a, port("p", "net_null0"));
    use_one_cpu();
    place(first_cpu(), 1, a, a);
    p = make();
    CU_ASSERT_EQUAL(plan_check_machine(p, err, sizeof(err)), 0);
    plan_free(p);
    place(31, 1, a, a);
    p = make(); /* a plan for another machine can be made, not run */
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(diags.n, 0);
    CU_ASSERT_TRUE(plan_check_machine(p, err, sizeof(err)) < 0);
    snprintf(want, sizeof(want),
             "the layout needs CPU 31, and this process has only CPU %u; change the layout (c0, c1 "
             "and so on are the cores that it has), or try it out with --share-cpus",
             first_cpu());
    CU_ASSERT_STRING_EQUAL(err, want);
    sched_setaffinity(0, sizeof(before), &before);
    finish(p);
}

/* CPU 1 is a core of its own on the machine of the layout; on another it is a sibling of CPU 0. */
static void cpus_in_other_places(void)
{
    static struct topology same, other;
    struct plan *p;
    unsigned a;

    start();
    a = task("a", &gen);
    to_port(a, port("p", "net_null0"));
    place(0, 2, a, a);
    p = make();
    same = other = m->topology;
    other.cpu[1] = (struct topo_cpu){.id = 1, .socket = 0, .core = 0, .thread = 1};
    CU_ASSERT_EQUAL(plan_moved_core(p, &same), p->n_cores);
    CU_ASSERT_EQUAL(plan_moved_core(p, &other), 1);
    p->cores[1].run_on = 5; /* shared: nobody expects a place */
    CU_ASSERT_EQUAL(plan_moved_core(p, &other), p->n_cores);
    other.n_cpus = 1; /* what is not there is plan_check_machine()'s */
    p->cores[1].run_on = 1;
    CU_ASSERT_EQUAL(plan_moved_core(p, &other), p->n_cores);
    finish(p);
}

static void shared_cpus(void)
{
    struct plan *p;
    char err[64];
    unsigned a;

    start();
    a = task("a", &gen);
    to_port(a, port("p", "net_null0"));
    place(first_cpu(), 1, a, a);
    place(30, 2, a, a);
    use_one_cpu();
    p = plan_make(m, true, &diags);
    sched_setaffinity(0, sizeof(before), &before);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(plan_check_machine(p, err, sizeof(err)), 0);
    CU_ASSERT_TRUE(p->share_cpus);
    for (unsigned i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(p->cores[i].run_on, first_cpu());
    CU_ASSERT_EQUAL(p->cores[1].cpu, 30);
    expect(p, true,
           "t.cfg: warning: 2 of the layout's 3 cores run on other CPUs than it names (1 to "
           "share): good to see that it works, but figures are meaningless\n");
}

/* With a CPU for each core nothing is shared: no CPU gets two cores while another has none. */
static void moved_cpus(void)
{
    struct plan *p;
    unsigned a;

    sched_getaffinity(0, sizeof(before), &before);
    if (CPU_COUNT(&before) < 2)
        return;
    start();
    a = task("a", &gen);
    to_port(a, port("p", "net_null0"));
    place(first_cpu(), 1, a, a);
    place(1000, 1, a, a);
    p = plan_make(m, true, &diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_FALSE(p->share_cpus);
    CU_ASSERT_EQUAL(p->cores[0].run_on, first_cpu());
    CU_ASSERT_NOT_EQUAL(p->cores[1].run_on, first_cpu());
    CU_ASSERT_EQUAL(diags.n, 1);
    finish(p);
}

static const struct test tests[] = {
    {"cores in layout order", cores_in_layout_order},
    {"instances apart", instances_apart},
    {"too many cores", too_many_cores},
    {"missing cpu", missing_cpu},
    {"CPUs in other places", cpus_in_other_places},
    {"shared cpus", shared_cpus},
    {"moved cpus", moved_cpus},
    {NULL, NULL},
};

const struct test_program test_program = {"plan cores", tests, NULL, NULL};
