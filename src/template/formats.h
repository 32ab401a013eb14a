/* SPDX-License-Identifier: BSD-3-Clause */
/* The formats of a template's file: a reader for each, and the list of frames that both fill. */
#ifndef TEMPLATE_FORMATS_H
#define TEMPLATE_FORMATS_H

#include <stdio.h>

#include "template/template.h"

/** Read a text template (doc/templates.md) from its beginning to its end; sizes are those of
 * template_load(). Returns false after an error. */
bool template_read_text(struct pkt_template *t, FILE *f, const char *path,
                        const struct frame_sizes *sizes, struct diags *d);

/** Read a classic pcap from its beginning to its end. Returns false after an error. */
bool template_read_pcap(struct pkt_template *t, FILE *f, const char *path, struct diags *d);

/** Add a frame of len zero bytes, without FCS, to a template. Returns NULL, and adds an error about
 * path, when memory runs out. */
struct template_frame *template_add_frame(struct pkt_template *t, uint32_t len, const char *path,
                                          struct diags *d);

#endif
