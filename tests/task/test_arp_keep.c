/* SPDX-License-Identifier: BSD-3-Clause */
/* arp: packets that wait until a MAC is known (RFC 1122 section 2.3.2.2). */
#include "arp_rig.h"

static struct rte_mbuf *down(uint8_t number)
{
    struct rte_mbuf *m = unresolved(SUB_NO_MAC, 0, CPE0, "0a000004");

    rte_pktmbuf_mtod(m, uint8_t *)[14 + 20 + 1] = number; /* UDP's source port */
    return m;
}

static struct rte_mbuf *up(uint8_t number)
{
    struct rte_mbuf *m = unresolved(SUB_NO_KEY, NH_NO_MAC, CORE0, "18000001");
    struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14);

    ip->src_addr = RTE_BE32(0x0a000003);
    ip->hdr_checksum = 0;
    ip->hdr_checksum = rte_ipv4_cksum(ip);
    rte_pktmbuf_mtod(m, uint8_t *)[14 + 20 + 1] = number;
    return m;
}

static const char *cpe_answers(void)
{
    return fate("020000000001 02ce00000044" NOMAC_TAGS REPLY
                "02ce00000044 0a000004 020000000001 0a0000fe",
                CPE0);
}

static uint64_t held(void)
{
    return task_arp.held(rig_task(r));
}

static void test_down(void)
{
    static const uint8_t l2[] =
        "\x02\xce\0\0\0\x44\x02\0\0\0\0\x01\x88\xa8\0\x80\x81\0\x01\x03\x08";

    open_rig("");
    poll_at(0);
    for (uint8_t i = 1; i <= 5; i++)
        rig_fate(r, down(i));
    CU_ASSERT_EQUAL(held(), 3);
    CU_ASSERT_EQUAL(rig_drops(r, "unresolved"), 2);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 1); /* the question */
    CU_ASSERT_STRING_EQUAL(cpe_answers(), "ended 4 times");
    CU_ASSERT_EQUAL(held(), 0);
    CU_ASSERT_EQUAL(rig_captured_way(r, "to", CPE0), 4);
    for (unsigned i = 1; i <= 3; i++) { /* the latest, in order */
        const struct rte_mbuf *m = rig_out(r, "to", CPE0, i);
        const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);
        const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(f + 22);

        CU_ASSERT(m->pkt_len == 60 && memcmp(f, l2, sizeof(l2) - 1) == 0);
        CU_ASSERT(ip->time_to_live == 0x3f && rte_raw_cksum(ip, 20) == 0xffff);
        CU_ASSERT(f[22 + 21] == 2 + i && meta_out_port(m) == CPE0);
    }
    /* known by now: it goes at once */
    CU_ASSERT_STRING_EQUAL(rig_fate(r, down(9)), "to/0");
    close_rig();
}

static void test_up(void)
{
    open_rig("");
    poll_at(0);
    for (uint8_t i = 1; i <= 4; i++)
        rig_fate(r, up(i));
    CU_ASSERT_EQUAL(held(), 3);
    CU_ASSERT_STRING_EQUAL(fate("020000000003 02c000000009" REPLY
                                "02c000000009 c6336409 020000000003 c6336401",
                                CORE0),
                           "ended 4 times");
    CU_ASSERT_EQUAL(rig_captured(r, "route"), 3);
    for (unsigned i = 0; i < 3; i++) { /* to be routed again, as they came */
        const struct rte_mbuf *m = rig_out(r, "route", 0, i);

        CU_ASSERT(meta_subscriber(m) == SUB_NO_KEY && m->pkt_len == 42);
        CU_ASSERT(rte_pktmbuf_mtod(m, const uint8_t *)[14 + 21] == 2 + i);
        CU_ASSERT(rte_pktmbuf_mtod(m, const uint8_t *)[14 + 8] == 0x40);
    }
    CU_ASSERT_STRING_EQUAL(rig_fate(r, up(9)), "route");
    /* a source that is not the subscriber's: who knows whose id that is */
    nexthop_set_mac(&harness_tables()->routes->nexthop[NH_NO_MAC], NULL);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, unresolved(SUB_NO_KEY, NH_NO_MAC, CORE0, "18000001")),
                           "drop unresolved");
    close_rig();
}

/* From the packets in time to the moment in which they are given up. */
static void wait_in_vain(double from)
{
    for (double s = from; s < from + 3.2; s += 1 / 64.0)
        poll_at(s);
}

/* Host unreachable (RFC 1812 section 4.3.3.1), about the packet as it came: quote bytes of it. */
static void check_unreachable(const struct rte_mbuf *m, unsigned at, uint32_t from, uint32_t to,
                              unsigned quote)
{
    const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(f + at);
    const struct rte_ipv4_hdr *was = (const struct rte_ipv4_hdr *)(f + at + 28);

    CU_ASSERT_EQUAL(rte_be_to_cpu_32(ip->src_addr), from);
    CU_ASSERT_EQUAL(rte_be_to_cpu_32(ip->dst_addr), to);
    CU_ASSERT(rte_raw_cksum(ip, 20) == 0xffff && rte_raw_cksum(ip + 1, 8 + quote) == 0xffff);
    CU_ASSERT_EQUAL(memcmp(f + at + 20, "\x03\x01", 2), 0);
    CU_ASSERT_EQUAL(rte_be_to_cpu_16(ip->total_length), 28 + quote);
    CU_ASSERT(was->time_to_live == 0x40 && rte_raw_cksum(was, 20) == 0xffff);
    CU_ASSERT_EQUAL(rte_be_to_cpu_32(was->src_addr), to);
}

static void test_no_answer(void)
{
    open_rig("");
    poll_at(0);
    rig_fate(r, down(1));
    rig_fate(r, up(1));
    CU_ASSERT_EQUAL(held(), 2);
    for (double s = 0; s < 2.9; s += 1 / 64.0)
        poll_at(s);
    CU_ASSERT_EQUAL(held(), 2);
    CU_ASSERT_EQUAL(figure("requests"), 6); /* three for each */
    poll_at(3.2);
    CU_ASSERT_EQUAL(held(), 0);
    CU_ASSERT_EQUAL(rig_drops(r, "no_answer"), 0);
    CU_ASSERT_EQUAL(figure("host_unreachable"), 2);
    CU_ASSERT_EQUAL(rig_captured(r, "route"), 1);
    check_unreachable(rig_out(r, "route", 0, 0), 14, ADDR_CPE0, 0x14000001, 28);
    CU_ASSERT_EQUAL(meta_subscriber(rig_out(r, "route", 0, 0)), SUB_NO_MAC);
    check_unreachable(rig_out(r, "to", CPE0, 3), 22, ADDR_CPE0, 0x0a000003, 28);
    for (double s = 3.2; s < 10; s += 1 / 64.0)
        poll_at(s);
    CU_ASSERT_EQUAL(figure("requests"), 6);
    /* the next packet begins anew */
    rig_fate(r, down(1));
    CU_ASSERT_EQUAL(held(), 1);
    CU_ASSERT_EQUAL(figure("requests"), 7);
    /* a stop does not wait, and tells nobody */
    rig_task(r)->stopping = true;
    poll_at(10.1);
    CU_ASSERT_EQUAL(held(), 0);
    CU_ASSERT_EQUAL(rig_drops(r, "no_answer"), 1);
    CU_ASSERT_EQUAL(figure("host_unreachable"), 2);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, down(1)), "drop unresolved");
    close_rig();
}

/* Who has been told enough, or must not be told. */
static void test_not_told(void)
{
    struct rte_mbuf *m;

    open_rig("icmp_rate=0");
    poll_at(0);
    rig_fate(r, down(1));
    rig_fate(r, up(1));
    wait_in_vain(0);
    CU_ASSERT_EQUAL(rig_drops(r, "no_answer"), 2);
    CU_ASSERT_EQUAL(figure("host_unreachable"), 0);
    close_rig();
    open_rig("icmp_rate=1 keep=8");
    poll_at(0);
    for (uint8_t i = 1; i <= 8; i++)
        rig_fate(r, up(i));
    wait_in_vain(0);
    CU_ASSERT_EQUAL(rig_drops(r, "no_answer"), 7);
    CU_ASSERT_EQUAL(figure("host_unreachable"), 1);
    m = down(1); /* a later fragment */
    rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14)->fragment_offset = RTE_BE16(10);
    rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14)->hdr_checksum = 0;
    rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14)->hdr_checksum =
        rte_ipv4_cksum(rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14));
    rig_fate(r, m);
    CU_ASSERT_EQUAL(held(), 1);
    wait_in_vain(5);
    CU_ASSERT_EQUAL(held(), 0);
    CU_ASSERT_EQUAL(rig_drops(r, "no_answer"), 8);
    CU_ASSERT_EQUAL(figure("host_unreachable"), 1);
    close_rig();
}

/* A subscriber who is taken away takes his packets with him: nothing may name his record. */
static void test_gone(void)
{
    open_rig("");
    poll_at(0);
    rig_fate(r, down(1));
    rig_fate(r, up(1));
    arp_forget_subscriber(rig_task(r), SUB_NO_MAC);
    CU_ASSERT_EQUAL(held(), 1);
    arp_forget_subscriber(rig_task(r), SUB_NO_KEY);
    CU_ASSERT_EQUAL(held(), 0);
    CU_ASSERT_EQUAL(rig_drops(r, "no_answer"), 2);
    rig_fate(r, down(1));
    CU_ASSERT_EQUAL(held(), 1);
    close_rig(); /* and what is left is freed */
    subscriber_set_static_mac(&harness_tables()->subscribers->record[SUB_NO_KEY],
                              (const uint8_t *)"\x02\xce\0\0\0\x03");
}

/* Without the output route, or with keep = 0. */
static void test_not_kept(void)
{
    open_rig("keep=0");
    poll_at(0);
    rig_fate(r, down(1));
    rig_fate(r, up(1));
    CU_ASSERT_EQUAL(held(), 0);
    CU_ASSERT_EQUAL(rig_drops(r, "unresolved"), 2);
    close_rig();
}

static const struct test tests[] = {
    {"packets to a CPE", test_down},
    {"packets to a next hop", test_up},
    {"nobody answers", test_no_answer},
    {"nobody is told", test_not_told},
    {"the subscriber goes", test_gone},
    {"nothing is kept", test_not_kept},
    {NULL, NULL},
};

const struct test_program test_program = {"arp_keep", tests, harness_open, harness_close};
