/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control socket: a Unix stream socket with requests and answers of one line each, served by
 * the main thread. At most one answer waits for a client, and until the client has taken it nothing
 * more of what it sends is read. So a slow or silent client costs a bounded amount of memory, and
 * no time.
 */
#ifndef CONTROL_SERVER_H
#define CONTROL_SERVER_H

#include "control/control.h"
#include "control/socket/listener.h"

struct server;

/**
 * Listen on a path. A socket that a vbng has left there which runs no more is replaced; anything
 * else that is there is an error. Returns NULL with the reason on stderr.
 */
struct server *server_open(const char *path, const struct access *access);

/** Wait up to timeout_ns, less than a second, for requests and answer them, at most one of each
 * client. May return early. */
void server_poll(struct server *s, struct control *c, long timeout_ns);

/** Close all connections, and remove the path if it is still this server's. */
void server_close(struct server *s);

#endif
