/* SPDX-License-Identifier: BSD-3-Clause */
/* Running what build.c has made: start, stop, core calls, watching, and taking it all down. */
#include "engine/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <rte_ring.h>

#include "base/log.h"
#include "engine/backlog.h"
#include "engine/eal.h"
#include "engine/link_state.h"

#define SAMPLE_NS     5000000 /* between two looks at what still moves during a stop */
#define QUIET_SAMPLES 4       /* without a packet moving: then a phase of the stop has ended */
#define CALL_SPINS    1000    /* pauses while a core call is awaited; then naps of some 70 us */
#define CALL_NAPS     20000   /* about a second */

int engine_start(struct engine *e)
{
    e->phase = PHASE_RUN;
    peer_guard_memory(e->readers);
    for (unsigned i = 0; i < e->plan->n_cores; i++) {
        int rc;

        e->cores[i]->readers = e->readers;
        rc = rte_eal_remote_launch(core_main, e->cores[i], eal_lcore(i));

        if (rc != 0) {
            log_error("lcore %u does not start: %s", eal_lcore(i), rte_strerror(-rc));
            return rc;
        }
        e->running = true;
    }
    return 0;
}

/* A number that grows with every packet that a core receives or makes. */
static uint64_t movement(const struct engine *e)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < e->plan->n_instances; i++)
        sum += __atomic_load_n(&e->tasks[i]->in, __ATOMIC_RELAXED) +
               __atomic_load_n(&e->tasks[i]->created, __ATOMIC_RELAXED);
    return sum;
}

/* Packets in the rings of links, and on wires that a core reads. */
static uint64_t under_way(const struct engine *e)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < e->plan->n_rings; i++)
        sum += rte_ring_count(e->rings[i]);
    for (unsigned i = 0; e->phase < PHASE_NO_PORTS && i < e->plan->cfg->n_ports; i++)
        if (e->ports[i].is_wire && e->plan->rx_queues[i] > 0)
            sum += rte_ring_count(e->ports[i].wire_rx);
    return sum;
}

/* Packets under way, and packets that tasks and backlogs hold. */
static uint64_t held_inside(const struct engine *e)
{
    uint64_t sum = under_way(e);

    for (unsigned i = 0; i < e->plan->n_instances; i++)
        if (e->tasks[i]->type->held != NULL)
            sum += e->tasks[i]->type->held(e->tasks[i]);
    for (unsigned i = 0; i < e->plan->n_cores; i++)
        for (unsigned k = 0; k < e->cores[i]->n_inputs; k++)
            sum += backlog_count(e->cores[i]->inputs[k].backlog);
    return sum;
}

/* Has each core made a round since the last call? A core that waits for a shared CPU may have
 * packets to move. rounds: of each core at the last call, updated. */
static bool all_cores_moved(const struct engine *e, uint64_t *rounds)
{
    bool all = true;

    for (unsigned i = 0; i < e->plan->n_cores; i++) {
        uint64_t now = __atomic_load_n(&e->cores[i]->rounds, __ATOMIC_RELAXED);

        all = all && now != rounds[i];
        rounds[i] = now;
    }
    return all;
}

/* Wait until no packet has moved for QUIET_SAMPLES, at most limit_ns. */
static void wait_until_quiet(struct engine *e, uint64_t limit_ns)
{
    static const struct timespec sample = {.tv_nsec = SAMPLE_NS};
    uint64_t before = movement(e), now, rounds[e->plan->n_cores];
    unsigned quiet = 0;

    memset(rounds, 0, sizeof(rounds));
    all_cores_moved(e, rounds);
    for (uint64_t ns = 0; ns < limit_ns && quiet < QUIET_SAMPLES; ns += SAMPLE_NS) {
        nanosleep(&sample, NULL);
        watchdog_look(e);
        now = movement(e);
        if (now != before || held_inside(e) != 0)
            quiet = 0;
        else if (all_cores_moved(e, rounds))
            quiet++;
        before = now;
    }
}

/* Wait for the ends of all loops. A stalled core ends its loop when it goes on; until then the
 * watchdog reports it. */
static void wait_for_cores(struct engine *e)
{
    static const struct timespec sample = {.tv_nsec = SAMPLE_NS};

    for (unsigned i = 0; i < e->plan->n_cores; i++)
        while (rte_eal_get_lcore_state(eal_lcore(i)) == RUNNING) {
            nanosleep(&sample, NULL);
            watchdog_look(e);
        }
    rte_eal_mp_wait_lcore();
}

static void set_phase(struct engine *e, enum run_phase phase)
{
    __atomic_store_n(&e->phase, phase, __ATOMIC_RELEASE);
}

void engine_stop(struct engine *e)
{
    uint64_t step = e->plan->cfg->drain_ns / 3;

    if (!e->running)
        return;
    engine_watch(e);
    set_phase(e, PHASE_NO_SOURCES);
    wait_until_quiet(e, step);
    set_phase(e, PHASE_NO_PORTS);
    wait_until_quiet(e, step * 2);
    set_phase(e, PHASE_STOP);
    wait_for_cores(e);
    peer_guard_memory(NULL);
    e->running = false;
    engine_watch(e);
}

int engine_call(struct engine *e, unsigned instance, int (*fn)(struct task *t, void *arg),
                void *arg)
{
    static const struct timespec nap = {.tv_nsec = 10000};
    struct core *c = e->cores[e->plan->instances[instance].core];
    struct core_call call = {.fn = fn, .task = e->tasks[instance], .arg = arg}, *expected = &call;

    if (!e->running)
        return fn(call.task, arg);
    __atomic_store_n(&c->call, &call, __ATOMIC_RELEASE);
    for (unsigned i = 0; !__atomic_load_n(&call.done, __ATOMIC_ACQUIRE); i++) {
        if (i >= CALL_NAPS && __atomic_compare_exchange_n(&c->call, &expected, NULL, false,
                                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return -ETIMEDOUT;
        expected = &call;
        if (i > CALL_SPINS)
            nanosleep(&nap, NULL);
        else
            rte_pause();
    }
    return call.result;
}

int engine_call_cores(struct engine *e, int (*fn)(struct task *t, void *arg), void *arg)
{
    const struct plan *p = e->plan;
    int rc = 0;

    for (unsigned c = 0; c < p->n_cores; c++)
        if (p->cores[c].n_instances > 0) {
            int one = engine_call(e, p->cores[c].instances[0], fn, arg);

            rc = rc != 0 ? rc : one;
        }
    return rc;
}

void engine_link_is_up(struct engine *e, unsigned port)
{
    __atomic_store_n(&e->link_ups[port], e->link_ups[port] + 1, __ATOMIC_RELAXED);
}

void engine_watch(struct engine *e)
{
    for (unsigned i = 0; i < e->plan->cfg->n_ports; i++) {
        port_watch(&e->ports[i]);
        if (e->running && e->phase == PHASE_RUN)
            link_state_watch(e, i);
    }
    if (e->running) {
        watchdog_look(e);
        health_look(e);
    }
}

bool engine_sources_finished(const struct engine *e)
{
    unsigned sources = 0;

    for (unsigned i = 0; i < e->plan->n_instances; i++) {
        const struct task *t = e->tasks[i];

        if (t->type->schema.kind != TASK_SOURCE)
            continue;
        sources++;
        if (!__atomic_load_n(&t->finished, __ATOMIC_RELAXED))
            return false;
    }
    return sources > 0;
}

const struct input *engine_input(const struct engine *e, unsigned port, unsigned queue)
{
    for (unsigned c = 0; c < e->plan->n_cores; c++)
        for (unsigned i = 0; i < e->cores[c]->n_inputs; i++) {
            const struct input *in = &e->cores[c]->inputs[i];

            if (in->kind == INPUT_PORT && in->in_port == port && in->queue == queue)
                return in;
        }
    return NULL;
}

static void free_task(struct task *t)
{
    if (t == NULL)
        return;
    if (t->ready && t->type->fini != NULL)
        t->type->fini(t);
    for (uint16_t i = 0; i < t->n_outs; i++)
        rte_pktmbuf_free_bulk(t->outs[i].held, t->outs[i].n_held);
    rte_free(t->state);
    rte_free(t->outs);
    rte_free(t->punted);
    rte_free(t);
}

static void free_core(struct core *c)
{
    if (c == NULL)
        return;
    for (unsigned i = 0; i < c->n_inputs; i++) {
        backlog_free(c->inputs[i].backlog);
        rte_free(c->inputs[i].gates);
    }
    rte_free(c->inputs);
    rte_free(c);
}

static void free_ring(struct rte_ring *r)
{
    struct rte_mbuf *m;

    if (r == NULL)
        return;
    while (rte_ring_dequeue(r, (void **)&m) == 0)
        rte_pktmbuf_free(m);
    rte_ring_free(r);
}

uint64_t engine_free(struct engine *e)
{
    const struct plan *p = e->plan;
    uint64_t missing = 0;
    bool kept = false;

    for (unsigned i = 0; e->tasks != NULL && i < p->n_instances; i++)
        free_task(e->tasks[i]);
    for (unsigned i = 0; e->cores != NULL && i < p->n_cores; i++)
        free_core(e->cores[i]);
    for (unsigned i = 0; e->rings != NULL && i < p->n_rings; i++)
        free_ring(e->rings[i]);
    for (unsigned i = 0; i < p->cfg->n_ports; i++)
        peer_park_interrupts(p->cfg->ports[i].device);
    for (unsigned i = 0; i < p->cfg->n_ports; i++) {
        kept = kept || e->ports[i].keeps_buffers;
        port_close(&e->ports[i]);
    }
    for (unsigned i = 0; i < p->cfg->n_ports; i++)
        free_ring(e->ports[i].wire_rx);
    for (unsigned i = 0; i < p->n_pools; i++) {
        if (e->pools[i] == NULL)
            continue;
        if (!kept)
            missing += rte_mempool_in_use_count(e->pools[i]);
        rte_mempool_free(e->pools[i]);
    }
    free(e->rings);
    free(e->ring_input);
    free(e->tasks);
    free(e->cores);
    free(e->watchdog);
    return missing;
}
