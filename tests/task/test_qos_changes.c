/* SPDX-License-Identifier: BSD-3-Clause */
/* qos: subscribers, profiles, rates and maps change while packets wait; none is lost. */
#include <stdlib.h>

#include <rte_cycles.h>

#include "frames.h"
#include "qos_rig.h"

static void not_shaped(void)
{
    struct rig *r;

    qos_model();
    r = qos_open();
    FATE(r, numbered(path_of(PIPES, 0), 0, 64), "drop not_shaped");
    FATE(r, numbered(SUBSCRIBER_NO_PATH + 3, 0, 64), "drop not_shaped");
    FATE(r, numbered(UINT32_MAX, 0, 64), "drop not_shaped");
    CU_ASSERT_EQUAL(rig_drops(r, "not_shaped"), 3);
    /* what is larger than the scheduler's mtu could never leave */
    FATE(r, numbered(path_of(0, 0), 0, 1527), "drop too_big");
    FATE(r, numbered(path_of(PIPES - 1, BE_QUEUE), 0, 64), "held");
    drain(r);
    rig_close(r);
}

/* A pipe of the scheduler that is no subscriber's has no rate of its own. */
static void pipe_without_profile(void)
{
    struct rig *r;

    qos_model();
    qos_subscribers[PIPES - 1].pipe = CFG_NONE;
    r = qos_open();
    FATE(r, numbered(path_of(PIPES - 1, BE_QUEUE), 0, 64), "drop not_shaped");
    FATE(r, numbered(path_of(PIPES - 2, BE_QUEUE), 0, 64), "held");
    CU_ASSERT_EQUAL(qos_set_profile(rig_task(r), PIPES - 1, PROFILE_10M), 0);
    FATE(r, numbered(path_of(PIPES - 1, BE_QUEUE), 0, 64), "held");
    drain(r);
    rig_close(r);
}

/* A round brings more than a burst, of several ports: as many are let go, in several polls. */
/* A subscriber goes while his packets wait: they are dropped, and others' are not; the next one
 * finds nothing of him. */
static void pipe_closed(void)
{
    struct sched_queue_counters n = {0};
    struct rig *r;
    struct task *t;

    qos_model();
    r = qos_open();
    t = rig_task(r);
    put_numbered(r, path_of(0, BE_QUEUE), 0, 40, 64);
    put_numbered(r, path_of(0, 0), 0, 10, 64);
    put_numbered(r, path_of(1, BE_QUEUE), 0, 30, 64);
    CU_ASSERT_EQUAL(qos_pipe_held(t, 0), 50);
    CU_ASSERT_EQUAL(qos_close_pipe(t, 0), 0);
    CU_ASSERT_EQUAL(rig_drops(r, "not_shaped"), 50);
    CU_ASSERT_EQUAL(rig_held(r), 30);
    FATE(r, numbered(path_of(0, BE_QUEUE), 0, 64), "drop not_shaped");
    CU_ASSERT_EQUAL(qos_set_profile(t, 0, PROFILE_100M), 0);
    CU_ASSERT_EQUAL(qos_set_profile(t, PIPES, PROFILE_100M), -EINVAL);
    CU_ASSERT_EQUAL(sched_read_queue(rig_qos(r)->sched, 0, BE_QUEUE, &n), 0);
    CU_ASSERT(n.packets == 0 && n.depth == 0 && n.tail == 0);
    put_numbered(r, path_of(0, BE_QUEUE), 0, 20, 64);
    drain(r);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 50);
    CU_ASSERT_EQUAL(sent_of(r, 0)->packets, 20);
    CU_ASSERT_EQUAL(sent_of(r, 1)->packets, 30);
    rig_close(r);
}

/* librte_sched cannot drop what waits: it leaves. */
static void pipe_closed_in_library(void)
{
    struct rig *r;
    struct task *t;

    qos_model();
    qos_shape.backend = QOS_LIBRTE_SCHED;
    r = qos_open();
    t = rig_task(r);
    put_numbered(r, path_of(0, BE_QUEUE), 0, 40, 64);
    CU_ASSERT_EQUAL(qos_close_pipe(t, 0), 40);
    FATE(r, numbered(path_of(0, BE_QUEUE), 0, 64), "drop not_shaped");
    drain(r);
    CU_ASSERT_EQUAL(qos_pipe_held(t, 0), 0);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 40);
    CU_ASSERT_EQUAL(qos_set_profile(t, 0, PROFILE_100M), 0);
    CU_ASSERT_EQUAL(sent_of(r, 0)->packets, 0);
    CU_ASSERT_EQUAL(sent_of(r, 0)->bytes, 0);
    rig_close(r);
}

/* The task's core is told that a subscriber goes: it sends none of his packets from then on.
 * Another gets his pipe when it is free, and nothing of him. */
static void told_closed(void)
{
    static const struct qos_pipe none = {.profile = CFG_NONE};
    struct rig *r;
    struct task *t;

    qos_model();
    r = qos_open();
    t = rig_task(r);
    put_numbered(r, path_of(0, BE_QUEUE), 0, 10, 64);
    drain(r);
    put_numbered(r, path_of(0, BE_QUEUE), 0, 40, 64);
    put_numbered(r, path_of(1, BE_QUEUE), 0, 30, 64);
    CU_ASSERT(qos_tell_closed(t, 0));
    CU_ASSERT_FALSE(qos_is_free(rig_qos(r), 0));
    CU_ASSERT_EQUAL(rig_held(r), 70);
    drain(r);
    CU_ASSERT_EQUAL(rig_drops(r, "not_shaped"), 40);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 10 + 30);
    CU_ASSERT(qos_is_free(rig_qos(r), 0) && !qos_is_free(rig_qos(r), 1));
    CU_ASSERT_EQUAL(memcmp(&rig_qos(r)->pipe[0], &none, sizeof(none)), 0);
    CU_ASSERT(sent_of(r, 0)->packets == 0 && sent_of(r, 0)->bytes == 0);
    FATE(r, numbered(path_of(0, BE_QUEUE), 0, 64), "drop not_shaped");
    CU_ASSERT(qos_tell_opened(t, 0, PROFILE_10M));
    CU_ASSERT_EQUAL(rig_qos(r)->pipe[0].profile, PROFILE_10M); /* as who shows him needs it */
    CU_ASSERT_EQUAL(rig_qos(r)->pipe[0].run_seq, 0);
    FATE(r, numbered(path_of(0, BE_QUEUE), 0, 64), "held");
    drain(r);
    CU_ASSERT_EQUAL(sent_of(r, 0)->packets, 1);
    rig_close(r);
}

/* Of the packets of one burst some are of a pipe that is to be closed, and one is of a pipe that is
 * to be opened. */
static void told_within_a_burst(void)
{
    struct rte_mbuf *m[3];
    struct rig *r;
    struct task *t;

    qos_model();
    qos_subscribers[PIPES - 1].pipe = CFG_NONE;
    r = qos_open();
    t = rig_task(r);
    m[0] = numbered(path_of(0, BE_QUEUE), 0, 64);
    m[1] = numbered(path_of(PIPES - 1, BE_QUEUE), 1, 64);
    m[2] = numbered(path_of(0, BE_QUEUE), 2, 64);
    CU_ASSERT(qos_tell_closed(t, 0) && qos_tell_opened(t, PIPES - 1, PROFILE_10M));
    rig_burst(r, m, 3);
    CU_ASSERT_EQUAL(rig_held(r), 1);
    CU_ASSERT_EQUAL(rig_drops(r, "not_shaped"), 2);
    CU_ASSERT_EQUAL(qos_pipe_held(t, 0), 0);
    drain(r);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 1);
    CU_ASSERT_EQUAL(number_of(rig_out(r, "to", 0, 0)), 1);
    rig_close(r);
}

/* What is not told because there is no room is done by the core, behind all that was told. */
static void told_too_much(void)
{
    struct rig *r;
    struct task *t;
    unsigned told = 0;

    qos_model();
    r = qos_open();
    t = rig_task(r);
    CU_ASSERT_FALSE(qos_tell_opened(t, 0, N_PROFILES));
    CU_ASSERT_FALSE(qos_tell_opened(t, PIPES, PROFILE_10M));
    while (told < 100000 && qos_tell_opened(t, 0, told % 2 == 0 ? PROFILE_10M : PROFILE_50M))
        told++;
    CU_ASSERT(told >= 64 && told <= 1024);
    CU_ASSERT_FALSE(qos_tell_closed(t, 0));
    CU_ASSERT_EQUAL(qos_close_pipe(t, 0), 0);
    CU_ASSERT(qos_is_free(rig_qos(r), 0));
    CU_ASSERT(qos_tell_opened(t, 0, PROFILE_100M));
    CU_ASSERT_EQUAL(qos_set_profile(t, 0, PROFILE_1M), 0);
    CU_ASSERT_EQUAL(rig_qos(r)->pipe[0].profile, PROFILE_1M);
    rig_poll(r, rte_rdtsc());
    CU_ASSERT_EQUAL(rig_qos(r)->pipe[0].profile, PROFILE_1M);
    rig_close(r);
}

/* librte_sched says how many packets leave first: its core must be called. */
static void told_library(void)
{
    struct rig *r;

    qos_model();
    qos_shape.backend = QOS_LIBRTE_SCHED;
    r = qos_open();
    put_numbered(r, path_of(0, BE_QUEUE), 0, 40, 64);
    CU_ASSERT_FALSE(qos_tell_closed(rig_task(r), 0));
    CU_ASSERT_EQUAL(qos_close_pipe(rig_task(r), 0), 40);
    CU_ASSERT_FALSE(qos_is_free(rig_qos(r), 0));
    drain(r);
    CU_ASSERT_FALSE(qos_is_free(rig_qos(r), 0));
    CU_ASSERT_EQUAL(qos_pipe_held(rig_task(r), 0), 0);
    CU_ASSERT(qos_is_free(rig_qos(r), 0));
    CU_ASSERT(qos_tell_opened(rig_task(r), 0, PROFILE_10M));
    FATE(r, numbered(path_of(0, BE_QUEUE), 0, 64), "held");
    drain(r);
    rig_close(r);
}

/* Take what has been sent since, which must go on with the number next. Returns the next. */
static uint32_t in_order(struct rig *r, uint32_t next)
{
    unsigned n = rig_captured(r, "to"), wrong = 0;

    for (unsigned i = 0; i < n; i++)
        wrong += number_of(rig_out(r, "to", 0, i)) != next + i;
    CU_ASSERT_EQUAL(wrong, 0);
    rig_clear(r);
    return next + n;
}

/* 10,000 changes, most of them while packets wait: none is lost, none overtakes another. */
static void profile_changes(void)
{
    uint32_t put = 0, got = 0, waited = 0;
    struct rig *r;

    qos_model();
    qos_shape.class[QOS_BE].size = 1024;
    r = qos_open();
    srand(1);
    for (unsigned i = 0; i < 10000; i++) {
        unsigned n = rig_held(r) < 900 ? (unsigned)rand() % 8 : 0;

        put_numbered(r, path_of(0, BE_QUEUE), put, n, 64);
        put += n;
        waited += rig_held(r) > 0;
        CU_ASSERT_EQUAL(
            qos_set_profile(rig_task(r), 0, PROFILE_10M + (uint32_t)rand() % (N_PROFILES - 1)), 0);
        rig_poll(r, rte_rdtsc());
        got = in_order(r, got);
    }
    drain(r);
    got = in_order(r, got);
    CU_ASSERT_EQUAL(got, put);
    CU_ASSERT(waited > 5000);
    CU_ASSERT_EQUAL(rig_drops(r, "queue_full"), 0);
    rig_close(r);
}

static void refused_changes(void)
{
    struct rig *r;

    qos_model();
    qos_profiles[PROFILE_50M].shape[QOS_UP].rate = 2000 * MBIT; /* more than the port has */
    r = qos_open();
    CU_ASSERT_EQUAL(qos_set_profile(rig_task(r), PIPES, PROFILE_1M), -EINVAL);
    CU_ASSERT_EQUAL(qos_set_profile(rig_task(r), 0, N_PROFILES), -EINVAL);
    CU_ASSERT_EQUAL(qos_set_profile(rig_task(r), 0, PROFILE_50M), -ENOTSUP);
    CU_ASSERT_EQUAL(rig_qos(r)->pipe[0].profile, PROFILE_10M);
    /* the profiles after the one that is left out are still the right ones */
    CU_ASSERT_EQUAL(qos_set_profile(rig_task(r), 0, PROFILE_100M), 0);
    CU_ASSERT_EQUAL(rig_qos(r)->pipe[0].profile, PROFILE_100M);
    CU_ASSERT(qos_set_subport_rate(rig_task(r), RTE_DIM(qos_subports), 10 * MBIT) < 0);
    rig_close(r);
}

/* Let pass what the buckets had saved up, so that bytes_per_s is what comes after. Returns false
 * where the thread was away in each try, which leaves some of it. */
static bool empty_buckets(struct rig *r, double bytes_per_s)
{
    double took;

    for (unsigned i = 0; i < 40; i++)
        if ((double)delivered(r, 0.05, &took) <= bytes_per_s * took * 1.01 + 4000 &&
            qos_away.longest < rte_get_tsc_hz() / 500)
            return true;
    printf("    note: disturbed: no upper bound ");
    return false;
}

static void subport_rate(void)
{
    uint64_t slow, fast;
    bool is_empty;
    double took;
    struct rig *r;

    qos_model();
    qos_subscribers[0].profile = PROFILE_100M;
    r = qos_open();
    CU_ASSERT_EQUAL(qos_set_subport_rate(rig_task(r), 0, 8 * MBIT), 0);
    is_empty = empty_buckets(r, 1e6);
    slow = delivered(r, 0.3, &took);
    /* a packet and a burst of dequeuing more than the rate has let through */
    CU_ASSERT(!is_empty || (double)slow <= 1e6 * took * 1.01 + 4000);
    CU_ASSERT_EQUAL(qos_set_subport_rate(rig_task(r), 0, 80 * MBIT), 0);
    is_empty = empty_buckets(r, 10e6);
    fast = delivered(r, 0.3, &took);
    CU_ASSERT(!is_empty || (double)fast <= 10e6 * took * 1.01 + 4000);
    /* ten times; a thread that was away for a third of the time, 1 ms or more at once, has lost
     * some */
    CU_ASSERT(fast > 3 * slow || qos_away.sum > rte_get_tsc_hz() / 10);
    drain(r);
    rig_close(r);
}

/* classify writes the queue that the map has at that moment. */
static void dscp_change(void)
{
    static struct dscp_table maps[QOS_DIRECTIONS];
    struct ip ip = {.src = 0x0a000001,
                    .dst = 0x14000001,
                    .ttl = 64,
                    .proto = 17,
                    .payload = 18,
                    .tos = 46 << 2};
    struct frame f = {0};
    struct rig *r;

    qos_model();
    maps[QOS_UP].queue[46] = 3;
    maps[QOS_DOWN].queue[46] = 7;
    harness_tables()->dscp = maps;
    r = rig_open(&task_classify, "scheduler=0", NULL);
    put_qinq(&f, GATEWAY_MAC(CPE0), CPE_MAC(1), 0x88a8, 128, 256, 0x0800);
    put_ip(&f, &ip);
    FATE(r, frame_mbuf(&f, CPE0), "to");
    CU_ASSERT_EQUAL(meta_path(rig_last(r)) % QOS_QUEUES, 3);
    __atomic_store_n(&maps[QOS_UP].queue[46], 13, __ATOMIC_RELAXED);
    FATE(r, frame_mbuf(&f, CPE0), "to");
    CU_ASSERT_EQUAL(meta_path(rig_last(r)) % QOS_QUEUES, 13);
    rig_close(r);
    harness_tables()->dscp = NULL;
}

static const struct test tests[] = {
    {"not shaped", not_shaped},
    {"a pipe without profile", pipe_without_profile},
    {"a subscriber goes", pipe_closed},
    {"a subscriber goes, librte_sched", pipe_closed_in_library},
    {"told that a subscriber goes", told_closed},
    {"told within a burst", told_within_a_burst},
    {"told too much", told_too_much},
    {"told, librte_sched", told_library},
    {"10,000 profiles: none lost, none reordered", profile_changes},
    {"changes that are refused", refused_changes},
    {"a subport's rate changes", subport_rate},
    {"a DSCP map changes", dscp_change},
    {NULL, NULL},
};

const struct test_program test_program = {"qos changes", tests, harness_open, harness_close};
