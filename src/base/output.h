/* SPDX-License-Identifier: BSD-3-Clause */
/* A file that an option such as --report or --sample names, and that is written anew. */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

#include <stdio.h>

/** Open a file for writing, and empty it. In a folder that other users may write to (/tmp) it must
 * be new, or a plain file with one name or a FIFO of the caller's own, or a plain file of the
 * folder's owner: a symbolic link there may be somebody's trap. Elsewhere it may be anything
 * (/dev/stdout). Returns NULL with errno and with the reason on stderr. */
FILE *output_open(const char *path);

#endif
