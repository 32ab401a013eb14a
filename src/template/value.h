/* SPDX-License-Identifier: BSD-3-Clause */
/* A field of a layer, and the value that a line of a text template gives it. */
#ifndef TEMPLATE_VALUE_H
#define TEMPLATE_VALUE_H

#include "base/ipv6.h"
#include "template/text.h"

#define LAYER_FIELD_NAMES 2

enum field_kind { FIELD_NUMBER, FIELD_IPV4, FIELD_IPV6, FIELD_MAC };

/** A field: width bits, shifted left by lshift within size big-endian bytes. Only the low 32 bits
 * of a MAC can vary, and of an IPv6 address the last 32 of a prefix. */
struct layer_field {
    const char *key;
    enum field_kind kind;
    int8_t offset; /* from the start of the layer to the field; to all six bytes of a MAC */
    uint8_t size, lshift, width; /* of an IPv6 address they follow from the prefix */
    bool required;
    uint32_t def;
    struct {
        const char *name;
        uint32_t value;
    } names[LAYER_FIELD_NAMES]; /* words that stand for numbers */
};

/** The value that a line gives a field: a constant, a variable's bits, or the sum of both. */
struct value {
    uint64_t base;
    struct ipv6 addr; /* of an IPv6 address in the place of base, */
    uint8_t len;      /* and the length of the prefix that the variable counts */
    bool varies;
    uint8_t var, shift;
    uint32_t mask;
};

/** Take a value off the line; where names the field in errors. Returns false after an error. */
bool value_parse(struct text *x, const char *where, const struct layer_field *f, struct value *v);

#endif
