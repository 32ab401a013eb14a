/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of the template reader: what its files share. Nobody else includes this. */
#ifndef CONFIG_TEMPLATE_PARSE_H
#define CONFIG_TEMPLATE_PARSE_H

#include "config/template.h"

#define FCS_LEN         4
#define TEXT_MAX_TOKENS 256
#define TEXT_MAX_HEADER 28 /* ARP, the longest layer */

/** One header of the frame, as it is read. */
struct layer {
    enum layer_kind kind;
    struct loc loc;
    uint16_t offset; /* in the frame */
    uint8_t len;
    uint32_t given; /* bit i: the file said the layer's field i */
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
    uint32_t padding; /* up to this size what fills the frame is Ethernet padding */
    bool padding_given;
    unsigned n_pattern; /* payload, repeated; 0: not given */
    uint8_t pattern[TEXT_MAX_TOKENS];
    unsigned var_line[TEMPLATE_MAX_VARS];
    unsigned vars_used; /* bit i: a field refers to vars[i] */
    unsigned n_layers;
    struct layer layer[TEMPLATE_MAX_LAYERS];
    uint16_t len; /* of all layers */
    uint8_t bytes[TEMPLATE_MAX_LAYERS * TEXT_MAX_HEADER];
};

/** An error on the line being read. */
#define BAD(x, ...) diag_error((x)->d, (x)->loc, __VA_ARGS__)

/** "; did you mean "NAME"?", or "; expected one of A, B, C". Returns buf. */
const char *template_hint(const char *word, const char *const *names, unsigned n, char *buf,
                          size_t len);

/** The next word of the line, or NULL. */
const char *text_take(struct text *x);

/** Names of all layers, in the order of enum layer_kind. */
extern const char *const layer_names[LAYER_KINDS];

/** Read the rest of a line that begins with a layer's name. */
void layer_parse(struct text *x, enum layer_kind kind);

/** Fill the frame up to its size, or one to each of sizes; complete types, lengths and checksums.
 */
void text_build(struct text *x, const struct frame_sizes *sizes);

/** Read a whole file. Return false after an error. */
bool template_read_text(struct pkt_template *t, FILE *f, const char *path,
                        const struct frame_sizes *sizes, struct diags *d);
bool template_read_pcap(struct pkt_template *t, FILE *f, const char *path, struct diags *d);

/** Give t a further frame of zeros. NULL (and an error about path) without memory. */
struct template_frame *template_add_frame(struct pkt_template *t, uint32_t len, const char *path,
                                          struct diags *d);

#endif
