/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of the task gen: the frames of a template, made ready to be written into mbufs. */
#ifndef TASKS_GEN_FRAMES_H
#define TASKS_GEN_FRAMES_H

#include <rte_mbuf.h>

#include "config/template.h"

#define COPY_UNIT   64u /* bytes */
#define CSUM_OFFSET 10u /* of the checksum in an IPv4 header */

/** A frame as it stands in memory: zeros behind it up to a multiple of 64 bytes. */
struct gen_frame {
    uint8_t *bytes;
    uint16_t len;    /* without FCS */
    uint16_t copied; /* len rounded up to 64 */
};

/** A variable of the template; instance w of n takes every n-th value of a step. */
struct gen_var {
    uint32_t first;
    uint32_t last; /* value - first, at most */
    uint32_t at;   /* value - first; of a random one: the counter that is hashed */
    uint32_t step; /* what is added to it for each packet */
    bool is_random;
};

/** Fields of one place: 1, 2 or 4 bytes of the frame, big-endian. fixed holds the bits that do not
 * vary. */
struct gen_word {
    uint32_t fixed;
    uint16_t offset;
    uint8_t size;
    uint8_t sum; /* the IPv4 header that it stands in, or SUM_NONE */
    uint8_t first_field, n_fields;
};

/** A field of a word: word |= (base + (var >> shift & mask)) << lshift. */
struct gen_field {
    uint8_t var, shift, lshift;
    uint32_t mask, base;
};

/** An IPv4 header with fields that vary: the sum of all its words but theirs. */
struct gen_sum {
    uint16_t offset;
    uint32_t fixed;
};

#define SUM_NONE 0xff
#define MAX_SUMS 2

struct gen_frames {
    struct gen_frame *frame;
    unsigned n_frames, next, stride; /* instance w of n sends frames w, w + n, ... */
    unsigned n_vars, n_words, n_sums;
    struct gen_var var[TEMPLATE_MAX_VARS];
    unsigned n_by_size[3]; /* words of at least 1, 2, 4 bytes: the wide ones come first */
    struct gen_word word[TEMPLATE_MAX_FIELDS];
    struct gen_field field[TEMPLATE_MAX_FIELDS];
    struct gen_sum sum[MAX_SUMS];
    uint64_t total_len; /* of all frames, without FCS */
    uint16_t max_copied;
    uint8_t *memory;     /* all frames */
    uint16_t buf_offset; /* from an mbuf to its headroom, for prefetching */
};

/** A hash of 32 bits without bias (lowbias32 by Chris Wellons, public domain). Of a counter it
 * makes random numbers, each of which can be computed without the one before. */
static inline uint32_t hash(uint32_t x)
{
    x = (x ^ x >> 16) * 0x21f0aaad;
    x = (x ^ x >> 15) * 0x735a2d97;
    return x ^ x >> 15;
}

/** What a word adds to its header's sum: a single byte at an even place is the high one. */
static inline unsigned sum_shift(const struct gen_frames *g, const struct gen_word *w)
{
    return w->size == 1 && ((w->offset - g->sum[w->sum].offset) & 1) == 0 ? 8 : 0;
}

/** Who of how many makes which part of the packets. */
struct gen_share {
    unsigned worker, workers;
    uint64_t seed;
    int socket;
};

/** Returns 0 or -ENOMEM. */
int gen_frames_init(struct gen_frames *g, const struct pkt_template *t,
                    const struct gen_share *share);
void gen_frames_fini(struct gen_frames *g);

/** Make the next 1..BURST_MAX packets in mbufs as they come from a mempool. */
void gen_frames_fill(struct gen_frames *g, struct rte_mbuf **m, unsigned n);

#endif
