/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/wheel/fq.h"

#include <math.h>

#include "packet/flow.h"
#include "sched/stamp.h"
#include "sched/wheel/wheel.h"

enum { NEW, OLD };

#define REMEMBERS                                                                                  \
    16 /* intervals for which CoDel goes on where it left off (RFC 8289 section 5.5) */
#define MOST_SORTED    64 /* packets of a queue that is given a state */
#define MOST_LOOKED_AT 8  /* words of 64 states, until a queue is told that there is none */
#define MOST_DROPPED   64 /* packets for one that leaves: after a long pause, many are due */

uint32_t fq_states(const struct cfg_scheduler *s)
{
    uint64_t pipes = s->pipes.n, n = 0;

    for (unsigned c = 0; c < QOS_CLASSES; c++)
        if (qos_class_used(s, c) && s->class[c].aqm == AQM_CODEL)
            n += RTE_MIN(s->class[c].codel_active, pipes * (c == QOS_BE ? QOS_BE_QUEUES : 1));
    return (uint32_t)n;
}

/* --- the pool: a bit says of each state whether it holds packets --- */

static void set_busy(struct wheel *w, const struct fq *f)
{
    uint32_t i = (uint32_t)(f - w->fq);

    w->fq_busy[i / 64] |= UINT64_C(1) << i % 64;
    w->fq_in_use++;
}

static void set_idle(struct wheel *w, const struct fq *f)
{
    uint32_t i = (uint32_t)(f - w->fq);

    w->fq_busy[i / 64] &= ~(UINT64_C(1) << i % 64);
    w->fq_in_use--;
}

/* The next state around that holds nothing, or FQ_NOBODY if there is none among some hundred. */
static uint32_t next_idle(struct wheel *w)
{
    uint32_t words = FQ_WORDS(w->n_fq), word = w->fq_hand / 64;
    uint64_t idle = ~w->fq_busy[word] & UINT64_MAX << w->fq_hand % 64;

    for (uint32_t n = 0; idle == 0; n++) {
        if (n == MOST_LOOKED_AT)
            return FQ_NOBODY;
        word = word + 1 < words ? word + 1 : 0;
        idle = ~w->fq_busy[word];
        w->fq_hand = word * 64;
    }
    word = word * 64 + (uint32_t)__builtin_ctzll(idle);
    w->fq_hand = word + 1 < w->n_fq ? word + 1 : 0;
    return word;
}

void fq_start(struct wheel *w)
{
    for (uint32_t i = 0; i < w->n_fq; i++)
        w->fq[i].owner = FQ_NOBODY;
    for (uint32_t i = w->n_fq; i < FQ_WORDS(w->n_fq) * 64; i++) /* there is no such state */
        w->fq_busy[i / 64] |= UINT64_C(1) << i % 64;
}

static bool has_state(const struct wheel_queue *q)
{
    return (q->tail & 1) != 0;
}

static struct fq *state_of(const struct wheel *w, const struct wheel_queue *q)
{
    return &w->fq[(q->tail & WHEEL_POINTER) >> 1];
}

/* Take a state from its queue, which holds one packet at most. */
static void detach(struct wheel *w, struct fq *f)
{
    struct wheel_queue *q = wheel_queue_of(w, f->owner / QOS_QUEUES, f->owner % QOS_QUEUES);

    q->tail = wheel_word(wheel_mbuf(q->head), wheel_number(q->tail));
    f->owner = FQ_NOBODY;
}

/* Take a state that holds nothing for a queue. Returns NULL if none is found. */
static struct fq *take_state(struct wheel *w, uint32_t owner)
{
    uint32_t i = next_idle(w);
    struct fq *f = &w->fq[i];

    if (i == FQ_NOBODY)
        return NULL;
    if (f->owner != FQ_NOBODY)
        detach(w, f);
    f->owner = owner;
    f->known = f->listed = 0;
    f->head[NEW] = f->head[OLD] = FQ_NONE;
    return f;
}

/* --- flows --- */

/* Bits of the flows that have a tag. Places are given away from the lowest on, so the upper half is
 * seldom known. */
static uint32_t with_tag(const struct fq *f, uint16_t tag)
{
    uint32_t bits = 0;

    if (likely(f->known >> FQ_FLOWS / 2 == 0)) {
#pragma GCC unroll 16
        for (unsigned i = 0; i < FQ_FLOWS / 2; i++)
            bits |= (uint32_t)(f->tag[i] == tag) << i;
        return bits & f->known;
    }

#pragma GCC unroll 32
    for (unsigned i = 0; i < FQ_FLOWS; i++)
        bits |= (uint32_t)(f->tag[i] == tag) << i;
    return bits & f->known;
}

/* Append a flow to a list. */
static void list(struct fq *f, unsigned which, uint8_t i)
{
    f->flow[i].next = FQ_NONE;
    *(f->head[which] != FQ_NONE ? &f->flow[f->tail[which]].next : &f->head[which]) = i;
    f->tail[which] = i;
}

/* Find the flow of a tag. One that is not known takes the place of one that holds nothing; where
 * there is none, both share it. */
static unsigned find(struct fq *f, uint16_t tag)
{
    uint32_t same = with_tag(f, tag), unused = ~f->listed;
    unsigned i;

    if (likely(same != 0))
        return (unsigned)__builtin_ctz(same);
    if (unused == 0)
        return tag % FQ_FLOWS;
    i = (unsigned)__builtin_ctz((unused & ~f->known) != 0 ? unused & ~f->known : unused);
    f->flow[i] = (struct fq_flow){0};
    f->tag[i] = tag;
    f->known |= 1u << i;
    return i;
}

/* Take the first packet out of a flow. */
static struct rte_mbuf *pop(const struct wheel *w, struct fq *f, struct fq_flow *flow)
{
    flow->bytes -= wheel_number(flow->packets.head) + w->overhead;
    f->packets--;
    return chain_take(&flow->packets, f->owner);
}

/* Put a packet into its flow. */
static void sort_in(struct wheel *w, struct fq *f, struct rte_mbuf *m)
{
    unsigned i = find(f, flow_of(rte_pktmbuf_mtod(m, uint8_t *), rte_pktmbuf_data_len(m)));
    struct fq_flow *flow = &f->flow[i];

    if (f->packets++ == 0)
        set_busy(w, f);
    if ((f->listed & 1u << i) == 0) {
        f->listed |= 1u << i;
        flow->deficit = w->frame;
        list(f, NEW, (uint8_t)i);
    }
    chain_put(&flow->packets, m);
    flow->bytes += m->pkt_len + w->overhead;
}

/* Give a queue, which holds some packets, a state, and sort those behind the first into flows.
 * Returns NULL if there is no state. */
static struct fq *attach(struct wheel *w, struct wheel_queue *q, uint32_t owner)
{
    uint32_t n = wheel_number(q->tail);
    struct fq *f = take_state(w, owner);
    uint64_t word = q->head, next;

    if (f == NULL)
        return NULL;
    for (uint32_t left = n; left > 1; left--, word = next) {
        next = chain_unlink(word, owner);
        if (left < n)
            sort_in(w, f, wheel_mbuf(word));
    }
    if (n > 1)
        sort_in(w, f, wheel_mbuf(word));
    q->tail = ((uint64_t)(f - w->fq) << 1 | 1) | (uint64_t)n << 48;
    return f;
}

bool fq_put(struct wheel *w, struct rte_mbuf *m, struct wheel_queue *q)
{
    uint32_t path = m->hash.sched.queue_id, packets = wheel_number(q->tail);
    const struct codel *c;
    struct fq *f;

    if (has_state(q)) {
        f = state_of(w, q);
    } else {
        c = &w->profile[wheel_pipe_of(w, path / QOS_QUEUES)->profile]
                 .codel[qos_class_of(path % QOS_QUEUES)];
        if (likely(packets < c->short_packets &&
                   wheel_load(w, q) + m->pkt_len + w->overhead <= c->short_bytes))
            return false;
        f = packets <= MOST_SORTED ? attach(w, q, path) : NULL;
    }
    if (unlikely(f == NULL))
        return false;
    sort_in(w, f, m);
    q->tail += UINT64_C(1) << 48;
    return true;
}

/* --- drops --- */

static struct fq_flow *fattest(struct fq *f)
{
    struct fq_flow *most = NULL;

    for (uint32_t left = f->listed; left != 0; left &= left - 1) {
        struct fq_flow *flow = &f->flow[__builtin_ctz(left)];

        if (chain_packets(&flow->packets) > 0 && (most == NULL || flow->bytes > most->bytes))
            most = flow;
    }
    return most;
}

bool fq_make_room(struct wheel *w, uint32_t pipe, unsigned queue, uint32_t load)
{
    struct wheel_queue *q = wheel_queue_of(w, pipe, queue);
    uint32_t room = w->profile[wheel_pipe_of(w, pipe)->profile].room[queue];
    struct fq *f;

    if (!has_state(q) || load > room)
        return false;
    f = state_of(w, q);
    while (wheel_number(q->tail) >= w->size[queue] || wheel_load(w, q) + load > room) {
        if (f->packets == 0)
            return false;
        wheel_lose(w, pop(w, f, fattest(f)), q, TAIL);
        if (f->packets == 0)
            set_idle(w, f);
    }
    return true;
}

/* --- CoDel --- */

/* Is a time at or after another? At most 2^31 units apart. */
static bool is_due(uint32_t now, uint32_t time)
{
    return (int32_t)(now - time) >= 0;
}

/* The time of the next drop. */
static uint32_t after(const struct codel *c, uint32_t time, uint16_t count)
{
    return time + (uint32_t)((float)c->interval / sqrtf((float)count));
}

/* Has a packet, which was just taken out of its flow, or those before it, waited for too long? */
static bool is_late(struct wheel *w, struct fq_flow *flow, const struct codel *c,
                    const struct rte_mbuf *m, uint32_t now)
{
    if (likely(sched_age(m, w->real) < c->target || flow->bytes <= (uint32_t)w->frame)) {
        flow->above = 0;
        return false;
    }
    if (flow->above == 0) {
        flow->above = (now + c->interval) | 1;
        return false;
    }
    return is_due(now, flow->above);
}

/* Mark a packet, if its class marks and its sender knows of that. */
static bool mark(struct wheel *w, struct rte_mbuf *m)
{
    return w->shape.class[qos_class_of(m->hash.sched.queue_id % QOS_QUEUES)].ecn &&
           wheel_mark(w, m);
}

/* Begin to drop: with as many as the last time, where that is not long ago. */
static void begin(struct fq_flow *flow, const struct codel *c, uint32_t now)
{
    uint16_t more = (uint16_t)(flow->count - flow->last_count);

    flow->dropping = true;
    flow->count = more > 1 && !is_due(now, flow->drop_next + REMEMBERS * c->interval) ? more : 1;
    flow->drop_next = after(c, now, flow->count);
    flow->last_count = flow->count;
}

/* The next packet of a flow that holds some; CoDel may drop those before it, but never the last. */
static struct rte_mbuf *codel(struct wheel *w, struct fq *f, struct fq_flow *flow,
                              const struct codel *c, struct wheel_queue *q)
{
    uint32_t now = (uint32_t)(w->real >> SCHED_STAMP_SHIFT);
    struct rte_mbuf *m = pop(w, f, flow);
    bool late = is_late(w, flow, c, m, now);

    if (likely(!late)) {
        flow->dropping = false;
        return m;
    }
    if (!flow->dropping) {
        bool marked = mark(w, m);

        begin(flow, c, now);
        if (marked)
            return m;
        wheel_lose(w, m, q, CODEL);
        m = pop(w, f, flow);
        is_late(w, flow, c, m, now);
        return m;
    }
    for (unsigned n = 0; n < MOST_DROPPED && late && is_due(now, flow->drop_next); n++) {
        flow->count += flow->count < UINT16_MAX;
        flow->drop_next = after(c, flow->drop_next, flow->count);
        if (mark(w, m))
            return m;
        wheel_lose(w, m, q, CODEL);
        m = pop(w, f, flow);
        late = is_late(w, flow, c, m, now);
    }
    flow->dropping = late;
    return m;
}

/* --- turns --- */

/* Take the flow at the head of a list out of it. */
static unsigned unlist(struct fq *f, unsigned which)
{
    unsigned i = f->head[which];

    f->head[which] = f->flow[i].next;
    return i;
}

/* The flow whose turn it is: deficit round robin, new flows first (RFC 8290 section 4.2). */
static struct fq_flow *choose(struct fq *f, int32_t quantum)
{
    for (;;) {
        unsigned which = f->head[NEW] != FQ_NONE ? NEW : OLD, i = f->head[which];
        struct fq_flow *flow = &f->flow[i];

        if (flow->deficit <= 0) {
            flow->deficit += quantum;
            list(f, OLD, (uint8_t)unlist(f, which));
        } else if (chain_packets(&flow->packets) > 0) {
            return flow;
        } else {
            unlist(f, which);
            if (which == NEW && f->head[OLD] != FQ_NONE)
                list(f, OLD, (uint8_t)i);
            else
                f->listed &= ~(1u << i);
        }
    }
}

void fq_next(struct wheel *w, uint32_t pipe, unsigned queue)
{
    struct wheel_queue *q = wheel_queue_of(w, pipe, queue);
    const struct wheel_profile *p = &w->profile[wheel_pipe_of(w, pipe)->profile];
    struct fq_flow *flow;
    struct rte_mbuf *m;
    struct fq *f;

    if (unlikely(!has_state(q)))
        return;
    f = state_of(w, q);
    flow = choose(f, w->frame);
    m = codel(w, f, flow, &p->codel[qos_class_of(queue)], q);
    flow->deficit -= (int32_t)(m->pkt_len + w->overhead);
    q->head = wheel_word(m, m->pkt_len);
    q->load -= m->pkt_len + w->overhead;
    if (f->packets == 0)
        set_idle(w, f);
}

void fq_fetch_states(const struct wheel *w, struct wheel_queue *const *q, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct fq *f = state_of(w, q[i]);

        if (!has_state(q[i]) || wheel_number(q[i]->tail) == 0)
            continue;
        rte_prefetch0_write(f);
        rte_prefetch0_write(&f->flow[0]);
    }
}

void fq_fetch_packets(const struct wheel *w, struct wheel_queue *const *q, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct fq *f = state_of(w, q[i]);
        const struct fq_flow *flow;

        if (!has_state(q[i]) || f->packets == 0)
            continue;
        flow = &f->flow[f->head[f->head[NEW] != FQ_NONE ? NEW : OLD]];
        if (chain_packets(&flow->packets) == 0)
            continue;
        rte_prefetch0_write(wheel_mbuf(flow->packets.head));
    }
}

void fq_clear(struct wheel *w, uint32_t pipe, unsigned queue)
{
    struct wheel_queue *q = wheel_queue_of(w, pipe, queue);
    struct fq *f;

    if (!has_state(q))
        return;
    f = state_of(w, q);
    if (f->packets > 0)
        set_idle(w, f);
    for (; f->packets > 0; q->tail -= UINT64_C(1) << 48)
        rte_pktmbuf_free(pop(w, f, fattest(f)));
    detach(w, f);
}
