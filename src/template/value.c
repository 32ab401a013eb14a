/* SPDX-License-Identifier: BSD-3-Clause */
/* The value of a field in a text template: CONSTANT, VARIABLE, or CONSTANT + VARIABLE. */
#include "template/value.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define PREFIX6_ALL 128

/* The largest constant that a field takes; of an IPv6 address nothing is said in 64 bits. */
static uint64_t field_max(const struct layer_field *f)
{
    return f->kind == FIELD_MAC ? (1ull << 48) - 1 : (1ull << f->width) - 1;
}

/* Read the use of a variable: "user", or some of its bits: "user[14:8]". Returns false after an
 * error. */
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
                   : text_hint(name, names, i, hint, sizeof(hint)));
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

/* Read a constant in the notation of a field. Returns false if the text is none. */
static bool parse_constant(const struct layer_field *f, const char *s, struct value *v)
{
    uint64_t *out = &v->base;
    uint8_t mac[6];
    uint32_t addr;

    switch (f->kind) {
    case FIELD_IPV4:
        if (parse_ipv4(s, &addr) != 0)
            return false;
        *out = addr;
        return true;
    case FIELD_IPV6:
        return parse_prefix6(s, &v->addr, &v->len) == 0;
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

/* A prefix length says what a variable counts. Returns false after an error. */
static bool check_counted(struct text *x, const char *where, const struct value *v)
{
    if (v->len == PREFIX6_ALL || (v->varies && v->len >= 32))
        return true;
    BAD(x,
        v->varies ? "%s: a variable counts prefixes of 32 to 128 bits, not /%u"
                  : "%s: /%u says which prefix a variable counts, and there is none",
        where, v->len);
    return false;
}

bool value_parse(struct text *x, const char *where, const struct layer_field *f, struct value *v)
{
    static const char *const kinds[] = {[FIELD_NUMBER] = "a number",
                                        [FIELD_IPV4] = "an IPv4 address (192.0.2.1)",
                                        [FIELD_IPV6] = "an IPv6 address (2001:db8::1)",
                                        [FIELD_MAC] = "a MAC address (02:00:00:00:00:01)"};
    const char *s = text_take(x);

    *v = (struct value){.len = PREFIX6_ALL};
    if (s == NULL || *s == '+') {
        BAD(x, "%s needs a value", where);
        return false;
    }
    if (!parse_constant(f, s, v)) {
        if (!isalpha((unsigned char)s[0]) || strcspn(s, ":.") < strcspn(s, "[")) {
            BAD(x, "%s: \"%s\" is not %s", where, s, kinds[f->kind]);
            return false;
        }
        if (!parse_var_use(x, where, s, v))
            return false;
    } else if (f->kind != FIELD_IPV6 && v->base > field_max(f)) {
        BAD(x, "%s: %s is above %llu", where, s, (unsigned long long)field_max(f));
        return false;
    }
    if (x->next == x->n_tokens || *x->token[x->next] != '+')
        return check_counted(x, where, v);
    x->next++;
    s = text_take(x);
    if (s == NULL || v->varies) {
        BAD(x, "%s: expected: CONSTANT + VARIABLE", where);
        return false;
    }
    return parse_var_use(x, where, s, v) && check_counted(x, where, v);
}
