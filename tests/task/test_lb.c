/* SPDX-License-Identifier: BSD-3-Clause */
/* lb: which worker gets a frame, and that both directions of a subscriber get the same. */
#include <string.h>

#include <rte_cycles.h>

#include "harness.h"
#include "tasks/task_types.h"

#define IPV4_UDP                                                                                   \
    "4500001c000040004011"                                                                         \
    "0000"                                                                                         \
    "0a000001"                                                                                     \
    "14000001"                                                                                     \
    "0001000200080000"

/* Ethernet, labels if any, IPv4 with IHL 5 from 192.0.2.1 to the gateway; GRE follows. */
#define ETH_MPLS "020000000003 02c000000001 8847"
#define ETH_IPV4 "020000000003 02c000000001 0800"
#define LABEL    "00010140"
#define LABEL_UP "00011040" /* not the bottom of the stack */
#define OUTER    "450000380000400040 2f 0000 c0000201 c6336401"

/* The same of IPv6. */
#define ETH_IPV6   "020000000003 02c000000001 86dd"
#define ADDRESSES6 "20010db8fff100000000000000000001 20010db8fff000000000000000000001"
#define OUTER6     "6b800000 0024 2f 40" ADDRESSES6

static unsigned worker(struct rig *r, struct rte_mbuf *m)
{
    const char *fate = rig_fate(r, m);

    CU_ASSERT_FATAL(strncmp(fate, "to/", 3) == 0);
    return (unsigned)(fate[3] - '0');
}

static unsigned qinq_worker(struct rig *r, const char *tags, uint16_t port)
{
    char hex[256];

    snprintf(hex, sizeof(hex), "020000000001 02ce00000001 %s 0800" IPV4_UDP, tags);
    return worker(r, mbuf_from_hex(hex, port));
}

static unsigned gre_worker(struct rig *r, const char *before, const char *gre)
{
    char hex[256];

    snprintf(hex, sizeof(hex), "%s%s" IPV4_UDP, before, gre);
    return worker(r, mbuf_from_hex(hex, CORE0));
}

/* What the multiply-shift by 2^32 / golden ratio gives for the subscribers of the tables. */
static unsigned expected(uint32_t id, unsigned n)
{
    uint32_t product = (uint32_t)(UINT64_C(2654435769) * id);

    return (unsigned)((double)product / 4294967296.0 * n);
}

static void test_qinq(void)
{
    struct rig *r = rig_open(&task_lb, "by=qinq", "to:4");

    CU_ASSERT_NOT_EQUAL(expected(SUB_CPE0, 4), 0);
    CU_ASSERT_EQUAL(qinq_worker(r, "88a80080 81000100", CPE0), expected(SUB_CPE0, 4));
    CU_ASSERT_EQUAL(meta_in_port(rig_last(r)), CPE0);
    CU_ASSERT_EQUAL(qinq_worker(r, "81000080 81000100", CPE0), expected(SUB_CPE0, 4));
    /* priority and DEI are not part of the circuit's name */
    CU_ASSERT_EQUAL(qinq_worker(r, "88a8f080 8100f100", CPE0), expected(SUB_CPE0, 4));
    CU_ASSERT_EQUAL(qinq_worker(r, "88a80080 81000102", CPE0), expected(SUB_NO_KEY, 4));
    CU_ASSERT_EQUAL(qinq_worker(r, "88a80081 81000101", CPE1), expected(SUB_CPE1, 4));
    /* nobody's: the same pair on another port, an unknown pair, a wrong TPID, one tag, none */
    CU_ASSERT_EQUAL(qinq_worker(r, "88a80080 81000100", CPE1), 0);
    CU_ASSERT_EQUAL(qinq_worker(r, "88a80fff 81000fff", CPE0), 0);
    CU_ASSERT_EQUAL(qinq_worker(r, "91000080 81000100", CPE0), 0);
    CU_ASSERT_EQUAL(qinq_worker(r, "88a80080 88a80100", CPE0), 0);
    CU_ASSERT_EQUAL(qinq_worker(r, "81000080", CPE0), 0);
    CU_ASSERT_EQUAL(qinq_worker(r, "", CPE0), 0);
    rig_close(r);
}

static void test_gre(void)
{
    struct rig *r = rig_open(&task_lb, "by=gre", "to:4");
    unsigned w = expected(SUB_CPE0, 4);

    CU_ASSERT_NOT_EQUAL(w, 0);
    CU_ASSERT_EQUAL(gre_worker(r, ETH_MPLS LABEL OUTER, "20000800 00001001"), w);
    CU_ASSERT_EQUAL(meta_in_port(rig_last(r)), CORE0);
    CU_ASSERT_EQUAL(gre_worker(r, ETH_IPV4 OUTER, "20000800 00001001"), w);
    CU_ASSERT_EQUAL(gre_worker(r, ETH_MPLS LABEL_UP LABEL_UP LABEL OUTER, "20000800 00001001"), w);
    /* checksum before the key, sequence number behind it */
    CU_ASSERT_EQUAL(gre_worker(r, ETH_IPV4 OUTER, "a0000800 abcd0000 00001001"), w);
    CU_ASSERT_EQUAL(gre_worker(r, ETH_IPV4 OUTER, "30000800 00001001 00000007"), w);
    CU_ASSERT_EQUAL(gre_worker(r, ETH_IPV4 OUTER, "b0000800 abcd0000 00001001 00000007"), w);
    /* options in the outer header */
    CU_ASSERT_EQUAL(gre_worker(r, ETH_IPV4 "4600003c0000400040 2f 0000 c0000201 c6336401 01010100",
                               "20000800 00001001"),
                    w);
    CU_ASSERT_EQUAL(gre_worker(r, ETH_IPV4 OUTER, "20000800 00001002"), expected(SUB_CPE1, 4));
    CU_ASSERT_EQUAL(gre_worker(r, ETH_IPV6 OUTER6, "20000800 00001001"), w);
    CU_ASSERT_EQUAL(gre_worker(r, ETH_MPLS LABEL_UP LABEL OUTER6, "200086dd 00001001"), w);
    CU_ASSERT_EQUAL(gre_worker(r, ETH_IPV6 OUTER6, "b0000800 abcd0000 00001002 00000007"),
                    expected(SUB_CPE1, 4));
    /* extension headers, and other protocols, are not looked behind */
    CU_ASSERT_EQUAL(gre_worker(r, ETH_IPV6 "60000000 002c 3c 40" ADDRESSES6 "2f00010400000000",
                               "20000800 00001001"),
                    0);
    CU_ASSERT_EQUAL(gre_worker(r, ETH_IPV6 "60000000 0024 11 40" ADDRESSES6, "20000800 00001001"),
                    0);
    /* nobody's: no key, a key that nobody has, another version, a route, a bit that must be 0 */
    CU_ASSERT_EQUAL(gre_worker(r, ETH_IPV4 OUTER, "00000800 00001001"), 0);
    CU_ASSERT_EQUAL(gre_worker(r, ETH_IPV4 OUTER, "20000800 ffffffff"), 0);
    CU_ASSERT_EQUAL(gre_worker(r, ETH_IPV4 OUTER, "20010800 00001001"), 0);
    CU_ASSERT_EQUAL(gre_worker(r, ETH_IPV4 OUTER, "60000800 00001001"), 0);
    CU_ASSERT_EQUAL(gre_worker(r, ETH_IPV4 OUTER, "24000800 00001001"), 0);
    /* nobody's: another protocol, a later fragment, IPv6, IHL below 5, another EtherType */
    CU_ASSERT_EQUAL(
        gre_worker(r, ETH_IPV4 "4500003800004000 4011 0000 c0000201 c6336401", "20000800 00001001"),
        0);
    CU_ASSERT_EQUAL(
        gre_worker(r, ETH_IPV4 "4500003800000001 402f 0000 c0000201 c6336401", "20000800 00001001"),
        0);
    CU_ASSERT_EQUAL(
        gre_worker(r, ETH_IPV4 "6500003800004000 402f 0000 c0000201 c6336401", "20000800 00001001"),
        0);
    CU_ASSERT_EQUAL(
        gre_worker(r, ETH_IPV4 "4400003800004000 402f 0000 c0000201 c6336401", "20000800 00001001"),
        0);
    CU_ASSERT_EQUAL(gre_worker(r, "020000000003 02c000000001 0806" OUTER, "20000800 00001001"), 0);
    /* a first fragment has the key */
    CU_ASSERT_EQUAL(
        gre_worker(r, ETH_IPV4 "4500003800002000 402f 0000 c0000201 c6336401", "20000800 00001001"),
        w);
    rig_close(r);
}

/* Frames cut short at every length: AddressSanitizer sees a byte read too far, and nobody is found
 * before the key (or the inner tag) is complete. */
static void cut(const char *params, const char *hex, size_t complete, uint16_t port)
{
    struct rig *r = rig_open(&task_lb, params, "to:4");
    struct rte_mbuf *whole = mbuf_from_hex(hex, port);

    mbuf_guard(0);
    for (size_t len = 0; len <= whole->data_len; len++) {
        struct rte_mbuf *m = mbuf_from_bytes(rte_pktmbuf_mtod(whole, void *), len, port);

        CU_ASSERT_EQUAL(worker(r, m), len < complete ? 0 : expected(SUB_CPE0, 4));
    }
    rte_pktmbuf_free(whole);
    rig_close(r);
}

static void test_cut_frames(void)
{
    cut("by=qinq", "020000000001 02ce00000001 88a80080 81000100 0800" IPV4_UDP, 20, CPE0);
    cut("by=gre", ETH_MPLS LABEL OUTER "20000800 00001001" IPV4_UDP, 46, CORE0);
    cut("by=gre", ETH_IPV4 OUTER "b0000800 abcd0000 00001001 00000007" IPV4_UDP, 50, CORE0);
    cut("by=gre", ETH_MPLS LABEL_UP LABEL OUTER "20000800 00001001", 50, CORE0);
    cut("by=gre", ETH_IPV6 OUTER6 "20000800 00001001", 62, CORE0);
}

/* Labels up to the frame's end, without a bottom. */
static void test_endless_labels(void)
{
    struct rig *r = rig_open(&task_lb, "by=gre", "to:4");
    char hex[512] = ETH_MPLS;

    mbuf_guard(0);
    for (unsigned i = 0; i < 40; i++) {
        CU_ASSERT_EQUAL(worker(r, mbuf_from_hex(hex, CORE0)), 0);
        strcat(hex, LABEL_UP);
    }
    rig_close(r);
}

static void test_by_subscriber(void)
{
    struct rig *r = rig_open(&task_lb, "by=subscriber", "to:3");
    unsigned seen[3] = {0};

    for (uint32_t id = 0; id < 300; id++) {
        struct rte_mbuf *m = mbuf_from_hex(ETH_IPV4, CORE1);
        unsigned w;

        meta_set_subscriber(m, id);
        w = worker(r, m);
        seen[w]++;
        CU_ASSERT_EQUAL(w, expected(id, 3));
        CU_ASSERT_EQUAL(meta_subscriber(m), id);
        CU_ASSERT_EQUAL(meta_in_port(m), CORE1);
    }
    for (unsigned w = 0; w < 3; w++)
        CU_ASSERT(seen[w] > 90 && seen[w] < 110);
    rig_close(r);
}

/* A burst straight from a port, longer than one turn, to a single worker; order is kept. */
static void test_burst(void)
{
    struct rig *r = rig_open(&task_lb, "by=qinq", "to:4");
    struct rte_mbuf *m[BURST_MAX];

    rig_task(r)->in_port = CPE0;
    for (unsigned i = 0; i < BURST_MAX; i++) {
        m[i] = mbuf_from_hex("020000000001 02ce00000001 88a80080 81000100 0800" IPV4_UDP, 0xffff);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m[i]);
    }
    rig_burst(r, m, BURST_MAX);
    CU_ASSERT_EQUAL(rig_captured_way(r, "to", expected(SUB_CPE0, 4)), BURST_MAX);
    for (unsigned i = 0; i < BURST_MAX; i++) {
        CU_ASSERT_PTR_EQUAL(rig_out(r, "to", expected(SUB_CPE0, 4), i), m[i]);
        CU_ASSERT_EQUAL(meta_in_port(m[i]), CPE0);
    }
    rig_close(r);
    r = rig_open(&task_lb, "", "to");
    CU_ASSERT_STRING_EQUAL(rig_fate(r, mbuf_from_hex(ETH_IPV4, CPE0)), "to");
    rig_close(r);
}

#define FULL    32 /* the rig's bursts */
#define WORKERS 4

/* A full burst of packets of the subscribers from first on. */
static void full_burst(struct rig *r, uint32_t first)
{
    struct rte_mbuf *m[FULL];

    for (uint32_t i = 0; i < FULL; i++) {
        m[i] = mbuf_from_hex(ETH_IPV4, CORE1);
        meta_set_subscriber(m[i], first + i);
    }
    rig_burst(r, m, FULL);
}

static uint64_t held(struct rig *r)
{
    return task_lb.held(rig_task(r));
}

/* Every captured packet is with its worker, those of a worker in the order in which they came. */
static void check_workers(struct rig *r)
{
    for (unsigned w = 0; w < WORKERS; w++) {
        uint32_t before = 0;

        for (unsigned i = 0; i < rig_captured_way(r, "to", w); i++) {
            uint32_t id = meta_subscriber(rig_out(r, "to", w, i));

            CU_ASSERT_EQUAL(expected(id, WORKERS), w);
            CU_ASSERT(id > before);
            before = id;
        }
    }
}

/* Under load packets wait for others of their worker, until a poll finds that no burst has come. */
static void test_gathers(void)
{
    struct rig *r = rig_open(&task_lb, "by=subscriber", "to:4");
    unsigned polls = 0;

    for (uint32_t id = 1; id <= 8 * FULL; id += FULL, polls++) {
        full_burst(r, id);
        CU_ASSERT_EQUAL(rig_captured(r, "to") + held(r), id + FULL - 1);
        CU_ASSERT_EQUAL(rig_captured(r, "to") % FULL, 0);
        CU_ASSERT_EQUAL(rig_poll(r, polls), 0);
    }
    CU_ASSERT(held(r) > 0);
    CU_ASSERT(rig_captured(r, "to") > 0);
    CU_ASSERT_NOT_EQUAL(rig_poll(r, polls), 0);
    CU_ASSERT_EQUAL(held(r), 0);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 8 * FULL);
    CU_ASSERT_EQUAL(rig_poll(r, polls + 1), 0);
    check_workers(r);
    rig_close(r);
}

/* A packet waits 10 us, whatever comes for others. */
static void test_patience(void)
{
    struct rig *r = rig_open(&task_lb, "by=subscriber", "to:4");
    uint64_t us = rte_get_tsc_hz() / 1000000, now = 1000 * us;

    rig_poll(r, now);
    full_burst(r, 1);
    CU_ASSERT_EQUAL(rig_poll(r, now + 9 * us), 0);
    full_burst(r, 1 + FULL);
    CU_ASSERT(held(r) > 0);
    rig_poll(r, now + 10 * us);
    CU_ASSERT_EQUAL(held(r), 0);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 2 * FULL);
    check_workers(r);
    rig_close(r);
}

/* A burst that is not full goes on at once, and takes along what has been gathered. */
static void test_without_load(void)
{
    struct rig *r = rig_open(&task_lb, "by=subscriber", "to:4");
    struct rte_mbuf *m = mbuf_from_hex(ETH_IPV4, CORE1);

    full_burst(r, 1);
    CU_ASSERT(held(r) > 0);
    meta_set_subscriber(m, 1 + FULL);
    rig_burst(r, &m, 1);
    CU_ASSERT_EQUAL(held(r), 0);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), FULL + 1);
    check_workers(r);
    rig_close(r);
}

/* A grace period sees when what was gathered has been sent, though others have been gathered. */
static void test_gathered(void)
{
    struct rig *r = rig_open(&task_lb, "by=subscriber", "to:4");
    uint32_t before;

    CU_ASSERT_EQUAL(task_lb.gathered(rig_task(r)), 0);
    full_burst(r, 1);
    before = task_lb.gathered(rig_task(r));
    CU_ASSERT_NOT_EQUAL(before, 0);
    full_burst(r, 1 + FULL);
    CU_ASSERT_EQUAL(task_lb.gathered(rig_task(r)), before);
    rig_poll(r, 0);
    rig_poll(r, 0);
    CU_ASSERT_EQUAL(task_lb.gathered(rig_task(r)), 0);
    full_burst(r, 1);
    CU_ASSERT_NOT_EQUAL(task_lb.gathered(rig_task(r)), before);
    rig_close(r);
}

/* Where the workers are shards, a subscriber goes to the one that has him; who is on none goes
 * where the hash says. */
static void test_shards(void)
{
    struct subscriber_table *t = harness_tables()->subscribers;
    uint8_t *before = t->shard;
    uint8_t shard[64];
    struct rig *r;

    memset(shard, SUBSCRIBER_NO_SHARD, sizeof(shard));
    CU_ASSERT_FATAL(t->capacity < sizeof(shard) || SUB_CPE1 < sizeof(shard));
    shard[SUB_CPE0] = (uint8_t)((expected(SUB_CPE0, 4) + 1) % 4);
    t->shard = shard;
    rig_leads_to_shards = true;
    r = rig_open(&task_lb, "by=qinq", "to:4");
    CU_ASSERT_EQUAL(qinq_worker(r, "88a80080 81000100", CPE0), shard[SUB_CPE0]);
    CU_ASSERT_EQUAL(qinq_worker(r, "88a80081 81000101", CPE1), expected(SUB_CPE1, 4));
    CU_ASSERT_EQUAL(qinq_worker(r, "", CPE0), 0);
    rig_close(r);
    r = rig_open(&task_lb, "by=gre", "to:4");
    CU_ASSERT_EQUAL(gre_worker(r, ETH_IPV4 OUTER, "20000800 00001001"), shard[SUB_CPE0]);
    rig_close(r);
    rig_leads_to_shards = false;
    r = rig_open(&task_lb, "by=qinq", "to:4");
    CU_ASSERT_EQUAL(qinq_worker(r, "88a80080 81000100", CPE0), expected(SUB_CPE0, 4));
    rig_close(r);
    t->shard = before;
}

/* What is held at the end goes back to its pool; rig_close() counts. */
static void test_end(void)
{
    struct rig *r = rig_open(&task_lb, "by=subscriber", "to:4");

    full_burst(r, 1);
    CU_ASSERT(held(r) > 0);
    rig_close(r);
}

static const struct test tests[] = {
    {"by VLAN pair", test_qinq},
    {"by GRE key", test_gre},
    {"frames cut short", test_cut_frames},
    {"labels without end", test_endless_labels},
    {"by the subscriber in the mbuf", test_by_subscriber},
    {"a whole burst", test_burst},
    {"full bursts are gathered", test_gathers},
    {"for a bounded time", test_patience},
    {"and not without load", test_without_load},
    {"what a grace period sees", test_gathered},
    {"workers that are shards", test_shards},
    {"packets held at the end", test_end},
    {NULL, NULL},
};

const struct test_program test_program = {"lb", tests, harness_open, harness_close};
