/* SPDX-License-Identifier: BSD-3-Clause */
/* The parsers of src/packet on bytes that end where the memory ends. The first byte says which one.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "packet/arp.h"
#include "packet/ethernet.h"
#include "packet/gre.h"
#include "packet/icmp.h"
#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "packet/lcp.h"
#include "packet/line.h"
#include "packet/mpls.h"
#include "packet/mss.h"
#include "packet/nd.h"
#include "packet/pppoe.h"
#include "packet/punt_parse.h"
#include "packet/qinq.h"
#include "packet/stamp.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    return 0;
}

static void labels(const uint8_t *p, uint32_t len)
{
    for (unsigned max = 1; max <= 16; max++) {
        int stack = mpls_stack_len(p, len, max);

        if (stack > 0 && ((uint32_t)stack > len || (uint32_t)stack > max * 4 || stack % 4 != 0))
            fuzz_fail("a stack of %d in %u bytes", stack, len);
    }
}

static void header(const uint8_t *p, uint32_t len)
{
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)p;

    if (len < sizeof(*ip) || ipv4_check(ip, len) != IPV4_OK)
        return;
    if (rte_be_to_cpu_16(ip->total_length) > len || rte_ipv4_hdr_len(ip) > len)
        fuzz_fail("a header beyond %u bytes is taken for right", len);
    ipv4_dscp(ip);
    if (icmp_may_answer(ip) && icmp_quote_len(ip) > len)
        fuzz_fail("more is quoted than there is");
}

static void header6(uint8_t *p, uint32_t len)
{
    struct ipv6_hdr *ip = (struct ipv6_hdr *)p;
    struct ipv6_payload to;

    if (ipv6_check(ip, len) != IPV6_OK)
        return;
    if (ipv6_len(ip) > len)
        fuzz_fail("a header beyond %u bytes is taken for right", len);
    if (ipv6_walk(ip, len, &to) == IPV6_WALK_OK && to.at > ipv6_len(ip))
        fuzz_fail("a payload at %u of %u", to.at, len);
    if ((ipv6_kind(ip->source) <= IPV6_UNIQUE_LOCAL) != ipv6_is_forwarded(ipv6_upper(ip->source)))
        fuzz_fail("the two judgements of an address differ");
    ipv6_merge_ecn(ip, p[7]);
    ipv6_set_dscp(ip, p[6] >> 2);
    if (ipv6_check(ip, len) != IPV6_OK || ipv6_dscp(ip) != p[6] >> 2)
        fuzz_fail("the DSCP has damaged the header");
}

static void tunnel(const uint8_t *p, uint32_t len)
{
    uint16_t flags;

    if (len < 4)
        return;
    flags = gre_flags(p);
    if (!gre_flags_ok(flags) || len < gre_len(flags))
        return;
    gre_protocol(p);
    if ((flags & GRE_HAS_KEY) != 0)
        gre_key(p, flags);
    if ((flags & GRE_HAS_SUM) != 0)
        gre_checksum_ok(p, len);
}

static void probe(const uint8_t *p, uint32_t len)
{
    uint32_t first = stamp_find(p, len, STAMP_NONE);

    for (uint32_t hint = STAMP_FIRST; hint <= STAMP_LAST; hint += 2) {
        uint32_t at = stamp_find(p, len, hint);

        if ((at == STAMP_NONE) != (first == STAMP_NONE))
            fuzz_fail("with the hint %u a stamp at %u, else at %u", hint, at, first);
        if (at != STAMP_NONE && (at + STAMP_LEN > len || !stamp_is_at(p + at)))
            fuzz_fail("a stamp at %u of %u", at, len);
    }
}

/* With a checksum that is right, which is found by no chance. */
static void neighbour(uint8_t *p, uint32_t len)
{
    struct ipv6_hdr *ip = (struct ipv6_hdr *)p;
    struct nd nd;
    uint32_t end;

    if (ipv6_check(ip, len) != IPV6_OK)
        return;
    icmpv6_may_answer(ip, len, false);
    nd_is_for_link(ip, len);
    if (icmpv6_quote_len(ip) > len)
        fuzz_fail("a quote of more than %u bytes", len);
    if (!nd_is(ip, len))
        return;
    end = ipv6_len(ip);
    if (end >= IPV6_LEN + 4)
        icmpv6_seal(ip, p + IPV6_LEN, end - IPV6_LEN);
    if (!nd_parse(ip, len, &nd))
        return;
    if (nd.target != NULL && nd.target + IPV6_ADDR_LEN > p + end)
        fuzz_fail("a target beyond %u bytes", end);
    if (nd.mac != NULL && nd.mac + 6 > p + end)
        fuzz_fail("a MAC beyond %u bytes", end);
}

/* What a client of the punt socket sends. */
static void message(const uint8_t *p, uint32_t len)
{
    const uint8_t *frame = NULL;
    struct punt_header h;

    if (punt_parse(p, len, &h, &frame) != PUNT_OK)
        return;
    if (frame < p + sizeof(h) || frame + h.frame_bytes != p + len || h.frame_bytes < ETH_LEN)
        fuzz_fail("a frame of %u bytes in a message of %u", h.frame_bytes, len);
    if (h.svlan < 1 || h.svlan > 4094 || h.cvlan < 1 || h.cvlan > 4094 || strlen(h.port) > 31)
        fuzz_fail("the line %u.%u", h.svlan, h.cvlan);
}

/* What a line sends, with both tags: of the kinds that are copied whole. */
static void line(const uint8_t *p, uint32_t len)
{
    if (len >= QINQ_LEN && line_kind(p, QINQ_LEN, len) >= N_PUNT_KINDS)
        fuzz_fail("a kind that no frame has");
}

/* What is in a PPPoE session, behind its EtherType: echoes, and segments whose size is lowered. */
static void session(uint8_t *p, uint32_t len)
{
    struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(p + PPPOE_PPP_LEN);
    struct ipv6_hdr *ip6 = (struct ipv6_hdr *)(p + PPPOE_PPP_LEN);
    struct pppoe s;

    if (!pppoe_read(p, len, &s))
        return;
    if (s.len > len - PPPOE_PPP_LEN)
        fuzz_fail("%u bytes in a session frame of %u", s.len, len);
    if (s.protocol == PPP_IPV4 && ipv4_check(ip, s.len) == IPV4_OK)
        mss_clamp(ip, PPPOE_MTU);
    else if (s.protocol == PPP_IPV6 && ipv6_check(ip6, s.len) == IPV6_OK)
        mss_clamp6(ip6, PPPOE_MTU);
    else if (lcp_is_echo(p + PPPOE_PPP_LEN, s.len, LCP_ECHO_REQUEST) && s.len < LCP_ECHO_LEN)
        fuzz_fail("an echo of %u bytes", s.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *p;
    uint32_t len;

    if (size == 0)
        return -1;
    len = (uint32_t)size - 1;
    p = malloc(len > 0 ? len : 1); /* with its end under watch */
    if (p == NULL)
        return -1;
    memcpy(p, data + 1, len);
    switch (data[0] % 10) {
    case 0:
        labels(p, len);
        break;
    case 1:
        header(p, len);
        break;
    case 2:
        tunnel(p, len);
        break;
    case 3:
        if (len >= sizeof(struct rte_arp_hdr))
            arp_is_valid((const struct rte_arp_hdr *)p, len);
        break;
    case 4:
        probe(p, len);
        break;
    case 5:
        header6(p, len);
        break;
    case 6:
        neighbour(p, len);
        break;
    case 7:
        message(p, len);
        break;
    case 8:
        line(p, len);
        break;
    case 9:
        session(p, len);
        break;
    }
    free(p);
    return 0;
}
