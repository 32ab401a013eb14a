/* SPDX-License-Identifier: BSD-3-Clause */
/* What a message of the punt socket says (packet/punt.h), where it is right. */
#ifndef PACKET_PUNT_PARSE_H
#define PACKET_PUNT_PARSE_H

#include <stdbool.h>
#include <string.h>

#include "packet/punt.h"

#define PUNT_ETH_LEN  14 /* of the shortest frame: its Ethernet header */
#define PUNT_VLAN_MAX 4094

enum punt_verdict {
    PUNT_OK,
    PUNT_MALFORMED, /* magic, lengths, kind, or a port's name without an end */
    PUNT_BAD_VLAN,  /* a VLAN id of the line is not in 1..4094 */
};

/** Check a message of len bytes with a frame in it, and copy its header; *frame: its frame, of
 * h->frame_bytes bytes, from 14 on. */
static inline enum punt_verdict punt_parse(const uint8_t *message, uint32_t len,
                                           struct punt_header *h, const uint8_t **frame)
{
    if (len < sizeof(*h))
        return PUNT_MALFORMED;
    memcpy(h, message, sizeof(*h));
    if (h->magic != PUNT_MAGIC || h->header_bytes < sizeof(*h) || h->header_bytes > len ||
        h->frame_bytes != len - h->header_bytes || h->frame_bytes < PUNT_ETH_LEN ||
        h->kind == PUNT_HELLO || h->kind >= N_PUNT_KINDS ||
        memchr(h->port, '\0', sizeof(h->port)) == NULL)
        return PUNT_MALFORMED;
    *frame = message + h->header_bytes;
    return h->svlan - 1u < PUNT_VLAN_MAX && h->cvlan - 1u < PUNT_VLAN_MAX ? PUNT_OK : PUNT_BAD_VLAN;
}

#endif
