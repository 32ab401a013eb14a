/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames are copied whole, then the words with fields that vary are changed, one field for the
 * whole burst at a time. A checksum is the sum of what never changes, known at the start, plus what
 * the fields add: no header is read again.
 */
#include "tasks/gen_frames.h"

#include <errno.h>

#include <rte_byteorder.h>
#include <rte_malloc.h>
#include <rte_memcpy.h>

#include "engine/task.h"

#define COPY_UNIT   64u
#define IPV4_LEN    20u /* templates have no options */
#define CSUM_OFFSET 10u
#define RANDOM_STEP 0xa0761d6478bd642full
#define SEED_STEP   0x9e3779b97f4a7c15ull
#define RANDOM_MIX  0xe7037ed1a0b428dbull

__extension__ typedef unsigned __int128 wide;

/* wyrand (public domain, Wang Yi): a counter and one multiplication, so that the packets of a burst
 * do not wait for each other. */
static inline uint64_t next_random(uint64_t *state)
{
    wide product;

    *state += RANDOM_STEP;
    product = (wide)*state * (*state ^ RANDOM_MIX);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static int copy_frames(struct gen_frames *g, const struct pkt_template *t, int socket)
{
    size_t total = 0;
    uint8_t *at;

    for (unsigned i = 0; i < t->n_frames; i++)
        total += RTE_ALIGN_CEIL(t->frames[i].len, COPY_UNIT);
    g->frame = rte_zmalloc_socket("gen", t->n_frames * sizeof(*g->frame), 0, socket);
    g->memory = rte_zmalloc_socket("gen", total, COPY_UNIT, socket);
    if (g->frame == NULL || g->memory == NULL)
        return -ENOMEM;
    at = g->memory;
    for (unsigned i = 0; i < t->n_frames; i++) {
        struct gen_frame *f = &g->frame[i];

        f->bytes = at;
        f->len = t->frames[i].len;
        f->copied = (uint16_t)RTE_ALIGN_CEIL(f->len, COPY_UNIT);
        memcpy(f->bytes, t->frames[i].bytes, f->len);
        at += f->copied;
        g->total_len += f->len;
        g->max_copied = RTE_MAX(g->max_copied, f->copied);
    }
    g->n_frames = t->n_frames;
    return 0;
}

static void init_vars(struct gen_frames *g, const struct pkt_template *t,
                      const struct gen_share *share)
{
    g->n_vars = t->n_vars;
    for (unsigned i = 0; i < t->n_vars; i++) {
        const struct template_var *from = &t->vars[i];
        struct gen_var *v = &g->var[i];
        /* each variable of each instance starts at another place of the generator */
        uint64_t place = share->seed + (share->worker * TEMPLATE_MAX_VARS + i) * SEED_STEP;

        v->first = from->first;
        v->count = (uint64_t)from->last - from->first + 1;
        v->is_random = from->step == 0;
        v->at = (uint32_t)((uint64_t)from->step * share->worker % v->count);
        v->step = (uint32_t)((uint64_t)from->step * share->workers % v->count);
        v->random = next_random(&place);
    }
}

/* Make a field a word of 32 bits that lies within the frame, and where a checksum covers it, at an
 * even distance from its header, so that the word adds to the sum as it is. */
static void init_field(struct gen_frames *g, const struct template_field *from,
                       struct gen_field *to)
{
    unsigned offset = from->offset;

    *to = (struct gen_field){.var = from->var,
                             .shift = from->shift,
                             .lshift = from->lshift,
                             .sum = SUM_NONE,
                             .mask = from->mask,
                             .base = from->base};
    for (unsigned s = 0; s < g->n_sums; s++)
        if (from->offset >= g->sum[s].offset && from->offset < g->sum[s].offset + IPV4_LEN)
            to->sum = (uint8_t)s;
    offset -= RTE_MIN(offset, 4u - from->size);
    if (to->sum != SUM_NONE)
        offset += (g->sum[to->sum].offset - offset) & 1;
    to->offset = (uint16_t)offset;
    to->lshift = (uint8_t)(to->lshift + 8 * (offset + 4 - from->offset - from->size));
}

static void init_sums(struct gen_frames *g, const struct pkt_template *t)
{
    const uint8_t *frame = t->frames[0].bytes;

    g->n_sums = t->n_ipv4;
    for (unsigned s = 0; s < t->n_ipv4; s++) {
        g->sum[s].offset = t->ipv4_offset[s];
        for (unsigned i = 0; i < IPV4_LEN; i += 2)
            if (i != CSUM_OFFSET)
                g->sum[s].fixed +=
                    (uint32_t)frame[t->ipv4_offset[s] + i] << 8 | frame[t->ipv4_offset[s] + i + 1];
    }
}

int gen_frames_init(struct gen_frames *g, const struct pkt_template *t,
                    const struct gen_share *share)
{
    int rc = copy_frames(g, t, share->socket);

    if (rc != 0) {
        gen_frames_fini(g);
        return rc;
    }
    g->next = share->worker % t->n_frames;
    g->stride = share->workers % t->n_frames;
    init_vars(g, t, share);
    init_sums(g, t);
    g->n_fields = t->n_fields;
    for (unsigned i = 0; i < t->n_fields; i++)
        init_field(g, &t->fields[i], &g->field[i]);
    return 0;
}

void gen_frames_fini(struct gen_frames *g)
{
    rte_free(g->frame);
    rte_free(g->memory);
    g->frame = NULL;
    g->memory = NULL;
}

static inline void draw(struct gen_var *v, uint32_t *value, unsigned n)
{
    if (v->is_random) {
        for (unsigned i = 0; i < n; i++)
            value[i] = v->first + (uint32_t)((next_random(&v->random) >> 32) * v->count >> 32);
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        uint64_t next = (uint64_t)v->at + v->step;

        value[i] = v->first + v->at;
        v->at = (uint32_t)(next >= v->count ? next - v->count : next);
    }
}

/* All that a receiving device would write of an mbuf, and all that tasks keep there. A mempool's
 * mbufs have one reference, one segment and no next by rte_mbuf's own contract. */
static inline uint8_t *reset(struct rte_mbuf *m, uint16_t len)
{
    m->data_off = RTE_PKTMBUF_HEADROOM;
    m->nb_segs = 1;
    m->port = 0;
    m->ol_flags = 0;
    m->pkt_len = len;
    m->data_len = len;
    m->tx_offload = 0;
    meta_set_subscriber(m, 0);
    meta_set_nexthop(m, 0);
    meta_set_out_port(m, 0);
    return rte_pktmbuf_mtod(m, uint8_t *);
}

static inline void patch(const struct gen_field *field, const uint32_t *value, uint8_t *const *data,
                         uint64_t *sum, unsigned n)
{
    const struct gen_field f = *field; /* or it would be read again after each store */

    for (unsigned i = 0; i < n; i++) {
        unaligned_uint32_t *word = (unaligned_uint32_t *)(data[i] + f.offset);
        uint32_t v = (f.base + (value[i] >> f.shift & f.mask)) << f.lshift;

        *word |= rte_cpu_to_be_32(v);
        if (sum != NULL)
            sum[i] += v;
    }
}

/* RFC 1071: 2^16 is 1 in one's-complement arithmetic, so 32-bit words add as two of 16 bits. */
static inline uint16_t finish_sum(uint64_t sum)
{
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static inline void copy_all(struct gen_frames *g, struct rte_mbuf **m, uint8_t **data, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct gen_frame *f = &g->frame[g->next];

        g->next += g->stride;
        if (g->next >= g->n_frames)
            g->next -= g->n_frames;
        data[i] = reset(m[i], f->len);
        for (unsigned at = 0; at < f->copied; at += COPY_UNIT)
            rte_mov64(data[i] + at, f->bytes + at);
    }
}

void gen_frames_fill(struct gen_frames *g, struct rte_mbuf **m, unsigned n)
{
    uint32_t value[TEMPLATE_MAX_VARS][BURST_MAX];
    uint64_t sum[MAX_SUMS][BURST_MAX];
    uint8_t *data[BURST_MAX];

    for (unsigned i = 0; i < n; i++) {
        __builtin_prefetch(m[i], 1, 3);
        __builtin_prefetch((uint8_t *)m[i] + g->buf_offset, 1, 3);
    }
    for (unsigned v = 0; v < g->n_vars; v++)
        draw(&g->var[v], value[v], n);
    copy_all(g, m, data, n);
    for (unsigned s = 0; s < g->n_sums; s++)
        for (unsigned i = 0; i < n; i++)
            sum[s][i] = g->sum[s].fixed;
    for (unsigned k = 0; k < g->n_fields; k++) {
        const struct gen_field *f = &g->field[k];

        patch(f, value[f->var], data, f->sum == SUM_NONE ? NULL : sum[f->sum], n);
    }
    for (unsigned s = 0; s < g->n_sums; s++)
        for (unsigned i = 0; i < n; i++)
            *(unaligned_uint16_t *)(data[i] + g->sum[s].offset + CSUM_OFFSET) =
                rte_cpu_to_be_16(finish_sum(sum[s][i]));
}
