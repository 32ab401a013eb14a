/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Enqueue and dequeue with packets waiting: the packets go round. Those that do not wait form a
 * queue: at its head a chunk is prepared and measured, what the schedulers let go joins its end. So
 * every packet that arrives was last touched long ago. Bare library, sched.h, task and whole graphs
 * go through the same steps, on the same scheduler and the same mbufs. The result is the median
 * over the chunks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_ring.h>
#include <rte_sched.h>

#include "packet/qinq.h"
#include "qos.h"
#include "sched/librte/librte_sched.h"

#define N_CHUNKS      (N_PACKETS / CHUNK)
#define DOWN_INNER    (14 + 4 + 20 + 8) /* inner IPv4 header of a downstream frame */
#define DRAIN_SECONDS 2

/* The packets that do not wait: head and count, in a circle. */
static struct {
    struct rte_mbuf *m[N_PACKETS];
    uint32_t head, n;
} idle;

static struct {
    struct rte_mbuf *m[BURST_MAX];
    out_send_fn kept;
    uint16_t n;
} captured;

static uint64_t chunk_cycles[N_CHUNKS];
static uint64_t random_state = 0x2545f4914f6cdd1d;
static uint32_t next_frame, next_pipe;

uint32_t qos_random_below(uint32_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 32) * n >> 32);
}

struct task *qos_task(const struct graph *g, unsigned i)
{
    for (unsigned k = 0; k < g->plan->n_instances; k++)
        if (qos_state(g->engine.tasks[k]) != NULL && i-- == 0)
            return g->engine.tasks[k];
    return NULL;
}

static void capture(struct out *o, struct rte_mbuf **m, uint16_t n)
{
    memcpy(captured.m, m, n * sizeof(m[0]));
    captured.n = n;
    o->sent += n;
}

void qos_divert(struct task *t)
{
    captured.kept = t->outs[0].send;
    t->outs[0].send = capture;
}

void qos_undivert(struct task *t)
{
    t->outs[0].send = captured.kept;
}

void qos_put(enum qos_target target, struct task *t, struct rte_mbuf **m, uint16_t n)
{
    struct sched *s = qos_state(t)->sched;

    switch (target) {
    case QOS_BARE:
        rte_sched_port_enqueue(librte_of(s)->port, m, n);
        break;
    case QOS_SCHED:
        sched_expect(s, m, n, 0);
        sched_enqueue(s, m, n);
        break;
    default:
        for (uint16_t i = 0; i < n; i++) /* as the engine does with packets of a ring */
            __builtin_prefetch(m[i], 1, 3);
        task_run(t, m, n);
        break;
    }
}

uint16_t qos_get(enum qos_target target, struct task *t, struct rte_mbuf **out, uint16_t n)
{
    struct sched *s = qos_state(t)->sched;

    switch (target) {
    case QOS_BARE:
        return (uint16_t)rte_sched_port_dequeue(librte_of(s)->port, out, n);
    case QOS_SCHED:
        return (uint16_t)sched_dequeue(s, out, n);
    default:
        captured.n = 0;
        t->type->poll(t, rte_rdtsc());
        task_flush(t);
        memcpy(out, captured.m, captured.n * sizeof(out[0]));
        return captured.n;
    }
}

static void set_dscp(struct rte_mbuf *m, uint32_t l2, uint32_t queue)
{
    struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, l2);

    ip->type_of_service = (uint8_t)(queue << 2);
    ip->hdr_checksum = 0;
    ip->hdr_checksum = rte_ipv4_cksum(ip);
}

static uint32_t choose_queue(const struct qos_variant *v, uint32_t pipe)
{
    static const uint8_t few[] = {0, 1, 12, 13, 14, 15};

    if (v->best_effort)
        return QOS_BE;
    if (v->few)
        return few[qos_random_below(RTE_DIM(few))];
    return v->one_queue ? pipe % QOS_QUEUES : qos_random_below(QOS_QUEUES);
}

/* Make a packet what it is when it arrives: a frame on the wire, or a path in the mbuf. */
static void renew(struct bench *b, const struct qos_variant *v, struct rte_mbuf *m)
{
    uint32_t i = next_frame++ % N_PACKETS;
    bool down = v->target == QOS_ENGINE_BOTH && i % 2 == 1;
    const struct frame *f = &b->packets.frames[down ? DOWNSTREAM : UPSTREAM][i];
    uint32_t pipe =
        v->neighbours ? next_pipe++ % bench_subscribers : qos_random_below(bench_subscribers);

    if (bench_subscribers > N_PACKETS)
        packets_draw(&b->packets, i);
    rte_pktmbuf_reset(m);
    m->data_len = f->len;
    m->pkt_len = f->len;
    if (v->target < QOS_ENGINE) {
        meta_set_path(m, pipe * QOS_QUEUES + choose_queue(v, pipe));
        rte_mbuf_sched_color_set(m, RTE_COLOR_GREEN);
        return;
    }
    memcpy(rte_pktmbuf_mtod(m, void *), f->bytes, f->len);
    set_dscp(m, down ? DOWN_INNER : QINQ_LEN, choose_queue(v, i));
}

static void join(struct bench *b, const struct qos_variant *v, struct rte_mbuf **m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        renew(b, v, m[i]);
        idle.m[(idle.head + idle.n++) % N_PACKETS] = m[i];
    }
}

static void leave(struct rte_mbuf **m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        m[i] = idle.m[(idle.head + i) % N_PACKETS];
    idle.head = (idle.head + n) % N_PACKETS;
    idle.n -= n;
}

/* What the wires hold has left the graph. */
static uint32_t take_off(struct bench *b, const struct qos_variant *v)
{
    struct rte_mbuf *m[CHUNK];
    uint32_t sum = 0, n;

    for (unsigned w = 0; w < N_WIRES; w++) {
        while ((n = rte_ring_dequeue_burst(b->wires[w].tx, (void **)m, CHUNK, NULL)) > 0) {
            join(b, v, m, n);
            sum += n;
        }
    }
    return sum;
}

/* Downstream and upstream frames of m[] onto their wires: every second one is downstream. */
static void feed(struct bench *b, const struct qos_variant *v, struct rte_mbuf **m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        bool down = v->target == QOS_ENGINE_BOTH &&
                    *rte_pktmbuf_mtod_offset(m[i], uint8_t *, 5) == 1 + WIRE_CORE;
        rte_ring_enqueue(b->wires[down ? WIRE_CORE : WIRE_ACCESS].rx, m[i]);
    }
}

static uint64_t measure_engine(struct bench *b, const struct bench_case *c, struct rte_mbuf **m)
{
    struct core *core = b->graph[c->graph]->engine.cores[0];
    uint64_t start, cycles = 0;

    feed(b, c->qos, m, CHUNK);
    start = rte_rdtsc();
    while (rte_ring_count(b->wires[WIRE_ACCESS].rx) + rte_ring_count(b->wires[WIRE_CORE].rx) > 0) {
        core_round(core, rte_rdtsc());
        if (likely(rte_ring_count(b->wires[WIRE_ACCESS].tx) +
                       rte_ring_count(b->wires[WIRE_CORE].tx) <
                   bench_wire_len / 2))
            continue;
        /* We were away, and the task makes good for it: not on these packets' account. */
        cycles += rte_rdtsc() - start;
        take_off(b, c->qos);
        start = rte_rdtsc();
    }
    cycles += rte_rdtsc() - start;
    take_off(b, c->qos);
    return cycles;
}

static uint64_t measure_task(struct bench *b, const struct bench_case *c, struct rte_mbuf **m)
{
    const struct qos_variant *v = c->qos;
    struct task *t = qos_task(b->graph[c->graph], 0);
    uint16_t burst = (uint16_t)(v->burst != 0 ? v->burst : BURST);
    struct rte_mbuf *out[2 * CHUNK];
    uint32_t got = 0;
    uint64_t start;

    for (uint32_t i = 0; i < CHUNK; i++)
        rte_prefetch0(m[i]); /* as classify has done */
    start = rte_rdtsc();
    for (uint32_t i = 0; i < CHUNK; i += burst) {
        qos_put(v->target, t, m + i, burst);
        got += qos_get(v->target, t, out + got, burst);
    }
    start = rte_rdtsc() - start;
    join(b, v, out, got);
    return start;
}

/* What waits was put there on purpose: the tasks owe nothing for it. */
static void owe_nothing(const struct graph *g)
{
    for (unsigned i = 0; i < g->plan->n_instances; i++)
        if (qos_state(g->engine.tasks[i]) != NULL)
            ((struct qos *)g->engine.tasks[i]->state)->owed = 0;
}

/* Let QOS_HELD packets wait. */
static void fill(struct bench *b, const struct bench_case *c)
{
    const struct graph *g = b->graph[c->graph];
    struct rte_mbuf *m[BURST];

    for (uint32_t n = 0; n < QOS_HELD; n += BURST) {
        leave(m, BURST);
        if (c->qos->target < QOS_ENGINE) {
            qos_put(c->qos->target, qos_task(g, 0), m, BURST);
            continue;
        }
        feed(b, c->qos, m, BURST);
        for (unsigned i = 0; i < g->engine.cores[0]->n_inputs; i++) {
            struct input *in = &g->engine.cores[0]->inputs[i];
            uint16_t k;

            if (in->kind != INPUT_PORT)
                continue;
            k = rte_eth_rx_burst(in->dpdk_port, 0, m, BURST);
            in->task->in_port = in->in_port;
            if (k > 0)
                task_run(in->task, m, k);
            in->task->in_port = PORT_IN_MBUF;
        }
    }
}

/* Take out all that waits. */
static void drain(struct bench *b, const struct bench_case *c, uint32_t in_use)
{
    const struct graph *g = b->graph[c->graph];
    uint64_t deadline = rte_rdtsc() + DRAIN_SECONDS * rte_get_tsc_hz();
    struct rte_mbuf *m[BURST_MAX];

    while (idle.n < in_use && rte_rdtsc() < deadline) {
        if (c->qos->target < QOS_ENGINE) {
            join(b, c->qos, m, qos_get(c->qos->target, qos_task(g, 0), m, BURST));
        } else {
            core_round(g->engine.cores[0], rte_rdtsc());
            take_off(b, c->qos);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

uint64_t qos_median(uint64_t *v, unsigned n)
{
    qsort(v, n, sizeof(v[0]), by_value);
    return v[n / 2];
}

static void set_oversubscription(const struct graph *g, bool on)
{
    struct librte *s = librte_of(qos_state(qos_task(g, 0))->sched);

    if (s->base.backend != &sched_librte)
        return;
    for (uint32_t i = 0; i < s->n_subports; i++)
        rte_sched_subport_tc_ov_config(s->port, i, on);
}

double pass_qos(struct bench *b, const struct bench_case *c)
{
    uint32_t in_use = c->qos->in_use != 0 ? c->qos->in_use : N_PACKETS;
    const struct graph *g = b->graph[c->graph];
    struct rte_mbuf *m[CHUNK];

    idle.n = idle.head = 0;
    next_frame = 0;
    join(b, c->qos, b->packets.mbuf, in_use);
    set_oversubscription(g, c->qos->oversubscription);
    if (c->qos->target == QOS_TASK)
        qos_divert(qos_task(g, 0));
    if (!c->qos->calm)
        fill(b, c);
    owe_nothing(g);
    for (unsigned k = 0; k < N_CHUNKS && idle.n >= CHUNK; k++) {
        leave(m, CHUNK);
        chunk_cycles[k] =
            c->qos->target < QOS_ENGINE ? measure_task(b, c, m) : measure_engine(b, c, m);
    }
    drain(b, c, in_use);
    if (c->qos->target == QOS_TASK)
        qos_undivert(qos_task(g, 0));
    if (idle.n != in_use) {
        fprintf(stderr, "bench: %s: %u of %u packets came back\n", c->name, idle.n, in_use);
        graph_print_drops(g, stderr);
        return -1;
    }
    leave(b->packets.mbuf, in_use); /* in another order than before */
    return (double)qos_median(chunk_cycles, N_CHUNKS) / CHUNK;
}
