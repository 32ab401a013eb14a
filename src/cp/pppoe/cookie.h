/* SPDX-License-Identifier: BSD-3-Clause */
/* The AC-Cookie of RFC 2516 section 5.2: it proves that the sender of a PADR has had the PADO to a
 * PADI of his, so that nothing has to be kept of him before. */
#ifndef CP_PPPOE_COOKIE_H
#define CP_PPPOE_COOKIE_H

#include <stdbool.h>
#include <stdint.h>

#include "cp/packet/ppp.h"
#include "cp/session.h"

#define COOKIE_KEY     32 /* bytes */
#define COOKIE         20
#define COOKIE_SECONDS 60 /* for which it is good */

/** The cookie of a MAC on a line, made at a time in seconds. */
void cookie_make(const uint8_t key[COOKIE_KEY], const struct session *line, const uint8_t mac[6],
                 uint32_t now, uint8_t cookie[COOKIE]);

/** Is this a cookie of that MAC and line, and not too old? */
bool cookie_right(const uint8_t key[COOKIE_KEY], const struct session *line, const uint8_t mac[6],
                  uint32_t now, struct ppp_bytes cookie);

#endif
