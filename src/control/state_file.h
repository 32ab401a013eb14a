/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of JSON that is there whole or not at all, whatever happens while it is written; a
 * checksum says whether it is. */
#ifndef CONTROL_STATE_FILE_H
#define CONTROL_STATE_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/** What the last key of a content, "sum", is before state_text(). */
#define STATE_NO_SUM "0000000000000000"

/** FNV-1a. */
uint64_t state_sum(const char *text, size_t len);

/** The text of a content, *len bytes with its sum: that of the text with STATE_NO_SUM. To be freed;
 * NULL without memory. */
char *state_text(const json_t *content, size_t *len);

/** Is this what state_text() has made of some content? text is overwritten. */
bool state_is_whole(char *text, size_t len);

/** Write text to path, by way of path with ".tmp" behind it. Returns 0 or -errno. */
int state_write_file(const char *path, const char *text, size_t len);

/** Returns 0 with the text (to be freed, a '\0' behind it) or -errno: -ELOOP for a symbolic link,
 * -EPERM for a file of another user but root, or that others may write to. */
int state_read_file(const char *path, char **text, size_t *len);

#endif
