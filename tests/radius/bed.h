/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of RADIUS share: a client with servers of the test's own behind sockets of the
 * loopback interface, which deliver at once, and a clock that stands unless the test moves it. */
#ifndef TESTS_RADIUS_BED_H
#define TESTS_RADIUS_BED_H

#include <string.h>

#include "cp/radius/radius.h"

#define MS UINT64_C(1000000)

static inline struct radius_octets text(const char *s)
{
    return radius_octets(s, strlen(s));
}

/** Are these octets this text? */
static inline bool is_text(struct radius_octets o, const char *s)
{
    return o.n == strlen(s) && memcmp(o.p, s, o.n) == 0;
}

/** The first attribute of a type in a packet; n 0: it is not there. */
struct radius_octets attribute(const uint8_t *packet, size_t len, enum radius_type type);

/** The same as a number, which must be there. */
uint32_t number(const uint8_t *packet, size_t len, enum radius_type type);

/** A socket at a free port of 127.0.0.1, which *at says. */
int bind_socket(union radius_address *at);

#endif
