/* SPDX-License-Identifier: BSD-3-Clause */
/* vbng --help WORD: what the schemas of the types of task say, for people. */
#ifndef HELP_H
#define HELP_H

/**
 * Print what a word is: a type of task, a drop reason, or one of "tasks" (all types), "drops" (all
 * reasons) and "json" (all of it for programs). Returns an exit status (options.h): EXIT_USAGE,
 * with the nearest word on stderr, where the word is none of these.
 */
int help_word(const char *word);

#endif
