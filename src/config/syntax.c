/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/syntax.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 10 /* of includes, as libconfig has it */
#define INCLUDE   "@include"
#define SHOWN     24 /* bytes of what stood near a mistake */

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_STRING, TOKEN_SIGN };

struct token {
    enum token_kind kind;
    char sign; /* of TOKEN_SIGN */
    struct loc loc;
    unsigned last_line; /* of a string */
    const char *at;
    size_t len;
};

/* A file that is being read; at stands before what is not read yet. */
struct source {
    const char *name;
    char *text;
    const char *at;
    unsigned line;
};

struct reader {
    struct loader *l;
    const char *top;
    struct source stack[MAX_DEPTH];
    unsigned depth;
    char **texts; /* of all files: tokens point into them */
    size_t n_texts;
    struct token next;
    struct token spans; /* the last string that goes over several lines, if kind is TOKEN_STRING */
    struct syntax *s;
    int rc;
};

/* --- files --- */

/* Go on with a file. at: the line that includes it, or the file itself. */
static void enter(struct reader *r, const char *path, struct loc at, const char *named)
{
    const char *why;
    size_t size;
    char *text = read_whole(path, &size, &why);

    if (text == NULL) {
        r->rc = -EINVAL;
        if (named == NULL)
            diag_error(r->l->d, at, "cannot be read: %s", why);
        else
            diag_error(r->l->d, at, INCLUDE " \"%s\": %s: %s", named, path, why);
        return;
    }
    GROW_ONE(r->texts, r->n_texts);
    r->texts[r->n_texts++] = text;
    r->stack[r->depth++] =
        (struct source){.name = keep_file_name(r->l, path), .text = text, .at = text, .line = 1};
}

static void include(struct reader *r, struct source *from, const char *name, size_t len)
{
    struct loc at = {from->name, from->line};
    const char *named = keep_format(r->l, "%.*s", (int)len, name);

    if (r->depth == MAX_DEPTH) {
        r->rc = -EINVAL;
        diag_error(r->l->d, at, INCLUDE " \"%s\": expected at most %d files in one another", named,
                   MAX_DEPTH);
        return;
    }
    enter(r, beside(r->l, r->top, named), at, named);
}

/* --- tokens --- */

static bool starts(const char *at, const char *what)
{
    return strncmp(at, what, strlen(what)) == 0;
}

static void skip_to(struct source *f, const char *end)
{
    for (; f->at < end; f->at++)
        f->line += *f->at == '\n';
}

static void skip_comment(struct source *f)
{
    const char *end = f->at[0] == '/' && f->at[1] == '*' ? strstr(f->at + 2, "*/") : NULL;

    if (f->at[0] == '/' && f->at[1] == '*')
        skip_to(f, end != NULL ? end + 2 : f->at + strlen(f->at));
    else
        f->at += strcspn(f->at, "\n");
}

static bool at_comment(const struct source *f)
{
    return *f->at == '#' || starts(f->at, "//") || starts(f->at, "/*");
}

/* Is this the first word of its line? */
static bool begins_line(const struct source *f)
{
    const char *c = f->at;

    while (c > f->text && (c[-1] == ' ' || c[-1] == '\t'))
        c--;
    return c == f->text || c[-1] == '\n';
}

/* Take an @include "FILE". Returns whether there is one. */
static bool take_include(struct reader *r, struct source *f)
{
    const char *c = f->at + strlen(INCLUDE), *end;

    if (!starts(f->at, INCLUDE) || !begins_line(f))
        return false;
    c += strspn(c, " \t");
    if (*c != '"')
        return false;
    end = c + 1 + strcspn(c + 1, "\"\n");
    if (*end != '"')
        return false;
    f->at = end + 1;
    include(r, f, c + 1, (size_t)(end - c - 1));
    return true;
}

/* The end of a string, behind its closing quote, or NULL. */
static const char *string_end(const char *at)
{
    for (at++; *at != '\0' && *at != '"'; at++)
        at += *at == '\\' && at[1] != '\0';
    return *at == '"' ? at + 1 : NULL;
}

static void mistake(struct reader *r, struct loc loc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The first one counts: what follows it is read wrongly. */
static void mistake(struct reader *r, struct loc loc, const char *fmt, ...)
{
    va_list args;

    if (r->s->wrong)
        return;
    r->s->wrong = true;
    r->s->loc = loc;
    va_start(args, fmt);
    vsnprintf(r->s->text, sizeof(r->s->text), fmt, args);
    va_end(args);
    if (r->spans.kind != TOKEN_STRING)
        return;
    r->s->loc = r->spans.loc;
    snprintf(r->s->text, sizeof(r->s->text),
             "a text begins here and ends in line %u: expected its closing quote before the end of "
             "the line",
             r->spans.last_line);
}

static void take_string(struct reader *r, struct source *f, struct token *t)
{
    const char *end = string_end(f->at);

    t->kind = TOKEN_STRING;
    if (end == NULL) {
        mistake(r, t->loc, "a text begins here and has no closing quote");
        end = f->at + strlen(f->at);
    }
    skip_to(f, end);
    t->last_line = f->line;
    if (t->last_line > t->loc.line)
        r->spans = *t;
}

static void take_word(struct source *f, struct token *t)
{
    t->kind = isalpha((unsigned char)*f->at) || *f->at == '*' ? TOKEN_NAME : TOKEN_NUMBER;
    while (isalnum((unsigned char)*f->at) || (*f->at != '\0' && strchr("_-*+.", *f->at) != NULL))
        f->at++;
}

/* Read the next token into r->next. */
static void advance(struct reader *r)
{
    struct token *t = &r->next;

    while (r->depth > 0) {
        struct source *f = &r->stack[r->depth - 1];

        if (*f->at == '\0' && r->depth == 1)
            break;
        if (*f->at == '\0')
            r->depth--;
        else if (isspace((unsigned char)*f->at))
            skip_to(f, f->at + 1);
        else if (at_comment(f))
            skip_comment(f);
        else if (!take_include(r, f))
            break;
    }
    *t = (struct token){.kind = TOKEN_END};
    if (r->depth > 0) {
        struct source *f = &r->stack[r->depth - 1];

        t->loc = (struct loc){f->name, f->line};
        t->at = f->at;
        if (*f->at == '\0')
            return;
        if (*f->at == '"') {
            take_string(r, f, t);
        } else if (isalnum((unsigned char)*f->at) || strchr("*+-.", *f->at) != NULL) {
            take_word(f, t);
        } else {
            t->kind = TOKEN_SIGN;
            t->sign = *f->at++;
        }
        t->len = (size_t)(f->at - t->at);
    }
}

static bool is_sign(const struct reader *r, char sign)
{
    return r->next.kind == TOKEN_SIGN && r->next.sign == sign;
}

/* The next token in a message. */
static const char *shown(const struct reader *r, char buf[SHOWN + 8])
{
    size_t len = r->next.len < SHOWN ? r->next.len : SHOWN;

    if (r->next.kind == TOKEN_END)
        return "the end of the file";
    len = strcspn(r->next.at, "\n") < len ? strcspn(r->next.at, "\n") : len;
    snprintf(buf, SHOWN + 8, "'%.*s%s'", (int)len, r->next.at, len < r->next.len ? "..." : "");
    return buf;
}

/* --- grammar: NAME = VALUE; where a value is a scalar, [ ... ], ( ... ) or { ... } --- */

static void read_settings(struct reader *r, const struct token *open);

static bool is_bool(const struct token *t)
{
    return (t->len == 4 && strncasecmp(t->at, "true", 4) == 0) ||
           (t->len == 5 && strncasecmp(t->at, "false", 5) == 0);
}

static void read_value(struct reader *r, const char *before);

static void read_elements(struct reader *r, char closing)
{
    struct token open = r->next;
    char buf[SHOWN + 8];

    advance(r);
    if (is_sign(r, closing)) {
        advance(r);
        return;
    }
    while (!r->s->wrong) {
        struct token comma;

        read_value(r, "in the list");
        comma = r->next;
        if (is_sign(r, closing)) {
            advance(r);
            return;
        }
        if (!is_sign(r, ',')) {
            mistake(r, r->next.loc, "expected ',' or '%c' before %s, in what '%c' opens in line %u",
                    closing, shown(r, buf), open.sign, open.loc.line);
            return;
        }
        advance(r);
        if (is_sign(r, closing))
            mistake(r, comma.loc, "nothing follows the last ',' before '%c': remove the comma",
                    closing);
    }
}

/* before: what the value follows. */
static void read_value(struct reader *r, const char *before)
{
    struct token open = r->next;
    char buf[SHOWN + 8];

    if (r->next.kind == TOKEN_STRING) {
        while (r->next.kind == TOKEN_STRING) /* neighbours are one text */
            advance(r);
    } else if (r->next.kind == TOKEN_NUMBER || (r->next.kind == TOKEN_NAME && is_bool(&r->next))) {
        advance(r);
    } else if (r->next.kind == TOKEN_NAME) {
        mistake(r, r->next.loc, "expected a value %s, not %s: a text stands in quotes", before,
                shown(r, buf));
    } else if (is_sign(r, '{')) {
        advance(r);
        read_settings(r, &open);
    } else if (is_sign(r, '(') || is_sign(r, '[')) {
        read_elements(r, is_sign(r, '(') ? ')' : ']');
    } else {
        mistake(r, r->next.loc, "expected a value %s, not %s", before, shown(r, buf));
    }
}

static void read_setting(struct reader *r)
{
    char key[SHOWN + 8], buf[SHOWN + 8], before[SHOWN + 32];
    struct loc loc = r->next.loc;

    shown(r, key);
    advance(r);
    if (!is_sign(r, '=') && !is_sign(r, ':')) {
        mistake(r, loc, "expected '=' after %s, not %s", key, shown(r, buf));
        return;
    }
    advance(r);
    snprintf(before, sizeof(before), "after %s =", key);
    read_value(r, before);
    if (!r->s->wrong && (is_sign(r, ';') || is_sign(r, ',')))
        advance(r);
}

/* The settings of a group up to the brace that closes it, or of the file (open: NULL). */
static void read_settings(struct reader *r, const struct token *open)
{
    char buf[SHOWN + 8];

    while (!r->s->wrong && r->next.kind == TOKEN_NAME)
        read_setting(r);
    if (r->s->wrong)
        return;
    if (open != NULL && is_sign(r, '}'))
        advance(r);
    else if (open != NULL)
        mistake(r, r->next.loc, "expected a key or '}' before %s, in what '{' opens in line %u",
                shown(r, buf), open->loc.line);
    else if (r->next.kind != TOKEN_END)
        mistake(r, r->next.loc, "expected a key before %s", shown(r, buf));
}

int syntax_read(struct loader *l, const char *path, struct syntax *s)
{
    struct reader r = {.l = l, .top = path, .s = s};

    *s = (struct syntax){.wrong = false};
    enter(&r, path, (struct loc){path, 0}, NULL);
    if (r.rc == 0) {
        advance(&r);
        read_settings(&r, NULL);
        while (r.next.kind != TOKEN_END) /* files that are included behind a mistake */
            advance(&r);
    }
    for (size_t i = 0; i < r.n_texts; i++)
        free(r.texts[i]);
    free(r.texts);
    return r.rc;
}
