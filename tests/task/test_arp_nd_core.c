/* SPDX-License-Identifier: BSD-3-Clause */
/* arp: next hops with an address of IPv6 (RFC 4861): how they are asked for their MAC, and what
 * they are believed. Two ports lead to the same link-local address, which is another neighbour on
 * each. */
#include <errno.h>

#include "arp_rig.h"
#include "packet/nd.h"

#define LINK UINT64_C(0xfe80000000000000)
#define NET  UINT64_C(0x20010db800c00000)

#define SOLICITED ND_FLAG_SOLICITED
#define OVERRIDE  ND_FLAG_OVERRIDE

static const struct ipv6 link_via = {LINK, 0x99}, global_via = {NET, 0xabcdef};
static const uint8_t old[6] = {2, 0xc0, 0, 0, 0, 9}, new[6] = {2, 0xc0, 0, 0, 0, 10};
static uint32_t by_link[2], by_global; /* ids of next hops; by_link[]: of CORE0 and CORE1 */

static uint32_t add_nexthop(unsigned port, struct ipv6 via)
{
    struct nexthop_spec spec = {.port = (uint8_t)port,
                                .mtu = 1500,
                                .gateway_mac = harness_model.ports[port].mac,
                                .via = via};

    return (uint32_t)route_add_nexthop(harness_tables()->routes, &spec);
}

static int open_with_nexthops(void)
{
    if (harness_open() != 0)
        return -1;
    by_link[0] = add_nexthop(CORE0, link_via);
    by_link[1] = add_nexthop(CORE1, link_via);
    by_global = add_nexthop(CORE0, global_via);
    return 0;
}

static struct nexthop *nexthop(uint32_t id)
{
    return &harness_tables()->routes->nexthop[id];
}

static void close_all(void)
{
    for (unsigned i = 0; i < 2; i++)
        nexthop_set_mac(nexthop(by_link[i]), NULL);
    nexthop_set_mac(nexthop(by_global), NULL);
    close_rig();
}

static void put(uint8_t *to, struct ipv6 addr)
{
    store64(to, net64(addr.upper));
    store64(to + 8, net64(addr.lower));
}

/* What a station of a core port says of an address: the fate of its frame. says: whether the option
 * with the MAC is there. */
static const char *claims(unsigned port, uint8_t type, uint8_t flags, struct ipv6 addr,
                          const uint8_t *mac, bool says)
{
    uint8_t f[14 + ND_NEIGHBOUR_SIZE], from[16], ours[16];
    struct ipv6_hdr *ip = (struct ipv6_hdr *)(f + 14);
    struct rte_mbuf *m;

    memcpy(f, harness_model.ports[port].mac, 6);
    memcpy(f + 6, mac, 6);
    store16(f + 12, RTE_BE16(RTE_ETHER_TYPE_IPV6));
    put(from, addr);
    nd_link_local(f, ours);
    nd_write(ip, type, flags, from, ours, type == ICMPV6_ADVERT ? from : ours, mac);
    if (!says) {
        ip->payload_length = net16(ND_NEIGHBOUR_LEN);
        icmpv6_seal(ip, (uint8_t *)(ip + 1), ND_NEIGHBOUR_LEN);
    }
    m = mbuf_from_bytes(f, (uint16_t)(sizeof(f) - (says ? 0 : ND_LINK_LEN)), (uint16_t)port);
    meta_set_punt(m, PUNT_FOR_US);
    return rig_fate(r, m);
}

static const char *adverts(uint8_t flags, const uint8_t *mac)
{
    return claims(CORE0, ICMPV6_ADVERT, flags, link_via, mac, true);
}

static unsigned asked(unsigned port)
{
    return rig_captured_way(r, "to", (uint16_t)port);
}

/* Number i of the frames to CORE0 is this one, in hexadecimal. */
static bool asks(unsigned i, const char *hex)
{
    struct rte_mbuf *want, *m = rig_out(r, "to", CORE0, i);
    bool same;

    want = mbuf_from_hex(hex, 0);
    same = m != NULL && mbuf_is(m, rte_pktmbuf_mtod(want, void *), want->pkt_len);
    rte_pktmbuf_free(want);
    return same;
}

#define FROM_US  "fe80000000000000000000fffe000003"
#define TARGET   "fe800000000000000000000000000099"
#define SLLA     "0101020000000003"
#define FIXED    "86dd 60000000 00203aff" FROM_US
#define PUBLICLY "3333ff000099 020000000003" FIXED "ff0200000000000000000001ff000099 8700"
#define HIS_OWN  "02c000000009 020000000003" FIXED TARGET "8700"

static const char in_public[] = PUBLICLY "7a65 00000000" TARGET SLLA,
                  to_himself[] = HIS_OWN "79e9 00000000" TARGET SLLA;

static struct rte_mbuf *to_nexthop(uint32_t id)
{
    return unresolved(0, (uint16_t)id, nexthop(id)->port, "18000001");
}

static void teach(void)
{
    rig_fate(r, to_nexthop(by_link[0]));
    CU_ASSERT_STRING_EQUAL(adverts(SOLICITED | OVERRIDE, old), "consumed");
    CU_ASSERT(nexthop(by_link[0])->mac_known && nexthop(by_link[0])->eth[5] == 9);
    rig_clear(r);
}

static void unknown(void)
{
    open_rig("");
    poll_at(0);
    /* unasked: it is not believed, but asked */
    CU_ASSERT_STRING_EQUAL(adverts(OVERRIDE, old), "ended 2 times");
    CU_ASSERT_EQUAL(rig_drops(r, "nd_unsolicited"), 1);
    CU_ASSERT(!nexthop(by_link[0])->mac_known && asked(CORE0) == 1 && asks(0, in_public));
    /* one without its MAC, from another port, unasked, and a question are no answers */
    CU_ASSERT_STRING_EQUAL(claims(CORE0, ICMPV6_ADVERT, SOLICITED, link_via, old, false),
                           "drop nd_malformed");
    CU_ASSERT_STRING_EQUAL(adverts(0, old), "drop nd_unsolicited");
    CU_ASSERT_STRING_EQUAL(claims(CORE1, ICMPV6_ADVERT, OVERRIDE, link_via, old, true),
                           "ended 2 times");
    CU_ASSERT_STRING_EQUAL(claims(CORE0, ICMPV6_SOLICIT, 0, link_via, old, true), "to/2");
    CU_ASSERT(!nexthop(by_link[0])->mac_known && !nexthop(by_link[1])->mac_known);
    /* where none is known, it need not override */
    CU_ASSERT_STRING_EQUAL(adverts(SOLICITED, old), "consumed");
    CU_ASSERT(nexthop(by_link[0])->mac_known && !nexthop(by_link[1])->mac_known);
    CU_ASSERT_EQUAL(memcmp(nexthop(by_link[0])->eth, "\x02\xc0\0\0\0\x09\x02\0\0\0\0\x03", 12), 0);
    /* the same again does no harm; a second answer is one too many */
    CU_ASSERT_STRING_EQUAL(adverts(OVERRIDE, old), "consumed");
    CU_ASSERT_STRING_EQUAL(claims(CORE0, ICMPV6_SOLICIT, 0, link_via, old, true), "to/2");
    CU_ASSERT_STRING_EQUAL(adverts(SOLICITED | OVERRIDE, new), "drop nd_unsolicited");
    CU_ASSERT_EQUAL(nexthop(by_link[0])->eth[5], 9);
    CU_ASSERT_EQUAL(figure("learned"), 3);
    CU_ASSERT_EQUAL(figure("nexthop_mac_changes"), 0);
    close_all();
}

static void global(void)
{
    static const char question[] =
        "3333ffabcdef 020000000003" FIXED "ff0200000000000000000001ffabcdef 8700 ae69 00000000"
        "20010db800c000000000000000abcdef" SLLA;

    open_rig("");
    poll_at(0);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, to_nexthop(by_global)), "ended 2 times");
    CU_ASSERT(asked(CORE0) == 1 && asks(0, question));
    CU_ASSERT_STRING_EQUAL(
        claims(CORE0, ICMPV6_ADVERT, SOLICITED | OVERRIDE, global_via, old, true), "consumed");
    CU_ASSERT(nexthop(by_global)->mac_known && !nexthop(by_link[0])->mac_known);
    close_all();
}

/* What nobody is asked for, and what is the gateway's own. */
static void foreign(void)
{
    struct ipv6 own = {LINK, 0x000000fffe000003};

    open_rig("");
    poll_at(0);
    CU_ASSERT_STRING_EQUAL(
        claims(CORE0, ICMPV6_ADVERT, OVERRIDE, (struct ipv6){LINK, 0x98}, old, true),
        "drop nd_foreign");
    CU_ASSERT_STRING_EQUAL(claims(CORE1, ICMPV6_ADVERT, OVERRIDE, global_via, old, true),
                           "drop nd_foreign");
    CU_ASSERT_STRING_EQUAL(claims(CORE0, ICMPV6_ADVERT, OVERRIDE, own, old, true),
                           "drop nd_spoofed");
    CU_ASSERT_STRING_EQUAL(claims(CORE0, ICMPV6_SOLICIT, 0, own, old, true), "drop nd_spoofed");
    CU_ASSERT_STRING_EQUAL(adverts(OVERRIDE, harness_model.ports[CORE1].mac), "drop arp_own_mac");
    CU_ASSERT_STRING_EQUAL(adverts(OVERRIDE, (const uint8_t *)"\x03\0\0\0\0\1"),
                           "drop nd_malformed");
    CU_ASSERT_EQUAL(asked(CORE0) + asked(CORE1), 0);
    close_all();
}

/* Somebody claims the address of a neighbour that is there, in every way. */
static void taken_over(void)
{
    open_rig("");
    poll_at(0);
    teach();
    for (unsigned s = 2; s < 80; s += 2) {
        poll_at(s);
        CU_ASSERT_STRING_EQUAL(s % 3 == 0   ? adverts(SOLICITED | OVERRIDE, new)
                               : s % 3 == 1 ? adverts(OVERRIDE, new)
                                            : claims(CORE0, ICMPV6_SOLICIT, 0, link_via, new, true),
                               "ended 2 times");
        CU_ASSERT_EQUAL(nexthop(by_link[0])->eth[5], 9);
        /* it has been asked, and is there; asked at its MAC, it need not repeat that */
        CU_ASSERT_STRING_EQUAL(claims(CORE0, ICMPV6_ADVERT, SOLICITED, link_via, old, s % 4 == 0),
                               "consumed");
        CU_ASSERT_STRING_EQUAL(adverts(SOLICITED | OVERRIDE, new), "drop nd_unsolicited");
        CU_ASSERT_STRING_EQUAL(claims(CORE0, ICMPV6_ADVERT, SOLICITED, link_via, new, false),
                               "drop nd_unsolicited");
    }
    CU_ASSERT_EQUAL(nexthop(by_link[0])->eth[5], 9);
    CU_ASSERT_EQUAL(figure("nexthop_mac_changes"), 0);
    CU_ASSERT(asks(0, to_himself));
    close_all();
}

/* A neighbour is replaced: the old one does not answer any more. */
static void replaced(void)
{
    uint64_t seen = 0;

    open_rig("");
    poll_at(0);
    teach();
    poll_at(2);
    CU_ASSERT_STRING_EQUAL(adverts(OVERRIDE, new), "ended 2 times");
    for (double s = 2; s < 7 && asked(CORE0) < 4; s += 1 / 64.0)
        poll_at(s);
    /* three times by unicast, then in public */
    CU_ASSERT(asked(CORE0) == 4 && asks(0, to_himself) && asks(1, to_himself) &&
              asks(2, to_himself) && asks(3, in_public));
    /* one that overrides nothing does not replace it (RFC 4861 section 7.2.5) */
    CU_ASSERT_STRING_EQUAL(adverts(SOLICITED, new), "drop nd_unsolicited");
    CU_ASSERT_EQUAL(nexthop(by_link[0])->eth[5], 9);
    CU_ASSERT_STRING_EQUAL(adverts(SOLICITED | OVERRIDE, new), "consumed");
    CU_ASSERT_EQUAL(nexthop(by_link[0])->eth[5], 10);
    CU_ASSERT_EQUAL(figure("nexthop_mac_changes"), 1);
    arp_log_changes(rig_task(r), &seen);
    CU_ASSERT_EQUAL(seen, 1);
    close_all();
}

static void growing_old(void)
{
    open_rig("age=100s");
    let_announce();
    poll_at(0);
    teach();
    for (unsigned at = 1; at < 75; at++)
        poll_at(at);
    CU_ASSERT(nexthop(by_link[0])->mac_known && rig_captured(r, "to") == 0);
    for (unsigned at = 75; at < 90; at++)
        poll_at(at);
    CU_ASSERT(asked(CORE0) == 1 && asks(0, to_himself)); /* by unicast, once */
    CU_ASSERT_STRING_EQUAL(adverts(SOLICITED, old), "consumed");
    for (unsigned at = 90; at < 160; at++)
        poll_at(at);
    CU_ASSERT(nexthop(by_link[0])->mac_known && figure("forgotten") == 0);
    for (unsigned at = 160; at < 220; at++)
        poll_at(at);
    CU_ASSERT(!nexthop(by_link[0])->mac_known && figure("forgotten") == 1);
    close_all();
}

/* A packet of IPv4 of a subscriber, who has no IPv6: a next hop is a next hop (RFC 8950). */
static struct rte_mbuf *up(void)
{
    struct rte_mbuf *m = unresolved(SUB_NO_KEY, (uint16_t)by_link[0], CORE0, "18000001");
    struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14);

    ip->src_addr = RTE_BE32(0x0a000003);
    ip->hdr_checksum = 0;
    ip->hdr_checksum = rte_ipv4_cksum(ip);
    return m;
}

static void waiting(void)
{
    open_rig("");
    poll_at(0);
    for (unsigned i = 0; i < 2; i++)
        rig_fate(r, up());
    for (unsigned at = 1; at <= 2; at++)
        poll_at(at * 1.1);
    CU_ASSERT(asked(CORE0) == 3 && asks(1, in_public) && asks(2, in_public));
    CU_ASSERT_EQUAL(task_arp.held(rig_task(r)), 2);
    CU_ASSERT_STRING_EQUAL(adverts(SOLICITED | OVERRIDE, old), "ended 3 times");
    CU_ASSERT_EQUAL(rig_captured(r, "route"), 2);
    CU_ASSERT_EQUAL(task_arp.held(rig_task(r)), 0);
    nexthop_set_mac(nexthop(by_link[0]), NULL);
    poll_at(5);
    rig_fate(r, up());
    for (double s = 5; s < 8.5; s += 1 / 64.0)
        poll_at(s);
    CU_ASSERT(rig_drops(r, "no_answer") + figure("host_unreachable") == 1);
    CU_ASSERT_EQUAL(task_arp.held(rig_task(r)), 0);
    close_all();
}

/* What a restart keeps, and next hops that come and go. */
static void keeping(void)
{
    struct arp_learned l, other;
    unsigned found = 0;
    uint8_t port;

    open_rig("age=100s");
    poll_at(0);
    teach();
    poll_at(10);
    for (uint32_t i = 0; i < arp_n_neighbours(rig_task(r)); i++)
        if (arp_of_neighbour(rig_task(r), i, &port, &other)) {
            l = other;
            found++;
            CU_ASSERT(port == CORE0 && l.address == 0 && same6(l.address6, link_via));
            CU_ASSERT(memcmp(l.mac, old, 6) == 0 && l.age >= 9 && l.age <= 10);
        }
    CU_ASSERT_EQUAL_FATAL(found, 1);
    CU_ASSERT_EQUAL(arp_give_neighbour(rig_task(r), CORE0, &l), -EEXIST);
    close_all();
    open_rig("age=100s");
    poll_at(0);
    other = l;
    other.address6.lower = 0x98;
    CU_ASSERT_EQUAL(arp_give_neighbour(rig_task(r), CORE0, &other), -ENOENT);
    other = l;
    other.age = 100;
    CU_ASSERT_EQUAL(arp_give_neighbour(rig_task(r), CORE0, &other), -ESTALE);
    CU_ASSERT_EQUAL(arp_give_neighbour(rig_task(r), CORE0, &l), 0);
    CU_ASSERT(nexthop(by_link[0])->mac_known && !nexthop(by_link[1])->mac_known);
    /* one more by the same neighbour has its MAC at once; the last one takes it along */
    nexthop_set_mac(nexthop(by_global), NULL);
    harness_tables()->routes->via[by_global] = link_via;
    arp_forget_nexthop(rig_task(r), by_global);
    arp_add_nexthop(rig_task(r), by_global);
    CU_ASSERT(nexthop(by_global)->mac_known && nexthop(by_global)->eth[5] == 9);
    harness_tables()->routes->via[by_global] = global_via;
    arp_forget_nexthop(rig_task(r), by_global);
    arp_forget_nexthop(rig_task(r), by_link[0]);
    CU_ASSERT_STRING_EQUAL(adverts(OVERRIDE, old), "drop nd_foreign");
    close_all();
}

static const struct test tests[] = {
    {"a next hop that is not known yet", unknown},
    {"one with a global address", global},
    {"what is no next hop's", foreign},
    {"a next hop's address is claimed by another", taken_over},
    {"a next hop is replaced", replaced},
    {"a next hop grows old", growing_old},
    {"packets of IPv4 wait for it", waiting},
    {"what is kept, and next hops that come and go", keeping},
    {NULL, NULL},
};

const struct test_program test_program = {"arp_nd_core", tests, open_with_nexthops, harness_close};
