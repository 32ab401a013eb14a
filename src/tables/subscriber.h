/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of subscribers, by dense id 1..n. A record is one cache line, read-mostly; three direct
 * indices lead to it: by access port and VLAN pair, by GRE key, by IPv4 address. What IPv6 needs is
 * in a line of its own (subscriber6.h).
 *
 * One writer (control; of a record's MAC, the arp task), many readers (data path).
 */
#ifndef TABLES_SUBSCRIBER_H
#define TABLES_SUBSCRIBER_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "tables/hosts.h"
#include "tables/idmap.h"
#include "tables/subscriber6.h"

#define SUBSCRIBER_NO_PATH UINT32_C(0xffffff00) /* no path, even with a queue added */
#define SUBSCRIBER_L2_LEN  22                   /* Ethernet and two tags */

/**
 * What the data path knows of a subscriber. Control writes it before it is published; afterwards
 * the CPE's MAC changes, by the arp task, and addresses, by subscriber_withdraw() and
 * subscriber_extend(). A record that is taken out of the indices stays as
 * it is until no packet names it: subscriber_release().
 */
struct subscriber {
    /* Downstream header: CPE MAC, gateway MAC, outer TPID and S-VLAN, 0x8100 and C-VLAN, 0x0800.
     * PCP is 0. */
    uint8_t l2[SUBSCRIBER_L2_LEN];
    uint8_t port;         /* access port, the configuration's number */
    uint8_t mac_known;    /* 0: no CPE MAC yet; l2[0..5] is zero */
    rte_be32_t ipv4_mask; /* of subscriber_has_ipv4(); 0: no IPv4 */
    rte_be32_t ipv4_net;  /* address & ipv4_mask. Without IPv4: a value that no address under the
                             mask 0 has */
    rte_be32_t gre_key;
    uint32_t path;      /* first queue of the pipe: pipe * 16; SUBSCRIBER_NO_PATH: not shaped */
    rte_be16_t session; /* PPPoE session id of all packets; 0: IPoE */
    uint16_t mtu;       /* bytes: longest IP packet of the access port or the PPPoE session */
    uint8_t has_gre_key;
    uint8_t mac_static; /* never learned, never aged */
    uint8_t ipv4_host;  /* last octet of subscriber_ipv4() */
    uint8_t has_ipv6;   /* 0: no IPv6; SUBSCRIBER_SECOND_LINE, or more */
    /* IPv6 of the usual subscriber, a /64 for the link and one delegated prefix, both below the
     * same first 32 bits, which has_ipv6 selects: bits 32..63 of the link's prefix; bits 32..63 of
     * the delegated prefix, with a 1 behind the prefix, which tells the length. */
    uint32_t wan6, delegated6;
    struct hosts *hosts; /* a prefix whose hosts have a MAC each: mac_known is then 0, unless the
                            MAC is static; NULL: one MAC for all */
} __rte_cache_aligned;

static_assert(sizeof(struct subscriber) == 64, "one cache line per subscriber");

/* Values of has_ipv6. The prefixes are in the record of IPv6 only; or, from SUBSCRIBER_FIRST_LINE
 * on, also in the first line, below the 32 bits of subscriber6_table.common[has_ipv6 -
 * SUBSCRIBER_FIRST_LINE]. */
#define SUBSCRIBER_SECOND_LINE 1
#define SUBSCRIBER_FIRST_LINE  2

/** Is an IPv4 address the subscriber's? */
static inline bool subscriber_has_ipv4(const struct subscriber *s, rte_be32_t addr)
{
    return (addr & s->ipv4_mask) == s->ipv4_net;
}

/** The subscriber's IPv4 address, or the address of the prefix that ARP asks for first. Only for a
 * subscriber with IPv4. */
static inline rte_be32_t subscriber_ipv4(const struct subscriber *s)
{
    return s->ipv4_net | rte_cpu_to_be_32(s->ipv4_host);
}

/** Prefetch the record of IPv6, where subscriber_has_ipv6() will read it. The first line must be in
 * the cache. */
static inline void subscriber_prefetch6(const struct subscriber *s,
                                        const struct subscriber6 *second)
{
    if (unlikely(s->has_ipv6 == SUBSCRIBER_SECOND_LINE))
        rte_prefetch0(second);
}

/** Is a unicast IPv6 address the subscriber's? The first line answers for a link and a delegated
 * prefix below the same 32 bits, the record of IPv6 (second) for all other prefixes. */
static inline bool subscriber_has_ipv6(const struct subscriber *s,
                                       const struct subscriber6_table *v6,
                                       const struct subscriber6 *second, struct ipv6 addr)
{
    uint8_t has = __atomic_load_n(&s->has_ipv6, __ATOMIC_ACQUIRE);
    const struct subscriber6_common *c;
    uint32_t low = (uint32_t)addr.upper, coded, differ;

    if (unlikely(has < SUBSCRIBER_FIRST_LINE))
        return subscriber6_owns(second, addr);
    c = &v6->common[has - SUBSCRIBER_FIRST_LINE];
    coded = __atomic_load_n(&s->delegated6, __ATOMIC_RELAXED);
    differ = ((low ^ coded) & ~(coded ^ (coded - 1))) | c->no_delegated;
    return (addr.upper >> 32 == c->first) &
           ((low == __atomic_load_n(&s->wan6, __ATOMIC_RELAXED)) | (differ == 0));
}

#define SUBSCRIBER_NO_SHARD 0xff

struct subscriber_table {
    int socket;
    uint32_t n; /* the highest id ever in use; record[0] is empty, and so is each released record */
    uint32_t capacity;
    uint32_t free; /* head of the list of released ids, 0 at the end; linked through gre_key of
                      their records */
    struct hosts *free_hosts; /* released, never freed: the arp task may still look at them */
    struct subscriber *record;
    uint8_t *shard;  /* by id: shard of the subscriber's scheduler, or SUBSCRIBER_NO_SHARD. NULL: no
                        scheduler has shards */
    uint32_t *magic; /* by id: the gateway's LCP magic number in the PPPoE session */
    struct idmap *by_vlan; /* subscriber_vlan_key() */
    struct idmap *by_gre_key;
    struct idmap *by_ipv4;        /* host byte order */
    struct subscriber6_table *v6; /* NULL: the configuration has no IPv6 */
};

/** The description of a new subscriber, in host byte order. */
struct subscriber_spec {
    uint8_t port;
    uint16_t svlan, cvlan;
    uint16_t tpid; /* of the outer tag */
    uint32_t ipv4;
    uint8_t ipv4_len; /* 24..32, or 0: no IPv4 */
    bool routed;      /* one CPE, with one MAC, has the whole prefix; else each address has a MAC */
    bool has_gre_key;
    uint32_t gre_key;
    uint32_t path;              /* as in struct subscriber */
    uint8_t shard;              /* of the scheduler of the path, or SUBSCRIBER_NO_SHARD */
    const uint8_t *gateway_mac; /* of the access port */
    const uint8_t *mac;         /* static CPE MAC, or NULL; a PPPoE session has one always */
    uint16_t session;           /* of PPPoE; 0: none */
    uint32_t magic;             /* of LCP in it */
    uint16_t mtu;
    struct cpe_prefixes ipv6;
};

/** Make a table for up to capacity subscribers on a NUMA socket, with prefixes6 entries for their
 * IPv6 (subscriber6_entries()); 0: they have none. Returns NULL without memory. */
struct subscriber_table *subscriber_table_create(uint32_t capacity, uint32_t prefixes6, int socket);

/** Keep the shard of each subscriber. To be called before the first subscriber is added. Returns 0
 * or -ENOMEM. */
int subscriber_table_keep_shards(struct subscriber_table *t);

/** Release a table (NULL: nothing to do). */
void subscriber_table_free(struct subscriber_table *t);

/**
 * Add a subscriber and publish it, under the id that was released last, or else the first that was
 * never used. Returns the id (from 1), or -EEXIST (VLAN pair, key, address or prefix in use),
 * -ENOSPC, -ENOMEM or -EINVAL. On an error nothing has changed.
 */
int64_t subscriber_add(struct subscriber_table *t, const struct subscriber_spec *spec);

/**
 * Take a subscriber out of the indices: packets do not find it any more. Id and record stay as they
 * are for packets in flight that bear the id.
 */
void subscriber_unpublish(struct subscriber_table *t, uint32_t id);

/** Release the id of an unpublished subscriber, after the grace period and after the arp task has
 * dropped its neighbour entries. */
void subscriber_release(struct subscriber_table *t, uint32_t id);

/** Would subscriber_add() find a VLAN pair, key, address or prefix in use, no room for prefixes, or
 * the spec invalid? Returns 0, -EEXIST, -ENOSPC or -EINVAL. */
int subscriber_check(const struct subscriber_table *t, const struct subscriber_spec *spec);

/** The id that the next subscriber_add() will give, or 0 where there is no room. */
uint32_t subscriber_next_id(const struct subscriber_table *t);

/**
 * Prepare a change of a published subscriber's addresses to those of a description, and reserve the
 * memory for it. Of IPv4, only single addresses can change so. Returns 0 (then
 * subscriber_withdraw() and subscriber_extend() cannot fail), -EINVAL or -ENOMEM.
 */
int subscriber_prepare(struct subscriber_table *t, uint32_t id, const struct subscriber_spec *to);

/** Remove the addresses that are not in a description; all others stay in the indices without a
 * gap. Returns whether a grace period has to end before subscriber_extend(). */
bool subscriber_withdraw(struct subscriber_table *t, uint32_t id, const struct subscriber_spec *to);

/** Add the addresses of a description that the subscriber does not have yet. No other subscriber
 * may have them. */
void subscriber_extend(struct subscriber_table *t, uint32_t id, const struct subscriber_spec *to);

/** Write the first line's summary of the record of IPv6, where the first line has room for it. A
 * reader may meet old and new fields mixed: so a summary is replaced only by one with more prefixes
 * below the same 32 bits, or after a grace period in which it was off. */
void subscriber_write_first_line(struct subscriber_table *t, uint32_t id);

/** Learn the CPE's MAC, or forget it (NULL): by one aligned 8-byte store. */
void subscriber_set_mac(struct subscriber *s, const uint8_t *mac);

/** Set the CPE's MAC for good: it is neither learned nor forgotten any more. NULL: it is learned
 * again. */
void subscriber_set_static_mac(struct subscriber *s, const uint8_t *mac);

/** Bytes that a table and its indices take. */
uint64_t subscriber_table_bytes(const struct subscriber_table *t);

/** Read the MAC for packets to one of the subscriber's addresses. Returns false where it is not
 * known. */
static inline bool subscriber_find_mac(const struct subscriber *s, rte_be32_t addr, uint8_t *mac)
{
    if (__atomic_load_n(&s->mac_known, __ATOMIC_ACQUIRE) != 0)
        return record_mac(s->l2, mac);
    return s->hosts != NULL && hosts_find(s->hosts, addr, mac);
}

/** The key of an access circuit: port (8 bits), S-VLAN (12 bits), C-VLAN (12 bits). */
static inline uint32_t subscriber_vlan_key(uint8_t port, uint16_t svlan, uint16_t cvlan)
{
    return (uint32_t)port << 24 | (uint32_t)(svlan & 0xfff) << 12 | (cvlan & 0xfff);
}

#endif
