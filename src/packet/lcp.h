/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Echo requests and replies of the Link Control Protocol (RFC 1661 section 5.8), by which both ends
 * of a PPP link know that the other is there:
 *
 *   0 code | 1 identifier | 2 length, of all | 4 magic number of the sender | 8 data
 */
#ifndef PACKET_LCP_H
#define PACKET_LCP_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/bytes.h"

#define LCP_ECHO_REQUEST 9
#define LCP_ECHO_REPLY   10
#define LCP_ECHO_LEN     8 /* without data */

/** Is a packet of avail bytes an echo of a code, and whole? */
static inline bool lcp_is_echo(const uint8_t *lcp, uint32_t avail, uint8_t code)
{
    return avail >= LCP_ECHO_LEN && lcp[0] == code && net16(load16(lcp + 2)) >= LCP_ECHO_LEN &&
           net16(load16(lcp + 2)) <= avail;
}

/** Write an echo without data. */
static inline void lcp_write_echo(uint8_t *lcp, uint8_t code, uint8_t identifier, uint32_t magic)
{
    lcp[0] = code;
    lcp[1] = identifier;
    store16(lcp + 2, net16(LCP_ECHO_LEN));
    store32(lcp + 4, net32(magic));
}

#endif
