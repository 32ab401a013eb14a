/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine that stands on librte_sched. doc/qos.md says what the library leaves to be done. */
#include "sched/sched.h"

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "base/log.h"
#include "sched/library.h"

/* The library can add a profile only if no other is the same in all its numbers; a bucket that is a
 * byte larger makes it another. */
#define SAME_PROFILES 64

#define FLOOD       (UINT64_C(1) << 40) /* bytes: more than can wait */
#define DRAIN_BURST 64
#define DRAIN_IDLE  1000

static void library_free(struct sched *base);

static struct sched *library_create(const struct sched_config *config)
{
    struct library *s =
        rte_zmalloc_socket("sched", sizeof(*s), RTE_CACHE_LINE_SIZE, config->socket);
    unsigned n = config->shape->n_subports;

    if (s == NULL) {
        log_error("scheduler %s: no memory", config->name);
        return NULL;
    }
    s->shape = *config->shape;
    s->direction = config->direction;
    s->overhead = s->shape.overhead;
    s->n_subports = n;
    memcpy(s->subport, config->shape->subports, n * sizeof(s->subport[0]));
    s->shape.subports = s->subport;
    if (library_build(s, config) != 0) {
        library_free(&s->base);
        return NULL;
    }
    return &s->base;
}

/* Let everything that waits pass at once. */
static int open_gates(struct library *s)
{
    uint16_t qsize[QOS_CLASSES];
    struct rte_sched_subport_profile_params subport = {
        .tb_rate = s->clock, .tb_size = FLOOD, .tc_period = qos_unbound_period_ms(s->clock)};
    struct rte_sched_pipe_params pipe = {.tb_rate = s->clock,
                                         .tb_size = FLOOD,
                                         .tc_period = subport.tc_period,
                                         .tc_ov_weight = 1,
                                         .wrr_weights = {1, 1, 1, 1}};
    uint32_t subport_id, pipe_id;

    library_queue_sizes(&s->shape, qsize);
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        subport.tc_rate[c] = s->clock / 2;
        pipe.tc_rate[c] = qsize[c] != 0 ? s->clock / 2 : 0;
    }
    if (rte_sched_port_subport_profile_add(s->port, &subport, &subport_id) != 0)
        return -EINVAL;
    for (uint32_t i = 0; i < s->n_subports; i++) {
        rte_sched_subport_tc_ov_config(s->port, i, false);
        rte_sched_subport_config(s->port, i, NULL, subport_id);
        if (rte_sched_subport_pipe_profile_add(s->port, i, &pipe, &pipe_id) != 0)
            return -EINVAL;
        for (uint32_t k = 0; k < s->shape.pipes_per_subport; k++)
            rte_sched_pipe_config(s->port, i, k, (int32_t)pipe_id);
    }
    return 0;
}

/* The library frees what waits, but takes a queue that is exactly full for an empty one: so nothing
 * may wait. Room for the two profiles that this needs was left when the port was built. */
static void drain(struct library *s)
{
    struct rte_mbuf *m[DRAIN_BURST];

    if (open_gates(s) != 0)
        return;
    for (unsigned idle = 0; sched_held(&s->base) > 0 && idle < DRAIN_IDLE; idle++) {
        int n = rte_sched_port_dequeue(s->port, m, DRAIN_BURST);
        rte_pktmbuf_free_bulk(m, (unsigned)n);
        sched_count_sent(&s->base, (uint32_t)n);
        if (n > 0)
            idle = 0;
    }
}

static void library_free(struct sched *base)
{
    struct library *s = library_of(base);

    if (sched_held(&s->base) > 0)
        drain(s);
    rte_sched_port_free(s->port);
    rte_free(s);
}

static inline uint32_t subport_of(const struct library *s, const struct rte_mbuf *m)
{
    return m->hash.sched.queue_id / QOS_QUEUES >> s->pipe_shift;
}

/* Whom the library has refused it says only in these counters, which it clears when they are read.
 */
static void count_refused(struct library *s, uint32_t subport)
{
    struct rte_sched_subport_stats stats;
    uint32_t oversubscribed;

    rte_sched_subport_read_stats(s->port, subport, &stats, &oversubscribed);
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        struct sched_class *k = sched_class_of(&s->base, subport, c);
        uint64_t aqm = stats.n_pkts_cman_dropped[c], tail = stats.n_pkts_tc_dropped[c] - aqm;

        k->accepted -= tail + aqm;
        k->tail += tail;
        k->aqm += aqm;
        s->dropped.tail += tail;
        *(s->aqm == AQM_RED ? &s->dropped.red : &s->dropped.pie) += aqm;
    }
}

static uint32_t library_enqueue(struct sched *base, struct rte_mbuf **m, uint32_t n)
{
    struct library *s = library_of(base);
    uint64_t touched[QOS_MAX_SUBPORTS / 64] = {0};
    uint32_t accepted;

    if (n == 0) /* the library would read m[-1] */
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t subport = subport_of(s, m[i]);

        touched[subport / 64] |= UINT64_C(1) << subport % 64;
        sched_class_of(base, subport, m[i]->hash.sched.queue_id % QOS_QUEUES)->accepted++;
    }
    accepted = (uint32_t)rte_sched_port_enqueue(s->port, m, n);
    for (uint32_t i = 0; accepted < n && i < s->n_subports; i++)
        if ((touched[i / 64] >> i % 64 & 1) != 0)
            count_refused(s, i);
    sched_count_accepted(base, accepted);
    return accepted;
}

/* The library reads the TSC itself: now must be about that. */
static uint32_t library_dequeue(struct sched *base, uint64_t now, struct rte_mbuf **m, uint32_t n)
{
    struct library *s = library_of(base);
    uint64_t bytes = 0;

    /* The library does not hold to the rate of its port: what it sends advances its clock, which
     * gives it the credits to send more. Without this, time would run away whenever the bursts or
     * the subports add up to more than the line. */
    if (n == 0 || s->free_at > now)
        return 0;
    if (now - s->free_at > s->slack)
        s->free_at = now - s->slack;
    if (unlikely((now - s->previous) >> LIBRARY_CLOCK_WRAP_LOG2 != 0))
        sched_count_lost(base,
                         (now - s->previous) >> LIBRARY_CLOCK_WRAP_LOG2 << LIBRARY_CLOCK_WRAP_LOG2);
    s->previous = now;

    uint32_t got = (uint32_t)rte_sched_port_dequeue(s->port, m, n);

    for (uint32_t i = 0; i < got; i++) {
        struct sched_class *k =
            sched_class_of(base, subport_of(s, m[i]), m[i]->hash.sched.queue_id % QOS_QUEUES);

        k->sent++;
        k->bytes += m[i]->pkt_len + s->overhead;
        bytes += m[i]->pkt_len + s->overhead;
    }
    s->free_at += (bytes * s->cycles_per_byte) >> 20;
    sched_count_sent(base, got);
    return got;
}

static int library_set_profile(struct sched *base, uint32_t pipe, uint32_t profile)
{
    struct library *s = library_of(base);
    if (pipe >= s->n_pipes || profile >= s->n_profiles)
        return -EINVAL;
    return rte_sched_pipe_config(s->port, pipe >> s->pipe_shift,
                                 pipe & (s->shape.pipes_per_subport - 1), (int32_t)profile);
}

static int library_add_profile(struct sched *base, const struct qos_shape *shape)
{
    struct library *s = library_of(base);
    struct rte_sched_pipe_params p;
    uint32_t id = 0;

    if (s->n_profiles == s->max_profiles)
        return -ENOSPC;
    if (library_pipe_params(s, shape, &p) != 0)
        return -EINVAL;
    /* All subports have the same profiles, so that they accept or refuse this one alike. */
    for (uint32_t i = 0; i < s->n_library_subports; i++) {
        int ret = rte_sched_subport_pipe_profile_add(s->port, i, &p, &id);
        for (unsigned k = 0; ret != 0 && i == 0 && k < SAME_PROFILES; k++) {
            p.tb_size++;
            ret = rte_sched_subport_pipe_profile_add(s->port, i, &p, &id);
        }
        if (ret != 0)
            return -EINVAL;
    }
    return (int)s->n_profiles++;
}

/* The library's profile with that rate for that subport, made if there is none yet. */
static int subport_profile(struct library *s, uint32_t subport, uint64_t rate, uint32_t *id)
{
    struct rte_sched_subport_profile_params p;

    for (uint32_t i = 0; i < s->n_subport_profiles; i++) {
        if (s->subport_profile[i].subport == subport && s->subport_profile[i].rate == rate) {
            *id = i;
            return 0;
        }
    }
    if (library_subport_params(s, &s->subport[subport], rate, &p) != 0)
        return -EINVAL;
    if (s->n_subport_profiles == s->n_subports + LIBRARY_SUBPORT_RATES)
        return -ENOSPC;
    for (unsigned k = 0; k < SAME_PROFILES + s->n_subport_profiles; k++, p.tb_size++) {
        if (rte_sched_port_subport_profile_add(s->port, &p, id) != 0)
            continue;
        s->subport_profile[*id].subport = subport;
        s->subport_profile[*id].rate = rate;
        s->n_subport_profiles++;
        return 0;
    }
    return -EINVAL;
}

static int library_set_subport_rate(struct sched *base, uint32_t subport, uint64_t rate)
{
    struct library *s = library_of(base);
    uint32_t id;

    if (subport >= s->n_subports)
        return -EINVAL;
    int ret = subport_profile(s, subport, rate, &id);
    /* The subport exists: only its profile changes, and the other parameters are not read. */
    return ret != 0 ? ret : rte_sched_subport_config(s->port, subport, NULL, id);
}

static struct sched_drops library_drops(const struct sched *base)
{
    return ((const struct library *)base)->dropped;
}

static int library_read_queue(struct sched *base, uint32_t pipe, unsigned queue,
                              struct sched_queue_counters *add)
{
    struct library *s = library_of(base);
    struct rte_sched_queue_stats stats;

    if (pipe >= s->n_pipes || queue >= QOS_QUEUES)
        return -EINVAL;
    int ret = rte_sched_queue_read_stats(s->port, pipe * QOS_QUEUES + queue, &stats, &add->depth);
    if (ret != 0)
        return ret;
    add->packets += stats.n_pkts;
    add->bytes += stats.n_bytes;
    add->tail += stats.n_pkts_dropped - stats.n_pkts_cman_dropped;
    add->aqm += stats.n_pkts_cman_dropped;
    add->dropped_bytes += stats.n_bytes_dropped;
    return 0;
}

const struct sched_engine sched_library = {
    .create = library_create,
    .free = library_free,
    .enqueue = library_enqueue,
    .dequeue = library_dequeue,
    .set_profile = library_set_profile,
    .add_profile = library_add_profile,
    .set_subport_rate = library_set_subport_rate,
    .drops = library_drops,
    .read_queue = library_read_queue,
};
