/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys and values of a configuration: typed, bounded, with errors that say key, value and what was
 * expected. */
#ifndef CONFIG_LOAD_VALUE_H
#define CONFIG_LOAD_VALUE_H

#include "config/load.h"

/** Notation of a value: the parameters of tasks, and what only the fixed sections use. */
enum key_type {
    KEY_COUNT = PARAM_COUNT,
    KEY_SIZE = PARAM_SIZE,
    KEY_RATE = PARAM_RATE,
    KEY_DURATION = PARAM_DURATION,
    KEY_BOOL = PARAM_BOOL,
    KEY_ENUM = PARAM_ENUM,
    KEY_IPV4 = PARAM_IPV4,
    KEY_STRING = PARAM_STRING,
    KEY_SCHEDULER = PARAM_SCHEDULER,
    KEY_RANGE = PARAM_RANGE,
    KEY_LOAD = PARAM_LOAD,
    KEY_SHARE = PARAM_SHARE,
    KEY_TEMPLATE = PARAM_TEMPLATE,
    KEY_SIZES = PARAM_SIZES,
    KEY_NAME = PARAM_NAME,
    KEY_HOST,   /* the IPv4 address of one host */
    KEY_PREFIX, /* v.u address, v.u2 length */
    KEY_MAC,    /* unicast; v.u */
    KEY_OTHER,  /* of any type: the section reads value.setting itself */
};

struct key {
    const char *name;
    enum key_type type;
    const char *def;   /* default, in the configuration's notation; NULL: none */
    uint64_t min, max; /* both inside; max 0: none */
    const char *const *choices;
    bool required, power_of_two;
};

struct value {
    bool set; /* given and right, or defaulted */
    struct param_value v;
    const config_setting_t *setting; /* NULL: not given */
};

/** Where a setting stands. */
struct loc setting_loc(struct loader *l, const config_setting_t *s);

/** The value as the file has it, for a message; buf is returned. */
#define VALUE_TEXT 80
const char *value_text(const config_setting_t *s, char buf[VALUE_TEXT]);

/** What a key takes, for a message. */
void key_expected(const struct key *k, char *buf, size_t len);

/** Parse a text as the value of a key. Returns 0 or -errno; v is written only on success. */
int key_parse(const struct key *k, const char *text, struct param_value *v);

/** "key 'K': value 'V': ..." at the place of the setting. */
void key_error(struct loader *l, const config_setting_t *s, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/** "no KIND of that name", with the nearest one if that is not NULL. */
void unknown_name(struct loader *l, const config_setting_t *s, const char *key, const char *kind,
                  const char *nearest);

/**
 * Read a group by a table of n keys into values (parallel, zeroed here). what names such a group in
 * messages ("port"). Reports unknown and missing keys and wrong values. A wrong value falls back to
 * the default. Returns whether there was no error.
 */
bool read_group(struct loader *l, const config_setting_t *group, const char *what,
                const struct key *keys, unsigned n, struct value *values);

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

/** Is this the address of one host: neither 0/8, loopback, multicast nor reserved? */
bool ipv4_is_host(uint32_t addr);

void mac_from_u64(uint64_t v, uint8_t mac[6]);

#endif
