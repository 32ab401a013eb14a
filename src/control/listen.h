/* SPDX-License-Identifier: BSD-3-Clause */
/* The socket that listens, and its path. */
#ifndef CONTROL_LISTEN_H
#define CONTROL_LISTEN_H

#include <sys/stat.h>
#include <sys/un.h>

struct listener {
    int fd;
    struct sockaddr_un address;
    dev_t dev; /* of the path that we made, so that nobody else's is removed */
    ino_t ino;
};

/** See server_open(). Returns 0 or -errno with the reason on stderr. */
int listener_open(struct listener *l, const char *path);

void listener_close(struct listener *l);

#endif
