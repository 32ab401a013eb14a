/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of plan/ share: the steps of plan_make(), in the order in which they run; the
 * questions about outputs and schedulers that several steps ask; and the words by which text,
 * picture and JSON show what has no name in the configuration.
 */
#ifndef PLAN_MAKE_H
#define PLAN_MAKE_H

#include "plan/plan.h"

/** Which mbufs get where: bits of plan_tx.mbufs. */
struct mbuf_flow {
    uint64_t *arrives;            /* to each instance */
    uint64_t *instance;           /* in the hands of each: what arrives, and what it makes */
    uint64_t task[CFG_MAX_TASKS]; /* to any instance of each task */
    uint64_t sent[CFG_MAX_PORTS]; /* out of each port */
};

/** A plan while it is made. */
struct plan_build {
    const struct cfg_model *m;
    struct plan *p;
    struct diags *d;
    uint16_t n_of[CFG_MAX_TASKS];                /* instances of each task */
    uint16_t of[CFG_MAX_TASKS][PLAN_MAX_CORES];  /* instance of a task and worker */
    uint16_t txq[CFG_MAX_PORTS][PLAN_MAX_CORES]; /* queue of a port and core, or PLAN_NONE */
    uint64_t (*producers)[2];                    /* each ring: producing cores, a bit each */
    struct mbuf_flow flow;
    bool pools_full; /* more sets of mbufs than there can be: reported */
};

/** Give each instance the receive queues that it polls. Returns 0, or -ENOMEM. */
int plan_give_queues(struct plan_build *b);

/** Lead every output of every instance to its destinations, which makes rings and transmit queues.
 * Returns 0, or -ENOMEM. */
int plan_make_links(struct plan_build *b);

/** Does a task with one instance lead to that instance of another on its own core? All instances of
 * the other get packets from elsewhere, too: else some would have nothing to do. */
bool plan_leads_beside(const struct plan_build *b, unsigned task, unsigned next);

/** Choose the sockets of copies of the routes, and the copy of each core. */
void plan_place_routes(struct plan_build *b);

/** Make the sets of mbufs, and give each receive queue and instance one of them; report too many.
 */
void plan_make_pools(struct plan_build *b);

/** Find which mbufs get where: b->flow, and plan.tx. Returns 0, or -ENOMEM. */
int plan_follow_mbufs(struct plan_build *b);

/** Fill plan.rings_on_way. Returns 0, or -ENOMEM. */
int plan_measure_ways(struct plan_build *b);

/** Report circles of links in which packets could go round, or stand still, without end. */
void plan_check_circles(struct plan_build *b);

/** Fill plan_output.by_port of all instances; report egress ports that a task writes into packets
 * and no path reaches. */
void plan_make_egress(struct plan_build *b);

/** Report tasks that may get packets which lack what the task needs (enum packet_fact). */
void plan_check_facts(struct plan_build *b);

/** Report tasks that do not fit to the scheduler that they name. */
void plan_check_qos(struct plan_build *b);

/** Report what keeps the instances of a task that shapes from being one scheduler; mark the tasks
 * that spread packets over them (plan.by_shard). */
void plan_check_shards(struct plan_build *b, unsigned task);

/** Report what a start would find no room for: in DPDK, in the queues of a virtual device. */
void plan_check_limits(struct plan_build *b);

/** Fill plan.memory; report pools with too few mbufs. Returns 0, or -ENOMEM. */
int plan_measure_memory(struct plan_build *b);

/** Does this output of a task spread over all workers of the tasks that it names? */
static inline bool output_spreads(const struct cfg_task *t, unsigned output)
{
    return t->schema->spreads && output == 0;
}

/** Does this output lead to the slow path? */
bool output_is_punt(const struct cfg_task *t, unsigned output);

/** The scheduler (index in qos.schedulers[]) by which a task shapes, or CFG_NONE where the task is
 * no shaper (qos). */
uint32_t task_shapes(const struct cfg_task *t);

/** The scheduler whose queues a task chooses (classify, gre_decap), or CFG_NONE. */
uint32_t task_writes(const struct cfg_task *t);

/** The direction in which a task shapes. */
enum qos_direction shaped_direction(const struct cfg_task *t);

/** Does a task find the subscriber by GRE key or address? Then packets of any subscriber may come,
 * and go downstream. */
bool finds_anyone(const struct cfg_task *t);

/** A task's parameter of that name, or NULL where it is not set. */
const struct param_value *task_param(const struct cfg_task *t, const char *name);

/** How many packets a task keeps back, of each port that it reads, so that under overload it can
 * choose what to drop; 0 where the task does not. */
uint32_t task_holds(const struct cfg_task *t);

/** How many subscribers of the configuration are in a scheduler. */
uint32_t scheduler_subscribers(const struct cfg_scheduler *s);

/** Name an instance: "route", or "route.2" where the task has several instances. Returns buf. */
char *instance_name(const struct plan *p, unsigned instance, char *buf, size_t len);

/** List ascending numbers as "0-2,5". Returns buf. */
char *number_list(const uint16_t *n, unsigned count, char *buf, size_t len);

/** The kind of a ring by its producers: "SP" (single) or "MP" (multi). */
const char *ring_producers(const struct plan_ring *r);

/** Draw the pipeline, core by core. */
void plan_draw(const struct plan *p, FILE *to);

#endif
