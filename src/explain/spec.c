/* SPDX-License-Identifier: BSD-3-Clause */
#include "explain/spec.h"

#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "explain/spec_impl.h"

#define ARROW_UTF8 "\xe2\x86\x92"

int spec_wrong(struct reader *r, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(r->err, r->err_len, fmt, args);
    va_end(args);
    return -EINVAL;
}

const char *spec_peek(struct reader *r)
{
    r->rest += strspn(r->rest, " ");
    return r->rest;
}

size_t spec_word_len(const char *text)
{
    return strcspn(text, " ");
}

const char *spec_next(struct reader *r)
{
    char *word = r->rest + strspn(r->rest, " ");

    r->rest = word + spec_word_len(word);
    if (*r->rest != '\0')
        *r->rest++ = '\0';
    return word;
}

int spec_take_number(struct reader *r, const char *what, uint64_t last, uint64_t *out)
{
    const char *word = spec_next(r);

    if (parse_count(word, out) != 0 || *out > last)
        return spec_wrong(r, "%s '%.40s': expected 0 to %llu", what, word,
                          (unsigned long long)last);
    return 0;
}

int spec_take_arrow(struct reader *r, const char *before)
{
    const char *word = spec_next(r);

    return strcmp(word, "->") == 0 ? 0
                                   : spec_wrong(r, "'%.40s' after %s: expected ->", word, before);
}

static int take_address(struct reader *r, const char *what, uint32_t *out)
{
    const char *word = spec_next(r);

    return parse_ipv4(word, out) == 0
               ? 0
               : spec_wrong(r, "%s '%.40s': expected an IPv4 address", what, word);
}

int spec_take_pair(struct reader *r, uint32_t *source, uint32_t *destination)
{
    int rc = take_address(r, "source", source);

    if (rc == 0)
        rc = spec_take_arrow(r, "the source address");
    return rc == 0 ? take_address(r, "destination", destination) : rc;
}

bool spec_number_next(struct reader *r)
{
    const char *word = spec_peek(r);

    return isdigit((unsigned char)*word) && memchr(word, '.', spec_word_len(word)) == NULL;
}

/* "128.256": one dot. */
static bool looks_like_tags(const char *word)
{
    const char *dot = strchr(word, '.');

    return isdigit((unsigned char)*word) && dot != NULL && strchr(dot + 1, '.') == NULL;
}

static int take_tags(struct reader *r)
{
    struct frame_spec *s = r->s;
    const char *word = spec_next(r);
    unsigned svlan, cvlan;
    char end;

    if (sscanf(word, "%5u.%5u%c", &svlan, &cvlan, &end) != 2 || svlan > 4095 || cvlan > 4095)
        return spec_wrong(r, "'%.40s': expected SVLAN.CVLAN, each up to 4095", word);
    s->tagged = true;
    s->svlan = (uint16_t)svlan;
    s->cvlan = (uint16_t)cvlan;
    return 0;
}

/* One clause of the description. */
static int take_clause(struct reader *r)
{
    const char *text = spec_peek(r);
    char word[64];

    snprintf(word, sizeof(word), "%.*s", (int)spec_word_len(text), text);
    if (looks_like_tags(word))
        return take_tags(r);
    if (isdigit((unsigned char)*word)) {
        r->s->has_addresses = true;
        return spec_take_pair(r, &r->s->source, &r->s->destination);
    }
    spec_next(r);
    return spec_take_keyword(r, word);
}

/* What does not go together. */
static int check(struct reader *r)
{
    const struct frame_spec *s = r->s;

    if (s->kind == SPEC_BYTES)
        return 0;
    if (!s->has_addresses)
        return spec_wrong(r, "expected SOURCE -> DESTINATION, as in 10.0.0.1 -> 8.8.8.8, or hex "
                             "BYTES");
    if (s->kind != SPEC_IPV4 && (s->has_gre || s->n_labels > 0))
        return spec_wrong(r, "ARP has no labels and no tunnel");
    if (s->has_tunnel && !s->has_gre)
        return spec_wrong(r, "tunnel without gre: expected gre, and its key if it has one");
    return 0;
}

/* Blanks instead of other white space, and around arrows; both arrows are the same. text has room
 * for three times the bytes. */
static void normalise(const char *from, char *text)
{
    for (; *from != '\0'; from++) {
        bool utf8 = strncmp(from, ARROW_UTF8, strlen(ARROW_UTF8)) == 0;

        if (utf8 || strncmp(from, "->", 2) == 0) {
            memcpy(text, " -> ", 4);
            text += 4;
            from += utf8 ? 2 : 1;
        } else {
            *text++ = isspace((unsigned char)*from) ? ' ' : *from;
        }
    }
    *text = '\0';
}

int spec_parse(const char *text, struct frame_spec *s, char *err, size_t len)
{
    struct reader r = {.s = s, .err = err, .err_len = len};
    const char *port;
    char *copy;
    int rc = 0;

    *s = (struct frame_spec){.ttl = 64,
                             .label_ttl = 64,
                             .protocol = IPPROTO_UDP,
                             .source_port = 40000,
                             .destination_port = 40001};
    if (strlen(text) > SPEC_MAX_TEXT)
        return spec_wrong(&r, "the description is longer than %d characters", SPEC_MAX_TEXT);
    copy = malloc(3 * strlen(text) + 1);
    if (copy == NULL)
        return spec_wrong(&r, "no memory");
    normalise(text, copy);
    r.rest = copy;
    port = spec_next(&r);
    if (*port == '\0' || strlen(port) >= sizeof(s->port))
        rc = spec_wrong(&r, "expected PORT first, and then what the frame is");
    else
        memcpy(s->port, port, strlen(port) + 1);
    while (rc == 0 && *spec_peek(&r) != '\0')
        rc = take_clause(&r);
    if (rc == 0)
        rc = check(&r);
    free(copy);
    return rc;
}
