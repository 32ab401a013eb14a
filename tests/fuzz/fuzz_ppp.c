/* SPDX-License-Identifier: BSD-3-Clause */
/* What strangers on a line send in PPPoE: the first byte says whether a frame of discovery follows,
 * or packets of a link, each behind a byte for its protocol and two for its length. */
#include <string.h>

#include "cp/packet/bytes.h"
#include "cp/packet/pppoe.h"
#include "cp/ppp/ppp.h"
#include "fuzz.h"

#define MOST_ANSWERS                                                                               \
    4 /* packets that one of the peer's brings about: an answer, a Configure-Request of each       \
         protocol */

static struct ppp link_end;
static unsigned n_sent;
static bool wants_forwarding;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    return 0;
}

static void send_it(void *ctx, uint16_t protocol, const uint8_t *packet, size_t n)
{
    struct ppp_packet p;

    if (n > PPP_MOST || ppp_read((struct ppp_bytes){packet, n}, &p) != NULL)
        fuzz_fail("a packet of %zu bytes cannot be read", n);
    if (p.code <= PPP_CONFIGURE_REJECT && protocol != PPP_PAP && protocol != PPP_CHAP &&
        !ppp_options_right(p.data))
        fuzz_fail("its options cannot be read");
    n_sent++;
}

static void judge_it(void *ctx, const struct ppp_proof *proof)
{
    static const struct ppp_grant grant = {
        .address = 0x0a400002, .own = 0x0a400001, .dns = {0xc0000235}, .ipv6 = true, .iid = 1};
    uint8_t sum = 0;

    for (size_t i = 0; i < proof->name.n; i++)
        sum ^= proof->name.at[i];
    ppp_judged(&link_end, sum % 8 != 7 ? &grant : NULL, "message", link_end.now);
}

static void ready_it(void *ctx)
{
    wants_forwarding = true;
}

static const struct ppp_calls calls = {.send = send_it, .judge = judge_it, .ready = ready_it};
static const struct ppp_settings settings = {.name = "bng",
                                             .methods = {PPP_PAP, PPP_CHAP},
                                             .n_methods = 2,
                                             .restart_ns = 3,
                                             .max_configure = 10,
                                             .max_terminate = 2,
                                             .max_failure = 5};

static void discovery(const uint8_t *data, size_t size)
{
    struct pppoe p;
    struct pppoe_tags t;
    struct pppoe_frame f;

    if (pppoe_read((struct ppp_bytes){data, size}, PPPOE_DISCOVERY, &p) != NULL ||
        pppoe_read_tags(p.payload, &t) != NULL)
        return;
    pppoe_begin(&f, p.from_mac, p.to_mac, PPPOE_PADO, 0);
    pppoe_repeat(&f, PPPOE_SERVICE_NAME, t.service);
    pppoe_repeat(&f, PPPOE_HOST_UNIQ, t.host_uniq);
    pppoe_repeat(&f, PPPOE_RELAY_SESSION_ID, t.relay);
    if (!pppoe_end(&f))
        return;
    if (pppoe_read((struct ppp_bytes){f.at, f.n}, PPPOE_DISCOVERY, &p) != NULL ||
        pppoe_read_tags(p.payload, &t) != NULL)
        fuzz_fail("an answer of %zu bytes cannot be read", f.n);
}

static void packets(const uint8_t *data, size_t size)
{
    static const uint16_t protocols[] = {PPP_LCP, PPP_PAP, PPP_CHAP, PPP_IPCP, PPP_IPV6CP, 0x80fd};
    uint64_t now = 1;

    ppp_init(&link_end, &settings, &calls, NULL, 1492, 0x01020304);
    ppp_start(&link_end, now);
    while (size >= 3 && link_end.over == NULL) {
        size_t n = get16(data + 1) < size - 3 ? get16(data + 1) : size - 3;

        n_sent = 0;
        ppp_take(&link_end, protocols[data[0] % 6], (struct ppp_bytes){data + 3, n}, now);
        if (n_sent > MOST_ANSWERS)
            fuzz_fail("%u packets for one", n_sent);
        if (wants_forwarding)
            ppp_forwards(&link_end, ppp_ready4(&link_end), ppp_ready6(&link_end), now);
        wants_forwarding = false;
        ppp_run(&link_end, now += data[0] >> 6);
        data += 3 + n;
        size -= 3 + n;
    }
    ppp_free(&link_end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] % 2 == 0)
        discovery(data + 1, size - 1);
    else
        packets(data + 1, size - 1);
    return 0;
}
