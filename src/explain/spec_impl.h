/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the description's parser: spec.c, the text and its clauses; spec_words.c, the
 * keywords. */
#ifndef EXPLAIN_SPEC_IMPL_H
#define EXPLAIN_SPEC_IMPL_H

#include "explain/spec.h"

/** The text, word by word: single blanks or more between them. */
struct reader {
    char *rest;
    struct frame_spec *s;
    char *err;
    size_t err_len;
};

/** Writes the reason. Returns -EINVAL. */
int spec_wrong(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** The rest of the text from the next word on, "" at the end. */
const char *spec_peek(struct reader *r);

/** Length of the word at the beginning of a text. */
size_t spec_word_len(const char *text);

/** Takes the next word off, "" at the end. */
const char *spec_next(struct reader *r);

/* Each takes words off. Returns 0 or -EINVAL with the reason. */
int spec_take_number(struct reader *r, const char *what, uint64_t last, uint64_t *out);
int spec_take_arrow(struct reader *r, const char *before);
/** SOURCE -> DESTINATION */
int spec_take_pair(struct reader *r, uint32_t *source, uint32_t *destination);

/** Does a number come next, and no address? */
bool spec_number_next(struct reader *r);

/** A keyword and what belongs to it. */
int spec_take_keyword(struct reader *r, const char *word);

#endif
