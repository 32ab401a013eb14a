/* SPDX-License-Identifier: BSD-3-Clause */
/* The headers of a frame in one line for people. */
#ifndef EXPLAIN_HEADERS_H
#define EXPLAIN_HEADERS_H

#include <stdint.h>
#include <stdio.h>

/** Print the headers of a frame of len bytes without FCS, as far as they are known and there, and
 * its length with FCS. No line end. */
void headers_print(FILE *to, const uint8_t *frame, uint32_t len);

#endif
