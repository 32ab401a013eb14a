/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The typed model: what a configuration says, parsed, with defaults filled in and names resolved to
 * indices. Built once by config_load(), never changed afterwards. Free of DPDK.
 */
#ifndef CONFIG_MODEL_H
#define CONFIG_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/diag.h"
#include "base/topology.h"
#include "base/units.h"
#include "config/qos.h"
#include "config/schema.h"
#include "config/template.h"

#define CFG_NONE          UINT32_MAX /* an index or id that is not there */
#define CFG_MAX_PORTS     64
#define CFG_MAX_POOLS     32
#define CFG_MAX_TASKS     128
#define CFG_MAX_ITEMS     32 /* of one task */
#define CFG_MAX_ADDRESSES 8
#define CFG_MAX_NEXTHOPS  65535 /* a next hop id travels in 16 bits; 0 means none */

/** What to do when a link or a port's transmit queue is full. */
enum full_policy {
    FULL_DROP, /* drop the packet and count it */
    FULL_WAIT, /* back-pressure: do not take packets in until there is room again */
};

/** What a core does when no input has a packet. */
enum idle_policy { IDLE_SPIN, IDLE_PAUSE, IDLE_SLEEP };

/** A set of mbufs. Key: pools = { NAME = { mbufs; data_room; socket; cache; } }. */
struct cfg_pool {
    struct loc loc;
    const char *name;
    uint32_t mbufs;     /* 64..2^26 */
    uint16_t data_room; /* bytes with the 128 of headroom */
    int16_t socket;     /* -1: the socket of its first user */
    uint16_t cache;     /* per-core cache, mbufs */
    bool overcommit;    /* it may hold less than the queues of schedulers that it has to fill */
};

struct cfg_port {
    struct loc loc;
    const char *name;
    /* PCI address, DPDK vdev string ("net_memif0,role=client,..."), or "wire:NAME": an in-memory
     * cable, whose two ends are the two ports that name it */
    const char *device;
    uint32_t pool; /* index in pools[]: where reception takes its mbufs */
    uint8_t mac[6];
    bool mac_set;
    uint16_t mtu;  /* largest payload of an Ethernet frame after its VLAN tags: IP packet, with any
                      MPLS labels */
    uint16_t tpid; /* outer tag's TPID on what is sent: 0x88a8 (default) or 0x8100; both are
                      accepted on reception */
    uint8_t n_addresses;
    uint32_t addresses[CFG_MAX_ADDRESSES]; /* the gateway's own here, host order; [0] is the source
                                              of tunnels */
    uint16_t rx_desc, tx_desc;
    bool promiscuous;
    enum full_policy on_full; /* of its transmit queues */
    uint64_t line_rate;       /* bit/s, for a generator's "100%" (default 10G) */
};

/** One subscriber; ids are dense: subscribers[i] has id i + 1, and id 0 means none. */
struct cfg_subscriber {
    uint32_t port;         /* access port, index in ports[] */
    uint16_t svlan, cvlan; /* 1..4094 */
    uint32_t ipv4;         /* host order */
    uint32_t profile;      /* index in qos.profiles[], or CFG_NONE */
    uint32_t
        pipe; /* in the scheduler of its port: subport * pipes_per_subport + place; or CFG_NONE */
    uint32_t gre_key; /* meaningful if has_gre_key */
    uint32_t line;    /* where it was said, in files[file] */
    uint16_t file;
    uint8_t ipv4_len; /* 24..32: the addresses that it may send from */
    uint8_t mac[6];   /* static, if has_mac */
    bool has_gre_key, has_mac;
};

/** How to leave towards the core. Routes with the same values share one; id = index + 1, 0 means
 * none. */
struct cfg_nexthop {
    struct loc loc;
    uint32_t port;  /* index in ports[] */
    uint32_t via;   /* IPv4 of the neighbour to ask by ARP, host order; 0 if mac_set */
    uint8_t mac[6]; /* static neighbour */
    bool mac_set;
    bool has_gre, has_mpls;
    uint32_t gre;  /* tunnel's far end, host order */
    uint32_t mpls; /* label, 16..1048575 */
};

/** Do they leave in the same way? */
static inline bool same_nexthop(const struct cfg_nexthop *a, const struct cfg_nexthop *b)
{
    return a->port == b->port && a->via == b->via && a->mac_set == b->mac_set &&
           memcmp(a->mac, b->mac, sizeof(a->mac)) == 0 && a->has_gre == b->has_gre &&
           a->gre == b->gre && a->has_mpls == b->has_mpls && a->mpls == b->mpls;
}

struct cfg_route {
    struct loc loc;
    uint32_t prefix; /* host order */
    uint8_t len;
    uint32_t nexthop; /* index in nexthops[] */
};

struct param_value {
    bool set; /* given or defaulted */
    uint64_t u, u2;
    const char *s;
    struct load load;
    struct loc loc; /* of the key, or of the task where defaulted */
};

/** One named output of a task: where it leads. */
struct cfg_output {
    struct loc loc;
    uint16_t n_dests;
    struct cfg_dest {
        bool is_port;
        uint16_t index; /* in ports[] or tasks[] */
    } dest[CFG_MAX_PORTS];
};

/** One of the list that a task of some types has (task_schema.items): a generator's streams. */
struct cfg_item {
    struct loc loc;
    const char *name;                          /* "TASK/NAME", or "TASK" where it gives no list */
    uint16_t number;                           /* in the whole configuration, from 1 */
    struct param_value param[TASK_MAX_PARAMS]; /* parallel to schema->params; those that it
                                                  inherits, too */
};

struct cfg_task {
    struct loc loc;
    const char *name;
    const struct task_schema *schema;
    uint16_t n_from;
    uint16_t from[CFG_MAX_PORTS]; /* ports it reads */
    struct cfg_output
        output[TASK_MAX_OUTPUTS]; /* parallel to schema->outputs; n_dests 0: not connected */
    struct param_value param[TASK_MAX_PARAMS]; /* parallel to schema->params */
    unsigned n_items; /* 1..CFG_MAX_ITEMS where the schema has items, else 0 */
    struct cfg_item *items;
    uint32_t ring;            /* size of each of its input rings, a power of two */
    enum full_policy on_full; /* of its input rings */
    uint16_t burst;           /* packets taken at once, 1..64 */
    uint32_t pool;            /* index in pools[]: for packets that it makes */
};

/** One entry of the layout: these tasks on these logical CPUs (one instance of each task on each of
 * them). */
struct cfg_placement {
    struct loc loc;
    uint16_t n_cpus;
    uint16_t cpus[TOPO_MAX_CPUS];
    uint16_t n_tasks;
    uint16_t tasks[CFG_MAX_TASKS];
};

struct cfg_model {
    const char *name;
    const char *path;
    const char **files; /* every file read, for cfg_subscriber.file */
    unsigned n_files;

    bool topology_given;      /* the file says topology = "2x10x2" */
    struct topology topology; /* that, or this machine's */
    enum idle_policy idle;
    uint64_t drain_ns;  /* how long a stop may take to empty the gateway (default 1 s) */
    const char *memory; /* "auto", "hugepages", "shared" or "no-huge" */
    const char *eal;    /* further EAL options, "" if none */

    unsigned n_pools, n_ports, n_tasks, n_placements, n_templates;
    uint16_t n_items; /* of all tasks */
    struct cfg_pool pools[CFG_MAX_POOLS];
    struct cfg_port ports[CFG_MAX_PORTS];
    struct cfg_task *tasks;
    struct cfg_placement *placements;
    struct pkt_template **templates;

    uint32_t n_subscribers, n_routes, n_nexthops;
    /* Room for those that come while it runs, too; 0: only for what is configured. Use
     * room_subscribers() and so on. */
    uint32_t max_subscribers, max_routes;
    struct cfg_subscriber *subscribers;
    struct cfg_route *routes;
    struct cfg_nexthop *nexthops;
    struct cfg_qos qos;
};

/** How many there may be while it runs: as configured, or more where the configuration says so. */
static inline uint32_t room_subscribers(const struct cfg_model *m)
{
    return m->max_subscribers > m->n_subscribers ? m->max_subscribers : m->n_subscribers;
}
static inline uint32_t room_routes(const struct cfg_model *m)
{
    return m->max_routes > m->n_routes ? m->max_routes : m->n_routes;
}
/** Each further route may need a next hop of its own. */
static inline uint32_t room_nexthops(const struct cfg_model *m)
{
    uint32_t room = m->n_nexthops + (room_routes(m) - m->n_routes);

    return room < CFG_MAX_NEXTHOPS ? room : CFG_MAX_NEXTHOPS;
}

/** How to load: all optional, zero is the default. */
struct config_options {
    const struct task_schema *const *schemas; /* known types of task, NULL at the end */
    const char *topology;                     /* "live" or "2x10x2": overrides what the file says */
    const char
        *template_dir;      /* where packet templates are looked for after the file's own folder */
    bool share_cpus;        /* take a layout for more CPUs than there are: see plan.h */
    const char *layout;     /* file whose layout replaces the configuration's, or NULL */
    const char *const *set; /* n_set values "PATH=VALUE" instead of the file's: see override.h */
    unsigned n_set;
};

/**
 * Read a configuration and all that it includes, check it, resolve its names.
 * Every problem is added to d. Returns the model, or NULL when there was an error. Free it with
 * config_free().
 */
struct cfg_model *config_load(const char *path, const struct config_options *opt, struct diags *d);

void config_free(struct cfg_model *m);

#endif
