/* SPDX-License-Identifier: BSD-3-Clause */
/* Diagnostics: every error of a configuration is collected with file and line, then printed at
 * once. */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** Where something stands in a file; line 0: the whole file. A diagnostic keeps its own copy of the
 * name. */
struct loc {
    const char *file;
    unsigned line;
};

enum diag_level { DIAG_WARNING, DIAG_ERROR };

struct diag {
    enum diag_level level;
    struct loc loc;
    char *text;
};

/** A growing list of diagnostics. Zero-initialise it; release it with diag_free(). */
struct diags {
    struct diag *list;
    size_t n;
    size_t n_errors;
};

/** Add an error (or a warning) about a place in a file. Never fails: without memory it aborts. */
void diag_error(struct diags *d, struct loc loc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void diag_warning(struct diags *d, struct loc loc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** Print all as "file:line: error: text", sorted by file and line, in the order of adding within a
 * line. */
void diag_print(struct diags *d, FILE *to);

void diag_free(struct diags *d);

/**
 * The candidate that a misspelt word was most likely meant to be.
 * Returns NULL when none is near (edit distance above a third of the word, at least 1, at most 3).
 */
const char *nearest_name(const char *word, const char *const *candidates, size_t n);

#endif
