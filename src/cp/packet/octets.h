/* SPDX-License-Identifier: BSD-3-Clause */
/* So many octets as there are, in a piece of memory of their own. */
#ifndef CP_PACKET_OCTETS_H
#define CP_PACKET_OCTETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct octets {
    uint16_t n;
    uint8_t at[];
};

/** Keep a copy of n octets, at most 65535, instead of what there is; 0: NULL. Returns false without
 * memory, with NULL. */
bool octets_set(struct octets **o, const void *at, size_t n);

/** Write them behind n octets. Returns how many there are then, or 0 where there is no room for
 * them. */
size_t octets_append(const struct octets *o, uint8_t *to, size_t n, size_t room);

#endif
