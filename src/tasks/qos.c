/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hierarchical scheduler: what comes in is put into the queue that its path names, what may
 * leave is taken out once in each round. As many packets are taken out as came in since, so that
 * reception can never starve dequeueing; what came in while nothing was taken out is owed.
 *
 * A packet carries its time of arrival in 24 bits beside its path: hash.sched.traffic_class and
 * reserved.
 */
#include <rte_cycles.h>
#include <rte_meter.h>

#include "tasks/qos_impl.h"

enum { DROP_QUEUE_FULL, DROP_RED, DROP_PIE, DROP_NOT_SHAPED, DROP_TOO_BIG };

#define STAMP_MASK 0xffffffu
/* An empty scheduler is asked, too, though less often: buckets fill up only as it is asked, and its
 * clock misses what goes beyond 2^24 cycles. */
#define IDLE_CYCLES (UINT64_C(1) << 20)
/* A dequeue that takes much longer than its packets need has looked at many subscribers who wait
 * for credits. Then the scheduler rests, for three times as long as that took: the core has at
 * least three quarters of its time for reception, and the next search finds more, as credits have
 * come. */
#define LONG_CYCLES (UINT64_C(1) << 15)
#define REST_SHARE  3
#define REST_MAX    (UINT64_C(1) << 20)

const struct qos *qos_state(const struct task *t)
{
    return t->type == &task_qos ? t->state : NULL;
}

static uint32_t stamp_of(uint64_t tsc)
{
    return (uint32_t)(tsc >> QOS_TIME_SHIFT) & STAMP_MASK;
}

/* Only its own core writes it. */
void qos_set_run(struct qos_pipe *p, uint64_t from, uint64_t to)
{
    __atomic_store_n(&p->run_seq, p->run_seq + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&p->run_from, from, __ATOMIC_RELAXED);
    __atomic_store_n(&p->run_to, to, __ATOMIC_RELAXED);
    __atomic_store_n(&p->run_bytes, p->bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&p->run_seq, p->run_seq + 1, __ATOMIC_RELEASE);
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

static uint64_t held(const struct task *t)
{
    const struct qos *q = t->state;

    return sched_held(q->sched);
}

static void count_drops(struct task *t, const struct qos *q)
{
    struct sched_drops d = sched_drops(q->sched);

    t->drops[DROP_QUEUE_FULL] = d.tail;
    t->drops[DROP_RED] = d.red;
    t->drops[DROP_PIE] = d.pie;
}

void qos_count_not_shaped(struct task *t, uint64_t packets)
{
    t->drops[DROP_NOT_SHAPED] += packets;
}

static inline bool has_profile(const struct qos *q, uint32_t path)
{
    uint32_t pipe = path / QOS_QUEUES;

    return pipe < q->n_pipes && (q->in_use[pipe / 64] >> pipe % 64 & 1) != 0;
}

/* Why a packet cannot come before the scheduler at all; -1: it can. */
static inline int refused(const struct qos *q, const struct rte_mbuf *m)
{
    /* a pipe that is nobody's has no rate of its own */
    if (unlikely(!has_profile(q, meta_path(m))))
        return DROP_NOT_SHAPED;
    /* beyond the burst it would stay at the head of its queue for ever */
    if (unlikely(m->pkt_len > q->shape->mtu))
        return DROP_TOO_BIG;
    return -1;
}

static void handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    struct qos *q = t->state;
    uint32_t stamp = stamp_of(rte_rdtsc());
    struct rte_mbuf *in[BURST_MAX];
    uint16_t k = 0;

    for (uint16_t i = 0; i < n; i++) {
        int why = refused(q, m[i]);

        if (unlikely(why >= 0)) {
            task_drop(t, m[i], (unsigned)why);
            continue;
        }
        m[i]->hash.sched.traffic_class = (uint8_t)stamp;
        m[i]->hash.sched.color = RTE_COLOR_GREEN;
        m[i]->hash.sched.reserved = (uint16_t)(stamp >> 8);
        in[k++] = m[i];
    }
    q->owed += k;
    if (unlikely(sched_enqueue(q->sched, in, k) < k))
        count_drops(t, q);
}

/* As if the packet had left its queue again. How full that is says whoever shows it. */
static void explain(struct task *t, struct rte_mbuf *m, const struct task_explain *x)
{
    int why = refused(t->state, m);

    (void)x;
    if (why >= 0)
        task_drop(t, m, (unsigned)why);
    else
        task_emit(t, 0, m);
}

/* A packet that was there when the last of the run left continues the run. Another begins one if it
 * has clearly waited for the shaper. If not, it may have overtaken others that wait in a lower
 * class: it says nothing. */
static void extend_run(struct qos_pipe *p, uint64_t came, uint64_t now, uint64_t own_time)
{
    if (came <= p->run_to)
        qos_set_run(p, RTE_MIN(p->run_from, came), now);
    else if (now - came >= QOS_RUN_MIN_PACKETS * own_time)
        qos_set_run(p, came, now);
}

/* An ideal shaper sends a packet when the bucket has filled up for it at the profile's rate since
 * the one before, and not before it came. */
static void account(struct qos *q, const struct rte_mbuf *m, uint64_t now)
{
    uint32_t path = meta_path(m);
    struct qos_pipe *p = &q->pipe[path / QOS_QUEUES];
    unsigned queue = path % QOS_QUEUES;
    uint32_t arrived = m->hash.sched.traffic_class | (uint32_t)m->hash.sched.reserved << 8;
    uint32_t waited = (stamp_of(now) - arrived) & STAMP_MASK;
    uint32_t bytes = m->pkt_len + q->shape->overhead;
    uint64_t own_time = (uint64_t)bytes * p->cost >> 8, ideal = p->ideal + own_time,
             came = now - ((uint64_t)waited << QOS_TIME_SHIFT);

    if (ideal < came)
        ideal = came;
    hist_add(&q->lag, ideal < now ? stamp_of(now - ideal) : 0);
    p->ideal =
        ideal < now ? ideal : now; /* sent early out of the bucket: the account starts anew */
    __atomic_store_n(&p->bytes, p->bytes + bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&p->packets, p->packets + 1, __ATOMIC_RELAXED);
    if (waited >= QOS_RUN_MIN_WAIT)
        extend_run(p, came, now, own_time);
    p->sojourn += waited - (p->sojourn >> 3);
    hist_add(&q->sojourn[queue < QOS_BE ? queue : QOS_BE], waited);
}

static uint16_t poll(struct task *t, uint64_t now)
{
    struct qos *q = t->state;
    struct rte_mbuf *m[BURST_MAX];
    uint32_t want = RTE_MAX(q->owed, (uint32_t)t->cfg->burst), n;
    uint64_t took;

    if (unlikely(now < q->rests_until))
        return 0;
    want = RTE_MIN(want, (uint32_t)BURST_MAX);
    if (sched_held(q->sched) == 0 && now - q->asked < IDLE_CYCLES)
        return 0;
    q->asked = rte_rdtsc();
    n = sched_dequeue(q->sched, m, want);
    now = rte_rdtsc();
    took = now - q->asked;
    /* where no more may leave, nothing is owed */
    q->owed = n == want && q->owed > n ? q->owed - n : 0;
    t->again = q->owed >= t->cfg->burst;
    if (unlikely(took > LONG_CYCLES))
        q->rests_until = now + RTE_MIN(took * REST_SHARE, REST_MAX);
    if (n == 0)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        __builtin_prefetch(&q->pipe[meta_path(m[i]) / QOS_QUEUES], 1, 3);
    for (uint32_t i = 0; i < n; i++)
        account(q, m[i], now);
    task_emit_burst(t, 0, m, (uint16_t)n);
    return (uint16_t)n;
}

static const char *const directions[] = {[QOS_UP] = "up", [QOS_DOWN] = "down", NULL};

const struct task_type task_qos = {
    .schema = {.type = "qos",
               .help = "holds each subscriber's packets to its profile: hierarchical scheduler",
               .kind = TASK_WORKER,
               .params = {[QOS_ARG_SCHEDULER] = {.name = "scheduler",
                                                 .type = PARAM_SCHEDULER,
                                                 .required = true,
                                                 .help = "the shape in qos.schedulers"},
                          [QOS_ARG_DIRECTION] = {.name = "direction",
                                                 .type = PARAM_ENUM,
                                                 .required = true,
                                                 .choices = directions,
                                                 .help = "which rates of the profiles count"}},
               .outputs = {"to"},
               .drops = {[DROP_QUEUE_FULL] = "queue_full",
                         [DROP_RED] = "red",
                         [DROP_PIE] = "pie",
                         [DROP_NOT_SHAPED] = "not_shaped",
                         [DROP_TOO_BIG] = "too_big"},
               .needs = FACT_PATH},
    .state_size = sizeof(struct qos),
    .init = qos_init,
    .fini = qos_fini,
    .handle = handle,
    .poll = poll,
    .explain = explain,
    .held = held,
    .drops_itself = true,
};
