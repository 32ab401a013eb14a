/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of keys, lists of groups, lists of strings: whatever libconfig has made of them. */
#include "config/load_value.h"
#include "config/override.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define EXPECTED_TEXT 256

struct loc setting_loc(struct loader *l, const config_setting_t *s)
{
    const char *file = config_setting_source_file(s);
    unsigned line = config_setting_source_line(s);
    const char *top = l->layout != NULL && s->config == l->layout ? l->opt->layout : l->m->path;

    if (override_of(s) != NULL)
        return (struct loc){override_of(s), 0};
    /* libconfig names an included file as the @include line does, relative to the main file's
     * folder; only the root, which is no value, stands at line 0. */
    if (file == NULL || line == 0 || strcmp(file, top) == 0)
        return (struct loc){top, line};
    return (struct loc){keep_file_name(l, beside(l, top, file)), line};
}

const char *value_text(const config_setting_t *s, char buf[VALUE_TEXT])
{
    switch (config_setting_type(s)) {
    case CONFIG_TYPE_STRING:
        snprintf(buf, VALUE_TEXT, "%s", config_setting_get_string(s));
        if (strlen(config_setting_get_string(s)) >= VALUE_TEXT)
            strcpy(buf + VALUE_TEXT - sizeof("..."), "...");
        break;
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        snprintf(buf, VALUE_TEXT, "%lld", config_setting_get_int64(s));
        break;
    case CONFIG_TYPE_FLOAT:
        snprintf(buf, VALUE_TEXT, "%g", config_setting_get_float(s));
        break;
    case CONFIG_TYPE_BOOL:
        return config_setting_get_bool(s) ? "true" : "false";
    case CONFIG_TYPE_GROUP:
        return "{...}";
    case CONFIG_TYPE_ARRAY:
        return "[...]";
    default:
        return "(...)";
    }
    return buf;
}

void key_error(struct loader *l, const config_setting_t *s, const char *key, const char *fmt, ...)
{
    char value[VALUE_TEXT], text[EXPECTED_TEXT + VALUE_TEXT];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    diag_error(l->d, setting_loc(l, s), "key '%s': value '%s': %s", key, value_text(s, value),
               text);
}

void unknown_name(struct loader *l, const config_setting_t *s, const char *key, const char *kind,
                  const char *nearest)
{
    if (nearest != NULL)
        key_error(l, s, key, "no %s of that name; did you mean '%s'?", kind, nearest);
    else
        key_error(l, s, key, "no %s of that name", kind);
}

/* Has this number been reported by load_wide_numbers()? */
static bool is_wide(struct loader *l, const config_setting_t *s)
{
    struct loc loc;

    if (l->n_wide == 0)
        return false;
    loc = setting_loc(l, s);
    for (size_t i = 0; i < l->n_wide; i++)
        if (l->wide[i].line == loc.line && strcmp(l->wide[i].file, loc.file) == 0)
            return true;
    return false;
}

/* The text of a setting in the notation of a key, or NULL where its type in libconfig is wrong.
 * Quantities with units must be strings; small numbers need not. */
static const char *scalar_text(const struct key *k, const config_setting_t *s, char buf[VALUE_TEXT])
{
    bool number =
        k->type == KEY_COUNT || k->type == KEY_SIZE || k->type == KEY_RANGE || k->type == KEY_SIZES;

    switch (config_setting_type(s)) {
    case CONFIG_TYPE_STRING:
        return k->type != KEY_BOOL ? config_setting_get_string(s) : NULL;
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        return number ? value_text(s, buf) : NULL;
    case CONFIG_TYPE_BOOL:
        return k->type == KEY_BOOL ? value_text(s, buf) : NULL;
    default:
        return NULL;
    }
}

static bool read_value(struct loader *l, const config_setting_t *s, const struct key *k,
                       struct value *value)
{
    char buf[VALUE_TEXT], expected[EXPECTED_TEXT];
    const char *text = scalar_text(k, s, buf);
    int type = config_setting_type(s);

    if ((type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64) && is_wide(l, s))
        return false;
    if (text == NULL || key_parse(k, text, &value->v) != 0) {
        key_expected(k, expected, sizeof(expected));
        key_error(l, s, k->name, "expected %s", expected);
        return false;
    }
    if (type == CONFIG_TYPE_STRING || k->type == KEY_SIZES)
        value->v.s = keep_string(l, text);
    value->v.loc = setting_loc(l, s);
    return true;
}

/* Where the key is not given, or wrong. */
static bool set_default(struct loader *l, const config_setting_t *group, const char *what,
                        const struct key *k, struct value *value)
{
    char expected[EXPECTED_TEXT];

    if (k->def != NULL && key_parse(k, k->def, &value->v) == 0) {
        value->v.s = k->def;
        value->v.loc = setting_loc(l, group);
        value->set = true;
    }
    value->v.set = value->set;
    if (!k->required || value->setting != NULL)
        return true;
    key_expected(k, expected, sizeof(expected));
    diag_error(l->d, setting_loc(l, group), "key '%s': missing in this %s: expected %s", k->name,
               what, expected);
    return false;
}

static void unknown_key(struct loader *l, const config_setting_t *s, const char *what,
                        const struct key *keys, unsigned n)
{
    const char **names = grow(NULL, n, sizeof(*names));
    const char *name = config_setting_name(s), *nearest;

    for (unsigned i = 0; i < n; i++)
        names[i] = keys[i].name;
    nearest = nearest_name(name, names, n);
    if (nearest != NULL)
        diag_error(l->d, setting_loc(l, s), "key '%s': unknown in a %s; did you mean '%s'?", name,
                   what, nearest);
    else
        diag_error(l->d, setting_loc(l, s), "key '%s': unknown in a %s", name, what);
    free(names);
}

bool read_group(struct loader *l, const config_setting_t *group, const char *what,
                const struct key *keys, unsigned n, struct value *values)
{
    int length = config_setting_length(group);
    bool ok = true;

    memset(values, 0, n * sizeof(*values));
    for (int i = 0; i < length; i++) {
        const config_setting_t *s = config_setting_get_elem(group, (unsigned)i);
        unsigned k = 0;

        while (k < n && strcmp(keys[k].name, config_setting_name(s)) != 0)
            k++;
        if (k == n) {
            unknown_key(l, s, what, keys, n);
            ok = false;
            continue;
        }
        values[k].setting = s;
        values[k].set = keys[k].type == KEY_OTHER || read_value(l, s, &keys[k], &values[k]);
        values[k].v.set = values[k].set;
        ok &= values[k].set;
    }
    for (unsigned k = 0; k < n; k++)
        if (!values[k].set)
            ok &= set_default(l, group, what, &keys[k], &values[k]);
    return ok;
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
