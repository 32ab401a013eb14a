/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text form of a template (doc/templates.md), line by line: each line is split into words, of
 * which the first is a layer (layer.c), size, padding, payload or var.
 */
#include "template/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "template/formats.h"

const char *text_hint(const char *word, const char *const *names, unsigned n, char *buf, size_t len)
{
    const char *near = nearest_name(word, names, n);
    size_t at;

    if (near != NULL) {
        snprintf(buf, len, "; did you mean \"%s\"?", near);
        return buf;
    }
    at = (size_t)snprintf(buf, len, "; expected %s", n > 1 ? "one of " : "");
    for (unsigned i = 0; i < n && at < len; i++)
        at += (size_t)snprintf(buf + at, len - at, i == 0 ? "%s" : ", %s", names[i]);
    return buf;
}

const char *text_take(struct text *x)
{
    return x->next < x->n_tokens ? x->token[x->next++] : NULL;
}

/*
 * Split a line into words in place. A '#' begins a comment. A '+' is a word of its own, even
 * between two characters; its byte in the line is overwritten by the end of the word before, so the
 * word points to a string of its own. Returns false when there are too many words.
 */
static bool split(struct text *x, char *line)
{
    static char plus[] = "+";
    bool in_word = false;

    x->n_tokens = x->next = 0;
    for (char *p = line; *p != '\0' && *p != '#'; p++) {
        if (isspace((unsigned char)*p) || *p == '+') {
            bool is_plus = *p == '+';

            *p = '\0';
            in_word = false;
            if (!is_plus)
                continue;
            if (x->n_tokens == TEXT_MAX_TOKENS)
                return false;
            x->token[x->n_tokens++] = plus;
        } else if (!in_word) {
            if (x->n_tokens == TEXT_MAX_TOKENS)
                return false;
            x->token[x->n_tokens++] = p;
            in_word = true;
        }
    }
    return true;
}

/* --- size, padding --- */

/* Take the only number of a line, which must be within min..max. Returns false after an error. */
static bool only_number(struct text *x, const char *word, uint64_t min, uint64_t max, uint32_t *out)
{
    const char *s = text_take(x);
    uint64_t v;

    if (s == NULL || text_take(x) != NULL) {
        BAD(x, "%s: expected one number of bytes", word);
        return false;
    }
    if (parse_count(s, &v) != 0 || v < min || v > max) {
        BAD(x, "%s: \"%s\" is not a number of %u to %u", word, s, (unsigned)min, (unsigned)max);
        return false;
    }
    *out = (uint32_t)v;
    return true;
}

static void parse_size_line(struct text *x)
{
    if (x->size_loc.line != 0)
        BAD(x, "size is given twice; it stands on line %u already", x->size_loc.line);
    else
        only_number(x, "size", TEMPLATE_MIN_SIZE, TEMPLATE_MAX_SIZE, &x->size);
    x->size_loc = x->loc;
}

static void parse_padding(struct text *x)
{
    if (x->padding_given)
        BAD(x, "padding is given twice");
    else
        only_number(x, "padding", 0, TEMPLATE_MAX_SIZE, &x->padding);
    x->padding_given = true;
}

/* --- payload --- */

/* The value of a hexadecimal digit, or -1. */
static int hex(char c)
{
    return isdigit((unsigned char)c)    ? c - '0'
           : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
                                        : -1;
}

static void parse_payload(struct text *x)
{
    const char *s;

    if (x->n_pattern != 0) {
        BAD(x, "payload is given twice");
        return;
    }
    while ((s = text_take(x)) != NULL) {
        for (const char *p = s; *p != '\0'; p += 2) {
            if (hex(p[0]) < 0 || hex(p[1]) < 0) {
                BAD(x, "payload: \"%s\" is not bytes of two hexadecimal digits each", s);
                x->n_pattern = 1;
                return;
            }
            if (x->n_pattern == sizeof(x->pattern)) {
                BAD(x, "payload: more than %zu bytes", sizeof(x->pattern));
                return;
            }
            x->pattern[x->n_pattern++] = (uint8_t)(hex(p[0]) << 4 | hex(p[1]));
        }
    }
    if (x->n_pattern == 0)
        BAD(x, "payload: expected bytes of two hexadecimal digits each");
}

/* --- var --- */

static bool good_name(const char *s, size_t max)
{
    size_t len = strlen(s);

    if (!isalpha((unsigned char)s[0]) || len >= max)
        return false;
    return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == len;
}

/* Read how a variable moves through its range: "random", or "step N". */
static void parse_progress(struct text *x, struct template_var *v)
{
    const char *how = text_take(x), *n;
    uint64_t most = v->last == v->first ? 1 : v->last - v->first, step;

    if (how != NULL && strcmp(how, "random") == 0) {
        v->step = 0;
    } else if (how != NULL && strcmp(how, "step") == 0) {
        n = text_take(x);
        if (n == NULL || parse_count(n, &step) != 0 || step == 0 || step > most) {
            BAD(x, "var %s: step: expected a number of 1 to %u", v->name, (unsigned)most);
            return;
        }
        v->step = (uint32_t)step;
    } else {
        BAD(x, "var %s: expected \"random\" or \"step N\" after the range", v->name);
        return;
    }
    n = text_take(x);
    if (n != NULL)
        BAD(x, "var %s: \"%s\" is one word too many", v->name, n);
}

static void parse_var(struct text *x)
{
    struct pkt_template *t = x->t;
    const char *name = text_take(x), *range = text_take(x);
    struct template_var v = {0};
    uint64_t first, last;

    if (name == NULL || range == NULL) {
        BAD(x, "expected: var NAME FIRST-LAST random, or: var NAME FIRST-LAST step N");
        return;
    }
    if (!good_name(name, sizeof(v.name))) {
        BAD(x, "var: \"%s\" is not a name: a letter, then letters, digits or _, at most %zu", name,
            sizeof(v.name) - 1);
        return;
    }
    strcpy(v.name, name);
    for (unsigned i = 0; i < t->n_vars; i++) {
        if (strcmp(t->vars[i].name, name) == 0) {
            BAD(x, "var %s is declared twice", name);
            return;
        }
    }
    if (parse_range(range, &first, &last) != 0 || last > UINT32_MAX) {
        BAD(x, "var %s: \"%s\" is not a range such as 0-32767 of numbers up to %u", name, range,
            UINT32_MAX);
        first = 0;
        last = 0;
    } else {
        v.first = (uint32_t)first;
        v.last = (uint32_t)last;
        parse_progress(x, &v);
    }
    /* A wrong variable is kept, because otherwise every use of its name would be a further error.
     */
    if (t->n_vars == TEMPLATE_MAX_VARS) {
        BAD(x, "more than %u variables", TEMPLATE_MAX_VARS);
    } else {
        x->var_line[t->n_vars] = x->loc.line;
        t->vars[t->n_vars++] = v;
    }
}

/* --- the file --- */

static void parse_line(struct text *x)
{
    static const struct {
        const char *word;
        void (*parse)(struct text *x);
    } other[] = {{"padding", parse_padding},
                 {"payload", parse_payload},
                 {"size", parse_size_line},
                 {"var", parse_var}};
    const unsigned n_other = sizeof(other) / sizeof(other[0]);
    const char *word = text_take(x), *names[LAYER_KINDS + sizeof(other) / sizeof(other[0])];
    char hint[256];

    if (word == NULL)
        return;
    for (unsigned i = 0; i < n_other; i++) {
        if (strcmp(word, other[i].word) == 0) {
            other[i].parse(x);
            return;
        }
        names[LAYER_KINDS + i] = other[i].word;
    }
    for (unsigned i = 0; i < LAYER_KINDS; i++) {
        if (strcmp(word, layer_names[i]) == 0) {
            layer_parse(x, (enum layer_kind)i);
            return;
        }
        names[i] = layer_names[i];
    }
    BAD(x, "unknown word \"%.40s\"%s", word,
        text_hint(word, names, LAYER_KINDS + n_other, hint, sizeof(hint)));
}

static void read_lines(struct text *x, FILE *f)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t len;

    for (x->loc.line = 1; (len = getline(&line, &room, f)) >= 0; x->loc.line++) {
        if (strlen(line) != (size_t)len) {
            BAD(x, "a NUL byte: this is neither a text template nor a pcap");
            break;
        }
        if (split(x, line))
            parse_line(x);
        else
            BAD(x, "more than %u words on a line", TEXT_MAX_TOKENS);
    }
    free(line);
}

bool template_read_text(struct pkt_template *t, FILE *f, const char *path,
                        const struct frame_sizes *sizes, struct diags *d)
{
    bool ok;
    struct text *x = calloc(1, sizeof(*x));

    if (x == NULL) {
        diag_error(d, (struct loc){path, 0}, "out of memory");
        return false;
    }
    x->t = t;
    x->d = d;
    x->errors_before = d->n_errors;
    x->loc.file = path;
    x->padding = TEMPLATE_MIN_SIZE;
    read_lines(x, f);
    x->loc.line = 0;
    text_build_frames(x, sizes);
    ok = d->n_errors == x->errors_before;
    free(x);
    return ok;
}
