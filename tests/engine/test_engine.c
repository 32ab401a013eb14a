/* SPDX-License-Identifier: BSD-3-Clause */
/* Links, back-pressure, the clean stop and the ledger, with tasks that pass, lose, drop or hold
 * packets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "common/eal.h"
#include "common/program.h"
#include "engine/drops.h"
#include "engine/ledger.h"
#include "engine/link.h"
#include "graph.h"

static unsigned lose; /* packets that task_leaky forgets in each burst */

static void pass(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    task_emit_burst(t, 0, m, n);
}

static void drop_half(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    for (uint16_t i = 0; i < n; i++) {
        if (i % 2 == 0)
            task_emit(t, 0, m[i]);
        else
            task_drop(t, m[i], 1);
    }
}

static void leak(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    for (uint16_t i = (uint16_t)lose; i < n; i++)
        task_emit(t, 0, m[i]);
}

static void invent(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    task_emit_burst(t, 0, m, n);
    t->drops[0]++;
}

static int stuck; /* task_stuck does not come back while it is set */

static void hang(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    while (__atomic_load_n(&stuck, __ATOMIC_ACQUIRE))
        rte_pause();
    task_emit_burst(t, 0, m, n);
}

struct source_state {
    struct rte_mempool *pool;
};

static int source_init(struct task *t, const struct task_env *env)
{
    struct source_state *s = t->state;

    s->pool = env->pool;
    return 0;
}

/* 10000 packets, as long as there are mbufs */
static uint16_t source_poll(struct task *t, uint64_t now)
{
    struct source_state *s = t->state;
    uint16_t n = 0;

    (void)now;
    while (!t->stopping && t->created < 10000 && n < 32) {
        struct rte_mbuf *m = rte_pktmbuf_alloc(s->pool);

        if (m == NULL)
            break;
        rte_pktmbuf_append(m, 60);
        t->created++;
        task_emit(t, 0, m);
        n++;
    }
    t->finished = t->created == 10000;
    return n;
}

/* 8 packets at a time, and as long as it has made fewer than 24, again in the same round */
static uint16_t eager_poll(struct task *t, uint64_t now)
{
    struct source_state *s = t->state;

    (void)now;
    for (unsigned i = 0; i < 8; i++) {
        struct rte_mbuf *m = rte_pktmbuf_alloc(s->pool);

        rte_pktmbuf_append(m, 60);
        t->created++;
        task_emit(t, 0, m);
    }
    t->again = t->created % 24 != 0;
    return 8;
}

static const struct task_type task_pass = {.schema = {.type = "pass", .outputs = {{.name = "to"}}},
                                           .handle = pass};
static const struct task_type task_drop_half = {
    .schema = {.type = "drop_half",
               .outputs = {{.name = "to"}},
               .drops = (const struct task_drop[]){{.name = "never"}, {.name = "odd"}},
               .n_drops = 2},
    .handle = drop_half};
static const struct task_type task_leaky = {
    .schema = {.type = "leaky", .outputs = {{.name = "to"}}}, .handle = leak};
static const struct task_type task_stuck = {
    .schema = {.type = "stuck", .outputs = {{.name = "to"}}}, .handle = hang};
static const struct task_type task_inventor = {
    .schema = {.type = "inventor",
               .outputs = {{.name = "to"}},
               .drops = (const struct task_drop[]){{.name = "nothing"}},
               .n_drops = 1},
    .handle = invent};
static const struct task_type task_source = {
    .schema = {.type = "source", .kind = TASK_SOURCE, .outputs = {{.name = "to"}}},
    .state_size = sizeof(struct source_state),
    .init = source_init,
    .poll = source_poll,
};

static const struct task_type task_eager = {
    .schema = {.type = "eager", .kind = TASK_SOURCE, .outputs = {{.name = "to"}}},
    .state_size = sizeof(struct source_state),
    .init = source_init,
    .poll = eager_poll,
};

const struct task_type *const task_types[] = {
    &task_eager,    &task_pass,   &task_drop_half, &task_leaky,
    &task_inventor, &task_source, &task_stuck,     NULL,
};

static struct graph g;

static void test_calls(void)
{
    struct graph_spec spec = {
        .n_tasks = 3, .type = {&task_pass, &task_drop_half, &task_pass}, .out_desc = 2048};
    struct task_stats s;
    struct ledger l;

    CU_ASSERT_FATAL(graph_open(&g, &spec) == 0);
    CU_ASSERT(graph_inject(&g, 100) == 100);
    graph_rounds(&g, 0, 10);
    l = graph_ledger(&g, stderr);
    CU_ASSERT(ledger_balances(&l));
    CU_ASSERT(l.received == 100 && l.sent == 50 && l.dropped == 50 && l.held == 0);
    stats_task(&g.engine, 1, &s);
    CU_ASSERT(s.in == 100 && s.sent == 50 && s.drops[1] == 50 && s.drops[0] == 0 && s.full == 0);
    CU_ASSERT_STRING_EQUAL(drop_name(&task_drop_half.schema, 1), "odd");
    CU_ASSERT_PTR_NULL(drop_name(&task_drop_half.schema, 2));
    CU_ASSERT_STRING_EQUAL(drop_name(&task_drop_half.schema, DROP_NO_PATH), "no_path");
    CU_ASSERT(graph_collect(&g) == 50);
    CU_ASSERT(graph_close(&g) == 0);
}

static void test_ring_drops(void)
{
    struct graph_spec spec = {.n_tasks = 2,
                              .type = {&task_pass, &task_pass},
                              .core = {0, 1},
                              .ring = 64,
                              .out_desc = 2048};
    struct ledger l;

    CU_ASSERT_FATAL(graph_open(&g, &spec) == 0);
    CU_ASSERT(graph_inject(&g, 200) == 200);
    graph_rounds(&g, 0, 10);
    l = graph_ledger(&g, stderr);
    CU_ASSERT(ledger_balances(&l));
    CU_ASSERT(l.held == 63 && l.dropped == 137);
    graph_rounds(&g, 1, 4);
    l = graph_ledger(&g, stderr);
    CU_ASSERT(ledger_balances(&l));
    CU_ASSERT(l.held == 0 && l.sent == 63);
    CU_ASSERT(graph_close(&g) == 0);
}

static void test_ring_waits(void)
{
    struct graph_spec spec = {.n_tasks = 2,
                              .type = {&task_pass, &task_pass},
                              .core = {0, 1},
                              .ring = 256,
                              .ring_full = FULL_WAIT,
                              .out_desc = 2048};
    struct task_stats s;
    struct ledger l;

    CU_ASSERT_FATAL(graph_open(&g, &spec) == 0);
    CU_ASSERT(graph_inject(&g, 1000) == 1000);
    graph_rounds(&g, 0, 50);
    stats_task(&g.engine, 0, &s);
    CU_ASSERT(s.stalled > 0 && s.full == 0);
    CU_ASSERT(s.in <= 255 && s.in >= 192);
    for (unsigned i = 0; i < 50; i++) {
        graph_rounds(&g, 1, 2);
        graph_rounds(&g, 0, 2);
    }
    graph_rounds(&g, 1, 10);
    l = graph_ledger(&g, stderr);
    CU_ASSERT(ledger_balances(&l));
    CU_ASSERT(l.sent == 1000 && l.dropped == 0);
    CU_ASSERT(graph_close(&g) == 0);
}

static void test_port_drops(void)
{
    struct graph_spec spec = {.n_tasks = 1, .type = {&task_pass}, .out_desc = 64};
    struct ledger l;

    CU_ASSERT_FATAL(graph_open(&g, &spec) == 0);
    CU_ASSERT(graph_inject(&g, 200) == 200);
    graph_rounds(&g, 0, 20);
    l = graph_ledger(&g, stderr);
    CU_ASSERT(ledger_balances(&l));
    CU_ASSERT(l.sent == 63 && l.dropped == 137);
    CU_ASSERT(graph_close(&g) == 0);
}

/* The ledger of a NIC with room for so many packets in its transmit descriptors, which has sent
 * `missing` packets less than it was given. A wire stands in for the NIC. */
static struct ledger of_nic(uint32_t room, uint64_t missing, bool link)
{
    struct port *p = &g.engine.ports[PORT_OUT];
    struct ledger l;

    p->is_wire = p->is_virtual = false;
    p->tx_room = room;
    p->earlier.tx_packets = 0 - missing;
    link ? rte_eth_dev_set_link_up(p->dpdk_id) : rte_eth_dev_set_link_down(p->dpdk_id);
    l = graph_ledger(&g, NULL);
    p->is_wire = p->is_virtual = true;
    return l;
}

static void test_dead_nic(void)
{
    struct graph_spec spec = {.n_tasks = 1, .type = {&task_pass}, .out_desc = 2048};
    struct ledger l;

    CU_ASSERT_FATAL(graph_open(&g, &spec) == 0);
    CU_ASSERT(graph_inject(&g, 200) == 200);
    graph_rounds(&g, 0, 20);
    l = of_nic(64, 64, false);
    CU_ASSERT(ledger_balances(&l) && l.sent == 136 && l.dropped == 64 && l.lost[PORT_OUT] == 64);
    l = of_nic(64, 65, false); /* more than it has room for */
    CU_ASSERT(l.unexplained == 65 && l.n_faults == 1);
    l = of_nic(64, 64, true); /* it could send them */
    CU_ASSERT(l.unexplained == 64 && l.n_faults == 1);
    CU_ASSERT(graph_close(&g) == 0);
}

static void test_port_waits(void)
{
    struct graph_spec spec = {
        .n_tasks = 1, .type = {&task_pass}, .port_full = FULL_WAIT, .out_desc = 64};
    struct ledger l;
    unsigned got = 0;

    CU_ASSERT_FATAL(graph_open(&g, &spec) == 0);
    CU_ASSERT(graph_inject(&g, 200) == 200);
    graph_rounds(&g, 0, 20);
    l = graph_ledger(&g, stderr);
    CU_ASSERT(ledger_balances(&l));
    CU_ASSERT(l.sent == 63 && l.dropped == 0 && l.held > 0);
    for (unsigned i = 0; i < 20; i++) {
        got += graph_collect(&g);
        graph_rounds(&g, 0, 2);
    }
    got += graph_collect(&g);
    CU_ASSERT(got == 200);
    l = graph_ledger(&g, stderr);
    CU_ASSERT(ledger_balances(&l) && l.held == 0);
    CU_ASSERT(graph_close(&g) == 0);
}

/* held packets are freed when the engine is closed */
static void test_close_with_held(void)
{
    struct graph_spec spec = {.n_tasks = 2,
                              .type = {&task_pass, &task_pass},
                              .core = {0, 1},
                              .ring = 64,
                              .port_full = FULL_WAIT,
                              .out_desc = 64};

    CU_ASSERT_FATAL(graph_open(&g, &spec) == 0);
    graph_inject(&g, 500);
    for (unsigned i = 0; i < 10; i++) {
        graph_rounds(&g, 0, 1);
        graph_rounds(&g, 1, 2);
    }
    CU_ASSERT(task_held(g.engine.tasks[1]) > 0);
    CU_ASSERT(graph_close(&g) == 0);
}

static void test_ledger_finds_a_leak(void)
{
    struct graph_spec spec = {.n_tasks = 2, .type = {&task_pass, &task_leaky}, .out_desc = 2048};
    char *text = NULL;
    size_t len;
    FILE *faults = open_memstream(&text, &len);
    struct ledger l;

    CU_ASSERT_FATAL(graph_open(&g, &spec) == 0);
    graph_inject(&g, 64);
    lose = 3;
    graph_rounds(&g, 0, 1);
    lose = 0;
    graph_rounds(&g, 0, 4);
    l = graph_ledger(&g, faults);
    fclose(faults);
    CU_ASSERT(!ledger_balances(&l));
    CU_ASSERT(l.unexplained == 3 && l.n_faults == 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "task leaky.0"));
    CU_ASSERT(graph_close(&g) == 3);
    free(text);
}

static void test_ledger_finds_a_false_count(void)
{
    struct graph_spec spec = {.n_tasks = 1, .type = {&task_inventor}, .out_desc = 2048};
    struct ledger l;

    CU_ASSERT_FATAL(graph_open(&g, &spec) == 0);
    graph_inject(&g, 10);
    graph_rounds(&g, 0, 1);
    l = graph_ledger(&g, NULL);
    CU_ASSERT(l.unexplained == -1 && l.n_faults == 1);
    CU_ASSERT(graph_close(&g) == 0);
}

/* what one link lost and another invented must not cancel out */
static void test_ledger_audits_links(void)
{
    struct graph_spec spec = {.n_tasks = 2,
                              .type = {&task_pass, &task_pass},
                              .core = {0, 1},
                              .ring = 64,
                              .out_desc = 2048};
    struct ledger l;

    CU_ASSERT_FATAL(graph_open(&g, &spec) == 0);
    graph_inject(&g, 10);
    graph_rounds(&g, 0, 1);
    g.engine.tasks[0]->outs[0].sent++;
    g.engine.tasks[0]->in++;
    l = graph_ledger(&g, NULL);
    CU_ASSERT(l.unexplained == 0 && l.n_faults == 2);
    CU_ASSERT(!ledger_balances(&l));
    CU_ASSERT(graph_close(&g) == 0);
}

/* A task is polled as long as it has more to do, and its way on is open. */
static void test_polled_again(void)
{
    struct graph_spec spec = {.n_tasks = 1, .type = {&task_eager}, .out_desc = 2048};

    CU_ASSERT_FATAL(graph_open(&g, &spec) == 0);
    g.engine.cores[0]->inputs[0] = g.engine.cores[0]->inputs[1]; /* only its own poll */
    g.engine.cores[0]->n_inputs = 1;
    graph_rounds(&g, 0, 1);
    CU_ASSERT_EQUAL(g.engine.tasks[0]->created, 24);
    CU_ASSERT_EQUAL(graph_collect(&g), 24);
    CU_ASSERT(graph_close(&g) == 0);
    spec.port_full = FULL_WAIT;
    spec.out_desc = 16;
    CU_ASSERT_FATAL(graph_open(&g, &spec) == 0);
    g.engine.cores[0]->inputs[0] = g.engine.cores[0]->inputs[1];
    g.engine.cores[0]->n_inputs = 1;
    graph_rounds(&g, 0, 1);
    CU_ASSERT_EQUAL(g.engine.tasks[0]->created, 16); /* 15 are under way, one waits */
    CU_ASSERT_EQUAL(graph_collect(&g), 15);
    graph_collect(&g);
    CU_ASSERT(graph_close(&g) == 0);
}

static int where_am_i(struct task *t, void *arg)
{
    *(pthread_t *)arg = pthread_self();
    return t->type == &task_pass ? 7 : -1;
}

static void test_source_and_stop(void)
{
    pthread_t thread = 0;
    struct graph_spec spec = {.n_tasks = 2,
                              .type = {&task_source, &task_pass},
                              .core = {0, 1},
                              .ring = 256,
                              .ring_full = FULL_WAIT,
                              .port_full = FULL_WAIT,
                              .out_desc = 2048};
    struct ledger l;
    unsigned got = 0;

    CU_ASSERT_FATAL(graph_open(&g, &spec) == 0);
    g.instances[0].n_rx = 0;
    g.engine.cores[0]->inputs[0] = g.engine.cores[0]->inputs[1]; /* only the source's own poll */
    g.engine.cores[0]->n_inputs = 1;
    CU_ASSERT_FATAL(engine_start(&g.engine) == 0);
    for (unsigned i = 0; i < 1000 && !engine_sources_finished(&g.engine); i++) {
        got += graph_collect(&g);
        usleep(1000);
    }
    CU_ASSERT(engine_sources_finished(&g.engine));
    CU_ASSERT(engine_call(&g.engine, 1, where_am_i, &thread) == 7);
    CU_ASSERT(pthread_equal(thread, g.engine.cores[1]->thread));
    got += graph_collect(&g);
    engine_stop(&g.engine);
    CU_ASSERT(engine_call(&g.engine, 1, where_am_i, &thread) == 7);
    CU_ASSERT(pthread_equal(thread, pthread_self()));
    got += graph_collect(&g);
    CU_ASSERT(got == 10000);
    l = graph_ledger(&g, stderr);
    CU_ASSERT(ledger_balances(&l));
    CU_ASSERT(l.created == 10000 && l.sent == 10000 && l.held == 0);
    CU_ASSERT(stats_busy(g.engine.cores[0]) > 0 && stats_busy(g.engine.cores[0]) < 1);
    CU_ASSERT(core_cpu_time(g.engine.cores[0]) > 0);
    CU_ASSERT(graph_close(&g) == 0);
}

static void watch_for(unsigned ms)
{
    for (unsigned i = 0; i < ms / 20; i++) {
        engine_watch(&g.engine);
        usleep(20000);
    }
}

/* A core that does not come back from a task is noticed, and counted as long as that lasts. */
static void test_stalled_core(void)
{
    struct graph_spec spec = {.n_tasks = 1, .type = {&task_stuck}, .out_desc = 2048};
    struct watchdog *w;
    struct ledger l;
    uint64_t so_far;

    CU_ASSERT_FATAL(graph_open(&g, &spec) == 0);
    w = &g.engine.watchdog[0];
    CU_ASSERT_FATAL(engine_start(&g.engine) == 0);
    watch_for(100);
    CU_ASSERT(w->stalls == 0);
    stuck = 1;
    graph_inject(&g, 10);
    watch_for(800);
    CU_ASSERT(w->stalls == 1 && w->reported);
    so_far = w->stalled_ns;
    CU_ASSERT(so_far >= WATCHDOG_STALL_NS);
    watch_for(100);
    CU_ASSERT(w->stalls == 1 && w->stalled_ns > so_far);
    __atomic_store_n(&stuck, 0, __ATOMIC_RELEASE);
    watch_for(100);
    so_far = w->stalled_ns;
    watch_for(100);
    CU_ASSERT(w->stalls == 1 && w->stalled_ns == so_far && !w->reported);
    engine_stop(&g.engine);
    CU_ASSERT_EQUAL(graph_collect(&g), 10);
    l = graph_ledger(&g, stderr);
    CU_ASSERT(ledger_balances(&l));
    CU_ASSERT(graph_close(&g) == 0);
}

/* A CPU each for two of the three cores, where there are two. */
static int open_eal(void)
{
    bool two = access("/sys/devices/system/cpu/cpu1", F_OK) == 0;

    return test_eal_start(128, two ? "(0-2)@(0,1)" : "(0-2)@0");
}

static int close_eal(void)
{
    test_eal_stop();
    return 0;
}

static const struct test tests[] = {
    {"direct calls, drops by reason", test_calls},
    {"a full ring drops and counts", test_ring_drops},
    {"a full ring holds its producer back", test_ring_waits},
    {"a full port drops and counts", test_port_drops},
    {"a full port holds its producer back", test_port_waits},
    {"packets left in a NIC without a link are drops, as far as its descriptors hold",
     test_dead_nic},
    {"closing frees what is held", test_close_with_held},
    {"the ledger finds a leak", test_ledger_finds_a_leak},
    {"the ledger finds a false count", test_ledger_finds_a_false_count},
    {"the ledger audits each link", test_ledger_audits_links},
    {"polled again in the same round", test_polled_again},
    {"a core that does not come back", test_stalled_core},
    {"a source that ends, a call to a core, a clean stop", test_source_and_stop},
    {NULL, NULL},
};

const struct test_program test_program = {"engine", tests, open_eal, close_eal};
