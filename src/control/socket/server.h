/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A control socket: a Unix stream socket with requests and answers of one line each, served by one
 * thread. At most the answers of one turn wait for a client, and no further request of the client
 * is read until the client has received them. So a slow or silent client costs a bounded amount of
 * memory, and no time.
 */
#ifndef CONTROL_SOCKET_SERVER_H
#define CONTROL_SOCKET_SERVER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "control/socket/listener.h"

#define SERVER_FDS 33 /* descriptors that a server waits for, at most */

struct server;

/** A request of a client. */
struct server_request {
    const char *text; /* a line of len bytes, without its end */
    size_t len;
    int client;  /* its connection */
    bool behind; /* answers to earlier requests have not been sent yet */
    /* set by who answers: */
    bool again; /* of one that is behind: it must come again when they have */
    bool taken; /* the connection is now his own */
};

/** Who answers requests. */
struct answerer {
    /** Returns a line with its end, to be freed, or NULL without memory. */
    char *(*answer)(void *ctx, struct server_request *request);
    void *ctx;
};

/**
 * Listen on a path. A socket that a vbng has left there which runs no more is replaced; anything
 * else that is there is an error. Returns NULL with the reason on stderr.
 */
struct server *server_open(const char *path, const struct access *access);

/** Wait up to timeout_ns, less than a second, for requests and answer them, of each client a few.
 * May return early. */
void server_poll(struct server *s, const struct answerer *v, long timeout_ns);

/** The two halves of server_poll(), for who waits for other descriptors, too. The first fills p
 * with all SERVER_FDS that are to be waited for, some of them -1, and returns whether a request has
 * come already, so that nobody shall wait. */
bool server_prepare(const struct server *s, struct pollfd p[SERVER_FDS]);
void server_serve(struct server *s, const struct answerer *v, const struct pollfd p[SERVER_FDS]);

/** Close all connections, and remove the path if it is still this server's. */
void server_close(struct server *s);

#endif
