/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model made by hand, step by step, for the tests of the plan: small types of task, on a machine
 * of 2 sockets of 8 cores of 2 threads. Line numbers count up from 1 in the order of making.
 */
#ifndef TESTS_PLAN_MODEL_H
#define TESTS_PLAN_MODEL_H

#include <stdlib.h>
#include <string.h>

#include <CUnit/CUnit.h>

#include "plan/plan.h"

/* --- types of task, as small as they can be --- */

static const char *const modes[] = {"plain", "checked", NULL};
static const uint32_t mode_gives[] = {0, FACT_IPV4};

static const struct task_schema pass = {.type = "forward",
                                        .outputs = {{.name = "to"}, {.name = "punt"}}};
static const struct task_schema lb = {.type = "lb", .spreads = true, .outputs = {{.name = "to"}}};
static const struct task_schema gen = {
    .type = "gen", .kind = TASK_SOURCE, .outputs = {{.name = "to"}}};
static const struct task_schema sink = {.type = "sink", .kind = TASK_SINK};
static const struct task_schema classify = {.type = "classify",
                                            .outputs = {{.name = "to"}, {.name = "punt"}},
                                            .gives = FACT_SUBSCRIBER | FACT_QINQ_IPV4};
static const struct task_schema decap = {.type = "qinq_decap",
                                         .outputs = {{.name = "to"}},
                                         .needs = FACT_QINQ_IPV4,
                                         .gives = FACT_IPV4,
                                         .loses = FACT_QINQ_IPV4};
static const struct task_schema pop = {
    .type = "mpls_pop",
    .outputs = {{.name = "to"}},
    .params = (const struct task_param[]){{.name = "mode",
                                           .type = PARAM_ENUM,
                                           .def = "plain",
                                           .choices = modes,
                                           .choice_gives = mode_gives}},
    .n_params = 1,
};
static const struct task_schema route = {.type = "route",
                                         .outputs = {{.name = "to"}, {.name = "punt"}},
                                         .needs = FACT_IPV4,
                                         .gives = FACT_NEXTHOP,
                                         .egress = EGRESS_NEXTHOPS};
static const struct task_schema encap = {.type = "qinq_encap",
                                         .outputs = {{.name = "to"}},
                                         .needs = FACT_SUBSCRIBER,
                                         .egress = EGRESS_SUBSCRIBERS};
static const struct task_schema arp = {
    .type = "arp", .outputs = {{.name = "to"}}, .egress = EGRESS_ALL_PORTS};

/* --- a model, made step by step; line numbers count up from 1 in the order of making --- */

static struct cfg_model *m;
static struct diags diags;
static unsigned line;

static inline struct loc here(void)
{
    return (struct loc){"t.cfg", ++line};
}

static inline void start(void)
{
    static const char *files[] = {"t.cfg"};

    m = calloc(1, sizeof(*m));
    m->name = "test";
    m->path = "t.cfg";
    m->memory = "auto";
    m->files = files;
    m->n_files = 1;
    m->topology_given = true;
    topo_parse(&m->topology, "2x8x2");
    m->tasks = calloc(CFG_MAX_TASKS, sizeof(m->tasks[0]));
    m->placements = calloc(CFG_MAX_TASKS, sizeof(m->placements[0]));
    m->subscribers = calloc(70000, sizeof(m->subscribers[0]));
    m->routes = calloc(64, sizeof(m->routes[0]));
    m->nexthops = calloc(64, sizeof(m->nexthops[0]));
    m->pools[0] = (struct cfg_pool){.loc = here(),
                                    .name = "default",
                                    .mbufs = 65536,
                                    .data_room = 2176,
                                    .socket = -1,
                                    .cache = 256};
    m->n_pools = 1;
    line = 0;
}

static inline void finish(struct plan *p)
{
    plan_free(p);
    diag_free(&diags);
    memset(&diags, 0, sizeof(diags));
    free(m->tasks);
    free(m->placements);
    free(m->subscribers);
    free(m->routes);
    free(m->nexthops);
    free(m);
}

static inline unsigned port(const char *name, const char *device)
{
    m->ports[m->n_ports] = (struct cfg_port){
        .loc = here(), .name = name, .device = device, .rx_desc = 1024, .tx_desc = 512};
    return m->n_ports++;
}

static inline unsigned task(const char *name, const struct task_schema *schema)
{
    m->tasks[m->n_tasks] =
        (struct cfg_task){.loc = here(), .name = name, .schema = schema, .ring = 512, .burst = 32};
    return m->n_tasks++;
}

static inline void from(unsigned t, unsigned port_index)
{
    m->tasks[t].from[m->tasks[t].n_from++] = (uint16_t)port_index;
}

static inline void connect(unsigned t, unsigned output, bool is_port, unsigned index)
{
    struct cfg_output *out = &m->tasks[t].output[output];

    if (out->n_dests == 0)
        out->loc = here();
    out->dest[out->n_dests++] = (struct cfg_dest){.is_port = is_port, .index = (uint16_t)index};
}

static inline void to(unsigned t, unsigned next)
{
    connect(t, 0, false, next);
}

static inline void to_port(unsigned t, unsigned port_index)
{
    connect(t, 0, true, port_index);
}

/* The n-th CPU of a socket. */
static inline unsigned cpu_on(unsigned socket, unsigned n)
{
    for (unsigned cpu = 0; cpu < TOPO_MAX_CPUS; cpu++) {
        const struct topo_cpu *c = topo_cpu(&m->topology, (uint16_t)cpu);

        if (c != NULL && c->socket == socket && n-- == 0)
            return cpu;
    }
    CU_FAIL_FATAL("no such CPU");
    return 0;
}

/* The tasks first..last on CPUs cpu..cpu + n - 1. */
static inline void place(unsigned cpu, unsigned n, unsigned first, unsigned last)
{
    struct cfg_placement *pl = &m->placements[m->n_placements++];

    pl->loc = here();
    for (unsigned i = 0; i < n; i++)
        pl->cpus[pl->n_cpus++] = (uint16_t)(cpu + i);
    for (unsigned t = first; t <= last; t++)
        pl->tasks[pl->n_tasks++] = (struct cfg_placed){.task = (uint16_t)t};
}

/* The instances first..first + n - 1 of a task on CPUs cpu..cpu + n - 1. */
static inline void place_instances(unsigned cpu, unsigned n, unsigned t, unsigned first)
{
    place(cpu, n, t, t);
    m->placements[m->n_placements - 1].tasks[0].first = (uint16_t)first;
}

static inline void add_route(unsigned port_index)
{
    m->nexthops[m->n_nexthops] = (struct cfg_nexthop){.loc = here(), .port = port_index};
    m->routes[m->n_routes] =
        (struct cfg_route){.loc = here(), .len = 8, .nexthop = m->n_nexthops++};
    m->n_routes++;
}

static inline void add_subscriber(unsigned port_index, unsigned svlan, unsigned cvlan,
                                  uint32_t ipv4)
{
    m->subscribers[m->n_subscribers++] = (struct cfg_subscriber){.port = port_index,
                                                                 .svlan = (uint16_t)svlan,
                                                                 .cvlan = (uint16_t)cvlan,
                                                                 .ipv4 = ipv4,
                                                                 .ipv4_len = 32,
                                                                 .line = ++line};
}

static inline struct plan *make(void)
{
    return plan_make(m, false, &diags);
}

static inline char *all_diags(void)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    diag_print(&diags, f);
    fclose(f);
    return text;
}

/* The plan must be refused with exactly these lines (or made with these warnings). */
static inline void expect(struct plan *p, bool made, const char *want)
{
    char *got = all_diags();

    CU_ASSERT_EQUAL(p != NULL, made);
    CU_ASSERT_STRING_EQUAL(got, want);
    if (strcmp(got, want) != 0)
        fprintf(stderr, "\nwant: %sgot:  %s", want, got);
    free(got);
    finish(p);
}

static inline void refused(const char *want)
{
    expect(make(), false, want);
}

#endif
