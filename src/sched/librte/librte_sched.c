/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/librte/librte_sched.h"

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "base/log.h"

/* The library refuses a profile that equals another in all its numbers; a bucket that is a byte
 * larger makes it a different one. So many equal profiles can be told apart. */
#define SAME_PROFILES 64

#define FLOOD       (UINT64_C(1) << 40) /* bytes: more than can wait */
#define DRAIN_BURST 64
#define DRAIN_IDLE  1000

/* --- life --- */

/* Let everything that waits leave at once. */
static int open_gates(struct librte *s)
{
    uint16_t qsize[QOS_CLASSES];
    struct rte_sched_subport_profile_params subport = {
        .tb_rate = s->clock, .tb_size = FLOOD, .tc_period = librte_unbound_period_ms(s->clock)};
    struct rte_sched_pipe_params pipe = {.tb_rate = s->clock,
                                         .tb_size = FLOOD,
                                         .tc_period = subport.tc_period,
                                         .tc_ov_weight = 1,
                                         .wrr_weights = {1, 1, 1, 1}};
    uint32_t subport_id, pipe_id;

    librte_queue_sizes(&s->shape, qsize);
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
        for (uint32_t k = 0; k < s->shape.pipes.block; k++)
            rte_sched_pipe_config(s->port, i, k, (int32_t)pipe_id);
    }
    return 0;
}

/* Empty all queues before the library frees them: it takes a queue that is exactly full for an
 * empty one, and would leak its packets. The port was built with room for the two profiles that
 * this needs. */
static void drain(struct librte *s)
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

static void librte_free(struct sched *base)
{
    struct librte *s = librte_of(base);

    if (sched_held(&s->base) > 0)
        drain(s);
    rte_sched_port_free(s->port);
    rte_free(s);
}

static struct sched *librte_create(const struct sched_config *config)
{
    struct librte *s = rte_zmalloc_socket("sched", sizeof(*s), RTE_CACHE_LINE_SIZE, config->socket);
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
    if (librte_build(s, config) != 0) {
        librte_free(&s->base);
        return NULL;
    }
    s->base.backend = &sched_librte;
    return &s->base;
}

/* --- packets --- */

static inline uint32_t subport_of(const struct librte *s, const struct rte_mbuf *m)
{
    return m->hash.sched.queue_id / QOS_QUEUES >> s->pipe_shift;
}

/* Learn what the library has refused: only these counters say it, and reading clears them. */
static void count_refused(struct librte *s, uint32_t subport)
{
    struct rte_sched_subport_stats stats;
    uint32_t oversubscribed;

    rte_sched_subport_read_stats(s->port, subport, &stats, &oversubscribed);
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        struct sched_class_state *k = sched_class_of(&s->base, subport, c);
        uint64_t aqm = stats.n_pkts_cman_dropped[c], tail = stats.n_pkts_tc_dropped[c] - aqm;

        k->accepted -= tail + aqm;
        sched_rest_of(&s->base, subport, c)->tail += tail;
        sched_rest_of(&s->base, subport, c)->aqm += aqm;
        s->dropped.tail += tail;
        *(s->aqm == AQM_RED ? &s->dropped.red : &s->dropped.pie) += aqm;
    }
}

static uint32_t librte_enqueue(struct sched *base, struct rte_mbuf **m, uint32_t n)
{
    struct librte *s = librte_of(base);
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

/* The library reads the TSC itself, so now must be close to it. */
static uint32_t librte_dequeue(struct sched *base, uint64_t now, struct rte_mbuf **m, uint32_t n)
{
    struct librte *s = librte_of(base);
    uint64_t bytes = 0;

    /* The pacer: the library does not keep to the rate of its port. What it sends advances its
     * clock, which gives it the credits to send more, so that its time would run away whenever
     * bursts or subports add up to more than the line. */
    if (n == 0 || s->free_at > now)
        return 0;
    if (now - s->free_at > s->slack)
        s->free_at = now - s->slack;
    if (unlikely((now - s->previous) >> LIBRTE_CLOCK_WRAP_LOG2 != 0))
        sched_count_lost(base,
                         (now - s->previous) >> LIBRTE_CLOCK_WRAP_LOG2 << LIBRTE_CLOCK_WRAP_LOG2);
    s->previous = now;

    uint32_t got = (uint32_t)rte_sched_port_dequeue(s->port, m, n);

    for (uint32_t i = 0; i < got; i++) {
        uint32_t path = m[i]->hash.sched.queue_id, own = m[i]->pkt_len + s->overhead;
        struct sched_class_state *k = sched_class_of(base, subport_of(s, m[i]), path % QOS_QUEUES);

        k->sent++;
        k->bytes += own;
        bytes += own;
        sched_count_pipe(&base->pipe_counters[path / QOS_QUEUES], own);
    }
    s->free_at += (bytes * s->cycles_per_byte) >> 20;
    sched_count_sent(base, got);
    return got;
}

/* --- changes --- */

static int librte_set_profile(struct sched *base, uint32_t pipe, uint32_t profile)
{
    struct librte *s = librte_of(base);

    if (pipe >= s->n_pipes || profile >= s->n_profiles)
        return -EINVAL;
    return rte_sched_pipe_config(s->port, pipe >> s->pipe_shift, pipe & (s->shape.pipes.block - 1),
                                 (int32_t)profile);
}

static int librte_add_profile(struct sched *base, const struct qos_shape *shape)
{
    struct librte *s = librte_of(base);
    struct rte_sched_pipe_params p;
    uint32_t id = 0;

    if (s->n_profiles == s->max_profiles)
        return -ENOSPC;
    if (librte_pipe_params(s, shape, &p) != 0)
        return -EINVAL;
    /* All subports have the same profiles, so they accept or refuse a new one alike. */
    for (uint32_t i = 0; i < s->n_port_subports; i++) {
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

/* Find the library's profile with that rate for that subport, or make it. Returns 0, -EINVAL or
 * -ENOSPC. */
static int subport_profile(struct librte *s, uint32_t subport, uint64_t rate, uint32_t *id)
{
    struct rte_sched_subport_profile_params p;

    for (uint32_t i = 0; i < s->n_subport_profiles; i++) {
        if (s->subport_profile[i].subport == subport && s->subport_profile[i].rate == rate) {
            *id = i;
            return 0;
        }
    }
    if (librte_subport_params(s, &s->subport[subport], rate, &p) != 0)
        return -EINVAL;
    if (s->n_subport_profiles == s->n_subports + LIBRTE_SUBPORT_RATES)
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

static int librte_set_subport_rate(struct sched *base, uint32_t subport, uint64_t rate)
{
    struct librte *s = librte_of(base);
    uint32_t id;
    int ret;

    if (subport >= s->n_subports)
        return -EINVAL;
    ret = subport_profile(s, subport, rate, &id);
    /* Of a subport that exists only the profile changes: other parameters (NULL) are not read. */
    return ret != 0 ? ret : rte_sched_subport_config(s->port, subport, NULL, id);
}

/* --- counters --- */

static struct sched_drops librte_drops(const struct sched *base)
{
    return ((const struct librte *)base)->dropped;
}

static int librte_read_queue(struct sched *base, uint32_t pipe, unsigned queue,
                             struct sched_queue_counters *add)
{
    struct librte *s = librte_of(base);
    struct rte_sched_queue_stats stats;
    int ret;

    if (pipe >= s->n_pipes || queue >= QOS_QUEUES)
        return -EINVAL;
    ret = rte_sched_queue_read_stats(s->port, pipe * QOS_QUEUES + queue, &stats, &add->depth);
    if (ret != 0)
        return ret;
    add->packets += stats.n_pkts;
    add->bytes += stats.n_bytes;
    add->tail += stats.n_pkts_dropped - stats.n_pkts_cman_dropped;
    add->aqm += stats.n_pkts_cman_dropped;
    add->dropped_bytes += stats.n_bytes_dropped;
    return 0;
}

const struct sched_backend sched_librte = {
    .clock = librte_clock,
    .check_rate = librte_check_rate,
    .check_shape = librte_check_shape,
    .check_scheduler = librte_check_scheduler,
    .bytes = librte_bytes,
    .create = librte_create,
    .free = librte_free,
    .enqueue = librte_enqueue,
    .dequeue = librte_dequeue,
    .set_profile = librte_set_profile,
    .add_profile = librte_add_profile,
    .set_subport_rate = librte_set_subport_rate,
    .drops = librte_drops,
    .read_queue = librte_read_queue,
};
