/* SPDX-License-Identifier: BSD-3-Clause */
/* Chains that run as one against the same tasks one by one: the same frames, good ones and such as
 * each task drops or punts, must leave both with the same bytes in the same order, and the same
 * counters. */
#include "frames.h"
#include "lanes.h"
#include "tasks/task_types.h"

#define ROUNDS 300
#define PICK(...)                                                                                  \
    ((const uint32_t[]){__VA_ARGS__})[random32() % RTE_DIM(((const uint32_t[]){__VA_ARGS__}))]

/* One in so many is odd, so that bursts hold both kinds. */
static bool odd(void)
{
    return random32() % 24 == 0;
}

static struct ip some_ip(uint32_t src, uint32_t dst)
{
    return (struct ip){
        .src = odd() ? PICK(0, 0x7f000001, 0xe0000001, 0xa9fe0001, ADDR_CORE0, 0x0a000001) : src,
        .dst = dst,
        .tos = (uint8_t)random32(),
        .ttl = (uint8_t)(odd() ? PICK(0, 1, 2, 255) : 64),
        .proto = 17,
        .options = (uint8_t)(odd() ? random32() % 3 : 0),
        .fragment = (uint16_t)(odd() ? PICK(0x2000, 1, 0x4000) : 0),
        .payload = (uint16_t)(odd() ? random32() % 1481 : random32() % 64),
    };
}

/* Change some bytes, cut the end off, or repair a header's checksum after the change. */
static void spoil(struct frame *f, uint32_t header)
{
    for (unsigned k = odd() ? random32() % 3 : 0; k > 0; k--)
        f->b[random32() % RTE_MIN(f->len, 80)] = (uint8_t)random32();
    if (random32() % 2 == 0 && f->len >= header + 20 && (f->b[header] & 15) == 5)
        fix_ip(f, header);
    if (odd())
        f->len = (uint16_t)(f->len - random32() % f->len);
}

static struct frame from_subscriber(uint16_t *port)
{
    static const uint16_t tags[N_TEST_SUBSCRIBERS + 1][2] = {
        {1, 1}, {128, 256}, {129, 257}, {128, 258}, {128, 259}};
    static const uint32_t address[N_TEST_SUBSCRIBERS + 1] = {0x0a000001, 0x0a000001, 0x0a000105,
                                                             0x0a000003, 0x0a000004};
    unsigned who = odd() ? 0 : 1 + random32() % N_TEST_SUBSCRIBERS;
    uint32_t dst = odd() ? PICK(ADDR_CPE0, 0xe0000001, 0xa9fe0001, 0, 0xffffffff)
                         : (uint32_t)(20 + random32() % 7) << 24 | (random32() & 0xff);
    struct ip ip = some_ip(address[who], dst);
    uint64_t to;
    struct frame f = {0};

    *port = who == SUB_CPE1 ? CPE1 : CPE0;
    to = odd() ? UINT64_C(0xffffffffffff) : GATEWAY_MAC(*port);
    put_qinq(&f, to, CPE_MAC(who), odd() ? 0x9100 : 0x88a8,
             (uint16_t)(tags[who][0] | random32() << 13), tags[who][1], odd() ? 0x0806 : 0x0800);
    put_ip(&f, &ip);
    put_pad(&f, 60, 0xee);
    spoil(&f, QINQ_HEADER);
    return f;
}

static void put_labels(struct frame *f, unsigned usual)
{
    unsigned n = odd() ? random32() % 4 : usual;

    put16(f, n > 0 ? 0x8847 : 0x0800);
    for (unsigned i = n; i > 0; i--)
        put32(f, (odd() ? PICK(0, 3, 15, 99999) : 17) << 12 | (i == 1 && !odd()) << 8 |
                     (odd() ? PICK(0, 1, 2) : 61));
}

/* GRE header, of which the flags say what is there. */
static void put_gre(struct frame *f, uint32_t key)
{
    uint32_t flags = odd() ? PICK(0, 0x3000, 0xa000, 0x2001, 0x6000) : 0x2000;

    put16(f, flags);
    put16(f, odd() ? 0x86dd : 0x0800);
    if ((flags & 0x8000) != 0)
        put32(f, 0);
    if ((flags & 0x2000) != 0)
        put32(f, key);
    if ((flags & 0x1000) != 0)
        put32(f, 7);
}

static struct frame from_tunnel(uint16_t *port, unsigned labels)
{
    static const uint32_t address[] = {0x0a000009, 0x0a000001, 0x0a000105, 0x0a000003, 0x0a000004};
    static const uint32_t key[] = {9, 0x1001, 0x1002, 0x1003, 0x1004};
    unsigned who = odd() ? 0 : 1 + random32() % N_TEST_SUBSCRIBERS;
    struct ip inner = some_ip(0x14000001, odd() ? 0x0a000001 : address[who]);
    struct ip outer = some_ip(odd() ? 0xc0000209 : 0xc0000201, odd() ? ADDR_CORE1 : ADDR_CORE0);
    struct frame f = {0}, in = {0};
    uint32_t at;

    *port = (uint16_t)(CORE0 + random32() % 2);
    outer.proto = odd() ? 1 : 47;
    outer.options = random32() % 200 == 0;
    put_mac(&f, odd() ? CORE_MAC(9) : GATEWAY_MAC(*port));
    put_mac(&f, CORE_MAC(1));
    put_labels(&f, labels);
    put_gre(&in, key[who]);
    put_ip(&in, &inner);
    at = f.len;
    put_ip_header(&f, &outer, in.len);
    memcpy(f.b + f.len, in.b, in.len);
    f.len += in.len;
    spoil(&f, odd() ? at : at + 28);
    return f;
}

static struct frame labelled(uint16_t *port)
{
    return from_tunnel(port, 1);
}

static struct frame unlabelled(uint16_t *port)
{
    return from_tunnel(port, 0);
}

/* The same frame twice, in an mbuf of one of the shapes that there are. */
static void make_pair(struct rte_mbuf *out[2], struct frame (*make)(uint16_t *port), uint16_t *port)
{
    struct frame f = make(port);
    uint16_t room = (uint16_t)PICK(0, 7, 8, 20, 24, 31, 32);
    unsigned kind = random32() % 100;

    for (unsigned i = 0; i < 2; i++)
        out[i] = kind == 0 && f.len > 2 ? segmented(&f, *port)
                 : kind == 1            ? with_headroom(&f, *port, room)
                                        : frame_mbuf(&f, *port);
}

/* Packets of IPv4 that a lane's tasks have counted. */
static uint64_t counted(const struct lane *l)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < l->n; i++)
        sum += rig_task(l->rig[i])->traffic[FAMILY_IPV4].packets;
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

        for (unsigned i = 0; i < n; i++) {
            make_pair(pair, make, &port);
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
    CU_ASSERT_NOT_EQUAL(counted(&apart), 0);
    lane_close(&apart);
    lane_close(&fused);
}

#define ALL_OUTPUTS "to:4 punt fragment"

static void upstream(const struct step *steps, unsigned head)
{
    compare(steps, head, ALL_OUTPUTS, from_subscriber, false);
    compare(steps, head, ALL_OUTPUTS, from_subscriber, true);
    compare(steps, head, "to:4", from_subscriber, true);
}

static void downstream(const struct step *steps, struct frame (*make)(uint16_t *port))
{
    compare(steps, 0, ALL_OUTPUTS, make, false);
    compare(steps, 0, ALL_OUTPUTS, make, true);
    compare(steps, 0, "to:4", make, true);
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

static int fused_open(void)
{
    static const uint32_t all[] = {NH_GRE_MPLS, NH_GRE, NH_MPLS, NH_PLAIN, NH_NO_MAC};
    static struct dscp_table dscp[2];
    int rc = harness_open();

    for (unsigned i = 0; i < RTE_DIM(dscp[0].queue); i++)
        dscp[0].queue[i] = dscp[1].queue[i] = (uint8_t)(i % DSCP_QUEUES);
    if (rc == 0)
        harness_tables()->dscp = dscp;
    if (rc == 0) /* one of the set has no MAC: its packets go to the others */
        rc = route_add(harness_tables()->routes, 0x1a000000, 8,
                       (uint32_t)route_add_set(harness_tables()->routes, all, RTE_DIM(all)));
    return rc;
}

static const struct test tests[] = {
    {"upstream", up},
    {"shorter chains upstream", up_shorter},
    {"downstream", down},
    {"shorter chains downstream", down_shorter},
    {"no way out", no_path},
    {"a link or task that is looked at", looked_at},
    {NULL, NULL},
};

const struct test_program test_program = {"fused", tests, fused_open, harness_close};
