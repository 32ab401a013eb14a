/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of a configuration and of all files that it includes, read before libconfig reads it:
 * whether each is a plain file, and what a syntax error is about, of which libconfig says the line
 * where it noticed, and nothing else.
 */
#ifndef CONFIG_SYNTAX_H
#define CONFIG_SYNTAX_H

#include "config/read.h"

/** What is wrong with a text. */
struct syntax {
    bool wrong;
    struct loc loc;
    char text[192];
};

/**
 * Read the file at path and what it includes. Reports each file that cannot be read. Returns 0, or
 * -EINVAL after an error; in both cases s has the first mistake of the text.
 */
int syntax_read(struct loader *l, const char *path, struct syntax *s);

#endif
