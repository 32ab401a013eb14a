/* SPDX-License-Identifier: BSD-3-Clause */
/* Cycles per packet of tasks and paths: what the files of this program share. See doc/bench.md. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "engine/engine.h"
#include "tables/tables.h"

#define N_PACKETS  65536u /* mbufs in flight, and frames of each direction */
#define N_ROUTES   8192u
#define N_NEXTHOPS 4u
#define BURST      32u
#define CHUNK      1024u /* packets on the wire at once: what a device's queue would hold */
#define DATA_ROOM  2176u
#define N_WIRES    2u
#define MAX_ROUNDS 1000u
#define MAX_GRAPHS 24u

enum wire_id { WIRE_ACCESS, WIRE_CORE };
/** Whose frames they are, and where they go: with tunnels and labels; of IPv6, or of both families
 * in random order, half of each; without tunnels. */
enum bench_way {
    UPSTREAM,
    UPSTREAM6,
    UPSTREAM_MIX,
    UPSTREAM_PPPOE, /* in sessions of PPPoE, of each family; downstream frames are the same */
    UPSTREAM6_PPPOE,
    DOWNSTREAM,
    DOWNSTREAM6,
    DOWNSTREAM_MIX,
    DOWNSTREAM_OVER6, /* in tunnels over IPv6, of each family; upstream frames are the same */
    DOWNSTREAM6_OVER6,
    PLAIN_DOWN,
    PLAIN_DOWN6,
    PLAIN_DOWN6_NEAR, /* from the gateway's own net */
    PLAIN_DOWN_MIX,
    N_KINDS
};

static inline bool is_upstream(enum bench_way way)
{
    return way < DOWNSTREAM;
}
enum memory_kind { MEMORY_AUTO, MEMORY_HUGE, MEMORY_NO_HUGE };

/** A port of the gateway that is a net_ring device, and the far ends of its two rings. */
struct wire {
    uint16_t port;
    struct rte_ring *rx; /* what the gateway will receive */
    struct rte_ring *tx; /* what the gateway has sent */
    bool up;
};

/** A frame as it arrives; bytes is as long as every frame that is measured. */
struct frame {
    uint16_t len;
    uint8_t bytes[126];
};

/** The packets of a run. */
struct packets {
    struct rte_mempool *pool;
    struct rte_mbuf **mbuf;        /* N_PACKETS in random order */
    struct rte_mbuf **spare;       /* mbufs beside those in flight, which the pool keeps */
    struct rte_mbuf **staged;      /* the same as a task before has left them */
    struct frame *frames[N_KINDS]; /* by direction; frame i is for mbuf[i] */
};

/** One configuration, loaded and built: its tasks run where the program calls them. */
struct graph {
    struct cfg_model *model;
    struct plan *plan;
    struct engine engine;
};

/** What a graph is made from: the tasks and the layout of a configuration. */
struct graph_text {
    const char *name, *tasks, *layout;
    const char *qos;        /* the configuration's section qos with a profile "home", or NULL */
    bool fuse;              /* the key of that name */
    bool no_ipv6;           /* nobody has IPv6, and no route is of it */
    bool pppoe;             /* everybody is in a session of PPPoE */
    bool over6;             /* all tunnels are over IPv6 */
    bool ports_count_bytes; /* the engine need not, as with a NIC; else it does, as for its wires */
};

struct options {
    unsigned rounds;
    uint32_t step; /* of stages; 0: as this processor wants it */
    bool quick;
    enum memory_kind memory;
    const char *only; /* measure these and what they are compared with: part of a name */
    const char *json; /* file for the results, or NULL */
    int cpu;          /* -1: the last one that the process may use */
};

/** All that is measured with. */
struct bench {
    struct options options;
    bool huge; /* mbufs and tables live in huge pages */
    struct wire wires[N_WIRES];
    struct packets packets;
    /* of graphs with IPv6, without, with PPPoE, and with tunnels over IPv6 */
    struct tables *tables, *no_ipv6, *pppoe, *over6;
    struct graph *graph[MAX_GRAPHS];
    uint64_t bytes; /* that the bare loop has counted */
};

/** EAL on one core. Returns 0 or -1 with the reason on stderr. (bench_eal.c) */
int bench_eal_start(struct bench *b);
void bench_eal_stop(void);

/** Pool, mbufs in random order and the frames of all directions. 0 or -1. (packets.c) */
int packets_make(struct packets *p);
void packets_free(struct packets *p);
/** Draw a subscriber and an address anew for frame i of each direction. What puts frames into mbufs
 * does so where there are more subscribers than frames, so that it comes to all of them. */
void packets_draw(const struct packets *p, uint32_t i);
/** Put the frames of n packets back into their mbufs, as they were received. */
void packets_restore(const struct packets *p, enum bench_way d, uint32_t first, uint32_t n);
/** Put a stamp behind each core frame: of 4 streams in turn, made up to 100 us ago. */
void packets_stamp(const struct packets *p);
/** Give all mbufs to the pool, for a task that allocates; take the same back. 0 or -1. */
void packets_lend(struct packets *p);
int packets_take_back(struct packets *p);

/** 0 or -1. (wires.c) */
int wires_make(struct bench *b);
void wires_free(struct bench *b);

/** Build a graph. NULL with the reason on stderr. The tables are made from the first one with IPv6,
 * and from the first one without. (graph.c) */
struct graph *graph_make(struct bench *b, const struct graph_text *text);
void graph_free(struct graph *g);
void tables_free(struct bench *b);
/** The first instance of the task with that name, or NULL. */
struct task *graph_task(const struct graph *g, const char *name);
/** Name every reason for which a task of the graph has dropped. */
void graph_print_drops(const struct graph *g, FILE *to);

/** Addresses that both the configuration and the frames are made of. (graph.c, packets.c) */
#define GATEWAY_MAC_TEXT "02:00:00:00:00:%02x" /* 1 + number of the port */
#define CPE_MAC_KIND     0xce                  /* 02:ce:00:00:00:00 and the next ones */
#define CORE_MAC_KIND    0xc0
#define FIRST_SVLAN      128u
#define FIRST_CVLAN      256u
#define SUBSCRIBER_IP    0x0a000000u                  /* 10.0.0.0, and the next ones */
#define ROUTED_IP        0xac100000u                  /* 172.16.0.0/15 in 8192 routes of /28 */
#define ROUTED_IP6       UINT64_C(0x2400000000000000) /* 2400::/32 in 8192 routes of /48 */
#define GATEWAY_NET6     UINT64_C(0x20010db8fff00000) /* 2001:db8:fff0::/48 */
#define TUNNEL_NEAR      0xc0000201u                  /* 192.0.2.1 */
#define TUNNEL_FAR       0xc6336401u                  /* 198.51.100.1 and the next ones */
#define TUNNEL_FAR6      UINT64_C(0x20010db8fffe0000) /* 2001:db8:fffe::1 and the next ones */
#define FIRST_LABEL      16u
#define FIRST_SESSION    1u /* of a subscriber; the next ones' modulo SESSIONS are behind it */
#define SESSIONS         65533u

/** What a program measures with. Each says it for itself, and all share what reads it. */
extern const uint32_t bench_subscribers; /* a power of two, at most 1048576 */
extern const uint32_t bench_wire_len;    /* slots of a wire */

/** C-VLANs of an S-VLAN; a /64 for each link, and a delegated /56 of each subscriber. (graph.c) */
struct plan_of_subscribers {
    uint32_t cvlans;
    uint64_t links6, delegated6;
    const char *links6_text, *delegated6_text;
};
const struct plan_of_subscribers *subscribers_plan(void);

/** One measured thing. (cases.c) */
struct bench_case {
    const char *name;
    const char *what;
    const char *versus; /* the case it is a ratio of, or NULL */
    const char *mean;   /* a ratio of the mean of that and this one, or NULL */
    double bar;         /* largest ratio that is good, 0: none */
    double bar_cycles;  /* largest median of cycles that is good, 0: none */
    /** One repetition over all packets: its cycles per packet, or a negative number after a
     * failure that it has printed. */
    double (*run)(struct bench *b, const struct bench_case *c);
    unsigned graph;                /* index in bench.graph[] */
    const char *task;              /* the one that is measured, or the last one of a prefix */
    const char *const *via;        /* the tasks before it, NULL at the end */
    enum bench_way direction;      /* both ways: the one upstream */
    const struct qos_variant *qos; /* (qos_cases.c) */
    bool stamps;                   /* the packets have stamps */
    bool prefetch;                 /* the floor with prefetching */
    bool bytes; /* count the bytes of what is sent, as a device does and net_ring does not */
};

extern const struct bench_case bench_cases[];
extern const unsigned n_bench_cases;

/** What the program is called, and what the head of its table says of the ratios. */
extern const char bench_name[], bench_note[];

/** Is this case asked for by --only? */
bool case_chosen(const struct options *o, const struct bench_case *c);
/** MiB of memory that the cases need. */
unsigned cases_need_mib(const struct options *o);
/** Build all graphs that the cases need. 0 or -1. */
int cases_open(struct bench *b);
void cases_close(struct bench *b);

/** Receives and sends until nothing is left to receive. */
typedef void (*serve_fn)(struct bench *b, const struct bench_case *c);

/** The passes over all packets that the cases are made of. (passes.c; bare and floor: baselines.c)
 */
double pass_loop(struct bench *b, const struct bench_case *c, serve_fn serve);
double pass_bare(struct bench *b, const struct bench_case *c);
double pass_floor(struct bench *b, const struct bench_case *c);
double pass_engine(struct bench *b, const struct bench_case *c);
double pass_both(struct bench *b, const struct bench_case *c);
double pass_prefix(struct bench *b, const struct bench_case *c);
double pass_task(struct bench *b, const struct bench_case *c);
/** A load balancer alone, with what it pays for the rings of its workers. */
double pass_spread(struct bench *b, const struct bench_case *c);
double pass_source(struct bench *b, const struct bench_case *c);
double pass_sink(struct bench *b, const struct bench_case *c);

struct spread {
    double median, min, max;
};

struct result {
    bool measured;
    struct spread cycles; /* per packet */
    struct spread ratio;  /* of each round, to what it is compared with */
    double least; /* ratio of the fewest cycles of all rounds, of which other work took least */
};

/** Interleaved repetitions of all cases that are wanted. results is parallel to bench_cases. 0 or
 * -1. (rounds.c) */
int rounds_run(struct bench *b, struct result *results);

/** (report.c) */
void report_table(const struct bench *b, const struct result *results, FILE *to);
int report_json(const struct bench *b, const struct result *results, const char *path);
/** Cases that miss their bar. */
unsigned report_missed(const struct result *results);
/** Cases that miss slack times their bar even in the rounds of which other work took least. */
unsigned report_collapsed(const struct result *results, double slack);

#endif
