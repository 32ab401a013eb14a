/* SPDX-License-Identifier: BSD-3-Clause */
/* arp: what a neighbour of the core is believed. Whoever takes its MAC takes all upstream traffic.
 */
#include "arp_rig.h"

#define OLD     "02c000000009" /* the neighbour */
#define NEW     "02c00000000a" /* another station on its link */
#define TO_US   "020000000003 c6336401"
#define ADDRESS "c6336409"

static const struct nexthop *nexthop(void)
{
    return &harness_tables()->routes->nexthop[NH_NO_MAC];
}

static const char *claim_by_reply(const char *mac)
{
    char hex[256];

    snprintf(hex, sizeof(hex), "020000000003 %s" REPLY "%s" ADDRESS TO_US, mac, mac);
    return fate(hex, CORE0);
}

static const char *claim_by_request(const char *mac)
{
    char hex[256];

    snprintf(hex, sizeof(hex), BROADCAST "%s" REQUEST "%s" ADDRESS NOBODY "c6336401", mac, mac);
    return fate(hex, CORE0);
}

static const char *claim_gratuitously(const char *mac)
{
    char hex[256];

    snprintf(hex, sizeof(hex), BROADCAST "%s" REQUEST "%s" ADDRESS NOBODY ADDRESS, mac, mac);
    return fate(hex, CORE0);
}

/* Number i of all frames to the core port is a request to that MAC. */
static bool asks(unsigned i, const char *to)
{
    char hex[256];
    struct rte_mbuf *want, *m = rig_out(r, "to", CORE0, i);
    bool same;

    snprintf(hex, sizeof(hex), "%s 020000000003" REQUEST TO_US NOBODY ADDRESS PAD18, to);
    want = mbuf_from_hex(hex, 0);
    same = m != NULL && mbuf_is(m, rte_pktmbuf_mtod(want, void *), want->pkt_len);
    rte_pktmbuf_free(want);
    return same;
}

static unsigned asked(void)
{
    return rig_captured_way(r, "to", CORE0);
}

static void test_unknown(void)
{
    open_rig("");
    poll_at(0);
    /* unasked: it is not believed, but asked */
    CU_ASSERT_STRING_EQUAL(claim_by_reply(OLD), "ended 2 times");
    CU_ASSERT_EQUAL(rig_drops(r, "arp_unsolicited"), 1);
    CU_ASSERT_FALSE(nexthop()->mac_known);
    CU_ASSERT(asked() == 1 && asks(0, BROADCAST));
    /* an answer from another port is none, and a question is no answer */
    CU_ASSERT_STRING_EQUAL(
        fate("020000000004 " OLD REPLY OLD ADDRESS "020000000004 c6336501", CORE1),
        "drop arp_foreign");
    CU_ASSERT_STRING_EQUAL(claim_by_request(OLD), "to/2");
    CU_ASSERT_STRING_EQUAL(claim_gratuitously(OLD), "drop arp_unsolicited");
    CU_ASSERT_FALSE(nexthop()->mac_known);
    CU_ASSERT_STRING_EQUAL(claim_by_reply(OLD), "consumed");
    CU_ASSERT(nexthop()->mac_known &&
              memcmp(nexthop()->eth, "\x02\xc0\0\0\0\x09\x02\0\0\0\0\x03", 12) == 0);
    /* the same again does no harm; a second answer is one too many */
    CU_ASSERT_STRING_EQUAL(claim_gratuitously(OLD), "consumed");
    CU_ASSERT_STRING_EQUAL(claim_by_reply(NEW), "drop arp_unsolicited");
    CU_ASSERT_EQUAL(nexthop()->eth[5], 9);
    CU_ASSERT_EQUAL(figure("learned"), 2);
    CU_ASSERT_EQUAL(figure("nexthop_mac_changes"), 0);
    close_rig();
}

static void test_late(void)
{
    open_rig("");
    poll_at(0);
    CU_ASSERT_STRING_EQUAL(claim_by_request(OLD), "ended 2 times"); /* a reply and a question */
    poll_at(1.5);
    CU_ASSERT_STRING_EQUAL(claim_by_reply(OLD), "ended 2 times"); /* too late: asked once more */
    CU_ASSERT_FALSE(nexthop()->mac_known);
    poll_at(2);
    CU_ASSERT_STRING_EQUAL(claim_by_reply(OLD), "consumed");
    CU_ASSERT(nexthop()->mac_known);
    close_rig();
}

/* Somebody claims the address of a neighbour that is there, in every way. */
static void test_taken_over(void)
{
    open_rig("");
    poll_at(0);
    teach_nexthop();
    rig_clear(r);
    for (unsigned s = 2; s < 80; s += 2) {
        poll_at(s);
        CU_ASSERT_STRING_EQUAL(s % 3 == 0   ? claim_by_reply(NEW)
                               : s % 3 == 1 ? claim_gratuitously(NEW)
                                            : claim_by_request(NEW),
                               "ended 2 times");
        CU_ASSERT_EQUAL(nexthop()->eth[5], 9);
        CU_ASSERT_STRING_EQUAL(claim_by_reply(OLD),
                               "consumed"); /* it has been asked, and is there */
        CU_ASSERT_STRING_EQUAL(claim_by_reply(NEW), "drop arp_unsolicited");
    }
    CU_ASSERT_EQUAL(nexthop()->eth[5], 9);
    CU_ASSERT_EQUAL(figure("nexthop_mac_changes"), 0);
    CU_ASSERT(asks(0, OLD));
    close_rig();
}

/* A neighbour is replaced: the old one does not answer any more. */
static void test_replaced(void)
{
    uint64_t seen = 0;

    open_rig("");
    poll_at(0);
    teach_nexthop();
    rig_clear(r);
    poll_at(2);
    CU_ASSERT_STRING_EQUAL(claim_gratuitously(NEW), "ended 2 times");
    for (double s = 2; s < 7; s += 1 / 64.0) {
        poll_at(s);
        if (asked() == 4)
            break;
        CU_ASSERT_EQUAL(nexthop()->eth[5], 9);
        if (asked() < 4)
            CU_ASSERT_STRING_EQUAL(claim_by_reply(NEW), "drop arp_unsolicited");
    }
    /* three times by unicast, then in public */
    CU_ASSERT(asked() == 4 && asks(0, OLD) && asks(1, OLD) && asks(2, OLD) && asks(3, BROADCAST));
    CU_ASSERT_STRING_EQUAL(claim_by_reply(NEW), "consumed");
    CU_ASSERT_EQUAL(nexthop()->eth[5], 10);
    CU_ASSERT_STRING_EQUAL(claim_by_reply(OLD), "drop arp_unsolicited");
    CU_ASSERT_EQUAL(figure("nexthop_mac_changes"), 1);
    arp_log_changes(rig_task(r), &seen);
    CU_ASSERT_EQUAL(seen, 1);
    close_rig();
}

/* A next hop of which the task is told has its neighbour's MAC at once, and as of when the task
 * takes the news. */
static void test_told(void)
{
    struct route_table *routes = harness_tables()->routes;
    struct nexthop_spec spec = {.port = CORE0,
                                .mtu = 1500,
                                .gateway_mac = harness_model.ports[CORE0].mac,
                                .via = mapped6(0xc6336409)};
    struct nexthop *known = &routes->nexthop[NH_NO_MAC];
    static const uint8_t mac[6] = {2, 0xc0, 0, 0, 0, 11};
    uint32_t id[2];

    open_rig("");
    poll_at(0);
    teach_nexthop();
    for (unsigned i = 0; i < 2; i++) {
        id[i] = (uint32_t)route_add_nexthop(routes, &spec);
        CU_ASSERT(arp_tell_nexthop(rig_task(r), id[i]));
        CU_ASSERT(routes->nexthop[id[i]].mac_known && routes->nexthop[id[i]].eth[5] == 9);
        nexthop_set_mac(known, i == 0 ? mac : NULL);
        poll_at(1 + i);
        CU_ASSERT_EQUAL(routes->nexthop[id[i]].mac_known, i == 0);
        CU_ASSERT_EQUAL(routes->nexthop[id[i]].eth[5], i == 0 ? 11 : 0);
        arp_forget_nexthop(rig_task(r), id[i]);
        route_release_nexthop(routes, id[i]);
        nexthop_set_mac(known, (const uint8_t *)"\x02\xc0\0\0\0\x09");
    }
    close_rig();
}

static const struct test tests[] = {
    {"a next hop that is not known yet", test_unknown},
    {"an answer that comes too late", test_late},
    {"a next hop's address is claimed by another", test_taken_over},
    {"a next hop is replaced", test_replaced},
    {"a new next hop of a neighbour", test_told},
    {NULL, NULL},
};

const struct test_program test_program = {"arp_core", tests, harness_open, harness_close};
