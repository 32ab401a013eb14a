/* SPDX-License-Identifier: BSD-3-Clause */
/* arp: ICMP errors. */
#include "arp_packet.h"

/* An error at byte at about p, with quote bytes of it. */
static void check_error(unsigned at, const struct packet *p, uint32_t from, const char *head,
                        unsigned quote)
{
    const struct rte_ipv4_hdr *was = (const struct rte_ipv4_hdr *)bytes(at + 28);

    check_ipv4(at, from, p->src, 8 + quote);
    CU_ASSERT_EQUAL(*bytes(at + 1), 0xc0);
    CU_ASSERT_EQUAL(memcmp(bytes(at + 20), head, 2), 0);
    CU_ASSERT_EQUAL(memcmp(bytes(at + 24), head + 2, 4), 0);
    CU_ASSERT_EQUAL(rte_raw_cksum(was, 20u + p->options), 0xffff); /* as it came */
    CU_ASSERT(was->src_addr == rte_cpu_to_be_32(p->src) && was->time_to_live == p->ttl);
    CU_ASSERT_EQUAL(memcmp(bytes(at + 28 + 20 + p->options), p->payload, quote - 20 - p->options),
                    0);
    CU_ASSERT_EQUAL(rig_last(r)->pkt_len, at + 28 + quote);
}

static void test_ttl(void)
{
    struct packet p = udp(CPE, ALIEN, 100);

    open_rig("");
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0xdead), "to/0");
    CU_ASSERT(begins_with(cpe0_l2, 6));
    check_error(22, &p, ADDR_CPE0, "\x0b\0\0\0\0\0", 120);
    CU_ASSERT_EQUAL(meta_out_port(rig_last(r)), CPE0);
    p.options = 40;
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0), "to/0");
    check_error(22, &p, ADDR_CPE0, "\x0b\0\0\0\0\0", 160);
    p.options = 0;
    p.len = 3; /* all that there is */
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0), "to/0");
    check_error(22, &p, ADDR_CPE0, "\x0b\0\0\0\0\0", 23);
    p = echo(CPE, ALIEN, 20); /* a query is answered, with an error */
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0), "to/0");
    check_error(22, &p, ADDR_CPE0, "\x0b\0\0\0\0\0", 48);
    for (unsigned len = 527; len <= 530; len++) { /* the quote ends at 576 bytes in all */
        p = udp(CPE, ALIEN, len);
        CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0), "to/0");
        check_error(22, &p, ADDR_CPE0, "\x0b\0\0\0\0\0", len < 528 ? 547 : 548);
    }
    p = udp(CPE, ALIEN, 100);
    p.flags = RTE_IPV4_HDR_MF_FLAG; /* the first fragment */
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0), "to/0");
    p = udp(0x0a000004, ALIEN, 100);
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0), "ended 2 times");
    CU_ASSERT_EQUAL(rig_drops(r, "unresolved"), 1);
    close_rig();
}

/* Downstream: back through the tunnel of the subscriber that the packet was for. */
static void test_ttl_downstream(void)
{
    struct packet p = udp(ALIEN, PREFX, 100);

    open_rig("");
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0xdead), "route");
    CU_ASSERT_EQUAL(memcmp(bytes(0), "\x02\0\0\0\0\x02\x02\0\0\0\0\x02\x08\0", 14), 0);
    check_error(14, &p, ADDR_CPE1, "\x0b\0\0\0\0\0", 120);
    CU_ASSERT_EQUAL(meta_subscriber(rig_last(r)), SUB_CPE1);
    p = udp(ALIEN, ALIEN + 1, 100);
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0), "drop unknown_subscriber");
    close_rig();
    r = rig_open(&task_arp, "", "to");
    p = udp(ALIEN, PREFX, 100);
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0), "drop no_route_output");
    close_rig();
    harness_model.ports[CPE1].n_addresses = 0;
    open_rig("");
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0), "drop no_gateway_address");
    close_rig();
    harness_model.ports[CPE1].n_addresses = 1;
}

static void test_too_big(void)
{
    struct packet p = udp(CPE, ALIEN, 1460);

    p.ttl = 60;
    p.flags = RTE_IPV4_HDR_DF_FLAG;
    open_rig("");
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TOO_BIG, NH_GRE_MPLS), "to/0");
    CU_ASSERT(begins_with(cpe0_l2, 6));
    check_error(22, &p, ADDR_CPE0, "\x03\x04\0\0\x05\xbc", 548); /* 1468 */
    /* what it says is too big must be */
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TOO_BIG, NH_PLAIN), "drop no_mtu");
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TOO_BIG, 0), "drop no_mtu");
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TOO_BIG, 0xffff), "drop no_mtu");
    close_rig();
}

static void test_too_big_access(void)
{
    struct packet p = udp(ALIEN, CPE, 1460);

    p.flags = RTE_IPV4_HDR_DF_FLAG;
    open_rig("");
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TOO_BIG, NH_GRE_MPLS), "drop no_mtu"); /* 1480 fit */
    close_rig();
    harness_set_mtu(CPE0, 1400);
    open_rig("");
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TOO_BIG, NH_GRE_MPLS), "route");
    check_error(14, &p, ADDR_CPE0, "\x03\x04\0\0\x05\x78", 548);
    /* from a subscriber to another: whichever it exceeds, and the smaller of both */
    p = udp(PREFX, CPE, 1400);
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TOO_BIG, NH_GRE_MPLS), "to/1");
    check_error(22, &p, ADDR_CPE1, "\x03\x04\0\0\x05\x78", 548);
    p = udp(PREFX, CPE, 1460);
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TOO_BIG, NH_GRE_MPLS), "to/1");
    check_error(22, &p, ADDR_CPE1, "\x03\x04\0\0\x05\x78", 548);
    for (unsigned len = 1460; len <= 1490;
         len += 30) { /* beyond one limit of 1468 and 1500, or both */
        p = udp(CPE, PREFX, len);
        CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TOO_BIG, NH_GRE_MPLS), "to/0");
        check_error(22, &p, ADDR_CPE0, "\x03\x04\0\0\x05\xbc", 548);
    }
    close_rig();
    harness_set_mtu(CPE0, 1500);
}

static void test_no_route(void)
{
    struct packet p = udp(CPE, ALIEN, 100);

    open_rig("");
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_NO_ROUTE, 0), "to/0");
    check_error(22, &p, ADDR_CPE0, "\x03\0\0\0\0\0", 120);
    close_rig();
}

/* RFC 1812 section 4.3.2.7. */
static void test_not_allowed(void)
{
    static const uint32_t nobody[] = {0, 0x7f000001, 0xe0000001, 0xf0000001, 0xffffffff};
    static const uint8_t errors[] = {3, 4, 5, 11, 12, 30, 40, 255};
    struct packet p;

    open_rig("");
    for (unsigned i = 0; i < RTE_DIM(nobody); i++) {
        p = udp(nobody[i], CPE, 100);
        CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0), "drop icmp_not_allowed");
        p = udp(CPE, nobody[i], 100);
        CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0), "drop icmp_not_allowed");
    }
    for (unsigned i = 0; i < RTE_DIM(errors); i++) {
        p = echo(CPE, ALIEN, 20);
        p.payload[0] = errors[i];
        CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0), "drop icmp_not_allowed");
    }
    p = udp(CPE, ALIEN, 100);
    p.flags = 1;
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0), "drop icmp_not_allowed");
    p.flags = RTE_IPV4_HDR_MF_FLAG | 185;
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0), "drop icmp_not_allowed");
    p = udp(CPE, ALIEN, 100);
    p.dst_mac = 1; /* an Ethernet multicast */
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0), "drop icmp_not_allowed");
    mbuf_guard(0);
    p = echo(CPE, ALIEN, 20);
    p.len = 0; /* ICMP that does not say what it is */
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0), "drop icmp_not_allowed");
    close_rig();
}

static void test_error_malformed(void)
{
    struct packet p = udp(CPE, ALIEN, 100);
    struct rte_mbuf *m;

    open_rig("");
    m = frame(&p, CPE0, PUNT_TTL_EXPIRED);
    rte_pktmbuf_trim(m, 1);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, m), "drop ip_malformed");
    m = frame(&p, CPE0, PUNT_TTL_EXPIRED);
    rte_pktmbuf_mtod(m, uint8_t *)[13] = 6;
    CU_ASSERT_STRING_EQUAL(rig_fate(r, m), "drop unsupported");
    m = frame(&p, CPE0, PUNT_TTL_EXPIRED);
    rte_pktmbuf_mtod(m, uint8_t *)[14] = 0x44;
    CU_ASSERT_STRING_EQUAL(rig_fate(r, m), "drop ip_malformed");
    m = frame(&p, CPE0, PUNT_TTL_EXPIRED);
    rte_pktmbuf_prepend(m, 100);
    memmove(rte_pktmbuf_mtod(m, uint8_t *), rte_pktmbuf_mtod(m, uint8_t *) + 100, 134);
    rte_pktmbuf_trim(m, 100); /* 28 bytes of headroom, 36 are needed */
    CU_ASSERT_STRING_EQUAL(rig_fate(r, m), "drop no_room");
    close_rig();
}

static const struct test tests[] = {
    {"time exceeded", test_ttl},
    {"time exceeded, downstream", test_ttl_downstream},
    {"fragmentation needed", test_too_big},
    {"network unreachable", test_no_route},
    {"fragmentation needed, downstream", test_too_big_access},
    {"what is not answered", test_not_allowed},
    {"malformed", test_error_malformed},
    {NULL, NULL},
};

const struct test_program test_program = {"arp_error", tests, harness_open, harness_close};
