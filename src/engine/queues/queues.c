/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/queues/queues.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/log.h"
#include "engine/eal.h"
#include "engine/queues/virtio.h"

#define FAST_FREE RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE
#define SEGMENTS  RTE_ETH_TX_OFFLOAD_MULTI_SEGS

/* --- how many --- */

/* net_tap refuses unequal numbers of queues. More transmit queues than are used do no harm, nor do
 * receive queues of a port that nobody reads; plan_check_limits() refuses anything else. */
static void pair(uint16_t readers, struct queues *q)
{
    if (readers == 0)
        q->n_rx = q->n_tx;
    q->n_tx = RTE_MAX(q->n_tx, q->n_rx);
}

int queues_fit(const struct plan *p, unsigned i, const struct rte_eth_dev_info *info,
               struct queues *q)
{
    const struct cfg_port *cfg = &p->cfg->ports[i];

    *q = (struct queues){.n_rx = RTE_MAX(p->rx_queues[i], 1),
                         .n_tx = RTE_MAX(p->tx_queues[i], 1),
                         .rx_desc = cfg->rx_desc,
                         .tx_desc = cfg->tx_desc};
    if (strncmp(cfg->device, "net_tap", 7) == 0)
        pair(p->rx_queues[i], q);
    if (q->n_rx > info->max_rx_queues && receive_by_rules(&cfg->receive)) {
        log_error("%s:%u: port %s: it has %u queues here, but the device has %u; nearest: so many, "
                  "or %s",
                  cfg->receive.loc.file, cfg->receive.loc.line, cfg->name, q->n_rx,
                  info->max_rx_queues, receive_remedy(cfg->receive.by));
        return -ENOTSUP;
    }
    if (q->n_rx > info->max_rx_queues) {
        log_error("%s:%u: port %s: %u cores read it, but the device has %u receive queue(s); read "
                  "it on one core and "
                  "spread with a task of type lb",
                  cfg->loc.file, cfg->loc.line, cfg->name, q->n_rx, info->max_rx_queues);
        return -ENOTSUP;
    }
    if (q->n_tx > info->max_tx_queues) {
        log_error("%s:%u: port %s: %u cores send to it, but the device has %u transmit queue(s); "
                  "send by one task of "
                  "type forward",
                  cfg->loc.file, cfg->loc.line, cfg->name, q->n_tx, info->max_tx_queues);
        return -ENOTSUP;
    }
    return 0;
}

/* --- offloads --- */

/* What a transmit queue needs, or may have: packets of several mbufs are sent whole; mbufs are put
 * back without a look at each. */
static uint64_t offloads_of(const struct plan *p, unsigned i, uint16_t queue)
{
    if (queue >= p->tx_queues[i])
        return 0; /* nobody sends by it */
    return ((p->tx[i][queue].mbufs & PLAN_MBUFS_CHAINED) != 0 ? SEGMENTS : 0) |
           (plan_fast_free(p, i, queue, NULL, 0) ? FAST_FREE : 0);
}

uint64_t queues_choose_offloads(struct port *port, const struct plan *p, unsigned i,
                                const struct rte_eth_dev_info *info)
{
    uint64_t any = 0, all = FAST_FREE,
             of_port = info->tx_offload_capa & ~info->tx_queue_offload_capa;

    for (uint16_t q = 0; q < p->tx_queues[i]; q++) {
        any |= offloads_of(p, i, q);
        all &= offloads_of(p, i, q);
    }
    port->no_fast_free = NULL;
    if ((info->tx_offload_capa & FAST_FREE) == 0)
        port->no_fast_free = "the device does not offer it";
    else if ((of_port & FAST_FREE) != 0 && all == 0)
        port->no_fast_free = "the device offers it for all queues together";
    return of_port & ((any & SEGMENTS) | all);
}

/* --- memory --- */

struct rte_ring *queues_make_ring(const char *name, unsigned size, int socket, unsigned flags)
{
    struct rte_ring *r = rte_ring_create(name, size, socket, flags);

    return r != NULL || socket == SOCKET_ID_ANY ? r
                                                : rte_ring_create(name, size, SOCKET_ID_ANY, flags);
}

int queues_reader_socket(const struct plan *p, unsigned i, unsigned queue)
{
    unsigned reader = plan_queue_reader(p, i, queue);

    return reader < p->n_instances ? eal_socket(p->cores[p->instances[reader].core].socket)
                                   : SOCKET_ID_ANY;
}

/* The queue's memory lies at the NIC, which writes there, else at the core that has the queue. */
static unsigned place(const struct port *port, int of_core)
{
    return (unsigned)(port->socket != SOCKET_ID_ANY ? port->socket : of_core);
}

static int open_rx(const struct port *port, const struct plan *p, unsigned i, uint16_t queue,
                   uint16_t desc, struct rte_mempool *const *pools)
{
    return rte_eth_rx_queue_setup(port->dpdk_id, queue, desc,
                                  place(port, queues_reader_socket(p, i, queue)), NULL,
                                  pools[plan_queue_pool(p, i, queue)]);
}

static int open_tx(const struct port *port, const struct plan *p, unsigned i, uint16_t queue,
                   uint16_t desc, const struct rte_eth_dev_info *info)
{
    struct rte_eth_txconf conf = info->default_txconf;
    int socket =
        queue < p->tx_queues[i] ? eal_socket(p->cores[p->tx[i][queue].core].socket) : SOCKET_ID_ANY;

    conf.offloads |= info->tx_queue_offload_capa & offloads_of(p, i, queue);
    if (info->driver_name != NULL && strncmp(info->driver_name, "net_virtio", 10) == 0)
        return virtio_open_tx(port->dpdk_id, queue, desc, place(port, socket), &conf);
    return rte_eth_tx_queue_setup(port->dpdk_id, queue, desc, place(port, socket), &conf);
}

int queues_open(const struct port *port, const struct plan *p, unsigned i, const struct queues *q,
                const struct rte_eth_dev_info *info, struct rte_mempool *const *pools)
{
    int rc = 0;

    for (uint16_t k = 0; rc == 0 && k < q->n_rx; k++)
        rc = open_rx(port, p, i, k, q->rx_desc, pools);
    for (uint16_t k = 0; rc == 0 && k < q->n_tx; k++)
        rc = open_tx(port, p, i, k, q->tx_desc, info);
    return rc;
}

void queues_check_sockets(const struct port *port, const struct plan *p, unsigned i)
{
    for (uint16_t q = 0; port->socket != SOCKET_ID_ANY && q < p->rx_queues[i]; q++) {
        int socket = queues_reader_socket(p, i, q);

        if (socket == SOCKET_ID_ANY || socket == port->socket)
            continue;
        log_warning("%s:%u: port %s: its NIC is on NUMA socket %d, but CPU %u, which reads it, on "
                    "socket %d: each frame crosses the link between the sockets; read it on CPUs "
                    "of socket %d",
                    port->cfg->loc.file, port->cfg->loc.line, port->cfg->name, port->socket,
                    p->cores[p->instances[plan_queue_reader(p, i, q)].core].cpu, socket,
                    port->socket);
        return;
    }
}
