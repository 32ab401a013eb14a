/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port: a DPDK device, named by its PCI address or a vdev string, or one end of an in-memory wire
 * ("wire:NAME"), which joins two ports of the configuration by two rings. All functions belong to
 * the main thread; the cores use dpdk_id and nothing else.
 */
#ifndef ENGINE_PORT_H
#define ENGINE_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_mempool.h>

#include "engine/link_state.h"
#include "engine/receive/overflow.h"
#include "engine/receive/receive.h"
#include "plan/plan.h"

/** Counters of the device itself. Bytes are without FCS. */
struct port_counters {
    uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
    uint64_t rx_missed, rx_errors, rx_no_mbuf, tx_errors;
};

struct port {
    const struct cfg_port *cfg;
    uint16_t dpdk_id; /* DPDK's port number */
    bool up;          /* probed and started */
    bool is_wire;
    bool is_virtual;    /* a wire or a vdev: counts a packet as received when a core polls it, not
                           when it arrives */
    uint32_t tx_room;   /* packets that a NIC's transmit descriptors hold; 0 where it is_virtual */
    bool keeps_buffers; /* net_af_xdp: closing does not return the mbufs of its fill ring */
    struct rte_ether_addr mac;
    int socket;      /* of a NIC that says one; else SOCKET_ID_ANY */
    unsigned resets; /* times that the device reset its counters, as net_memif does on disconnect */
    uint64_t seen_rx, seen_tx; /* rx_packets and tx_packets at the last port_watch() */
    const char *no_fast_free;  /* why the device does not put back mbufs without a look at each, of
                                  queues where plan_fast_free() lets it; NULL: it does */
    struct receive_rss rss;
    struct receive_rules rules;
    struct overflow *overflow; /* of net_af_packet; else NULL */
    struct rte_ring *wire_rx;  /* of a wire: packets on their way to this end; else NULL */

    /* link state of a port whose device is a socket, see link_state.h */
    struct peer peer;
    bool peer_gone;               /* the peer has disconnected */
    bool detached;                /* peer_gone, and no core uses the port any more */
    unsigned retry_in;            /* calls of link_state_watch() until the next try to connect */
    bool is_tried;                /* the last try has found a peer who took the connection */
    unsigned refused_now;         /* connections that the peer has ended since he was here */
    uint64_t refused;             /* ever; read by other threads */
    struct port_counters earlier; /* sums of the devices that port_reconnect() has replaced */
};

/**
 * Bring up port number i of the plan with the queues that the plan gives it, receiving into pools,
 * which are parallel to the plan's. Returns 0 or -errno; the reason and what to do are on stderr.
 */
int port_open(struct port *port, const struct plan *p, unsigned i,
              struct rte_mempool *const *pools);

/**
 * Connect a client whose peer has gone. No core may use the port meanwhile. A device that has to be
 * made again may get another dpdk_id. Returns 0, or -errno: the port is down until the next try.
 */
int port_reconnect(struct port *port, const struct plan *p, unsigned i,
                   struct rte_mempool *const *pools);

/** Count a reset of the device's counters in port->resets. To be called every 20 ms or so. */
void port_watch(struct port *port);

/** Read the device's counters, with those of the devices that it has replaced. */
void port_read(const struct port *port, struct port_counters *out);

/** Does the device report no counters, or only some, at present? net_memif does so while its peer
 * is disconnected. To be asked after port_read(), whose result is not valid then. */
bool port_hides_counters(const struct port *port);

/** Is the port open, and its link up? */
bool port_link_up(const struct port *port);

/** Stop and release the device. Does nothing where the port is not open. */
void port_close(struct port *port);

#endif
