/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports: DPDK devices by PCI address or vdev string, and in-memory wires between two ports of the
 * configuration. */
#ifndef ENGINE_PORT_H
#define ENGINE_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_mempool.h>

#include "config/plan.h"
#include "engine/peer.h"

/** What the device itself has counted. */
struct port_counters {
    uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
    uint64_t rx_missed, rx_errors, rx_no_mbuf, tx_errors;
};

struct port {
    const struct cfg_port *cfg;
    uint16_t dpdk_id; /* DPDK's port number */
    bool up;          /* probed and started */
    bool is_wire;
    bool is_virtual;    /* a wire or a vdev: it counts a packet as received when it is polled, not
                           before */
    bool keeps_buffers; /* net_af_xdp does not give back those of its fill ring when it is closed */
    struct rte_ether_addr mac;
    int socket;
    unsigned
        resets; /* times that the device forgot its counters: net_memif does when its peer leaves */
    uint64_t seen_rx, seen_tx; /* its counters when last watched */
    struct rte_ring *wire_rx;  /* of a wire: what is on its way to this end */

    /* of the main thread, see away.h */
    struct peer peer;
    bool away;                   /* the peer has gone */
    bool left;                   /* and all cores leave the port alone */
    unsigned patience;           /* looks to wait until the next try to connect */
    struct port_counters before; /* what the device had counted each time that it was made anew */
};

/**
 * Bring up port number i of the plan with the queues that the plan gives it, receiving into pool.
 * Returns 0 or -errno; the reason and what to do are on stderr.
 */
int port_open(struct port *port, const struct plan *p, unsigned i, struct rte_mempool *pool);

/** NUMA socket of a device before it is opened, or 0 where it has none. */
int port_socket(const struct cfg_port *cfg);

/**
 * Of a client whose peer listens again: connect. No core may use the port. A device that must be
 * made anew may get another number of DPDK's. Returns 0 or -errno: then the port is down until the
 * next try.
 */
int port_reconnect(struct port *port, const struct plan *p, unsigned i, struct rte_mempool *pool);

/** Notice a device that has set its counters back. To be called now and then by the main thread. */
void port_watch(struct port *port);

void port_read(const struct port *port, struct port_counters *out);

/** Does the device show zeros at present, or parts, in place of what it has counted? net_memif does
 * while its peer is away. To be asked after port_read(), whose answer is then worth nothing. */
bool port_hides_counters(const struct port *port);

bool port_link_up(const struct port *port);

/** Stop and release the device. */
void port_close(struct port *port);

#endif
