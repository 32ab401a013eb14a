/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are read: plain ones only. */
#ifndef BASE_INPUT_H
#define BASE_INPUT_H

#include <stdio.h>

/**
 * Open a plain file for reading. A request may name any file, and a FIFO, a socket or a terminal
 * could block the reader for ever. Returns NULL with the reason in *why, a text that stays.
 */
FILE *input_open(const char *path, const char **why);

#endif
