/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of tables share. */
#ifndef TESTS_TABLES_BED_H
#define TESTS_TABLES_BED_H

#include "harness.h"

/** Take all memory that EAL has away, and give it back. */
void take_memory(void);
void give_memory(void);

/** The next hop of an address; 0: there is none. */
uint32_t lookup(const struct route_table *t, uint32_t addr);

#endif
