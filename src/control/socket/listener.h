/* SPDX-License-Identifier: BSD-3-Clause */
/* A Unix socket that listens on a path, and who may use it. */
#ifndef CONTROL_SOCKET_LISTENER_H
#define CONTROL_SOCKET_LISTENER_H

#include <sys/types.h>
#include <sys/un.h>

/** Who may use the socket: who may write to its path. */
struct access {
    unsigned mode;     /* of owner and group, 0600 to 0770; 0: 0600, or 0660 with a group */
    const char *group; /* name or number; NULL: that of the process */
};

/** Parse a mode in octal, such as "0660", with nothing for others. Returns 0 or -EINVAL. */
int parse_access_mode(const char *text, unsigned *mode);

/** A socket that listens. */
struct listener {
    int fd;
    struct sockaddr_un address;
    dev_t dev; /* of the path that this vbng has made, so that it removes no other */
    ino_t ino;
};

/**
 * Listen on a path, with a socket of a type (SOCK_STREAM, SOCK_SEQPACKET) that does not block.
 * what: the option that says the path, for messages. A socket that a vbng has left there which runs
 * no more is replaced; anything else that is there is an error. Returns 0, or -errno with the
 * reason on stderr.
 */
int listener_open(struct listener *l, const char *what, const char *path, int type,
                  const struct access *access);

/** Listen no more, and remove the path if it is still this listener's. */
void listener_close(struct listener *l);

#endif
