/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reasons for which packets are dropped, in words: those that the engine itself counts, and rows
 * for the schemas of tasks that share a reason. Every other reason stands in the file of its task.
 */
#ifndef ENGINE_DROPS_H
#define ENGINE_DROPS_H

#include "engine/task.h"

/* The reasons that every task has, in the numbering of drop_of(): DROP_NO_PATH and
 * DROP_PUNT_LIMITED (engine/task.h), */
#define DROP_LINK_FULL N_TASK_DROPS /* and this, which outputs count: out.full */
#define N_ENGINE_DROPS 3
extern const struct task_drop engine_drops[N_ENGINE_DROPS]; /* from DROP_NO_PATH on */

/**
 * A reason of a task: i is the schema's own number, DROP_NO_PATH or DROP_LINK_FULL. NULL where the
 * task has no reason of that number.
 */
const struct task_drop *drop_of(const struct task_schema *schema, unsigned i);

/** The name of that reason, or NULL. */
const char *drop_name(const struct task_schema *schema, unsigned i);

/** What a device counts of packets that it lost. */
enum port_drop {
    PORT_RX_MISSED,
    PORT_RX_ERRORS,
    PORT_RX_NO_MBUF,
    PORT_TX_ERRORS,
    PORT_TX_LOST,
    N_PORT_DROPS
};
extern const struct task_drop port_drops[N_PORT_DROPS];

/** The sums of the ledger (engine/ledger.h), and what to do where one is not as it should be. */
enum ledger_word {
    LEDGER_RECEIVED,
    LEDGER_CREATED,
    LEDGER_SENT,
    LEDGER_CONSUMED,
    LEDGER_DROPPED,
    LEDGER_HELD,
    LEDGER_UNEXPLAINED,
    N_LEDGER_WORDS
};
extern const struct task_drop ledger_words[N_LEDGER_WORDS];

/* What stands in a row of task_schema.drops[] for a reason that several tasks have for the same
 * cause. */

#define DROP_IS_SEGMENTED                                                                          \
    "segmented", "The packet lies in several mbufs",                                               \
        "Larger data_room of the port's pool, which some NICs fill in steps (doc/plan.md); or a "  \
        "smaller mtu of the port."
#define DROP_IS_SHORT_FRAME                                                                        \
    "short_frame", "The frame ends within its headers",                                            \
        "Find who sends it: a broken device, or a link with another encapsulation than "           \
        "configured."
#define DROP_IS_TTL_EXPIRED                                                                        \
    "ttl_expired", "The TTL ran out",                                                              \
        "A traceroute, or a loop of routes; connect the output punt, and the sender is told."
#define DROP_IS_HOP_LIMIT                                                                          \
    "ipv6_hop_limit", "The hop limit of an IPv6 packet ran out",                                   \
        "A traceroute, or a loop of routes; connect the output punt, and the sender is told."
#define DROP_IS_NO_HEADROOM                                                                        \
    "no_headroom", "No room before the packet for the headers to add",                             \
        "Larger data_room of the pool that the packet came in."
#define DROP_IS_NO_TAILROOM                                                                        \
    "no_tailroom", "No room behind the packet for the padding",                                    \
        "Larger data_room of the pool that the packet came in."
#define DROP_IS_FOREIGN_MAC /* task_own_mac() */                                                   \
    "foreign_mac", "The frame is addressed to another MAC: a switch floods it",                    \
        "None, if rare; else look at the switch's MAC table, and at the port's mac."
#define DROP_IS_MARTIAN_SOURCE /* route_is_martian() */                                            \
    "martian_source",                                                                              \
        "From an address that cannot be behind the core: no host's, a link's, the gateway's own "  \
        "or the subscriber's (RFC 1812 section 5.3.7, RFC 6890)",                                  \
        "Find who forges it, and let the core drop it where it comes in."
#define DROP_IS_NO_SLOW_PATH /* task_refuse() */                                                   \
    "no_slow_path", "ARP or a packet to the gateway, and no task that answers it",                 \
        "Connect the task's output punt to a task of type arp, or accept it."
#define DROP_IS_OVERLOAD /* task_type.rank */                                                      \
    "overload", "The core could not take all that its port brought: the lowest classes go first",  \
        "More cores, or another layout: tools/sweep finds one."

#endif
