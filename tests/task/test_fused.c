/* SPDX-License-Identifier: BSD-3-Clause */
/* Chains that run as one against the same tasks one by one: the same frames of both families, good
 * ones and such as each task drops or punts, must leave both with the same bytes in the same order,
 * and the same counters. */
#include "base/cpu/prefetch.h"
#include "fused_frames.h"
#include "lanes.h"
#include "tasks/task_types.h"

#define ROUNDS 300

/* Packets of a family that a lane's tasks have counted. */
static uint64_t counted(const struct lane *l, enum family family)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < l->n; i++)
        sum += rig_task(l->rig[i])->traffic[family].packets;
    return sum;
}

/* Run bursts through two lanes, one of which has the chain. by_port: a burst is of one port, which
 * the task is told, as where it reads the port itself. */
static void compare(const struct step *steps, unsigned head, const char *outputs,
                    struct frame (*make)(uint16_t *port), bool by_port)
{
    struct lane apart = lane_open(steps, outputs), fused = lane_open(steps, outputs);

    CU_ASSERT_TRUE_FATAL(link_chain(rig_task(fused.rig[head])));
    CU_ASSERT_EQUAL(rig_task(fused.rig[head])->chain.type->n, fused.n - head);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct rte_mbuf *m[2][BURST_MAX], *pair[2];
        unsigned n = 1 + random32() % BURST_MAX, k = 0;
        uint16_t port, all = 0;

        prefetch_step = round % 2 == 0 ? PREFETCH_NEAR : PREFETCH_FAR;
        for (unsigned i = 0; i < n; i++) {
            fused_pair(pair, make, &port);
            if (k == 0)
                all = port;
            if (by_port && port != all) {
                rte_pktmbuf_free_bulk(pair, 2);
                continue;
            }
            m[0][k] = pair[0];
            m[1][k++] = pair[1];
        }
        lane_run(&apart, m[0], k, by_port ? all : PORT_IN_MBUF);
        lane_run(&fused, m[1], k, by_port ? all : PORT_IN_MBUF);
        lanes_compare(&apart, &fused);
    }
    CU_ASSERT(rig_task(apart.rig[apart.n - 1])->in > ROUNDS); /* good ones came through, and */
    CU_ASSERT(lane_drops(&apart) > ROUNDS / 4);               /* others did not */
    CU_ASSERT_EQUAL(counted(&apart, FAMILY_IPV4) > 0, fused_six < 100);
    CU_ASSERT_EQUAL(counted(&apart, FAMILY_IPV6) > 0, fused_six > 0);
    lane_close(&apart);
    lane_close(&fused);
}

#define ALL_OUTPUTS "to:4 punt fragment"

/* in percent of IPv6; with few of one family, bursts begin with parts of the other alone */
static const unsigned mixes[] = {0, 2, 50, 98, 100};

static void upstream(const struct step *steps, unsigned head)
{
    for (unsigned k = 0; k < RTE_DIM(mixes); k++) {
        fused_six = mixes[k];
        compare(steps, head, ALL_OUTPUTS, from_subscriber, false);
        compare(steps, head, ALL_OUTPUTS, from_subscriber, true);
        compare(steps, head, "to:4", from_subscriber, true);
    }
}

static void downstream(const struct step *steps, struct frame (*make)(uint16_t *port))
{
    for (unsigned k = 0; k < RTE_DIM(mixes); k++) {
        fused_six = mixes[k];
        compare(steps, 0, ALL_OUTPUTS, make, false);
        compare(steps, 0, ALL_OUTPUTS, make, true);
        compare(steps, 0, "to:4", make, true);
    }
}

#define STEPS(...)                                                                                 \
    (const struct step[])                                                                          \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            NULL, NULL                                                                             \
        }                                                                                          \
    }
#define CLASSIFY(params)                                                                           \
    {                                                                                              \
        &task_classify, params                                                                     \
    }
#define DECAP(params)                                                                              \
    {                                                                                              \
        &task_qinq_decap, params                                                                   \
    }
#define ROUTE                                                                                      \
    {                                                                                              \
        &task_route, ""                                                                            \
    }
#define GRE(params)                                                                                \
    {                                                                                              \
        &task_gre_encap, params                                                                    \
    }
#define PUSH(params)                                                                               \
    {                                                                                              \
        &task_mpls_push, params                                                                    \
    }
#define POP(params)                                                                                \
    {                                                                                              \
        &task_mpls_pop, params                                                                     \
    }
#define GRE_DECAP(params)                                                                          \
    {                                                                                              \
        &task_gre_decap, params                                                                    \
    }
#define QINQ_ENCAP(params)                                                                         \
    {                                                                                              \
        &task_qinq_encap, params                                                                   \
    }

static void up(void)
{
    for (unsigned head = 0; head < 2; head++) {
        upstream(STEPS(CLASSIFY(""), DECAP(""), ROUTE, GRE(""), PUSH("")), head);
        upstream(STEPS(CLASSIFY("scheduler=0 anti_spoof=false"), DECAP("dscp=pcp"), ROUTE,
                       GRE("dscp=zero"), PUSH("exp=zero")),
                 head);
        upstream(STEPS(CLASSIFY(""), DECAP(""), ROUTE, GRE("key=false"), PUSH("")), head);
    }
}

static void up_shorter(void)
{
    for (unsigned head = 0; head < 2; head++) {
        upstream(STEPS(CLASSIFY(""), DECAP(""), ROUTE, GRE("")), head);
        upstream(STEPS(CLASSIFY(""), DECAP(""), ROUTE, GRE("key=false")), head);
        upstream(STEPS(CLASSIFY("scheduler=0"), DECAP(""), ROUTE, PUSH("")), head);
        upstream(STEPS(CLASSIFY(""), DECAP("dscp=pcp"), ROUTE), head);
    }
}

static void down(void)
{
    downstream(STEPS(POP(""), GRE_DECAP(""), QINQ_ENCAP("")), labelled);
    downstream(STEPS(POP("unlabelled=drop max_labels=2"), GRE_DECAP("scheduler=0"),
                     QINQ_ENCAP("pcp=zero")),
               labelled);
    downstream(STEPS(POP("label=16-50"), GRE_DECAP("key=optional far_ends=any"), QINQ_ENCAP("")),
               labelled);
}

static void down_shorter(void)
{
    downstream(STEPS(POP(""), GRE_DECAP("scheduler=0")), labelled);
    downstream(STEPS(POP(""), GRE_DECAP("key=optional")), unlabelled);
    downstream(STEPS(GRE_DECAP("far_ends=any"), QINQ_ENCAP("")), unlabelled);
}

static uint64_t n_apart;

static void one_by_one(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    n_apart += n;
    t->type->handle(t, m, n);
}

/* Good packets of both families are the chain's: none comes to its second task alone. */
static void together(const struct step *steps, struct frame (*make)(uint16_t *port))
{
    struct lane lane = lane_open(steps, ALL_OUTPUTS);
    struct task *last = rig_task(lane.rig[lane.n - 1]);

    CU_ASSERT_TRUE_FATAL(link_chain(rig_task(lane.rig[0])));
    rig_task(lane.rig[1])->handle = one_by_one;
    fused_good = true;
    for (unsigned k = 0; k < RTE_DIM(mixes); k++) {
        struct rte_mbuf *m[BURST_MAX];
        uint64_t before = last->in;
        uint16_t port;

        fused_six = mixes[k];
        for (unsigned i = 0; i < BURST_MAX; i++) {
            struct frame f = make(&port);

            m[i] = frame_mbuf(&f, port);
        }
        n_apart = 0;
        lane_run(&lane, m, BURST_MAX, PORT_IN_MBUF);
        CU_ASSERT_EQUAL(n_apart, 0);
        CU_ASSERT_EQUAL(last->in - before, BURST_MAX);
        lane_clear(&lane);
    }
    fused_good = false;
    lane_close(&lane);
}

static void nothing_apart(void)
{
    together(STEPS(CLASSIFY(""), DECAP(""), ROUTE, GRE(""), PUSH("")), from_subscriber);
    together(STEPS(CLASSIFY(""), DECAP(""), ROUTE, PUSH("")), from_subscriber);
    together(STEPS(POP(""), GRE_DECAP(""), QINQ_ENCAP("")), labelled);
    together(STEPS(GRE_DECAP("far_ends=any"), QINQ_ENCAP("")), unlabelled);
}

/* From a core without tunnels. */
static void plain(void)
{
    downstream(STEPS(CLASSIFY("match=ipv4"), QINQ_ENCAP("")), from_core);
    downstream(STEPS(CLASSIFY("match=ipv4 scheduler=0"), QINQ_ENCAP("pcp=zero")), from_core);
    together(STEPS(CLASSIFY("match=ipv4"), QINQ_ENCAP("")), from_core);
}

/* Packets to an egress port that no way leads to. */
static void no_path(void)
{
    const struct step *steps = STEPS(CLASSIFY(""), DECAP(""), ROUTE, GRE(""), PUSH(""));
    struct lane lane = lane_open(steps, ALL_OUTPUTS);
    struct rte_mbuf *m[BURST_MAX];
    uint16_t port;

    CU_ASSERT_TRUE_FATAL(link_chain(rig_task(lane.rig[0])));
    rig_lose_path(lane.rig[4], "to", CORE1);
    for (unsigned i = 0; i < BURST_MAX; i++) {
        struct frame f = from_subscriber(&port);

        m[i] = frame_mbuf(&f, port);
    }
    lane_run(&lane, m, BURST_MAX, PORT_IN_MBUF);
    CU_ASSERT(rig_drops(lane.rig[4], "no_path") > 0);
    CU_ASSERT_EQUAL(rig_task(lane.rig[4])->n_drop, 0);
    lane_close(&lane);
}

static uint32_t n_announced;

static void expected(const struct task *t, struct rte_mbuf *const *m, uint32_t n)
{
    (void)t;
    for (uint32_t i = 0; i < n; i++)
        n_announced += meta_subscriber(m[i]) != 0;
}

/* A task announces packets to the one that is called for them, if that prefetches: each once, when
 * its metadata is written. */
static void announces(const struct step *steps, struct frame (*make)(uint16_t *port), bool fuse)
{
    struct lane lane = lane_open(steps, ALL_OUTPUTS);
    struct task *last = rig_task(lane.rig[lane.n - 1]);
    struct task_type type = *last->type;
    struct task next = {.type = &type};
    struct rte_mbuf *m[BURST_MAX];
    uint16_t port;

    type.expect = expected;
    CU_ASSERT_PTR_NULL(last->ahead);
    last->ahead = &next;
    CU_ASSERT_EQUAL_FATAL(link_chain(rig_task(lane.rig[0])), fuse);
    fused_good = true;
    for (unsigned i = 0; i < BURST_MAX; i++) {
        struct frame f = make(&port);

        m[i] = frame_mbuf(&f, port);
    }
    n_announced = 0;
    lane_run(&lane, m, BURST_MAX, PORT_IN_MBUF);
    CU_ASSERT_EQUAL(n_announced, BURST_MAX);
    fused_good = false;
    lane_clear(&lane);
    lane_close(&lane);
}

static void announced(void)
{
    const struct step *steps = STEPS(POP(""), GRE_DECAP(""));
    struct lane lane = lane_open(steps, ALL_OUTPUTS);
    struct task *head = rig_task(lane.rig[0]), *next = rig_task(lane.rig[1]);
    const struct task_type *type = next->type;
    struct task_type prefetches = *type;

    link_ahead(head);
    CU_ASSERT_PTR_NULL(head->ahead);
    prefetches.expect = expected;
    next->type = &prefetches;
    link_ahead(head);
    CU_ASSERT_PTR_EQUAL(head->ahead, next);
    next->type = type;
    lane_close(&lane);
    announces(STEPS(CLASSIFY("scheduler=0")), from_subscriber, false);
    announces(STEPS(POP(""), GRE_DECAP("scheduler=0")), labelled, true);
    announces(STEPS(POP(""), GRE_DECAP(""), QINQ_ENCAP("")), labelled, true);
}

static uint64_t n_seen;
static out_send_fn kept;

static void watched(struct out *o, struct rte_mbuf **m, uint16_t n)
{
    n_seen += n;
    kept(o, m, n);
}

/* Whoever looks at a link in the chain, or at a burst of a task behind the first, sees it. */
static void looked_at(void)
{
    const struct step *steps = STEPS(POP(""), GRE_DECAP(""), QINQ_ENCAP(""));
    struct lane lane = lane_open(steps, ALL_OUTPUTS);
    struct task *head = rig_task(lane.rig[0]), *inner = rig_task(lane.rig[1]);
    struct tap_task tap = {0};

    CU_ASSERT_TRUE_FATAL(link_chain(head));
    CU_ASSERT_TRUE(link_chain_is_whole(head));
    kept = inner->output[0]->send;
    inner->output[0]->send = watched;
    CU_ASSERT_FALSE(link_chain_is_whole(head));
    for (unsigned i = 0; i < 100; i++) {
        uint16_t port;
        struct frame f = labelled(&port);
        struct rte_mbuf *m = frame_mbuf(&f, port);

        lane_run(&lane, &m, 1, PORT_IN_MBUF);
        lane_clear(&lane);
    }
    CU_ASSERT(n_seen > 10);
    CU_ASSERT_EQUAL(n_seen, inner->output[0]->sent);
    inner->output[0]->send = kept;
    CU_ASSERT_TRUE(link_chain_is_whole(head));
    tap.handle = inner->handle;
    inner->tap = &tap;
    CU_ASSERT_TRUE(link_chain_is_whole(head));
    tap.handle = head->handle; /* another than the task's: the tap stands in its place */
    CU_ASSERT_FALSE(link_chain_is_whole(head));
    inner->tap = NULL;
    lane_close(&lane);
}

static const struct test tests[] = {
    {"upstream", up},
    {"shorter chains upstream", up_shorter},
    {"downstream", down},
    {"shorter chains downstream", down_shorter},
    {"downstream without tunnels", plain},
    {"good packets of both families", nothing_apart},
    {"what a task announces", announced},
    {"no way out", no_path},
    {"a link or task that is looked at", looked_at},
    {NULL, NULL},
};

const struct test_program test_program = {"fused", tests, fused_tables_open, harness_close};
