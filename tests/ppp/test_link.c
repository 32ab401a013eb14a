/* SPDX-License-Identifier: BSD-3-Clause */
/* A PPP link, to which the test says bytes by the RFCs and reads what is answered. */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cp/ppp/ppp.h"

#define SECOND UINT64_C(1000000000)

static struct ppp p;
static uint64_t now;
static char sent[8][200]; /* "PROTOCOL PACKET" in hexadecimal digits, the newest last */
static unsigned n_sent;
static struct ppp_proof proof; /* the last one */
static char proved[32], secret[32];
static unsigned n_judged, n_ready;

static void send_it(void *ctx, uint16_t protocol, const uint8_t *packet, size_t n)
{
    char *to = sent[n_sent++ % 8];

    CU_ASSERT_PTR_EQUAL(ctx, &n_sent);
    to += sprintf(to, "%04x ", protocol);
    for (size_t i = 0; i < n && i < 90; i++)
        to += sprintf(to, "%02x", packet[i]);
}

static void judge_it(void *ctx, const struct ppp_proof *given)
{
    proof = *given;
    snprintf(proved, sizeof(proved), "%.*s", (int)given->name.n, (const char *)given->name.at);
    snprintf(secret, sizeof(secret), "%.*s", (int)given->password.n,
             (const char *)given->password.at);
    n_judged++;
}

static void ready_it(void *ctx)
{
    n_ready++;
}

static const struct ppp_calls calls = {.send = send_it, .judge = judge_it, .ready = ready_it};
static struct ppp_settings settings = {.name = "bng",
                                       .methods = {PPP_CHAP, PPP_PAP},
                                       .n_methods = 2,
                                       .restart_ns = 3 * SECOND,
                                       .max_configure = 10,
                                       .max_terminate = 2,
                                       .max_failure = 5};
static const struct ppp_grant both = {
    .address = 0x0a400002, .own = 0x0a400001, .dns = {0xc0000235}, .ipv6 = true, .iid = 1};

static void begin(uint16_t most)
{
    ppp_free(&p);
    n_sent = n_judged = n_ready = 0;
    now = SECOND;
    ppp_init(&p, &settings, &calls, &n_sent, most, 0x01020304);
    ppp_start(&p, now);
}

/* Say "PROTOCOL PACKET", in a block of its own. */
static void say(const char *text)
{
    size_t n = strlen(text + 5) / 2;
    uint8_t *bytes = malloc(n > 0 ? n : 1);
    unsigned byte;

    for (size_t i = 0; i < n; i++) {
        sscanf(text + 5 + 2 * i, "%2x", &byte);
        bytes[i] = (uint8_t)byte;
    }
    n_sent = 0;
    ppp_take(&p, (uint16_t)strtoul(text, NULL, 16), (struct ppp_bytes){bytes, n}, now);
    free(bytes);
}

#define HEARD(...) heard((const char *const[]){__VA_ARGS__, NULL}, __LINE__)

static void heard(const char *const *want, int line)
{
    unsigned n = 0;

    for (; want[n] != NULL; n++)
        EXPECT(n < n_sent && strcmp(sent[n], want[n]) == 0, "line %d: %s, not %s", line,
               n < n_sent ? sent[n] : "nothing", want[n]);
    EXPECT(n_sent == n, "line %d: %u packets: %s", line, n_sent, sent[n]);
}

#define ANSWERS(text, ...)                                                                         \
    do {                                                                                           \
        say(text);                                                                                 \
        HEARD(__VA_ARGS__);                                                                        \
    } while (0)
#define SILENT(text)                                                                               \
    do {                                                                                           \
        say(text);                                                                                 \
        EXPECT(n_sent == 0, "%s", sent[0]);                                                        \
    } while (0)

/* What this side sends as its first Configure-Request. */
#define OWN "c021 01010013010405d40305c22305050601020304"

static void lcp_open(void)
{
    begin(1492);
    HEARD(OWN);
    SILENT("c021 02010013010405d40305c22305050601020304");
    say("c021 01070012010405d4050611223344"
        "0000"); /* beyond its length: wrong */
    EXPECT(n_sent == 0, "%s", sent[0]);
    say("c021 0107000e010405d4050611223344");
}

static void lcp(void)
{
    lcp_open();
    CU_ASSERT_EQUAL(n_sent, 2);
    CU_ASSERT_STRING_EQUAL(sent[0], "c021 0207000e010405d4050611223344");
    CU_ASSERT_EQUAL(strncmp(sent[1], "c223 0101001810", 15), 0); /* a challenge */
    CU_ASSERT_STRING_EQUAL(sent[1] + 5 + 2 * 21, "626e67");
    CU_ASSERT_EQUAL(p.peer_mru, 1492);
    CU_ASSERT_EQUAL(p.peer_magic, 0x11223344);
    ANSWERS("c021 0905000a112233446162", "c021 0a05000a010203046162"); /* echo */
    SILENT("c021 0a05000811223344");
    SILENT("c021 0b05000811223344");
    SILENT("c021 09050006aabb");
    ANSWERS("c021 0c01000811223344", "c021 0702000c0c01000811223344"); /* unknown code */
    ANSWERS("80fd 01010004", "c021 0803000a80fd01010004");             /* unknown protocol */
    SILENT("8021 0101000a030600000000");                               /* not yet */
    ANSWERS("c021 05090004", "c021 06090004");
    CU_ASSERT_STRING_EQUAL(p.over, "the peer terminates");
    CU_ASSERT_EQUAL(ppp_next(&p), UINT64_MAX);
    SILENT("c021 0905000811223344");
}

static void lcp_options(void)
{
    begin(1492);
    /* ACCM, protocol and address field compression, authentication of this side */
    ANSWERS("c021 01010018020600000000070208020304c02305061122334400",
            "c021 0401001202060000000007020802"
            "0304c023");
    ANSWERS("c021 01020008010405dc", "c021 03020008010405d4"); /* more than Ethernet carries */
    ANSWERS("c021 0103000801040100", "c021 0303000801040240");
    ANSWERS("c021 0104000a050600000000", "c021 0304000a0506c3acf9c5");
    ANSWERS("c021 0105000a050601020304", "c021 0305000a0506c3acf9c5"); /* a loop */
    ANSWERS("c021 0106000701030105", "c021 03060008010405d4");         /* of a wrong length */
    ANSWERS("c021 01070008010405dc", "c021 04070008010405dc");         /* five Naks were sent */
    SILENT("c021 010800050000");
    SILENT("c021 0109000601010000");
    ANSWERS("c021 010a0004", "c021 020a0004"); /* nothing of it must be */
    ANSWERS("c021 010b00080104056e", "c021 020b00080104056e");
    CU_ASSERT_EQUAL(p.peer_mru, 0x56e);
    begin(1500); /* RFC 4638 */
    ANSWERS("c021 01020008010405dc", "c021 02020008010405dc");
    ANSWERS("c021 01030008010405dd", "c021 03030008010405dc");
}

static void lcp_refused(void)
{
    begin(1492);
    ANSWERS("c021 0301000801040580", "c021 01020013010405800305c22305050601020304");
    ANSWERS("c021 030200080304c023", "c021 01030012010405800304c023050601020304"); /* PAP */
    SILENT("c021 020200130104058003050c22305050601020304");                        /* an old one */
    ANSWERS("c021 0403000801040580", "c021 0104000e0304c023050601020304");
    ANSWERS("c021 0404000a050601020304", "c021 010500080304c023");
    ANSWERS("c021 030500090305c22381", "c021 010600080304c023"); /* MS-CHAP: there is none */
    ANSWERS("c021 030600090305c22305", "c021 010700090305c22305");
    SILENT("c021 040700090305c22305");
    CU_ASSERT_PTR_NOT_NULL(p.over);
    begin(1492); /* what he would rather have is not allowed, but the next may suit him */
    ANSWERS("c021 030100090305c22381", "c021 01020012010405d40304c023050601020304");
    begin(1492);
    ANSWERS("c021 030100080304c227", "c021 01020012010405d40304c023050601020304"); /* EAP */
    begin(1492); /* Naks without end */
    for (unsigned i = 1; i < 20; i++) {
        char nak[40];

        snprintf(nak, sizeof(nak), "c021 03%02x00060902", i);
        say(nak);
        CU_ASSERT_EQUAL(n_sent, 1);
    }
    SILENT("c021 031400060902");
    CU_ASSERT_PTR_NOT_NULL(p.over);
}

/* RFC 1661 section 6.1: who says nothing takes 1500, if frames carry it. */
static void lcp_without_mru(void)
{
    static const uint16_t most[] = {1492, 1500, 9000}, takes[] = {1492, 1500, 1500};

    for (unsigned i = 0; i < 3; i++) {
        begin(most[i]);
        ANSWERS("c021 0107000a050611223344", "c021 0207000a050611223344");
        CU_ASSERT_EQUAL(ppp_mtu(&p), takes[i]);
    }
}

static void lcp_silence(void)
{
    unsigned requests = 1;

    begin(1492);
    while (p.over == NULL && requests < 100) {
        CU_ASSERT_EQUAL(ppp_next(&p), now + 3 * SECOND);
        now += 3 * SECOND;
        n_sent = 0;
        ppp_run(&p, now - 1);
        CU_ASSERT_EQUAL(n_sent, 0);
        ppp_run(&p, now);
        requests += n_sent;
    }
    CU_ASSERT_EQUAL(requests, 10);
    CU_ASSERT_STRING_EQUAL(p.over, "LCP: no agreement");
}

/* A response to the last challenge. */
static void respond(unsigned id)
{
    char text[100];

    snprintf(text, sizeof(text), "c223 02%02x001910%032x61646d6d", id, 7);
    text[5 + 4] = '0';
    say(text);
}

static void chap(void)
{
    uint8_t challenge[PPP_CHALLENGE];

    lcp_open();
    memcpy(challenge, p.challenge, sizeof(challenge));
    n_sent = 0;
    now += 3 * SECOND;
    ppp_run(&p, now);
    CU_ASSERT(n_sent == 1 && strncmp(sent[0], "c223 01010018", 13) == 0); /* the same */
    CU_ASSERT_EQUAL(memcmp(challenge, p.challenge, sizeof(challenge)), 0);
    respond(9);
    CU_ASSERT_EQUAL(n_judged, 0); /* to another challenge */
    respond(1);
    CU_ASSERT(n_judged == 1 && proof.method == PPP_CHAP && proof.id == 1);
    CU_ASSERT_STRING_EQUAL(proved, "admm");
    CU_ASSERT_EQUAL(memcmp(proof.challenge.at, challenge, sizeof(challenge)), 0);
    respond(1);
    CU_ASSERT(n_judged == 1 && n_sent == 0); /* is being judged */
    ppp_judged(&p, &both, "hello", now);
    HEARD("c223 0301000968656c6c6f", "8021 0101000a03060a400001",
          "8057 0101000e010a0000000000000001");
    respond(1);
    HEARD("c223 03010004");
}

static void chap_silence(void)
{
    unsigned challenges = 1;

    lcp_open();
    while (p.over == NULL && challenges < 100) {
        now += 3 * SECOND;
        n_sent = 0;
        ppp_run(&p, now);
        challenges += n_sent;
    }
    CU_ASSERT_EQUAL(challenges, 10);
    CU_ASSERT_STRING_EQUAL(p.over, "CHAP: no response");
}

static void to_pap(void)
{
    begin(1492);
    say("c021 030100080304c023");
    say("c021 02020012010405d40304c023050601020304");
    say("c021 01010004");
}

static void pap(void)
{
    to_pap();
    SILENT("c023 01050005ff");
    SILENT("c223 0205001910000102030405060708090a0b0c0d0e0f61646d6d");
    SILENT("c023 0105000d04757365720361");
    SILENT("c023 0105000d04757365720561626300");
    CU_ASSERT_EQUAL(n_judged, 0);
    SILENT("c023 0105000e04757365720461626364");
    CU_ASSERT_EQUAL(n_judged, 1);
    CU_ASSERT_STRING_EQUAL(proved, "user");
    CU_ASSERT_STRING_EQUAL(secret, "abcd");
    ppp_judged(&p, &both, "", now);
    HEARD("c023 0205000500", "8021 0101000a03060a400001", "8057 0101000e010a0000000000000001");
    ANSWERS("c023 0106000e04757365720461626364", "c023 0206000500");
    CU_ASSERT_EQUAL(n_judged, 1);
}

static void failure(void)
{
    to_pap();
    say("c023 0105000e04757365720461626364");
    ppp_judged(&p, NULL, "no", now);
    HEARD("c023 03050007026e6f", "c021 05030004");
    CU_ASSERT_STRING_EQUAL(p.over, "authentication failed");
}

static void to_network(const struct ppp_grant *grant)
{
    to_pap();
    say("c023 0105000e04757365720461626364");
    ppp_judged(&p, grant, "", now);
}

static void ipcp(void)
{
    to_network(&both);
    /* zeros are questions; a second server there is not, nor compression */
    ANSWERS("8021 0101001c030600000000810600000000830600000000020600"
            "2d0f01",
            "8021 0401001083060000000002060"
            "02d0f01");
    ANSWERS("8021 01020010030600000000810600000000", "8021 0302001003060a4000028106c0000235");
    ANSWERS("8021 01030004", "8021 0303000a03060a400002"); /* he must have it */
    SILENT("8021 0104001003060a4000028106c0000235");
    CU_ASSERT(n_ready == 1 && ppp_ready4(&p) && !ppp_ready6(&p));
    SILENT("8021 0201000a03060a400001");
    n_sent = 0;
    ppp_forwards(&p, true, false, now);
    HEARD("8021 0204001003060a4000028106c0000235");
    CU_ASSERT_EQUAL(p.ipcp.state, PPP_OPENED);
    /* and again: at once, for he is forwarded for */
    ANSWERS("8021 0105000a03060a400002", "8021 0102000a03060a400001", "8021 0205000a03060a400002");
    CU_ASSERT_EQUAL(n_ready, 1);
}

static void ipv6cp(void)
{
    to_network(&both);
    ANSWERS("8057 0101000e010a0000000000000000", "8057 0301000e010a0000000000000003");
    ANSWERS("8057 0102000e010a0000000000000001", "8057 0302000e010a0000000000000003");
    ANSWERS("8057 01030008020400"
            "61",
            "8057 040300080204"
            "0061");
    ANSWERS("8057 01040004", "8057 0304000e010a0000000000000003");
    SILENT("8057 0105000e010a0200000000000009");
    CU_ASSERT(!ppp_ready4(&p) && ppp_ready6(&p));
    n_sent = 0;
    ppp_forwards(&p, false, true, now);
    HEARD("8057 0205000e010a0200000000000009");
    CU_ASSERT_EQUAL(p.peer_iid, UINT64_C(0x0200000000000009));
}

static void one_family(void)
{
    struct ppp_grant four = both;

    four.ipv6 = false;
    to_network(&four);
    HEARD("c023 0205000500", "8021 0101000a03060a400001");
    ANSWERS("8057 0101000e010a0000000000000009",
            "c021 0803001480570101000e010a0000000000000009"); /* Protocol-Reject */
    to_network(&both);
    SILENT("c021 0809000e80570101000e010a0000");
    CU_ASSERT_PTR_NULL(p.over);
    SILENT("c021 080a000e80210101000a03060a40");
    CU_ASSERT_PTR_NOT_NULL(p.over); /* nothing is left */
}

static void lcp_again(void)
{
    to_network(&both);
    say("c021 0107000e010405d4050611223344"); /* before anything is forwarded: from the beginning */
    CU_ASSERT(p.over == NULL && p.phase == PPP_ESTABLISH && n_sent == 2);
    to_network(&both);
    say("8021 0104001003060a4000028106c0000235");
    ppp_forwards(&p, true, false, now);
    say("c021 0107000e010405d4050611223344");
    CU_ASSERT_STRING_EQUAL(p.over, "LCP was negotiated again");
    CU_ASSERT_EQUAL(n_sent, 0);
}

static void terminated(void)
{
    to_network(&both);
    say("8021 0104001003060a4000028106c0000235");
    ppp_forwards(&p, true, false, now);
    ANSWERS("c021 05070004", "c021 06070004");
    CU_ASSERT_STRING_EQUAL(p.over, "the peer terminates");
    begin(1492); /* before LCP is open, too */
    ANSWERS("c021 05070004", "c021 06070004");
    CU_ASSERT_STRING_EQUAL(p.over, "the peer terminates");
}

static void late_judgement(void)
{
    to_pap();
    say("c023 0105000e04757365720461626364");
    say("c021 0107000e010405d4050611223344"); /* the peer begins anew meanwhile */
    n_sent = 0;
    ppp_judged(&p, &both, "", now);
    CU_ASSERT(n_sent == 0 && p.phase == PPP_ESTABLISH);
}

static void resumed(void)
{
    begin(1492);
    ppp_free(&p);
    ppp_init(&p, &settings, &calls, &n_sent, 1492, 0x01020304);
    n_sent = 0;
    ppp_resume(&p, &both, now);
    CU_ASSERT(n_sent == 0 && ppp_next(&p) == UINT64_MAX && ppp_ready4(&p) && ppp_ready6(&p));
    ANSWERS("c021 0905000811223344", "c021 0a05000801020304");
    /* his Configure-Ack was lost with what sent it */
    ANSWERS("8021 0105000a03060a400002", "8021 0101000a03060a400001", "8021 0205000a03060a400002");
    ppp_end(&p, "why", now);
    CU_ASSERT_STRING_EQUAL(sent[2], "c021 05010004");
}

/* Whatever a peer says: nothing is read beyond its end, no loop, no more than three packets back.
 */
static void random_packets(void)
{
    static const uint16_t protocols[] = {PPP_LCP,  PPP_LCP,    PPP_PAP, PPP_CHAP,
                                         PPP_IPCP, PPP_IPV6CP, 0x80fd};
    unsigned over = 0, networks = 0;

    srand(1);
    for (unsigned round = 0; round < 20000; round++) {
        if (round % 2 == 0)
            to_network(&both);
        else
            begin(1492);
        for (unsigned i = 0; i < 20 && p.over == NULL; i++) {
            size_t n = 4 + (size_t)rand() % 24;
            uint8_t *bytes = malloc(n);

            for (size_t k = 0; k < n; k++)
                bytes[k] = (uint8_t)(rand() % (k == 0 ? 13 : k % 3 == 0 ? 11 : 256));
            bytes[1] = (uint8_t)(rand() % 4);
            bytes[2] = 0;
            bytes[3] = (uint8_t)(n - (size_t)(rand() % 8 == 0));
            n_sent = 0;
            ppp_take(&p, protocols[rand() % 7], (struct ppp_bytes){bytes, n}, now);
            free(bytes);
            CU_ASSERT(n_sent <= 3);
            now += SECOND;
            ppp_run(&p, now);
        }
        over += p.over != NULL;
        networks += p.phase == PPP_NETWORK;
    }
    EXPECT(over > 1000 && networks > 100, "%u over, %u on", over, networks);
}

static int close_link(void)
{
    ppp_free(&p);
    return 0;
}

static const struct test tests[] = {
    {"LCP", lcp},
    {"LCP's options", lcp_options},
    {"LCP refused", lcp_refused},
    {"LCP, without an MRU", lcp_without_mru},
    {"LCP, and nobody answers", lcp_silence},
    {"CHAP", chap},
    {"CHAP, and nobody answers", chap_silence},
    {"PAP", pap},
    {"failure", failure},
    {"IPCP", ipcp},
    {"IPV6CP", ipv6cp},
    {"one family", one_family},
    {"LCP again", lcp_again},
    {"terminated", terminated},
    {"late judgement", late_judgement},
    {"resumed", resumed},
    {"random packets", random_packets},
    {NULL, NULL},
};

const struct test_program test_program = {"link", tests, NULL, close_link};
