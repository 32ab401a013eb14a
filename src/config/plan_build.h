/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of plan_make() share while a plan is made, and what the printers share. Not for
 * others. */
#ifndef CONFIG_PLAN_BUILD_H
#define CONFIG_PLAN_BUILD_H

#include "config/plan.h"

#define PLAN_MAX_CORES 127 /* DPDK's 128 lcores, of which one is housekeeping */
#define PLAN_NONE      UINT16_MAX
#define NO_WAY         0xff /* plan_output.by_port: no destination leads to that port */

struct plan_build {
    const struct cfg_model *m;
    struct plan *p;
    struct diags *d;
    uint16_t n_of[CFG_MAX_TASKS];                /* instances of each task */
    uint16_t of[CFG_MAX_TASKS][PLAN_MAX_CORES];  /* instance of a task and worker */
    uint16_t txq[CFG_MAX_PORTS][PLAN_MAX_CORES]; /* queue of a port and core, or PLAN_NONE */
    uint64_t (*producers)[2];                    /* each ring: producing cores, a bit each */
};

/** Does this output of a task spread over all workers of the tasks that it names? */
static inline bool output_spreads(const struct cfg_task *t, unsigned output)
{
    return t->schema->spreads && output == 0;
}

/** Does this output lead to the slow path? */
bool output_is_punt(const struct cfg_task *t, unsigned output);

/** Is the port one end of an in-memory wire? Then where is the other (the port itself if nowhere)?
 */
bool port_is_wire(const struct cfg_port *port);
unsigned wire_peer(const struct cfg_model *m, unsigned port);

/* plan_links.c: destinations of all instances, rings, transmit queues; then circles. */
int plan_make_links(struct plan_build *b);
void plan_check_circles(struct plan_build *b);

/* plan_egress.c: plan_output.by_port, and whether every egress port that a task writes is
 * reachable. */
void plan_make_egress(struct plan_build *b);

/* plan_facts.c: what is known of the packets that each task gets. */
void plan_check_facts(struct plan_build *b);

/* plan_qos.c: schedulers, the tasks that choose their queues, and those that shape by them. */
void plan_check_qos(struct plan_build *b);

/* plan_shed.c: what a task does with the scheduler that it names; the way from ports to schedulers.
 */
void plan_check_shed(struct plan_build *b);

/** The parameter of that name, or NULL where it is not set. */
const struct param_value *task_param(const struct cfg_task *t, const char *name);

/** The scheduler (index in qos.schedulers[]) that a task shapes by, or whose queues it chooses; or
 * CFG_NONE. */
uint32_t task_shapes(const struct cfg_task *t);
uint32_t task_writes(const struct cfg_task *t);
/** Packets of each port that a task reads which it holds back to choose from under overload. */
uint32_t task_holds(const struct cfg_task *t);
/** How many subscribers it has. */
uint32_t scheduler_subscribers(const struct cfg_scheduler *s);

/* plan_memory.c: plan.memory, and whether every pool can fill what it must fill. */
int plan_measure_memory(struct plan_build *b);

/* plan_names.c: words for the printers; buf is returned. */

/** "route", or "route.2" where the task has several instances. */
char *instance_name(const struct plan *p, unsigned instance, char *buf, size_t len);
/** Ascending numbers as "0-2,5". */
char *number_list(const uint16_t *n, unsigned count, char *buf, size_t len);
/** How many instances a task has. */
unsigned task_instances(const struct plan *p, unsigned task);
/** "SP" or "MP". */
const char *ring_producers(const struct plan_ring *r);
const char *full_policy_name(enum full_policy policy);

/* plan_picture.c: the pipeline, core by core. */
void plan_draw(const struct plan *p, FILE *to);

#endif
