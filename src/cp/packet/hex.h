/* SPDX-License-Identifier: BSD-3-Clause */
/* Octets as hexadecimal digits, as the store keeps them. */
#ifndef CP_PACKET_HEX_H
#define CP_PACKET_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Write n octets into 2 n + 1 bytes, which are returned. */
static inline char *write_hex(char *to, const uint8_t *octets, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        to[2 * i] = digits[octets[i] >> 4];
        to[2 * i + 1] = digits[octets[i] & 15];
    }
    to[2 * n] = '\0';
    return to;
}

/** Read n octets from a text of 2 n characters. Returns whether all are digits. */
static inline bool read_hex(const char *from, uint8_t *octets, size_t n)
{
    unsigned octet;

    for (size_t i = 0; i < n; i++) {
        if (sscanf(from + 2 * i, "%2x", &octet) != 1)
            return false;
        octets[i] = (uint8_t)octet;
    }
    return true;
}

#endif
