/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GRE (RFC 2784) with key and sequence number (RFC 2890). Flags of the first 16 bits, from the most
 * significant: C checksum, 0 (routing in RFC 1701), K key, S sequence number, then bits that are
 * zero, and a version of 3 bits. Each of C, K and S adds 4 bytes, in this order.
 */
#ifndef PACKET_GRE_H
#define PACKET_GRE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_ip.h>

#include "packet/bytes.h"

#define GRE_LEN     4
#define GRE_KEY_LEN 8 /* header with a key and nothing else */
#define GRE_HAS_SUM 0x8000
#define GRE_HAS_KEY 0x2000
#define GRE_HAS_SEQ 0x1000
/* RFC 2784 section 2.3: a packet with any of bits 1 to 5 set must be discarded; bits 2 and 3 are
 * RFC 2890's K and S. Bits 6 to 12 are ignored. The version is 0 (section 2.3.1). */
#define GRE_MUST_BE_0  0x4c07
#define GRE_PROTO_IPV4 0x0800
#define GRE_PROTO_IPV6 0x86dd /* RFC 7676 section 2 */

/** Flags of a header of at least 2 bytes. */
static inline uint16_t gre_flags(const uint8_t *p)
{
    return net16(load16(p));
}

/** Can a header with these flags be read: are all bits zero that must be zero? */
static inline bool gre_flags_ok(uint16_t flags)
{
    return (flags & GRE_MUST_BE_0) == 0;
}

/** The length of a header with these flags: 4..16 bytes. */
static inline uint32_t gre_len(uint16_t flags)
{
    return GRE_LEN + (uint32_t)((flags >> 15 & 1) + (flags >> 13 & 1) + (flags >> 12 & 1)) * 4;
}

/** The protocol of the payload (an EtherType, network order), of a header of at least 4 bytes. */
static inline rte_be16_t gre_protocol(const uint8_t *p)
{
    return load16(p + 2);
}

/** The key of a complete header that has one. */
static inline rte_be32_t gre_key(const uint8_t *p, uint16_t flags)
{
    return load32(p + GRE_LEN + (flags >> 15 & 1) * 4);
}

/** Is the checksum of header and payload, len bytes together, right? RFC 2784 section 2.5. */
static inline bool gre_checksum_ok(const uint8_t *p, uint32_t len)
{
    return rte_raw_cksum(p, len) == 0xffff;
}

#endif
