/* SPDX-License-Identifier: BSD-3-Clause */
/* arp: neighbour discovery in time: how often is asked, what grows old, what is kept over a
 * restart, how often routers are advertised. SUB_NO_MAC has 2001:db8:5::/64, and 2001:db8:6::/48
 * behind him.
 */
#include "arp_rig.h"
#include "base/ipv6.h"
#include "packet/nd.h"

#define NET UINT64_C(0x20010db800000000)

static const struct cpe_prefixes prefixes = {.wan = {NET | 0x50000, 0},
                                             .wan_len = 64,
                                             .delegated = {NET | 0x60000},
                                             .delegated_len = {48},
                                             .n_delegated = 1};
static const struct ipv6 cpe = {UINT64_C(0xfe80000000000000), 0x44};
static const uint8_t cpe_mac[6] = {2, 0xce, 0, 0, 0, 0x44};

static int open_with_ipv6(void)
{
    struct subscriber_table *t;

    if (harness_open() != 0)
        return -1;
    t = harness_tables()->subscribers;
    t->v6 = subscriber6_table_create(N_TEST_SUBSCRIBERS, 16, SOCKET_ID_ANY);
    if (t->v6 == NULL)
        return -1;
    subscriber6_fill(t->v6, SUB_NO_MAC, &prefixes);
    subscriber6_publish(t->v6, SUB_NO_MAC);
    subscriber_write_first_line(t, SUB_NO_MAC);
    return 0;
}

static void put(uint8_t *to, struct ipv6 addr)
{
    store64(to, net64(addr.upper));
    store64(to + 8, net64(addr.lower));
}

/* A packet of IPv6 to an address, as qinq_encap punts it. */
static struct rte_mbuf *to_address(struct ipv6 addr)
{
    struct rte_mbuf *m = unresolved(SUB_NO_MAC, 0, CPE0, "0a000004");
    uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);
    struct ipv6_hdr *ip = (struct ipv6_hdr *)(f + 14);

    rte_pktmbuf_append(m, 12);
    store16(f + 12, RTE_BE16(RTE_ETHER_TYPE_IPV6));
    memset(ip, 0, sizeof(*ip));
    ip->first[0] = 0x60;
    ip->next_header = IPPROTO_NONE;
    ip->hop_limit = 9;
    put(ip->source, (struct ipv6){NET | 0x990000, 1});
    put(ip->destination, addr);
    return m;
}

/* What the CPE says of an address of its own. */
static const char *tells(struct ipv6 addr, const uint8_t *mac)
{
    uint8_t f[22 + ND_NEIGHBOUR_SIZE] = {2, 0, 0, 0, 0, 1}, target[16], ours[16];
    struct rte_mbuf *m;

    memcpy(f + 6, mac, 6);
    memcpy(f + 12, "\x88\xa8\0\x80\x81\0\x01\x03\x86\xdd", 10);
    put(target, addr);
    nd_link_local(f, ours);
    nd_write((struct ipv6_hdr *)(f + 22), ICMPV6_ADVERT, ND_FLAG_SOLICITED | ND_FLAG_OVERRIDE,
             target, ours, target, mac);
    m = mbuf_from_bytes(f, sizeof(f), CPE0);
    meta_set_punt(m, PUNT_FOR_US);
    return rig_fate(r, m);
}

/* Is the last frame to the subscriber a solicitation for an address, to its group or to a MAC? */
static bool last_asks_for(struct ipv6 addr, const uint8_t *to)
{
    const uint8_t *f = rte_pktmbuf_mtod(rig_out(r, "to", CPE0, rig_captured_way(r, "to", CPE0) - 1),
                                        const uint8_t *);
    uint8_t target[16], group[16], mac[6];

    put(target, addr);
    nd_solicited_node(target, group);
    nd_group_mac(group, mac);
    return memcmp(f, to != NULL ? to : mac, 6) == 0 && f[62] == ICMPV6_SOLICIT &&
           memcmp(f + 70, target, 16) == 0 &&
           memcmp(f + 46, to != NULL ? target : group, 16) == 0 &&
           icmpv6_checksum_ok((const struct ipv6_hdr *)(f + 22), f + 62, 32);
}

static void asking(void)
{
    struct ipv6 addr = {NET | 0x50000, 0x77}, behind = {NET | 0x60001, 1};

    open_rig("keep=0");
    poll_at(0);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, to_address(addr)), "ended 2 times");
    CU_ASSERT(last_asks_for(addr, NULL));
    for (unsigned i = 0; i < 100; i++) /* once a second, whatever the addresses */
        CU_ASSERT_STRING_EQUAL(rig_fate(r, to_address((struct ipv6){NET | 0x50000, i})),
                               "drop unresolved");
    poll_at(1.5);
    addr.lower = 0x78;
    CU_ASSERT_STRING_EQUAL(rig_fate(r, to_address(addr)), "ended 2 times");
    CU_ASSERT(last_asks_for(addr, NULL));
    CU_ASSERT_EQUAL(figure("requests"), 2);
    poll_at(3);
    /* for what is behind him there is nothing to ask yet but his IPv4 address */
    CU_ASSERT_STRING_EQUAL(rig_fate(r, to_address(behind)), "ended 2 times");
    CU_ASSERT_EQUAL(rte_pktmbuf_mtod(rig_last(r), const uint8_t *)[21], 0x06);
    CU_ASSERT_STRING_EQUAL(tells(cpe, cpe_mac), "consumed");
    CU_ASSERT(subscriber(SUB_NO_MAC)->mac_known);
    subscriber_set_mac(&harness_tables()->subscribers->record[SUB_NO_MAC], NULL);
    poll_at(4.5);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, to_address(behind)), "ended 2 times");
    CU_ASSERT(last_asks_for(cpe, NULL)); /* where the CPE has spoken from */
    poll_at(6);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, to_address(addr)), "ended 3 times"); /* both of them */
    CU_ASSERT(last_asks_for(cpe, NULL));
    close_rig();
}

static void growing_old(void)
{
    const struct subscriber *s = subscriber(SUB_NO_MAC);

    open_rig("age=100s");
    let_announce();
    poll_at(0);
    CU_ASSERT_STRING_EQUAL(tells(cpe, cpe_mac), "consumed");
    for (unsigned at = 1; at < 75; at++)
        poll_at(at);
    CU_ASSERT(s->mac_known && rig_captured(r, "to") == 0);
    for (unsigned at = 75; at < 90; at++)
        poll_at(at);
    CU_ASSERT_EQUAL_FATAL(rig_captured(r, "to"), 1);
    CU_ASSERT(last_asks_for(cpe, cpe_mac)); /* by unicast, once */
    CU_ASSERT_STRING_EQUAL(tells(cpe, cpe_mac), "consumed");
    for (unsigned at = 90; at < 160; at++)
        poll_at(at);
    CU_ASSERT(s->mac_known && figure("forgotten") == 0);
    for (unsigned at = 160; at < 220; at++)
        poll_at(at);
    CU_ASSERT(!s->mac_known && figure("forgotten") == 1);
    close_rig();
}

static void waiting(void)
{
    struct ipv6 addr = {NET | 0x50000, 0x77};

    open_rig("");
    poll_at(0);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, to_address(addr)), "to/0"); /* the question */
    for (unsigned at = 1; at <= 2; at++) {
        rig_clear(r);
        poll_at(at * 1.1);
        CU_ASSERT(rig_captured(r, "to") == 1 && last_asks_for(addr, NULL));
    }
    poll_at(3.5); /* nobody is told: no ICMPv6 errors */
    CU_ASSERT_EQUAL(rig_drops(r, "no_answer"), 1);
    rig_fate(r, to_address(addr));
    rig_clear(r);
    CU_ASSERT_STRING_EQUAL(tells(cpe, cpe_mac), "ended 2 times"); /* any address of his will do */
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 1);
    CU_ASSERT_EQUAL(memcmp(rte_pktmbuf_mtod(rig_last(r), const uint8_t *), cpe_mac, 6), 0);
    close_rig();
}

static void keeping(void)
{
    struct arp_learned l, other;

    open_rig("age=100s");
    poll_at(0);
    CU_ASSERT_STRING_EQUAL(tells(cpe, cpe_mac), "consumed");
    poll_at(10);
    CU_ASSERT_FATAL(arp_of_subscriber(rig_task(r), SUB_NO_MAC, 0, &l));
    CU_ASSERT(l.address == 0 && same6(l.address6, cpe) && l.age >= 9 && l.age <= 10);
    CU_ASSERT_EQUAL(arp_give_subscriber(rig_task(r), SUB_NO_MAC, &l), -EEXIST);
    close_rig();
    open_rig("age=100s");
    other = l;
    other.address6 = (struct ipv6){NET | 0x60000, 1}; /* not on his link */
    CU_ASSERT_EQUAL(arp_give_subscriber(rig_task(r), SUB_NO_MAC, &other), -ENOENT);
    CU_ASSERT_EQUAL(arp_give_subscriber(rig_task(r), SUB_NO_KEY, &l), -ENOENT); /* no IPv6 */
    other = l;
    other.age = 100;
    CU_ASSERT_EQUAL(arp_give_subscriber(rig_task(r), SUB_NO_MAC, &other), -ESTALE);
    CU_ASSERT_EQUAL(arp_give_subscriber(rig_task(r), SUB_NO_MAC, &l), 0);
    CU_ASSERT(arp_of_subscriber(rig_task(r), SUB_NO_MAC, 0, &other));
    CU_ASSERT(memcmp(other.mac, cpe_mac, 6) == 0 && same6(other.address6, cpe));
    arp_forget_subscriber(rig_task(r), SUB_NO_MAC);
    CU_ASSERT_FALSE(arp_of_subscriber(rig_task(r), SUB_NO_MAC, 0, &other));
    close_rig();
}

/* Is it ICMPv6 of a type, to all nodes of the subscriber? */
static bool is_to_all(const uint8_t *f, uint8_t type)
{
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)(f + 22);

    return memcmp(f, "\x33\x33\0\0\0\x01", 6) == 0 && f[62] == type &&
           memcmp(f + 12, "\x88\xa8\0\x80\x81\0\x01\x03\x86\xdd", 10) == 0 &&
           icmpv6_checksum_ok(ip, f + 62, net16(ip->payload_length));
}

/* Does it ask all, behind two tags, for an address that the sender says to have? */
static bool is_gratuitous(const uint8_t *f, uint32_t addr)
{
    rte_be32_t is = rte_cpu_to_be_32(addr);

    return memcmp(f, "\xff\xff\xff\xff\xff\xff", 6) == 0 &&
           memcmp(f + 20, "\x08\x06\0\x01\x08\0\x06\x04\0\x01", 10) == 0 &&
           memcmp(f + 30, f + 6, 6) == 0 && memcmp(f + 36, &is, 4) == 0 &&
           memcmp(f + 40, "\0\0\0\0\0\0", 6) == 0 && memcmp(f + 46, &is, 4) == 0;
}

struct said {
    unsigned routers, neighbours, arp;
};

/* What "to" has. */
static struct said heard(void)
{
    struct said n = {0};

    for (uint8_t port = CPE0; port <= CPE1; port++)
        for (unsigned i = 0; i < rig_captured_way(r, "to", port); i++) {
            const uint8_t *f = rte_pktmbuf_mtod(rig_out(r, "to", port, i), const uint8_t *);

            n.routers += is_to_all(f, ICMPV6_ROUTER_ADVERT);
            n.neighbours += is_to_all(f, ICMPV6_ADVERT);
            n.arp += is_gratuitous(f, port == CPE0 ? ADDR_CPE0 : ADDR_CPE1);
        }
    CU_ASSERT_EQUAL(n.routers + n.neighbours + n.arp, rig_captured(r, "to"));
    rig_clear(r);
    return n;
}

static bool is_said(unsigned routers, unsigned neighbours, unsigned arp)
{
    struct said n = heard();
    bool is = n.routers == routers && n.neighbours == neighbours && n.arp == arp;

    if (!is)
        printf("%u, %u and %u instead of %u, %u and %u ", n.routers, n.neighbours, n.arp, routers,
               neighbours, arp);
    return is;
}

/* Polls each tick from one second to another. */
static void run(double from, double to)
{
    for (double at = from; at < to; at += 1 / 64.0)
        poll_at(at);
}

/* Of five subscribers one has IPv6 and one a PPPoE session, in which no ARP is. */
static void advertising(void)
{
    open_rig("ra_interval=4s");
    run(0, 15.9);
    CU_ASSERT(is_said(0, 0, 0)); /* who has come up with the gateway solicits */
    run(15.9, 20.1);
    CU_ASSERT(is_said(1, 0, 4)); /* it announces itself, too */
    for (unsigned i = 0; i < 10; i++) {
        run(20.1 + 4 * i, 24.1 + 4 * i);
        CU_ASSERT(is_said(1, 0, 0));
    }
    poll_at(1000); /* the core was away: none more than once */
    for (unsigned i = 0; i < 10; i++)
        poll_at(1000);
    CU_ASSERT(is_said(1, 0, 0));
    CU_ASSERT_EQUAL(figure("router_advertisements"), 12);
    CU_ASSERT_EQUAL(figure("announcements"), 4);
    /* who is in no index any more, or not yet, gets none */
    idmap_set(harness_tables()->subscribers->by_vlan, subscriber_vlan_key(CPE0, 128, 259), 0);
    run(1001, 1010);
    CU_ASSERT(is_said(0, 0, 0));
    idmap_set(harness_tables()->subscribers->by_vlan, subscriber_vlan_key(CPE0, 128, 259),
              SUB_NO_MAC);
    close_rig();
}

/* Router advertisements go on. */
static void silent(void)
{
    open_rig("ra_interval=4s announce=false");
    run(0, 76);
    rig_link_ups[CPE0]++;
    run(76, 140);
    rig_link_ups[CPE0] = 0;
    CU_ASSERT(figure("router_advertisements") >= 29);
    CU_ASSERT_EQUAL(figure("announcements"), 0);
    close_rig();
}

/* All are told within a minute, however long the interval of router advertisements is; and once
 * more on a port whose link has come up. */
static void announcing(void)
{
    uint32_t *ups = rig_link_ups;

    open_rig("ra_interval=1800s");
    run(0, 46);
    CU_ASSERT_EQUAL(heard().arp, 2); /* spread over the minute */
    run(46, 76.1);
    CU_ASSERT_EQUAL(figure("router_advertisements"), 1);
    CU_ASSERT_EQUAL(figure("announcements"), 4);
    heard();
    run(76.1, 300);
    CU_ASSERT(is_said(0, 0, 0));
    ups[CPE1]++;
    run(300, 360.1);
    CU_ASSERT(is_said(1, 0, 1));
    run(360.1, 400);
    CU_ASSERT(is_said(0, 0, 0));
    ups[CPE0]++;
    run(400, 430);
    ups[CPE0]++; /* it flaps: another round, from here on */
    ups[CPE1]++;
    run(430, 490.1);
    CU_ASSERT(is_said(1, 0, 5));
    CU_ASSERT_EQUAL(figure("router_advertisements"), 3);
    run(490.1, 600);
    CU_ASSERT(is_said(0, 0, 0));
    close_rig();
    open_rig("ra=false");
    run(0, 76.1);
    CU_ASSERT(is_said(0, 1, 4)); /* a neighbour's advertisement, as there is none of a router */
    run(76.1, 200);
    CU_ASSERT(is_said(0, 0, 0));
    memset(ups, 0, N_TEST_PORTS * sizeof(ups[0]));
    close_rig();
}

static const struct test tests[] = {
    {"asking", asking},           {"growing old", growing_old},
    {"waiting", waiting},         {"keeping", keeping},
    {"advertising", advertising}, {"announcing", announcing},
    {"silent", silent},           {NULL, NULL},
};

const struct test_program test_program = {"arp_nd", tests, open_with_ipv6, harness_close};
