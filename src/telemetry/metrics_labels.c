/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names that people give to objects, and a search among objects, on the telemetry socket. DPDK's
 * answers hold plain ASCII only, and their strings in lists 128 bytes: so names and what is looked
 * for are percent-encoded (RFC 3986), and an answer is one text.
 */
#include "telemetry/metrics_labels.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#define TEXT_MAX   7000 /* bytes of an answer */
#define FOUND_MAX  500  /* numbers in one */
#define LABEL_MAX  (64 * 4 * 3 + 1)
#define SEARCH_MAX 257

/* Returns the end. to has room for LABEL_MAX bytes. */
static char *encode(const char *label, char *to)
{
    static const char digits[] = "0123456789ABCDEF";
    char *end = to + LABEL_MAX - 3;

    for (; *label != '\0' && to < end; label++) {
        unsigned char c = (unsigned char)*label;

        if (c >= ' ' && c < 0x7f && strchr("%\"\\,", c) == NULL) {
            *to++ = (char)c;
            continue;
        }
        *to++ = '%';
        *to++ = digits[c >> 4];
        *to++ = digits[c & 15];
    }
    *to = '\0';
    return to;
}

static int digit(char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

/* Returns false where a text is not encoded rightly, or too long. */
static bool decode(const char *from, char to[SEARCH_MAX])
{
    size_t n = 0;

    for (; *from != '\0'; from++) {
        char c = *from;

        if (c == '%') {
            if (digit(from[1]) < 0 || digit(from[2]) < 0)
                return false;
            c = (char)(digit(from[1]) << 4 | digit(from[2]));
            from += 2;
        }
        if (c == '\0' || n == SEARCH_MAX - 1)
            return false;
        to[n++] = c;
    }
    to[n] = '\0';
    return n > 0;
}

/* A number at the beginning of parameters; *rest is behind it and a comma. */
static bool take_number(const char *params, unsigned *number, const char **rest)
{
    char *end;
    unsigned long n;

    if (params == NULL || *params < '0' || *params > '9')
        return false;
    n = strtoul(params, &end, 10);
    *number = (unsigned)n;
    *rest = *end == ',' ? end + 1 : end;
    return n <= INT32_MAX && (*end == ',' || *end == '\0');
}

int labels_of(const struct metric_group *g, const char *params, struct rte_tel_data *d)
{
    char text[TEXT_MAX + LABEL_MAX + 1] = "", *end = text;
    unsigned i;

    if (params == NULL)
        return -EINVAL;
    while (take_number(params, &i, &params)) {
        const char *label = i < g->count(g->of) ? g->label(g->of, i) : NULL;

        if (end - text > TEXT_MAX - LABEL_MAX)
            return -EINVAL;
        end = encode(label != NULL ? label : "", end);
        *end++ = '\n';
        *end = '\0';
    }
    return *params == '\0' ? rte_tel_data_string(d, text) : -EINVAL;
}

int labels_all(const struct metric_group *g, const char *params, struct rte_tel_data *d)
{
    char text[TEXT_MAX + LABEL_MAX + 1] = "", *end = text;
    unsigned first = 0, count = g->count(g->of);

    if (params != NULL && *params != '\0' && !take_number(params, &first, &params))
        return -EINVAL;
    for (unsigned i = first; i < count && end - text < TEXT_MAX - LABEL_MAX; i++) {
        const char *label = g->label(g->of, i);

        if (label == NULL)
            continue;
        end = encode(label, end + sprintf(end, "%u,", i));
        *end++ = '\n';
        *end = '\0';
    }
    return rte_tel_data_string(d, text);
}

int labels_find(const struct metric_group *g, const char *params, struct rte_tel_data *d)
{
    char sought[SEARCH_MAX], text[TEXT_MAX + 16];
    unsigned at = 0, first, number[FOUND_MAX], n, next;

    if (!take_number(params, &first, &params) || !decode(params, sought))
        return -EINVAL;
    next = g->search(g->of, sought, first, number, FOUND_MAX, &n);
    if (next < g->count(g->of))
        at += (unsigned)sprintf(text + at, "%u", next);
    at += (unsigned)sprintf(text + at, "\n");
    for (unsigned i = 0; i < n; i++)
        at += (unsigned)sprintf(text + at, "%s%u", i > 0 ? "," : "", number[i]);
    return rte_tel_data_string(d, text);
}
