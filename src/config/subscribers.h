/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Subscribers, wherever they were written: a range of them in a group of a file, one in a row of a
 * table, one in an object of a request. They have one table of keys and one set of checks.
 */
#ifndef CONFIG_SUBSCRIBERS_H
#define CONFIG_SUBSCRIBERS_H

#include <string.h>

#include "config/keys.h"

enum {
    SUBSCRIBER_PORT,
    SUBSCRIBER_SVLAN,
    SUBSCRIBER_CVLAN,
    SUBSCRIBER_IPV4,
    SUBSCRIBER_GRE_KEY,
    SUBSCRIBER_MAC,
    SUBSCRIBER_PROFILE,
    SUBSCRIBER_ROUTED,
    SUBSCRIBER_NAME,
    SUBSCRIBER_IPV6,
    SUBSCRIBER_DELEGATED,
    N_SUBSCRIBER_COLUMNS, /* of a table, which has those of a session behind them; what follows is
                             of groups and objects alone */
    SUBSCRIBER_PPPOE = N_SUBSCRIBER_COLUMNS,
    SUBSCRIBER_IPV6_LEN,
    SUBSCRIBER_DELEGATED_LEN,
    N_SUBSCRIBER_KEYS
};

extern const struct key subscriber_keys[N_SUBSCRIBER_KEYS];

/* Keys of a PPPoE session. In a table they are columns, but for the MAC, which is the row's. */
enum { PPPOE_MAC, PPPOE_SESSION, PPPOE_MTU, PPPOE_MAGIC, N_PPPOE_KEYS };
#define N_TABLE_COLUMNS (N_SUBSCRIBER_COLUMNS + N_PPPOE_KEYS - PPPOE_SESSION)

extern const struct key pppoe_keys[N_PPPOE_KEYS];

/** The subscriber that right values of a row or an object are; file and line are 0. */
struct cfg_subscriber subscriber_of(const struct value *v);

/** Read the optional key pppoe into s, after subscriber_of() has read all other keys. For a range
 * of count subscribers, s gets the first session id and MAC. Returns false after an error. */
bool read_pppoe(struct loader *l, const struct value *v, uint64_t count, struct cfg_subscriber *s);

/** Can a MAC be counted up over count subscribers within its last five bytes? Returns false after
 * an error. */
bool check_macs(struct loader *l, const struct value *mac, uint64_t count);

/** read_pppoe() of a row of N_TABLE_COLUMNS. */
bool read_pppoe_cells(struct loader *l, const struct value *row, struct cfg_subscriber *s);

/** Are both in the same session, as far as it is known here, or both in none? */
static inline bool same_pppoe(const struct cfg_subscriber *a, const struct cfg_subscriber *b)
{
    return a->pppoe.session == b->pppoe.session &&
           (a->pppoe.session == 0 ||
            (a->pppoe.mtu == b->pppoe.mtu && a->pppoe.magic == b->pppoe.magic &&
             memcmp(a->mac, b->mac, sizeof(a->mac)) == 0));
}

/** Report at loc what is missing or wrong in values of a row or an object that are right one by
 * one. Returns false after an error. */
bool check_families(struct loader *l, struct loc loc, const struct value *v);

/** What only one subscriber may hold: a circuit, a GRE key, addresses; prefixes of up to 64 bits by
 * their upper halves; IPv6 addresses, by a hash of them. */
enum subscriber_claim {
    CLAIM_CIRCUIT,
    CLAIM_GRE_KEY,
    CLAIM_ADDRESS,
    CLAIM_PREFIX,
    CLAIM_ADDRESS6,
    N_CLAIMS
};

/**
 * New subscribers, to be held against each other and against those that are there already. Errors
 * go to l->d, each at the place of its subscriber; two entries that clash in many subscribers are
 * one error.
 */
struct subscriber_check {
    struct loader *l;
    const struct cfg_subscriber *list; /* each is right as far as it can be seen alone */
    uint32_t n;
    /** Where one of the list was written. */
    struct loc (*place)(const struct subscriber_check *k, const struct cfg_subscriber *s);
    /** Who holds any of first..last, or NULL; holder NULL: nobody is there. A circuit is
     * claim_circuit(). */
    const struct cfg_subscriber *(*holder)(const void *ctx, enum subscriber_claim what,
                                           uint64_t first, uint64_t last);
    /** Who holds any address of an IPv6 prefix, or NULL; holder6 NULL: nobody is there. */
    const struct cfg_subscriber *(*holder6)(const void *ctx, struct ipv6 prefix, uint8_t len);
    const void *ctx;
};

/** Report each subscriber whose circuit, address, key or session belongs to another subscriber or
 * to the gateway. */
void check_subscribers(const struct subscriber_check *k);

static inline uint64_t claim_circuit(uint32_t port, uint16_t svlan, uint16_t cvlan)
{
    return (uint64_t)port << 32 | (uint64_t)svlan << 16 | cvlan;
}

/** The subport of a scheduler that has a subscriber's S-VLAN, or CFG_NONE. */
uint32_t subport_of(const struct cfg_scheduler *shape, const struct cfg_subscriber *s);

/** What a subscriber on a shaped port may lack. */
enum shaping_lack { LACKS_SUBPORT = 1, LACKS_PROFILE = 2 };

/** Report at loc what a subscriber on a port of shape lacks, subport being that of subport_of(),
 * unless it is in told, bits of what was reported before. Returns what it lacks, or 0. */
unsigned check_shaping(struct loader *l, struct loc loc, const struct cfg_subscriber *s,
                       const struct cfg_scheduler *shape, uint32_t subport, unsigned told);

#endif
