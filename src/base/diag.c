/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/diag.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "base/log.h"

#define WORD_MAX 64 /* names in a configuration are shorter */

/* Abort where an allocation has failed. */
static void *must_have(void *p)
{
    if (p == NULL) {
        log_error("out of memory");
        abort();
    }
    return p;
}

static void add(struct diags *d, enum diag_level level, struct loc loc, const char *fmt,
                va_list args)
{
    char *text = NULL;

    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    must_have(text);
    /* The list doubles whenever its length reaches a power of two. */
    if ((d->n & (d->n - 1)) == 0)
        d->list = must_have(reallocarray(d->list, d->n == 0 ? 1 : d->n * 2, sizeof(*d->list)));
    loc.file = must_have(strdup(loc.file));
    d->list[d->n++] = (struct diag){.level = level, .loc = loc, .text = text};
    d->n_errors += level == DIAG_ERROR;
}

void diag_error(struct diags *d, struct loc loc, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add(d, DIAG_ERROR, loc, fmt, args);
    va_end(args);
}

void diag_warning(struct diags *d, struct loc loc, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add(d, DIAG_WARNING, loc, fmt, args);
    va_end(args);
}

static int by_place(const void *pa, const void *pb)
{
    const struct diag *a = *(const struct diag *const *)pa, *b = *(const struct diag *const *)pb;
    int files = strcmp(a->loc.file, b->loc.file);

    if (files != 0)
        return files;
    if (a->loc.line != b->loc.line)
        return a->loc.line < b->loc.line ? -1 : 1;
    return a < b ? -1 : a > b; /* both are in one array, in the order of adding */
}

void diag_print(struct diags *d, FILE *to)
{
    const struct diag **sorted;

    if (d->n == 0)
        return;
    sorted = must_have(calloc(d->n, sizeof(*sorted)));
    for (size_t i = 0; i < d->n; i++)
        sorted[i] = &d->list[i];
    qsort(sorted, d->n, sizeof(*sorted), by_place);
    for (size_t i = 0; i < d->n; i++) {
        const struct diag *one = sorted[i];

        if (to == stderr)
            fputs(log_priority(one->level == DIAG_ERROR ? LOG_ERR : LOG_WARNING), to);
        fputs(one->loc.file, to);
        if (one->loc.line != 0)
            fprintf(to, ":%u", one->loc.line);
        fprintf(to, ": %s: %s\n", one->level == DIAG_ERROR ? "error" : "warning", one->text);
    }
    free(sorted);
}

void diag_free(struct diags *d)
{
    for (size_t i = 0; i < d->n; i++) {
        free(d->list[i].text);
        free((char *)(uintptr_t)d->list[i].loc.file);
    }
    free(d->list);
    *d = (struct diags){0};
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* The Damerau-Levenshtein distance (optimal string alignment) of two words shorter than WORD_MAX:
 * insertions, deletions, substitutions and swaps of two neighbours cost 1 each. */
static unsigned edit_distance(const char *a, size_t la, const char *b, size_t lb)
{
    uint8_t d[3][WORD_MAX]; /* rows i - 2, i - 1 and i of the matrix, in turn */

    for (size_t j = 0; j <= lb; j++)
        d[0][j] = (uint8_t)j;
    for (size_t i = 1; i <= la; i++) {
        uint8_t *row = d[i % 3], *above = d[(i + 2) % 3], *above2 = d[(i + 1) % 3];

        row[0] = (uint8_t)i;
        for (size_t j = 1; j <= lb; j++) {
            unsigned cost = above[j - 1] + (a[i - 1] != b[j - 1]);

            cost = least(cost, least(above[j], row[j - 1]) + 1u);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost = least(cost, above2[j - 2] + 1u);
            row[j] = (uint8_t)cost;
        }
    }
    return d[la % 3][lb];
}

const char *nearest_name(const char *word, const char *const *candidates, size_t n)
{
    size_t len = strlen(word);
    unsigned best, bound = len < 3 ? 1 : len > 9 ? 3 : (unsigned)(len / 3);
    const char *nearest = NULL;

    if (len >= WORD_MAX)
        return NULL;
    best = bound + 1;
    for (size_t i = 0; i < n; i++) {
        size_t l = strlen(candidates[i]);
        unsigned distance;

        if (l >= WORD_MAX)
            continue;
        distance = edit_distance(word, len, candidates[i], l);
        if (distance < best) {
            best = distance;
            nearest = candidates[i];
        }
    }
    return nearest;
}
