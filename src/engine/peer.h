/* SPDX-License-Identifier: BSD-3-Clause */
/* The other end of a port that is a socket: vhost-user and memif. */
#ifndef ENGINE_PEER_H
#define ENGINE_PEER_H

#include <stdbool.h>

#define PEER_PATH_MAX 108 /* of a socket's address, with its end */

/** How a connection comes back after the peer has gone. */
enum peer_return {
    PEER_NONE,    /* the port is no socket */
    PEER_ITSELF,  /* the driver sees to it: we are the server, or it is net_vhost */
    PEER_RESTART, /* net_memif as client connects when it is started, and only then */
    PEER_REOPEN,  /* net_virtio_user as client connects when it is made, and only then */
};

struct peer {
    enum peer_return comes_back;
    char path[PEER_PATH_MAX]; /* of net_virtio_user's socket */
};

/** What a DPDK device string says about its socket. */
void peer_read(const char *device, struct peer *out);

/** Where net_virtio_user is to make a socket: take away one that a process has left which is no
 * more, as the driver does not. One at which somebody listens stays. */
void peer_clear(const struct peer *peer);

/**
 * Before ports are closed at the end of the process: let no peer do anything any more. net_memif
 * leaves its listener with DPDK's interrupt thread when it frees it, and a peer that comes back at
 * that moment would end the process. So that thread, which has nothing else to do by then, stays
 * where it is, for good. Does nothing for other devices.
 */
void peer_keep_still(const char *device);

#endif
