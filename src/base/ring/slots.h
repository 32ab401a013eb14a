/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring of slots of equal size between one producer and one consumer thread. Both work on the
 * slots in place, without copies. Neither side waits or makes a syscall.
 */
#ifndef BASE_RING_SLOTS_H
#define BASE_RING_SLOTS_H

#include <stdint.h>

struct slots;

/** Make a ring of n slots (a power of two) of so many bytes, each aligned to 64; all its memory is
 * there at once. Returns NULL without memory. */
struct slots *slots_create(uint32_t n, uint32_t bytes);

/** Release a ring; NULL is allowed. */
void slots_free(struct slots *s);

/** A slot to fill, number i (from 0) behind those that were put; NULL where there is no room. */
void *slots_room(struct slots *s, uint32_t i);

/** Give n slots, which have been filled, to the other thread. */
void slots_put(struct slots *s, uint32_t n);

/** A slot to empty, number i (from 0) of those that were put and not taken; NULL where there are
 * not so many. */
void *slots_full(struct slots *s, uint32_t i);

/** Give n slots, which have been emptied, back. */
void slots_take(struct slots *s, uint32_t n);

#endif
