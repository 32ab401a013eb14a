/* SPDX-License-Identifier: BSD-3-Clause */
/* The value of a field in a text template: CONSTANT, VARIABLE, or CONSTANT + VARIABLE. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "config/template_layer.h"

uint64_t field_max(const struct layer_field *f)
{
    return f->kind == FIELD_MAC ? (1ull << 48) - 1 : (1ull << f->width) - 1;
}

/* "user" or "user[14:8]": false after an error. */
static bool parse_var_use(struct text *x, const char *where, const char *s, struct value *v)
{
    size_t len = strcspn(s, "[");
    const char *names[TEMPLATE_MAX_VARS];
    char name[64], hint[256];
    unsigned hi, lo, i;
    int used = 0;

    snprintf(name, sizeof(name), "%.*s", (int)len, s);
    for (i = 0; i < x->t->n_vars && strcmp(x->t->vars[i].name, name) != 0; i++)
        names[i] = x->t->vars[i].name;
    if (i == x->t->n_vars) {
        BAD(x, "%s: there is no variable \"%s\"%s", where, name,
            i == 0 ? "; declare it above: var NAME FIRST-LAST random"
                   : template_hint(name, names, i, hint, sizeof(hint)));
        return false;
    }
    v->varies = true;
    v->var = (uint8_t)i;
    v->shift = 0;
    v->mask = UINT32_MAX;
    if (s[len] == '[') {
        if (sscanf(s + len, "[%2u:%2u]%n", &hi, &lo, &used) != 2 || s[len + (size_t)used] != '\0' ||
            hi > 31 || lo > hi) {
            BAD(x, "%s: \"%s\" is not bits of a variable such as %s[14:8], of 31 to 0", where, s,
                name);
            return false;
        }
        v->shift = (uint8_t)lo;
        v->mask = UINT32_MAX >> (31 - (hi - lo));
    }
    return true;
}

static uint64_t mac_number(const uint8_t mac[6])
{
    uint64_t v = 0;

    for (unsigned i = 0; i < 6; i++)
        v = v << 8 | mac[i];
    return v;
}

/* A constant in the notation of the field. Returns false if it is none. */
static bool parse_constant(const struct layer_field *f, const char *s, uint64_t *out)
{
    uint8_t mac[6];
    uint32_t addr;

    switch (f->kind) {
    case FIELD_IPV4:
        if (parse_ipv4(s, &addr) != 0)
            return false;
        *out = addr;
        return true;
    case FIELD_MAC:
        if (parse_mac(s, mac) != 0)
            return false;
        *out = mac_number(mac);
        return true;
    case FIELD_NUMBER:
        break;
    }
    for (unsigned i = 0; i < LAYER_FIELD_NAMES && f->names[i].name != NULL; i++) {
        if (strcmp(s, f->names[i].name) == 0) {
            *out = f->names[i].value;
            return true;
        }
    }
    return parse_count(s, out) == 0;
}

bool parse_value(struct text *x, const char *where, const struct layer_field *f, struct value *v)
{
    static const char *const kinds[] = {[FIELD_NUMBER] = "a number",
                                        [FIELD_IPV4] = "an IPv4 address (192.0.2.1)",
                                        [FIELD_MAC] = "a MAC address (02:00:00:00:00:01)"};
    const char *s = text_take(x);

    *v = (struct value){0};
    if (s == NULL || *s == '+') {
        BAD(x, "%s needs a value", where);
        return false;
    }
    if (!parse_constant(f, s, &v->base)) {
        if (!isalpha((unsigned char)s[0]) || strcspn(s, ":.") < strcspn(s, "[")) {
            BAD(x, "%s: \"%s\" is not %s", where, s, kinds[f->kind]);
            return false;
        }
        if (!parse_var_use(x, where, s, v))
            return false;
    } else if (v->base > field_max(f)) {
        BAD(x, "%s: %s is above %llu", where, s, (unsigned long long)field_max(f));
        return false;
    }
    if (x->next == x->n_tokens || *x->token[x->next] != '+')
        return true;
    x->next++;
    s = text_take(x);
    if (s == NULL || v->varies) {
        BAD(x, "%s: expected: CONSTANT + VARIABLE", where);
        return false;
    }
    return parse_var_use(x, where, s, v);
}
