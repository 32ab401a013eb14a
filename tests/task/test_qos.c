/* SPDX-License-Identifier: BSD-3-Clause */
/* qos: what it holds, drops and lets pass. */
#include <rte_cycles.h>

#include "frames.h"
#include "qos_rig.h"
#include "sched/backend.h"

/* How many packets have a sojourn time in a class. */
static uint64_t sojourns(struct rig *r, unsigned class)
{
    struct hist times;

    qos_sojourn_times(rig_qos(r), class, &times);
    return times.count;
}

/* How many packets have a lag. */
static uint64_t lags(struct rig *r)
{
    struct hist times;

    qos_lag(rig_qos(r), &times);
    return times.count;
}

static void full_queue(void)
{
    struct rig *r;

    qos_model();
    r = qos_open();
    put_numbered(r, path_of(0, BE_QUEUE), 0, 70, 64);
    CU_ASSERT_EQUAL(rig_held(r), 64);
    CU_ASSERT_EQUAL(rig_drops(r, "queue_full"), 6);
    /* another's queue has room */
    put_numbered(r, path_of(1, BE_QUEUE), 0, 1, 64);
    CU_ASSERT_EQUAL(rig_held(r), 65);
    drain(r);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 65);
    CU_ASSERT_EQUAL(rig_drops(r, "queue_full"), 6);
    CU_ASSERT_EQUAL(lags(r), 65);
    CU_ASSERT_EQUAL(sojourns(r, QOS_BE), 65);
    CU_ASSERT_EQUAL(sojourns(r, 0), 0);
    CU_ASSERT_EQUAL(sent_of(r, 0)->packets, 64);
    CU_ASSERT_EQUAL(sent_of(r, 0)->bytes, 64 * 64);
    rig_close(r);
}

static void unused_class(void)
{
    struct rig *r;

    qos_model();
    r = qos_open();
    FATE(r, numbered(path_of(0, 5), 0, 64), "drop queue_full");
    rig_close(r);
}

/* A shard has its own pipes, and those of others are nobody's here. */
static void other_shard(void)
{
    struct rig *r;

    qos_shape.n_shards = 2;
    r = qos_open();
    FATE(r, numbered(path_of(PIPES, BE_QUEUE), 0, 64), "drop other_shard");
    FATE(r, numbered(path_of(2 * PIPES - 1, BE_QUEUE), 0, 64), "drop other_shard");
    FATE(r, numbered(path_of(2 * PIPES, BE_QUEUE), 0, 64), "drop not_shaped");
    put_numbered(r, path_of(PIPES - 1, BE_QUEUE), 0, 1, 64);
    CU_ASSERT_EQUAL(rig_held(r), 1);
    drain(r);
    CU_ASSERT_EQUAL(sent_of(r, PIPES - 1)->packets, 1);
    rig_close(r);
    qos_shape.n_shards = 0;
}

/* A path of any value may be announced, and nothing becomes of it. */
static void announced(void)
{
    static const uint32_t paths[] = {0, SUBSCRIBER_NO_PATH + 3, UINT32_MAX, 4 * PIPES * QOS_QUEUES};
    struct rte_mbuf *m[RTE_DIM(paths)];
    struct rig *r;

    qos_model();
    r = qos_open();
    for (unsigned i = 0; i < RTE_DIM(paths); i++)
        m[i] = numbered(paths[i], 0, 64);
    rig_task(r)->type->expect(rig_task(r), m, RTE_DIM(paths));
    CU_ASSERT_EQUAL(rig_held(r), 0);
    CU_ASSERT_EQUAL(meta_path(m[2]), UINT32_MAX);
    rte_pktmbuf_free_bulk(m, RTE_DIM(paths));
    rig_close(r);
}

static void as_many_as_came(void)
{
    struct rig *r;
    unsigned sent = 0, polls = 0;

    qos_model();
    for (unsigned i = 0; i < N_PROFILES; i++)
        for (unsigned d = 0; d < QOS_DIRECTIONS; d++)
            qos_profiles[i].shape[d].burst = 64000;
    r = qos_open();
    for (unsigned pipe = 0; pipe < PIPES; pipe++)
        put_numbered(r, path_of(pipe, BE_QUEUE), 0, 60, 64);
    do {
        sent += rig_poll(r, rte_rdtsc());
        CU_ASSERT_FATAL(++polls <= 8);
    } while (rig_task(r)->again);
    CU_ASSERT_EQUAL(sent, 240);
    CU_ASSERT_EQUAL(polls, 4);
    /* nothing is owed any more: a burst, of what there is */
    rig_poll(r, rte_rdtsc());
    CU_ASSERT_FALSE(rig_task(r)->again);
    drain(r);
    rig_close(r);
}

/* --- a dequeue that takes long --- */

static const struct sched_backend *prompt;

static uint32_t slow_dequeue(struct sched *s, uint64_t now, struct rte_mbuf **m, uint32_t n)
{
    uint64_t start = rte_rdtsc();

    while (rte_rdtsc() - start < 1 << 16)
        ;
    return prompt->dequeue(s, now, m, n);
}

/* Packets that leave in the poll after one whose dequeue took long, while many more wait. */
static unsigned sent_after_long(enum qos_backend backend)
{
    struct sched_backend slow;
    struct sched *s;
    struct rig *r;
    unsigned sent;

    qos_model();
    qos_shape.backend = backend;
    r = qos_open();
    s = rig_qos(r)->sched;
    for (unsigned pipe = 0; pipe < PIPES; pipe++)
        put_numbered(r, path_of(pipe, BE_QUEUE), 0, 60, 64);
    prompt = s->backend;
    slow = *prompt;
    slow.dequeue = slow_dequeue;
    s->backend = &slow;
    CU_ASSERT(rig_poll(r, rte_rdtsc()) > 0);
    s->backend = prompt;
    sent = rig_poll(r, rig_qos(r)->asked);
    drain(r);
    rig_close(r);
    return sent;
}

/* The library may have searched in vain, and pauses. The wheel does not search, so the core was
 * away: what waits goes on. */
static void long_dequeue(void)
{
    CU_ASSERT_EQUAL(sent_after_long(QOS_LIBRTE_SCHED), 0);
    CU_ASSERT(sent_after_long(QOS_WHEEL) > 0);
}

static void active_drops(enum qos_aqm aqm, const char *reason, const char *other)
{
    struct rig *r;

    qos_model();
    qos_shape.class[QOS_BE] = (struct cfg_class){.size = 64,
                                                 .aqm = aqm,
                                                 .red_min = 4,
                                                 .red_max = 16,
                                                 .red_inverse_probability = 2,
                                                 .red_weight_log2 = 1,
                                                 .pie_target_ms = 15,
                                                 .pie_update_ms = 15,
                                                 .pie_max_burst_ms = 150,
                                                 .pie_tail = 32};
    r = qos_open();
    put_numbered(r, path_of(0, BE_QUEUE), 0, 200, 64);
    CU_ASSERT(rig_drops(r, reason) > 0);
    CU_ASSERT_EQUAL(rig_drops(r, other), 0);
    CU_ASSERT_EQUAL(rig_drops(r, reason) + rig_drops(r, "queue_full") + rig_held(r), 200);
    drain(r);
    rig_close(r);
}

static void red(void)
{
    active_drops(AQM_RED, "red", "pie");
}

static void pie(void)
{
    active_drops(AQM_PIE, "pie", "red");
}

/* A discipline that drops packets which it had taken: at the limit of the queue, those are counted
 * like the rest. */
static void drops_late(struct cfg_class class, const char *own)
{
    struct rig *r;

    qos_model();
    qos_shape.class[QOS_BE] = class;
    r = qos_open();
    put_numbered(r, path_of(0, BE_QUEUE), 0, 200, 64);
    CU_ASSERT_EQUAL(rig_drops(r, "queue_full"), 136);
    CU_ASSERT_EQUAL(rig_drops(r, own), 0);
    CU_ASSERT_EQUAL(rig_held(r), 64);
    drain(r);
    rig_close(r);
}

static void codel(void)
{
    drops_late((struct cfg_class){.size = 64,
                                  .aqm = AQM_CODEL,
                                  .codel_target_us = 5000,
                                  .codel_interval_us = 100000,
                                  .codel_active = 8},
               "codel");
}

static void l4s(void)
{
    drops_late((struct cfg_class){.size = 64,
                                  .aqm = AQM_L4S,
                                  .l4s_target_us = 15000,
                                  .l4s_step_us = 1000,
                                  .l4s_coupling = 2},
               "l4s");
}

static void priorities(void)
{
    struct rig *r;

    qos_model();
    r = qos_open();
    put_numbered(r, path_of(0, BE_QUEUE), 0, 60, 200);
    put_numbered(r, path_of(0, 0), 1000, 4, 200);
    drain(r);
    CU_ASSERT_EQUAL_FATAL(rig_captured(r, "to"), 64);
    for (unsigned i = 0; i < 64; i++)
        CU_ASSERT_EQUAL(number_of(rig_out(r, "to", 0, i)), i < 4 ? 1000 + i : i - 4);
    CU_ASSERT_EQUAL(sojourns(r, 0), 4);
    rig_close(r);
}

/* An empty scheduler's clock runs: no time is lost, as long as the task is polled. */
static void idle_clock(void)
{
    uint64_t lost = 0;
    struct rig *r;

    qos_model();
    r = qos_open();
    /* on a busy machine we may be away for so long that time is lost: not always */
    for (unsigned i = 0; i < 200; i++) {
        uint64_t start = rte_rdtsc();

        lost = sched_lost_cycles(rig_qos(r)->sched);
        while (rte_rdtsc() - start < UINT64_C(5) << 22)
            rig_poll(r, rte_rdtsc());
        put_numbered(r, path_of(0, BE_QUEUE), i, 1, 64);
        drain(r); /* what was missed is known when packets leave */
        lost = sched_lost_cycles(rig_qos(r)->sched) - lost;
        if (lost == 0)
            break;
    }
    CU_ASSERT_EQUAL(lost, 0);
    rig_close(r);
}

static const struct test tests[] = {
    {"a full queue, held, counted", full_queue},
    {"a class without queues", unused_class},
    {"a pipe of another shard", other_shard},
    {"as many as came", as_many_as_came},
    {"a dequeue that takes long", long_dequeue},
    {"RED", red},
    {"PIE", pie},
    {"drops by FQ-CoDel", codel},
    {"drops by L4S", l4s},
    {"packets that may come", announced},
    {"strict priority", priorities},
    {"an idle scheduler's clock", idle_clock},
    {NULL, NULL},
};

const struct test_program test_program = {"qos", tests, harness_open, harness_close};
