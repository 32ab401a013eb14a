/* SPDX-License-Identifier: BSD-3-Clause */
/* arp: ARP packets received, who is answered and what they teach. */
#include "arp_rig.h"

static void test_request_in_tags(void)
{
    open_rig("");
    /* from the subscriber whose MAC is static: answered with the tags of his port, not those of the
     * request (TPID, PCP) */
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "02ce00000001 8100e080 8100e100" REQUEST
                                          "02ce00000001 0a000001" NOBODY "0a0000fe" PAD10,
                                CPE0),
                           "to/0");
    CU_ASSERT(last_is("02ce00000001 020000000001" CPE0_TAGS REPLY
                      "020000000001 0a0000fe 02ce00000001 0a000001" PAD10,
                      CPE0));
    CU_ASSERT_EQUAL(figure("learned"), 0);
    /* a frame that somebody sent too short is answered by one of the right length */
    CU_ASSERT_STRING_EQUAL(fate("020000000002 02ce00000002" CPE1_TAGS REQUEST
                                "02ce00000002 0a000177" NOBODY "0a0001fe",
                                CPE1),
                           "to/1");
    CU_ASSERT(last_is("02ce00000002 020000000002" CPE1_TAGS REPLY
                      "020000000002 0a0001fe 02ce00000002 0a000177" PAD10,
                      CPE1));
    close_rig();
}

static void test_request_untagged(void)
{
    open_rig("");
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "02c000000077" REQUEST "02c000000077 c6336477" NOBODY
                                          "c6336401" PAD18,
                                CORE0),
                           "to/2");
    CU_ASSERT(last_is("02c000000077 020000000003" REPLY
                      "020000000003 c6336401 02c000000077 c6336477" PAD18,
                      CORE0));
    /* another port's address, another's address, a reply from a stranger */
    CU_ASSERT_STRING_EQUAL(
        fate(BROADCAST "02c000000077" REQUEST "02c000000077 c6336477" NOBODY "c6336501", CORE0),
        "drop arp_foreign");
    CU_ASSERT_STRING_EQUAL(
        fate(BROADCAST "02c000000077" REQUEST "02c000000077 c6336477" NOBODY "c6336409", CORE0),
        "drop arp_foreign");
    CU_ASSERT_STRING_EQUAL(fate("020000000003 02c000000077" REPLY
                                "02c000000077 c6336477 020000000003 c6336401",
                                CORE0),
                           "drop arp_foreign");
    CU_ASSERT_STRING_EQUAL(
        fate(BROADCAST "02c000000077" REQUEST "02c000000077 c6336401" NOBODY "c6336401", CORE0),
        "drop arp_spoofed"); /* our own address */
    CU_ASSERT_STRING_EQUAL(
        fate(BROADCAST "02ce00000001" REQUEST "02ce00000001 0a000001" NOBODY "0a0000fe", CPE0),
        "drop arp_untagged");
    CU_ASSERT_EQUAL(figure("learned"), 0);
    close_rig();
}

static void test_learn_cpe(void)
{
    const struct subscriber *s = subscriber(SUB_NO_MAC);
    struct subscriber was = *s;

    open_rig("");
    CU_ASSERT_STRING_EQUAL(fate("020000000001 02ce00000044" NOMAC_TAGS REPLY
                                "02ce00000044 0a000004 020000000001 0a0000fe",
                                CPE0),
                           "consumed");
    CU_ASSERT(s->mac_known && memcmp(s->l2, "\x02\xce\0\0\0\x44", 6) == 0);
    CU_ASSERT_EQUAL(memcmp(s->l2 + 6, was.l2 + 6, sizeof(was.l2) - 6), 0);
    /* gratuitous, from another device with the address; then by a request */
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "02ce00000045" NOMAC_TAGS REQUEST
                                          "02ce00000045 0a000004" NOBODY "0a000004",
                                CPE0),
                           "consumed");
    CU_ASSERT_EQUAL(s->l2[5], 0x45);
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "02ce00000046" NOMAC_TAGS REQUEST
                                          "02ce00000046 0a000004" NOBODY "0a0000fe",
                                CPE0),
                           "to/0");
    CU_ASSERT_EQUAL(s->l2[5], 0x46);
    /* for an address that is not ours: it teaches, but is not answered */
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "02ce00000047" NOMAC_TAGS REQUEST
                                          "02ce00000047 0a000004" NOBODY "0a000001",
                                CPE0),
                           "drop arp_foreign");
    CU_ASSERT_EQUAL(s->l2[5], 0x47);
    CU_ASSERT_EQUAL(figure("learned"), 4);
    CU_ASSERT_EQUAL(figure("cpe_mac_changes"), 3);
    /* a probe (RFC 5227) has no address to teach */
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "02ce00000048" NOMAC_TAGS REQUEST
                                          "02ce00000048 00000000" NOBODY "0a0000fe",
                                CPE0),
                           "to/0");
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "02ce00000048" NOMAC_TAGS REQUEST
                                          "02ce00000048 00000000" NOBODY "0a000004",
                                CPE0),
                           "drop arp_foreign");
    CU_ASSERT_EQUAL(s->l2[5], 0x47);
    close_rig();
}

static void test_spoofed(void)
{
    const struct subscriber *s = subscriber(SUB_NO_MAC);

    open_rig("");
    /* another subscriber's address, the gateway's, and the gateway's inside one's own prefix */
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "02ce00000044" NOMAC_TAGS REQUEST
                                          "02ce00000044 0a000001" NOBODY "0a0000fe",
                                CPE0),
                           "drop arp_spoofed");
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "02ce00000044" NOMAC_TAGS REQUEST
                                          "02ce00000044 0a0000fe" NOBODY "0a0000fe",
                                CPE0),
                           "drop arp_spoofed");
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "02ce00000002" CPE1_TAGS REPLY
                                          "02ce00000002 0a0001fe" NOBODY "0a0001fe",
                                CPE1),
                           "drop arp_spoofed");
    /* the right address in another's tags, or in the right ones at another port */
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "02ce00000044" CPE0_TAGS REQUEST
                                          "02ce00000044 0a000004" NOBODY "0a0000fe",
                                CPE0),
                           "drop arp_spoofed");
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "02ce00000044" NOMAC_TAGS REQUEST
                                          "02ce00000044 0a000004" NOBODY "0a0001fe",
                                CPE1),
                           "drop unknown_subscriber");
    /* a MAC of the gateway's, on whatever port */
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "020000000001" NOMAC_TAGS REQUEST
                                          "020000000001 0a000004" NOBODY "0a0000fe",
                                CPE0),
                           "drop arp_own_mac");
    CU_ASSERT_STRING_EQUAL(fate("020000000001 020000000004" NOMAC_TAGS REPLY
                                "020000000004 0a000004 020000000001 0a0000fe",
                                CPE0),
                           "drop arp_own_mac");
    CU_ASSERT_STRING_EQUAL(
        fate(BROADCAST "020000000003" REQUEST "020000000003 c6336409" NOBODY "c6336401", CORE0),
        "drop arp_own_mac");
    CU_ASSERT_FALSE(s->mac_known);
    close_rig();
}

static void test_static(void)
{
    open_rig("");
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "02ce00000055" CPE0_TAGS REQUEST
                                          "02ce00000055 0a000001" NOBODY "0a0000fe",
                                CPE0),
                           "to/0"); /* still answered */
    CU_ASSERT_EQUAL(figure("arp_static_conflict"), 1);
    CU_ASSERT_STRING_EQUAL(fate("020000000001 02ce00000055" CPE0_TAGS REPLY
                                "02ce00000055 0a000001 020000000001 0a0000fe",
                                CPE0),
                           "consumed");
    CU_ASSERT_EQUAL(figure("arp_static_conflict"), 2);
    CU_ASSERT_EQUAL(subscriber(SUB_CPE0)->l2[5], SUB_CPE0);
    CU_ASSERT_EQUAL(figure("learned"), 0);
    close_rig();
}

static void test_malformed(void)
{
    static const char *const bad[] = {
        /* hardware, protocol, lengths, operation */
        "0806 0006 0800 06 04 0001 02ce00000001 0a000001" NOBODY "0a0000fe",
        "0806 0001 86dd 06 04 0001 02ce00000001 0a000001" NOBODY "0a0000fe",
        "0806 0001 0800 08 04 0001 02ce00000001 0a000001" NOBODY "0a0000fe",
        "0806 0001 0800 06 10 0001 02ce00000001 0a000001" NOBODY "0a0000fe",
        "0806 0001 0800 06 04 0000 02ce00000001 0a000001" NOBODY "0a0000fe",
        "0806 0001 0800 06 04 0003 02ce00000001 0a000001" NOBODY "0a0000fe",
        /* a sender that is a group, or nobody */
        REQUEST "03ce00000001 0a000001" NOBODY "0a0000fe",
        REQUEST "ffffffffffff 0a000001" NOBODY "0a0000fe",
        REQUEST "000000000000 0a000001" NOBODY "0a0000fe",
    };
    char hex[256];

    open_rig("");
    for (unsigned i = 0; i < RTE_DIM(bad); i++) {
        snprintf(hex, sizeof(hex), BROADCAST "02ce00000001" CPE0_TAGS "%s", bad[i]);
        CU_ASSERT_STRING_EQUAL(fate(hex, CPE0), "drop arp_malformed");
    }
    /* to another station: seen only because the port is promiscuous */
    CU_ASSERT_STRING_EQUAL(fate("020000000099 02ce00000001" CPE0_TAGS REQUEST
                                "02ce00000001 0a000001" NOBODY "0a0000fe",
                                CPE0),
                           "drop arp_malformed");
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "02ce00000001" CPE0_TAGS REQUEST
                                          "02ce00000001 0a000001" NOBODY "0a0000fe",
                                N_TEST_PORTS),
                           "drop bad_port");
    /* one tag; a tag in place of the payload's type; neither ARP nor IPv4 */
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "02ce00000001 81000080" REQUEST
                                          "02ce00000001 0a000001" NOBODY "0a0000fe",
                                CPE0),
                           "drop bad_frame");
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "02ce00000001" CPE0_TAGS "86dd 6000", CPE0),
                           "drop ip_malformed");
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "02ce00000001 88cc 0000", CPE0), "drop unsupported");
    close_rig();
}

static void test_cut_frames(void)
{
    static const char whole[] =
        BROADCAST "02ce00000001" CPE0_TAGS REQUEST "02ce00000001 0a000001" NOBODY "0a0000fe";
    struct rte_mbuf *m = mbuf_from_hex(whole, CPE0);
    uint8_t bytes[64];
    size_t n = m->data_len;

    memcpy(bytes, rte_pktmbuf_mtod(m, void *), n);
    rte_pktmbuf_free(m);
    open_rig("");
    mbuf_guard(0);
    for (size_t len = 0; len < n; len++) {
        for (unsigned why = 0; why < 256; why++) { /* and reasons that there are not */
            m = mbuf_from_bytes(bytes, len, CPE0);
            meta_set_out_port(m, 0);
            meta_set_punt(m, (enum punt_reason)why);
            CU_ASSERT_EQUAL(memcmp(rig_fate(r, m), "drop ", 5), 0);
        }
    }
    CU_ASSERT(rig_drops(r, "not_punted") > 0);
    CU_ASSERT_EQUAL(rig_drops(r, "bad_frame"), 22 * 256);
    close_rig();
}

static void test_rate(void)
{
    unsigned answered = 0;

    open_rig("arp_rate=800"); /* an eighth of a second's worth at once: 100 */
    poll_at(0);
    for (unsigned i = 0; i < 150; i++)
        answered += strcmp(fate(BROADCAST "02ce00000001" CPE0_TAGS REQUEST
                                          "02ce00000001 0a000001" NOBODY "0a0000fe",
                                CPE0),
                           "to/0") == 0;
    CU_ASSERT_EQUAL(answered, 100);
    CU_ASSERT_EQUAL(rig_drops(r, "arp_rate_limited"), 50);
    poll_at(1 / 32.0 + 1e-3); /* two ticks: 25 more */
    for (unsigned i = 0; i < 150; i++)
        answered += strcmp(fate(BROADCAST "02ce00000001" CPE0_TAGS REQUEST
                                          "02ce00000001 0a000001" NOBODY "0a0000fe",
                                CPE0),
                           "to/0") == 0;
    CU_ASSERT_EQUAL(answered, 125);
    close_rig();
    open_rig("arp_rate=0");
    poll_at(0);
    poll_at(1);
    CU_ASSERT_STRING_EQUAL(fate(BROADCAST "02ce00000001" CPE0_TAGS REQUEST
                                          "02ce00000001 0a000001" NOBODY "0a0000fe",
                                CPE0),
                           "drop arp_rate_limited");
    close_rig();
}

static const struct test tests[] = {
    {"a request inside tags", test_request_in_tags},
    {"a request on a core port", test_request_untagged},
    {"learning a CPE", test_learn_cpe},
    {"senders that claim another's address", test_spoofed},
    {"static MACs", test_static},
    {"malformed", test_malformed},
    {"cut short, for any reason", test_cut_frames},
    {"a flood", test_rate},
    {NULL, NULL},
};

const struct test_program test_program = {"arp", tests, harness_open, harness_close};
