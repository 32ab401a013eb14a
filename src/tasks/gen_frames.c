/* SPDX-License-Identifier: BSD-3-Clause */
/* From a template to what gen_fill.c works with. */
#include "tasks/gen_frames.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#define IPV4_LEN 20u /* templates have no options */

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
    return 0;
}

void gen_frames_fini(struct gen_frames *g)
{
    rte_free(g->frame);
    rte_free(g->memory);
    g->frame = NULL;
    g->memory = NULL;
}
