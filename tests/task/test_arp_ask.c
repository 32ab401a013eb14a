/* SPDX-License-Identifier: BSD-3-Clause */
/* arp: what is asked for, how often, and what is forgotten. */
#include "arp_rig.h"

static void test_ask_cpe(void)
{
    open_rig("keep=0");
    poll_at(0);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, unresolved(SUB_NO_MAC, 0xdead, CPE0, "0a000004")),
                           "ended 2 times"); /* dropped, and a request made */
    CU_ASSERT_EQUAL(rig_drops(r, "unresolved"), 1);
    CU_ASSERT_EQUAL(rig_task(r)->created, 1);
    CU_ASSERT(last_is(BROADCAST "020000000001" NOMAC_TAGS REQUEST "020000000001 0a0000fe" NOBODY
                                "0a000004" PAD10,
                      CPE0));
    /* not more than one a second */
    CU_ASSERT_STRING_EQUAL(rig_fate(r, unresolved(SUB_NO_MAC, 0, CPE0, "0a000004")),
                           "drop unresolved");
    poll_at(0.99);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, unresolved(SUB_NO_MAC, 0, CPE0, "0a000004")),
                           "drop unresolved");
    poll_at(1.05);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, unresolved(SUB_NO_MAC, 0, CPE0, "0a000099")),
                           "ended 2 times");
    CU_ASSERT(last_is(BROADCAST "020000000001" NOMAC_TAGS REQUEST "020000000001 0a0000fe" NOBODY
                                "0a000004" PAD10,
                      CPE0)); /* its own address, not the packet's */
    /* known by now, on another port, or nobody */
    CU_ASSERT_STRING_EQUAL(rig_fate(r, unresolved(SUB_CPE0, 0, CPE0, "0a000001")), "to/0");
    poll_at(3);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, unresolved(SUB_NO_MAC, 0, CPE1, "0a000004")),
                           "drop unresolved");
    CU_ASSERT_STRING_EQUAL(rig_fate(r, unresolved(0xdeadbeef, 0xdead, CPE0, "0a000004")),
                           "drop unresolved");
    CU_ASSERT_STRING_EQUAL(rig_fate(r, unresolved(0, 0, CPE0, "0a000004")), "drop unresolved");
    CU_ASSERT_EQUAL(figure("requests"), 2);
    close_rig();
}

/* Of a subscriber with a prefix, the address that the packet is for. */
static void test_ask_in_prefix(void)
{
    struct subscriber *s = &harness_tables()->subscribers->record[SUB_CPE1];
    struct subscriber was = *s;

    s->mac_static = 0;
    subscriber_set_mac(s, NULL);
    harness_model.ports[CPE1].addresses[1] = 0x0a000205; /* 10.0.2.5: farther away */
    harness_model.ports[CPE1].n_addresses = 2;
    open_rig("keep=0");
    poll_at(0);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, unresolved(SUB_CPE1, 0, CPE1, "0a000177")), "ended 2 times");
    CU_ASSERT(last_is(BROADCAST "020000000002" CPE1_TAGS REQUEST "020000000002 0a0001fe" NOBODY
                                "0a000177" PAD10,
                      CPE1));
    close_rig();
    harness_model.ports[CPE1].n_addresses = 1;
    *s = was;
}

static void test_ask_nexthop(void)
{
    open_rig("keep=0");
    poll_at(0);
    /* upstream: the subscriber that sent it is known, but not whom to send it to */
    CU_ASSERT_STRING_EQUAL(rig_fate(r, unresolved(SUB_NO_MAC, NH_NO_MAC, CORE0, "18000001")),
                           "ended 2 times");
    CU_ASSERT(last_is(
        BROADCAST "020000000003" REQUEST "020000000003 c6336401" NOBODY "c6336409" PAD18, CORE0));
    CU_ASSERT_STRING_EQUAL(rig_fate(r, unresolved(SUB_NO_MAC, NH_NO_MAC, CORE0, "18000001")),
                           "drop unresolved");
    CU_ASSERT_STRING_EQUAL(rig_fate(r, unresolved(0, NH_GRE, CORE1, "18000001")),
                           "drop unresolved"); /* static */
    poll_at(2);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, unresolved(0, NH_NO_MAC, CORE0, "18000001")),
                           "ended 2 times");
    CU_ASSERT_EQUAL(figure("requests"), 2);
    close_rig();
}

static void test_ask_limits(void)
{
    static struct rte_mbuf *taken[RIG_MBUFS];
    struct rte_mbuf *m;
    unsigned n;

    open_rig("arp_rate=0 keep=0");
    poll_at(0);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, unresolved(SUB_NO_MAC, 0, CPE0, "0a000004")),
                           "drop unresolved");
    close_rig();
    open_rig("keep=0");
    poll_at(0);
    m = unresolved(SUB_NO_MAC, 0, CPE0, "0a000004");
    n = rte_mempool_avail_count(harness_pool);
    CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_alloc_bulk(harness_pool, taken, n), 0);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, m), "drop unresolved");
    CU_ASSERT_EQUAL(figure("requests_no_mbuf"), 1);
    rte_pktmbuf_free_bulk(taken, n);
    /* that was no request: the next packet makes one at once */
    CU_ASSERT_STRING_EQUAL(rig_fate(r, unresolved(SUB_NO_MAC, 0, CPE0, "0a000004")),
                           "ended 2 times");
    rig_lose_path(r, "to", CPE0);
    poll_at(2);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, unresolved(SUB_NO_MAC, 0, CPE0, "0a000004")),
                           "ended 2 times");
    CU_ASSERT_EQUAL(rig_drops(r, "no_path"), 1);
    close_rig();
}

/* A whole burst of packets each of which is dropped, asks twice and finds no path. */
static void test_burst(void)
{
    struct rte_mbuf *m[BURST_MAX];

    open_rig("keep=0");
    poll_at(0);
    rig_lose_path(r, "to", CPE0);
    for (unsigned i = 0; i < BURST_MAX; i++)
        m[i] = unresolved(SUB_NO_MAC, NH_NO_MAC, CPE0, "0a000004");
    rig_burst(r, m, BURST_MAX);
    CU_ASSERT_EQUAL(rig_drops(r, "unresolved"), BURST_MAX);
    for (unsigned i = 0; i < BURST_MAX; i++)
        m[i] = punted(BROADCAST "02ce00000001" CPE0_TAGS REQUEST "02ce00000001 0a000001" NOBODY
                                "0a0000fe",
                      CPE0, PUNT_FOR_US);
    rig_burst(r, m, BURST_MAX);
    CU_ASSERT_EQUAL(rig_drops(r, "no_path"), BURST_MAX + 1);
    close_rig();
}

/* Polls each tick from one second to another; returns the requests sent. */
static unsigned run(double from, double to)
{
    unsigned sent = 0;

    for (double t = from; t < to; t += 1 / 64.0)
        sent += poll_at(t);
    return sent;
}

static void test_ageing(void)
{
    const struct subscriber *s = subscriber(SUB_NO_MAC);
    const struct nexthop *nh = &harness_tables()->routes->nexthop[NH_NO_MAC];

    open_rig("age=80s");
    let_announce();
    poll_at(0);
    CU_ASSERT_STRING_EQUAL(fate("020000000001 02ce00000044" NOMAC_TAGS REPLY
                                "02ce00000044 0a000004 020000000001 0a0000fe",
                                CPE0),
                           "consumed");
    teach_nexthop();
    rig_clear(r);
    CU_ASSERT_EQUAL(run(0, 59.9), 0);
    CU_ASSERT_EQUAL(figure("requests"), 1);
    /* at 3/4, within an eighth: each is asked for by unicast, once */
    CU_ASSERT_EQUAL(run(59.9, 70.1), 2);
    CU_ASSERT_EQUAL(rig_captured_way(r, "to", CPE0), 1);
    CU_ASSERT_EQUAL(rig_captured_way(r, "to", CORE0), 1);
    rig_clear(r);
    CU_ASSERT_EQUAL(run(70.1, 79.9), 0);
    CU_ASSERT(s->mac_known && nh->mac_known);
    /* the CPE answers, the next hop does not */
    CU_ASSERT_STRING_EQUAL(fate("020000000001 02ce00000044" NOMAC_TAGS REPLY
                                "02ce00000044 0a000004 020000000001 0a0000fe",
                                CPE0),
                           "consumed");
    CU_ASSERT_EQUAL(run(79.9, 90.1), 0);
    CU_ASSERT(s->mac_known);
    CU_ASSERT_FALSE(nh->mac_known);
    CU_ASSERT_EQUAL(figure("forgotten"), 1);
    CU_ASSERT_EQUAL(run(90.1, 139.8), 0);
    CU_ASSERT_EQUAL(run(139.8, 150.1), 1);
    CU_ASSERT_EQUAL(rig_captured_way(r, "to", CPE0), 1);
    CU_ASSERT(mbuf_is(rig_out(r, "to", CPE0, 0),
                      "\x02\xce\0\0\0\x44\x02\0\0\0\0\x01\x88\xa8\0\x80\x81\0\x01\x03\x08\x06"
                      "\0\x01\x08\0\x06\x04\0\x01\x02\0\0\0\0\x01\x0a\0\0\xfe\0\0\0\0\0\0\x0a\0\0"
                      "\x04\0\0\0\0\0\0\0\0\0\0",
                      60));
    CU_ASSERT_EQUAL(run(150.1, 171), 0);
    CU_ASSERT_FALSE(s->mac_known);
    /* what is static stays */
    CU_ASSERT(subscriber(SUB_CPE0)->mac_known);
    CU_ASSERT(harness_tables()->routes->nexthop[NH_GRE].mac_known);
    CU_ASSERT_EQUAL(figure("forgotten"), 2);
    close_rig();
}

/* Time that stands still, goes back, or leaps; and a stop. */
static void test_clock(void)
{
    const struct subscriber *s = subscriber(SUB_NO_MAC);

    open_rig("age=80s");
    let_announce();
    poll_at(100);
    CU_ASSERT_STRING_EQUAL(fate("020000000001 02ce00000044" NOMAC_TAGS REPLY
                                "02ce00000044 0a000004 020000000001 0a0000fe",
                                CPE0),
                           "consumed");
    poll_at(100);
    poll_at(50);
    CU_ASSERT_EQUAL(run(50, 60), 0);
    CU_ASSERT(s->mac_known);
    rig_task(r)->stopping = true;
    CU_ASSERT_EQUAL(run(60, 125), 0); /* would ask again */
    CU_ASSERT(s->mac_known);
    rig_task(r)->stopping = false;
    poll_at(1e6);
    poll_at(1e6 + 1);
    CU_ASSERT_FALSE(s->mac_known);
    close_rig();
}

/* The next hops of a set are asked for without a packet, once a second, until they answer. */
static void test_ask_members(void)
{
    static const uint32_t ids[] = {NH_GRE_MPLS, NH_NO_MAC};
    struct route_table *t = harness_tables()->routes;
    struct rte_mbuf *asked;
    int set;

    open_rig("");
    for (unsigned i = 0; i <= 64 * 3; i++)
        poll_at(i / 64.0);
    CU_ASSERT_EQUAL(figure("requests"), 0);
    set = route_add_set(t, ids, 2);
    for (unsigned i = 64 * 3; i <= 64 * 6; i++)
        poll_at(i / 64.0);
    CU_ASSERT_EQUAL(figure("requests"), 3);
    CU_ASSERT_EQUAL_FATAL(rig_captured_way(r, "to", CORE0), 3);
    asked = mbuf_from_hex(
        BROADCAST "020000000003" REQUEST "020000000003 c6336401" NOBODY "c6336409" PAD18, 0);
    CU_ASSERT(mbuf_is(rig_out(r, "to", CORE0, 0), rte_pktmbuf_mtod(asked, void *), asked->pkt_len));
    rte_pktmbuf_free(asked);
    CU_ASSERT_STRING_EQUAL(fate("020000000003 02c000000009" REPLY
                                "02c000000009 c6336409 020000000003 c6336401",
                                CORE0),
                           "consumed");
    CU_ASSERT_EQUAL(t->nexthop[NH_NO_MAC].mac_known, 1);
    for (unsigned i = 64 * 6; i <= 64 * 9; i++)
        poll_at(i / 64.0);
    CU_ASSERT_EQUAL(figure("requests"), 3);
    route_release_set(t, (uint32_t)set);
    t->nexthop[NH_NO_MAC].in_sets = t->nexthop[NH_GRE_MPLS].in_sets = 0;
    close_rig();
}

static const struct test tests[] = {
    {"asking for a CPE", test_ask_cpe},
    {"asking for an address of a prefix", test_ask_in_prefix},
    {"asking for a next hop", test_ask_nexthop},
    {"asking for the next hops of a set", test_ask_members},
    {"limits", test_ask_limits},
    {"a burst", test_burst},
    {"ageing", test_ageing},
    {"the clock", test_clock},
    {NULL, NULL},
};

const struct test_program test_program = {"arp_ask", tests, harness_open, harness_close};
