/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of the task gen: random numbers, each of which can be computed without the one before. */
#ifndef TESTER_GEN_FRAMES_H
#define TESTER_GEN_FRAMES_H

#include <stdint.h>

#include <rte_mbuf.h>

#include "template/template.h"

#define GOLDEN 0x9e3779b9u

/** A hash of 32 bits without bias (lowbias32 by Chris Wellons, public domain). Of a counter it
 * makes random numbers. */
static inline uint32_t hash(uint32_t x)
{
    x = (x ^ x >> 16) * 0x21f0aaad;
    x = (x ^ x >> 15) * 0x735a2d97;
    return x ^ x >> 15;
}

/** 32 bits of a seed of 64. */
static inline uint32_t hash_seed(uint64_t seed)
{
    return hash((uint32_t)seed) ^ hash((uint32_t)(seed >> 32) + GOLDEN);
}

/* Inside of the task gen: the frames of a template, made ready to be written into mbufs. */

#define COPY_UNIT   64u /* bytes */
#define CSUM_OFFSET 10u /* of the checksum in an IPv4 header */

#define SUM_NONE 0xff
#define MAX_SUMS 2

/** A frame as it stands in memory: zeros behind it up to a multiple of 64 bytes. */
struct gen_frame {
    uint8_t *bytes;
    uint16_t len;           /* without FCS */
    uint16_t copied;        /* len rounded up to 64 */
    uint32_t sum[MAX_SUMS]; /* of the words of each IPv4 header, but those that vary */
};

/** A variable of the template; instance w of n takes every n-th value of a step. */
struct gen_var {
    uint32_t first;
    uint32_t last; /* value - first, at most */
    uint32_t at;   /* value - first; of a random one: the counter that is hashed */
    uint32_t step; /* what is added to it for each packet */
    bool is_random;
};

/** Fields of one place: 1, 2 or 4 bytes of the frame, big-endian, which are the upper bytes of the
 * word. fixed holds the bits that do not vary. */
struct gen_word {
    uint32_t fixed;
    uint16_t offset;
    uint8_t size;
    uint8_t sum;       /* the IPv4 header that it stands in, or SUM_NONE */
    uint8_t sum_shift; /* 8 for a byte that is the lower one of its 16 bits there, else 0 */
    uint8_t first_field, n_fields;
};

/** A field of a word: word |= (base + (var >> shift & mask)) << lshift. */
struct gen_field {
    uint8_t var, shift, lshift;
    uint32_t mask, base;
};

/** What is written into each packet for the sink (packet/stamp.h). */
struct gen_stamp {
    uint16_t offset; /* in the frame; 0: there is no stamp */
    uint16_t stream;
    uint8_t instance;
    uint8_t user; /* variable whose value it bears; TEMPLATE_MAX_VARS: there is none */
    uint32_t seq; /* of the next one */
};

struct gen_frames {
    struct gen_frame *frame;
    unsigned n_frames, next, stride; /* instance w of n sends frames w, w + n, ... */
    unsigned n_vars, n_words, n_sums;
    struct gen_var var[TEMPLATE_MAX_VARS];
    unsigned n_by_size[3]; /* words of at least 1, 2, 4 bytes: the wide ones come first */
    struct gen_word word[TEMPLATE_MAX_FIELDS];
    struct gen_field field[TEMPLATE_MAX_FIELDS];
    uint16_t sum_offset[MAX_SUMS]; /* of IPv4 headers with fields that vary */
    struct gen_stamp stamp;        /* set after gen_frames_init() */
    uint16_t mark;  /* of its frames in mbufs that bear them when they come back; 0: none does */
    unsigned ahead; /* lines of a frame, from the first, that are asked for before it is written */
    uint64_t total_len; /* of all frames, without FCS */
    uint16_t max_copied;
    uint8_t *memory;     /* all frames */
    uint16_t buf_offset; /* from an mbuf to its headroom, for prefetching */
};

/** What a word adds to its header's sum. */
static inline uint32_t sum_of_word(uint32_t word, unsigned sum_shift)
{
    word >>= sum_shift;
    return (word >> 16) + (word & 0xffff);
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

/** Mbufs come from now on as they were filled (plan_instance.keeps_frames): only what varies is
 * written into one that bears the next frame. mark: not 0, another one for each gen_frames that
 * fills the same mbufs. The stamp is set before. */
void gen_frames_keep(struct gen_frames *g, uint16_t mark);

/** The mbufs that will be filled next: end[-1], end[-2] and so on. */
struct gen_coming {
    struct rte_mbuf *const *end;
    unsigned n;
};

/** Make the next 1..BURST_MAX packets in mbufs as they come from a mempool; stamps get the TSC of
 * the end. Those that are coming are asked for meanwhile. */
void gen_frames_fill(struct gen_frames *g, struct rte_mbuf **m, unsigned n,
                     const struct gen_coming *coming);

#endif
