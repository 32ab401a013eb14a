/* SPDX-License-Identifier: BSD-3-Clause */
/* What a server of DHCPv6 behind this gateway gives a line, and whether the line may have it. */
#ifndef CP_RELAY_GIVEN6_H
#define CP_RELAY_GIVEN6_H

#include "cp/dhcp6/lease6.h"

/** What a REPLY says of a kind of identity association. */
struct given6_kind {
    const struct dhcp6_ia *ia;
    const struct dhcp6_lease *lease; /* NULL: there is none */
    bool lost;                       /* the client has it no more */
};

struct given6 {
    struct given6_kind na, pd;
};

/** What a REPLY says of the identity associations that were asked for: those that are held of na
 * and pd. Returns false where it gives more than one lease of a kind. */
bool given6_read(const struct session *s, const struct dhcp6 *a, const struct ia6 *na,
                 const struct ia6 *pd, struct given6 *g);

/** Has the line something else than what it is given? */
bool given6_is_other(const struct session *s, const struct given6 *g);

/** May the line have it, by the pool and RADIUS? */
bool given6_fits(const struct cp *cp, const struct session *s, const struct given6 *g);

/** Does a server say that a lease is over which another one has given? It knows nothing of it. */
bool given6_is_foreign_loss(const struct session *s, const struct dhcp6 *a, const struct given6 *g);

/** Remove from the line the address, the prefix, or both, that the server no longer gives; the rest
 * stays. */
void given6_lose(struct cp *cp, struct session *s, const struct given6 *g);

/** The longest valid lifetime, in seconds; 0: nothing is given. */
uint32_t given6_longest(const struct given6 *g);

#endif
