/* SPDX-License-Identifier: BSD-3-Clause */
/* Taps: what they copy at each point, what they cannot keep, and that they leave no trace. Each
 * packet bears its number. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "common/eal.h"
#include "common/program.h"
#include "engine/tap.h"
#include "graph.h"

enum { REASON_OTHER, REASON_ODD };
enum { TASK_FIRST, TASK_LAST };

static void pass(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    task_emit_burst(t, 0, m, n);
}

static uint32_t *number(const struct rte_mbuf *m)
{
    return rte_pktmbuf_mtod(m, uint32_t *);
}

static void drop_odd(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    for (uint16_t i = 0; i < n; i++) {
        if (number(m[i])[0] % 2 == 0)
            task_emit(t, 0, m[i]);
        else
            task_drop(t, m[i], REASON_ODD);
    }
}

/* As a scheduler does. */
static void free_odd(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    for (uint16_t i = 0; i < n; i++) {
        if (number(m[i])[0] % 2 == 0) {
            task_emit(t, 0, m[i]);
            continue;
        }
        t->drops[REASON_ODD]++;
        rte_pktmbuf_free(m[i]);
    }
}

static const struct task_type task_pass = {
    .schema = {.type = "pass",
               .outputs = {{.name = "to"}},
               .drops = (const struct task_drop[]){{.name = "other"}},
               .n_drops = 1},
    .handle = pass};
static const struct task_type task_odd = {
    .schema = {.type = "odd",
               .outputs = {{.name = "to"}},
               .drops = (const struct task_drop[]){{.name = "other"}, {.name = "odd"}},
               .n_drops = 2},
    .handle = drop_odd};
static const struct task_type task_free = {
    .schema = {.type = "free",
               .outputs = {{.name = "to"}},
               .drops = (const struct task_drop[]){{.name = "other"}, {.name = "odd"}},
               .n_drops = 2},
    .handle = free_odd,
    .drops_itself = true};

const struct task_type *const task_types[] = {&task_pass, &task_odd, &task_free, NULL};

static struct graph g;
static struct tap_wants wants;
static struct tap_set taps;
static bool before[2], after[2];
static uint64_t reasons[2];
static uint32_t next;

/* One core, or a ring to a second one. Nothing is wanted yet. */
static void open_graph(const struct task_type *last, uint16_t core, uint16_t out_desc)
{
    struct graph_spec spec = {.n_tasks = 2,
                              .type = {&task_pass, last},
                              .core = {0, core},
                              .ring = 64,
                              .out_desc = out_desc};

    CU_ASSERT_EQUAL_FATAL(graph_open(&g, &spec), 0);
    memset(before, 0, sizeof(before));
    memset(after, 0, sizeof(after));
    memset(reasons, 0, sizeof(reasons));
    wants = (struct tap_wants){
        .snaplen = UINT16_MAX, .every = 1, .before = before, .after = after, .reasons = reasons};
    next = 0;
}

static void install(void)
{
    CU_ASSERT_EQUAL_FATAL(tap_create(&g.engine, &taps, &wants, 0), 0);
    CU_ASSERT_EQUAL_FATAL(tap_install(&g.engine, &taps), 0);
}

static void close_graph(void)
{
    struct ledger l;

    CU_ASSERT_EQUAL(tap_remove(&g.engine), 0);
    tap_free(&g.engine, &taps);
    graph_collect(&g);
    l = graph_ledger(&g, stdout);
    CU_ASSERT(ledger_balances(&l));
    CU_ASSERT_EQUAL(graph_close(&g), 0);
}

static uint16_t length_of(uint32_t packet)
{
    return (uint16_t)(60 + packet % 61);
}

/* n packets of various lengths through all of it. */
static void run(unsigned n)
{
    for (unsigned i = 0; i < n; i++, next++) {
        struct rte_mbuf *m = rte_pktmbuf_alloc(g.engine.pools[0]);

        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        memset(rte_pktmbuf_append(m, length_of(next)), (int)next, length_of(next));
        number(m)[0] = next;
        CU_ASSERT_EQUAL_FATAL(rte_eth_tx_burst(g.engine.ports[PORT_TESTER_IN].dpdk_id, 0, &m, 1),
                              1);
    }
    for (unsigned c = 0; c < g.plan.n_cores; c++)
        graph_rounds(&g, c, n / 32 + 2);
}

static uint16_t point(unsigned interface, enum tap_kind kind)
{
    return (uint16_t)(interface * TAP_KINDS + kind);
}

/* Read what a core has written. Every record is what its packet was. Returns how many there were of
 * a point, and the sum of their numbers. */
static unsigned read_point(unsigned core, uint16_t which, uint64_t *sum, uint64_t *bits)
{
    struct tap_ring copy = taps.rings[core], *r = &copy;
    const struct tap_record *record;
    uint64_t last = 0;
    unsigned n = 0;

    *sum = *bits = 0;
    for (; (record = tap_ring_peek(r)) != NULL; tap_ring_next(r)) {
        const uint8_t *bytes = (const uint8_t *)(record + 1);
        uint32_t packet;

        CU_ASSERT(record->tsc >= last);
        last = record->tsc;
        if (record->point != which)
            continue;
        memcpy(&packet, bytes, sizeof(packet));
        CU_ASSERT_EQUAL(record->length, length_of(packet));
        CU_ASSERT_EQUAL(record->kept, RTE_MIN(record->length, wants.snaplen));
        CU_ASSERT_EQUAL(bytes[record->kept - 1], (uint8_t)packet);
        *sum += packet;
        *bits |= record->reasons;
        n++;
    }
    return n;
}

static unsigned count_of(unsigned core, uint16_t which)
{
    uint64_t sum;
    uint64_t bits;

    return read_point(core, which, &sum, &bits);
}

static void test_points(void)
{
    uint16_t first = N_PORTS + TASK_FIRST, last = N_PORTS + TASK_LAST;
    uint64_t sum;
    uint64_t bits;

    open_graph(&task_odd, 0, 2048);
    wants.rx = 1 << PORT_IN;
    wants.tx = 1 << PORT_OUT;
    before[TASK_LAST] = after[TASK_FIRST] = after[TASK_LAST] = true;
    reasons[TASK_LAST] = 1 << REASON_ODD;
    install();
    run(100);
    CU_ASSERT_EQUAL(count_of(0, point(PORT_IN, TAP_INTO)), 100);
    CU_ASSERT_EQUAL(count_of(0, point(first, TAP_FROM)), 100);
    CU_ASSERT_EQUAL(count_of(0, point(last, TAP_INTO)), 100);
    CU_ASSERT_EQUAL(count_of(0, point(last, TAP_FROM)), 50);
    CU_ASSERT_EQUAL(count_of(0, point(PORT_OUT, TAP_FROM)), 50);
    CU_ASSERT_EQUAL(count_of(0, point(first, TAP_INTO)), 0);
    CU_ASSERT_EQUAL(read_point(0, point(last, TAP_DROP), &sum, &bits), 50);
    CU_ASSERT_EQUAL(sum, 50 * 50);
    CU_ASSERT_EQUAL(bits, 1 << REASON_ODD);
    CU_ASSERT_EQUAL(graph_collect(&g), 50);
    close_graph();
}

/* A task that frees by itself, and a reason that is not wanted. */
static void test_drops(void)
{
    uint16_t last = N_PORTS + TASK_LAST;
    uint64_t sum;
    uint64_t bits;

    open_graph(&task_free, 0, 2048);
    reasons[TASK_LAST] = 1 << REASON_ODD;
    install();
    run(64);
    CU_ASSERT_EQUAL(read_point(0, point(last, TAP_DROP), &sum, &bits), 32);
    CU_ASSERT_EQUAL(sum, 32 * 32);
    CU_ASSERT_EQUAL(bits, 1 << REASON_ODD);
    close_graph();
    open_graph(&task_free, 0, 2048);
    reasons[TASK_LAST] = 1 << REASON_OTHER;
    install();
    run(64);
    CU_ASSERT_EQUAL(count_of(0, point(last, TAP_DROP)), 0);
    close_graph();
}

/* What an output does not take was not sent: it is dropped. */
static void test_full(uint16_t core, unsigned room)
{
    uint16_t first = N_PORTS + TASK_FIRST, last = N_PORTS + TASK_LAST;
    uint16_t who = core == 0 ? last : first, at = core == 0 ? PORT_OUT : first;
    uint64_t sum;
    uint64_t bits;

    open_graph(&task_pass, core, core == 0 ? 64 : 2048);
    wants.tx = 1 << PORT_OUT;
    after[TASK_FIRST] = core != 0;
    reasons[TASK_FIRST] = reasons[TASK_LAST] = UINT64_C(1) << DROP_LINK_FULL;
    install();
    run(100);
    CU_ASSERT_EQUAL(count_of(0, point(at, TAP_FROM)), room);
    CU_ASSERT_EQUAL(taps.rings[0].count[point(at, TAP_FROM)].matched, room);
    CU_ASSERT_EQUAL(taps.rings[0].count[point(at, TAP_FROM)].taken, room);
    CU_ASSERT_EQUAL(read_point(0, point(who, TAP_DROP), &sum, &bits), 100 - room);
    CU_ASSERT_EQUAL(sum, 99 * 100 / 2 - room * (room - 1) / 2); /* the last ones */
    CU_ASSERT_EQUAL(bits, UINT64_C(1) << DROP_LINK_FULL);
    close_graph();
}

static void test_full_port(void)
{
    test_full(0, 63);
}

static void test_full_ring(void)
{
    test_full(1, 63);
}

/* Nobody reads: the packets go on, and what found no room is counted. Then there is room again. */
static void test_lost(void)
{
    struct tap_ring *r;
    struct tap_count *count;
    unsigned kept;

    open_graph(&task_pass, 0, 2048);
    wants.rx = 1 << PORT_IN;
    install();
    r = &taps.rings[0];
    count = &r->count[point(PORT_IN, TAP_INTO)];
    for (unsigned i = 0; i < 10; i++) {
        run(200);
        CU_ASSERT_EQUAL(graph_collect(&g), 200);
    }
    kept = count_of(0, point(PORT_IN, TAP_INTO));
    CU_ASSERT_EQUAL(count->matched, 2000);
    CU_ASSERT_EQUAL(count->taken, 2000);
    CU_ASSERT(count->lost > 0 && kept > 0);
    CU_ASSERT_EQUAL(kept + count->lost, 2000);
    for (unsigned i = 0; i < kept; i++)
        tap_ring_next(r);
    CU_ASSERT_PTR_NULL(tap_ring_peek(r));
    run(10);
    CU_ASSERT_EQUAL(count_of(0, point(PORT_IN, TAP_INTO)), 10);
    close_graph();
}

/* Many times around, in order, nothing left out. */
static void test_around(void)
{
    uint32_t expected = 0;

    open_graph(&task_pass, 0, 2048);
    wants.rx = 1 << PORT_IN;
    wants.snaplen = 100;
    install();
    for (unsigned i = 0; i < 200; i++) {
        struct tap_ring *r = &taps.rings[0];

        run(100 + i);
        graph_collect(&g);
        for (const struct tap_record *record; (record = tap_ring_peek(r)) != NULL;
             tap_ring_next(r)) {
            CU_ASSERT_EQUAL(*(const uint32_t *)(record + 1), expected);
            expected++;
        }
    }
    CU_ASSERT_EQUAL(expected, next);
    CU_ASSERT(taps.rings[0].tail > 10 * taps.rings[0].size);
    close_graph();
}

static void test_every(void)
{
    struct tap_count *count;
    uint64_t sum;
    uint64_t bits;

    open_graph(&task_pass, 0, 2048);
    wants.rx = 1 << PORT_IN;
    wants.every = 7;
    install();
    run(100);
    count = &taps.rings[0].count[point(PORT_IN, TAP_INTO)];
    CU_ASSERT_EQUAL(count->matched, 100);
    CU_ASSERT_EQUAL(count->taken, 14);
    CU_ASSERT_EQUAL(read_point(0, point(PORT_IN, TAP_INTO), &sum, &bits), 14);
    CU_ASSERT_EQUAL(sum, 14 * 6 + 7 * 13 * 14 / 2); /* each seventh */
    tap_ring_stop(&taps.rings[0]);
    run(100);
    CU_ASSERT_EQUAL(count->matched, 100);
    close_graph();
}

/* A core without a graph: bursts into a ring until the end. */
struct writer {
    struct tap_ring ring;
    struct rte_mbuf *burst[32];
    bool end;
};

static void *write_bursts(void *arg)
{
    const struct tap_at at = {.interface = 0, .kind = TAP_INTO};
    struct writer *w = arg;

    while (!__atomic_load_n(&w->end, __ATOMIC_RELAXED))
        tap_ring_put(&w->ring, &at, w->burst, RTE_DIM(w->burst), NULL);
    return NULL;
}

static uint64_t read_all(struct tap_ring *r)
{
    uint64_t n = 0;

    for (; tap_ring_peek(r) != NULL; tap_ring_next(r))
        n++;
    return n;
}

/* Two threads on CPUs of their own, where there are two. */
static void start_elsewhere(pthread_t *thread, struct writer *w, unsigned n_cpus)
{
    cpu_set_t set;

    CU_ASSERT_EQUAL_FATAL(pthread_create(thread, NULL, write_bursts, w), 0);
    CPU_ZERO(&set);
    for (unsigned cpu = 1; cpu < n_cpus; cpu++)
        CPU_SET(cpu, &set);
    pthread_setaffinity_np(*thread, sizeof(set), &set);
}

/* A ring is stopped at any moment of a burst: what was taken is read or lost, nothing comes after.
 */
static void test_stopped(void)
{
    static struct writer w;
    uint64_t off = 0, late = 0;

    open_graph(&task_pass, 0, 2048);
    for (unsigned i = 0; i < RTE_DIM(w.burst); i++) {
        w.burst[i] = rte_pktmbuf_alloc(g.engine.pools[0]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(w.burst[i]);
        rte_pktmbuf_append(w.burst[i], 60);
    }
    for (unsigned i = 0; i < 500; i++) {
        const struct tap_count *count;
        uint64_t n = 0, taken;
        pthread_t core;

        CU_ASSERT_EQUAL_FATAL(tap_ring_open(&w.ring, &wants, 0, TAP_KINDS), 0);
        w.end = false;
        count = &w.ring.count[TAP_INTO];
        start_elsewhere(&core, &w, (unsigned)get_nprocs());
        while (__atomic_load_n(&count->taken, __ATOMIC_RELAXED) < 4 * i)
            n += read_all(&w.ring);
        tap_ring_stop(&w.ring);
        while (!tap_ring_is_done(&w.ring))
            sched_yield();
        n += read_all(&w.ring);
        taken = count->taken;
        off += n + count->lost != taken;
        __atomic_store_n(&w.end, true, __ATOMIC_RELAXED);
        pthread_join(core, NULL);
        late += count->taken != taken || read_all(&w.ring) != 0;
        tap_ring_close(&w.ring);
    }
    CU_ASSERT_EQUAL(off, 0);
    CU_ASSERT_EQUAL(late, 0);
    rte_pktmbuf_free_bulk(w.burst, RTE_DIM(w.burst));
    install();
    close_graph();
}

/* Afterwards every pointer is what it was. */
static void test_restored(void)
{
    struct task *t;
    struct task was;
    struct out out;

    open_graph(&task_free, 0, 2048);
    t = g.engine.tasks[TASK_LAST];
    was = *t;
    out = t->outs[0];
    before[TASK_LAST] = after[TASK_LAST] = true;
    wants.rx = wants.tx = UINT64_MAX;
    reasons[TASK_LAST] = TAP_ALL_REASONS;
    install();
    CU_ASSERT(t->handle != was.handle && t->outs[0].send != out.send);
    CU_ASSERT_EQUAL(g.engine.tasks[TASK_FIRST]->tapped, TAPPED_RX);
    CU_ASSERT_EQUAL(tap_remove(&g.engine), 0);
    CU_ASSERT_EQUAL(memcmp(t, &was, sizeof(was)), 0);
    CU_ASSERT_EQUAL(memcmp(&t->outs[0], &out, sizeof(out)), 0);
    CU_ASSERT_EQUAL(g.engine.tasks[TASK_FIRST]->tapped, 0);
    close_graph();
}

static int open_eal(void)
{
    return test_eal_start(64, "0@0");
}

static int close_eal(void)
{
    test_eal_stop();
    return 0;
}

static const struct test tests[] = {
    {"each point sees what passes it", test_points},
    {"drops, by reason", test_drops},
    {"a full port", test_full_port},
    {"a full ring", test_full_ring},
    {"what finds no room is counted", test_lost},
    {"many times around", test_around},
    {"one of every so many", test_every},
    {"stopped at any moment", test_stopped},
    {"no trace is left", test_restored},
    {NULL, NULL},
};

const struct test_program test_program = {"tap", tests, open_eal, close_eal};
