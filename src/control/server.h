/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control socket: a Unix stream socket, requests and answers one line each, served
 * by the main thread. A client has at most one answer waiting: until it has taken that, nothing
 * more of what it sends is read. So a slow or silent client costs a bounded amount of memory, and
 * no time.
 */
#ifndef CONTROL_SERVER_H
#define CONTROL_SERVER_H

#include "control/control.h"

#define SERVER_MAX_CLIENTS 32
#define SERVER_MAX_REQUEST (1 << 20) /* bytes of a line */

struct access; /* control/listen.h */
struct server;

/**
 * Listen on a path. One that is left of a vbng that is gone is replaced; anything else that is
 * there is an error. Returns NULL with the reason on stderr.
 */
struct server *server_open(const char *path, const struct access *access);

/** Wait up to timeout_ms for requests and answer them, at most one of each client. May return
 * early. */
void server_poll(struct server *s, struct control *c, int timeout_ms);

/** Close all and remove the path, if it is still ours. */
void server_close(struct server *s);

#endif
