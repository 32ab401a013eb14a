/* SPDX-License-Identifier: BSD-3-Clause */
/* fragment: what is cut and how, and what is refused. */
#include <errno.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>

#include "harness.h"
#include "tasks/task_types.h"

#define ETH     14
#define MAX     9000
#define BYTE(i) ((uint8_t)((i)*7 + (i) / 251))

/* An untagged frame: options bytes of header beyond 20, payload bytes of data, padding behind. */
static struct rte_mbuf *frame(unsigned options, unsigned payload, uint16_t flags, unsigned padding)
{
    static uint8_t f[MAX];
    struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(f + ETH);
    struct rte_mbuf *m;
    unsigned header = 20 + options;

    memset(f, 0, sizeof(f));
    memcpy(f, "\x02\x00\x00\x00\x00\x03\x02\xc0\x00\x00\x00\x01\x08\x00", ETH);
    ip->version_ihl = (uint8_t)(0x40 | header / 4);
    ip->type_of_service = 0xb8;
    ip->total_length = rte_cpu_to_be_16((uint16_t)(header + payload));
    ip->packet_id = RTE_BE16(0x1234);
    ip->fragment_offset = rte_cpu_to_be_16(flags);
    ip->time_to_live = 63;
    ip->next_proto_id = 17;
    ip->src_addr = RTE_BE32(0x0a000001);
    ip->dst_addr = RTE_BE32(0x14000001);
    memset(ip + 1, 1, options); /* no-operation */
    ip->hdr_checksum = rte_ipv4_cksum(ip);
    for (unsigned i = 0; i < payload; i++)
        f[ETH + header + i] = BYTE(i);
    m = mbuf_from_bytes(f, ETH + header + payload + padding, CPE0);
    meta_set_subscriber(m, SUB_CPE0);
    meta_set_nexthop(m, NH_GRE_MPLS); /* 1468 bytes */
    meta_set_out_port(m, CORE0);
    m->hash.sched.queue_id = 4711;
    return m;
}

/* Put together what was captured since from: the fragments of one packet, in order. Returns the
 * payload, and checks all that a fragment must be. */
static unsigned reassemble(struct rig *r, unsigned max, unsigned first_offset, bool more_at_end)
{
    unsigned n = rig_captured(r, "to"), offset = first_offset;

    for (unsigned i = 0; i < n; i++) {
        struct rte_mbuf *m = rig_out(r, "to", 0, i);
        const struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, ETH);
        unsigned total = rte_be_to_cpu_16(ip->total_length), header = rte_ipv4_hdr_len(ip);
        unsigned bits = rte_be_to_cpu_16(ip->fragment_offset), wrong = 0;

        CU_ASSERT_EQUAL(m->nb_segs, 1);
        CU_ASSERT_EQUAL(m->pkt_len, ETH + total);
        CU_ASSERT_EQUAL(m->data_len, m->pkt_len);
        CU_ASSERT(total <= max);
        CU_ASSERT_EQUAL(memcmp(rte_pktmbuf_mtod(m, void *),
                               "\x02\x00\x00\x00\x00\x03\x02\xc0\x00\x00\x00\x01\x08\x00", ETH),
                        0);
        CU_ASSERT_EQUAL(rte_raw_cksum(ip, header), 0xffff);
        CU_ASSERT_EQUAL((bits & 0x1fff) * 8, offset);
        CU_ASSERT_EQUAL((bits & RTE_IPV4_HDR_MF_FLAG) != 0, i + 1 < n || more_at_end);
        CU_ASSERT(ip->packet_id == RTE_BE16(0x1234) && ip->time_to_live == 63);
        CU_ASSERT(ip->type_of_service == 0xb8 && ip->next_proto_id == 17);
        CU_ASSERT(ip->src_addr == RTE_BE32(0x0a000001) && ip->dst_addr == RTE_BE32(0x14000001));
        for (unsigned k = 0; k < total - header; k++)
            wrong += ((const uint8_t *)ip)[header + k] != BYTE(offset - first_offset + k);
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT_EQUAL(meta_subscriber(m), SUB_CPE0);
        CU_ASSERT_EQUAL(meta_nexthop(m), NH_GRE_MPLS);
        CU_ASSERT_EQUAL(meta_out_port(m), CORE0);
        CU_ASSERT_EQUAL(meta_in_port(m), CPE0);
        CU_ASSERT_EQUAL(m->hash.sched.queue_id, 4711);
        offset += total - header;
    }
    return offset - first_offset;
}

static void run(struct rig *r, struct rte_mbuf *m)
{
    rig_clear(r);
    rig_burst(r, &m, 1);
}

static void test_two(void)
{
    struct rig *r = rig_open(&task_fragment, "", NULL);

    run(r, frame(0, 1480, 0, 0));
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 2);
    CU_ASSERT_EQUAL(reassemble(r, 1468, 0, false), 1480);
    CU_ASSERT_EQUAL(rig_task(r)->created, 2);
    CU_ASSERT_EQUAL(rig_task(r)->consumed, 1);
    /* one byte too many; padding is left behind */
    run(r, frame(0, 1449, 0, 4));
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 2);
    CU_ASSERT_EQUAL(reassemble(r, 1468, 0, false), 1449);
    rig_close(r);
}

/* From qinq_encap: the tags are on every fragment, and a short one is padded. */
static void test_tags(void)
{
    static const uint8_t l2[] = "\x02\xce\x00\x00\x00\x01\x02\x00\x00\x00\x00\x01\x88\xa8\x00"
                                "\x80\x81\x00\x01\x00\x08\x00";
    struct rig *r = rig_open(&task_fragment, "", NULL);
    struct rte_mbuf *m = frame(0, 1448 + 8, 0, 0);
    const struct rte_ipv4_hdr *ip;

    memcpy(rte_pktmbuf_prepend(m, 8), l2, 22);
    run(r, m);
    CU_ASSERT_EQUAL_FATAL(rig_captured(r, "to"), 2);
    m = rig_out(r, "to", 0, 0);
    CU_ASSERT_EQUAL(m->pkt_len, 22 + 1468);
    CU_ASSERT_EQUAL(memcmp(rte_pktmbuf_mtod(m, void *), l2, 22), 0);
    m = rig_out(r, "to", 0, 1);
    CU_ASSERT_EQUAL(m->pkt_len, 60);
    CU_ASSERT_EQUAL(memcmp(rte_pktmbuf_mtod(m, void *), l2, 22), 0);
    ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 22);
    CU_ASSERT_EQUAL(ip->total_length, RTE_BE16(28));
    CU_ASSERT_EQUAL(ip->fragment_offset, RTE_BE16(1448 / 8));
    CU_ASSERT_EQUAL(rte_raw_cksum(ip, 20), 0xffff);
    CU_ASSERT_EQUAL(memcmp((const uint8_t *)(ip + 1) + 8, "\0\0\0\0\0\0\0\0\0\0", 10), 0);
    rig_close(r);
}

/* Without a tunnel nothing will make a short fragment long enough for Ethernet. */
static void test_short(void)
{
    static const struct {
        unsigned nexthop, max, len;
    } cases[] = {
        {NH_GRE_MPLS, 1468, 42}, {NH_GRE, 1472, 42}, {NH_MPLS, 1496, 56}, {NH_PLAIN, 1500, 60}};
    struct rig *r = rig_open(&task_fragment, "", NULL);

    for (unsigned i = 0; i < RTE_DIM(cases); i++) {
        unsigned first = (cases[i].max - 20) / 8 * 8;
        struct rte_mbuf *m = frame(0, first + 8, 0, 0);

        meta_set_nexthop(m, (uint16_t)cases[i].nexthop);
        run(r, m);
        CU_ASSERT_EQUAL_FATAL(rig_captured(r, "to"), 2);
        m = rig_out(r, "to", 0, 1);
        CU_ASSERT_EQUAL(m->pkt_len, cases[i].len);
        for (unsigned k = 42; k < cases[i].len; k++)
            CU_ASSERT_EQUAL(rte_pktmbuf_mtod(m, uint8_t *)[k], 0);
    }
    rig_close(r);
}

static void broken(struct rig *r, unsigned at, uint8_t value)
{
    struct rte_mbuf *m = frame(0, 1480, 0, 0);

    rte_pktmbuf_mtod(m, uint8_t *)[at] = value;
    CU_ASSERT_STRING_EQUAL(rig_fate(r, m), "drop bad_frame");
}

static void test_bad_frame(void)
{
    static const uint8_t tagged[22] = {[12] = 0x88, 0xa8, 0, 1, 0x81, 0, 0, 1, 8, 0};
    struct rig *r = rig_open(&task_fragment, "", NULL);
    struct rte_mbuf *m;

    broken(r, 13, 0x06); /* no IPv4 */
    broken(r, 12, 0x81); /* one tag */
    broken(r, ETH, 0x65);
    broken(r, ETH, 0x44);
    broken(r, ETH + 2, 0xff); /* longer than the frame */
    broken(r, ETH + 8, 62);   /* checksum */
    mbuf_guard(0);
    for (size_t len = 0; len <= 22; len++) {
        m = mbuf_from_bytes(tagged, len, CPE0);
        CU_ASSERT_STRING_EQUAL(rig_fate(r, m), "drop bad_frame");
    }
    rig_close(r);
}

static void test_fits(void)
{
    struct rig *r = rig_open(&task_fragment, "", NULL);
    struct rte_mbuf *m = frame(0, 1448, 0, 3);

    CU_ASSERT_STRING_EQUAL(rig_fate(r, m), "to");
    CU_ASSERT_PTR_EQUAL(rig_last(r), m);
    CU_ASSERT_EQUAL(m->pkt_len, ETH + 1468 + 3);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, frame(0, 1448, RTE_IPV4_HDR_DF_FLAG, 0)), "to");
    CU_ASSERT_EQUAL(rig_task(r)->created, 0);
    rig_close(r);
}

/* Of a fragment: offsets go on from its own, and more still follow its last part. */
static void test_fragment_of_fragment(void)
{
    struct rig *r = rig_open(&task_fragment, "", NULL);

    run(r, frame(0, 1480, RTE_IPV4_HDR_MF_FLAG | 100, 0));
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 2);
    CU_ASSERT_EQUAL(reassemble(r, 1468, 800, true), 1480);
    run(r, frame(0, 1480, 100, 0));
    CU_ASSERT_EQUAL(reassemble(r, 1468, 800, false), 1480);
    rig_close(r);
}

static void test_options(void)
{
    struct rig *r = rig_open(&task_fragment, "", NULL);

    run(r, frame(40, 1440, 0, 0));
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 2);
    CU_ASSERT_EQUAL(reassemble(r, 1468, 0, false), 1440);
    rig_close(r);
}

static void test_by_subscriber(void)
{
    struct rig *r;

    harness_set_mtu(CPE0, 576);
    r = rig_open(&task_fragment, "by=subscriber", NULL);
    run(r, frame(0, 1200, 0, 0));
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 3);
    CU_ASSERT_EQUAL(reassemble(r, 576, 0, false), 1200);
    rig_close(r);
    harness_set_mtu(CPE0, 1500);
}

/* 64 fragments of one packet, in a burst with others, and one more than that. */
static void test_many(void)
{
    struct rig *r;
    struct rte_mbuf *m[3];

    harness_set_mtu(CPE0, 68); /* 48 bytes in each fragment */
    r = rig_open(&task_fragment, "by=subscriber", NULL);
    run(r, frame(40, 64 * 24, 0, 0)); /* 68 - 60 = 8 */
    CU_ASSERT_EQUAL(rig_drops(r, "too_many"), 1);
    run(r, frame(0, 1900, 0, 0)); /* 40 */
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 40);
    CU_ASSERT_EQUAL(reassemble(r, 68, 0, false), 1900);
    run(r, frame(40, 512, 0, 0));
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 64);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, frame(40, 513, 0, 0)), "drop too_many");
    rig_clear(r);
    for (unsigned i = 0; i < 3; i++)
        m[i] = frame(40, 512, 0, 0);
    rig_burst(r, m, 3);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 192);
    rig_close(r);
    harness_set_mtu(CPE0, 1500);
}

static void test_df(void)
{
    struct rig *r = rig_open(&task_fragment, "", NULL);
    struct rte_mbuf *m = frame(0, 1480, RTE_IPV4_HDR_DF_FLAG, 0);

    CU_ASSERT_STRING_EQUAL(rig_fate(r, m), "punt");
    CU_ASSERT_EQUAL(meta_punt_reason(m), PUNT_TOO_BIG);
    CU_ASSERT_EQUAL(meta_in_port(m), CPE0);
    CU_ASSERT_EQUAL(meta_nexthop(m), NH_GRE_MPLS);
    CU_ASSERT_EQUAL(m->pkt_len, ETH + 1500);
    rig_close(r);
    r = rig_open(&task_fragment, "", "to");
    CU_ASSERT_STRING_EQUAL(rig_fate(r, frame(0, 1480, RTE_IPV4_HDR_DF_FLAG, 0)), "drop df_set");
    rig_close(r);
}

static void test_no_mtu(void)
{
    static const uint16_t bad[] = {0, 6, 0xffff};
    struct rig *r = rig_open(&task_fragment, "", NULL);
    struct rte_mbuf *m;

    for (unsigned i = 0; i < 3; i++) {
        m = frame(0, 1480, 0, 0);
        meta_set_nexthop(m, bad[i]);
        CU_ASSERT_STRING_EQUAL(rig_fate(r, m), "drop no_mtu");
    }
    rig_close(r);
    r = rig_open(&task_fragment, "by=subscriber", NULL);
    for (unsigned i = 0; i < 3; i++) {
        m = frame(0, 1480, 0, 0);
        meta_set_subscriber(m, bad[i]);
        CU_ASSERT_STRING_EQUAL(rig_fate(r, m), "drop no_mtu");
    }
    rig_close(r);
}

static void test_no_mbuf(void)
{
    static struct rte_mbuf *taken[RIG_MBUFS];
    struct rig *r = rig_open(&task_fragment, "", NULL);
    struct rte_mbuf *m = frame(0, 1480, 0, 0);
    unsigned n = rte_mempool_avail_count(harness_pool) - 1; /* one of the two is left */

    CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_alloc_bulk(harness_pool, taken, n), 0);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, m), "drop no_mbuf");
    CU_ASSERT_EQUAL(rig_task(r)->created, 0);
    rte_pktmbuf_free_bulk(taken, n);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, frame(0, 1480, 0, 0)), "ended 3 times");
    rig_close(r);
}

/* Each fragment goes the way of its egress port, and where none leads there it is counted. */
static void test_no_path(void)
{
    struct rig *r = rig_open(&task_fragment, "", "to:4");

    run(r, frame(0, 1480, 0, 0));
    CU_ASSERT_EQUAL(rig_captured_way(r, "to", CORE0), 2);
    rig_lose_path(r, "to", CORE0);
    run(r, frame(0, 1480, 0, 0));
    CU_ASSERT_EQUAL(rig_drops(r, "no_path"), 2);
    rig_close(r);
}

static const struct test tests[] = {
    {"two fragments", test_two},     {"with tags", test_tags},
    {"short fragments", test_short}, {"frames that are none of both", test_bad_frame},
    {"packets that fit", test_fits}, {"a fragment of a fragment", test_fragment_of_fragment},
    {"options", test_options},       {"by the access port's MTU", test_by_subscriber},
    {"many fragments", test_many},   {"DF", test_df},
    {"no limit known", test_no_mtu}, {"no mbuf", test_no_mbuf},
    {"no path", test_no_path},       {NULL, NULL},
};

const struct test_program test_program = {"fragment", tests, harness_open, harness_close};
