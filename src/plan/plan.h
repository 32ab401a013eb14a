/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan: the graph of the configuration mapped by its layout onto cores. It lists every instance
 * of a task, every link between instances (a direct call or a ring), every queue of every port, and
 * the memory that all these take. The engine builds what the plan lists and decides nothing. A plan
 * never changes once it is made. This folder is free of DPDK.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/model.h"

#define PLAN_MAX_CORES 127 /* DPDK has 128 lcores, of which one is the main thread */

/** A thread that runs task instances in turn, pinned to one CPU. eal_lcore() gives its lcore. */
struct plan_core {
    uint16_t cpu; /* logical CPU of the layout */
    uint16_t socket;
    uint16_t run_on; /* CPU that the thread is pinned to: cpu, or another with --share-cpus */
    uint16_t n_instances;
    uint16_t *instances; /* in the order of the layout */
    uint16_t routes;     /* index in routes_on[]: of the copy that its tasks look routes up in; or
                            PLAN_NONE */
};

#define PLAN_NONE UINT16_MAX /* no transmit queue yet; no task that looks routes up */

/** Most sets of mbufs: a set of them, and PLAN_MBUFS_ANY, are one word. */
#define PLAN_MAX_POOLS 62

/** A set of mbufs: of a pool of the configuration all, or what a socket or a queue has of it. */
struct plan_pool {
    uint16_t cfg; /* index in model.pools[] */
    uint16_t socket;
    char name[64]; /* "default", "default.s1", "default.cpe0.rx3", "default.gen.2" */
};

/** A receive queue that an instance polls. */
struct plan_rx {
    uint16_t port, queue;
    uint16_t pool; /* index in pools[]: of its mbufs; a wire has the sender's */
};

/* What may come to a point beside whole packets in the mbufs of pools, whose bits are below. */
#define PLAN_MBUFS_CHAINED  (UINT64_C(1) << 62) /* packets of several mbufs */
#define PLAN_MBUFS_ATTACHED (UINT64_C(1) << 63) /* mbufs with a device's own buffers */
#define PLAN_MBUFS_ANY      (PLAN_MBUFS_CHAINED | PLAN_MBUFS_ATTACHED)

/** A transmit queue of a port, and the mbufs that come to it. */
struct plan_tx {
    uint16_t core;
    uint64_t mbufs; /* a bit for each of pools[], and PLAN_MBUFS_ANY */
};

/** How packets get to a destination. */
enum plan_dest_kind {
    DEST_PORT, /* index: port, queue: one of its transmit queues */
    DEST_CALL, /* index: instance on the same core, called directly */
    DEST_RING, /* index: ring */
};

struct plan_dest {
    enum plan_dest_kind kind;
    uint16_t index;
    uint16_t queue;
};

#define NO_WAY 0xff /* plan_output.by_port: no destination leads to that port */

/**
 * One output of one instance. Where it has several destinations, a task that spreads (lb) chooses
 * among all of dest[]; any other task sends each packet to the destination that leads to the
 * packet's egress port, dest[by_port[egress port]].
 */
struct plan_output {
    uint16_t n_dests; /* 0: not connected */
    struct plan_dest *dest;
    uint8_t by_port[256]; /* position in dest[], or NO_WAY */
};

struct plan_instance {
    uint16_t task;   /* index in model.tasks[] */
    uint16_t worker; /* number among the instances of the task, from 0 */
    uint16_t core;   /* index in cores[] */
    uint16_t pool;   /* index in pools[]: for packets that it makes */
    /* Nobody else takes mbufs of that set, and nobody writes into their frames: an mbuf that comes
     * back still bears the frame that this source has made in it. */
    bool keeps_frames;
    uint16_t n_rx;
    struct plan_rx *rx;
    uint32_t in_ring; /* index in rings[], or CFG_NONE: fed by calls, ports or itself only */
    struct plan_output output[TASK_MAX_OUTPUTS];
};

/** The input ring of an instance that is fed from other cores. A ring has one consumer. */
struct plan_ring {
    uint16_t consumer;    /* instance */
    uint16_t n_producers; /* producing cores; a ring with 1 is a single-producer ring */
    uint32_t size;        /* power of two; holds size - 1 packets */
    enum full_policy on_full;
    uint16_t socket;
};

#define PLAN_QOS_PIPE 64u /* bytes that a qos task keeps of each pipe, beside its scheduler */

/** Memory in bytes, as far as it can be known before the gateway runs. */
struct plan_memory {
    uint64_t mbufs[PLAN_MAX_POOLS];      /* of each of plan.pools[] */
    uint32_t pool_mbufs[PLAN_MAX_POOLS]; /* how many: as configured, or as many as are needed */
    uint64_t mbufs_total;
    uint64_t tables;      /* subscribers: records, indices, and counters for accounting */
    uint64_t routes;      /* LPM with its copies, and next hops */
    uint64_t routes_copy; /* of that each copy but the first */
    uint64_t rings;
    uint64_t sched;                      /* of all qos tasks */
    uint64_t task_sched[CFG_MAX_TASKS];  /* of each qos task: its scheduler and its own state */
    uint64_t task_queued[CFG_MAX_TASKS]; /* mbufs that its full queues hold */
    uint64_t total;
    uint32_t pages_2m, pages_1g; /* huge pages that hold it all */
    /* Most huge pages that the mbufs which one core touches can span. */
    uint32_t core_pages_2m, core_pages_1g;
    /* Fewest mbufs of a pool with which all queues, rings and caches can be full at once; without
     * pool_queued where the pool may be overcommitted. */
    uint32_t pool_need[PLAN_MAX_POOLS];
    uint64_t pool_queued[PLAN_MAX_POOLS]; /* mbufs in the schedulers' queues when all are full */
    /* Mbufs in queues of subscribers who may be added though max_subscribers does not say so. */
    uint64_t pool_spare[PLAN_MAX_POOLS];
    uint64_t spare;  /* bytes, among all these, for what may be added while the gateway runs */
    uint64_t sparse; /* of routes: outside of EAL's heap where there are no huge pages */
};

struct plan {
    const struct cfg_model *cfg;
    unsigned n_cores, n_instances, n_rings, n_pools;
    struct plan_pool pools[PLAN_MAX_POOLS];
    struct plan_core *cores;
    /* The sockets of the copies of the routes, one at least. */
    uint16_t n_routes_on, routes_on[PLAN_MAX_CORES];
    struct plan_instance *instances;
    struct plan_ring *rings;
    uint32_t rings_on_way; /* as many rings as a packet can meet, at most, from port to port */
    uint16_t rx_queues[CFG_MAX_PORTS], tx_queues[CFG_MAX_PORTS];
    uint16_t unread_pool[CFG_MAX_PORTS]; /* index in pools[]: of a queue that nobody reads */
    struct plan_tx *tx[CFG_MAX_PORTS];   /* of each port tx_queues[] */
    /* Sets of ports, a bit each: a subscriber, or a next hop, may be added on such a port while the
     * gateway runs, because every task that sends to subscribers, or next hops, reaches the port.
     */
    uint64_t subscriber_ports, nexthop_ports;
    bool by_shard[CFG_MAX_TASKS]; /* the workers over which a task spreads are shards: a packet goes
                                     to that of its subscriber */
    bool share_cpus; /* several lcores run on one CPU: good for tests of function, not of speed */
    bool
        offline; /* the ports' devices stand in for those of the configuration: queues are theirs */
    struct plan_memory memory;
};

/**
 * Map the model onto cores. m is as config_load() gives it: each instance of a task, from 0 on, is
 * in exactly one entry of the layout, no CPU is in two entries. m must outlive the plan. Problems
 * (workers that do not match, a circle of direct calls, an egress port that no path reaches, a task
 * whose packets lack what the task needs, a pool that is too small, ...) are added to d. A CPU that
 * this machine lacks is no problem here, but one of plan_check_machine(); with share_cpus, the
 * cores of such CPUs run on CPUs that this process may use. Returns NULL after an error.
 */
struct plan *plan_make(const struct cfg_model *m, bool share_cpus, struct diags *d);

/** Do packets wait in an instance? */
bool plan_waits(const struct plan *p, unsigned instance);

/** Does an instance take packets by a call from one in which they have waited? */
bool plan_is_behind_waiting(const struct plan *p, unsigned instance);

/** Add warnings to d of what is allowed and seldom meant: no way to learn a MAC, no route, a via
 * off the link, a port that nobody listens to. */
void plan_hints(const struct plan *p, struct diags *d);

void plan_free(struct plan *p);

/**
 * Check that this machine has every CPU on which the plan runs, and that this process may use it. A
 * plan that was made with share_cpus always passes. Returns 0, or -ENODEV with the CPU and the
 * remedy in err, a text of at most len bytes.
 */
int plan_check_machine(const struct plan *p, char *err, size_t len);

/**
 * The first core whose CPU is elsewhere on a machine, in its socket, physical core or thread, than
 * on the one that the layout is for; n_cores: none is. is: the machine, as topo_read() reads it. A
 * core that runs on another CPU than the layout names (share_cpus) is nowhere in particular.
 */
unsigned plan_moved_core(const struct plan *p, const struct topology *is);

/** Bytes to reserve for DPDK: the plan's memory, DPDK's own (tables of the memory allocator,
 * devices), and what fragmentation wastes. */
uint64_t plan_dpdk_memory(const struct plan *p);

/** Is the device of a port a PCI address, "0000:05:00.0" or "05:00.0"? */
bool plan_port_is_pci(const struct cfg_port *port);

/** The port at the other end of a wire; the port itself where no other port names the wire. */
unsigned wire_peer(const struct cfg_model *m, unsigned port);

/** The instance that reads a receive queue of a port; n_instances: none does. */
unsigned plan_queue_reader(const struct plan *p, unsigned port, unsigned queue);

/** The pool, an index in pools[], of a receive queue of a port. */
unsigned plan_queue_pool(const struct plan *p, unsigned port, unsigned queue);

/**
 * May a device put back mbufs of a transmit queue without a look at each (DPDK's MBUF_FAST_FREE)?
 * It may where all are of one pool, whole, with one reference. why: the reason where it may not,
 * "" where it may; NULL, and len 0: nobody asks.
 */
bool plan_fast_free(const struct plan *p, unsigned port, unsigned queue, char *why, size_t len);

/** What comes to a receive queue, in words: "S-VLAN 1-100 and the rest", "RSS of ip", "all"; buf is
 * returned. */
char *plan_queue_text(const struct plan *p, unsigned port, unsigned queue, char *buf, size_t len);

/** Do subscribers' frames, with two tags, come to a port? */
bool plan_port_has_tags(const struct plan *p, unsigned port);

/** Print the plan for people: a picture of the pipeline of each core, then tables. */
void plan_print_text(const struct plan *p, FILE *to);

/** The plan for programs, one JSON object (doc/plan.md), indented or without any spaces. The caller
 * frees the text. Returns NULL without memory. */
char *plan_json(const struct plan *p, bool indented);

#endif
