/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stamp that the generator leaves in the payload of a packet, and that the sink finds again.
 *
 * A stamp is 24 bytes, big-endian, at any even offset of the frame. Headers are of even length, so
 * they may be pushed and popped before it on the way:
 *
 *   magic 32 | stream 16 | instance 8 | flags 8 | seq 32 | user 32 | tsc 64
 *
 * A frame carries a stamp where it has 24 bytes of payload: from 78 bytes with FCS and two tags.
 */
#ifndef PACKET_STAMP_H
#define PACKET_STAMP_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/bytes.h"

#define STAMP_MAGIC   0x9d56426eu /* occurs in no header of the gateway or the generator */
#define STAMP_LEN     24
#define STAMP_NO_USER UINT32_MAX /* user: the packet's template has no variable of that name */
#define STAMP_FIRST   14         /* offset of the first place that stamp_find() tries */
#define STAMP_LAST    192        /* and of the last one; a stamp stands right behind the headers */
#define STAMP_NONE    0          /* stamp_find(): the frame has no stamp */

struct stamp {
    uint64_t tsc;     /* time stamp counter when the packet was made */
    uint32_t seq;     /* 0, 1, 2 ... of a stream and instance; wraps */
    uint32_t user;    /* value of the template's variable "user", or STAMP_NO_USER */
    uint16_t stream;  /* number of the stream, unique in a configuration */
    uint8_t instance; /* of the generator: each counts its own seq */
    uint8_t flags;    /* 0 */
};

/** Write a stamp into STAMP_LEN bytes. */
static inline void stamp_write(uint8_t *at, const struct stamp *s)
{
    store64(at, net64((uint64_t)STAMP_MAGIC << 32 | (uint64_t)s->stream << 16 |
                      (uint64_t)s->instance << 8 | s->flags));
    store64(at + 8, net64((uint64_t)s->seq << 32 | s->user));
    store64(at + 16, net64(s->tsc));
}

/** Does a stamp begin at these 4 bytes? */
static inline bool stamp_is_at(const uint8_t *at)
{
    return load32(at) == net32(STAMP_MAGIC);
}

/** The stamp in STAMP_LEN bytes for which stamp_is_at() is true. */
static inline struct stamp stamp_read(const uint8_t *at)
{
    uint64_t who = net64(load64(at)), what = net64(load64(at + 8));

    return (struct stamp){.tsc = net64(load64(at + 16)),
                          .seq = (uint32_t)(what >> 32),
                          .user = (uint32_t)what,
                          .stream = (uint16_t)(who >> 16),
                          .instance = (uint8_t)(who >> 8),
                          .flags = (uint8_t)who};
}

/**
 * The offset of the stamp in a frame of len bytes, or STAMP_NONE. The place where the last stamp
 * was found (hint, or STAMP_NONE) is tried first, then every even place from STAMP_FIRST to
 * STAMP_LAST.
 */
static inline uint32_t stamp_find(const uint8_t *frame, uint32_t len, uint32_t hint)
{
    uint32_t last;

    if (len < STAMP_FIRST + STAMP_LEN)
        return STAMP_NONE;
    last = len - STAMP_LEN;
    if (__builtin_expect(hint != STAMP_NONE && hint <= last && stamp_is_at(frame + hint), 1))
        return hint;
    if (last > STAMP_LAST)
        last = STAMP_LAST;
    for (uint32_t at = STAMP_FIRST; at <= last; at += 2)
        if (stamp_is_at(frame + at))
            return at;
    return STAMP_NONE;
}

#endif
