/* SPDX-License-Identifier: BSD-3-Clause */
/* The server of DHCPv6 (RFC 8415): what it answers to a client, and when its leases of IPv6 begin
 * and end. */
#ifndef CP_DHCP6_SERVER_H
#define CP_DHCP6_SERVER_H

#include "cp/dhcp6/session6.h"
#include "packet/punt.h"

struct cp;

/** Take a frame of a line from the user plane: h->frame_bytes of them. */
void dhcp6_take(struct cp *cp, const struct punt_header *h, const uint8_t *frame);

/** Go on with a client's first message: RADIUS lets it in. */
void dhcp6_authorized(struct cp *cp, struct session *s, const struct request6 *r);

/** Answer a request, by what the line has now. */
void dhcp6_answer(struct cp *cp, struct session *s, const struct request6 *r);

/** Send a client the message of n bytes that a server behind this gateway answers with. Returns
 * false where it is longer than the line's frames. */
bool dhcp6_pass(struct cp *cp, struct session *s, const uint8_t mac[6], struct ipv6 to,
                const uint8_t *message, size_t n);

#endif
