/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets linked through their mbufs: words of a pointer and a number, and a chain of two such
 * words. The link is in hash, in the first line of an mbuf, which every task touches anyway; and it
 * has the length of the packet behind, so whoever takes out one knows the length of the next
 * without touching it. */
#ifndef SCHED_CHAIN_H
#define SCHED_CHAIN_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_mbuf.h>

#include "sched/stamp.h"

/** The upper 16 bits of a pointer to an mbuf are free for a number. */
#define WHEEL_POINTER ((UINT64_C(1) << 48) - 1)

/** The mbuf in a word of a queue. */
static inline struct rte_mbuf *wheel_mbuf(uint64_t word)
{
    return (struct rte_mbuf *)(uintptr_t)(word & WHEEL_POINTER);
}

/** The number in a word of a queue. */
static inline uint32_t wheel_number(uint64_t word)
{
    return (uint32_t)(word >> 48);
}

/** Likewise, in memory, with one instruction. */
static inline uint32_t wheel_number_at(const uint64_t *word)
{
    uint16_t number;

    memcpy(&number, (const char *)word + 6, sizeof(number));
    return number;
}

static inline uint64_t wheel_word(const struct rte_mbuf *m, uint32_t number)
{
    return (uint64_t)(uintptr_t)m | (uint64_t)number << 48;
}

/**
 * Link a packet behind another: the packet's word with its length takes the place of the other's
 * path and stamp. The path is known to whoever takes it out; the stamp goes to where the packet's
 * length stands, which is in the word for the other.
 */
static inline void chain_link(struct rte_mbuf *last, uint64_t word)
{
    last->pkt_len = sched_beside(last);
    memcpy(&last->hash, &word, sizeof(word));
}

/** The word of the packet behind one whose word is given; there must be one. */
static inline uint64_t chain_next(uint64_t word)
{
    uint64_t next;

    memcpy(&next, &wheel_mbuf(word)->hash, sizeof(next));
    return next;
}

/** Undo chain_link() of a packet of a path, whose word is given. Returns the word of the packet
 * behind it. */
static inline uint64_t chain_unlink(uint64_t word, uint32_t path)
{
    struct rte_mbuf *m = wheel_mbuf(word);
    uint64_t next = chain_next(word), sched = (uint64_t)m->pkt_len << 32 | path;

    memcpy(&m->hash, &sched, sizeof(sched));
    m->pkt_len = wheel_number(word);
    return next;
}

static_assert(sizeof(((struct rte_mbuf *)0)->hash) == sizeof(uint64_t), "a word fits");
static_assert(offsetof(struct rte_mbuf, hash.sched.queue_id) == offsetof(struct rte_mbuf, hash),
              "the path is in the low half of a word");

/** sched_beside() of the first of so many packets, whose word is given. */
static inline uint32_t chain_beside(uint64_t word, uint32_t packets)
{
    return packets > 1 ? wheel_mbuf(word)->pkt_len : sched_beside(wheel_mbuf(word));
}

/** Packets of a path in their order; zero-initialise it. */
struct chain {
    uint64_t head; /* first packet; and its length */
    uint64_t tail; /* last packet; and the number of packets; 0: both are void */
};

/** Number of packets. */
static inline uint32_t chain_packets(const struct chain *c)
{
    return wheel_number(c->tail);
}

/** sched_age() of the first packet. */
static inline uint32_t chain_age(const struct chain *c, uint64_t tsc)
{
    return sched_age_since(chain_beside(c->head, chain_packets(c)), tsc);
}

/** Append a packet. */
static inline void chain_put(struct chain *c, struct rte_mbuf *m)
{
    uint32_t n = chain_packets(c);
    uint64_t word = wheel_word(m, m->pkt_len);

    if (n != 0)
        chain_link(wheel_mbuf(c->tail), word);
    else
        c->head = word;
    c->tail = wheel_word(m, n + 1);
}

/** Take out the first packet; there must be one. */
static inline struct rte_mbuf *chain_take(struct chain *c, uint32_t path)
{
    struct rte_mbuf *m = wheel_mbuf(c->head);

    if (chain_packets(c) > 1)
        c->head = chain_unlink(c->head, path);
    c->tail -= UINT64_C(1) << 48;
    return m;
}

#endif
