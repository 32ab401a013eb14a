/* SPDX-License-Identifier: BSD-3-Clause */
/* What a message of DHCPv6 is answered with, by what the line has: RFC 8415 section 18.3. */
#ifndef CP_DHCP6_ANSWER_H
#define CP_DHCP6_ANSWER_H

#include "cp/dhcp6/session6.h"

/** Is an address on the link of a line? */
bool answer6_on_link(const struct session *s, struct ipv6 address);

/** Does an identity association of a message name an address that is not on the link? */
bool answer6_is_off_link(const struct session *s, const struct dhcp6 *m, unsigned ia);

/** The one identity association of a kind that may have a lease: that which the line has, else the
 * first one. NULL: there is none. */
const struct dhcp6_ia *answer6_choose(const struct session *s, const struct dhcp6 *m, uint8_t kind);

/** Is an identity association of a client the one that the line has? */
bool answer6_is_bound(const struct session *s, const struct dhcp6 *m, const struct dhcp6_ia *ia);

/** The answer to a message: of this type, by this server, with leases of so many seconds. */
void answer6_make(const struct session *s, const struct dhcp6 *q, uint8_t type,
                  const struct dhcp6_duid *server, uint32_t seconds, struct dhcp6 *a);

#endif
