/* SPDX-License-Identifier: BSD-3-Clause */
/* The links and queues that a plan makes of a graph and a layout. */
#include "common/program.h"
#include "plan_model.h"

/* --- links --- */

static void call_on_one_core(void)
{
    struct plan *p;
    unsigned a, b;

    start();
    a = task("a", &gen);
    b = task("b", &sink);
    to(a, b);
    place(0, 1, a, b);
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->n_rings, 0);
    CU_ASSERT_EQUAL(p->instances[0].output[0].n_dests, 1);
    CU_ASSERT_EQUAL(p->instances[0].output[0].dest[0].kind, DEST_CALL);
    CU_ASSERT_EQUAL(p->instances[0].output[0].dest[0].index, 1);
    CU_ASSERT_EQUAL(p->instances[1].in_ring, CFG_NONE);
    finish(p);
}

static void ring_across_cores(void)
{
    struct plan *p;
    unsigned a, b;

    start();
    a = task("a", &gen);
    b = task("b", &sink);
    to(a, b);
    m->tasks[b].ring = 1024;
    m->tasks[b].on_full = FULL_WAIT;
    place(0, 1, a, a);
    place(8, 1, b, b);
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->n_rings, 1);
    CU_ASSERT_EQUAL(p->instances[0].output[0].dest[0].kind, DEST_RING);
    CU_ASSERT_EQUAL(p->instances[1].in_ring, 0);
    CU_ASSERT_EQUAL(p->rings[0].consumer, 1);
    CU_ASSERT_EQUAL(p->rings[0].n_producers, 1);
    CU_ASSERT_EQUAL(p->rings[0].size, 1024);
    CU_ASSERT_EQUAL(p->rings[0].on_full, FULL_WAIT);
    CU_ASSERT_EQUAL(p->rings[0].socket, 1);
    finish(p);
}

/* Two producers on one core count as one producing core; a caller on the same core does not count.
 */
static void producers_are_cores(void)
{
    struct plan *p;
    unsigned a, b, c, d;

    start();
    a = task("a", &gen);
    b = task("b", &gen);
    c = task("c", &gen);
    d = task("d", &sink);
    to(a, d);
    to(b, d);
    to(c, d);
    place(0, 1, a, b);
    place(1, 1, c, d);
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->n_rings, 1);
    CU_ASSERT_EQUAL(p->rings[0].n_producers, 1);
    CU_ASSERT_EQUAL(p->instances[2].output[0].dest[0].kind, DEST_CALL);
    plan_free(p);
    m->n_placements = 0;
    memset(m->placements, 0, 3 * sizeof(m->placements[0]));
    place(70, 1, a, a); /* a and b on cores of their own are two producing cores */
    place(1, 1, b, c);
    place(2, 1, d, d);
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->rings[0].n_producers, 2);
    finish(p);
}

static void many_producing_cores(void)
{
    struct plan *p;
    unsigned a, a2, b;

    start();
    m->pools[0].mbufs = 1 << 20;
    a = task("a", &gen);
    a2 = task("a2", &gen);
    b = task("b", &sink);
    to(a, b);
    to(a2, b);
    place(0, 100, a, a2);
    place(200, 1, b, b);
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->n_rings, 1);
    CU_ASSERT_EQUAL(p->rings[0].n_producers, 100);
    finish(p);
}

/* One burst of each producing core must fit into a ring that waits. */
static void waiting_ring_too_small(void)
{
    struct plan *p;
    unsigned a, b;

    start();
    a = task("a", &gen);
    b = task("b", &sink);
    to(a, b);
    m->tasks[b].ring = 128;
    place(0, 2, a, a);
    place(8, 1, b, b);
    p = make(); /* a ring that drops may be small */
    CU_ASSERT_PTR_NOT_NULL(p);
    plan_free(p);
    m->tasks[b].on_full = FULL_WAIT;
    m->tasks[b].ring = 256;
    p = make();
    CU_ASSERT_PTR_NOT_NULL(p);
    plan_free(p);
    m->tasks[b].ring = 128;
    refused("t.cfg:2: error: the ring of task 'b' holds 127 packets, but 2 cores wait for room for "
            "64 each in it: make it larger than 128\n");
}

/* The ring with the most producing cores is judged, whichever worker's it is. */
static void waiting_ring_of_second_worker(void)
{
    unsigned a, b, c;

    start();
    a = task("a", &gen);
    b = task("b", &lb);
    c = task("c", &sink);
    to(a, b);
    to(b, c);
    m->tasks[c].ring = 128;
    m->tasks[c].on_full = FULL_WAIT;
    place(0, 2, a, b);
    m->placements[0].tasks[m->placements[0].n_tasks++] = (struct cfg_placed){.task = (uint16_t)c};
    place_instances(8, 1, c, 2);
    refused("t.cfg:3: error: the ring of task 'c' holds 127 packets, but 2 cores wait for room for "
            "64 each in it: make it larger than 128\n");
}

/* Worker 0 is called on the core of both tasks, worker 1 of one task is across a ring. */
static void worker_by_worker(void)
{
    struct plan *p;
    unsigned a, b;

    start();
    a = task("a", &gen);
    b = task("b", &sink);
    to(a, b);
    place(0, 1, a, b); /* instances 0 of both */
    place_instances(1, 1, a, 1);
    place_instances(2, 1, b, 1);
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->n_rings, 1);
    for (unsigned i = 0; i < p->n_instances; i++) {
        const struct plan_instance *inst = &p->instances[i];
        const struct plan_dest *d = inst->output[0].dest;

        if (inst->task != a)
            continue;
        CU_ASSERT_EQUAL(d->kind, inst->worker == 0 ? DEST_CALL : DEST_RING);
        CU_ASSERT_EQUAL(
            p->instances[d->kind == DEST_CALL ? d->index : p->rings[d->index].consumer].worker,
            inst->worker);
    }
    finish(p);
}

static void worker_to_worker(void)
{
    struct plan *p;
    unsigned a, b;

    start();
    a = task("a", &gen);
    b = task("b", &sink);
    to(a, b);
    place(0, 3, a, a);
    place(4, 3, b, b);
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->n_rings, 3);
    for (unsigned w = 0; w < 3; w++) {
        const struct plan_output *out = &p->instances[w].output[0];

        CU_ASSERT_EQUAL(out->n_dests, 1);
        CU_ASSERT_EQUAL(p->rings[out->dest[0].index].consumer, 3 + w);
        CU_ASSERT_EQUAL(p->rings[out->dest[0].index].n_producers, 1);
    }
    finish(p);
}

static void workers_differ(void)
{
    unsigned a, b;

    start();
    a = task("a", &gen);
    b = task("b", &sink);
    to(a, b);
    place(0, 3, a, a);
    place(4, 2, b, b);
    refused("t.cfg:3: error: task 'a' is on 3 cores and leads to 'b', which is on 2: put an lb "
            "between them, or give both the same number of cores\n");
}

static void one_to_many_needs_lb(void)
{
    unsigned a, b;

    start();
    a = task("a", &gen);
    b = task("b", &sink);
    to(a, b);
    place(0, 1, a, a);
    place(4, 2, b, b);
    refused("t.cfg:3: error: task 'a' is on 1 core and leads to 'b', which is on 2: put an lb "
            "between them, or give both the same number of cores\n");
}

/* a on CPUs 0 and 1 leads to b beside it, and so does c, which has one instance, on a CPU. Both
 * instances of b are fed by a, or by c alone. */
static void one_beside_many(unsigned cpu, bool both)
{
    unsigned a, b, c;

    start();
    a = task("a", &gen);
    b = task("b", &sink);
    c = task("c", &gen);
    if (both)
        to(a, b);
    else
        to_port(a, port("p", "net_null0"));
    to(c, b);
    place(0, 1, a, cpu == 0 ? c : b);
    place_instances(1, 1, a, 1);
    m->placements[1].tasks[m->placements[1].n_tasks++] =
        (struct cfg_placed){.task = (uint16_t)b, .first = 1};
    if (cpu != 0)
        place(cpu, 1, c, c);
}

static void one_to_its_own_core(void)
{
    struct plan *p;
    unsigned found = 0;

    one_beside_many(0, true);
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->n_rings, 0);
    for (unsigned i = 0; i < p->n_instances; i++) {
        const struct plan_output *out = &p->instances[i].output[0];

        if (p->instances[i].task == 1)
            continue;
        found++;
        CU_ASSERT_EQUAL_FATAL(out->n_dests, 1);
        CU_ASSERT_EQUAL(out->dest[0].kind, DEST_CALL);
        CU_ASSERT_EQUAL(p->instances[out->dest[0].index].core, p->instances[i].core);
    }
    CU_ASSERT_EQUAL(found, 3);
    finish(p);
    one_beside_many(9, true);
    refused("t.cfg:5: error: task 'c' is on 1 core and leads to 'b', which is on 2 others: place "
            "it on one of them, or put an lb between\n");
    one_beside_many(0, false);
    refused("t.cfg:6: error: task 'c' is on 1 core and leads to 'b', which is on 2: put an lb "
            "between them, or give both the same number of cores\n");
}

/* Each of two lbs reaches all workers of both tasks in the order of "to": by call on its own core,
 * by ring elsewhere. */
static void lb_spreads(void)
{
    struct plan *p;
    unsigned g, a, b, c;

    start();
    g = task("g", &gen);
    a = task("a", &lb);
    b = task("b", &sink);
    c = task("c", &sink);
    to(g, a);
    to(a, c);
    to(a, b);
    place(0, 2, g, b); /* g, a, b on CPU 0; g, a, b on CPU 1 */
    place(5, 1, c, c);
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (unsigned w = 0; w < 2; w++) {
        const struct plan_output *out = &p->instances[w * 3 + 1].output[0];

        CU_ASSERT_EQUAL_FATAL(out->n_dests, 3);
        CU_ASSERT_EQUAL(out->dest[0].kind, DEST_RING);
        CU_ASSERT_EQUAL(p->rings[out->dest[0].index].consumer, 6);
        CU_ASSERT_EQUAL(out->dest[1 + w].kind, DEST_CALL);
        CU_ASSERT_EQUAL(out->dest[1 + w].index, w * 3 + 2);
        CU_ASSERT_EQUAL(out->dest[2 - w].kind, DEST_RING);
        CU_ASSERT_EQUAL(out->by_port[0], 0xff);
    }
    CU_ASSERT_EQUAL(p->rings[p->instances[6].in_ring].n_producers, 2);
    CU_ASSERT_EQUAL(p->rings[p->instances[2].in_ring].n_producers, 1);
    finish(p);
}

/* --- ports --- */

static void receive_queues(void)
{
    struct plan *p;
    unsigned a, b;

    start();
    a = task("a", &pass);
    b = port("p0", "net_null0");
    from(a, b);
    from(a, port("p1", "net_null1"));
    to_port(a, b);
    place(0, 2, a, a);
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->rx_queues[0], 2);
    CU_ASSERT_EQUAL(p->rx_queues[1], 2);
    for (unsigned w = 0; w < 2; w++) {
        CU_ASSERT_EQUAL_FATAL(p->instances[w].n_rx, 2);
        CU_ASSERT_EQUAL(p->instances[w].rx[0].port, 0);
        CU_ASSERT_EQUAL(p->instances[w].rx[1].port, 1);
        CU_ASSERT_EQUAL(p->instances[w].rx[0].queue, w);
        CU_ASSERT_EQUAL(p->instances[w].rx[1].queue, w);
    }
    finish(p);
}

static void wire_has_one_queue(void)
{
    unsigned a, p0;

    start();
    p0 = port("p0", "wire:x");
    a = task("a", &pass);
    from(a, p0);
    to_port(a, port("p1", "wire:x"));
    place(0, 2, a, a);
    refused("t.cfg:2: error: task 'a' reads port 'p0' on 2 cores, but a wire has one receive "
            "queue: read it on one core and put an lb behind\n");
}

/* Each sending core has one transmit queue, which its instances share. */
static void transmit_queues(void)
{
    struct plan *p;
    unsigned a, b, c, p0;

    start();
    p0 = port("p0", "net_null0");
    a = task("a", &gen);
    b = task("b", &gen);
    c = task("c", &gen);
    to_port(a, p0);
    to_port(b, p0);
    to_port(c, p0);
    place(0, 1, a, a);
    place(1, 2, b, c);
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->tx_queues[0], 3);
    CU_ASSERT_EQUAL(p->rx_queues[0], 0);
    for (unsigned i = 0; i < p->n_instances; i++) {
        CU_ASSERT_EQUAL(p->instances[i].output[0].dest[0].kind, DEST_PORT);
        CU_ASSERT_EQUAL(p->instances[i].output[0].dest[0].index, p0);
        CU_ASSERT_EQUAL(p->instances[i].output[0].dest[0].queue, p->instances[i].core);
    }
    finish(p);
}

static const struct test tests[] = {
    {"call on one core", call_on_one_core},
    {"ring across cores", ring_across_cores},
    {"producers are cores", producers_are_cores},
    {"many producing cores", many_producing_cores},
    {"waiting ring too small", waiting_ring_too_small},
    {"waiting ring of the second worker", waiting_ring_of_second_worker},
    {"worker by worker", worker_by_worker},
    {"worker to worker", worker_to_worker},
    {"workers differ", workers_differ},
    {"one to many needs lb", one_to_many_needs_lb},
    {"one to its own core", one_to_its_own_core},
    {"lb spreads", lb_spreads},
    {"receive queues", receive_queues},
    {"wire has one queue", wire_has_one_queue},
    {"transmit queues", transmit_queues},
    {NULL, NULL},
};

const struct test_program test_program = {"plan links", tests, NULL, NULL};
