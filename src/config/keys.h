/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys with values, wherever they were written: a group of a configuration file, a row of a table
 * in CSV, or a request to the control socket. One table of keys describes an object, and one reader
 * takes it from each of the three, with the same bounds and the same messages.
 */
#ifndef CONFIG_KEYS_H
#define CONFIG_KEYS_H

#include <jansson.h>

#include "config/read.h"
#include "config/value.h"

/** A value of a key. At most one of setting, cell and json is there: none where it is defaulted. */
struct value {
    bool set; /* given and right, or defaulted */
    struct param_value v;
    const config_setting_t *setting; /* in a file */
    const char *cell;                /* in a row of a table */
    const json_t *json;              /* in a request */
};

/** Was the value written, right or wrong? */
static inline bool value_given(const struct value *v)
{
    return v->setting != NULL || v->cell != NULL || v->json != NULL;
}

/** Where a setting stands. */
struct loc setting_loc(struct loader *l, const config_setting_t *s);

/** Where a value that was given stands; a cell or a request's value: where its row or object does
 * (loader.at). */
struct loc value_loc(struct loader *l, const struct value *v);

/** The value as it was written, for a message; buf is returned. */
#define VALUE_TEXT 80
const char *value_text(const struct value *v, char buf[VALUE_TEXT]);

/** "key 'K': value 'V': ..." at the place of the value. */
void value_error(struct loader *l, const struct value *v, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/** value_error() of a setting. */
void key_error(struct loader *l, const config_setting_t *s, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/** "no KIND of that name", with the nearest one if that is not NULL. */
void no_such_name(struct loader *l, const struct value *v, const char *key, const char *kind,
                  const char *nearest);

/** no_such_name() of a setting. */
void unknown_name(struct loader *l, const config_setting_t *s, const char *key, const char *kind,
                  const char *nearest);

/** The prefix of a value of KEY_PREFIX. Returns false after an error: bits are set behind it. */
bool take_prefix(struct loader *l, const struct value *v, const char *key, uint32_t *prefix,
                 uint8_t *len);

/** Where something else stands, for a message: "at FILE:LINE", "at LIST[INDEX]" of a request, or
 * (file NULL) "added while running"; buf is returned. */
#define PLACE_TEXT 300
const char *place_text(struct loc loc, char buf[PLACE_TEXT]);

/**
 * Parse a value that was given in the notation of a key, look its name up, report what is wrong.
 * Returns value->set.
 */
bool read_value(struct loader *l, const struct key *k, struct value *value);

/**
 * Read a group of a file by a table of n keys into values (parallel, zeroed here). what names such
 * a group in messages ("port"). Reports unknown and missing keys and wrong values. A wrong value
 * falls back to the default. A group that is not there (NULL) has all defaults; none of its keys
 * may be required. Returns whether there was no error.
 */
bool read_group(struct loader *l, const config_setting_t *group, const char *what,
                const struct key *keys, unsigned n, struct value *values);

/** The same of an object of a request, whose keys describe one object (key.of_many, key.many). A
 * key "cmd" is none of the table's, and left out. */
bool read_object(struct loader *l, const json_t *object, const char *what, const struct key *keys,
                 unsigned n, struct value *values);

/** Call read for each group of a list, with its place in the list; reports what is not a group. */
void each_group(struct loader *l, const config_setting_t *list, const char *key,
                void (*read)(struct loader *l, const config_setting_t *group, unsigned i,
                             void *ctx),
                void *ctx);

/**
 * The elements of a value that is one string or a list of strings. Returns how many (at most max)
 * are in out; reports what is no string, an empty list, and too many.
 */
unsigned read_strings(struct loader *l, const config_setting_t *s, const char *key,
                      const config_setting_t **out, unsigned max);

/** The pool that the value of a key "pool" names, or CFG_NONE after an error. */
uint32_t resolve_pool(struct loader *l, const struct value *v);

/** Tables in CSV of one kind of entry, each with a table of keys: its columns. */
#define CSV_MAX_COLUMNS 16
struct csv_kind {
    const struct key *keys;
    unsigned n_keys;    /* at most CSV_MAX_COLUMNS */
    const char *header; /* an example, for a message */
    /** Take the values of a row, which are right one by one; the row is at l->at, of
     * model.files[file]. Returns false to read no further. */
    bool (*take)(struct loader *l, const struct value *v, unsigned file, void *ctx);
};

/** Read the table that the value of a key "csv" names. The caller checks overlaps. */
void load_csv(struct loader *l, const struct value *file, const struct csv_kind *kind, void *ctx);

#endif
