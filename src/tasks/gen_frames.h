/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of the task gen: the frames of a template, made ready to be written into mbufs. */
#ifndef TASKS_GEN_FRAMES_H
#define TASKS_GEN_FRAMES_H

#include <rte_mbuf.h>

#include "config/template.h"

/** A frame as it stands in memory: zeros behind it up to a multiple of 64 bytes. */
struct gen_frame {
    uint8_t *bytes;
    uint16_t len;    /* without FCS */
    uint16_t copied; /* len rounded up to 64 */
};

/** A variable of the template; instance w of n takes every n-th value of a step. */
struct gen_var {
    uint64_t random; /* state of the generator */
    uint64_t count;  /* how many values there are */
    uint32_t first;
    uint32_t at, step; /* value - first, and what is added for each packet of this instance */
    bool is_random;
};

/** A field, as a 32-bit big-endian word at an offset: word |= (base + (var >> shift & mask)) <<
 * lshift. */
struct gen_field {
    uint16_t offset;
    uint8_t var, shift, lshift;
    uint8_t sum; /* the IPv4 header that it stands in, or SUM_NONE */
    uint32_t mask, base;
};

/** An IPv4 header with fields that vary: the sum of all that does not. */
struct gen_sum {
    uint16_t offset;
    uint32_t fixed;
};

#define SUM_NONE 0xff
#define MAX_SUMS 2

struct gen_frames {
    struct gen_frame *frame;
    unsigned n_frames, next, stride; /* instance w of n sends frames w, w + n, ... */
    unsigned n_vars, n_fields, n_sums;
    struct gen_var var[TEMPLATE_MAX_VARS];
    struct gen_field field[TEMPLATE_MAX_FIELDS];
    struct gen_sum sum[MAX_SUMS];
    uint64_t total_len; /* of all frames, without FCS */
    uint16_t max_copied;
    uint8_t *memory;     /* all frames */
    uint16_t buf_offset; /* from an mbuf to its headroom, for prefetching */
};

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
