/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that the slow path answers by ICMP, and what every answer must be. */
#ifndef TEST_TASK_ARP_PACKET_H
#define TEST_TASK_ARP_PACKET_H

#include <rte_ip.h>

#include "arp_rig.h"

#define CPE   0x0a000001u
#define PREFX 0x0a000177u /* in the prefix of SUB_CPE1 */
#define ALIEN 0x14000001u /* somewhere behind the core */

/* An IPv4 packet in the making: an untagged frame unless it has tags. */
struct packet {
    uint32_t src, dst;
    uint8_t proto, options, ttl;
    uint16_t flags;
    uint8_t payload[1600];
    unsigned len;     /* of payload */
    const char *tags; /* in bytes, or NULL */
    uint8_t dst_mac;  /* first byte of the frame */
};

static inline struct packet echo(uint32_t src, uint32_t dst, unsigned data)
{
    struct packet p = {.src = src, .dst = dst, .proto = 1, .ttl = 5, .len = 8 + data};
    uint16_t sum;

    p.payload[0] = 8;
    memcpy(p.payload + 4, "\x12\x34\x00\x07", 4);
    for (unsigned i = 0; i < data; i++)
        p.payload[8 + i] = (uint8_t)(i + 1);
    sum = (uint16_t)~rte_raw_cksum(p.payload, p.len);
    memcpy(p.payload + 2, &sum, 2);
    return p;
}

static inline struct packet udp(uint32_t src, uint32_t dst, unsigned len)
{
    struct packet p = {.src = src, .dst = dst, .proto = 17, .ttl = 1, .len = len};

    for (unsigned i = 0; i < len; i++)
        p.payload[i] = (uint8_t)(0x40 + i);
    return p;
}

static inline struct rte_mbuf *frame(const struct packet *p, uint16_t port, enum punt_reason why)
{
    uint8_t f[2048] = {p->dst_mac, 0, 0, 0, 0, 3, 2, 0xc0, 0, 0, 0, 0x77};
    unsigned at = 12, header = 20u + p->options;
    struct rte_ipv4_hdr ip = {.version_ihl = (uint8_t)(0x40 | header / 4),
                              .type_of_service = 0x2b,
                              .total_length = rte_cpu_to_be_16((uint16_t)(header + p->len)),
                              .packet_id = RTE_BE16(77),
                              .fragment_offset = rte_cpu_to_be_16(p->flags),
                              .time_to_live = p->ttl,
                              .next_proto_id = p->proto,
                              .src_addr = rte_cpu_to_be_32(p->src),
                              .dst_addr = rte_cpu_to_be_32(p->dst)};
    struct rte_mbuf *m;
    uint16_t sum;

    if (p->tags != NULL) {
        memcpy(f + at, p->tags, 8);
        at += 8;
    }
    memcpy(f + at, "\x08\x00", 2);
    at += 2;
    memcpy(f + at, &ip, sizeof(ip));
    memset(f + at + sizeof(ip), 1, p->options);
    sum = (uint16_t)~rte_raw_cksum(f + at, header);
    memcpy(f + at + 10, &sum, 2);
    memcpy(f + at + header, p->payload, p->len);
    m = mbuf_from_bytes(f, at + header + p->len, port);
    meta_set_out_port(m, 0);
    meta_set_punt(m, why);
    return m;
}

static inline const char *ping(const struct packet *p, uint16_t port)
{
    return rig_fate(r, frame(p, port, PUNT_FOR_US));
}

static inline const uint8_t *bytes(unsigned at)
{
    return rte_pktmbuf_mtod_offset(rig_last(r), const uint8_t *, at);
}

/* The IPv4 header that an answer must have at byte at. */
static inline void check_ipv4(unsigned at, uint32_t src, uint32_t dst, unsigned payload)
{
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)bytes(at);

    CU_ASSERT_EQUAL(ip->version_ihl, 0x45);
    CU_ASSERT_EQUAL(rte_be_to_cpu_16(ip->total_length), 20 + payload);
    CU_ASSERT_EQUAL(ip->fragment_offset, RTE_BE16(RTE_IPV4_HDR_DF_FLAG));
    CU_ASSERT(ip->packet_id == 0 && ip->time_to_live == 64 && ip->next_proto_id == 1);
    CU_ASSERT_EQUAL(rte_be_to_cpu_32(ip->src_addr), src);
    CU_ASSERT_EQUAL(rte_be_to_cpu_32(ip->dst_addr), dst);
    CU_ASSERT_EQUAL(rte_raw_cksum(ip, 20), 0xffff);
    CU_ASSERT_EQUAL(rte_raw_cksum(ip + 1, payload), 0xffff);
}

/* Does the last frame begin with these 22 bytes, but for this priority in both tags? */
static inline bool begins_with(const char *l2, uint8_t pcp)
{
    uint8_t expected[22];

    memcpy(expected, l2, sizeof(expected));
    expected[14] |= (uint8_t)(pcp << 5);
    expected[18] |= (uint8_t)(pcp << 5);
    return memcmp(bytes(0), expected, sizeof(expected)) == 0;
}

static const char cpe0_l2[] = "\x02\xce\0\0\0\x01\x02\0\0\0\0\x01\x88\xa8\0\x80\x81\0\x01\0\x08\0";
static const char cpe1_l2[] = "\x02\xce\0\0\0\x02\x02\0\0\0\0\x02\x81\0\0\x81\x81\0\x01\x01\x08\0";

static inline const char *fail(const struct packet *p, enum punt_reason why, uint32_t nexthop)
{
    struct rte_mbuf *m = frame(p, 0xffff, why);

    meta_set_nexthop(m, (uint16_t)nexthop);
    return rig_fate(r, m);
}

#endif
