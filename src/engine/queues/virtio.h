/* SPDX-License-Identifier: BSD-3-Clause */
/* What virtio's drivers are asked for, so that a switch in shared memory costs a core less. */
#ifndef ENGINE_VIRTIO_H
#define ENGINE_VIRTIO_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

/** Is it a device string of net_virtio_user? */
bool virtio_is_user(const char *device);

/**
 * The device string for DPDK of a port's device. net_virtio_user is asked for packed rings
 * (VIRTIO 1.1, section 2.7) unless the string has packed_vq itself: a packet takes one descriptor
 * that both ends write, where split rings have three places. A peer that offers no packed rings is
 * served by split ones. Returns a copy for the caller to free(); NULL without memory.
 */
char *virtio_device(const char *device);

/** Set a transmit queue up: rte_eth_tx_queue_setup() with a threshold at which mbufs that the peer
 * has read go back to their pool. Returns 0 or -errno. */
int virtio_open_tx(uint16_t port, uint16_t queue, uint16_t desc, unsigned socket,
                   struct rte_eth_txconf *conf);

#endif
