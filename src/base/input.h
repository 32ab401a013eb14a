/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are read: plain ones only. */
#ifndef BASE_INPUT_H
#define BASE_INPUT_H

#include <stdio.h>

/**
 * Open a plain file for reading. Whoever names the file may be another than who reads it, and a
 * FIFO, a socket or a terminal would let the reader wait for as long as its other end likes.
 * Returns NULL with the reason in *why, a text that stays.
 */
FILE *input_open(const char *path, const char **why);

#endif
