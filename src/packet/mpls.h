/* SPDX-License-Identifier: BSD-3-Clause */
/* MPLS label stacks (RFC 3032). An entry: label 20 bits, TC 3 bits (RFC 5462), S 1 bit, TTL 8 bits.
 */
#ifndef PACKET_MPLS_H
#define PACKET_MPLS_H

#include <stdint.h>

#include <rte_byteorder.h>

#include "packet/bytes.h"

#define MPLS_ENTRY_LEN     4
#define MPLS_TYPE          0x8847 /* unicast; RFC 5332 gives 0x8848 to upstream-assigned labels */
#define MPLS_EXPLICIT_NULL 0      /* "IPv4 explicit null": RFC 3032 section 2.1 */
#define MPLS_IPV6_NULL     2      /* "IPv6 explicit null": there, and RFC 4182 */
#define MPLS_FIRST_LABEL   16     /* those before are special-purpose ones: RFC 7274 section 3 */

/** The label of an entry in host order. */
static inline uint32_t mpls_label(uint32_t entry)
{
    return entry >> 12;
}

/** Is an entry (host order) the last of its stack? Not 0 if it is. */
static inline uint32_t mpls_is_bottom(uint32_t entry)
{
    return entry & 0x100;
}

/** The TTL of an entry in host order. */
static inline uint8_t mpls_ttl(uint32_t entry)
{
    return (uint8_t)entry;
}

/** Put a traffic class (0..7) and a TTL into a ready-made entry, in which both are 0. */
static inline rte_be32_t mpls_entry(rte_be32_t made, uint8_t tc, uint8_t ttl)
{
    return made | rte_cpu_to_be_32((uint32_t)tc << 9 | ttl);
}

/** Reasons why a stack has no end. */
enum { MPLS_NO_BOTTOM = -1, MPLS_TOO_MANY = -2 };

/**
 * The length in bytes of the stack that begins at p, up to the entry with S set. MPLS_NO_BOTTOM
 * where the avail bytes end before; MPLS_TOO_MANY where the stack has more than max entries.
 */
static inline int mpls_stack_len(const uint8_t *p, uint32_t avail, unsigned max)
{
    for (unsigned i = 0; i < max; i++) {
        if ((i + 1) * MPLS_ENTRY_LEN > avail)
            return MPLS_NO_BOTTOM;
        if (mpls_is_bottom(rte_be_to_cpu_32(load32(p + i * MPLS_ENTRY_LEN))))
            return (int)((i + 1) * MPLS_ENTRY_LEN);
    }
    return MPLS_TOO_MANY;
}

#endif
