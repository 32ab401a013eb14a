/* SPDX-License-Identifier: BSD-3-Clause */
/* The figures of a qos task: sojourn times, the lag behind an ideal shaper, and runs. */
#include "tasks/qos/qos.h"

#define AVERAGED 8 /* of so many packets that were not held back, one counts in an average */

/* --- runs --- */

/* Write the run of a pipe, for readers on other cores (qos_run()). */
static void set_run(const struct qos *q, struct qos_pipe *p, uint64_t from, uint64_t to)
{
    uint64_t bytes = sched_pipe_counters(q->sched, (uint32_t)(p - q->pipe))->bytes;

    __atomic_store_n(&p->run_seq, p->run_seq + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&p->run_from, from, __ATOMIC_RELAXED);
    __atomic_store_n(&p->run_to, to, __ATOMIC_RELAXED);
    __atomic_store_n(&p->run_bytes, bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&p->run_seq, p->run_seq + 1, __ATOMIC_RELEASE);
}

void qos_begin_run(struct qos *q, uint32_t pipe, uint64_t now)
{
    set_run(q, &q->pipe[pipe], now, now);
}

struct qos_run qos_run(const struct qos_pipe *p)
{
    struct qos_run r;
    uint32_t before, after;

    do {
        before = __atomic_load_n(&p->run_seq, __ATOMIC_ACQUIRE);
        r.from = __atomic_load_n(&p->run_from, __ATOMIC_RELAXED);
        r.to = __atomic_load_n(&p->run_to, __ATOMIC_RELAXED);
        r.bytes = __atomic_load_n(&p->run_bytes, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        after = __atomic_load_n(&p->run_seq, __ATOMIC_RELAXED);
    } while (before != after || (before & 1) != 0);
    return r;
}

void qos_sojourn_times(const struct qos *q, unsigned class, struct hist *to)
{
    *to = q->prompt[class];
    hist_merge(to, &q->held[class]);
}

void qos_lag(const struct qos *q, struct hist *to)
{
    *to = q->lag;
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        hist_merge(to, &q->prompt[c]);
}

/* --- packets that leave --- */

/* Extend the run by a packet that had arrived when the last packet of the run left. Another packet
 * begins a run if it has clearly waited for the shaper. A packet that has not may have overtaken
 * packets of a lower class: it says nothing of the shaper. */
static void extend_run(const struct qos *q, struct qos_pipe *p, uint64_t arrival, uint64_t now,
                       uint64_t own_time)
{
    if (arrival <= p->run_to)
        set_run(q, p, RTE_MIN(p->run_from, arrival), now);
    else if (now - arrival >= QOS_RUN_MIN_PACKETS * own_time)
        set_run(q, p, arrival, now);
}

static inline void average_sojourn(struct qos_pipe *p, uint32_t waited)
{
    p->sojourn += waited - (p->sojourn >> 3);
}

static inline unsigned class_of(uint32_t path)
{
    return qos_class_of(path % QOS_QUEUES);
}

/* Account for a packet whose pipe has lacked credit: its sojourn time, and its lag behind an ideal
 * shaper, which sends a packet when the bucket has filled up for it at the profile's rate since the
 * packet before, and not before it arrived. The first such packet left when its bucket allowed. */
static void account(struct qos *q, const struct rte_mbuf *m, uint64_t now)
{
    uint32_t path = meta_path(m);
    struct qos_pipe *p = &q->pipe[path / QOS_QUEUES];
    uint32_t waited = sched_waited(m, now);
    uint32_t bytes = m->pkt_len + q->shape->overhead;
    uint64_t own_time = (uint64_t)bytes * p->cost >> 8, ideal = p->ideal + own_time,
             arrival = now - ((uint64_t)waited << QOS_TIME_SHIFT);

    if (q->says_limited && m->hash.sched.color == SCHED_LIMITED_FIRST)
        ideal = now;
    if (ideal < arrival)
        ideal = arrival;
    hist_add(&q->lag, ideal < now ? sched_stamp_of(now - ideal) : 0);
    p->ideal =
        ideal < now ? ideal : now; /* sent early, out of the bucket: the ideal shaper starts anew */
    if (waited >= QOS_RUN_MIN_WAIT)
        extend_run(q, p, arrival, now, own_time);
    average_sojourn(p, waited);
    hist_add(&q->held[class_of(path)], waited);
}

/* Was a packet that leaves held back by its subscriber's rates, or is that not known? */
static inline bool is_held_back(const struct qos *q, const struct rte_mbuf *m)
{
    return !q->says_limited || m->hash.sched.color != SCHED_PROMPT;
}

/* Account for the first packet, which was not held back, and those of its class behind it that were
 * not either. Returns their number. */
static uint32_t account_prompt(struct qos *q, struct rte_mbuf *const *m, uint32_t n, uint64_t now)
{
    unsigned class = class_of(meta_path(m[0]));
    struct hist *h = &q->prompt[class];
    uint32_t i = 0, max = 0;
    uint64_t sum = 0;

    do {
        uint32_t waited = sched_waited(m[i], now);

        h->bucket[hist_index(waited)]++;
        sum += waited;
        max = RTE_MAX(max, waited);
        i++;
    } while (i < n && class_of(meta_path(m[i])) == class && !is_held_back(q, m[i]));
    hist_note(h, i, sum, max);
    return i;
}

/* Prefetch what is read of subscribers, but of those who were held back, if that is known: the
 * scheduler has fetched their records when it woke them (sched_config.records). */
static void fetch_records(const struct qos *q, struct rte_mbuf *const *m, uint32_t n)
{
    const uint32_t step = q->says_limited ? AVERAGED : 1;

    for (uint32_t i = 0; i < n; i += step)
        __builtin_prefetch(&q->pipe[meta_path(m[i]) / QOS_QUEUES], 1, 3);
}

void qos_account(struct qos *q, struct rte_mbuf *const *m, uint32_t n, uint64_t now)
{
    fetch_records(q, m, n);
    for (uint32_t i = 0; i < n;) {
        if (unlikely(is_held_back(q, m[i])))
            account(q, m[i++], now);
        else
            i += account_prompt(q, m + i, n - i, now);
    }
    for (uint32_t i = 0; i < n; i += AVERAGED)
        if (likely(!is_held_back(q, m[i])))
            average_sojourn(&q->pipe[meta_path(m[i]) / QOS_QUEUES], sched_waited(m[i], now));
}
