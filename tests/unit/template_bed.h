/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of templates share: a file that is written anew for each, and what must be said of
 * it. */
#ifndef TESTS_TEMPLATE_BED_H
#define TESTS_TEMPLATE_BED_H

#include <stddef.h>
#include <stdint.h>

#include "config/template.h"

#define ETHER "ether src 02:00:00:00:00:01 dst 02:bb:00:00:00:00\n"
#define IPV4  "ipv4 src 10.0.0.1 dst 198.18.0.1\n"
#define FRAME ETHER IPV4 "udp src 1 dst 2\n"

extern char template_path[]; /* of the file */

/** Of a suite: make the file, remove it. */
int make_file(void);
int remove_file(void);

void write_file(const void *data, size_t len);

/** All that was said about the file, one line each, without its path. The caller frees it. */
char *said(struct diags *d);

/** Frames of one size; 0: the template's own. */
const struct frame_sizes *one(uint32_t size);

/** A template without errors or warnings. */
struct pkt_template *good(const char *text, uint32_t size);

/** Of bytes, or of a text, that are refused: with these words. */
void bad_bytes(const void *data, size_t len, uint32_t size, const char *want);
void bad(const char *text, const char *want);

/** Compare a frame with bytes in hexadecimal, of which spaces and bars do not count. */
void check_frame(const struct template_frame *f, const char *want);

/** Compare field i of a template. */
void check_field(const struct pkt_template *t, unsigned i, const struct template_field *want);

#endif
