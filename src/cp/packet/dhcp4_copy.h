/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of DHCPv4 as a relay passes them on: as they are, but for what is a relay's to change
 * (RFC 1542 section 4.1, RFC 3046 section 2.1), and what names the server (RFC 5107 section 1).
 */
#ifndef CP_PACKET_DHCP4_COPY_H
#define CP_PACKET_DHCP4_COPY_H

#include "cp/packet/dhcp4.h"

/** What becomes of a message. Its options 54 and 82 are left out, and these are there instead. */
struct dhcp4_change {
    uint8_t hops;
    uint32_t giaddr;
    uint32_t server;                 /* option 54; 0: none */
    uint32_t lease;                  /* options 51, 58 and 59, seconds; 0: as they are */
    const struct dhcp4_bytes *relay; /* option 82; NULL or n 0: none */
};

/** Copy a message of n bytes, which dhcp4_read() has taken, into room bytes. Returns its length, or
 * 0 where it does not fit. */
size_t dhcp4_copy(const uint8_t *at, size_t n, const struct dhcp4_change *c, uint8_t *to,
                  size_t room);

/** Make a message that was copied the answer to another request of the same client: by its xid,
 * flags and ciaddr. */
void dhcp4_answer_to(uint8_t *message, const struct dhcp4 *request);

/** What a gateway says of its own to a server, for a session: no client has said it. */
struct dhcp4_own {
    uint8_t type; /* DHCP4_REQUEST, to renew, or DHCP4_RELEASE */
    uint8_t mac[6];
    uint32_t xid, ciaddr, giaddr;
    uint32_t server;                          /* option 54; 0: none, as in a REQUEST that renews */
    const struct dhcp4_bytes *client, *relay; /* options 61 and 82; n 0: none */
};

/** Write such a message into room bytes. Returns its length, or 0 where it does not fit. */
size_t dhcp4_write_own(const struct dhcp4_own *own, uint8_t *to, size_t room);

#endif
