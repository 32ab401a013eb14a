/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of the template reader: what a layer of a text template is made of. */
#ifndef CONFIG_TEMPLATE_LAYER_H
#define CONFIG_TEMPLATE_LAYER_H

#include "config/template_parse.h"

#define LAYER_FIELDS      12
#define LAYER_FIELD_NAMES 2

enum field_kind { FIELD_NUMBER, FIELD_IPV4, FIELD_MAC };

/** A field: width bits, shifted left by lshift within size big-endian bytes. Of a MAC, only the low
 * 32 bits can vary. */
struct layer_field {
    const char *key;
    enum field_kind kind;
    int8_t offset; /* from the start of the layer; of a MAC: of all its six bytes */
    uint8_t size, lshift, width;
    bool required;
    uint32_t def;
    struct {
        const char *name;
        uint32_t value;
    } names[LAYER_FIELD_NAMES]; /* words that stand for numbers */
};

struct layer_def {
    uint8_t len;
    uint32_t after;   /* bit k: may follow a layer of kind k */
    bool summed;      /* a checksum covers it that is computed once: no field may vary */
    uint8_t fixed[6]; /* its first bytes */
    struct layer_field fields[LAYER_FIELDS]; /* key NULL at the end */
};

extern const struct layer_def layer_defs[LAYER_KINDS];

/** What a line says of a field: a constant, a variable's bits, or the sum of both. */
struct value {
    uint64_t base;
    bool varies;
    uint8_t var, shift;
    uint32_t mask;
};

/** Largest constant that a field takes. */
uint64_t field_max(const struct layer_field *f);

/** Take a value off the line; where names the field in errors. Returns false after an error. */
bool parse_value(struct text *x, const char *where, const struct layer_field *f, struct value *v);

/** Did the file say this field? */
bool layer_given(const struct layer *l, const char *key);

#endif
