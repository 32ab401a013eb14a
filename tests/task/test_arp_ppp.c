/* SPDX-License-Identifier: BSD-3-Clause */
/* LCP echoes of PPPoE sessions: which the slow path answers, which it sends, and to whom it tells
 * what is not answered. */
#include <rte_cycles.h>

#include "frames.h"
#include "packet/punt.h"
#include "tasks/arp/arp.h"
#include "tasks/task_types.h"

#define VLAN 260 /* SUB_PPPOE's */

#define MAGIC_OURS   0xcafe0001u
#define MAGIC_THEIRS 0xbeef0002u

static struct rig *slow;
static struct arp_control *control;
static uint64_t now;

static void open_slow(const char *params)
{
    harness_model.punt_socket = "punt.sock";
    for (unsigned i = 0; i < N_TEST_PORTS; i++)
        harness_model.ports[i].n_addresses = 0; /* nothing to announce */
    harness_tables()->subscribers->magic[SUB_PPPOE] = MAGIC_OURS;
    slow = rig_open(&task_arp, params, "to:4 route");
    harness_model.punt_socket = NULL;
    control = arp_control(rig_task(slow));
    CU_ASSERT_PTR_NOT_NULL_FATAL(control);
    control->listens = 1;
    now = 1;
    rig_poll(slow, now);
}

static struct frame lcp(uint64_t to, uint64_t from, uint8_t code, uint8_t id, uint32_t magic,
                        unsigned data)
{
    struct frame f = {0};

    put_session(&f, to, from, VLAN, TEST_SESSION, 0xc021, 8 + data);
    put16(&f, (uint32_t)code << 8 | id);
    put16(&f, 8 + data);
    put32(&f, magic);
    put_pad(&f, (uint16_t)(f.len + data), 0x77);
    return f;
}

static const char *give(const struct frame *f)
{
    struct rte_mbuf *m = frame_mbuf(f, CPE0);

    meta_set_punt(m, PUNT_LINE);
    meta_set_session(m, 0);
    return rig_fate(slow, m);
}

static unsigned to_control(void)
{
    unsigned n = 0;

    for (; slots_full(control->out, 0) != NULL; n++)
        slots_take(control->out, 1);
    return n;
}

/* With its data, and the magic number of this end; what is no echo of the session is the control
 * plane's. */
static void answers_echoes(void)
{
    const uint64_t ours = GATEWAY_MAC(CPE0), his = CPE_MAC(SUB_PPPOE);

    open_slow("");
    for (unsigned data = 0; data < 60; data += 7) {
        struct frame f = lcp(ours, his, 9, (uint8_t)data, MAGIC_THEIRS, data),
                     g = lcp(his, ours, 10, (uint8_t)data, MAGIC_OURS, data);

        put_pad(&f, f.len + 20, 0xee);
        put_pad(&g, 60, 0);
        CU_ASSERT_STRING_EQUAL(give(&f), "to/0");
        CU_ASSERT(mbuf_is(rig_last(slow), g.b, g.len));
    }
    CU_ASSERT_EQUAL(to_control(), 0);
    {
        struct frame others[] = {
            lcp(ours, his, 9, 1, MAGIC_OURS, 0),       /* a looped line */
            lcp(ours, his + 1, 9, 1, MAGIC_THEIRS, 0), /* another MAC */
            lcp(ours, his, 1, 1, MAGIC_THEIRS, 0),     /* Configure-Request */
            lcp(ours, his, 9, 1, MAGIC_THEIRS, 0),     /* longer than PPPoE says */
            lcp(ours, his, 9, 1, MAGIC_THEIRS, 0),     /* shorter than an echo */
            lcp(ours, his, 9, 1, MAGIC_THEIRS, 0),     /* another session */
        };

        others[3].b[33] = 9;
        others[4].b[33] = 7;
        others[5].b[25] = 0x35;
        for (unsigned i = 0; i < RTE_DIM(others); i++)
            CU_ASSERT_STRING_EQUAL(give(&others[i]), "consumed");
        CU_ASSERT_EQUAL(to_control(), RTE_DIM(others));
    }
    rig_close(slow);
}

/* Let so many seconds pass, tick by tick. Returns how many frames were sent. */
static unsigned pass(unsigned seconds)
{
    unsigned n = rig_captured(slow, "to");

    for (unsigned i = 0; i < seconds * 64; i++) {
        now += rte_get_tsc_hz() / 64 + 1;
        rig_poll(slow, now);
    }
    return rig_captured(slow, "to") - n;
}

static void sends_echoes(void)
{
    const uint64_t ours = GATEWAY_MAC(CPE0), his = CPE_MAC(SUB_PPPOE);
    struct frame g = lcp(his, ours, 9, 1, MAGIC_OURS, 0), reply = lcp(ours, his, 10, 1, 7, 0);
    const struct arp_message *m;
    struct punt_header h;

    open_slow("echo=10s age=1h");
    put_pad(&g, 60, 0);
    CU_ASSERT_EQUAL(pass(10), 1);
    CU_ASSERT(mbuf_is(rig_out(slow, "to", 0, 0), g.b, g.len));
    for (unsigned i = 0; i < 3; i++) { /* who answers is asked on and on */
        CU_ASSERT_STRING_EQUAL(give(&reply), "consumed");
        CU_ASSERT_EQUAL(pass(10), 1);
    }
    CU_ASSERT_EQUAL(to_control(), 0);
    CU_ASSERT_EQUAL(pass(20), 2); /* and that makes three */
    CU_ASSERT_EQUAL(to_control(), 0);
    CU_ASSERT_EQUAL(pass(10), 1);
    m = slots_full(control->out, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    memcpy(&h, m->message, sizeof(h));
    CU_ASSERT(h.kind == PUNT_PPP && h.subscriber == SUB_PPPOE && h.session == TEST_SESSION &&
              h.svlan == 128 && h.cvlan == VLAN && h.frame_bytes == 30);
    g = lcp(his, ours, 9, 6, MAGIC_OURS, 0); /* the sixth, which was the last without an answer */
    CU_ASSERT(memcmp(m->message + 64, g.b, 12) == 0 && memcmp(m->message + 76, g.b + 20, 18) == 0);
    CU_ASSERT_EQUAL(to_control(), 1);
    CU_ASSERT_EQUAL(pass(10), 1); /* again, until there is an answer */
    CU_ASSERT_EQUAL(to_control(), 1);
    CU_ASSERT_STRING_EQUAL(give(&reply), "consumed");
    CU_ASSERT_EQUAL(pass(10), 1);
    CU_ASSERT_EQUAL(to_control(), 0);
    pass(20);
    arp_forget_subscriber(rig_task(slow), SUB_PPPOE); /* another may have the id */
    subscriber_set_static_mac(&harness_tables()->subscribers->record[SUB_PPPOE],
                              (const uint8_t[]){2, 0xce, 0, 0, 0, SUB_PPPOE});
    pass(30);
    CU_ASSERT_EQUAL(to_control(), 0);
    rig_close(slow);
    open_slow("echo=0s age=1h");
    CU_ASSERT_EQUAL(pass(60), 0);
    rig_close(slow);
}

#define MANY 131072

/* All of many are asked in each interval, in even portions: no tick has many, no round a burst. */
static void many_sessions(void)
{
    static const uint8_t gateway[6] = {2, 0, 0, 0, 0, CPE0 + 1};
    struct tables *t = harness_tables();
    struct subscriber_table *few = t->subscribers,
                            *many = subscriber_table_create(MANY, 0, SOCKET_ID_ANY);
    unsigned sent = 0, most = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(many);
    for (uint32_t i = 0; i < MANY; i++) {
        uint8_t mac[6] = {2, 1, 0, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};
        struct subscriber_spec spec = {.port = CPE0,
                                       .svlan = (uint16_t)(1 + i / 4094),
                                       .cvlan = (uint16_t)(1 + i % 4094),
                                       .tpid = 0x88a8,
                                       .ipv4 = 0x0a000000 + i,
                                       .ipv4_len = 32,
                                       .gateway_mac = gateway,
                                       .mac = mac,
                                       .session = (uint16_t)(1 + i % 65534),
                                       .mtu = 1492};

        CU_ASSERT_FATAL(subscriber_add(many, &spec) > 0);
    }
    t->subscribers = many;
    open_slow("echo=30s age=1h");
    for (unsigned tick = 0; tick < 30 * 64; tick++) {
        unsigned of_tick = 0, round;

        now += rte_get_tsc_hz() / 64 + 1;
        do { /* the core polls again at once where there was work */
            rig_poll(slow, now);
            round = rig_captured(slow, "to");
            rig_clear(slow);
            of_tick += round;
            CU_ASSERT(round <= BURST_MAX);
        } while (round > 0);
        sent += of_tick;
        most = RTE_MAX(most, of_tick);
    }
    EXPECT(sent >= MANY - 200 && sent <= MANY + 200, "%u of %u were asked", sent, MANY);
    EXPECT(most <= MANY / 30 / 64 * 2, "%u in a tick", most);
    rig_close(slow);
    t->subscribers = few;
    subscriber_table_free(many);
}

static const struct test tests[] = {
    {"answers echoes", answers_echoes},
    {"sends echoes", sends_echoes},
    {"many sessions", many_sessions},
    {NULL, NULL},
};

const struct test_program test_program = {"arp_ppp", tests, harness_open, harness_close};
