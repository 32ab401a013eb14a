/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two ports: net_ring devices on single-producer, single-consumer rings, as engine/port.c makes
 * a wire. They are made here and not by engine_open(), because all graphs share them: only one of
 * them runs at a time.
 */
#include <stdio.h>

#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_ring.h>

#include "bench.h"

static struct rte_ring *make_ring(const char *name, unsigned i)
{
    char full[RTE_RING_NAMESIZE];

    snprintf(full, sizeof(full), "bench_%s_%u", name, i);
    return rte_ring_create(full, bench_wire_len, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

static int start(uint16_t port, struct rte_mempool *pool)
{
    struct rte_eth_conf conf = {0};
    int rc = rte_eth_dev_configure(port, 1, 1, &conf);

    if (rc == 0)
        rc = rte_eth_rx_queue_setup(port, 0, CHUNK, 0, NULL, pool);
    if (rc == 0)
        rc = rte_eth_tx_queue_setup(port, 0, CHUNK, 0, NULL);
    if (rc == 0)
        rc = rte_eth_dev_start(port);
    return rc;
}

int wires_make(struct bench *b)
{
    for (unsigned i = 0; i < N_WIRES; i++) {
        struct wire *w = &b->wires[i];
        char name[32];
        int id;

        w->rx = make_ring("rx", i);
        w->tx = make_ring("tx", i);
        snprintf(name, sizeof(name), "bench%u", i);
        id =
            w->rx != NULL && w->tx != NULL ? rte_eth_from_rings(name, &w->rx, 1, &w->tx, 1, 0) : -1;
        if (id < 0 || start((uint16_t)id, b->packets.pool) != 0) {
            fprintf(stderr, "bench: no in-memory port: %s\n", rte_strerror(rte_errno));
            return -1;
        }
        w->port = (uint16_t)id;
        w->up = true;
    }
    return 0;
}

void wires_free(struct bench *b)
{
    for (unsigned i = 0; i < N_WIRES; i++) {
        if (b->wires[i].up) {
            rte_eth_dev_stop(b->wires[i].port);
            rte_eth_dev_close(b->wires[i].port);
        }
        rte_ring_free(b->wires[i].rx);
        rte_ring_free(b->wires[i].tx);
    }
}
