/* SPDX-License-Identifier: BSD-3-Clause */
/* Text for people, in UTF-8 (RFC 3629): what may stand in a name, and what a terminal may be sent.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Is this a name for people: 1 to max characters of UTF-8 that all can be seen, without a space at
 * either end? Characters that end a line, control a terminal, reorder the text around them or take
 * no room are refused, so that a name looks the same wherever it is shown. The joiners U+200C and
 * U+200D, which some scripts need, may stand in it.
 */
bool utf8_is_label(const char *text, size_t max);

/** Replace what utf8_is_label() would refuse of a text by '?', byte by byte. */
void utf8_make_safe(char *text);

/** Does a text contain a word, letters of ASCII in either case? An empty word is in every text. */
bool utf8_contains(const char *text, const char *word);

#endif
