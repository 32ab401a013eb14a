/* SPDX-License-Identifier: BSD-3-Clause */
/* How important packets are that nobody has checked yet. */
#include "frames.h"
#include "tables/dscp.h"
#include "tasks/task_types.h"

#define LAST (SHED_RANKS - 1)

/* DSCP 46 is class 0, 32..45 class 1, all else best effort; what is no IPv4 queue 15. */
static const struct dscp_table *table(void)
{
    static struct dscp_table t;

    for (unsigned i = 0; i < RTE_DIM(t.queue); i++)
        t.queue[i] = i == 46 ? 0 : i >= 32 && i < 46 ? 1 : 12;
    t.non_ip = 15;
    return &t;
}

static struct rte_mbuf *packet(uint8_t dscp)
{
    struct ip ip = {.src = 0x0a000001, .dst = 0x14000001, .ttl = 64, .proto = 17, .payload = 18};
    struct frame f = {0};

    put_qinq(&f, GATEWAY_MAC(CPE0), CPE_MAC(1), 0x88a8, 128, 256, 0x0800);
    put_ip(&f, &ip);
    f.b[23] = (uint8_t)(dscp << 2);
    return frame_mbuf(&f, CPE0);
}

/* Of one frame, which is freed. */
static uint8_t rank_of(struct rte_mbuf *m)
{
    uint8_t rank = 0xff;

    shed_rank(table(), &m, 1, &rank);
    rte_pktmbuf_free(m);
    return rank;
}

/* Each packet has its own class, whatever the number of packets. */
static void by_class(void)
{
    static const uint8_t dscp[4] = {0, 46, 10, 33}, class[4] = {DSCP_BE, 0, DSCP_BE, 1};
    struct rig *r = rig_open(&task_forward, "", NULL);
    struct rte_mbuf *m[100];
    uint8_t rank[101];

    for (unsigned i = 0; i < 100; i++)
        m[i] = packet(dscp[i % 4]);
    for (uint32_t n = 1; n <= 100; n++) {
        memset(rank, 0xff, sizeof(rank));
        shed_rank(table(), m, n, rank);
        for (unsigned i = 0; i < n; i++)
            CU_ASSERT_EQUAL(rank[i], class[i % 4]);
        CU_ASSERT_EQUAL(rank[n], 0xff);
    }
    rte_pktmbuf_free_bulk(m, 100);
    rig_close(r);
}

/* The class is the subscriber's packet's, wherever that is in the frame; what is cut off is last.
 */
static void finds_the_class(void)
{
    static const char label_gre[] = "020000000003 02c000000000 8847 00010140"
                                    "45000044000040004 02f0000 c6336401 c0000201 20000800 00001001"
                                    "45b8001c 00000000 40110000 14000001 0a000001";
    static const char gre[] = "020000000003 02c000000000 0800"
                              "45000044000040004 02f0000 c6336401 c0000201 20000800 00001001"
                              "45b8001c 00000000 40110000 14000001 0a000001";
    static const char gre6[] = "020000000003 02c000000000 86dd"
                               "60000000 0024 2f 40 20010db8fff100000000000000000001"
                               "20010db8fff000000000000000000001 20000800 00001001"
                               "45b8001c 00000000 40110000 14000001 0a000001";
    static const char plain[] =
        "020000000003 02c000000000 0800 45b8001c 00000000 40110000 14000001 0a000001";
    struct rig *r = rig_open(&task_forward, "", NULL);
    struct frame arp = {0};
    struct rte_mbuf *m;

    CU_ASSERT_EQUAL(rank_of(mbuf_from_hex(label_gre, CORE0)), 0);
    CU_ASSERT_EQUAL(rank_of(mbuf_from_hex(gre, CORE0)), 0);
    CU_ASSERT_EQUAL(rank_of(mbuf_from_hex(plain, CORE0)), 0);
    CU_ASSERT_EQUAL(rank_of(mbuf_from_hex(gre6, CORE0)), 0);
    put_qinq(&arp, GATEWAY_MAC(CPE0), CPE_MAC(1), 0x88a8, 128, 256, 0x0806);
    arp.len = 64;
    CU_ASSERT_EQUAL(rank_of(frame_mbuf(&arp, CPE0)), 0);
    arp.b[20] = 0x88; /* PPPoE discovery: queue non_ip, which is one of best effort's */
    arp.b[21] = 0x63;
    CU_ASSERT_EQUAL(rank_of(frame_mbuf(&arp, CPE0)), DSCP_BE);
    arp.b[21] = 0x64; /* a session: what keeps it is the most important, packets have their class */
    CU_ASSERT_EQUAL(rank_of(frame_mbuf(&arp, CPE0)), 0);
    arp.b[29] = 0x21;
    arp.b[30] = 0x45;
    CU_ASSERT_EQUAL(rank_of(frame_mbuf(&arp, CPE0)), DSCP_BE);
    arp.b[31] = 0xb8;
    CU_ASSERT_EQUAL(rank_of(frame_mbuf(&arp, CPE0)), 0);
    mbuf_guard(0);
    for (arp.len = 22; arp.len < 50; arp.len++)
        CU_ASSERT_EQUAL(rank_of(frame_mbuf(&arp, CPE0)), LAST);
    mbuf_unguard();
    /* every length: nothing is read behind the end */
    mbuf_guard(0);
    for (uint16_t len = 1; len < 66; len++) {
        m = mbuf_from_hex(label_gre, CORE0);
        rte_pktmbuf_trim(m, (uint16_t)(m->data_len - RTE_MIN(len, m->data_len)));
        CU_ASSERT_EQUAL(rank_of(m), LAST);
    }
    CU_ASSERT_EQUAL(rank_of(segmented(&(struct frame){.len = 64}, CPE0)), LAST);
    rig_close(r);
}

/* IPv6 ranks by its traffic class, wherever it is in the frame; neighbour discovery as ARP does. */
static void both_families(void)
{
    /* traffic class 0xb8 is DSCP 46; UDP */
    static const char ip[] = "6b800000 0008 11 40 20010db8000000000000000000000001 "
                             "20010db8000000000000000000000002 0400080000080000";
    static const char nd[] = "60000000 0018 3a ff fe800000000000000000000000000001 "
                             "ff0200000000000000000001ff000002 87000000";
    static const struct {
        const char *before, *packet;
        uint8_t rank;
    } cases[] = {
        {"020000000003 02c000000000 86dd", ip, 0},
        {"020000000001 02c000000000 88a80080 81000100 86dd", ip, 0},
        {"020000000003 02c000000000 8847 00010140", ip, 0},
        {"020000000003 02c000000000 0800 45000058000040004 02f0000 c6336401 c0000201 200086dd "
         "00001001",
         ip, 0},
        {"020000000003 02c000000000 0800 45000054000040004 02f0000 c6336401 c0000201 000086dd", ip,
         0},
        {"020000000001 02c000000000 88a80080 81000100 86dd", nd, 0},
        {"020000000003 02c000000000 86dd", nd, 0},
    };
    struct rig *r = rig_open(&task_forward, "", NULL);
    char text[400];

    for (unsigned i = 0; i < RTE_DIM(cases); i++) {
        struct rte_mbuf *m;
        uint16_t before, whole;

        snprintf(text, sizeof(text), "%s %s", cases[i].before, cases[i].packet);
        m = mbuf_from_hex(text, CORE0);
        whole = m->data_len;
        rte_pktmbuf_free(m);
        m = mbuf_from_hex(cases[i].before, CORE0);
        before = m->data_len;
        rte_pktmbuf_free(m);
        CU_ASSERT_EQUAL(rank_of(mbuf_from_hex(text, CORE0)), cases[i].rank);
        mbuf_guard(0);
        for (uint16_t len = 1; len < before + 40; len++) { /* nothing is read behind the end */
            m = mbuf_from_hex(text, CORE0);
            rte_pktmbuf_trim(m, (uint16_t)(whole - len));
            CU_ASSERT_EQUAL(rank_of(m), LAST);
        }
        m = mbuf_from_hex(text, CORE0);
        rte_pktmbuf_trim(m, (uint16_t)(whole - before - 40)); /* a header, and no type of ICMPv6 */
        CU_ASSERT_EQUAL(rank_of(m), cases[i].packet == ip ? 0 : DSCP_BE);
    }
    snprintf(text, sizeof(text), "%s %s", cases[0].before, nd);
    for (unsigned type = 0; type < 256; type++)
        for (unsigned hops = 254; hops < 256; hops++) {
            struct rte_mbuf *m = mbuf_from_hex(text, CORE0);

            rte_pktmbuf_mtod(m, uint8_t *)[14 + 7] = (uint8_t)hops;
            rte_pktmbuf_mtod(m, uint8_t *)[14 + 40] = (uint8_t)type;
            CU_ASSERT_EQUAL(rank_of(m), hops == 255 && type >= 133 && type <= 137 ? 0 : DSCP_BE);
        }
    rig_close(r);
}

/* Who reads a port and names a scheduler ranks by its classes of the right direction, and drops for
 * the reason overload; without a scheduler nothing is held. */
static void by_task(void)
{
    static const struct {
        const struct task_type *type;
        const char *params;
        enum qos_direction direction;
    } cases[] = {
        {&task_classify, "scheduler=0 shed=7", QOS_UP},
        {&task_classify, "scheduler=0 shed=7 match=ipv4", QOS_DOWN},
        {&task_gre_decap, "scheduler=0 shed=7", QOS_DOWN},
        {&task_mpls_pop, "scheduler=0 shed=7", QOS_DOWN},
    };
    struct dscp_table tables[QOS_DIRECTIONS] = {[QOS_UP] = *table(), [QOS_DOWN] = *table()};
    struct rte_mbuf *m;

    tables[QOS_UP].queue[46] = 3;
    tables[QOS_DOWN].queue[46] = 5;
    harness_tables()->dscp = tables;
    for (unsigned i = 0; i < RTE_DIM(cases); i++) {
        struct rig *r = rig_open(cases[i].type, cases[i].params, NULL);
        uint8_t rank = 0xff;

        m = packet(46);
        CU_ASSERT_EQUAL(rig_task(r)->hold, 7);
        cases[i].type->rank(rig_task(r), &m, 1, &rank);
        CU_ASSERT_EQUAL(rank, cases[i].direction == QOS_UP ? 3 : 5);
        CU_ASSERT_STRING_EQUAL(cases[i].type->schema.drops[cases[i].type->overload].name,
                               "overload");
        rte_pktmbuf_free(m);
        rig_close(r);
        r = rig_open(cases[i].type, "shed=7", NULL);
        CU_ASSERT_EQUAL(rig_task(r)->hold, 0);
        rig_close(r);
    }
    harness_tables()->dscp = NULL;
}

static const struct test tests[] = {
    {"by class", by_class},
    {"the class of every kind of frame", finds_the_class},
    {"both families", both_families},
    {"by the classes of a task's scheduler", by_task},
    {NULL, NULL},
};

const struct test_program test_program = {"shed", tests, harness_open, harness_close};
