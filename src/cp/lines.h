/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection to a Unix stream socket on which JSON goes out and comes in, a document a line. */
#ifndef CP_LINES_H
#define CP_LINES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cp/loop.h"

struct lines;

/** Without a connection at first. take: each line that comes, n bytes without its end; lost: the
 * connection has ended, and there is none now. Returns NULL without memory. */
struct lines *lines_open(struct loop *loop, void (*take)(void *ctx, const char *line, size_t n),
                         void (*lost)(void *ctx), void *ctx);
void lines_free(struct lines *l);

/** Connect. Returns whether somebody listens at path. */
bool lines_connect(struct lines *l, const char *path);

/** Send a document, when the other side takes it. */
void lines_send(struct lines *l, const json_t *document);

/** End the connection, before the next turn; lost() is called then. */
void lines_close(struct lines *l);

#endif
