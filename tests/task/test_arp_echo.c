/* SPDX-License-Identifier: BSD-3-Clause */
/* arp: echo replies. */
#include "arp_packet.h"

static void check_reply(unsigned at, const struct packet *p, unsigned out_port)
{
    unsigned len = RTE_MAX(at + 20 + p->len, 60u), wrong = 0;

    check_ipv4(at, p->dst, p->src, p->len);
    CU_ASSERT_EQUAL(*bytes(at + 1), 0x2b); /* its service class */
    CU_ASSERT_EQUAL(memcmp(bytes(at + 20), "\0\0", 2), 0);
    CU_ASSERT_EQUAL(memcmp(bytes(at + 24), p->payload + 4, p->len - 4), 0);
    CU_ASSERT_EQUAL(rig_last(r)->pkt_len, len);
    CU_ASSERT_EQUAL(rig_last(r)->data_len, len);
    for (unsigned i = at + 20 + p->len; i < len; i++)
        wrong += *bytes(i);
    CU_ASSERT_EQUAL(wrong, 0); /* padding tells nothing */
    CU_ASSERT_EQUAL(meta_out_port(rig_last(r)), out_port);
}

static void test_echo_subscriber(void)
{
    struct packet p = echo(CPE, ADDR_CPE0, 56);

    open_rig("");
    CU_ASSERT_STRING_EQUAL(ping(&p, 0xffff), "to/0"); /* wherever it says that it came from */
    CU_ASSERT(begins_with(cpe0_l2, 1));
    check_reply(22, &p, CPE0);
    /* another gateway address; a prefix; a short one; and the longest */
    p = echo(PREFX, ADDR_CORE1, 0);
    CU_ASSERT_STRING_EQUAL(ping(&p, CPE1), "to/1");
    CU_ASSERT(begins_with(cpe1_l2, 1));
    check_reply(22, &p, CPE1);
    p = echo(CPE, ADDR_CPE0, 1472);
    CU_ASSERT_STRING_EQUAL(ping(&p, CPE0), "to/0");
    check_reply(22, &p, CPE0);
    p = echo(CPE, ADDR_CPE0, 57); /* an odd length */
    p.options = 40;               /* are left out */
    CU_ASSERT_STRING_EQUAL(ping(&p, CPE0), "to/0");
    check_reply(22, &p, CPE0);
    p.options = 0;
    p.tags = "\x88\xa8\0\x80\x81\0\x01\0"; /* still inside its tags */
    CU_ASSERT_STRING_EQUAL(ping(&p, CPE0), "to/0");
    CU_ASSERT(begins_with(cpe0_l2, 1));
    check_reply(22, &p, CPE0);
    close_rig();
    open_rig("pcp=zero");
    CU_ASSERT_STRING_EQUAL(ping(&p, CPE0), "to/0");
    CU_ASSERT(begins_with(cpe0_l2, 0));
    close_rig();
}

static void test_echo_core(void)
{
    struct packet p = echo(0xc6336477, ADDR_CORE0, 10);

    open_rig("");
    CU_ASSERT_STRING_EQUAL(ping(&p, CORE0), "to/2");
    CU_ASSERT_EQUAL(memcmp(bytes(0), "\x02\xc0\0\0\0\x77\x02\0\0\0\0\x03\x08\0", 14), 0);
    check_reply(14, &p, CORE0);
    CU_ASSERT_STRING_EQUAL(ping(&p, N_TEST_PORTS), "drop bad_port");
    p.tags = "\x88\xa8\0\x80\x81\0\x01\0";
    CU_ASSERT_STRING_EQUAL(ping(&p, CPE0), "drop unknown_subscriber");
    close_rig();
}

static void test_echo_unresolved(void)
{
    struct packet p = echo(0x0a000004, ADDR_CPE0, 56);

    open_rig("");
    poll_at(0);
    CU_ASSERT_STRING_EQUAL(ping(&p, CPE0), "ended 2 times");
    CU_ASSERT_EQUAL(rig_drops(r, "unresolved"), 1);
    CU_ASSERT(last_is(BROADCAST "020000000001" NOMAC_TAGS REQUEST "020000000001 0a0000fe" NOBODY
                                "0a000004" PAD10,
                      CPE0));
    close_rig();
}

static void test_echo_refused(void)
{
    struct packet p = echo(CPE, 0x0a000002, 56);
    struct rte_mbuf *m;

    open_rig("");
    CU_ASSERT_STRING_EQUAL(ping(&p, CPE0), "drop not_for_us");
    p = udp(CPE, ADDR_CPE0, 56);
    CU_ASSERT_STRING_EQUAL(ping(&p, CPE0), "to/0");
    CU_ASSERT_EQUAL(memcmp(bytes(22 + 20), "\x03\x03", 2), 0); /* port unreachable */
    p.proto = 6;
    CU_ASSERT_STRING_EQUAL(ping(&p, CPE0), "to/0");
    CU_ASSERT_EQUAL(memcmp(bytes(22 + 20), "\x03\x02", 2), 0); /* protocol unreachable */
    p = echo(CPE, ADDR_CPE0, 56);
    p.payload[0] = 0; /* somebody's reply */
    p.payload[2] += 8;
    CU_ASSERT_STRING_EQUAL(ping(&p, CPE0), "drop unsupported");
    p = echo(CPE, ADDR_CPE0, 56);
    p.payload[20] ^= 1;
    CU_ASSERT_STRING_EQUAL(ping(&p, CPE0), "drop icmp_malformed");
    for (p.len = 0; p.len < 8; p.len++)
        CU_ASSERT_STRING_EQUAL(ping(&p, CPE0), "drop icmp_malformed");
    p = echo(CPE, ADDR_CPE0, 56);
    p.flags = RTE_IPV4_HDR_MF_FLAG;
    CU_ASSERT_STRING_EQUAL(ping(&p, CPE0), "drop icmp_fragment");
    p.flags = 1;
    CU_ASSERT_STRING_EQUAL(ping(&p, CPE0), "drop icmp_fragment");
    for (unsigned i = 0; i < 6; i++) {
        static const uint32_t nobody[] = {0,          0x7f000001, 0xe0000001,
                                          0xf0000001, 0xffffffff, ADDR_CORE0};

        p = echo(nobody[i], ADDR_CPE0, 56);
        CU_ASSERT_STRING_EQUAL(ping(&p, CPE0), "drop icmp_not_allowed");
    }
    p = echo(CPE, ADDR_CPE0, 56);
    m = frame(&p, CPE0, PUNT_FOR_US);
    rte_pktmbuf_mtod(m, uint8_t *)[14 + 8] ^= 1;
    CU_ASSERT_STRING_EQUAL(rig_fate(r, m), "drop ip_malformed");
    m = frame(&p, CPE0, PUNT_FOR_US);
    rte_pktmbuf_prepend(m, rte_pktmbuf_headroom(m) - 6); /* a frame that begins at byte 6 */
    memmove(rte_pktmbuf_mtod(m, uint8_t *), rte_pktmbuf_mtod(m, uint8_t *) + 122, 98);
    rte_pktmbuf_trim(m, 122);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, m), "drop no_room");
    close_rig();
}

static void test_rates(void)
{
    struct packet ask = echo(CPE, ADDR_CPE0, 20), late = udp(CPE, ALIEN, 100);
    unsigned errors = 0, echoes = 0;

    open_rig("icmp_rate=80"); /* 10 at once */
    poll_at(0);
    for (unsigned i = 0; i < 15; i++) {
        errors += strcmp(fail(&late, PUNT_TTL_EXPIRED, 0), "to/0") == 0;
        echoes += strcmp(ping(&ask, CPE0), "to/0") == 0;
    }
    CU_ASSERT(errors == 10 && echoes == 10);
    CU_ASSERT_EQUAL(rig_drops(r, "icmp_rate_limited"), 10);
    poll_at(0.0626); /* 5 more */
    for (unsigned i = 0; i < 15; i++)
        errors += strcmp(fail(&late, PUNT_TTL_EXPIRED, 0), "to/0") == 0;
    CU_ASSERT_EQUAL(errors, 15);
    close_rig();
    open_rig("icmp_rate=1"); /* whole ones, however slow */
    poll_at(0);
    CU_ASSERT_STRING_EQUAL(ping(&ask, CPE0), "to/0");
    poll_at(0.9);
    CU_ASSERT_STRING_EQUAL(ping(&ask, CPE0), "drop icmp_rate_limited");
    poll_at(1.01);
    CU_ASSERT_STRING_EQUAL(ping(&ask, CPE0), "to/0");
    close_rig();
}

static const struct test tests[] = {
    {"echo from a subscriber", test_echo_subscriber},
    {"echo from the core", test_echo_core},
    {"echo from a CPE without MAC", test_echo_unresolved},
    {"what is no echo request to us", test_echo_refused},
    {"rates of replies and errors", test_rates},
    {NULL, NULL},
};

const struct test_program test_program = {"arp_echo", tests, harness_open, harness_close};
