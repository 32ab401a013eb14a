/* SPDX-License-Identifier: BSD-3-Clause */
/* The socket that listens, and its path. */
#ifndef CONTROL_LISTEN_H
#define CONTROL_LISTEN_H

#include <sys/stat.h>
#include <sys/un.h>

/** Who may use the socket: who may write to its path. */
struct access {
    unsigned mode;     /* of owner and group, 0600 to 0770; 0: 0600, or 0660 with a group */
    const char *group; /* name or number; NULL: as it comes */
};

/** "0660": in octal, nothing for others. Returns 0 or -EINVAL. */
int parse_access_mode(const char *text, unsigned *mode);

struct listener {
    int fd;
    struct sockaddr_un address;
    dev_t dev; /* of the path that we made, so that nobody else's is removed */
    ino_t ino;
};

/** See server_open(). Returns 0 or -errno with the reason on stderr. */
int listener_open(struct listener *l, const char *path, const struct access *access);

void listener_close(struct listener *l);

#endif
