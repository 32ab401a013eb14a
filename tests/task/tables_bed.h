/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of tables share. */
#ifndef TESTS_TABLES_BED_H
#define TESTS_TABLES_BED_H

#include "harness.h"

/** Take all memory that EAL has away, and give it back. */
void take_memory(void);
void give_memory(void);

/** A random number from 0 to n - 1, by xorshift from a state that a test may set, not to 0. */
extern uint64_t random_state;
uint32_t random_below(uint32_t n);

/** The next hop of an address; 0: there is none. */
uint32_t lookup(const struct route_table *t, uint32_t addr);

#endif
