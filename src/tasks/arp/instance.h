/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of an arp task, and what its files call of each other. One instance serves the whole
 * gateway, as the only writer of learned MACs; its core alone reads and writes the state, but for
 * figures and what arp.h offers to other threads.
 *
 *   arp.c         the type: dispatch by the reason of the punt, clock, dry run
 *   schema.c      parameters and drops
 *   packets.c     ARP packets received, ARP requests sent, neighbours forgotten
 *   nd.c          the same of IPv6: neighbour discovery on subscribers' links
 *   nd_core.c     neighbour discovery on core ports
 *   ra.c          router advertisements, and what announces the gateway
 *   neighbours.c  CPEs and next hops, and what is known of them
 *   nexthops.c    next hops by neighbour, as they come and go
 *   hosts.c       the neighbours of one subscriber
 *   waiting.c     packets that wait for a MAC, and questions that are asked again
 *   icmp.c        echo replies and ICMP errors
 *   icmp6.c       the same of IPv6; answer.h has what both share
 *   paths.c       tunnels that the core is too narrow for
 *   control.c     frames between lines and the control plane (lines.h)
 *   echo.c        LCP echoes of PPPoE sessions (lines.h)
 *   send.c        the last step of all frames to ports: PPPoE sessions, padding
 */
#ifndef TASKS_ARP_INSTANCE_H
#define TASKS_ARP_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ip.h>

#include "engine/task.h"
#include "packet/nd.h"
#include "tables/tables.h"
#include "tasks/arp/arp.h"
#include "tasks/arp/walk.h"

enum { ARP_OUT_TO, ARP_OUT_ROUTE };

enum { PCP_DSCP, PCP_ZERO };
enum {
    ARG_AGE,
    ARG_ARP_RATE,
    ARG_ICMP_RATE,
    ARG_SUBSCRIBER_RATE,
    ARG_PUNT_LINE_RATE,
    ARG_PUNT_RATE,
    ARG_KEEP,
    ARG_PCP,
    ARG_RA,
    ARG_ANNOUNCE,
    ARG_RA_INTERVAL,
    ARG_RA_LIFETIME,
    ARG_RA_VALID,
    ARG_RA_PREFERRED,
    ARG_RA_MANAGED,
    ARG_RA_OTHER,
    ARG_ECHO,
    N_ARP_ARGS
};

enum {
    DROP_ARP_FOREIGN,
    DROP_ARP_MALFORMED,
    DROP_ARP_OWN_MAC,
    DROP_ARP_RATE,
    DROP_ARP_SPOOFED,
    DROP_ARP_UNSOLICITED,
    DROP_ARP_UNTAGGED,
    DROP_BAD_FRAME,
    DROP_BAD_PORT,
    DROP_CONTROL_FULL,
    DROP_CONTROL_LONG,
    DROP_CONTROL_MALFORMED,
    DROP_CONTROL_MTU,
    DROP_CONTROL_NO_MBUF,
    DROP_CONTROL_PORT,
    DROP_CONTROL_RATE,
    DROP_CONTROL_VLAN,
    DROP_ICMP_FRAGMENT,
    DROP_ICMP_MALFORMED,
    DROP_ICMP_NOT_ALLOWED,
    DROP_ICMP_RATE,
    DROP_IP_MALFORMED,
    DROP_ND_FOREIGN,
    DROP_ND_MALFORMED,
    DROP_ND_RATE,
    DROP_ND_SPOOFED,
    DROP_ND_UNSOLICITED,
    DROP_RA_OFF,
    DROP_NO_ANSWER,
    DROP_NO_CONTROL_PLANE,
    DROP_NO_GATEWAY_ADDRESS,
    DROP_NO_MTU,
    DROP_NO_ROOM,
    DROP_NO_ROUTE_OUTPUT,
    DROP_NO_TUNNEL,
    DROP_NOT_FOR_US,
    DROP_NOT_PUNTED,
    DROP_TOO_MANY_HOSTS,
    DROP_UNKNOWN_SUBSCRIBER,
    DROP_UNRESOLVED,
    DROP_UNSUPPORTED,
    N_DROPS
};

/* The task's time, which poll() advances, is counted in ticks of 1/64 s and wraps after two years.
 */
#define TICKS_PER_S 64u

#define ARP_ASK_GAP (TICKS_PER_S + 1) /* ticks between two requests: at least a second */

#define ARP_WAITS 32 /* neighbours that packets may wait for at a time */
#define ARP_KEEP  8  /* packets of each, at most */

#define ARP_CHANGES 8 /* changes of MACs that are remembered to be logged; a power of two */

/** A token bucket, in 1/64 tokens, so that a tick adds the rate (tokens/s); it holds an eighth of a
 * second's tokens. */
struct arp_bucket {
    uint64_t level, rate, depth;
};

/** Where a packet came from: each has buckets of its own, so that a crowd of one takes nothing from
 * the other. */
enum arp_side { SIDE_SUBSCRIBERS, SIDE_CORE, N_SIDES };

/** Packets that have a bucket of their own on each side. */
enum arp_class { CLASS_ARP, CLASS_ND, CLASS_ECHO, CLASS_ERROR, N_CLASSES };

/** ARP requests that have a bucket of their own: for a MAC that is needed, and for one that grows
 * old. */
enum arp_asking { ASK_FOR_NEW, ASK_FOR_OLD, N_ASKINGS };

/** A neighbour who has been asked for his MAC, and has not answered yet. */
struct arp_wait {
    bool is_used;
    uint8_t side;      /* enum arp_side */
    uint8_t questions; /* that are left */
    uint8_t port;      /* of a neighbour of the core */
    uint32_t who;      /* the subscriber's id */
    uint32_t addr;     /* of the subscriber, that is asked for (host order) */
    struct ipv6
        addr6;     /* the same of IPv6, :: where none is asked for; or the neighbour's address */
    uint32_t next; /* tick of the next question */
    uint32_t n;
    struct rte_mbuf *m[ARP_KEEP]; /* the packets that are kept */
};

/** A MAC of the core that has changed. */
struct arp_change {
    uint8_t was[6], is[6];
    uint8_t port;
    struct ipv6 address; /* of either family */
};

/** A neighbour towards the core: all next hops with one port and one address. */
struct neighbour {
    struct ipv6 via; /* of either family; ::, the place is free */
    uint8_t port;
    uint16_t first; /* id of one of the next hops, others are in member[]; 0 where free */
    uint32_t chain; /* the next neighbour of the same hash, or the next free place; index + 1 */
    struct arp_entry entry;
};

/** The other next hops of a neighbour, by next hop id; 0: none. */
struct arp_member {
    uint16_t next, previous;
};

#define ARP_PATHS 64 /* tunnels that may be narrow at a time */

/** A tunnel whose way through the core takes less than its port (RFC 1191, RFC 8201). */
struct narrow_path {
    struct tunnel_ends tunnel; /* ::, the place is free */
    uint32_t mtu;              /* bytes of the outer packet */
    uint32_t until;            /* tick */
};

/** What a subscriber's CPE has been asked by LCP. */
struct arp_echo {
    uint8_t unanswered; /* requests since the last answer */
    uint8_t identifier; /* of the last one */
};

struct arp {
    const struct tables *tables;
    const struct cfg_model *cfg;
    struct rte_mempool *pool;

    uint64_t tsc_per_tick, last_tsc; /* last_tsc: TSC of the last tick */
    uint32_t tick;
    uint32_t age, refresh; /* ticks: an entry is forgotten, and asked for again */
    bool pcp_from_dscp;    /* of ICMP to subscribers */

    uint32_t keep; /* packets of each neighbour that wait for its MAC */

    FILE *notes; /* in the copy of a dry run: where is noted what would be learned; else NULL */

    struct arp_bucket bucket[N_SIDES][N_CLASSES], ask[N_ASKINGS];

    struct arp_entry *subscriber; /* parallel to the subscribers' records; of those without hosts */
    struct ipv6 *spoke;           /* parallel: the CPE's address on the link that was heard of last,
                                     or ::. NULL: nobody has IPv6 */
    struct neighbour *neighbour;
    uint32_t n_neighbours;          /* places of them, some of which may be free */
    uint32_t free_neighbour;        /* the first free place, index + 1; 0: none */
    uint32_t *heads, n_heads;       /* chains of neighbours by hash; n_heads: a power of two */
    struct arp_member *member;      /* by next hop id */
    uint32_t *neighbour_of;         /* by next hop id: index in neighbour[], or UINT32_MAX */
    struct slots *news;             /* uint32_t: ids of next hops that are new */
    bool is_core[TABLES_MAX_PORTS]; /* a port on which untagged ARP is right */
    bool core_has_ipv6;             /* there is, or was, a neighbour of IPv6 */

    struct narrow_path path[ARP_PATHS];

    struct arp_walk sweep;              /* of what grows old: subscribers, then neighbours */
    uint32_t members_next, members_due; /* neighbours of which one may be in a set: the next to be
                                           looked at, and how many now */

    struct nd_router router;             /* what is advertised on every link */
    bool answers_routers;                /* router solicitations are answered */
    uint32_t ra_interval;                /* ticks; 0: nothing is advertised */
    struct arp_walk advertisements;      /* of subscribers, to each of whom one is sent */
    bool is_silent;                      /* the gateway is announced nowhere */
    uint64_t announcing;                 /* a bit each: ports on which the gateway is announced, */
    uint32_t announce_left;              /* and subscribers who have not had their turn yet */
    const uint32_t *link_ups;            /* of the ports; NULL: nobody tells */
    uint32_t ups_seen[TABLES_MAX_PORTS]; /* the same, as it was last */

    struct arp_echo *echo;  /* parallel to the subscribers' records; NULL: there is no control
                               plane, and PPP does not come here */
    struct arp_walk echoes; /* of subscribers, who are asked */

    struct arp_control *control;   /* NULL: there is no control plane */
    struct arp_bucket of_lines[2]; /* for it: of all lines without a subscriber, and of others */
    uint64_t line_ports;           /* a bit each: ports where lines may be */
    struct source_rate renewals;   /* of each line */

    uint32_t n_waits;
    struct arp_wait wait[ARP_WAITS];
    uint64_t kept; /* packets in all of wait[]; read by other threads */

    struct arp_change change[ARP_CHANGES]; /* the latest; read by the main thread */
    uint64_t n_changes;                    /* ever; number i is in change[i % ARP_CHANGES] */

    /* figures; read by other threads */
    uint64_t learned, forgotten, requests, no_mbuf, static_conflicts, cpe_changes, adverts,
        announced;
    uint64_t n_paths;                  /* that are narrow */
    uint64_t unreachables;             /* senders told so of packets that were kept */
    uint64_t to_control, from_control; /* frames */
    uint64_t echo_requests, echoes_answered, echoes_unanswered; /* sent; of CPEs; reported */
};

/** A frame on the slow path: untagged or with two tags. */
struct arp_frame {
    uint8_t *bytes;
    uint32_t l2_len; /* 14 or 22 */
    uint32_t avail;  /* bytes behind the Ethernet header and the tags */
    uint16_t type;   /* EtherType behind the tags */
    uint16_t svlan, cvlan;
};

/* schema.c */

extern const struct task_param arp_params[N_ARP_ARGS];
extern const struct task_drop arp_drops[N_DROPS];

/** What parameters must obey together. */
void arp_check(const struct cfg_model *m, const struct cfg_task *t, struct diags *d);

/* arp.c */

/** Begin a full bucket of per_s tokens a second. */
void arp_bucket_init(struct arp_bucket *b, uint64_t per_s);

/** Take a token. Returns false where there is none. */
bool arp_bucket_take(struct arp_bucket *b);

/** The side of an IPv4 packet with that source (host order). A subscriber's address on another port
 * than the subscriber's is no sign of the subscriber. */
enum arp_side arp_side_of(const struct arp *a, const struct rte_mbuf *m, uint32_t src);

/* packets.c */

/** Handle an ARP packet. */
void arp_receive(struct task *t, struct rte_mbuf *m, const struct arp_frame *f);

/** Does a MAC belong to one of the gateway's ports? */
bool arp_is_own_mac(const struct arp *a, const uint8_t *mac);

/** Make a frame of an Ethernet header and tags of l2_len bytes, and room for size more. Returns
 * NULL where the pool is exhausted. */
struct rte_mbuf *arp_new_frame(struct task *t, const uint8_t *l2, uint32_t l2_len, uint32_t size);

/** Begin a question: an mbuf that the bucket of such questions has a token for, with an Ethernet
 * header and tags of l2_len bytes and room for size more. Returns NULL where the rate or the pool
 * is exhausted. */
struct rte_mbuf *arp_question(struct task *t, enum arp_asking asking, const uint8_t *l2,
                              uint32_t l2_len, uint32_t size);

/** Send a question, or what else is new, by a port. */
void arp_send_question(struct task *t, struct rte_mbuf *m, uint8_t port);

/** Request the MAC of a CPE (addr: an address of the subscriber, host order) or of a next hop,
 * where it is not known and was not requested in the last second. */
void arp_ask_subscriber(struct task *t, uint32_t id, uint32_t addr);
void arp_ask_nexthop(struct task *t, uint32_t id);

/** May a neighbour be asked again? */
bool arp_may_ask(const struct arp *a, const struct arp_entry *e);

/** Hear of a neighbour's MAC, as arp_learn_neighbour() has it: what waits for it is sent, and one
 * that is not believed is asked for. Returns whether it is believed. */
bool arp_hear_neighbour(struct task *t, struct neighbour *nb, const uint8_t *mac, bool answers);

/** Request the MAC of a neighbour: of anybody (ASK_FOR_NEW), or of the one with the MAC that is
 * known. Returns false where the rate of requests or the pool is exhausted. */
bool arp_request_neighbour(struct task *t, struct neighbour *nb, enum arp_asking asking);

/** Forget old entries, and request the MACs of those that grow old: a few hundred entries at most.
 * Returns the number of requests sent. */
uint16_t arp_sweep(struct task *t);

/** Request the MACs of next hops in sets that are not known, each once a second: while another of
 * the set has its packets, none asks for it. Looks at some dozens; returns the number of requests
 * sent. */
uint16_t arp_ask_members(struct task *t);

/* send.c */

/** Send a frame by ARP_OUT_TO, padded, to the port that the mbuf names. What is IP goes in the
 * PPPoE session of its line, where there is one. */
void arp_send(struct task *t, struct rte_mbuf *m);

/** Has the index a subscriber, whose record control may be writing? Only while it is whole. */
bool arp_is_whole(const struct arp *a, uint32_t id);

/* neighbours.c */

/** Make and release what is known of neighbours. arp_neighbours_init() returns 0 or -ENOMEM. */
int arp_neighbours_init(struct arp *a, int socket);
void arp_neighbours_free(struct arp *a);

/** Learn the MAC of a subscriber, from an address (host order). Returns the neighbour, or NULL
 * where the subscriber has too many hosts. */
struct arp_entry *arp_learn_subscriber(struct task *t, uint32_t id, const uint8_t *mac,
                                       uint32_t addr);

/**
 * Learn the MAC of a neighbour, which it claims. One that is not known yet is believed to who
 * answers (answers: a reply, or a solicited advertisement) a request that is pending. Returns
 * whether it is believed.
 */
bool arp_learn_neighbour(struct arp *a, struct neighbour *nb, const uint8_t *mac, bool answers);

/** Write the MAC (NULL: none) into all next hops of a neighbour. */
void arp_set_neighbour_mac(struct arp *a, const struct neighbour *nb, const uint8_t *mac);

/** The port's address with the longest common prefix with addr (host order); 0: it has none. */
uint32_t arp_gateway_address(const struct arp *a, unsigned port, uint32_t addr);

/* nexthops.c */

/** Make and release what is known of next hops, with those of the table. arp_nexthops_init()
 * returns 0 or -ENOMEM. */
int arp_nexthops_init(struct arp *a, int socket);
void arp_nexthops_free(struct arp *a);

/** The neighbour with that port and address (of either family), or NULL. */
struct neighbour *arp_find_neighbour(const struct arp *a, uint8_t port, struct ipv6 addr);

/* hosts.c */

/** The neighbour that has an address of a subscriber (host order), as far as it is known or asked
 * for; else NULL. A subscriber with one MAC has one for all addresses. */
struct arp_entry *arp_subscriber_entry(const struct arp *a, uint32_t id, uint32_t addr);

/** The same, with a new place where there is none. is_there: the host has spoken, so that all that
 * are only asked for give way. Returns NULL where there is no room. */
struct arp_entry *arp_subscriber_place(struct task *t, uint32_t id, uint32_t addr, bool is_there);

/** May packets wait for one host more of a subscriber? */
bool arp_may_wait_for_host(const struct arp *a, uint32_t id);

/** Neighbour number i (from 0, below HOSTS_MAX) of a subscriber, and its MAC, where that was
 * learned; else NULL. */
struct arp_entry *arp_neighbour_of_subscriber(const struct arp *a, uint32_t id, unsigned i,
                                              uint8_t *mac);

/** Write the MAC (NULL: none) of a subscriber's neighbour. A host without one loses its place. */
void arp_set_subscriber_mac(struct arp *a, uint32_t id, struct arp_entry *e, const uint8_t *mac);

/** Forget all hosts of a subscriber, for whom nothing waits. */
void arp_forget_hosts(struct arp *a, uint32_t id);

/* waiting.c */

/**
 * Handle a packet whose neighbour's MAC is not known: request that MAC, of the subscriber or of the
 * next hop that the mbuf names, whichever is on the packet's egress port, and keep the packet until
 * the answer comes: the latest of each neighbour.
 */
void arp_resolve(struct task *t, struct rte_mbuf *m, const struct arp_frame *f);

/** Send what waits for a neighbour whose MAC has become known, and ask no more. */
void arp_answered(struct task *t, const struct arp_entry *e);

/** Drop what waits for a neighbour, and ask no more. */
void arp_abandon(struct task *t, const struct arp_entry *e);

/** Somebody claims the address of a neighbour, unasked: ask for it. */
void arp_doubt(struct task *t, struct neighbour *nb);

/** Ask again who has not answered, and give up what waits in vain: its senders are told. At a stop
 * all of it is dropped. Returns how many neighbours that were. */
uint16_t arp_wait_on(struct task *t);

/** Drop the waiting packets to and from a removed subscriber. */
void arp_forget_waiting(struct task *t, uint32_t id);

/* icmp.c */

/** Handle an IPv4 packet to one of the gateway's addresses. */
void arp_ip_to_us(struct task *t, struct rte_mbuf *m, const struct arp_frame *f);

/** Answer a packet that could not be forwarded with an ICMP error (RFC 1812 section 5.2.7), or drop
 * it. */
void arp_icmp_error(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                    enum punt_reason why);

/**
 * Answer a packet that was kept for a MAC in vain with "host unreachable" (RFC 1812 section
 * 4.3.3.1), in its mbuf. Returns false where its sender must or can not be told, or has been told
 * enough; the packet is the caller's then.
 */
bool arp_host_unreachable(struct task *t, struct rte_mbuf *m);

/* icmp6.c */

/** Handle an IPv6 packet to the gateway: neighbour discovery, pings and all others. */
void arp_ip6_to_us(struct task *t, struct rte_mbuf *m, const struct arp_frame *f);

/** The side of an IPv6 packet: as arp_side_of() of IPv4; only subscribers' have tags. */
enum arp_side arp_side_of6(const struct arp *a, const struct rte_mbuf *m,
                           const struct arp_frame *f);

/** Is an address one of the gateway's, on the link of a port or everywhere? */
bool arp_is_own6(const struct arp *a, unsigned port, const uint8_t *addr);

/** Make the ICMPv6 error about a packet that could not be forwarded (RFC 4443 section 3) and send
 * it in its mbuf. Returns the reason to drop the packet where it must or can not be answered, or
 * -1. */
int arp_answer_error6(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                      enum punt_reason reason);

/* paths.c */

/** Does a packet to the gateway, whose IPv4 header is right, say "fragmentation needed"? */
bool arp_path_is_news(const struct rte_ipv4_hdr *ip);

/** Handle such a packet: where it is about a tunnel of the gateway, that takes no larger packets
 * for a while. */
void arp_path_learn(struct task *t, struct rte_mbuf *m, const struct rte_ipv4_hdr *ip);

/** The same of IPv6: "packet too big". */
bool arp_path_is_news6(const struct ipv6_hdr *ip);
void arp_path_learn6(struct task *t, struct rte_mbuf *m, const struct arp_frame *f);

/** Let tunnels that have been narrow for long enough take packets of the port's size again. */
void arp_paths_age(struct arp *a);

#endif
