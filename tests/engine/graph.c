/* SPDX-License-Identifier: BSD-3-Clause */
#include "graph.h"

#include <string.h>

#include <rte_ethdev.h>

static void fill_ports(struct graph *g, const struct graph_spec *spec)
{
    static const char *const name[N_PORTS] = {"in", "out", "tester_in", "tester_out"};
    static const char *const device[N_PORTS] = {"wire:in", "wire:out", "wire:in", "wire:out"};

    g->cfg.n_ports = N_PORTS;
    for (unsigned i = 0; i < N_PORTS; i++)
        g->cfg.ports[i] = (struct cfg_port){.name = name[i],
                                            .device = device[i],
                                            .mtu = 1500,
                                            .rx_desc = 2048,
                                            .tx_desc = 64,
                                            .on_full = FULL_DROP};
    g->cfg.ports[PORT_OUT].on_full = spec->port_full;
    g->cfg.ports[PORT_TESTER_OUT].rx_desc = spec->out_desc;
}

static void fill_cores(struct graph *g, const struct graph_spec *spec)
{
    g->plan.cores = g->cores;
    for (unsigned i = 0; i < spec->n_tasks; i++) {
        struct plan_core *c = &g->cores[spec->core[i]];

        if (spec->core[i] >= g->plan.n_cores)
            g->plan.n_cores = spec->core[i] + 1u;
        c->instances = g->order[spec->core[i]];
        c->instances[c->n_instances++] = (uint16_t)i;
    }
}

static void fill_instances(struct graph *g, const struct graph_spec *spec)
{
    g->plan.instances = g->instances;
    g->plan.rings = g->rings;
    g->plan.n_instances = spec->n_tasks;
    for (unsigned i = 0; i < spec->n_tasks; i++) {
        struct plan_instance *inst = &g->instances[i];
        bool last = i + 1 == spec->n_tasks;

        g->tasks[i] = (struct cfg_task){
            .name = spec->type[i]->schema.type, .schema = &spec->type[i]->schema, .burst = 32};
        *inst =
            (struct plan_instance){.task = (uint16_t)i, .core = spec->core[i], .in_ring = CFG_NONE};
        inst->output[0].n_dests = 1;
        inst->output[0].dest = &g->dest[i];
        if (i > 0 && spec->core[i] != spec->core[i - 1]) {
            inst->in_ring = g->plan.n_rings++;
            g->rings[inst->in_ring] = (struct plan_ring){.consumer = (uint16_t)i,
                                                         .n_producers = 1,
                                                         .size = spec->ring,
                                                         .on_full = spec->ring_full};
            g->dest[i - 1] =
                (struct plan_dest){.kind = DEST_RING, .index = (uint16_t)inst->in_ring};
        }
        g->dest[i] = (struct plan_dest){.kind = last ? DEST_PORT : DEST_CALL,
                                        .index = (uint16_t)(last ? PORT_OUT : i + 1)};
    }
    g->rx = (struct plan_rx){.port = PORT_IN};
    g->instances[0].n_rx = 1;
    g->instances[0].rx = &g->rx;
}

int graph_open(struct graph *g, const struct graph_spec *spec)
{
    int rc;

    memset(g, 0, sizeof(*g));
    g->cfg.name = "graph";
    g->cfg.drain_ns = 300000000;
    g->cfg.n_pools = 1;
    g->cfg.pools[0] =
        (struct cfg_pool){.name = "test", .mbufs = 8191, .data_room = 256, .socket = 0, .cache = 0};
    g->cfg.tasks = g->tasks;
    g->cfg.n_tasks = spec->n_tasks;
    g->plan.cfg = &g->cfg;
    g->plan.n_pools = 1;
    g->plan.memory.pool_mbufs[0] = g->cfg.pools[0].mbufs;
    fill_ports(g, spec);
    fill_cores(g, spec);
    fill_instances(g, spec);
    for (unsigned i = 0; i < N_PORTS; i++) {
        g->plan.rx_queues[i] = g->plan.tx_queues[i] = 1;
        g->plan.tx[i] = &g->tx[i];
    }
    rc = engine_open(&g->engine, &g->plan);
    return rc == 0 ? engine_build(&g->engine, NULL) : rc;
}

unsigned graph_inject(struct graph *g, unsigned n)
{
    unsigned sent = 0;

    for (; sent < n; sent++) {
        struct rte_mbuf *m = rte_pktmbuf_alloc(g->engine.pools[0]);

        if (m == NULL)
            break;
        rte_pktmbuf_append(m, 60);
        if (rte_eth_tx_burst(g->engine.ports[PORT_TESTER_IN].dpdk_id, 0, &m, 1) != 1) {
            rte_pktmbuf_free(m);
            break;
        }
    }
    return sent;
}

unsigned graph_collect(struct graph *g)
{
    struct rte_mbuf *m[64];
    unsigned sum = 0, n;

    while ((n = rte_eth_rx_burst(g->engine.ports[PORT_TESTER_OUT].dpdk_id, 0, m, 64)) > 0) {
        rte_pktmbuf_free_bulk(m, n);
        sum += n;
    }
    return sum;
}

void graph_rounds(struct graph *g, unsigned core, unsigned n)
{
    while (n-- > 0)
        core_round(g->engine.cores[core], 0);
}

struct ledger graph_ledger(struct graph *g, FILE *faults)
{
    struct ledger l;

    g->engine.ports[PORT_TESTER_IN].up = g->engine.ports[PORT_TESTER_OUT].up = false;
    l = ledger_read(&g->engine, faults);
    g->engine.ports[PORT_TESTER_IN].up = g->engine.ports[PORT_TESTER_OUT].up = true;
    return l;
}

uint64_t graph_close(struct graph *g)
{
    graph_collect(g);
    return engine_free(&g->engine);
}
