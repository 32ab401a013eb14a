/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/queues/virtio.h"

#include <stdio.h>
#include <string.h>

#define KEPT 64   /* sent mbufs that a transmit queue may keep: a burst */
#define RING 1024 /* entries of the longest transmit ring that QEMU makes */

bool virtio_is_user(const char *device)
{
    return strncmp(device, "net_virtio_user", 15) == 0;
}

char *virtio_device(const char *device)
{
    bool ask = virtio_is_user(device) && strstr(device, ",packed_vq=") == NULL;
    char *out;

    return asprintf(&out, "%s%s", device, ask ? ",packed_vq=1" : "") < 0 ? NULL : out;
}

/*
 * The driver gives mbufs of a split ring back to their pool when all but tx_free_thresh entries
 * hold some that the peer has read, by default all but 32. A thousand at a time overflow the core's
 * cache, so that every mbuf of the pool comes round, and has left the CPU's caches by then. The
 * ring's length is the peer's, and the driver refuses a threshold beyond it and tells nobody else.
 * Of a packed ring the driver gives back only what it needs room for.
 */
int virtio_open_tx(uint16_t port, uint16_t queue, uint16_t desc, unsigned socket,
                   struct rte_eth_txconf *conf)
{
    for (unsigned entries = RTE_MAX(desc, RING); entries > KEPT; entries /= 2) {
        conf->tx_free_thresh = (uint16_t)(entries - KEPT);
        if (rte_eth_tx_queue_setup(port, queue, desc, socket, conf) == 0)
            return 0;
    }
    conf->tx_free_thresh = 0; /* what the driver takes for a ring of this length */
    return rte_eth_tx_queue_setup(port, queue, desc, socket, conf);
}
