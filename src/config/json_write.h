/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON as it is printed by the plan and its descriptions: indented, keys in the order of writing.
 */
#ifndef CONFIG_JSON_WRITE_H
#define CONFIG_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** Where a value is written; comma: another one stands before it on this level. Begin an object
 * with '{' and depth 1. */
struct json {
    FILE *to;
    bool comma;
    unsigned depth;
};

/** A string with what RFC 8259 section 7 wants escaped; YAML reads it as the same string. */
void json_put_string(FILE *to, const char *s);

/** The place of the next value, and its key; key is NULL in an array. */
void json_next(struct json *j, const char *key);

/** bracket is '{' or '[', and '}' or ']'. */
void json_begin(struct json *j, const char *key, char bracket);
void json_end(struct json *j, char bracket);

void json_add_number(struct json *j, const char *key, uint64_t n);
void json_add_string(struct json *j, const char *key, const char *s);
void json_add_bool(struct json *j, const char *key, bool b);
void json_add_null(struct json *j, const char *key);

#endif
