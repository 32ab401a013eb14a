/* SPDX-License-Identifier: BSD-3-Clause */
#include "tester/gen_frames.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_memcpy.h>

#include "engine/task.h"
#include "packet/stamp.h"

/* From a template to what gen_fill.c works with. */

#define LONG_FRAME 256u /* bytes: a call costs less than what it saves */
#define IPV4_LEN   20u  /* templates have no options */

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
    uint32_t seed = hash_seed(share->seed);

    g->n_vars = t->n_vars;
    for (unsigned i = 0; i < t->n_vars; i++) {
        const struct template_var *from = &t->vars[i];
        struct gen_var *v = &g->var[i];
        uint64_t count = (uint64_t)from->last - from->first + 1;

        v->first = from->first;
        v->last = from->last - from->first;
        v->is_random = from->step == 0;
        v->at = (uint32_t)((uint64_t)from->step * share->worker % count);
        v->step = (uint32_t)((uint64_t)from->step * share->workers % count);
        if (v->is_random) {
            /* each variable of each instance counts from elsewhere, in another odd step */
            v->at = hash(seed + share->worker * TEMPLATE_MAX_VARS + i);
            v->step = hash(v->at + GOLDEN) | 1;
        }
    }
}

/* The word that holds a field, or a new one. Wide fields come first, so that a field which shares
 * bytes with others lies within the word of the widest. */
static struct gen_word *find_word(struct gen_frames *g, const struct template_field *f)
{
    struct gen_word *w;

    for (w = g->word; w < g->word + g->n_words; w++)
        if (f->offset < w->offset + w->size && w->offset < f->offset + f->size)
            return w;
    g->n_words++;
    *w = (struct gen_word){.offset = f->offset, .size = f->size, .sum = SUM_NONE};
    return w;
}

static uint32_t read_word(const uint8_t *frame, const struct gen_word *w)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < w->size; i++)
        v |= (uint32_t)frame[w->offset + i] << 8 * (3 - i);
    return v;
}

static void init_words(struct gen_frames *g, const struct pkt_template *t)
{
    uint8_t n = 0;

    for (unsigned size = 4; size > 0; size /= 2) {
        for (unsigned i = 0; i < t->n_fields; i++)
            if (t->fields[i].size == size)
                find_word(g, &t->fields[i]);
        g->n_by_size[size / 2] = g->n_words;
    }
    for (struct gen_word *w = g->word; w < g->word + g->n_words; w++) {
        w->fixed = read_word(t->frames[0].bytes, w);
        w->first_field = n;
        for (unsigned i = 0; i < t->n_fields; i++) {
            const struct template_field *f = &t->fields[i];

            if (find_word(g, f) != w)
                continue;
            g->field[n++] = (struct gen_field){
                .var = f->var,
                .shift = f->shift,
                .lshift = (uint8_t)(f->lshift + 8 * (w->offset + 4 - f->offset - f->size)),
                .mask = f->mask,
                .base = f->base};
        }
        w->n_fields = (uint8_t)(n - w->first_field);
    }
}

/* The word is left out of the sums of its header. */
static void leave_out(struct gen_frames *g, struct gen_word *w)
{
    for (unsigned s = 0; s < g->n_sums; s++) {
        if (w->offset < g->sum_offset[s] || w->offset >= g->sum_offset[s] + IPV4_LEN)
            continue;
        w->sum = (uint8_t)s;
        w->sum_shift = w->size == 1 && (w->offset - g->sum_offset[s]) % 2 == 1 ? 8 : 0;
        for (unsigned i = 0; i < g->n_frames; i++)
            g->frame[i].sum[s] -= sum_of_word(w->fixed, w->sum_shift);
    }
}

static uint32_t sum_header(const uint8_t *at)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < IPV4_LEN; i += 2)
        if (i != CSUM_OFFSET)
            sum += (uint32_t)at[i] << 8 | at[i + 1];
    return sum;
}

/* Frames of several sizes differ in the lengths in their headers, and in nothing else. */
static void init_sums(struct gen_frames *g, const struct pkt_template *t)
{
    g->n_sums = t->n_ipv4;
    for (unsigned s = 0; s < t->n_ipv4; s++) {
        g->sum_offset[s] = t->ipv4_offset[s];
        for (unsigned i = 0; i < g->n_frames; i++)
            g->frame[i].sum[s] = sum_header(g->frame[i].bytes + g->sum_offset[s]);
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
    init_words(g, t);
    init_sums(g, t);
    for (unsigned i = 0; i < g->n_words; i++)
        leave_out(g, &g->word[i]);
    g->ahead = g->max_copied > COPY_UNIT ? 2 : 1; /* of more the processor sees what comes */
    return 0;
}

/* A line that is not written is not asked for either: the device's core may have it. */
void gen_frames_keep(struct gen_frames *g, uint16_t mark)
{
    unsigned end = g->stamp.offset != 0 ? g->stamp.offset + STAMP_LEN : 0;

    g->mark = mark;
    for (unsigned i = 0; i < g->n_words; i++)
        end = RTE_MAX(end, (unsigned)g->word[i].offset + g->word[i].size);
    if (g->n_frames == 1)
        g->ahead = RTE_MIN(g->ahead, (end + COPY_UNIT - 1) / COPY_UNIT);
}

void gen_frames_fini(struct gen_frames *g)
{
    rte_free(g->frame);
    rte_free(g->memory);
    g->frame = NULL;
    g->memory = NULL;
}

/*
 * First the words with fields that vary are computed for the whole burst, many packets at once by
 * vector instructions. A checksum is the sum of what never changes, known at the start, plus those
 * words (adding up the whole header again takes almost twice as long for a packet of 64 bytes).
 * Then packet after packet is written: the frame is copied and the words go over it, and nothing is
 * read back. (Word after word over all packets is half as fast on pages of 4 KiB: the TLB for
 * stores is small.) Between the packets the lines of the next burst are asked for, one packet's for
 * each that is written: the processor has room for a dozen lines under way, and a whole burst's at
 * once keep it from doing anything else.
 */

static void draw(struct gen_var *v, uint32_t *restrict value, unsigned n)
{
    const uint32_t at = v->at, step = v->step, first = v->first, last = v->last;

    if (!v->is_random) {
        for (unsigned i = 0; i < n; i++) {
            value[i] = first + v->at;
            v->at = step > last - v->at ? v->at + step - last - 1 : v->at + step;
        }
        return;
    }
    v->at = at + step * n;
    if (last == UINT32_MAX) {
        for (unsigned i = 0; i < n; i++)
            value[i] = hash(at + step * i);
    } else {
        for (unsigned i = 0; i < n; i++)
            value[i] = first + (uint32_t)((uint64_t)hash(at + step * i) * (last + 1) >> 32);
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
    meta_set_subscriber(m, 0);
    meta_set_nexthop(m, 0);
    meta_set_out_port(m, 0);
    return (uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM;
}

/* The bits of a field in its word. */
static inline uint32_t place(const struct gen_field *f, uint32_t value)
{
    return (f->base + (value >> f->shift & f->mask)) << f->lshift;
}

/* The words of one place in network order; sum: of their header, NULL if it has none. (htonl(), as
 * the compiler makes vectors of it, which it does not of DPDK's byte swap.) */
static inline void make_word(const struct gen_word *w, const struct gen_field *field,
                             uint32_t (*value)[BURST_MAX], uint32_t *restrict word,
                             uint32_t *restrict sum, unsigned n)
{
    const struct gen_field f = field[0];
    const uint32_t *restrict var = value[f.var];
    const uint32_t fixed = w->fixed;
    const unsigned shift = w->sum_shift;

    for (unsigned i = 0; i < n; i++)
        word[i] = fixed | place(&f, var[i]);
    for (unsigned k = 1; k < w->n_fields; k++) {
        const struct gen_field more = field[k];
        const uint32_t *restrict other = value[more.var];

        for (unsigned i = 0; i < n; i++)
            word[i] |= place(&more, other[i]);
    }
    for (unsigned i = 0; i < n; i++) {
        const uint32_t x = word[i];

        word[i] = htonl(x);
        if (sum != NULL)
            sum[i] += sum_of_word(x, shift);
    }
}

/* RFC 1071, in network order; the sum of a header's words has less than 32 bits. */
static void finish_sum(uint32_t *sum, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint32_t s = (sum[i] & 0xffff) + (sum[i] >> 16);

        s = ~((s & 0xffff) + (s >> 16));
        sum[i] = (s & 0xff) << 8 | (s >> 8 & 0xff);
    }
}

/* All words and checksums of a burst in network order, and the users of its stamps. */
struct words {
    uint32_t word[TEMPLATE_MAX_FIELDS][BURST_MAX];
    uint32_t sum[MAX_SUMS][BURST_MAX];
    uint32_t user[BURST_MAX];
};

/* Of each packet: the sum of what does not vary in its header s. */
static void start_sum(const struct gen_frames *g, unsigned s, uint32_t *restrict sum, unsigned n)
{
    const struct gen_frame *frame = g->frame;
    unsigned next = g->next;

    if (likely(g->n_frames == 1)) {
        for (unsigned i = 0; i < n; i++)
            sum[i] = frame->sum[s];
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        sum[i] = frame[next].sum[s];
        next += g->stride;
        if (next >= g->n_frames)
            next -= g->n_frames;
    }
}

static void keep_users(const struct gen_frames *g, uint32_t (*value)[BURST_MAX],
                       uint32_t *restrict user, unsigned n)
{
    if (g->stamp.user < g->n_vars)
        memcpy(user, value[g->stamp.user], n * sizeof(*user));
    else
        memset(user, 0xff, n * sizeof(*user)); /* STAMP_NO_USER */
}

static void make_words(struct gen_frames *g, struct words *all, unsigned n)
{
    uint32_t value[TEMPLATE_MAX_VARS][BURST_MAX];

    for (unsigned v = 0; v < g->n_vars; v++)
        draw(&g->var[v], value[v], n);
    if (g->stamp.offset != 0)
        keep_users(g, value, all->user, n);
    for (unsigned s = 0; s < g->n_sums; s++)
        start_sum(g, s, all->sum[s], n);
    for (unsigned k = 0; k < g->n_words; k++) {
        const struct gen_word *w = &g->word[k];

        make_word(w, &g->field[w->first_field], value, all->word[k],
                  w->sum == SUM_NONE ? NULL : all->sum[w->sum], n);
    }
    for (unsigned s = 0; s < g->n_sums; s++)
        finish_sum(all->sum[s], n);
}

/* Write the words of packet i. */
static inline void put_words(const struct gen_frames *g, const struct words *all, unsigned i,
                             uint8_t *data)
{
    const struct gen_word *w = g->word;
    unsigned k = 0;

    for (; k < g->n_by_size[2]; k++)
        memcpy(data + w[k].offset, &all->word[k][i], 4);
    for (; k < g->n_by_size[1]; k++)
        memcpy(data + w[k].offset, &all->word[k][i], 2);
    for (; k < g->n_by_size[0]; k++)
        memcpy(data + w[k].offset, &all->word[k][i], 1);
    for (unsigned s = 0; s < g->n_sums; s++)
        memcpy(data + g->sum_offset[s] + CSUM_OFFSET, &all->sum[s][i], 2);
}

/* Last of all, so that the time is that of sending. */
static void put_stamps(struct gen_frames *g, const struct words *all, struct rte_mbuf **m,
                       unsigned n)
{
    const struct gen_stamp *at = &g->stamp;
    struct stamp s = {
        .tsc = rte_rdtsc(), .seq = at->seq, .stream = at->stream, .instance = at->instance};

    for (unsigned i = 0; i < n; i++, s.seq++) {
        s.user = all->user[i];
        stamp_write(rte_pktmbuf_mtod_offset(m[i], uint8_t *, at->offset), &s);
    }
    g->stamp.seq = s.seq;
}

/* Ask for the lines that are written first of an mbuf and its frame. */
static inline void prefetch(const struct gen_frames *g, struct rte_mbuf *m)
{
    uint8_t *data = (uint8_t *)m + g->buf_offset;

    __builtin_prefetch(m, 1, 3);
    for (unsigned i = 0; i < g->ahead; i++)
        __builtin_prefetch(data + i * COPY_UNIT, 1, 3);
}

/* Write frame number `frame`, unless the mbuf bears it. Which one it bears stands in the mbuf, in a
 * field that only a receiving device or a task would use: such mbufs come to neither. */
static inline void put_frame(const struct gen_frames *g, struct rte_mbuf *m, uint32_t frame,
                             uint8_t *data)
{
    const struct gen_frame *f = &g->frame[frame];
    const uint8_t *from = f->bytes;
    const unsigned copied = f->copied;

    if (g->mark != 0) {
        if (likely(m->hash.fdir.hi == g->mark && m->hash.fdir.lo == frame))
            return;
        m->hash.fdir.hi = g->mark;
        m->hash.fdir.lo = frame;
    }
    if (copied > LONG_FRAME)
        memcpy(data, from, copied); /* by the widest instructions of this CPU */
    else
        for (unsigned at = 0; at < copied; at += COPY_UNIT)
            rte_mov64(data + at, from + at);
}

void gen_frames_fill(struct gen_frames *g, struct rte_mbuf **m, unsigned n,
                     const struct gen_coming *coming)
{
    const unsigned n_frames = g->n_frames, stride = g->stride;
    unsigned next = g->next;
    struct words all;

    for (unsigned i = 0; i < n; i++)
        prefetch(g, m[i]);
    make_words(g, &all, n);
    for (unsigned i = 0; i < n; i++) {
        uint8_t *data = reset(m[i], g->frame[next].len);

        if (i < coming->n)
            prefetch(g, coming->end[-1 - (int)i]);
        put_frame(g, m[i], next, data);
        next += stride;
        if (next >= n_frames)
            next -= n_frames;
        put_words(g, &all, i, data);
    }
    g->next = next;
    if (g->stamp.offset != 0)
        put_stamps(g, &all, m, n);
}
