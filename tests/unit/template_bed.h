/* SPDX-License-Identifier: BSD-3-Clause */
/* The bed of the tests of templates: a file that each test writes anew, and checks of the template
 * or of the messages that the file gives. */
#ifndef TESTS_TEMPLATE_BED_H
#define TESTS_TEMPLATE_BED_H

#include <stddef.h>
#include <stdint.h>

#include "template/template.h"

#define ETHER "ether src 02:00:00:00:00:01 dst 02:bb:00:00:00:00\n"
#define IPV4  "ipv4 src 10.0.0.1 dst 198.18.0.1\n"
#define FRAME ETHER IPV4 "udp src 1 dst 2\n"

/** Path of the file. */
extern char template_path[];

/** Make the file, remove it: a test program calls them before its first and after its last test. */
int make_file(void);
int remove_file(void);

/** Make these bytes the whole content of the file. */
void write_file(const void *data, size_t len);

/** All messages about the file, one line each, without its path. The caller frees the text. */
char *said(struct diags *d);

/** Frames of one size; size 0: the template's own. */
const struct frame_sizes *one(uint32_t size);

/** Load a text that must give a template without errors and warnings. */
struct pkt_template *good(const char *text, uint32_t size);

/** Load bytes, or a text, that must be refused with exactly these messages. */
void bad_bytes(const void *data, size_t len, uint32_t size, const char *want);
void bad(const char *text, const char *want);

/** Compare a frame with bytes in hexadecimal, between which spaces and bars may stand. */
void check_frame(const struct template_frame *f, const char *want);

/** Compare field i of a template. */
void check_field(const struct pkt_template *t, unsigned i, const struct template_field *want);

#endif
