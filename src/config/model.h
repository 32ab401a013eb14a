/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The typed model of a configuration: values parsed, defaults filled in, names resolved to indices.
 * config_load() makes a model, which never changes afterwards. This folder is free of DPDK.
 */
#ifndef CONFIG_MODEL_H
#define CONFIG_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/cpu/topology.h"
#include "base/diag.h"
#include "base/ipv6.h"
#include "base/units.h"
#include "config/qos.h"
#include "config/receive.h"
#include "config/schema.h"
#include "template/template.h"

#define CFG_NONE          UINT32_MAX /* no index or id */
#define CFG_MAX_PORTS     64
#define CFG_MAX_POOLS     32
#define CFG_MAX_NAME      24 /* characters of a name, which names of DPDK's objects contain */
#define CFG_MAX_TASKS     128
#define CFG_MAX_ITEMS     32 /* of one task */
#define CFG_MAX_ADDRESSES 8
#define CFG_MAX_SOCKET    108       /* bytes of a Unix socket's path, with its end */
#define CFG_MAX_LABEL     64        /* characters of UTF-8, of a name for people */
#define CFG_MAX_NEXTHOPS  65535     /* a next hop id travels in 16 bits; 0 means none */
#define CFG_MAX_WAYS      16        /* next hops of a route */
#define CFG_MAX_SETS      65535     /* different ones, of several next hops */
#define CFG_SET           0x400000u /* of a route's nexthop: the rest is an index in sets[] */

#define CFG_MAX_SUBSCRIBERS 4194304
#define CFG_MAX_ROUTES      1048576
#define CFG_MAX_PREFIXES    (CFG_MAX_SUBSCRIBERS * 5) /* of IPv6 */
#define CFG_SPARE_LEAST     64 /* subscribers or routes that may be added where nothing is said */
#define CFG_SPARE_PART      8  /* or of so many configured ones one, where that is more */
#define CFG_RESTING_PART    32 /* of the places for so many subscribers one more, that one who was */
#define CFG_RESTING_MOST    256 /* removed may keep for some ms; so many at most */

#define CFG_WIRE "wire:" /* begins the device of a port that is an end of a wire */

/** What happens to packets for a link or a port's transmit queue that is full. */
enum full_policy {
    FULL_DROP, /* drop the packet and count it */
    FULL_WAIT, /* back-pressure: do not take packets in until there is room again */
};

/** Names of enum full_policy in a configuration, NULL at the end. */
extern const char *const full_policy_names[];

/** What a core does when no input has a packet. */
enum idle_policy { IDLE_SPIN, IDLE_PAUSE, IDLE_SLEEP };

/** Of what each has a copy of the routes for itself: the whole, or each socket whose cores look
 * routes up. */
enum routes_per { ROUTES_PER_GATEWAY, ROUTES_PER_SOCKET };

/** Of what each has mbufs of its own: its key "per". */
enum pool_per {
    POOL_PER_SOCKET,  /* each socket whose cores receive or generate */
    POOL_PER_QUEUE,   /* each receive queue, and each instance of a generator */
    POOL_PER_GATEWAY, /* all share one set of mbufs */
};

/** Names of enum pool_per in a configuration, NULL at the end. */
extern const char *const pool_per_names[];

/** A set of mbufs, or several. Key: pools = { NAME = { mbufs; data_room; socket; cache; } }. */
struct cfg_pool {
    struct loc loc;
    const char *name;
    enum pool_per per;
    uint32_t mbufs; /* 64..2^26, of each set */
    bool grows;     /* mbufs is not given: the plan makes the pool larger where more is needed */
    uint16_t data_room; /* bytes with the 128 of headroom */
    int16_t socket;     /* of all its sets; -1: that of the cores which use them */
    uint16_t cache;     /* per-core cache, mbufs */
    bool overcommit;    /* the pool may hold fewer mbufs than the queues of schedulers */
};

struct cfg_port {
    struct loc loc;
    const char *name;
    /* PCI address, DPDK vdev string ("net_memif0,role=client,..."), or "wire:NAME": an in-memory
     * cable between the two ports that name it */
    const char *device;
    uint32_t pool; /* index in pools[]: holds the mbufs for reception */
    uint8_t mac[6];
    bool mac_set;
    uint16_t mtu;  /* largest payload of an Ethernet frame after its VLAN tags: IP packet, with any
                      MPLS labels */
    uint16_t tpid; /* outer tag's TPID on what is sent: 0x88a8 (default) or 0x8100; both are
                      accepted on reception */
    uint8_t n_addresses;
    uint32_t addresses[CFG_MAX_ADDRESSES]; /* of the gateway on this port, host order; [0] is the
                                              source of tunnels */
    uint8_t n_addresses6;
    struct ipv6 addresses6[CFG_MAX_ADDRESSES]; /* the same of IPv6, beside the link-local one */
    uint16_t rx_desc, tx_desc;
    bool promiscuous;
    enum full_policy on_full; /* of its transmit queues */
    uint64_t line_rate;       /* bit/s, for a generator's "100%" (default 10G) */
    struct cfg_receive receive;
};

/** Is the port one end of an in-memory wire? */
static inline bool port_is_wire(const struct cfg_port *port)
{
    return strncmp(port->device, CFG_WIRE, sizeof(CFG_WIRE) - 1) == 0;
}

/** The PPPoE session (RFC 2516) that all of a subscriber's packets are in. */
struct cfg_pppoe {
    uint16_t session; /* 1..65534; 0: he has none */
    uint16_t mtu;     /* of an IP packet in it */
    uint32_t magic;   /* the gateway's LCP magic number (RFC 1661 section 6.4); 0: none */
};

/** One subscriber; ids are dense: subscribers[i] has id i + 1, and id 0 means none. */
struct cfg_subscriber {
    uint32_t port;         /* access port, index in ports[] */
    uint16_t svlan, cvlan; /* 1..4094 */
    uint32_t ipv4;         /* host order */
    uint32_t profile;      /* index in qos.profiles[], or CFG_NONE */
    /* Pipe in the scheduler of the port: cfg_subport.first + place; or CFG_NONE. */
    uint32_t pipe;
    uint32_t gre_key; /* meaningful if has_gre_key */
    uint32_t line;    /* of files[file], where the subscriber is configured */
    uint16_t file;
    uint8_t ipv4_len; /* 24..32: the length of the prefix that the subscriber may send from; 0: no
                         IPv4 */
    uint8_t mac[6];   /* static, if has_mac */
    bool has_gre_key, has_mac;
    bool dynamic;     /* of a running config: put by a control plane, and not the file's business */
    bool routed;      /* one CPE has the whole prefix: one MAC; else each address has its own */
    const char *name; /* for people: UTF-8 of at most CFG_MAX_LABEL characters; NULL: none */
    struct cpe_prefixes ipv6;
    struct cfg_pppoe pppoe; /* whose MAC is in mac */
};

/** How packets leave towards the core. Routes with the same values share a next hop; its id is its
 * index plus 1, and id 0 means none. */
struct cfg_nexthop {
    struct loc loc;
    uint32_t port;   /* index in ports[] */
    struct ipv6 via; /* the neighbour's address, of either family; :: if mac_set */
    uint8_t mac[6];  /* static neighbour */
    bool mac_set;
    bool has_gre, has_mpls;
    struct ipv6 gre; /* tunnel's far end, of either family; :: where there is none */
    uint32_t mpls;   /* label, 16..1048575 */
};

/** Do packets to both next hops leave in the same way? */
static inline bool same_nexthop(const struct cfg_nexthop *a, const struct cfg_nexthop *b)
{
    return a->port == b->port && same6(a->via, b->via) && a->mac_set == b->mac_set &&
           memcmp(a->mac, b->mac, sizeof(a->mac)) == 0 && a->has_gre == b->has_gre &&
           same6(a->gre, b->gre) && a->has_mpls == b->has_mpls && a->mpls == b->mpls;
}

/** Several next hops, 2..CFG_MAX_WAYS, among which routes share their flows. */
struct cfg_nexthop_set {
    uint32_t n;
    uint32_t nexthop[CFG_MAX_WAYS]; /* indices in nexthops[], ascending; the others are 0 */
};

struct cfg_route {
    struct loc loc;
    uint32_t prefix; /* host order */
    uint8_t len;
    bool is_ipv6;     /* it is the way of a struct cfg_route6 */
    uint32_t nexthop; /* index in nexthops[], or CFG_SET and an index in sets[] */
};

/** A route of IPv6. */
struct cfg_route6 {
    struct cfg_route way; /* place, and what it leads to; its prefix and length say nothing */
    struct ipv6 prefix;   /* no bits set after the length */
    uint8_t len;
};

struct param_value {
    bool set; /* given or defaulted */
    uint64_t u, u2;
    const char *s;
    struct load load;
    struct loc loc; /* of the key, or of the task where defaulted */
};

/** Where one named output of a task leads. */
struct cfg_output {
    struct loc loc;
    uint16_t n_dests;
    struct cfg_dest {
        bool is_port;
        uint16_t index; /* in ports[] or tasks[] */
    } dest[CFG_MAX_PORTS];
};

/** An element of the list that some types of task have (task_schema.items), such as a generator's
 * streams. */
struct cfg_item {
    struct loc loc;
    const char *name;                          /* "TASK/NAME", or "TASK" without a list */
    uint16_t number;                           /* in the whole configuration, from 1 */
    struct param_value param[TASK_MAX_PARAMS]; /* parallel to schema->params, with those that the
                                                  item inherits from the task */
};

struct cfg_task {
    struct loc loc;
    const char *name;
    const struct task_schema *schema;
    uint16_t n_from;
    uint16_t from[CFG_MAX_PORTS];        /* ports that the task reads */
    uint64_t from_queues[CFG_MAX_PORTS]; /* parallel: queues of the port's rules that it reads, a
                                            bit each; 1 of a port without rules */
    struct cfg_output
        output[TASK_MAX_OUTPUTS]; /* parallel to schema->outputs; n_dests 0: not connected */
    struct param_value param[TASK_MAX_PARAMS]; /* parallel to schema->params */
    unsigned n_items; /* 1..CFG_MAX_ITEMS where the schema has items, else 0 */
    struct cfg_item *items;
    uint32_t ring;            /* size of each of its input rings, a power of two */
    enum full_policy on_full; /* of its input rings */
    uint16_t burst;           /* packets taken at once, 1..64 */
    uint32_t pool;            /* index in pools[]: for packets that the task makes */
};

/** An entry of the layout, or a part of its CPUs: an instance of each of the tasks on each CPU. */
struct cfg_placement {
    struct loc loc;
    uint16_t n_cpus;
    uint16_t cpus[TOPO_MAX_CPUS];
    uint16_t n_tasks;
    struct cfg_placed {
        uint16_t task;  /* index in tasks[] */
        uint16_t first; /* number of the instance on cpus[0]; the next CPU has the next one */
    } tasks[CFG_MAX_TASKS];
};

struct cfg_model {
    const char *name;
    const char *path;
    const char **files; /* all files that were read; cfg_subscriber.file is an index */
    unsigned n_files;

    bool topology_given;      /* the configuration has a key topology */
    struct topology topology; /* the one of that key, or of this machine */
    enum idle_policy idle;
    bool fuse;               /* tasks that call each other directly run as one */
    uint64_t drain_ns;       /* how long a stop may take to empty the gateway (default 1 s) */
    const char *memory;      /* "auto", "hugepages", "shared" or "no-huge" */
    const char *eal;         /* further EAL options, "" if none */
    const char *punt_socket; /* path of the socket of the control plane, or NULL */
    enum routes_per routes_per;

    unsigned n_pools, n_ports, n_tasks, n_placements, n_templates;
    uint16_t n_items; /* of all tasks */
    struct cfg_pool pools[CFG_MAX_POOLS];
    struct cfg_port ports[CFG_MAX_PORTS];
    struct cfg_task *tasks;
    struct cfg_placement *placements;
    struct pkt_template **templates;

    uint32_t n_subscribers, n_routes, n_routes6, n_nexthops, n_sets;
    /* Room, also for subscribers and routes that are added while the gateway runs; 0: not given.
     * room_subscribers(), room_routes() and room_routes6() give the number in either case. */
    uint32_t max_subscribers, max_routes, max_routes6;
    /* Prefixes of IPv6 that subscribers have, an address counting as two; the most that one has;
     * room for them, 0: not given. */
    uint32_t n_prefixes, most_prefixes, max_prefixes;
    struct cfg_subscriber *subscribers;
    struct cfg_route *routes;
    struct cfg_route6 *routes6;
    struct cfg_nexthop *nexthops;
    struct cfg_nexthop_set *sets;
    struct cfg_qos qos;
};

/** The next hops of a route: their indices in nexthops[] in *list. Returns how many there are. */
static inline uint32_t route_nexthops(const struct cfg_model *m, const struct cfg_route *r,
                                      const uint32_t **list)
{
    const struct cfg_nexthop_set *set;

    if ((r->nexthop & CFG_SET) == 0) {
        *list = &r->nexthop;
        return 1;
    }
    set = &m->sets[r->nexthop & ~CFG_SET];
    *list = set->nexthop;
    return set->n;
}

/** Room where the configuration does not say any: what is configured, and some more. */
static inline uint32_t default_room(uint32_t configured, uint32_t most)
{
    uint32_t part = configured / CFG_SPARE_PART,
             spare = part > CFG_SPARE_LEAST ? part : CFG_SPARE_LEAST;

    return most - configured > spare ? configured + spare : most;
}

/** The most subscribers, and routes, that there can be while the gateway runs. */
static inline uint32_t room_subscribers(const struct cfg_model *m)
{
    if (m->max_subscribers == 0)
        return default_room(m->n_subscribers, CFG_MAX_SUBSCRIBERS);
    return m->max_subscribers > m->n_subscribers ? m->max_subscribers : m->n_subscribers;
}
/** Places for those who have just been removed, beside those of so many subscribers. */
static inline uint32_t resting_room(uint32_t room)
{
    uint32_t part = room / CFG_RESTING_PART;

    return part < CFG_RESTING_MOST ? part : CFG_RESTING_MOST;
}
/** Records of subscribers. A number is not given out again before no packet bears it; so that
 * whoever is announced by max_subscribers finds one all the same, there are some more. */
static inline uint32_t subscriber_records(const struct cfg_model *m)
{
    uint32_t room = room_subscribers(m);

    return m->max_subscribers != 0 ? room + resting_room(room) : room;
}
static inline uint32_t room_routes(const struct cfg_model *m)
{
    if (m->max_routes == 0)
        return default_room(m->n_routes, CFG_MAX_ROUTES);
    return m->max_routes > m->n_routes ? m->max_routes : m->n_routes;
}
/** Addresses of IPv6 of all ports, each of which has a route of its own. */
static inline uint32_t own_addresses6(const struct cfg_model *m)
{
    uint32_t n = 0;

    for (unsigned i = 0; i < m->n_ports; i++)
        n += m->ports[i].n_addresses6;
    return n;
}
/** The most routes of IPv6. 0: nothing that is configured is of IPv6. */
static inline uint32_t room_routes6(const struct cfg_model *m)
{
    if (m->max_routes6 != 0)
        return m->max_routes6 > m->n_routes6 ? m->max_routes6 : m->n_routes6;
    return m->n_routes6 + m->n_prefixes + own_addresses6(m) != 0
               ? default_room(m->n_routes6, CFG_MAX_ROUTES)
               : 0;
}
/** The most prefixes of IPv6 that subscribers can have: who is added may have as many as anybody
 * who is configured. 0: there is no IPv6. */
static inline uint32_t room_prefixes(const struct cfg_model *m)
{
    uint64_t room =
        m->n_prefixes + (uint64_t)m->most_prefixes * (room_subscribers(m) - m->n_subscribers);

    if (m->max_prefixes != 0)
        return m->max_prefixes > m->n_prefixes ? m->max_prefixes : m->n_prefixes;
    return room < CFG_MAX_PREFIXES ? (uint32_t)room : CFG_MAX_PREFIXES;
}
/** The prefixes of a subscriber, as they are counted. */
static inline uint32_t count_prefixes(const struct cpe_prefixes *p)
{
    return (p->wan_len == 128 ? 2u : p->wan_len != 0) + p->n_delegated;
}
/** Subscribers for whose full queues the pools must have mbufs: who is configured, and who was
 * announced by max_subscribers. */
static inline uint32_t backed_subscribers(const struct cfg_model *m)
{
    return m->max_subscribers > m->n_subscribers ? m->max_subscribers : m->n_subscribers;
}
/** How many routes may be added, of both families. */
static inline uint32_t spare_routes(const struct cfg_model *m)
{
    return room_routes(m) - m->n_routes + room_routes6(m) - m->n_routes6;
}

/** The most next hops that there can be: each route that is added may need one of its own. */
static inline uint32_t room_nexthops(const struct cfg_model *m)
{
    uint32_t room = m->n_nexthops + spare_routes(m);

    return room < CFG_MAX_NEXTHOPS ? room : CFG_MAX_NEXTHOPS;
}

/** The most sets of next hops that there can be, as each route that is added may need one. */
static inline uint32_t room_sets(const struct cfg_model *m)
{
    uint32_t room = m->n_sets + spare_routes(m);

    return room < CFG_MAX_SETS ? room : CFG_MAX_SETS;
}

/** How to load a configuration; a member that is 0 is not given. */
struct config_options {
    const struct task_schema *const *schemas; /* known types of task, NULL at the end */
    const char *topology;                     /* "live" or "2x10x2": overrides what the file says */
    const char *template_dir; /* folder of packet templates, searched after the file's own */
    const uint8_t *given; /* CPUs that this process was given at its start, as topo_give() has them;
                             NULL: all */
    bool share_cpus;      /* accept a layout for more CPUs than there are, as plan_make() does */
    const char *layout;   /* file whose layout replaces the configuration's, or NULL */
    const char *const *set; /* n_set values "PATH=VALUE" instead of the file's: see override.h */
    unsigned n_set;
};

/**
 * Read a configuration and all files that it includes, check values and resolve names. Every
 * problem is added to d. Returns the model, for config_free(), or NULL after an error.
 */
struct cfg_model *config_load(const char *path, const struct config_options *opt, struct diags *d);

/** Free a model and all that it refers to; NULL is allowed. */
void config_free(struct cfg_model *m);

#endif
