/* SPDX-License-Identifier: BSD-3-Clause */
/* The server of DHCPv4 (RFC 2131): what it answers to a client, and when a session begins and
 * ends. */
#ifndef CP_IPOE4_H
#define CP_IPOE4_H

#include "cp/cp.h"
#include "cp/packet/dhcp4.h"
#include "packet/punt.h"

/** Take a frame of a line from the user plane: h->frame_bytes of them. */
void ipoe4_take(struct cp *cp, const struct punt_header *h, const uint8_t *frame);

/** Go on with a client's first message: RADIUS lets him in. */
void ipoe4_authorized(struct cp *cp, struct session *s, const struct dhcp4 *q);

/** Tell a client that it has the address of the session: the answer to its request. */
void ipoe4_acknowledge(struct cp *cp, struct session *s, const struct dhcp4 *request);

/** Send a client the message of n bytes that a server behind this gateway answers its request with;
 * where to is what the request, and type, address and server of the reply say. Returns false where
 * it is longer than the line's frames. */
bool ipoe4_pass(struct cp *cp, struct session *s, const struct dhcp4 *request,
                const struct dhcp4_reply *r, const uint8_t *message, size_t n);

#endif
