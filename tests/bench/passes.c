/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One repetition of each kind of thing that is measured. All work the same way: the packets of a
 * chunk are put on the wire, then the clock runs until they are through, then the far end takes
 * them off. The result is the median over the chunks, so that a chunk in which the machine did
 * something else does not count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ring.h>

#include "bench.h"

#define N_CHUNKS (N_PACKETS / CHUNK)
#define MAX_OUTS 64

static uint64_t chunk_cycles[N_CHUNKS];

/* Where the outputs of a task that is measured alone lead. */
static struct {
    struct rte_mbuf **m;
    uint32_t n;
} captured;

static void capture(struct out *o, struct rte_mbuf **m, uint16_t n)
{
    o->sent += n;
    memcpy(captured.m + captured.n, m, n * sizeof(m[0]));
    captured.n += n;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Cycles per packet of the repetition that has just ended. */
static double result(void)
{
    qsort(chunk_cycles, N_CHUNKS, sizeof(chunk_cycles[0]), by_value);
    return (double)(chunk_cycles[N_CHUNKS / 2 - 1] + chunk_cycles[N_CHUNKS / 2]) / 2 / CHUNK;
}

static void feed(struct bench *b, enum wire_id w, struct rte_mbuf **m, unsigned n)
{
    rte_ring_enqueue_bulk(b->wires[w].rx, (void **)m, n, NULL);
}

/* What has been sent, by any port. */
static unsigned take_off(struct bench *b)
{
    void *m[CHUNK];
    unsigned n = 0;

    for (unsigned w = 0; w < N_WIRES; w++)
        n += rte_ring_dequeue_burst(b->wires[w].tx, m, CHUNK, NULL);
    return n;
}

static double lost(const struct bench *b, const struct bench_case *c, uint32_t through)
{
    fprintf(stderr, "bench: %s: %u of %u packets came through\n", c->name, through, N_PACKETS);
    if (b->graph[c->graph] != NULL)
        graph_print_drops(b->graph[c->graph], stderr);
    return -1;
}

double pass_loop(struct bench *b, const struct bench_case *c, serve_fn serve)
{
    uint32_t through = 0;

    packets_restore(&b->packets, UPSTREAM, 0, N_PACKETS);
    for (unsigned k = 0; k < N_CHUNKS; k++) {
        uint64_t start;

        feed(b, WIRE_ACCESS, b->packets.mbuf + k * CHUNK, CHUNK);
        start = rte_rdtsc();
        serve(b, c);
        chunk_cycles[k] = rte_rdtsc() - start;
        through += take_off(b);
    }
    return through == N_PACKETS ? result() : lost(b, c, through);
}

/* Rounds of the engine until a chunk is through. */
static uint64_t run_core(struct core *core)
{
    uint64_t start = rte_rdtsc();

    while (core_round(core, start) > 0)
        ;
    return rte_rdtsc() - start;
}

double pass_engine(struct bench *b, const struct bench_case *c)
{
    enum wire_id in = is_upstream(c->direction) ? WIRE_ACCESS : WIRE_CORE;
    struct core *core = b->graph[c->graph]->engine.cores[0];
    uint32_t through = 0;

    packets_restore(&b->packets, c->direction, 0, N_PACKETS);
    for (unsigned k = 0; k < N_CHUNKS; k++) {
        feed(b, in, b->packets.mbuf + k * CHUNK, CHUNK);
        chunk_cycles[k] = run_core(core);
        through += take_off(b);
    }
    return through == N_PACKETS ? result() : lost(b, c, through);
}

double pass_both(struct bench *b, const struct bench_case *c)
{
    struct core *core = b->graph[c->graph]->engine.cores[0];
    struct rte_mbuf **up = b->packets.mbuf, **down = up + N_PACKETS / 2;
    uint32_t through = 0;

    packets_restore(&b->packets, c->direction, 0, N_PACKETS / 2);
    packets_restore(&b->packets, c->direction + DOWNSTREAM - UPSTREAM, N_PACKETS / 2,
                    N_PACKETS / 2);
    for (unsigned k = 0; k < N_CHUNKS; k++) {
        feed(b, WIRE_ACCESS, up + k * (CHUNK / 2), CHUNK / 2);
        feed(b, WIRE_CORE, down + k * (CHUNK / 2), CHUNK / 2);
        chunk_cycles[k] = run_core(core);
        through += take_off(b);
    }
    return through == N_PACKETS ? result() : lost(b, c, through);
}

/* Lead all outputs of a task to capture(), and back to where they led. */
static void divert(struct bench *b, struct task *t, out_send_fn *kept)
{
    captured.m = b->packets.staged;
    captured.n = 0;
    for (uint16_t i = 0; i < t->n_outs && i < MAX_OUTS; i++) {
        kept[i] = t->outs[i].send;
        t->outs[i].send = capture;
    }
}

static void undivert(struct task *t, const out_send_fn *kept)
{
    for (uint16_t i = 0; i < t->n_outs && i < MAX_OUTS; i++)
        t->outs[i].send = kept[i];
}

/* The ring that a task takes its packets from: of its port or of its link. */
static struct rte_ring *input_ring(const struct bench *b, const struct graph *g,
                                   const struct task *t)
{
    const struct plan_instance *inst = &g->plan->instances[t->instance];

    return inst->n_rx > 0 ? b->wires[inst->rx[0].port].rx : g->engine.rings[inst->in_ring];
}

/* Run all packets of from[] through the core of the task first; what leaves the task last ends up
 * in staged[]. Returns how many. */
static uint32_t run_tasks(struct bench *b, const struct graph *g, struct task *first,
                          struct task *last, struct rte_mbuf **from)
{
    struct rte_ring *in = input_ring(b, g, first);
    struct core *core = g->engine.cores[first->core];
    out_send_fn kept[MAX_OUTS];

    divert(b, last, kept);
    for (unsigned k = 0; k < N_CHUNKS; k++) {
        rte_ring_enqueue_bulk(in, (void **)(from + k * CHUNK), CHUNK, NULL);
        chunk_cycles[k] = run_core(core);
    }
    undivert(last, kept);
    return captured.n;
}

double pass_task(struct bench *b, const struct bench_case *c)
{
    const struct graph *g = b->graph[c->graph];
    struct rte_mbuf **from = b->packets.mbuf;
    struct task *t;
    uint32_t n;

    packets_restore(&b->packets, c->direction, 0, N_PACKETS);
    for (unsigned i = 0; c->via != NULL && c->via[i] != NULL; i++) {
        t = graph_task(g, c->via[i]);
        n = run_tasks(b, g, t, t, from);
        if (n != N_PACKETS)
            return lost(b, c, n);
        from = b->packets.staged;
    }
    t = graph_task(g, c->task);
    n = run_tasks(b, g, t, t, from);
    return n == N_PACKETS ? result() : lost(b, c, n);
}

/* What stands in the rings of a graph's links. */
static unsigned empty_rings(const struct graph *g)
{
    void *m[CHUNK];
    unsigned n = 0;

    for (unsigned i = 0; i < g->plan->n_rings; i++)
        n += rte_ring_dequeue_burst(g->engine.rings[i], m, CHUNK, NULL);
    return n;
}

double pass_spread(struct bench *b, const struct bench_case *c)
{
    const struct graph *g = b->graph[c->graph];
    struct task *t = graph_task(g, c->task);
    struct rte_ring *in = input_ring(b, g, t);
    uint32_t through = 0;

    packets_restore(&b->packets, c->direction, 0, N_PACKETS);
    for (unsigned k = 0; k < N_CHUNKS; k++) {
        rte_ring_enqueue_bulk(in, (void **)(b->packets.mbuf + k * CHUNK), CHUNK, NULL);
        chunk_cycles[k] = run_core(g->engine.cores[t->core]);
        through += empty_rings(g);
    }
    return through == N_PACKETS ? result() : lost(b, c, through);
}

double pass_prefix(struct bench *b, const struct bench_case *c)
{
    const struct graph *g = b->graph[c->graph];
    uint32_t n;

    packets_restore(&b->packets, c->direction, 0, N_PACKETS);
    n = run_tasks(b, g, graph_task(g, c->via[0]), graph_task(g, c->task), b->packets.mbuf);
    return n == N_PACKETS ? result() : lost(b, c, n);
}

double pass_source(struct bench *b, const struct bench_case *c)
{
    struct task *t = graph_task(b->graph[c->graph], c->task);
    uint64_t deadline = rte_rdtsc() + rte_get_tsc_hz();
    out_send_fn kept[MAX_OUTS];

    packets_lend(&b->packets);
    divert(b, t, kept);
    t->type->poll(t, rte_rdtsc()); /* the first one starts its clock */
    rte_pktmbuf_free_bulk(captured.m, captured.n);
    captured.n = 0;
    for (unsigned k = 0; k < N_CHUNKS; k++) {
        uint64_t start = rte_rdtsc(), now = start;

        while (captured.n < (k + 1) * CHUNK && now < deadline) {
            now = rte_rdtsc();
            t->type->poll(t, now);
            task_flush(t);
        }
        chunk_cycles[k] = rte_rdtsc() - start;
    }
    undivert(t, kept);
    rte_pktmbuf_free_bulk(captured.m, captured.n);
    if (packets_take_back(&b->packets) != 0)
        return -1;
    return captured.n == N_PACKETS ? result() : lost(b, c, captured.n);
}

double pass_sink(struct bench *b, const struct bench_case *c)
{
    const struct graph *g = b->graph[c->graph];
    struct task *t = graph_task(g, c->task);
    uint64_t before = t->consumed;

    packets_restore(&b->packets, c->direction, 0, N_PACKETS);
    if (c->stamps)
        packets_stamp(&b->packets);
    run_tasks(b, g, t, t, b->packets.mbuf);
    if (packets_take_back(&b->packets) != 0)
        return -1;
    return t->consumed - before == N_PACKETS ? result()
                                             : lost(b, c, (uint32_t)(t->consumed - before));
}
