/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the arrays of a wheel stand in its memory. */
#include "sched/wheel/wheel.h"

/* Places between rings, so that the first ones of all do not fall into the same set of a cache. */
#define RING_GAP (RTE_CACHE_LINE_SIZE / sizeof(uint32_t))

/* Offsets of the arrays. Only queues and classes that are used have one. */
struct layout {
    unsigned queues, classes, aqm_queues; /* of a pipe */
    unsigned aqm_size;                    /* bytes for each of aqm_queues */
    uint64_t pipe, queue, tally, aqm, fq, fq_busy, cap, ring, subport_of, subport, class, rest,
        profile, spare, total;
    uint64_t spares;                    /* lines of the timers */
    uint64_t pipe_stride, queue_stride; /* bytes from one to the next of the same queue */
    uint64_t queue_array;               /* bytes from a queue of a pipe to its next one */
};

uint32_t wheel_by_pipe_from = 128 << 10;

/* Give n entries their place at the end, and round up to a line. */
static uint64_t place(uint64_t *end, uint64_t n, uint64_t size)
{
    uint64_t at = *end;

    *end += RTE_ALIGN_CEIL(n * size, RTE_CACHE_LINE_SIZE);
    return at;
}

/* Bytes that a discipline keeps of each queue. */
static unsigned aqm_bytes(enum qos_aqm aqm)
{
    static const unsigned bytes[] = {[AQM_RED] = sizeof(struct rte_red),
                                     [AQM_PIE] = sizeof(struct pie),
                                     [AQM_CODEL] = 0, /* its states are in a pool */
                                     [AQM_L4S] = sizeof(struct l4s)};

    return bytes[aqm];
}

/* Must the bytes that wait in a queue of a class be known? */
static bool is_in_bytes(const struct cfg_class *k)
{
    return k->size != 0 && (k->hold_ns != 0 || k->aqm == AQM_PIE || qos_drops_late(k->aqm));
}

/* Place pipes and queues. Of many pipes those that packets come for are in no cache, and in pages
 * that are not near: then one page had better have a pipe's record and all of its queues. Of fewer,
 * the queues of two pipes that are used stand in one line more often where they are side by side.
 */
static void place_pipes(struct layout *l, uint64_t pipes, uint64_t *end)
{
    const size_t pipe = sizeof(struct wheel_pipe), queue = sizeof(struct wheel_queue);

    if (pipes < wheel_by_pipe_from) {
        l->pipe_stride = pipe;
        l->queue_stride = queue;
        l->queue_array = pipes * queue;
        l->pipe = place(end, pipes, pipe);
        l->queue = place(end, pipes * l->queues, queue);
    } else {
        l->pipe_stride = RTE_ALIGN_CEIL(pipe + l->queues * queue, RTE_CACHE_LINE_SIZE);
        l->queue_stride = l->pipe_stride;
        l->queue_array = queue;
        l->pipe = place(end, pipes, l->pipe_stride);
        l->queue = l->pipe + pipe;
    }
}

static struct layout layout_of(const struct cfg_scheduler *s, unsigned max_profiles)
{
    uint64_t pipes = s->pipes.n, end = sizeof(struct wheel);
    struct layout l = {0};

    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        unsigned queues = c == QOS_BE ? QOS_BE_QUEUES : 1;
        unsigned aqm = aqm_bytes(s->class[c].aqm);

        if (!qos_class_used(s, c))
            continue;
        l.classes++;
        l.queues += queues;
        if (aqm == 0)
            continue;
        l.aqm_queues += queues;
        l.aqm_size = RTE_MAX(l.aqm_size, aqm);
    }
    place_pipes(&l, pipes, &end);
    l.tally = place(&end, pipes * (l.queues + (l.queues < QOS_QUEUES)), sizeof(struct wheel_tally));
    l.aqm = place(&end, pipes * l.aqm_queues, l.aqm_size);
    l.fq = place(&end, fq_states(s), sizeof(struct fq));
    l.fq_busy = place(&end, FQ_WORDS(fq_states(s)), sizeof(uint64_t));
    l.cap = place(&end, pipes * l.classes, sizeof(struct bucket));
    l.ring =
        place(&end, (s->pipes.places + s->n_subports * RING_GAP) * l.classes, sizeof(uint32_t));
    l.subport_of = place(&end, pipes / s->pipes.block, sizeof(uint8_t));
    l.subport = place(&end, s->n_subports, sizeof(struct wheel_subport));
    l.class = place(&end, s->n_subports * QOS_CLASSES, sizeof(struct sched_class_state));
    l.rest = place(&end, s->n_subports * QOS_CLASSES, sizeof(struct sched_class_rest));
    l.profile = place(&end, max_profiles + 1, sizeof(struct wheel_profile));
    l.spares = timers_spares((pipes + s->n_subports) * (l.classes + 1));
    l.spare = place(&end, l.spares, sizeof(struct timers_line));
    l.total = end;
    return l;
}

uint64_t wheel_memory(const struct cfg_scheduler *s, unsigned max_profiles)
{
    return layout_of(s, max_profiles).total;
}

/* Set a queue's pointer to its state of RED, PIE or L4S, and its bits. */
static void lay_out_aqm(struct wheel *w, unsigned queue, uint8_t *first, unsigned *before)
{
    enum qos_aqm aqm = w->shape.class[qos_class_of(queue)].aqm;
    uint16_t bit = (uint16_t)(1u << queue);

    if (w->size[queue] == 0 || aqm == AQM_TAIL)
        return;
    w->aqm_queues |= bit;
    *(qos_drops_late(aqm) ? &w->aqm_chooses : &w->aqm_always) |= bit;
    w->red |= aqm == AQM_RED ? bit : 0;
    w->codel |= aqm == AQM_CODEL ? bit : 0;
    w->l4s |= aqm == AQM_L4S ? bit : 0;
    if (aqm_bytes(aqm) != 0)
        w->aqm[queue] = first + (size_t)(*before)++ * w->n_pipes * w->aqm_size;
}

/* Set the pointers of each queue to its arrays. */
static void lay_out_queues(struct wheel *w, const struct layout *l)
{
    unsigned queues = 0, aqm = 0;
    uint8_t *at = (uint8_t *)w;

    for (unsigned q = 0; q < QOS_QUEUES; q++) {
        const struct cfg_class *k = &w->shape.class[qos_class_of(q)];
        unsigned slot = k->size != 0 ? queues++ : l->queues;

        w->size[q] = k->size;
        w->tally[q] = (struct wheel_tally *)(at + l->tally) + (size_t)slot * w->n_pipes;
        w->queue[q] = at + l->queue + (k->size != 0 ? slot : 0) * l->queue_array;
        w->in_bytes |= (uint16_t)((unsigned)is_in_bytes(k) << q);
        lay_out_aqm(w, q, at + l->aqm, &aqm);
        w->most[q] = (w->codel >> q & 1) != 0 ? UINT16_MAX : k->size; /* FQ-CoDel makes room */
        w->plain_size[q] = (w->aqm_always >> q & 1) != 0 ? 0
                           : is_in_bytes(k)              ? RTE_MIN(k->size, 1)
                                                         : k->size;
    }
}

/* Note whose pipes a subport's are, and set the pointers of its rings, the first from a place on.
 * Returns the place behind the last. */
static size_t lay_out_subport(struct wheel *w, uint32_t subport, const struct cfg_subport *from,
                              uint32_t *ring, size_t place)
{
    uint32_t places = rte_align32pow2(from->pipes);

    memset(w->subport_of + (from->first >> w->block_shift), (int)subport,
           from->pipes >> w->block_shift);
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        if (!qos_class_used(&w->shape, c))
            continue;
        wheel_ring_of(w, subport, c)->pipe = ring + place;
        wheel_ring_of(w, subport, c)->mask = places - 1;
        wheel_ring_of(w, subport, c)->left = w->subport_turn;
        place += places + RING_GAP;
    }
    return place;
}

void wheel_lay_out(struct wheel *w, const struct cfg_subport *subports)
{
    struct layout l = layout_of(&w->shape, w->max_profiles);
    uint8_t *at = (uint8_t *)w;
    size_t place = 0;

    w->pipe = at + l.pipe;
    w->base.pipe_stride = l.pipe_stride;
    w->queue_stride = l.queue_stride;
    w->subport = (struct wheel_subport *)(at + l.subport);
    w->base.class = (struct sched_class_state *)(at + l.class);
    w->base.rest = (struct sched_class_rest *)(at + l.rest);
    w->profile = (struct wheel_profile *)(at + l.profile);
    w->fq = (struct fq *)(at + l.fq);
    w->fq_busy = (uint64_t *)(at + l.fq_busy);
    w->n_fq = fq_states(&w->shape);
    w->aqm_size = (uint8_t)l.aqm_size;
    w->base.pipe_counters = &wheel_pipe_of(w, 0)->counters;
    lay_out_queues(w, &l);
    for (unsigned c = 0, classes = 0; c < QOS_CLASSES; c++)
        if (qos_class_used(&w->shape, c))
            w->cap[c] = (struct bucket *)(at + l.cap) + (size_t)classes++ * w->n_pipes;
    w->subport_of = at + l.subport_of;
    w->block_shift = (uint8_t)__builtin_ctz(w->shape.pipes.block);
    timers_start(&w->timers, w->now, (struct timers_line *)(at + l.spare), l.spares);
    for (uint32_t i = 0; i < w->n_subports; i++)
        place = lay_out_subport(w, i, &subports[i], (uint32_t *)(at + l.ring), place);
}
