/* SPDX-License-Identifier: BSD-3-Clause */
/* What queue disciplines read of a frame (packet/flow.h): its flow, its ECN field, and marks in it,
 * in all DSCPs and under any number of tags that is understood. */
#include <string.h>

#include "common/program.h"
#include "packet/flow.h"

#define LEN 110

enum { V4, V6 };

/* A frame of some tags, of which the lowest bits of tpids say which TPID; l3 says where its header
 * begins. */
static uint8_t *make(uint8_t frame[LEN], unsigned tags, unsigned version, uint8_t tos, unsigned *l3)
{
    static const uint16_t tpid[] = {0x8100, 0x88a8, 0x9100};
    uint8_t *at = frame + 12;

    for (unsigned i = 0; i < LEN; i++)
        frame[i] = (uint8_t)(7 * i + 1);
    for (unsigned i = 0; i < tags; i++, at += 4)
        store16(at, rte_cpu_to_be_16(tpid[i]));
    store16(at, version == V4 ? RTE_BE16(0x0800) : RTE_BE16(0x86dd));
    at += 2;
    *l3 = (unsigned)(at - frame);
    if (version == V6) {
        at[0] = (uint8_t)(0x60 | tos >> 4);
        at[1] = (uint8_t)(tos << 4 | 5);
        at[6] = IPPROTO_UDP;
        return at;
    }
    at[0] = 0x45;
    at[1] = tos;
    at[6] = at[7] = 0;
    at[9] = IPPROTO_TCP;
    store16(at + 10, 0);
    store16(at + 10, rte_ipv4_cksum((const struct rte_ipv4_hdr *)at));
    return at;
}

static uint8_t tos_of(const uint8_t *ip)
{
    return ip[0] >> 4 == 4 ? ip[1] : (uint8_t)(ip[0] << 4 | ip[1] >> 4);
}

/* Every value of the byte, of IPv4 and IPv6: RFC 3168 section 5. Nothing else changes. */
static void marks(void)
{
    for (unsigned i = 0; i < 2 * 4 * 256; i++) {
        unsigned version = i & 1, tags = i >> 1 & 3, tos = i >> 3, ecn = tos & 3, l3;
        uint8_t frame[LEN], before[LEN], *ip = make(frame, tags, version, (uint8_t)tos, &l3);

        memcpy(before, frame, LEN);
        EXPECT(flow_ecn(frame, LEN) == ecn, "version %u, %u tags, tos %u", version, tags, tos);
        EXPECT(flow_mark_ce(frame, LEN) == (ecn != 0), "version %u, %u tags, tos %u", version, tags,
               tos);
        EXPECT(tos_of(ip) == (ecn != 0 ? tos | 3 : tos), "tos %u becomes %u", tos, tos_of(ip));
        if (version == V4) {
            EXPECT(ipv4_sum_is_right(ip, 20), "tos %u: checksum", tos);
            memcpy(before + l3 + 10, ip + 10, 2);
        }
        memcpy(before + l3, ip, 2);
        EXPECT(memcmp(before, frame, LEN) == 0, "tos %u: more has changed", tos);
    }
}

/* What is no IP, or too short, or has more tags than three, has no ECN and is not written to. */
static void no_marks(void)
{
    uint8_t frame[LEN], before[LEN];
    unsigned l3;

    make(frame, 2, V4, 2, &l3);
    memcpy(before, frame, LEN);
    for (uint32_t len = 0; len < ETH_LEN + 20 + 4 * FLOW_MAX_TAGS; len++)
        EXPECT(!flow_mark_ce(frame, len) && flow_ecn(frame, len) == ECN_NOT_ECT, "%u bytes", len);
    for (unsigned type = 0; type < 2; type++) {
        store16(frame + l3 - 2, type == 0 ? RTE_BE16(0x0806) : RTE_BE16(0x8847));
        EXPECT(!flow_mark_ce(frame, LEN) && flow_ecn(frame, LEN) == ECN_NOT_ECT, "type %u", type);
    }
    make(frame, 3, V4, 2, &l3);
    store16(frame + l3 - 2, RTE_BE16(0x8100));
    EXPECT(!flow_mark_ce(frame, LEN) && flow_ecn(frame, LEN) == ECN_NOT_ECT, "4 tags%s", "");
    make(frame, 2, V4, 2, &l3);
    CU_ASSERT_EQUAL(memcmp(before, frame, LEN), 0);
}

/* A flow is addresses, protocol and ports, and nothing else. */
static void flows(void)
{
    for (unsigned version = 0; version < 2; version++) {
        unsigned l3, ports = version == V4 ? 20 : 40, addresses = version == V4 ? 12 : 8;
        uint8_t frame[LEN], *ip = make(frame, 2, version, 0, &l3);
        uint16_t flow = flow_of(frame, LEN);

        ip = make(frame, 2, version, 0xb9, &l3);
        EXPECT(flow_of(frame, LEN) == flow, "version %u: its DSCP", version);
        ip[version == V4 ? 8 : 7]++;
        frame[0]++;
        EXPECT(flow_of(frame, LEN) == flow, "version %u: TTL, MAC", version);
        for (unsigned at = addresses; at < ports + 4; at++) {
            ip[at]++;
            EXPECT(flow_of(frame, LEN) != flow, "version %u: byte %u", version, at);
            ip[at]--;
        }
        ip[ports + 4]++;
        EXPECT(flow_of(frame, LEN) == flow, "version %u: what follows the ports", version);
        ip[version == V4 ? 9 : 6] = IPPROTO_SCTP;
        EXPECT(flow_of(frame, LEN) != flow, "version %u: protocol", version);
    }
}

/* Ports are taken where all packets of the flow have them: not of fragments, nor of what is short.
 */
static void ports(void)
{
    uint8_t frame[LEN], *ip;
    uint16_t flow, other;
    unsigned l3;

    ip = make(frame, 2, V4, 0, &l3);
    flow = flow_of(frame, LEN);
    ip[6] = 0x40; /* do not fragment */
    CU_ASSERT_EQUAL(flow_of(frame, LEN), flow);
    ip[6] = 0x20; /* more fragments */
    other = flow_of(frame, LEN);
    CU_ASSERT_NOT_EQUAL(other, flow);
    ip[20]++;
    CU_ASSERT_EQUAL(flow_of(frame, LEN), other);
    ip[6] = 0;
    ip[7] = 185; /* the last of them */
    CU_ASSERT_EQUAL(flow_of(frame, LEN), other);

    ip = make(frame, 3, V4, 0, &l3);
    flow = flow_of(frame, LEN);
    CU_ASSERT_EQUAL(flow_of(frame, l3 + 24), flow);
    other = flow_of(frame, l3 + 20);
    CU_ASSERT_NOT_EQUAL(other, flow);
    CU_ASSERT_EQUAL(flow_of(frame, l3 + 23), other);
    memmove(ip + 24, ip + 20, 4); /* an option before them */
    ip[0] = 0x46;
    CU_ASSERT_EQUAL(flow_of(frame, LEN), flow);
    ip[0] = 0x4f; /* options beyond the frame */
    CU_ASSERT_EQUAL(flow_of(frame, l3 + 30), other);
}

/* Numbers are spread: of 4096 flows that differ by a port, few share one. */
static void spread(void)
{
    static uint8_t seen[65536];
    uint8_t frame[LEN], *ip;
    unsigned l3, again = 0;

    ip = make(frame, 2, V4, 0, &l3);
    for (unsigned i = 0; i < 4096; i++) {
        store16(ip + 22, rte_cpu_to_be_16((uint16_t)(1024 + i)));
        again += seen[flow_of(frame, LEN)]++ != 0;
    }
    EXPECT(again < 200, "%u of 4096", again); /* 125 are expected of random numbers */
}

static const struct test tests[] = {
    {"marks in all values of the byte", marks},
    {"what is not marked", no_marks},
    {"what makes a flow", flows},
    {"ports", ports},
    {"numbers of flows are spread", spread},
    {NULL, NULL},
};

const struct test_program test_program = {"flow", tests, NULL, NULL};
