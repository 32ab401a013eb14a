/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of gen share: a file for its template, and a rig with it. */
#ifndef TESTS_GEN_BED_H
#define TESTS_GEN_BED_H

#include "harness.h"

#define ETHER "ether src 02:00:00:00:00:01 dst 02:bb:00:00:00:00\n"
#define PLAIN ETHER "ipv4 src 10.0.0.1 dst 198.18.0.1\nudp src 1 dst 2\n"

extern char gen_path[]; /* of the file */

/** "template=PATH REST" of a template with this text. */
const char *with_template(const char *text, const char *rest);

/** A gen with that template and more parameters, on a line of 10 Gbit/s. */
struct rig *open_gen(const char *text, const char *rest);

/** Packets made in the time, in polls a step apart, both in TSC cycles. */
uint64_t made(struct rig *r, uint64_t time, uint64_t step);

/** A number of so many bytes, in network order. */
uint32_t be(const uint8_t *at, unsigned size);

/** Of a test program: the harness with the file. */
int gen_open(void);
int gen_close(void);

#endif
