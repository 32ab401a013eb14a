/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What comes out of one core for classify > qos > tx when more is offered than it can take. The
 * packets come from memory, and the clock by which they arrive runs only while the core works: so
 * no second core is needed, and what else the machine does slows both alike. Between the rounds of
 * the core, what has arrived by then is put into a receive queue of 1024 packets; what finds no
 * room there is lost, as on a device. Exit status 1: a bar was missed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_ring.h>

#include "engine/backlog.h"
#include "packet/qinq.h"
#include "qos_overload.h"

static struct {
    struct rte_mbuf *m[N_PACKETS];
    uint8_t class[N_PACKETS]; /* of the frame, known without touching it */
    uint32_t head, n;
} idle; /* the packets that are neither received nor waiting */

#define MAX_ROUNDS_KEPT 65536u
#define DISTURBED       20 /* one round in so many is left out */

static struct {
    uint32_t cycles[MAX_ROUNDS_KEPT];
    uint32_t n;
} rounds; /* of the core, how long each took */

static const uint8_t dscp_of[N_CLASSES] = {46, 32, 0};
static uint64_t random_state = 0x9e3779b97f4a7c15;
static uint32_t next_frame;

static uint32_t random_below(uint32_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 32) * n >> 32);
}

static unsigned random_class(const struct run *r)
{
    uint32_t x = random_below(100);

    return x < r->high_percent ? HIGH : x < r->high_percent + MID_PERCENT ? MID : LOW;
}

static struct rte_ipv4_hdr *header(const struct rte_mbuf *m)
{
    return rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, QINQ_LEN);
}

static unsigned class_of(const struct rte_mbuf *m)
{
    unsigned dscp = header(m)->type_of_service >> 2;

    return dscp == dscp_of[HIGH] ? HIGH : dscp == dscp_of[MID] ? MID : LOW;
}

static void join(struct bench *b, const struct run *r, struct rte_mbuf **m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct frame *f = &b->packets.frames[UPSTREAM][next_frame++ % N_PACKETS];
        uint32_t at = (idle.head + idle.n++) % N_PACKETS;
        unsigned class = random_class(r);

        rte_pktmbuf_reset(m[i]);
        m[i]->data_len = f->len;
        m[i]->pkt_len = f->len;
        memcpy(rte_pktmbuf_mtod(m[i], void *), f->bytes, f->len);
        header(m[i])->type_of_service = (uint8_t)(dscp_of[class] << 2);
        header(m[i])->hdr_checksum = 0;
        header(m[i])->hdr_checksum = rte_ipv4_cksum(header(m[i]));
        idle.m[at] = m[i];
        idle.class[at] = (uint8_t) class;
    }
}

static struct rte_mbuf *leave(void)
{
    struct rte_mbuf *m = idle.m[idle.head];

    idle.head = (idle.head + 1) % N_PACKETS;
    idle.n--;
    return m;
}

static void arrive(struct bench *b, struct run *r)
{
    struct rte_ring *q = b->wires[WIRE_ACCESS].rx;
    unsigned class = idle.n > 0 ? idle.class[idle.head] : random_class(r);

    r->arrived[class]++;
    if (idle.n > 0 && rte_ring_count(q) < QUEUE_LEN) {
        rte_ring_enqueue(q, leave());
        return;
    }
    r->missed[class]++;
    if (idle.n > 0) {
        struct rte_mbuf *m = leave();
        uint32_t at = (idle.head + idle.n++) % N_PACKETS;

        idle.m[at] = m; /* as it is */
        idle.class[at] = (uint8_t) class;
    }
}

/* Packets of the schedulers and of the wires' far end. */
static uint32_t take_off(struct bench *b, const struct run *r, uint64_t by_class[N_CLASSES])
{
    struct rte_mbuf *m[BURST_MAX];
    uint32_t n, sum = 0;

    while ((n = rte_ring_dequeue_burst(b->wires[WIRE_CORE].tx, (void **)m, BURST_MAX, NULL)) > 0) {
        for (uint32_t i = 0; i < n; i++)
            by_class[class_of(m[i])]++;
        join(b, r, m, n);
        sum += n;
    }
    return sum;
}

/* What was dropped went to the pool. */
static void take_dropped(struct bench *b, const struct run *r)
{
    struct rte_mbuf *m[BURST_MAX];
    uint32_t missing = N_PACKETS - idle.n - rte_ring_count(b->wires[WIRE_ACCESS].rx) -
                       (uint32_t)sched_held(qos_state(r->qos)->sched) -
                       backlog_count(r->core->inputs[0].backlog);

    while (missing > 0) {
        uint32_t n = RTE_MIN(missing, (uint32_t)BURST_MAX);

        if (rte_pktmbuf_alloc_bulk(b->packets.pool, m, n) != 0)
            rte_exit(EXIT_FAILURE, "bench: %u packets are lost\n", missing);
        join(b, r, m, n);
        missing -= n;
    }
}

/* One burst through classify, into the scheduler. */
static void receive(struct bench *b, struct run *r)
{
    struct input *in = &r->core->inputs[0];
    struct rte_mbuf *m[BURST];
    uint16_t n = rte_eth_rx_burst(b->wires[WIRE_ACCESS].port, 0, m, BURST);

    in->task->in_port = in->in_port;
    if (n > 0)
        task_run(in->task, m, n);
    in->task->in_port = PORT_IN_MBUF;
}

/* A naive loop: it takes in all that is there, up to 8 bursts, before it lets one go. */
static void naive_round(struct bench *b, struct run *r)
{
    for (unsigned i = 0; i < NAIVE_BURSTS && rte_ring_count(b->wires[WIRE_ACCESS].rx) > 0; i++)
        receive(b, r);
    r->qos->type->poll(r->qos, rte_rdtsc());
    task_flush(r->qos);
}

static void fill(struct bench *b, struct run *r)
{
    struct rte_ring *q = b->wires[WIRE_ACCESS].rx;

    for (uint32_t n = 0; n < HELD; n += BURST) {
        for (unsigned i = 0; i < BURST; i++) {
            r->filled[idle.class[idle.head]]++;
            rte_ring_enqueue(q, leave());
        }
        receive(b, r);
    }
}

static void drain(struct bench *b, struct run *r)
{
    uint64_t deadline = rte_rdtsc() + 2 * rte_get_tsc_hz();

    while (idle.n < N_PACKETS && rte_rdtsc() < deadline) {
        core_round(r->core, rte_rdtsc());
        take_off(b, r, r->drained);
        take_dropped(b, r);
    }
    if (idle.n != N_PACKETS)
        rte_exit(EXIT_FAILURE, "bench: %u of %u packets came back\n", idle.n, N_PACKETS);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* The longest rounds are those in which the machine did something else. */
static double typical_round(void)
{
    uint32_t n = RTE_MIN(rounds.n, MAX_ROUNDS_KEPT), some = n - n / DISTURBED;
    double sum = 0;

    qsort(rounds.cycles, n, sizeof(rounds.cycles[0]), by_value);
    for (uint32_t i = 0; i < some; i++)
        sum += rounds.cycles[i];
    return sum / some;
}

static void one_round(struct bench *b, struct run *r)
{
    struct rte_ring *q = b->wires[WIRE_ACCESS].rx;
    const uint32_t burst = r->core->inputs[0].burst;
    uint64_t due = r->offered > 0 ? (uint64_t)(r->offered * (double)r->clock) : 0, start;

    if (r->offered == 0)
        due = r->due + burst - RTE_MIN(burst, rte_ring_count(q));
    for (; r->due < due; r->due++)
        arrive(b, r);
    start = rte_rdtsc();
    if (r->naive)
        naive_round(b, r);
    else
        core_round(r->core, start);
    start = RTE_MIN(rte_rdtsc() - start, (r->naive ? NAIVE_BURSTS : 1) * MAX_ROUND_CYCLES);
    rounds.cycles[rounds.n++ % MAX_ROUNDS_KEPT] = (uint32_t)start;
    r->clock += start;
    r->sent += take_off(b, r, r->out);
    take_dropped(b, r);
}

void overload_run(struct bench *b, struct graph *g, struct run *r)
{
    uint64_t sent;

    r->core = g->engine.cores[0];
    r->qos = graph_task(g, "qos");
    idle.n = idle.head = 0;
    join(b, r, b->packets.mbuf, N_PACKETS);
    fill(b, r);
    ((struct qos *)r->qos->state)->owed = 0; /* what waits was put there on purpose */
    while (r->clock < WARM_CYCLES)
        one_round(b, r);
    sent = r->sent;
    rounds.n = 0;
    while (r->clock < WARM_CYCLES + RUN_CYCLES)
        one_round(b, r);
    r->rate = (double)(r->sent - sent) / (rounds.n * typical_round());
    drain(b, r);
    for (unsigned c = 0; c < N_CLASSES; c++)
        r->dropped[c] = r->filled[c] + r->arrived[c] - r->missed[c] - r->out[c] - r->drained[c];
    memcpy(b->packets.mbuf, idle.m, sizeof(idle.m));
}
