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
    rte_be32_t ipv4_mask; /* subscriber_has_ipv4(); 0 where he has no IPv4 */
    rte_be32_t
        ipv4_net; /* ipv4 & ipv4_mask; where he has no IPv4, what no address under that mask is */
    rte_be32_t gre_key;
    uint32_t path;      /* first queue of the pipe: pipe * 16; SUBSCRIBER_NO_PATH: not shaped */
    rte_be16_t session; /* the PPPoE session that all of his packets are in, behind the tags; 0:
                           they are in none */
    uint16_t mtu;       /* bytes of an IP packet that his port, or his session, takes */
    uint8_t has_gre_key;
    uint8_t mac_static; /* never learned, never aged */
    uint8_t ipv4_host;  /* the last number of his address, or of the one that is asked for first */
    uint8_t has_ipv6; /* he has a record in subscriber_table.v6: SUBSCRIBER_SECOND_LINE, or more */
    /* The second half of the upper 64 bits, where all of his IPv6 is said here: of his link's
     * prefix; and of what is delegated to him, with a 1 behind the prefix. has_ipv6 has the rest.
     */
    uint32_t wan6, delegated6;
    struct hosts *hosts; /* each address has its own MAC, and mac_known is 0 unless the MAC is
                            static; NULL: the subscriber has one MAC */
} __rte_cache_aligned;

static_assert(sizeof(struct subscriber) == 64, "one cache line per subscriber");

/* Of has_ipv6: his prefixes are in his record of IPv6 only. Else his are those in the first line,
 * below subscriber6_table.common[has_ipv6 - SUBSCRIBER_FIRST_LINE]. */
#define SUBSCRIBER_SECOND_LINE 1
#define SUBSCRIBER_FIRST_LINE  2

/** Is an IPv4 address one of his? */
static inline bool subscriber_has_ipv4(const struct subscriber *s, rte_be32_t addr)
{
    return (addr & s->ipv4_mask) == s->ipv4_net;
}

/** His IPv4 address, or the one of his prefix that is asked for first; he has one. */
static inline rte_be32_t subscriber_ipv4(const struct subscriber *s)
{
    return s->ipv4_net | rte_cpu_to_be_32(s->ipv4_host);
}

/** Fetch the second line of a subscriber whose first line has been fetched, where it will be asked
 * for his IPv6. */
static inline void subscriber_prefetch6(const struct subscriber *s,
                                        const struct subscriber6 *second)
{
    if (unlikely(s->has_ipv6 == SUBSCRIBER_SECOND_LINE))
        rte_prefetch0(second);
}

/** Is an IPv6 address of a packet, which is no multicast address, one of his? The link and a
 * delegated prefix below the same 32 bits are in the first line; who has others has a second. */
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
    uint32_t n; /* the highest id that was ever in use; record[0] is empty, as are released ones */
    uint32_t capacity;
    uint32_t free; /* the id released last, or 0; gre_key of its record is the id before */
    struct hosts *free_hosts; /* kept: the arp task may look at what is no subscriber's any more */
    struct subscriber *record;
    uint8_t *shard;        /* by id: of who is on one of several shards of a scheduler, the shard;
                              else SUBSCRIBER_NO_SHARD. NULL: it is not kept */
    uint32_t *magic;       /* by id: the gateway's LCP magic number in his session */
    struct idmap *by_vlan; /* subscriber_vlan_key() */
    struct idmap *by_gre_key;
    struct idmap *by_ipv4;        /* host byte order */
    struct subscriber6_table *v6; /* NULL: nobody can have IPv6 */
};

/** The description of a new subscriber, in host byte order. */
struct subscriber_spec {
    uint8_t port;
    uint16_t svlan, cvlan;
    uint16_t tpid; /* of the outer tag */
    uint32_t ipv4;
    uint8_t ipv4_len; /* 24..32, or 0: no IPv4 */
    bool routed;      /* one CPE has the whole prefix, and so one MAC; else each address its own */
    bool has_gre_key;
    uint32_t gre_key;
    uint32_t path;              /* as in struct subscriber */
    uint8_t shard;              /* of the scheduler of the path, or SUBSCRIBER_NO_SHARD */
    const uint8_t *gateway_mac; /* of the access port */
    const uint8_t *mac;         /* static CPE MAC or NULL, which no session is without */
    uint16_t session;           /* of PPPoE; 0: none */
    uint32_t magic;             /* of LCP in it */
    uint16_t mtu;
    struct cpe_prefixes ipv6;
};

/** Make a table for up to capacity subscribers on a NUMA socket, with prefixes6 entries for their
 * IPv6 (subscriber6_entries()); 0: they have none. Returns NULL without memory. */
struct subscriber_table *subscriber_table_create(uint32_t capacity, uint32_t prefixes6, int socket);

/** Keep for each subscriber the shard that has him. Before the first is added. Returns 0 or
 * -ENOMEM.
 */
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
 * Take a subscriber out of the indices: packets do not find it any more. Its id and its record stay
 * as they are, for packets that have found it.
 */
void subscriber_unpublish(struct subscriber_table *t, uint32_t id);

/** Release the id of an unpublished subscriber whose record nobody reads any more; the arp task has
 * forgotten what it knew. */
void subscriber_release(struct subscriber_table *t, uint32_t id);

/** Would subscriber_add() find a VLAN pair, key, address or prefix in use, no room for prefixes, or
 * the spec invalid? Returns 0, -EEXIST, -ENOSPC or -EINVAL. */
int subscriber_check(const struct subscriber_table *t, const struct subscriber_spec *spec);

/** The id that the next subscriber_add() will give, or 0 where there is no room. */
uint32_t subscriber_next_id(const struct subscriber_table *t);

/**
 * Can a subscriber be given the addresses of a description, while packets name him? Only single
 * addresses of IPv4 come and go so. Returns 0 where memory is reserved and so nothing can fail any
 * more, -EINVAL or -ENOMEM.
 */
int subscriber_prepare(struct subscriber_table *t, uint32_t id, const struct subscriber_spec *to);

/** Take from a subscriber the addresses that a description has not; he keeps the others, and his
 * packets find him by them all the time. Returns whether a grace period has to end before
 * subscriber_extend(). */
bool subscriber_withdraw(struct subscriber_table *t, uint32_t id, const struct subscriber_spec *to);

/** Give a subscriber those addresses of a description that he has not yet. They are nobody's. */
void subscriber_extend(struct subscriber_table *t, uint32_t id, const struct subscriber_spec *to);

/** Say in a record what its record of IPv6 has, as far as the first line can. Where it could
 * before, only prefixes below the same 32 bits have been added, or else a grace period has ended
 * since: so no address is his under a mixture of old and new that is not his. */
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
