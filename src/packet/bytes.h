/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads and stores of a fixed size at any address: each is one instruction, and none breaks the
 * aliasing rules. */
#ifndef PACKET_BYTES_H
#define PACKET_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint16_t load16(const void *p)
{
    uint16_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint32_t load32(const void *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint64_t load64(const void *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static inline void store16(void *p, uint16_t v)
{
    memcpy(p, &v, sizeof(v));
}

static inline void store32(void *p, uint32_t v)
{
    memcpy(p, &v, sizeof(v));
}

static inline void store64(void *p, uint64_t v)
{
    memcpy(p, &v, sizeof(v));
}

/**
 * Convert 16 bits between network and host order, either way. DPDK's rte_bswap16() exchanges the
 * halves of a register, which costs several times the rotation that a compiler makes of this.
 */
static inline uint16_t net16(uint16_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap16(v);
#else
    return v;
#endif
}

/** Convert 32 bits between network and host order, either way. */
static inline uint32_t net32(uint32_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap32(v);
#else
    return v;
#endif
}

/** Convert 64 bits between network and host order, either way. */
static inline uint64_t net64(uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap64(v);
#else
    return v;
#endif
}

/** Copy 16 bytes by one load and one store, so that source and destination may overlap. */
static inline void copy16(void *to, const void *from)
{
    typedef uint8_t vector __attribute__((vector_size(16)));
    vector v;

    memcpy(&v, from, sizeof(v));
    memcpy(to, &v, sizeof(v));
}

#endif
