/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan: the graph of the configuration mapped by its layout onto cores. It says every instance,
 * every link and whether it is a direct call or a ring, every queue of every port, and the memory
 * that all this takes. The engine builds what the plan says and decides nothing. Immutable; free of
 * DPDK.
 */
#ifndef CONFIG_PLAN_H
#define CONFIG_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/model.h"

/** A thread: one hardware thread that runs task instances in turn. Its lcore:
 * eal_lcore(). */
struct plan_core {
    uint16_t cpu; /* logical CPU of the layout */
    uint16_t socket;
    uint16_t run_on; /* CPU that it really runs on: cpu, or another with --share-cpus */
    uint16_t n_instances;
    uint16_t *instances; /* in the order of the layout */
};

/** Packets from a port's receive queue. */
struct plan_rx {
    uint16_t port, queue;
};

enum plan_dest_kind {
    DEST_PORT, /* index: port, queue: its transmit queue */
    DEST_CALL, /* index: instance on the same core, called directly */
    DEST_RING, /* index: ring */
};

struct plan_dest {
    enum plan_dest_kind kind;
    uint16_t index;
    uint16_t queue;
};

/**
 * One output of one instance. With several destinations: a task that spreads (lb) chooses the
 * worker = the position in dest[]; any other sends each packet to the destination that leads to the
 * packet's egress port, by_port[egress port].
 */
struct plan_output {
    uint16_t n_dests; /* 0: not connected */
    struct plan_dest *dest;
    uint8_t by_port[256]; /* position in dest[], or 0xff where no way leads to that port */
};

struct plan_instance {
    uint16_t task;   /* index in model.tasks[] */
    uint16_t worker; /* 0.. among the instances of the task */
    uint16_t core;   /* index in cores[] */
    uint16_t n_rx;
    struct plan_rx *rx;
    uint32_t in_ring; /* index in rings[], or CFG_NONE: fed by calls, ports or itself only */
    struct plan_output output[TASK_MAX_OUTPUTS];
};

/** The input ring of an instance that is fed from another core. Always one consumer. */
struct plan_ring {
    uint16_t consumer;    /* instance */
    uint16_t n_producers; /* producing cores; 1: single-producer ring, else multi-producer */
    uint32_t size;        /* power of two; holds size - 1 packets */
    enum full_policy on_full;
    uint16_t socket;
};

#define PLAN_QOS_PIPE 64u /* bytes that a qos task keeps of each pipe, beside its scheduler */

/** Bytes, as far as they can be known before the gateway runs. */
struct plan_memory {
    uint64_t mbufs[CFG_MAX_POOLS]; /* each pool */
    uint64_t mbufs_total;
    uint64_t tables; /* subscribers: records and indices */
    uint64_t routes; /* LPM and next hops */
    uint64_t rings;
    uint64_t sched;                      /* of all qos tasks */
    uint64_t task_sched[CFG_MAX_TASKS];  /* of each of them: scheduler and what the task keeps */
    uint64_t task_queued[CFG_MAX_TASKS]; /* mbufs that its full queues hold */
    uint64_t total;
    uint32_t pages_2m, pages_1g; /* huge pages that hold it all */
    uint32_t core_pages_2m,
        core_pages_1g; /* most huge pages that the mbufs which one core touches can span */
    uint32_t
        pool_need[CFG_MAX_POOLS];        /* fewest mbufs with which queues, rings and caches can all
                                            be full; without pool_queued, if it may be overcommitted */
    uint64_t pool_queued[CFG_MAX_POOLS]; /* mbufs that the schedulers' queues hold when all are
                                            full */
};

struct plan {
    const struct cfg_model *cfg;
    unsigned n_cores, n_instances, n_rings;
    struct plan_core *cores;
    struct plan_instance *instances;
    struct plan_ring *rings;
    uint16_t rx_queues[CFG_MAX_PORTS], tx_queues[CFG_MAX_PORTS];
    /* Ports, a bit each, that a subscriber or a next hop which comes while it runs may be on: all
     * tasks that send there lead there. */
    uint64_t subscriber_ports, nexthop_ports;
    bool share_cpus; /* several lcores run on one CPU: for function, never for figures */
    struct plan_memory memory;
};

/**
 * Map the model onto cores. m is as config_load() gives it: each task is in exactly one entry of
 * the layout, no CPU is in two. Problems (workers that do not match, a circle of direct calls, an
 * egress port that no path reaches, a task whose packets lack what it needs, a pool too small, ...)
 * are added to d; NULL when there was an error. CPUs that this machine lacks are none: see
 * plan_check_machine(). share_cpus: run their cores on the CPUs that this process may use. m must
 * outlive the plan.
 */
struct plan *plan_make(const struct cfg_model *m, bool share_cpus, struct diags *d);

void plan_free(struct plan *p);

/**
 * Can this machine run the plan: has it every CPU of the layout, and may this process use it? A
 * plan that shares CPUs always can. Returns 0, or -ENODEV with the CPU and the remedy in err.
 */
int plan_check_machine(const struct plan *p, char *err, size_t len);

/** Bytes that DPDK is given for the plan: with its own needs (tables of the memory allocator,
 * devices) and the loss by fragmentation. */
uint64_t plan_dpdk_memory(const struct plan *p);

/** Is the device of a port a PCI address, "0000:05:00.0" or "05:00.0"? */
bool plan_port_is_pci(const struct cfg_port *port);

/** For people, for machines and for Graphviz. */
void plan_print_text(const struct plan *p, FILE *to);
void plan_print_json(const struct plan *p, FILE *to);
void plan_print_dot(const struct plan *p, FILE *to);

#endif
