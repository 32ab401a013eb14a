/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A text template while it is read: text.c reads lines, layer.c those that begin with a layer, and
 * frame.c makes frames of all layers. What is wrong is added to text.d, at the line that is read.
 */
#ifndef TEMPLATE_TEXT_H
#define TEMPLATE_TEXT_H

#include "template/template.h"

#define FCS_LEN         4
#define TEXT_MAX_TOKENS 256
#define TEXT_MAX_HEADER 40 /* bytes of IPv6, the longest layer */

/** One header of the frame, as it is read. */
struct layer {
    enum layer_kind kind;
    struct loc loc;
    uint16_t offset; /* in the frame */
    uint8_t len;
    uint32_t given; /* bit i: the file gives the layer's field i */
    bool varies;    /* one of its fields does */
};

/** A text template being read. */
struct text {
    struct pkt_template *t;
    struct diags *d;
    size_t errors_before; /* d->n_errors when reading began */
    struct loc loc;       /* the line being read */
    unsigned n_tokens, next;
    char *token[TEXT_MAX_TOKENS];
    uint32_t size; /* with FCS; 0: the smallest that holds the layers */
    struct loc size_loc;
    uint32_t padding; /* frames of up to this size, with FCS, are filled with Ethernet padding */
    bool padding_given;
    unsigned n_pattern; /* bytes of payload, which are repeated; 0: not given */
    uint8_t pattern[TEXT_MAX_TOKENS];
    unsigned var_line[TEMPLATE_MAX_VARS];
    unsigned vars_used; /* bit i: a field refers to vars[i] */
    unsigned n_layers;
    struct layer layer[TEMPLATE_MAX_LAYERS];
    uint16_t len; /* of all layers */
    uint8_t bytes[TEMPLATE_MAX_LAYERS * TEXT_MAX_HEADER];
};

/** Add an error on the line being read. */
#define BAD(x, ...) diag_error((x)->d, (x)->loc, __VA_ARGS__)

/** The next word of the line, or NULL. */
const char *text_take(struct text *x);

/** The end of a message about an unknown word: "; did you mean "NAME"?", or "; expected one of A,
 * B, C". Returns buf. */
const char *text_hint(const char *word, const char *const *names, unsigned n, char *buf,
                      size_t len);

/** Names of all layers, in the order of enum layer_kind. */
extern const char *const layer_names[LAYER_KINDS];

/** Read the rest of a line that begins with a layer's name. */
void layer_parse(struct text *x, enum layer_kind kind);

/** Does the file give this field of a layer? */
bool layer_given(const struct layer *l, const char *key);

/** Make a frame of each of sizes from the layers; NULL or n 0: one frame of the file's own size. */
void text_build_frames(struct text *x, const struct frame_sizes *sizes);

#endif
