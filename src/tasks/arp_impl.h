/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of the slow path. One instance serves the whole gateway: it is the only writer of
 * learned MACs, and all that is here is its core's alone.
 *
 *   arp.c            type, dispatch by the reason of the punt, clock
 *   arp_answer.c     ARP packets received
 *   arp_neighbour.c  CPEs and next hops, and what they teach
 *   arp_nexthops.c   next hops by neighbour; they come and go while it runs
 *   arp_ask.c        requests for them, and what is forgotten
 *   arp_icmp.c       echo replies and ICMP errors
 *   arp_explain.c    what it would do with a packet
 */
#ifndef TASKS_ARP_IMPL_H
#define TASKS_ARP_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/task.h"
#include "tables/tables.h"
#include "tasks/arp_live.h"

enum { ARP_OUT_TO, ARP_OUT_ROUTE };

enum {
    DROP_ARP_FOREIGN,
    DROP_ARP_MALFORMED,
    DROP_ARP_RATE,
    DROP_ARP_SPOOFED,
    DROP_ARP_UNTAGGED,
    DROP_BAD_FRAME,
    DROP_BAD_PORT,
    DROP_ICMP_FRAGMENT,
    DROP_ICMP_MALFORMED,
    DROP_ICMP_NOT_ALLOWED,
    DROP_ICMP_RATE,
    DROP_IP_MALFORMED,
    DROP_NO_GATEWAY_ADDRESS,
    DROP_NO_MTU,
    DROP_NO_ROOM,
    DROP_NO_ROUTE_OUTPUT,
    DROP_NOT_FOR_US,
    DROP_NOT_PUNTED,
    DROP_UNKNOWN_SUBSCRIBER,
    DROP_UNRESOLVED,
    DROP_UNSUPPORTED,
};

/* Time is counted in ticks, and handed out by poll(): 1/64 s, wraps after two years. */
#define TICKS_PER_S 64u
#define ASK_GAP     (TICKS_PER_S + 1) /* at least a second between two requests for one target */

#define ARP_SWEEP_SHIFT 16 /* fraction bits in sweep_due and sweep_add */

/** Tokens in 1/64: a tick brings rate of them. Holds an eighth of a second's worth. */
struct bucket {
    uint64_t level, rate, depth;
};

/** What is remembered of a neighbour beside its MAC, which is in its record. */
struct arp_entry {
    uint32_t learned, asked; /* ticks */
    uint32_t addr;           /* subscribers: the address that it was learned from, host order */
    bool refreshed;          /* asked for again, as it grew old */
};

/** A neighbour towards the core: all next hops with one port and one address. */
struct neighbour {
    uint32_t via; /* host order */
    uint8_t port;
    uint32_t first, n; /* in member[] */
    struct arp_entry entry;
};

struct arp {
    const struct tables *tables;
    const struct cfg_model *cfg;
    struct rte_mempool *pool;

    uint64_t tsc_per_tick, last_tsc; /* last_tsc: of the last tick */
    uint32_t tick;
    uint32_t age, refresh; /* ticks */
    bool pcp_from_dscp;    /* of ICMP to subscribers */

    FILE *notes; /* NULL, but in a copy that only looks: what it would learn goes there instead */

    struct bucket arp, request, echo, error;

    struct arp_entry *subscriber; /* parallel to the subscribers' records */
    struct neighbour *neighbour;  /* by port and address, ascending */
    uint32_t n_neighbours;
    uint16_t *member;               /* next hop ids, by neighbour */
    uint32_t *neighbour_of;         /* by next hop id: index in neighbour[], or UINT32_MAX */
    bool is_core[TABLES_MAX_PORTS]; /* a port on which untagged ARP is right */

    uint32_t sweep_next;           /* subscribers, then neighbours */
    uint64_t sweep_due, sweep_add; /* entries to be looked at: now; more for each tick */

    /* figures; read by others */
    uint64_t learned, forgotten, requests, no_mbuf, static_conflicts;
};

/** A frame on the slow path: untagged or with two tags. */
struct arp_frame {
    uint8_t *bytes;
    uint32_t l2_len; /* 14 or 22 */
    uint32_t avail;  /* bytes behind that */
    uint16_t type;   /* EtherType behind the tags */
    uint16_t svlan, cvlan;
};

/** Returns false where it is neither. */
bool arp_parse(const struct rte_mbuf *m, struct arp_frame *f);
/** Zeros up to the shortest frame that Ethernet allows: nothing of older packets gets out. */
void arp_pad(struct rte_mbuf *m);
/** Take a token. */
bool arp_bucket_take(struct bucket *b);

/** The port's address that is nearest to addr (host order); 0: it has none. */
uint32_t arp_gateway_address(const struct arp *a, unsigned port, uint32_t addr);
/** Id of the subscriber with an address (host order), or 0. */
uint32_t arp_subscriber_of(const struct arp *a, uint32_t addr);

/** An ARP packet of which arp_parse() has found the frame. */
void arp_receive(struct task *t, struct rte_mbuf *m, const struct arp_frame *f);

/** What a neighbour is to these next hops is now what n says, and n what it was; entries are taken
 * over. */
void arp_swap_nexthops(struct arp *a, struct arp_nexthops *n);

/** Build and free what is remembered. Returns 0 or -ENOMEM. */
int arp_neighbours_init(struct arp *a, int socket);
void arp_neighbours_free(struct arp *a);
/** The neighbour with that port and address (host order), or NULL. */
struct neighbour *arp_find_neighbour(const struct arp *a, uint8_t port, uint32_t addr);
void arp_learn_subscriber(struct arp *a, uint32_t id, const uint8_t *mac, uint32_t addr);
void arp_learn_neighbour(struct arp *a, struct neighbour *nb, const uint8_t *mac);
/** Write the MAC (NULL: none) into all its next hops. */
void arp_set_neighbour_mac(struct arp *a, const struct neighbour *nb, const uint8_t *mac);

/** Ask for a CPE or a next hop whose MAC is not known, unless that was done in the last second. */
void arp_ask_subscriber(struct task *t, uint32_t id, uint32_t addr);
void arp_ask_nexthop(struct task *t, uint32_t id);
/** Look at the entries that are due, at most some hundred. Returns the requests sent. */
uint16_t arp_sweep(struct task *t);

/** A packet to one of the gateway's own addresses. */
void arp_echo(struct task *t, struct rte_mbuf *m, const struct arp_frame *f);
/** In a copy that only looks: what a sender would have taught. */
void arp_note_learned(const struct arp *a, const uint8_t *mac, bool known);
/** See task_type.explain. */
void arp_explain(struct task *t, struct rte_mbuf *m, const struct task_explain *x);
/** Answer a packet with an ICMP error. */
void arp_icmp_error(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                    enum punt_reason why);

#endif
