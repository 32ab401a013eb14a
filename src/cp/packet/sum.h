/* SPDX-License-Identifier: BSD-3-Clause */
/* Checksums of the Internet: RFC 1071. */
#ifndef CP_PACKET_SUM_H
#define CP_PACKET_SUM_H

#include <stddef.h>

#include "cp/packet/bytes.h"

/** Add the 16-bit words of n bytes to a sum, of at most 64 KiB in all. */
static inline uint32_t sum_words(uint32_t sum, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i + 1 < n; i += 2)
        sum += get16(p + i);
    if (n % 2 != 0)
        sum += (uint32_t)(p[n - 1] << 8);
    return sum;
}

/** A sum in 16 bits. */
static inline uint16_t sum_fold(uint32_t sum)
{
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

#endif
