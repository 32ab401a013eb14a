/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queues of a port's device: how many there are, where their memory lies, which mbufs are
 * received into, and what the device does for those that it sends (offloads). The plan says which
 * core has which queue; the device says what it can.
 */
#ifndef ENGINE_QUEUES_H
#define ENGINE_QUEUES_H

#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "engine/port.h"
#include "plan/plan.h"

/** Queues and descriptors that a device is asked for. */
struct queues {
    uint16_t n_rx, n_tx;
    uint16_t rx_desc, tx_desc;
};

/** What port number i of the plan needs, as far as the device has so many queues. Returns 0, or
 * -ENOTSUP: the reason and the remedy are on stderr. */
int queues_fit(const struct plan *p, unsigned i, const struct rte_eth_dev_info *info,
               struct queues *q);

/** Choose the offloads of transmission that a device knows of the whole port only, and
 * port->no_fast_free. */
uint64_t queues_choose_offloads(struct port *port, const struct plan *p, unsigned i,
                                const struct rte_eth_dev_info *info);

/** Set all queues up, behind rte_eth_dev_configure(). Returns 0 or -errno. */
int queues_open(const struct port *port, const struct plan *p, unsigned i, const struct queues *q,
                const struct rte_eth_dev_info *info, struct rte_mempool *const *pools);

/** Warn of a NIC which a core of another NUMA socket reads. */
void queues_check_sockets(const struct port *port, const struct plan *p, unsigned i);

/** The NUMA socket of the core that reads a queue; SOCKET_ID_ANY: nobody does. */
int queues_reader_socket(const struct plan *p, unsigned i, unsigned queue);

/** Make a ring on a NUMA socket or, where that has no room, on any. Returns NULL without memory. */
struct rte_ring *queues_make_ring(const char *name, unsigned size, int socket, unsigned flags);

#endif
