/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames byte by byte, and what tests do with them. Nothing here uses the gateway's own packet
 * functions: checksums are computed in full, 16 bits at a time.
 */
#ifndef TEST_TASK_FRAMES_H
#define TEST_TASK_FRAMES_H

#include <stdio.h>
#include <string.h>

#include "harness.h"

struct frame {
    uint16_t len;
    uint8_t b[9100];
};

static inline void put16(struct frame *f, uint32_t v)
{
    f->b[f->len++] = (uint8_t)(v >> 8);
    f->b[f->len++] = (uint8_t)v;
}

static inline void put32(struct frame *f, uint32_t v)
{
    put16(f, v >> 16);
    put16(f, v & 0xffff);
}

static inline void put_mac(struct frame *f, uint64_t mac)
{
    put16(f, (uint32_t)(mac >> 32));
    put32(f, (uint32_t)mac);
}

#define GATEWAY_MAC(port) (UINT64_C(0x020000000001) + (port))
#define CPE_MAC(id)       (UINT64_C(0x02ce00000000) + (id))
#define CORE_MAC(id)      (UINT64_C(0x02c000000000) + (id))

static inline void put_eth(struct frame *f, uint64_t dst, uint64_t src, uint16_t type)
{
    f->len = 0;
    put_mac(f, dst);
    put_mac(f, src);
    put16(f, type);
}

static inline void put_qinq(struct frame *f, uint64_t dst, uint64_t src, uint16_t tpid,
                            uint16_t stci, uint16_t ctci, uint16_t type)
{
    put_eth(f, dst, src, tpid);
    put16(f, stci);
    put16(f, 0x8100);
    put16(f, ctci);
    put16(f, type);
}

/* A PPPoE session frame of a line of S-VLAN 128, up to the protocol of PPP; len bytes follow. */
static inline void put_session(struct frame *f, uint64_t dst, uint64_t src, uint16_t cvlan,
                               uint16_t session, uint16_t protocol, uint32_t len)
{
    put_qinq(f, dst, src, 0x88a8, 128, cvlan, 0x8864);
    put16(f, 0x1100);
    put16(f, session);
    put16(f, len + 2);
    put16(f, protocol);
}

static inline uint16_t sum16(const uint8_t *p, uint32_t len)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < len; i++)
        sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

struct ip {
    uint32_t src, dst;
    uint8_t tos, ttl, proto;
    uint8_t options;   /* 32-bit words */
    uint16_t fragment; /* flags and offset */
    uint16_t id;
    uint16_t payload; /* bytes, which count up */
    uint16_t inside;  /* bytes that the test puts behind the header itself */
};

/* An IPv4 header without payload, of a packet that goes on for more bytes. */
static inline void put_ip_header(struct frame *f, const struct ip *ip, uint32_t more)
{
    uint32_t at = f->len, header = 20 + ip->options * 4u;
    uint16_t sum;

    put16(f, (0x45u + ip->options) << 8 | ip->tos);
    put16(f, header + more);
    put16(f, ip->id);
    put16(f, ip->fragment);
    put16(f, (uint32_t)ip->ttl << 8 | ip->proto);
    put16(f, 0);
    put32(f, ip->src);
    put32(f, ip->dst);
    for (unsigned i = 0; i < ip->options; i++)
        put32(f, 0x01010101); /* no operation */
    sum = (uint16_t)~sum16(f->b + at, header);
    f->b[at + 10] = (uint8_t)(sum >> 8);
    f->b[at + 11] = (uint8_t)sum;
}

static inline void put_ip(struct frame *f, const struct ip *ip)
{
    put_ip_header(f, ip, ip->payload);
    for (unsigned i = 0; i < ip->payload; i++)
        f->b[f->len++] = (uint8_t)i;
}

struct ip6 {
    uint64_t src[2], dst[2];
    uint8_t class, hops, next;
    uint32_t label;   /* of the flow */
    uint16_t payload; /* bytes, which count up */
};

static inline void put_ip6_header(struct frame *f, const struct ip6 *ip, uint32_t more)
{
    put32(f, 6u << 28 | (uint32_t)ip->class << 20 | ip->label);
    put16(f, more);
    put16(f, (uint32_t)ip->next << 8 | ip->hops);
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t *addr = i < 2 ? ip->src : ip->dst;

        put32(f, (uint32_t)(addr[i % 2] >> 32));
        put32(f, (uint32_t)addr[i % 2]);
    }
}

static inline void put_ip6(struct frame *f, const struct ip6 *ip)
{
    put_ip6_header(f, ip, ip->payload);
    for (unsigned i = 0; i < ip->payload; i++)
        f->b[f->len++] = (uint8_t)i;
}

/* Fill with a byte up to a length, as Ethernet padding. */
static inline void put_pad(struct frame *f, uint16_t len, uint8_t byte)
{
    while (f->len < len)
        f->b[f->len++] = byte;
}

/* Make the checksum of the header at a place right again. */
static inline void fix_ip(struct frame *f, uint32_t at)
{
    uint32_t header = (f->b[at] & 15u) * 4;
    uint16_t sum;

    f->b[at + 10] = f->b[at + 11] = 0;
    sum = (uint16_t)~sum16(f->b + at, header);
    f->b[at + 10] = (uint8_t)(sum >> 8);
    f->b[at + 11] = (uint8_t)sum;
}

static inline struct rte_mbuf *frame_mbuf(const struct frame *f, uint16_t port)
{
    return mbuf_from_bytes(f->b, f->len, port);
}

static inline int fate_is(const char *fate, const char *expected, int line)
{
    if (strcmp(fate, expected) == 0)
        return 1;
    fprintf(stderr, "\nline %d: not %s, but ", line, expected);
    fputs(fate, stderr);
    return 0;
}

/* Run one packet and check what became of it; says what it was instead. */
#define FATE(r, m, expected) CU_ASSERT(fate_is(rig_fate((r), (m)), (expected), __LINE__))

/* The same for a frame from a port, which must come out as another. */
#define BECOMES(r, f, port, output, expected)                                                      \
    do {                                                                                           \
        FATE((r), frame_mbuf((f), (port)), (output));                                              \
        CU_ASSERT(mbuf_is(rig_last(r), (expected)->b, (expected)->len));                           \
    } while (0)

/* Did the packet end, once? */
static inline int ended_once(const char *fate)
{
    if (strncmp(fate, "ended", 5) != 0 && strcmp(fate, "held") != 0)
        return 1;
    fputs(fate, stderr);
    return 0;
}

/* All beginnings of a frame, with nothing readable behind them: each must end once, and as a drop
 * up to the length that is enough. */
static inline void cut_everywhere(struct rig *r, const struct frame *f, uint16_t port,
                                  uint16_t enough)
{
    struct frame cut = *f;

    for (cut.len = 0; cut.len <= f->len; cut.len++) {
        const char *fate;

        mbuf_guard(0);
        fate = rig_fate(r, frame_mbuf(&cut, port));
        CU_ASSERT(ended_once(fate));
        CU_ASSERT_EQUAL(strncmp(fate, "drop", 4) == 0, cut.len < enough);
        rig_clear(r);
    }
}

static inline uint32_t random32(void)
{
    static uint64_t state = 0x9e3779b97f4a7c15;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

/* Frames of noise, and the frame with a few bytes of it changed. */
static inline void throw_noise(struct rig *r, const struct frame *f, uint16_t port, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        struct frame noise = *f;

        if (i % 2 == 0) {
            noise.len = (uint16_t)(random32() % 200);
            for (uint16_t k = 0; k < noise.len; k++)
                noise.b[k] = (uint8_t)random32();
        } else {
            for (unsigned k = random32() % 4; k < 4; k++)
                noise.b[random32() % f->len] = (uint8_t)random32();
            noise.len = (uint16_t)(f->len - random32() % f->len);
        }
        mbuf_guard(0);
        CU_ASSERT(ended_once(rig_fate(r, frame_mbuf(&noise, port))));
        rig_clear(r);
    }
}

/* The frame in two segments. */
static inline struct rte_mbuf *segmented(const struct frame *f, uint16_t port)
{
    struct rte_mbuf *m = mbuf_from_bytes(f->b, f->len / 2, port);
    struct rte_mbuf *rest = mbuf_from_bytes(f->b + f->len / 2, f->len - f->len / 2u, port);

    CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_chain(m, rest), 0);
    return m;
}

/* Use up the room before the frame, but for some bytes. */
static inline struct rte_mbuf *with_headroom(const struct frame *f, uint16_t port, uint16_t room)
{
    struct rte_mbuf *m = frame_mbuf(f, port);

    memmove((uint8_t *)m->buf_addr + room, f->b, f->len);
    m->data_off = room;
    return m;
}

#endif
