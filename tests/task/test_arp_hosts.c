/* SPDX-License-Identifier: BSD-3-Clause */
/* arp: subscribers whose addresses are a prefix, with a MAC for each host. */
#include <errno.h>

#include "arp_packet.h"
#include "tables/hosts.h"

#define SUBSCRIBER (&harness_tables()->subscribers->record[SUB_CPE1]) /* 10.0.1.0/24 */

static void open_hosts(const char *params)
{
    subscriber_set_static_mac(SUBSCRIBER, NULL);
    open_rig(params);
    poll_at(0);
}

static void close_hosts(void)
{
    static const uint8_t mac[6] = {2, 0xce, 0, 0, 0, SUB_CPE1};

    arp_forget_subscriber(rig_task(r), SUB_CPE1);
    close_rig();
    subscriber_set_static_mac(SUBSCRIBER, mac);
}

/* Host number n has the address 10.0.1.n and the MAC 02:aa:00:00:00:n. It says so. */
static const char *speaks(unsigned n)
{
    char hex[256];

    snprintf(hex, sizeof(hex),
             "020000000002 02aa000000%02x" CPE1_TAGS REPLY
             "02aa000000%02x 0a0001%02x 020000000002 %08x",
             n, n, n, ADDR_CPE1);
    return fate(hex, CPE1);
}

static const char *sends_to(unsigned n)
{
    char dst[16];

    snprintf(dst, sizeof(dst), "0a0001%02x", n);
    return rig_fate(r, unresolved(SUB_CPE1, 0, CPE1, dst));
}

static bool last_goes_to(unsigned n)
{
    const uint8_t mac[6] = {2, 0xaa, 0, 0, 0, (uint8_t)n};

    return memcmp(bytes(0), mac, 6) == 0 && memcmp(bytes(6), cpe1_l2 + 6, 8) == 0;
}

static uint64_t held(void)
{
    return task_arp.held(rig_task(r));
}

static void test_each_his_own(void)
{
    struct packet p;

    open_hosts("");
    CU_ASSERT_STRING_EQUAL(speaks(9), "consumed");
    CU_ASSERT_STRING_EQUAL(speaks(10), "consumed");
    CU_ASSERT(SUBSCRIBER->mac_known == 0);
    for (unsigned n = 9; n <= 10; n++) {
        CU_ASSERT_STRING_EQUAL(sends_to(n), "to/1"); /* learned meanwhile */
        CU_ASSERT(last_goes_to(n));
        p = echo(0x0a000100 | n, ADDR_CPE1, 8);
        CU_ASSERT_STRING_EQUAL(ping(&p, CPE1), "to/1");
        CU_ASSERT(last_goes_to(n));
        p = udp(0x0a000100 | n, ALIEN, 8);
        CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0), "to/1");
        CU_ASSERT(last_goes_to(n));
    }
    /* a host of whom nothing is known gets nobody else's MAC: it is asked for */
    p = udp(0x0a00010b, ALIEN, 8);
    CU_ASSERT_STRING_EQUAL(fail(&p, PUNT_TTL_EXPIRED, 0), "ended 2 times");
    CU_ASSERT_EQUAL(rig_drops(r, "unresolved"), 1);
    CU_ASSERT_EQUAL(memcmp(bytes(0), "\xff\xff\xff\xff\xff\xff", 6), 0);
    CU_ASSERT_EQUAL(memcmp(bytes(22 + 24), "\x0a\0\x01\x0b", 4), 0);
    close_hosts();
}

/* Each address has a question, and packets that wait, of its own. */
static void test_wait(void)
{
    open_hosts("");
    sends_to(9);
    sends_to(10);
    CU_ASSERT_EQUAL(figure("requests"), 2);
    CU_ASSERT_EQUAL(held(), 2);
    rig_clear(r);
    CU_ASSERT_STRING_EQUAL(speaks(10), "ended 2 times");
    CU_ASSERT(last_goes_to(10));
    CU_ASSERT_EQUAL(memcmp(bytes(22 + 16), "\x0a\0\x01\x0a", 4), 0);
    CU_ASSERT_EQUAL(held(), 1);
    CU_ASSERT_STRING_EQUAL(speaks(9), "ended 2 times");
    CU_ASSERT(last_goes_to(9));
    CU_ASSERT_EQUAL(held(), 0);
    close_hosts();
}

static void test_too_many(void)
{
    open_hosts("age=8s");
    for (unsigned n = 1; n <= HOSTS_MAX; n++)
        CU_ASSERT_STRING_EQUAL(speaks(n), "consumed");
    CU_ASSERT_STRING_EQUAL(speaks(100), "drop too_many_hosts");
    for (double s = 0; s < 5; s += 1 / 64.0)
        poll_at(s);
    for (unsigned n = 2; n <= HOSTS_MAX; n++)
        CU_ASSERT_STRING_EQUAL(speaks(n), "consumed");
    CU_ASSERT_STRING_EQUAL(speaks(100), "drop too_many_hosts");
    for (double s = 5; s < 7.5; s += 1 / 64.0)
        poll_at(s);
    CU_ASSERT_EQUAL(figure("requests"), 1); /* by unicast, of the one that is silent */
    CU_ASSERT_EQUAL_FATAL(rig_captured_way(r, "to", CPE1), 1);
    CU_ASSERT_EQUAL(
        memcmp(rte_pktmbuf_mtod(rig_out(r, "to", CPE1, 0), void *), "\x02\xaa\0\0\0\x01", 6), 0);
    for (double s = 7.5; s < 9.5; s += 1 / 64.0)
        poll_at(s);
    CU_ASSERT_EQUAL(figure("forgotten"), 1);
    CU_ASSERT_STRING_EQUAL(speaks(100), "consumed");
    CU_ASSERT_STRING_EQUAL(sends_to(100), "to/1");
    CU_ASSERT(last_goes_to(100));
    close_hosts();
}

/* Somebody sends to all addresses: he keeps no host out, and takes few of the places to wait. */
static void test_scan(void)
{
    open_hosts("arp_rate=100000");
    CU_ASSERT_STRING_EQUAL(speaks(1), "consumed");
    for (unsigned n = 20; n < 220; n++)
        sends_to(n);
    CU_ASSERT_EQUAL(held(), HOSTS_MAX / 2);
    CU_ASSERT_EQUAL(rig_drops(r, "unresolved"), 200 - HOSTS_MAX / 2);
    CU_ASSERT_STRING_EQUAL(sends_to(1), "to/1");
    for (unsigned n = 2; n <= HOSTS_MAX; n++) {
        CU_ASSERT_STRING_EQUAL(speaks(n), n <= HOSTS_MAX / 2 ? "consumed" : "ended 2 times");
        sends_to(230);
    }
    CU_ASSERT_EQUAL(held(), 0);
    CU_ASSERT_EQUAL(rig_drops(r, "no_answer"), HOSTS_MAX / 2);
    for (unsigned n = 1; n <= HOSTS_MAX; n++) {
        CU_ASSERT_STRING_EQUAL(sends_to(n), "to/1");
        CU_ASSERT(last_goes_to(n));
    }
    close_hosts();
}

/* What control reads, gives back and changes. */
static void test_control(void)
{
    static const uint8_t mac[6] = {2, 0xbb, 0, 0, 0, 1};
    struct arp_learned l, kept[2];
    unsigned found = 0;

    open_hosts("");
    speaks(9);
    speaks(10);
    for (unsigned i = 0; i < arp_n_of_subscriber(rig_task(r), SUB_CPE1); i++)
        if (arp_of_subscriber(rig_task(r), SUB_CPE1, i, &l) && found < 2)
            kept[found++] = l;
    CU_ASSERT_EQUAL_FATAL(found, 2);
    CU_ASSERT(kept[0].address == 0x0a000109 && kept[1].address == 0x0a00010a);
    CU_ASSERT(kept[0].mac[5] == 9 && kept[1].mac[5] == 10);
    CU_ASSERT_EQUAL(arp_n_of_subscriber(rig_task(r), SUB_CPE0), 1);
    /* a static MAC is that of all of them, as long as it is given */
    subscriber_set_static_mac(SUBSCRIBER, mac);
    CU_ASSERT_STRING_EQUAL(sends_to(9), "to/1");
    CU_ASSERT_EQUAL(memcmp(bytes(0), mac, 6), 0);
    CU_ASSERT_FALSE(arp_of_subscriber(rig_task(r), SUB_CPE1, 0, &l));
    speaks(9);
    CU_ASSERT_EQUAL(figure("arp_static_conflict"), 1);
    subscriber_set_static_mac(SUBSCRIBER, NULL);
    CU_ASSERT_STRING_EQUAL(sends_to(9), "to/1");
    CU_ASSERT(last_goes_to(9));
    close_hosts();
    open_hosts("");
    for (unsigned i = 0; i < found; i++)
        CU_ASSERT_EQUAL(arp_give_subscriber(rig_task(r), SUB_CPE1, &kept[i]), 0);
    CU_ASSERT_EQUAL(arp_give_subscriber(rig_task(r), SUB_CPE1, &kept[0]), -EEXIST);
    for (unsigned n = 9; n <= 10; n++) {
        CU_ASSERT_STRING_EQUAL(sends_to(n), "to/1");
        CU_ASSERT(last_goes_to(n));
    }
    /* a host whose MAC changes is no other host */
    CU_ASSERT_STRING_EQUAL(fate("020000000002 02bb00000009" CPE1_TAGS REPLY
                                "02bb00000009 0a000109 020000000002 64000102",
                                CPE1),
                           "consumed");
    CU_ASSERT_EQUAL(figure("cpe_mac_changes"), 1);
    CU_ASSERT_STRING_EQUAL(sends_to(10), "to/1");
    CU_ASSERT(last_goes_to(10));
    close_hosts();
}

static const struct test tests[] = {
    {"each host has its MAC", test_each_his_own},
    {"each host is waited for", test_wait},
    {"too many hosts", test_too_many},
    {"somebody scans", test_scan},
    {"control", test_control},
    {NULL, NULL},
};

const struct test_program test_program = {"arp_hosts", tests, harness_open, harness_close};
