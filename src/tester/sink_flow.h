/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of the task sink: what is known of the packets of one stream from one instance of the
 * generator, called a flow here. Their numbers (stamp.seq) begin with 0 and have no gaps when they
 * leave.
 *
 * A flow keeps a bit for each of the last FLOW_WINDOW numbers: has the packet come? So the second
 * copy of a packet is a duplicate (RFC 5560), and the first copy of a packet whose number is not
 * greater than all before it is reordered (RFC 4737 section 3.3). A packet that is further behind
 * is late: it may be either, and cannot be told. Lost is what has not come, up to the greatest
 * number that has: gaps that were never filled, or only by late packets.
 *
 * All is written by one core.
 */
#ifndef TESTER_SINK_FLOW_H
#define TESTER_SINK_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "base/hist.h"

#define FLOW_BITS   32768
#define FLOW_WORDS  (FLOW_BITS / 64)
#define FLOW_WINDOW (FLOW_BITS - 64) /* one word is being filled anew */
#define FLOW_MAX    255
#define FLOW_SLOTS  512 /* at least twice FLOW_MAX, a power of two */

/** How a packet differs from what is expected. */
enum wrong { WRONG_SUBSCRIBER, WRONG_TAGS, WRONG_KEY, WRONG_DSCP, WRONG_OTHER, N_WRONG };

struct flow {
    /* of each packet: */
    uint64_t next;         /* one more than the greatest number that has come; beyond 2^32, too */
    uint64_t unique;       /* first copies that were not late */
    uint32_t key;          /* flow_key() */
    struct hist64 latency; /* TSC cycles; the line of the above has its first numbers */
    uint64_t seen[FLOW_WORDS]; /* bit n % FLOW_BITS: number n has come */
    /* of some: */
    uint64_t first; /* least number that has come */
    uint64_t duplicates, reordered, late;
    uint64_t extent; /* of the reordered: the greatest distance behind the foremost packet */
    uint64_t wrong[N_WRONG]; /* one packet may be wrong in several ways */
} __rte_cache_aligned;

/** The flows of one instance of a sink, found by stream and instance of the generator. */
struct flow_table {
    struct flow *flow; /* [max]; those from n on are free */
    unsigned n, max;
    struct flow *last;         /* the one that was found last, or NULL */
    uint32_t slot[FLOW_SLOTS]; /* key << 8 | index + 1; 0: free */
};

static inline uint32_t flow_key(uint16_t stream, uint8_t instance)
{
    return (uint32_t)stream << 8 | instance;
}

/** Make room for max (1..FLOW_MAX) flows. Returns 0 or -ENOMEM. */
int flow_table_init(struct flow_table *t, unsigned max, int socket);
void flow_table_fini(struct flow_table *t);

/** Find the flow with a key, or make one. Returns NULL where there is no room for another. */
struct flow *flow_search(struct flow_table *t, uint32_t key);

static inline struct flow *flow_find(struct flow_table *t, uint32_t key)
{
    if (likely(t->last != NULL && t->last->key == key))
        return t->last;
    return flow_search(t, key);
}

/** Count a packet that is not the next one; ahead: by how many numbers. */
void flow_count_jump(struct flow *f, int32_t ahead);

/** Count a packet by its number. */
static inline void flow_count(struct flow *f, uint32_t seq)
{
    const uint32_t ahead = seq - (uint32_t)f->next;
    uint64_t *word = &f->seen[f->next / 64 % FLOW_WORDS];
    const uint64_t bit = 1ull << f->next % 64;

    if (unlikely(ahead != 0)) {
        flow_count_jump(f, (int32_t)ahead);
        return;
    }
    *word = bit == 1 ? bit : *word | bit; /* a word that is begun forgets what it held */
    f->next++;
    f->unique++;
}

/** Count the packets lost: numbers up to the greatest one that have not come. */
static inline uint64_t flow_lost(const struct flow *f)
{
    return f->next - f->unique;
}

#endif
