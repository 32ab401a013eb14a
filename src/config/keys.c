/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/keys.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define EXPECTED_TEXT 256

/* --- where a value stands, and its text --- */

struct loc setting_loc(struct loader *l, const config_setting_t *s)
{
    const char *file = config_setting_source_file(s);
    unsigned line = config_setting_source_line(s);
    const char *top = l->layout != NULL && s->config == l->layout ? l->opt->layout : l->m->path;

    if (override_of(s) != NULL)
        return (struct loc){override_of(s), 0};
    /* Only the root, which is no value, stands at line 0. */
    if (file == NULL || line == 0 || strcmp(file, top) == 0)
        return (struct loc){top, line};
    return (struct loc){keep_file_name(l, included_file(l, top, file)), line};
}

struct loc value_loc(struct loader *l, const struct value *v)
{
    return v->setting != NULL ? setting_loc(l, v->setting) : l->at;
}

/* A long text ends in "...", not within a character of UTF-8; '?' is for what no name may hold. */
static const char *shortened(const char *text, char buf[VALUE_TEXT])
{
    size_t len = VALUE_TEXT - sizeof("...");

    if (snprintf(buf, VALUE_TEXT, "%s", text) >= VALUE_TEXT) {
        while (len > 0 && ((unsigned char)buf[len] & 0xc0) == 0x80)
            len--;
        strcpy(buf + len, "...");
    }
    utf8_make_safe(buf);
    return buf;
}

static const char *setting_text(const config_setting_t *s, char buf[VALUE_TEXT])
{
    switch (config_setting_type(s)) {
    case CONFIG_TYPE_STRING:
        return shortened(config_setting_get_string(s), buf);
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        snprintf(buf, VALUE_TEXT, "%lld", config_setting_get_int64(s));
        return buf;
    case CONFIG_TYPE_FLOAT:
        snprintf(buf, VALUE_TEXT, "%g", config_setting_get_float(s));
        return buf;
    case CONFIG_TYPE_BOOL:
        return config_setting_get_bool(s) ? "true" : "false";
    case CONFIG_TYPE_GROUP:
        return "{...}";
    case CONFIG_TYPE_ARRAY:
        return "[...]";
    default:
        return "(...)";
    }
}

static const char *json_text(const json_t *json, char buf[VALUE_TEXT])
{
    switch (json_typeof(json)) {
    case JSON_STRING:
        return shortened(json_string_value(json), buf);
    case JSON_INTEGER:
        snprintf(buf, VALUE_TEXT, "%lld", (long long)json_integer_value(json));
        return buf;
    case JSON_REAL:
        snprintf(buf, VALUE_TEXT, "%g", json_real_value(json));
        return buf;
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    case JSON_OBJECT:
        return "{...}";
    case JSON_ARRAY:
        return "[...]";
    default:
        return "null";
    }
}

const char *value_text(const struct value *v, char buf[VALUE_TEXT])
{
    return v->setting != NULL ? setting_text(v->setting, buf)
           : v->json != NULL  ? json_text(v->json, buf)
                              : shortened(v->cell, buf);
}

const char *place_text(struct loc loc, char buf[PLACE_TEXT])
{
    if (loc.file == NULL)
        snprintf(buf, PLACE_TEXT, "added while running");
    else if (loc.line == 0)
        snprintf(buf, PLACE_TEXT, "at %s", loc.file);
    else
        snprintf(buf, PLACE_TEXT, "at %s:%u", loc.file, loc.line);
    return buf;
}

/* --- errors --- */

static void value_error_va(struct loader *l, const struct value *v, const char *key,
                           const char *fmt, va_list args)
{
    char value[VALUE_TEXT], text[EXPECTED_TEXT + VALUE_TEXT];

    if (v->cell != NULL && !csv_lists(l->table, key))
        return;
    vsnprintf(text, sizeof(text), fmt, args);
    diag_error(l->d, value_loc(l, v), "key '%s': value '%s': %s", key, value_text(v, value), text);
}

void value_error(struct loader *l, const struct value *v, const char *key, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    value_error_va(l, v, key, fmt, args);
    va_end(args);
}

void key_error(struct loader *l, const config_setting_t *s, const char *key, const char *fmt, ...)
{
    struct value v = {.setting = s};
    va_list args;

    va_start(args, fmt);
    value_error_va(l, &v, key, fmt, args);
    va_end(args);
}

void no_such_name(struct loader *l, const struct value *v, const char *key, const char *kind,
                  const char *nearest)
{
    if (nearest != NULL)
        value_error(l, v, key, "no %s of that name; did you mean '%s'?", kind, nearest);
    else
        value_error(l, v, key, "no %s of that name", kind);
}

void unknown_name(struct loader *l, const config_setting_t *s, const char *key, const char *kind,
                  const char *nearest)
{
    no_such_name(l, &(struct value){.setting = s}, key, kind, nearest);
}

/* --- one value --- */

/* Has this number been reported by load_wide_numbers()? */
static bool is_wide(struct loader *l, const config_setting_t *s)
{
    struct loc loc;

    if (s == NULL || l->n_wide == 0 ||
        (config_setting_type(s) != CONFIG_TYPE_INT && config_setting_type(s) != CONFIG_TYPE_INT64))
        return false;
    loc = setting_loc(l, s);
    for (size_t i = 0; i < l->n_wide; i++)
        if (l->wide[i].line == loc.line && strcmp(l->wide[i].file, loc.file) == 0)
            return true;
    return false;
}

/* Quantities with units must be strings; small numbers need not. */
static bool takes_numbers(enum key_type type)
{
    return type == KEY_COUNT || type == KEY_SIZE || type == KEY_RANGE || type == KEY_SIZES ||
           type == KEY_SUBSCRIBER;
}

static const char *setting_scalar(const struct key *k, const config_setting_t *s,
                                  char buf[VALUE_TEXT])
{
    switch (config_setting_type(s)) {
    case CONFIG_TYPE_STRING:
        return k->type != KEY_BOOL ? config_setting_get_string(s) : NULL;
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        return takes_numbers(k->type) ? setting_text(s, buf) : NULL;
    case CONFIG_TYPE_BOOL:
        return k->type == KEY_BOOL ? setting_text(s, buf) : NULL;
    default:
        return NULL;
    }
}

/* JSON has 64-bit numbers, so that a rate may be a number of bit/s, too. */
static const char *json_scalar(const struct key *k, const json_t *json, char buf[VALUE_TEXT])
{
    switch (json_typeof(json)) {
    case JSON_STRING:
        return k->type != KEY_BOOL ? json_string_value(json) : NULL;
    case JSON_INTEGER:
        return takes_numbers(k->type) || k->type == KEY_RATE ? json_text(json, buf) : NULL;
    case JSON_TRUE:
    case JSON_FALSE:
        return k->type == KEY_BOOL ? json_text(json, buf) : NULL;
    default:
        return NULL;
    }
}

/* The text of a value in the notation of a key, or NULL where it is of a type that the key does not
 * take. */
static const char *scalar(const struct key *k, const struct value *v, char buf[VALUE_TEXT])
{
    return v->setting != NULL ? setting_scalar(k, v->setting, buf)
           : v->json != NULL  ? json_scalar(k, v->json, buf)
                              : v->cell;
}

/* Most tables name few ports, in runs. */
static bool look_up_port(struct loader *l, const struct key *k, const char *name, struct value *v)
{
    const struct cfg_model *m = l->m;

    if (l->last_port >= m->n_ports || strcmp(m->ports[l->last_port].name, name) != 0)
        l->last_port = find_port(l, name);
    v->v.u = l->last_port;
    if (v->v.u == CFG_NONE && !l->port_nameless)
        no_such_name(l, v, k->name, "port", nearest_port(l, name));
    return v->v.u != CFG_NONE;
}

static bool look_up_profile(struct loader *l, const struct key *k, const char *name,
                            struct value *v)
{
    v->v.u = find_profile(l, name);
    if (v->v.u == CFG_NONE)
        no_such_name(l, v, k->name, "profile", nearest_profile(l, name));
    return v->v.u != CFG_NONE;
}

/* What is written in a file does not live as long as the model; a cell or a request lives as long
 * as its values are in use. */
static void take_text(struct loader *l, const struct key *k, const char *text, struct value *value)
{
    if (value->setting == NULL)
        value->v.s = value->cell != NULL || json_is_string(value->json) ? text : NULL;
    else if (config_setting_type(value->setting) == CONFIG_TYPE_STRING || k->type == KEY_SIZES)
        value->v.s = keep_string(l, text);
}

bool read_value(struct loader *l, const struct key *k, struct value *value)
{
    char buf[VALUE_TEXT], expected[EXPECTED_TEXT];
    const char *text = scalar(k, value, buf);

    value->set = false;
    if (is_wide(l, value->setting))
        return false;
    if (text == NULL || key_parse(k, text, &value->v) != 0) {
        bool bare = text == NULL && k->type == KEY_STRING && value->setting != NULL &&
                    config_setting_is_scalar(value->setting) == CONFIG_TRUE;

        key_expected(k, expected, sizeof(expected));
        value_error(l, value, k->name, "expected %s%s%s%s", expected, bare ? ", in quotes: \"" : "",
                    bare ? value_text(value, buf) : "", bare ? "\"" : "");
        return false;
    }
    take_text(l, k, text, value);
    value->v.loc = value_loc(l, value);
    value->set = k->type == KEY_PORT      ? look_up_port(l, k, text, value)
                 : k->type == KEY_PROFILE ? look_up_profile(l, k, text, value)
                                          : true;
    return value->set;
}

bool take_prefix(struct loader *l, const struct value *v, const char *key, uint32_t *prefix,
                 uint8_t *len)
{
    uint32_t behind = (uint32_t)((UINT64_C(1) << (32 - v->v.u2)) - 1);
    char text[32];

    *prefix = (uint32_t)v->v.u;
    *len = (uint8_t)v->v.u2;
    if ((*prefix & behind) == 0)
        return true;
    value_error(l, v, key, "has bits set after the prefix: expected '%s/%u'",
                format_ipv4(*prefix & ~behind, text, sizeof(text)), *len);
    return false;
}

/* --- all values of an object --- */

/* A group of a file, which may describe many objects, or an object of a request. */
struct reading {
    struct loader *l;
    const char *what;
    struct loc loc; /* of the group */
    bool many;
    const struct key *keys;
    unsigned n;
    struct value *values;
};

static bool is_known(const struct reading *r, const struct key *k)
{
    return r->many || !k->of_many;
}

/* The key as it is read here. */
static struct key narrowed(const struct reading *r, unsigned i)
{
    struct key k = r->keys[i];

    if (r->many && k.many != KEY_COUNT)
        k.type = k.many;
    return k;
}

/* The key that had this name in an earlier version, or NULL. */
static const struct key *renamed(const struct reading *r, const char *name)
{
    for (unsigned i = 0; i < r->n; i++)
        if (r->keys[i].old != NULL && strcmp(r->keys[i].old, name) == 0)
            return &r->keys[i];
    return NULL;
}

static void unknown_key(const struct reading *r, const char *name, const struct value *given)
{
    const char **names = grow(NULL, r->n, sizeof(*names)), *nearest;
    struct loc loc = value_loc(r->l, given);
    char text[VALUE_TEXT];
    size_t n = 0;

    for (unsigned i = 0; i < r->n; i++)
        if (is_known(r, &r->keys[i]))
            names[n++] = r->keys[i].name;
    nearest = nearest_name(name, names, n);
    if (nearest != NULL)
        diag_error(r->l->d, loc, "key '%s': unknown in a %s; did you mean '%s'?",
                   shortened(name, text), r->what, nearest);
    else
        diag_error(r->l->d, loc, "key '%s': unknown in a %s", shortened(name, text), r->what);
    free(names);
}

static bool is_unread(enum key_type type)
{
    return type == KEY_OTHER || type == KEY_LIST;
}

static bool read_member(const struct reading *r, const char *name, struct value given)
{
    struct value *value;
    struct key key;
    unsigned i = 0;

    while (i < r->n && (strcmp(r->keys[i].name, name) != 0 || !is_known(r, &r->keys[i])))
        i++;
    if (i == r->n) {
        if (renamed(r, name) != NULL)
            diag_error(r->l->d, value_loc(r->l, &given), "key '%s' is now called '%s'", name,
                       renamed(r, name)->name);
        else
            unknown_key(r, name, &given);
        return false;
    }
    key = narrowed(r, i);
    value = &r->values[i];
    *value = given;
    if (key.or_null && json_is_null(given.json))
        return true;
    value->set = is_unread(key.type) || read_value(r->l, &key, value);
    value->v.set = value->set;
    return value->set;
}

/* Where the key is not given, or wrong. */
static bool set_default(const struct reading *r, unsigned i)
{
    struct key k = narrowed(r, i);
    struct value *value = &r->values[i];
    char expected[EXPECTED_TEXT];

    if (k.def != NULL && key_parse(&k, k.def, &value->v) == 0) {
        value->v.s = k.def;
        value->v.loc = r->loc;
        value->set = true;
    }
    value->v.set = value->set;
    if (!k.required || value_given(value))
        return true;
    key_expected(&k, expected, sizeof(expected));
    diag_error(r->l->d, r->loc, "key '%s': missing in this %s: expected %s", k.name, r->what,
               expected);
    return false;
}

static bool set_defaults(const struct reading *r)
{
    bool ok = true;

    for (unsigned i = 0; i < r->n; i++)
        if (!r->values[i].set)
            ok &= set_default(r, i);
    return ok;
}

bool read_group(struct loader *l, const config_setting_t *group, const char *what,
                const struct key *keys, unsigned n, struct value *values)
{
    struct loc at = group != NULL ? setting_loc(l, group) : l->at;
    struct reading r = {l, what, at, true, keys, n, values};
    bool ok = true;

    memset(values, 0, n * sizeof(*values));
    for (int i = 0; group != NULL && i < config_setting_length(group); i++) {
        const config_setting_t *s = config_setting_get_elem(group, (unsigned)i);

        ok &= read_member(&r, config_setting_name(s), (struct value){.setting = s});
    }
    return set_defaults(&r) && ok;
}

bool read_object(struct loader *l, const json_t *object, const char *what, const struct key *keys,
                 unsigned n, struct value *values)
{
    struct reading r = {l, what, l->at, false, keys, n, values};
    const char *name;
    json_t *member;
    bool ok = true;

    memset(values, 0, n * sizeof(*values));
    json_object_foreach((json_t *)object, name, member) ok &=
        read_member(&r, name, (struct value){.json = member});
    return set_defaults(&r) && ok;
}

void each_group(struct loader *l, const config_setting_t *list, const char *key,
                void (*read)(struct loader *l, const config_setting_t *group, unsigned i,
                             void *ctx),
                void *ctx)
{
    int length;

    if (list == NULL)
        return;
    /* An array can only be empty here: it holds no groups. */
    if (!config_setting_is_list(list) && !config_setting_is_array(list)) {
        key_error(l, list, key, "expected a list of groups, such as ( { ... }, { ... } )");
        return;
    }
    length = config_setting_length(list);
    for (int i = 0; i < length; i++) {
        const config_setting_t *s = config_setting_get_elem(list, (unsigned)i);

        if (config_setting_is_group(s))
            read(l, s, (unsigned)i, ctx);
        else
            key_error(l, s, key, "expected a group: { ... }");
    }
}

unsigned read_strings(struct loader *l, const config_setting_t *s, const char *key,
                      const config_setting_t **out, unsigned max)
{
    int length;
    unsigned n = 0;

    if (config_setting_type(s) == CONFIG_TYPE_STRING) {
        out[0] = s;
        return 1;
    }
    if (!config_setting_is_list(s) && !config_setting_is_array(s)) {
        key_error(l, s, key, "expected a string, or a list of strings: [\"a\", \"b\"]");
        return 0;
    }
    length = config_setting_length(s);
    if (length == 0)
        key_error(l, s, key, "expected at least one");
    if ((unsigned)length > max) {
        key_error(l, s, key, "%d elements: expected at most %u", length, max);
        return 0;
    }
    for (int i = 0; i < length; i++) {
        const config_setting_t *e = config_setting_get_elem(s, (unsigned)i);

        if (config_setting_type(e) == CONFIG_TYPE_STRING)
            out[n++] = e;
        else
            key_error(l, e, key, "expected a string");
    }
    return n;
}
