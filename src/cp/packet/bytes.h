/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers and addresses of IPv6 in network byte order, wherever they lie in a frame. */
#ifndef CP_PACKET_BYTES_H
#define CP_PACKET_BYTES_H

#include <stdint.h>

#include "base/ipv6.h"

static inline uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t get32(const uint8_t *p)
{
    return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static inline void put16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static inline void put32(uint8_t *p, uint32_t v)
{
    put16(p, (uint16_t)(v >> 16));
    put16(p + 2, (uint16_t)v);
}

static inline struct ipv6 get_ipv6(const uint8_t *p)
{
    return (struct ipv6){(uint64_t)get32(p) << 32 | get32(p + 4),
                         (uint64_t)get32(p + 8) << 32 | get32(p + 12)};
}

static inline void put_ipv6(uint8_t *p, struct ipv6 a)
{
    put32(p, (uint32_t)(a.upper >> 32));
    put32(p + 4, (uint32_t)a.upper);
    put32(p + 8, (uint32_t)(a.lower >> 32));
    put32(p + 12, (uint32_t)a.lower);
}

#endif
