/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a wheel: its memory, building it, changes while it runs, counters. */
#include "sched/wheel/rings.h"
#include "sched/wheel/wheel.h"

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "base/log.h"
#include "sched/shards/shard.h"
#include "sched/stamp.h"

#define SUBPORT_SECS  8e-3 /* depth of a subport's bucket: a core may be kept away for so long */
#define SUBPORT_LEAST 64   /* frames: and at least so deep */
#define STEP_LEAST    1e-4 /* s: a dequeue that comes so late is none after an absence */
#define WRR_PLACES    15
#define FQ_SHORT      8u   /* packets: so many are sorted into flows at once */
#define MIN_RATE      1000 /* bit/s: below, the cycles of a large packet do not fit into 64 bits */

static const struct sched_backend *backend_of(const struct wheel *w);

/* --- before it is built --- */

static void check_rate(struct findings *l, uint64_t clock, uint64_t rate)
{
    if (rate < MIN_RATE)
        FIND_ERROR(l, QOS_RATE_TOO_LOW, .wanted = rate, .achieved = MIN_RATE);
}

static uint64_t wheel_bytes(const struct cfg_scheduler *s, unsigned max_profiles)
{
    return wheel_memory(s, max_profiles) + SCHED_MALLOC_BYTES;
}

/* --- built from the parameters --- */

/* Bytes that a queue of a shape may hold, with overhead: where its length is a time, what the class
 * sends in it, but at least QOS_QUEUE_FRAMES of the largest frames. */
static uint32_t room_of(const struct cfg_scheduler *s, const struct qos_shape *shape,
                        unsigned class)
{
    double hold = (double)s->class[class].hold_ns * 1e-9,
           bytes = (double)RTE_MIN(shape->class_rate[class], shape->rate) / 8 * hold,
           least = (double)QOS_QUEUE_FRAMES * qos_largest_frame(s);

    if (s->class[class].hold_ns == 0 || bytes > WHEEL_ROOM_MAX)
        return WHEEL_ROOM_MAX;
    return (uint32_t)RTE_MAX(bytes, least);
}

/* The times of CoDel for a shape: the target is no less than a packet and a half take, so that a
 * slow link can be filled (RFC 8290 section 5.2.1), and the interval grows by as much. */
static struct codel codel_of(const struct wheel *w, const struct qos_shape *shape, unsigned class)
{
    const struct cfg_class *k = &w->shape.class[class];
    double rate = (double)RTE_MIN(shape->class_rate[class], shape->rate),
           target = (double)k->codel_target_us * 1e-6,
           scaled = RTE_MAX(target, 1.5 * 8 * (double)w->frame / rate),
           interval = (double)k->codel_interval_us * 1e-6 + scaled - target,
           units = (double)w->hz / (1 << SCHED_STAMP_SHIFT);
    uint32_t room = room_of(&w->shape, shape, class);

    return (struct codel){.target = (uint32_t)(scaled * units) + 1,
                          .interval = (uint32_t)(interval * units) + 1,
                          .short_bytes = (uint32_t)RTE_MIN(rate / 8 * scaled, (double)room / 2),
                          .short_packets = RTE_MIN(FQ_SHORT, k->size / 2u)};
}

/* Have the clock go no further at once than a bucket of that pace can earn which lacks the credit
 * for a frame, as that of who is held back does. */
static void limit_step(struct wheel *w, const struct pace *p)
{
    uint64_t frame = bucket_cost(p, (uint32_t)w->frame) >> BUCKET_PLACES,
             least = (uint64_t)(STEP_LEAST * (double)w->hz),
             room = p->depth > frame + least ? p->depth - frame : least;

    w->step = RTE_MIN(w->step, room);
    w->at_once = RTE_MIN(w->at_once, room);
}

/* Fill a profile from a shape. */
static void take_profile(struct wheel *w, const struct qos_shape *shape, struct wheel_profile *p)
{
    memset(p, 0, sizeof(*p));
    p->pace = pace_of(w->hz, shape->rate, shape->burst);
    p->be_turn = w->shape.oversubscription ? w->frame * shape->oversubscription_weight : w->frame;
    for (unsigned q = 0; q < QOS_QUEUES; q++)
        p->room[q] = room_of(&w->shape, shape, qos_class_of(q));
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        if (qos_class_used(&w->shape, c) && w->shape.class[c].aqm == AQM_CODEL)
            p->codel[c] = codel_of(w, shape, c);
        else if (qos_class_used(&w->shape, c) && w->shape.class[c].aqm == AQM_L4S)
            p->l4s[c] = l4s_times_of(w, shape, c);
    for (unsigned q = 0; q < QOS_BE_QUEUES; q++)
        p->wrr_cost[q] = ((1u << WRR_PLACES) + shape->weight[q] / 2) / shape->weight[q];
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        if (!qos_class_used(&w->shape, c) || shape->class_rate[c] >= shape->rate)
            continue;
        p->caps |= (uint16_t)(1u << c);
        w->has_caps = true;
        p->cap_pace[c] = pace_of(w->hz, shape->class_rate[c],
                                 shape->class_rate[c] / 8 * shape->tc_period_ms / 1000);
        limit_step(w, &p->cap_pace[c]);
    }
    limit_step(w, &p->pace);
    w->slowest = RTE_MAX(w->slowest, p->pace.depth);
    w->plain = !w->has_caps && w->aqm_always == 0;
}

/* The pace of a subport, or of a class of one, at a rate in bit/s. */
static struct pace subport_pace(const struct wheel *w, uint64_t rate)
{
    uint64_t bytes = (uint64_t)((double)rate / 8 * SUBPORT_SECS);

    return pace_of(w->hz, rate, RTE_MAX(bytes, (uint64_t)SUBPORT_LEAST * (uint32_t)w->frame));
}

/* Give a subport a rate. A class's own rate is a cap where it is below that. */
static void set_rate(struct wheel *w, uint32_t subport, uint64_t rate)
{
    struct wheel_subport *s = &w->subport[subport];

    s->pace = subport_pace(w, rate);
    w->gate[subport].caps = 0;
    if (rate < w->shape.rate)
        w->gate[subport].caps = WHEEL_SELF_BIT | (s->wallet.purse != NULL ? WHEEL_SHARED_BIT : 0);
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        if (qos_class_used(&w->shape, c) && s->class_rate[c] < rate)
            w->gate[subport].caps |= (uint16_t)(1u << c);
}

/* Fill a subport from its parameters. */
static void take_subport(struct wheel *w, uint32_t i, const struct cfg_subport *from,
                         enum qos_direction direction)
{
    struct wheel_subport *s = &w->subport[i];

    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        s->class_rate[c] = from->class_rate[c];
        s->cap_pace[c] = subport_pace(w, from->class_rate[c]);
        s->cap[c].full_at = w->now;
    }
    s->bucket.full_at = w->now;
    set_rate(w, i, from->rate[direction]);
}

/* Configure RED, PIE and L4S. Returns 0 or -EINVAL. */
static int configure_aqm(struct wheel *w)
{
    int bad = 0;

    w->random = 1;
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        const struct cfg_class *k = &w->shape.class[c];

        if (k->size != 0 && k->aqm == AQM_RED)
            bad |= rte_red_config_init(&w->red_config[c], k->red_weight_log2, k->red_min,
                                       k->red_max, k->red_inverse_probability);
        else if (k->size != 0 && k->aqm == AQM_PIE)
            w->pie_config[c] =
                pie_configure(w->hz, k->pie_target_ms, k->pie_update_ms, k->pie_max_burst_ms,
                              k->pie_tail, 2 * (uint32_t)w->frame);
        else if (k->size != 0 && k->aqm == AQM_L4S)
            w->l4s_config[c] = l4s_configure(w->hz, k->l4s_coupling);
    }
    return bad != 0 ? -EINVAL : 0;
}

/* Fill zeroed memory: a wheel without packets, whose clock begins now. */
static void start(struct wheel *w, const struct sched_config *config)
{
    const struct cfg_scheduler *shape = config->shape;

    w->shape = *shape;
    w->shape.subports = NULL;
    w->hz = rte_get_tsc_hz();
    w->now = w->real = w->start = rte_rdtsc();
    w->step = w->at_once = (uint64_t)(SUBPORT_SECS / 2 * (double)w->hz);
    w->catch_up =
        config->shards == NULL ? (uint64_t)((double)shape->catch_up_ns * 1e-9 * w->hz) : 0;
    w->n_subports = shape->n_subports;
    w->ready_mask = rte_align32pow2(w->n_subports + 1) - 1;
    w->n_pipes = shape->pipes.n;
    w->overhead = shape->overhead;
    w->mtu = shape->mtu;
    w->frame = (int32_t)(shape->mtu + shape->overhead);
    w->subport_turn = config->shards == NULL ? WHEEL_SUBPORT_TURN * w->frame : 0;
    w->wrr_most = (uint32_t)w->frame << WRR_PLACES;
    w->max_profiles = config->max_profiles;
    w->line_pace =
        pace_of(w->hz, shape->rate, (uint64_t)((double)shape->rate / 8 * SCHED_CATCH_UP_SECS));
    w->line.full_at = w->now;
    w->red_time = (double)shape->rate / 8 / (double)w->hz;
    wheel_lay_out(w, shape->subports);
    w->records = config->records != NULL ? config->records : w->pipe;
    w->record_stride = config->records != NULL ? RTE_CACHE_LINE_SIZE : w->base.pipe_stride;
    fq_start(w);
    for (uint32_t i = 0; i < w->n_pipes; i++)
        wheel_pipe_of(w, i)->profile = (uint16_t)w->max_profiles;
    for (uint32_t i = 0; i < w->n_subports; i++)
        take_subport(w, i, &shape->subports[i], config->direction);
    for (unsigned i = 0; i < config->n_profiles; i++)
        take_profile(w, &config->profiles[i].shape[config->direction],
                     &w->profile[w->n_profiles++]);
}

static struct sched *wheel_create(const struct sched_config *config)
{
    uint64_t before = sched_heap_bytes(config->socket);
    uint64_t bytes;
    struct wheel *w;

    if (sched_check_profiles(config, 0) != 0)
        return NULL;
    bytes = wheel_memory(config->shape, config->max_profiles);
    w = rte_zmalloc_socket("sched", bytes, RTE_CACHE_LINE_SIZE, config->socket);
    if (w == NULL) {
        log_error("scheduler %s: no memory for %llu bytes", config->name,
                  (unsigned long long)bytes);
        return NULL;
    }
    start(w, config);
    if (configure_aqm(w) != 0) {
        log_error("scheduler %s: DPDK does not take the parameters of RED", config->name);
        rte_free(w);
        return NULL;
    }
    if (config->shards != NULL &&
        shard_start(w, config->shards, config->shard, config->socket) != 0) {
        log_error("scheduler %s: no memory for a shard", config->name);
        rte_free(w);
        return NULL;
    }
    w->base.backend = backend_of(w);
    w->base.bytes = sched_heap_bytes(config->socket) - before;
    return &w->base;
}

/* Free the packets of a queue, which itself stays as it is but for what its discipline holds. */
static void free_queue(struct wheel *w, uint32_t pipe, unsigned queue)
{
    const struct wheel_queue *q = wheel_queue_of(w, pipe, queue);
    uint64_t word = q->head;
    struct rte_mbuf *m;

    if ((w->codel & 1u << queue) != 0)
        fq_clear(w, pipe, queue);
    if ((w->l4s & 1u << queue) != 0)
        l4s_clear(w, pipe, queue);
    for (uint32_t n = wheel_number(q->tail); n > 0; n--) {
        m = wheel_mbuf(word);
        word = n > 1 ? chain_unlink(word, pipe * QOS_QUEUES + queue) : 0;
        rte_pktmbuf_free(m);
    }
}

static void wheel_free(struct sched *base)
{
    struct wheel *w = wheel_of(base);

    for (unsigned q = 0; q < QOS_QUEUES; q++)
        for (uint32_t i = 0; w->size[q] != 0 && i < w->n_pipes; i++)
            free_queue(w, i, q);
    if (w->shard != NULL)
        shard_stop(w);
    rte_free(w);
}

/* --- while it runs --- */

static int wheel_set_profile(struct sched *base, uint32_t pipe, uint32_t profile)
{
    struct wheel *w = wheel_of(base);
    const struct wheel_profile *f;
    struct wheel_pipe *p;

    if (pipe >= w->n_pipes || profile >= w->n_profiles)
        return -EINVAL;
    f = &w->profile[profile];
    p = wheel_pipe_of(w, pipe);
    p->profile = (uint16_t)profile;
    bucket_fill_half(&p->bucket, &f->pace, w->now);
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        if ((f->caps & 1u << c) != 0)
            bucket_fill_half(&w->cap[c][pipe], &f->cap_pace[c], w->now);
    p->waits = 0;
    wheel_relist(w, pipe, p);
    return 0;
}

static int wheel_add_profile(struct sched *base, const struct qos_shape *shape)
{
    struct wheel *w = wheel_of(base);

    if (w->n_profiles == w->max_profiles)
        return -ENOSPC;
    if (!qos_shape_fits(&w->shape, 0, shape))
        return -EINVAL;
    take_profile(w, shape, &w->profile[w->n_profiles]);
    return (int)w->n_profiles++;
}

static int wheel_set_subport_rate(struct sched *base, uint32_t subport, uint64_t rate)
{
    struct wheel *w = wheel_of(base);
    struct wheel_subport *s;

    if (subport >= w->n_subports || rate < MIN_RATE || rate > w->shape.rate)
        return -EINVAL;
    s = &w->subport[subport];
    set_rate(w, subport, rate);
    bucket_fill_half(&s->bucket, &s->pace, w->now);
    if (w->shard != NULL)
        shard_limit(w, subport);
    w->gate[subport].waits = 0;
    for (uint32_t left = w->gate[subport].backlog; left != 0; left &= left - 1)
        wheel_set_ready(w, subport, (unsigned)__builtin_ctz(left));
    return 0;
}

static uint32_t clear_queue(struct wheel *w, uint32_t pipe, unsigned queue)
{
    struct wheel_queue *q = wheel_queue_of(w, pipe, queue);
    uint32_t n = wheel_number(q->tail);

    free_queue(w, pipe, queue);
    memset(q, 0, sizeof(*q));
    memset(&w->tally[queue][pipe], 0, sizeof(struct wheel_tally));
    if ((w->aqm_queues & ~w->codel & 1u << queue) != 0)
        memset(w->aqm[queue] + (size_t)pipe * w->aqm_size, 0, w->aqm_size);
    sched_rest_of(&w->base, wheel_subport_of(w, pipe), queue)->cleared += n;
    return n;
}

/* A cleared pipe stays where it stands in rings and timers: serve() and wake() take out a pipe
 * without packets when they come across it. */
static int64_t wheel_clear(struct sched *base, uint32_t pipe)
{
    struct wheel *w = wheel_of(base);
    uint32_t n = 0;

    if (pipe >= w->n_pipes)
        return -EINVAL;
    for (unsigned queue = 0; queue < QOS_QUEUES; queue++)
        if (w->size[queue] != 0)
            n += clear_queue(w, pipe, queue);
    wheel_pipe_of(w, pipe)->queued = 0;
    wheel_pipe_of(w, pipe)->limited = SCHED_PROMPT;
    sched_reset_pipe_counters(base, pipe);
    sched_count_sent(base, n);
    return n;
}

/* --- counters --- */

static struct sched_drops wheel_drops(const struct sched *base)
{
    return ((const struct wheel *)base)->dropped;
}

static int wheel_read_queue(struct sched *base, uint32_t pipe, unsigned queue,
                            struct sched_queue_counters *add)
{
    struct wheel *w = wheel_of(base);
    struct wheel_tally *d;
    struct wheel_queue *q;

    if (pipe >= w->n_pipes || queue >= QOS_QUEUES)
        return -EINVAL;
    d = &w->tally[queue][pipe];
    add->tail += d->tail;
    add->aqm += d->aqm;
    add->dropped_bytes += d->bytes;
    add->depth = 0;
    if (w->size[queue] != 0) {
        q = wheel_queue_of(w, pipe, queue);
        add->packets += (q->taken >> WHEEL_TAKEN_BITS) +
                        ((uint64_t)d->packets_moved << (63 - WHEEL_TAKEN_BITS));
        add->bytes += (q->taken & ((UINT64_C(1) << WHEEL_TAKEN_BITS) - 1)) +
                      ((uint64_t)d->bytes_moved << (WHEEL_TAKEN_BITS - 1));
        add->tail += wheel_refused_packets(q->refused);
        add->dropped_bytes += wheel_refused_bytes(q->refused);
        add->depth = (uint16_t)wheel_number(q->tail);
        q->taken = 0;
        q->refused = 0;
    }
    *d = (struct wheel_tally){0};
    return 0;
}

/* What a wheel does: a part of the hot path in one of two ways, and dequeue in one of four. */
#define WHEEL_WITH(its_enqueue, its_expect, its_dequeue)                                           \
    {                                                                                              \
        .check_rate = check_rate, .bytes = wheel_bytes, .create = wheel_create,                    \
        .free = wheel_free, .enqueue = (its_enqueue), .expect = (its_expect),                      \
        .dequeue = (its_dequeue), .set_profile = wheel_set_profile, .clear = wheel_clear,          \
        .add_profile = wheel_add_profile, .set_subport_rate = wheel_set_subport_rate,              \
        .drops = wheel_drops, .read_queue = wheel_read_queue, .knows_drops = true,                 \
    }

const struct sched_backend sched_wheel = WHEEL_WITH(wheel_enqueue, wheel_expect, wheel_dequeue);
const struct sched_backend sched_shard =
    WHEEL_WITH(wheel_enqueue, wheel_expect, wheel_dequeue_shard);
static const struct sched_backend wheel_by_pipe =
    WHEEL_WITH(wheel_enqueue_by_pipe, wheel_expect_by_pipe, wheel_dequeue_by_pipe);
static const struct sched_backend shard_by_pipe =
    WHEEL_WITH(wheel_enqueue_by_pipe, wheel_expect_by_pipe, wheel_dequeue_shard_by_pipe);

/* Those of its layout. */
static const struct sched_backend *backend_of(const struct wheel *w)
{
    if (w->queue_stride == sizeof(struct wheel_queue))
        return w->shard != NULL ? &sched_shard : &sched_wheel;
    return w->shard != NULL ? &shard_by_pipe : &wheel_by_pipe;
}
