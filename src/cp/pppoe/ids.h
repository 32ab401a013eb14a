/* SPDX-License-Identifier: BSD-3-Clause */
/* The session ids of a port (RFC 2516 section 4): each is one session's, and one that was given
 * back rests until all others have been given. */
#ifndef CP_PPPOE_IDS_H
#define CP_PPPOE_IDS_H

#include <stdbool.h>
#include <stdint.h>

#define PPPOE_LAST_ID 0xfffe /* 0xffff is reserved, 0 is none */

struct pppoe_ids {
    uint16_t last; /* that was given */
    uint32_t n;
    uint8_t used[(PPPOE_LAST_ID + 8) / 8];
};

/** An id that is free, or 0: there is none. */
uint16_t pppoe_id_take_any(struct pppoe_ids *ids);

/** Take this one. Returns whether it is one and was free. */
bool pppoe_id_take(struct pppoe_ids *ids, uint16_t id);

/** Give one back that is taken. */
void pppoe_id_give(struct pppoe_ids *ids, uint16_t id);

#endif
