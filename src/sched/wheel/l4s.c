/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/wheel/l4s.h"

#include "packet/flow.h"
#include "sched/stamp.h"
#include "sched/wheel/wheel.h"

/* RFC 9332 appendix A.1, for round trips of up to 100 ms: */
#define UPDATE 0.016 /* s */
#define ALPHA  0.16f /* for a second of delay beyond the target */
#define BETA   3.2f  /* for a second of growth */

#define LEAST_FRAMES 1.5 /* that may wait without a mark */
#define L_FRAMES     15  /* that leave L for one of C that waits */
#define MOST_MISSED  64  /* steps made up for at once: what is left of p' then is 0 */
#define MOST_DROPPED 64  /* packets for one that leaves */

struct l4s_config l4s_configure(uint64_t hz, unsigned coupling)
{
    double second = (double)hz / (1 << SCHED_STAMP_SHIFT);

    return (struct l4s_config){.update = (uint32_t)(UPDATE * second) + 1,
                               .alpha = ALPHA / (float)second,
                               .beta = BETA / (float)second,
                               .coupling = (float)coupling};
}

struct l4s_times l4s_times_of(const struct wheel *w, const struct qos_shape *shape, unsigned class)
{
    const struct cfg_class *k = &w->shape.class[class];
    double rate = (double)RTE_MIN(shape->class_rate[class], shape->rate),
           least = LEAST_FRAMES * 8 * (double)w->frame / rate,
           units = (double)w->hz / (1 << SCHED_STAMP_SHIFT);

    return (struct l4s_times){
        .target = (uint32_t)(RTE_MAX((double)k->l4s_target_us * 1e-6, least) * units) + 1,
        .step = (uint32_t)(RTE_MAX((double)k->l4s_step_us * 1e-6, least) * units) + 1};
}

static struct l4s *state_of(const struct wheel *w, uint32_t pipe, unsigned queue)
{
    return (struct l4s *)(w->aqm[queue] + (size_t)pipe * w->aqm_size);
}

/* --- the controller --- */

/* For how long the packet that has waited longest has. */
static uint32_t delay_of(const struct wheel *w, const struct l4s *s)
{
    uint32_t delay = 0;

    for (unsigned i = 0; i < L4S_SIDES; i++)
        if (chain_packets(&s->chain[i]) > 0)
            delay = RTE_MAX(delay, chain_age(&s->chain[i], w->real));
    return delay;
}

static void step(const struct l4s_config *c, struct l4s *s, uint32_t delay, uint32_t target)
{
    s->base +=
        c->alpha * ((float)delay - (float)target) + c->beta * ((float)delay - (float)s->delay);
    if (s->base < 0)
        s->base = 0;
    if (s->base > 1)
        s->base = 1;
    s->delay = delay;
    s->updated += c->update;
}

/* Steps that nobody came for are made up for: the queue was short, or stood still. */
static void update(const struct wheel *w, const struct l4s_config *c, struct l4s *s,
                   uint32_t target)
{
    uint32_t now = (uint32_t)(w->real >> SCHED_STAMP_SHIFT), delay = delay_of(w, s);

    for (unsigned n = 0; n < MOST_MISSED && now - s->updated >= c->update; n++)
        step(c, s, delay, target);
    if (now - s->updated >= c->update) {
        s->base = 0;
        s->delay = delay;
        s->updated = now;
    }
}

bool l4s_put(struct wheel *w, struct rte_mbuf *m, struct wheel_queue *q)
{
    uint32_t path = m->hash.sched.queue_id, pipe = path / QOS_QUEUES;
    unsigned queue = path % QOS_QUEUES, class = qos_class_of(queue);
    const struct l4s_config *c = &w->l4s_config[class];
    struct l4s *s = state_of(w, pipe, queue);
    unsigned ecn = flow_ecn(rte_pktmbuf_mtod(m, uint8_t *), rte_pktmbuf_data_len(m));

    if (unlikely((uint32_t)(w->real >> SCHED_STAMP_SHIFT) - s->updated >= c->update))
        update(w, c, s, w->profile[wheel_pipe_of(w, pipe)->profile].l4s[class].target);
    chain_put(&s->chain[ecn == ECN_ECT1 || ecn == ECN_CE ? L4S_LOW : L4S_CLASSIC], m);
    q->tail += UINT64_C(1) << 48;
    return true;
}

/* --- turns, marks and drops --- */

/* Does an event of a probability happen? As often as it should, and as evenly (RFC 9332's recur()).
 */
static bool recurs(float *sum, float probability)
{
    *sum += probability;
    if (*sum < 1)
        return false;
    *sum -= 1;
    return true;
}

/* The side whose turn it is. C earns its share while it holds nothing, too, up to a frame: so who
 * sends little there does not wait for its turn. */
static enum l4s_side choose(struct l4s *s, uint32_t frame)
{
    bool low = chain_packets(&s->chain[L4S_LOW]) > 0,
         classic = chain_packets(&s->chain[L4S_CLASSIC]) > 0;

    if (low && (!classic || s->overtaken < L_FRAMES * frame)) {
        s->overtaken += wheel_number(s->chain[L4S_LOW].head);
        if (!classic && s->overtaken > L_FRAMES * frame)
            s->overtaken = L_FRAMES * frame;
        return L4S_LOW;
    }
    if (low)
        s->overtaken -= RTE_MIN(s->overtaken, L_FRAMES * wheel_number(s->chain[L4S_CLASSIC].head));
    return L4S_CLASSIC;
}

/* Is a packet that was just taken out of its chain to be dropped? Marks it where that is due. */
static bool drops(struct wheel *w, const struct l4s_config *c, struct l4s *s, enum l4s_side side,
                  struct rte_mbuf *m, uint32_t late)
{
    float low = c->coupling * s->base, classic = s->base * s->base;
    bool overload = low >= 1;

    if (side == L4S_CLASSIC)
        return recurs(&s->drops[side], classic) && (overload || !wheel_mark(w, m));
    if (overload && recurs(&s->drops[side], classic))
        return true;
    if (recurs(&s->marks, sched_age(m, w->real) >= late ? 1 : RTE_MIN(low, 1.0f)))
        wheel_mark(w, m);
    return false;
}

void l4s_next(struct wheel *w, uint32_t pipe, unsigned queue)
{
    struct wheel_queue *q = wheel_queue_of(w, pipe, queue);
    unsigned class = qos_class_of(queue);
    uint32_t late = w->profile[wheel_pipe_of(w, pipe)->profile].l4s[class].step;
    struct l4s *s = state_of(w, pipe, queue);
    struct rte_mbuf *m;

    for (unsigned n = 0;; n++) {
        enum l4s_side side = choose(s, (uint32_t)w->frame);

        m = chain_take(&s->chain[side], pipe * QOS_QUEUES + queue);
        if (!drops(w, &w->l4s_config[class], s, side, m, late) || n == MOST_DROPPED ||
            wheel_number(q->tail) == 1) /* a pipe that is served has a packet */
            break;
        wheel_lose(w, m, q, L4S);
    }
    q->head = wheel_word(m, m->pkt_len);
    q->load -= m->pkt_len + w->overhead;
}

/* The place of a queue's state, counted from that of the first queue of best effort; beyond all of
 * them for a queue of another class. Arrays by queue, of a constant stride, need no division. */
static inline size_t place_of(const struct wheel *w, const struct wheel_queue *q)
{
    size_t from = (size_t)((const uint8_t *)q - w->queue[QOS_BE]);

    if (likely(w->queue_stride == sizeof(*q)))
        return from / sizeof(*q);
    return from % w->queue_stride / sizeof(*q) * w->n_pipes + from / w->queue_stride;
}

void l4s_fetch_states(const struct wheel *w, struct wheel_queue *const *q, uint32_t n)
{
    if ((w->l4s & 1u << QOS_BE) == 0)
        return;
    for (uint32_t i = 0; i < n; i++) {
        size_t at = place_of(w, q[i]);

        if (at < (size_t)QOS_BE_QUEUES * w->n_pipes && wheel_number(q[i]->tail) > 0)
            rte_prefetch0_write(w->aqm[QOS_BE] + at * w->aqm_size);
    }
}

void l4s_clear(struct wheel *w, uint32_t pipe, unsigned queue)
{
    struct wheel_queue *q = wheel_queue_of(w, pipe, queue);
    struct l4s *s = state_of(w, pipe, queue);

    for (unsigned i = 0; i < L4S_SIDES; i++)
        for (; chain_packets(&s->chain[i]) > 0; q->tail -= UINT64_C(1) << 48)
            rte_pktmbuf_free(chain_take(&s->chain[i], pipe * QOS_QUEUES + queue));
}
