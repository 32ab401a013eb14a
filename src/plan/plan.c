/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a model to a plan: plan_make() and its first step, which places instances on cores. make.h
 * lists the further steps, each of which has a file of its own.
 */
#include "plan/plan.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/make.h"

static_assert(PLAN_MAX_CORES * CFG_MAX_TASKS < PLAN_NONE, "instances are numbered in 16 bits");
static_assert(TOPO_MAX_CPUS <= CPU_SETSIZE, "an affinity mask covers every CPU of a layout");

/* --- outputs and ports --- */

bool output_is_punt(const struct cfg_task *t, unsigned output)
{
    return output > 0 && strcmp(t->schema->outputs[output].name, "punt") == 0;
}

bool plan_port_is_pci(const struct cfg_port *port)
{
    unsigned domain, bus, dev, fn;

    return sscanf(port->device, "%x:%x:%x.%x", &domain, &bus, &dev, &fn) == 4 ||
           sscanf(port->device, "%x:%x.%x", &bus, &dev, &fn) == 3;
}

unsigned wire_peer(const struct cfg_model *m, unsigned port)
{
    for (unsigned i = 0; i < m->n_ports; i++)
        if (i != port && strcmp(m->ports[i].device, m->ports[port].device) == 0)
            return i;
    return port;
}

/* --- cores and instances --- */

/* The CPUs that this process may use. */
static void allowed_cpus(cpu_set_t *set)
{
    CPU_ZERO(set);
    if (sched_getaffinity(0, sizeof(*set), set) != 0)
        CPU_SET(0, set);
}

/* The CPU on which the fewest cores of the plan run so far. */
static uint16_t least_used_cpu(const cpu_set_t *allowed, const uint16_t use[CPU_SETSIZE])
{
    unsigned best = CPU_SETSIZE;

    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, allowed) && (best == CPU_SETSIZE || use[cpu] < use[best]))
            best = cpu;
    return (uint16_t)best;
}

/*
 * Move cores whose CPU this process may not use to the CPUs on which the fewest cores run.
 * share_cpus of the plan stays false where every core still has a CPU of its own, because then no
 * core has to sleep for another.
 */
static void share_cpus(struct plan_build *b)
{
    struct plan *p = b->p;
    uint16_t use[CPU_SETSIZE] = {0};
    unsigned moved = 0;
    cpu_set_t allowed;

    allowed_cpus(&allowed);
    for (unsigned i = 0; i < p->n_cores; i++)
        if (CPU_ISSET(p->cores[i].cpu, &allowed))
            use[p->cores[i].cpu]++;
    for (unsigned i = 0; i < p->n_cores; i++) {
        struct plan_core *c = &p->cores[i];

        if (CPU_ISSET(c->cpu, &allowed))
            continue;
        c->run_on = least_used_cpu(&allowed, use);
        use[c->run_on]++;
        moved++;
    }
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        p->share_cpus |= use[cpu] > 1;
    if (moved > 0)
        diag_warning(b->d, (struct loc){b->m->path, 0},
                     "%u of the layout's %u cores run on other CPUs than it names (%d to share): "
                     "good to see that it works, but figures are meaningless",
                     moved, p->n_cores, CPU_COUNT(&allowed));
}

/* Returns 0, or -EINVAL with an error where the layout has more cores than DPDK can run. */
static int count_cores(struct plan_build *b)
{
    const struct cfg_model *m = b->m;
    unsigned n = 0;

    for (unsigned i = 0; i < m->n_placements; i++) {
        n += m->placements[i].n_cpus;
        if (n > PLAN_MAX_CORES) {
            diag_error(b->d, m->placements[i].loc,
                       "the layout has more than %u cores, which is what DPDK can run",
                       PLAN_MAX_CORES);
            return -EINVAL;
        }
    }
    b->p->n_cores = n;
    return 0;
}

static int add_core(struct plan_build *b, const struct cfg_placement *pl, uint16_t cpu, unsigned at)
{
    const struct topo_cpu *tc = topo_cpu(&b->m->topology, cpu);
    struct plan_core *c = &b->p->cores[at];

    *c = (struct plan_core){.cpu = cpu, .run_on = cpu, .socket = tc != NULL ? tc->socket : 0};
    c->instances = calloc(pl->n_tasks + 1u, sizeof(c->instances[0]));
    return c->instances == NULL ? -ENOMEM : 0;
}

/* Number the instances of an entry of the layout. Those of one task are numbered in the order of
 * their workers, wherever the layout has them: all that goes through instances meets worker 0
 * first. */
static void number_instances(struct plan_build *b, const struct cfg_placement *pl)
{
    for (uint16_t k = 0; k < pl->n_cpus; k++)
        for (uint16_t t = 0; t < pl->n_tasks; t++) {
            uint16_t task = pl->tasks[t].task;

            b->of[task][b->n_of[task]++] = (uint16_t)b->p->n_instances++;
        }
}

static void add_instance(struct plan_build *b, uint16_t task, uint16_t worker, unsigned core)
{
    struct plan_core *c = &b->p->cores[core];
    uint16_t instance = b->of[task][worker];

    c->instances[c->n_instances++] = instance;
    b->p->instances[instance] = (struct plan_instance){
        .task = task, .worker = worker, .core = (uint16_t)core, .in_ring = CFG_NONE};
}

/* Give each CPU of the layout a core with an instance of every task that the layout puts there.
 * Returns 0, -EINVAL after an error, or -ENOMEM. */
static int place_tasks(struct plan_build *b)
{
    const struct cfg_model *m = b->m;
    struct plan *p = b->p;
    unsigned core = 0;
    size_t most = 1;
    int rc = count_cores(b);

    if (rc != 0)
        return rc;
    for (unsigned i = 0; i < m->n_placements; i++)
        most += (size_t)m->placements[i].n_cpus * m->placements[i].n_tasks;
    p->cores = calloc(p->n_cores + 1, sizeof(p->cores[0]));
    p->instances = calloc(most, sizeof(p->instances[0]));
    if (p->cores == NULL || p->instances == NULL)
        return -ENOMEM;
    for (unsigned i = 0; i < m->n_placements; i++)
        number_instances(b, &m->placements[i]);
    for (unsigned i = 0; i < m->n_placements; i++) {
        const struct cfg_placement *pl = &m->placements[i];

        for (uint16_t k = 0; k < pl->n_cpus; k++, core++) {
            if (add_core(b, pl, pl->cpus[k], core) != 0)
                return -ENOMEM;
            for (uint16_t t = 0; t < pl->n_tasks; t++)
                add_instance(b, pl->tasks[t].task, (uint16_t)(pl->tasks[t].first + k), core);
        }
    }
    return 0;
}

/* --- all steps --- */

/* Returns 0, -EINVAL after an error that ends the search for further ones, or -ENOMEM. */
static int run_steps(struct plan_build *b, bool share)
{
    int rc = place_tasks(b);

    if (rc == 0 && share)
        share_cpus(b);
    if (rc == 0)
        rc = plan_give_queues(b);
    if (rc == 0)
        rc = plan_make_links(b);
    if (rc == 0)
        rc = plan_measure_ways(b);
    if (rc != 0)
        return rc;
    plan_place_routes(b);
    plan_make_pools(b);
    plan_check_circles(b);
    plan_make_egress(b);
    plan_check_facts(b);
    plan_check_qos(b);
    plan_check_limits(b);
    /* How much a pool must hold is known only of a graph without errors. */
    if (b->d->n_errors > 0)
        return 0;
    rc = plan_follow_mbufs(b);
    return rc == 0 ? plan_measure_memory(b) : rc;
}

struct plan *plan_make(const struct cfg_model *m, bool share, struct diags *d)
{
    struct plan_build *b = calloc(1, sizeof(*b));
    struct plan *p = calloc(1, sizeof(*p));
    size_t errors = d->n_errors;
    int rc = -ENOMEM;

    if (b != NULL && p != NULL) {
        b->m = p->cfg = m;
        b->p = p;
        b->d = d;
        rc = run_steps(b, share);
        free(b->producers);
        free(b->flow.arrives);
        free(b->flow.instance);
    }
    free(b);
    if (rc == -ENOMEM)
        diag_error(d, (struct loc){m->path, 0}, "no memory to make the plan");
    if (d->n_errors == errors)
        return p;
    plan_free(p);
    return NULL;
}

void plan_free(struct plan *p)
{
    if (p == NULL)
        return;
    for (unsigned i = 0; p->cores != NULL && i < p->n_cores; i++)
        free(p->cores[i].instances);
    for (unsigned i = 0; i < p->n_instances; i++) {
        free(p->instances[i].rx);
        for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
            free(p->instances[i].output[o].dest);
    }
    for (unsigned i = 0; i < CFG_MAX_PORTS; i++)
        free(p->tx[i]);
    free(p->cores);
    free(p->instances);
    free(p->rings);
    free(p);
}

int plan_check_machine(const struct plan *p, char *err, size_t len)
{
    uint16_t ours[CPU_SETSIZE];
    unsigned n = 0;
    char list[256];
    cpu_set_t allowed;

    allowed_cpus(&allowed);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            ours[n++] = (uint16_t)cpu;
    for (unsigned i = 0; i < p->n_cores; i++) {
        if (CPU_ISSET(p->cores[i].run_on, &allowed))
            continue;
        snprintf(
            err, len,
            "the layout needs CPU %u, and this process has only CPU %s; change the layout (c0, "
            "c1 and so on are the cores that it has), or try it out with --share-cpus",
            p->cores[i].run_on, number_list(ours, n, list, sizeof(list)));
        return -ENODEV;
    }
    return 0;
}

unsigned plan_moved_core(const struct plan *p, const struct topology *is)
{
    for (unsigned i = 0; i < p->n_cores; i++) {
        const struct plan_core *c = &p->cores[i];
        const struct topo_cpu *said = topo_cpu(&p->cfg->topology, c->cpu),
                              *real = topo_cpu(is, c->cpu);

        if (c->run_on == c->cpu && said != NULL && real != NULL &&
            (said->socket != real->socket || said->core != real->core ||
             said->thread != real->thread))
            return i;
    }
    return p->n_cores;
}
