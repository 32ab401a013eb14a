/* SPDX-License-Identifier: BSD-3-Clause */
/* Where captures are written: plain files in one folder, that only their owner may read. */
#ifndef CAPTURE_FILE_H
#define CAPTURE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Make a file of mode 0600 in a folder. name: without a slash, or an absolute path that leads to
 * this folder. What is there already is replaced only if replace is set and it is a plain file; no
 * link is followed. Returns its descriptor, or -errno with what is wrong in why.
 */
int capture_file_create(int folder, const char *name, bool replace, char *why, size_t size);

/** The part of a path behind the last slash. */
const char *capture_file_name(const char *path);

#endif
