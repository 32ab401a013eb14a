/* SPDX-License-Identifier: BSD-3-Clause */
/* What is dropped before the scheduler when a port brings more than a core can take. */
#include "frames.h"
#include "tables/shed.h"
#include "tasks/task_types.h"

#define REASON 3u
#define MANY   (BURST_MAX + LOOK_MAX)

/* DSCP 46 is class 0, 32..45 class 1, all else best effort; what is no IPv4 queue 15. */
static const struct dscp_table *table(void)
{
    static struct dscp_table t;

    for (unsigned i = 0; i < RTE_DIM(t.queue); i++)
        t.queue[i] = i == 46 ? 0 : i >= 32 && i < 46 ? 1 : 12;
    t.non_ip = 15;
    return &t;
}

static struct rte_mbuf *packet(uint8_t dscp, uint16_t mark)
{
    struct ip ip = {.src = 0x0a000001, .dst = 0x14000001, .ttl = 64, .proto = 17, .payload = 18};
    struct frame f = {0};
    struct rte_mbuf *m;

    put_qinq(&f, GATEWAY_MAC(CPE0), CPE_MAC(1), 0x88a8, 128, 256, 0x0800);
    put_ip(&f, &ip);
    f.b[23] = (uint8_t)(dscp << 2);
    m = frame_mbuf(&f, CPE0);
    m->vlan_tci = mark;
    return m;
}

static uint16_t shed(struct rig *r, struct rte_mbuf **m, uint16_t n, uint16_t room)
{
    struct rte_mbuf *drop[SHED_MAX];
    uint16_t kept = shed_lowest(table(), m, n, room, drop);

    task_drop_fresh(rig_task(r), drop, (uint16_t)(n - kept), REASON);
    return kept;
}

static void end(struct rig *r, struct rte_mbuf **m, uint16_t n)
{
    rte_pktmbuf_free_bulk(m, n);
    /* the rig's ledger knows only of what goes through handle() */
    rig_task(r)->in = rig_task(r)->drops[REASON] = 0;
    rig_close(r);
}

/* The lowest classes go, of the class that fits in part the last ones; order is kept. */
static void keeps_the_most_important(void)
{
    static const uint8_t dscp[8] = {0, 46, 10, 33, 0, 46, 32, 0};
    static const uint16_t kept[5] = {0, 1, 3, 5, 6};
    struct rig *r = rig_open(&task_forward, "", NULL);
    struct rte_mbuf *m[8];

    for (uint16_t i = 0; i < 8; i++)
        m[i] = packet(dscp[i], i);
    CU_ASSERT_EQUAL_FATAL(shed(r, m, 8, 5), 5);
    for (unsigned i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(m[i]->vlan_tci, kept[i]);
    CU_ASSERT_EQUAL(rig_task(r)->drops[REASON], 3);
    CU_ASSERT_EQUAL(rig_task(r)->in, 3);
    /* only now do higher classes go, the lower of them first */
    CU_ASSERT_EQUAL_FATAL(shed(r, m, 5, 3), 3);
    CU_ASSERT_EQUAL(m[0]->vlan_tci, 1);
    CU_ASSERT_EQUAL(m[1]->vlan_tci, 3);
    CU_ASSERT_EQUAL(m[2]->vlan_tci, 5);
    CU_ASSERT_EQUAL_FATAL(shed(r, m, 3, 1), 1);
    CU_ASSERT_EQUAL(m[0]->vlan_tci, 1);
    CU_ASSERT_EQUAL(rig_task(r)->drops[REASON], 7);
    end(r, m, 1);
}

static void nothing_without_need(void)
{
    struct rig *r = rig_open(&task_forward, "", NULL);
    struct rte_mbuf *m[4];

    for (uint16_t i = 0; i < 4; i++)
        m[i] = packet(0, i);
    CU_ASSERT_EQUAL(shed(r, m, 4, 4), 4);
    CU_ASSERT_EQUAL(shed(r, m, 4, 32), 4);
    CU_ASSERT_EQUAL(rig_task(r)->drops[REASON], 0);
    end(r, m, 4);
}

/* As many as the engine ever shows, of one class: the first stay. */
static void all_of_one_class(void)
{
    struct rig *r = rig_open(&task_forward, "", NULL);
    struct rte_mbuf *m[MANY];

    for (uint16_t i = 0; i < MANY; i++)
        m[i] = packet(46, i);
    CU_ASSERT_EQUAL_FATAL(shed(r, m, MANY, 32), 32);
    for (uint16_t i = 0; i < 32; i++)
        CU_ASSERT_EQUAL(m[i]->vlan_tci, i);
    CU_ASSERT_EQUAL(rig_task(r)->drops[REASON], MANY - 32);
    end(r, m, 32);
}

/* Which of two stays: that or a packet of class 1? */
static bool beats_class_1(struct rig *r, struct rte_mbuf *that)
{
    struct rte_mbuf *m[2] = {packet(32, 1), that};
    bool wins;

    that->vlan_tci = 2;
    CU_ASSERT_EQUAL_FATAL(shed(r, m, 2, 1), 1);
    wins = m[0]->vlan_tci == 2;
    rte_pktmbuf_free(m[0]);
    return wins;
}

/* The class is the subscriber's packet's, wherever that is in the frame; what is cut off is last.
 */
static void finds_the_class(void)
{
    static const char label_gre[] = "020000000003 02c000000000 8847 00010140"
                                    "45000044000040004 02f0000 c6336401 c0000201 20000800 00001001"
                                    "45b8001c 00000000 40110000 14000001 0a000001";
    static const char plain[] =
        "020000000003 02c000000000 0800 45b8001c 00000000 40110000 14000001 0a000001";
    struct rig *r = rig_open(&task_forward, "", NULL);
    struct frame arp = {0};
    struct rte_mbuf *m;

    CU_ASSERT_TRUE(beats_class_1(r, mbuf_from_hex(label_gre, CORE0)));
    CU_ASSERT_TRUE(beats_class_1(r, mbuf_from_hex(plain, CORE0)));
    put_qinq(&arp, GATEWAY_MAC(CPE0), CPE_MAC(1), 0x88a8, 128, 256, 0x0806);
    arp.len = 64;
    CU_ASSERT_TRUE(beats_class_1(r, frame_mbuf(&arp, CPE0)));
    arp.b[20] = 0x88; /* PPPoE */
    arp.b[21] = 0x64;
    CU_ASSERT_FALSE(beats_class_1(r, frame_mbuf(&arp, CPE0)));
    /* every length: nothing is read behind the end */
    mbuf_guard(0);
    for (uint16_t len = 1; len < 66; len++) {
        m = mbuf_from_hex(label_gre, CORE0);
        rte_pktmbuf_trim(m, (uint16_t)(m->data_len - RTE_MIN(len, m->data_len)));
        CU_ASSERT_FALSE(beats_class_1(r, m));
    }
    end(r, NULL, 0);
}

/* A packet that somebody else holds, too, or of several segments does not get to the pool whole. */
static void unusual_mbufs(void)
{
    struct rig *r = rig_open(&task_forward, "", NULL);
    struct rte_mbuf *m[3] = {packet(46, 0), packet(0, 1), packet(0, 2)}, *shared = m[1];
    struct frame f = {.len = 64};

    rte_mbuf_refcnt_update(shared, 1);
    rte_pktmbuf_free(m[2]);
    m[2] = segmented(&f, CPE0);
    CU_ASSERT_EQUAL_FATAL(shed(r, m, 3, 1), 1);
    CU_ASSERT_EQUAL(rte_mbuf_refcnt_read(shared), 1);
    rte_pktmbuf_free(shared);
    end(r, m, 1);
}

int main(void)
{
    static const struct harness_test tests[] = {
        {"the lowest classes go", keeps_the_most_important},
        {"nothing goes without need", nothing_without_need},
        {"all of one class", all_of_one_class},
        {"the class of every kind of frame", finds_the_class},
        {"unusual mbufs", unusual_mbufs},
        {NULL, NULL},
    };

    return harness_main("shed", tests);
}
