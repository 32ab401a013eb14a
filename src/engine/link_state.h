/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Link state of ports whose device is a socket (vhost-user, virtio-user, memif): the peer is
 * another process, which may disconnect and connect again while the gateway runs. All functions
 * belong to the main thread.
 */
#ifndef ENGINE_LINK_STATE_H
#define ENGINE_LINK_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct rte_rcu_qsbr;

#define PEER_PATH_MAX 108 /* of a socket's address, with its end */

/** What connects a device again after its peer has gone. */
enum peer_reconnect {
    PEER_NONE,      /* nothing: the device is no socket */
    PEER_BY_DRIVER, /* the driver itself: the device is the server, or net_vhost */
    PEER_RESTART,   /* rte_eth_dev_start(): net_memif as a client */
    PEER_REOPEN,    /* making the device again: net_virtio_user as a client */
};

struct peer {
    enum peer_reconnect reconnect;
    char path[PEER_PATH_MAX]; /* of net_virtio_user's socket; "" for other devices */
};

/** Read what a DPDK device string says about its socket. */
void peer_read(const char *device, struct peer *out);

/** Remove the socket that a dead process has left where net_virtio_user, as a server, will make its
 * own: the driver does not. A socket on which somebody listens, another user's socket, and any
 * other file stay. */
void peer_clear(const struct peer *peer);

/**
 * Park DPDK's interrupt thread for good, if the device is a net_memif; before ports are closed at
 * the end of the process. net_memif frees its listener but leaves it registered with that thread,
 * and a peer that connects at that moment would crash the process. The thread has no other work by
 * then.
 */
void peer_park_interrupts(const char *device);

/**
 * Stop a net_memif that is a client; port: its number in DPDK. That is done on DPDK's interrupt
 * thread, which may be in the midst of a message of the server: stopping takes away what the driver
 * uses there. Returns 0 or -ENOMEM.
 */
int peer_stop(uint16_t port);

/**
 * From now on DPDK's interrupt thread unmaps memory only when each core has begun a new round
 * since; cores: where they report their quiescent states. NULL: it need not wait any more.
 * net_memif unmaps the rings of a peer that goes on that thread, while a core may be in the midst
 * of them; it marks the port as disconnected before, so that nobody enters them anew.
 */
void peer_guard_memory(struct rte_rcu_qsbr *cores);

/**
 * Check the link of port number i. When its peer has gone, the cores stop using the port: packets
 * to it are dropped as link_full, and no input waits for it. When the peer listens again, a client
 * is connected, and the cores use the port again. To be called every 20 ms or so between
 * engine_start() and engine_stop().
 */
void link_state_watch(struct engine *e, unsigned i);

#endif
