/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ring.h>

#include "base/log.h"

#define WIRE_PREFIX "wire:"

bool wire_is(const struct cfg_port *cfg)
{
    return strncmp(cfg->device, WIRE_PREFIX, strlen(WIRE_PREFIX)) == 0;
}

/* The other end of a wire. */
static unsigned wire_peer(const struct plan *p, unsigned i)
{
    for (unsigned k = 0; k < p->cfg->n_ports; k++)
        if (k != i && strcmp(p->cfg->ports[k].device, p->cfg->ports[i].device) == 0)
            return k;
    return i;
}

/* The ring that carries packets to one end of a wire; whichever end opens first makes it. */
static struct rte_ring *wire_ring(const struct plan *p, unsigned to)
{
    const struct cfg_port *cfg = &p->cfg->ports[to];
    unsigned flags = RING_F_SC_DEQ;
    char name[RTE_RING_NAMESIZE];
    struct rte_ring *r;

    snprintf(name, sizeof(name), "wire_%u", to);
    r = rte_ring_lookup(name);
    if (r != NULL)
        return r;
    if (p->tx_queues[wire_peer(p, to)] <= 1)
        flags |= RING_F_SP_ENQ;
    return rte_ring_create(name, cfg->rx_desc, SOCKET_ID_ANY, flags);
}

int wire_open(struct port *port, const struct plan *p, unsigned i)
{
    struct rte_ring *rx, *tx[RTE_MAX_QUEUES_PER_PORT];
    unsigned n_tx = p->tx_queues[i] > 0 ? p->tx_queues[i] : 1;
    char name[32];
    int id;

    rx = wire_ring(p, i);
    tx[0] = wire_ring(p, wire_peer(p, i));
    if (rx == NULL || tx[0] == NULL) {
        log_error("port %s: no memory for its wire", port->cfg->name);
        return -ENOMEM;
    }
    for (unsigned q = 1; q < n_tx; q++)
        tx[q] = tx[0];
    snprintf(name, sizeof(name), "wire%u", i);
    id = rte_eth_from_rings(name, &rx, 1, tx, n_tx, 0);
    if (id < 0) {
        log_error("port %s: DPDK refuses the wire: %s", port->cfg->name, rte_strerror(rte_errno));
        return -rte_errno;
    }
    port->wire_rx = rx;
    port->dpdk_id = (uint16_t)id;
    return 0;
}
