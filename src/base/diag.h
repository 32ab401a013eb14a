/* SPDX-License-Identifier: BSD-3-Clause */
/* Diagnostics: the errors and warnings of a configuration, each with file and line. They are
 * collected and then printed together, so that a user sees all of them in one run. */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** A place in a file; line 0: the whole file. A diagnostic keeps its own copy of the name. */
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

/** Add an error about a place in a file. Without memory the program aborts. */
void diag_error(struct diags *d, struct loc loc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** Add a warning in the same way. */
void diag_warning(struct diags *d, struct loc loc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** Print all as "file:line: error: text", sorted by file and line; those of one line in the order
 * in which they were added. */
void diag_print(struct diags *d, FILE *to);

/** Release all diagnostics; the list is empty then. */
void diag_free(struct diags *d);

/**
 * Find the candidate that a misspelt word was most likely meant to be. Returns NULL where none is
 * near: the edit distance may be a third of the word's length, but at least 1 and at most 3.
 */
const char *nearest_name(const char *word, const char *const *candidates, size_t n);

#endif
