/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * qos: the hierarchical scheduler. Packets that arrive are put into the queue that their path
 * names; packets that may leave are taken out once in each round of the core. As many are taken out
 * as arrived since, so that reception can never starve dequeueing; the number that arrived while
 * nothing was taken out is owed.
 *
 * A packet carries the time of its arrival in a stamp beside its path (sched/stamp.h). Its path is
 * that of the scheduler when it comes, and that of this shard from then on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_meter.h>

#include "sched/shards/shards.h"
#include "tasks/qos/instance.h"

enum { OUT_TO };
enum { ARG_SCHEDULER, ARG_DIRECTION, N_ARGS };
static const char *const directions[] = {[QOS_UP] = "up", [QOS_DOWN] = "down", NULL};

static const struct task_param params[N_ARGS] = {
    [ARG_SCHEDULER] = {.name = "scheduler",
                       .type = PARAM_SCHEDULER,
                       .required = true,
                       .help = "the shape in qos.schedulers"},
    [ARG_DIRECTION] = {.name = "direction",
                       .type = PARAM_ENUM,
                       .required = true,
                       .choices = directions,
                       .help = "which rates of the profiles count",
                       .more = "A scheduler has one task for each direction."},
};

static const struct task_drop drops[N_DROPS] = {
    [DROP_FULL] = {"queue_full", "The subscriber's queue was full",
                   "Normal for who sends more than its profile; else a longer queue or "
                   "another profile."},
    [DROP_RED] = {"red", "Dropped early by RED: the queue is long",
                  "Normal for who sends more than its profile."},
    [DROP_PIE] = {"pie", "Dropped early by PIE: the queue's delay is too long",
                  "Normal for who sends more than its profile."},
    [DROP_CODEL] = {"codel", "Dropped by FQ-CoDel: packets of its flow wait for too long",
                    "Normal for who sends more than its profile without ECN."},
    [DROP_L4S] = {"l4s", "Dropped by the dual queue of L4S: packets wait for too long",
                  "Normal for who sends more than its profile without ECN, or does not heed it."},
    [DROP_NOBODY] = {"not_shaped", "The subscriber has no profile in this scheduler",
                     "Give the subscriber one, on a port of the scheduler."},
    [DROP_TOO_BIG] = {"too_big", "Larger than the scheduler's mtu",
                      "Larger mtu of the scheduler: the ports' mtu + 22."},
    [DROP_OTHER_SHARD] = {"other_shard",
                          "The subscriber is on another core of those that the task is on",
                          "None: the lb before it sends each subscriber to his core. Report it."},
};

/* An empty scheduler is asked, too, though less often: its buckets fill up only as it is asked, and
 * librte_sched's clock misses what goes beyond 2^24 cycles. */
#define IDLE_CYCLES (UINT64_C(1) << 20)

/* What a shard has borrowed and does not use goes back in a dequeue. */
#define SHARD_IDLE_PART 2 /* of a quantum */

/* A dequeue of librte_sched that takes much longer than its packets need has looked at many
 * subscribers without credits. The scheduler then pauses for three times as long, so that the core
 * has at least three quarters of its time for reception, and the next dequeue finds more credits.
 * In the wheel such subscribers wait in timers, each is looked at once: where its dequeue took
 * long, the core was away or memory slow, and a pause would hold up what waits for no credit. */
#define LONG_CYCLES (UINT64_C(1) << 15)
#define PAUSE_SHARE 3
#define PAUSE_MAX   (UINT64_C(1) << 20)

#define NEWS_AT_ONCE 16 /* of pipes, in a poll, so that packets wait for no more of them */

const struct qos *qos_state(const struct task *t)
{
    return t->type == &task_qos ? t->state : NULL;
}

/* --- packets in --- */

static void count_drops(struct task *t, const struct qos *q)
{
    struct sched_drops d = sched_drops(q->sched);

    t->drops[DROP_FULL] = d.tail;
    t->drops[DROP_RED] = d.red;
    t->drops[DROP_PIE] = d.pie;
    t->drops[DROP_CODEL] = d.codel;
    t->drops[DROP_L4S] = d.l4s;
}

static inline bool has_profile(const struct qos *q, uint32_t pipe)
{
    return pipe < q->n_pipes && (q->in_use[pipe / 64] >> pipe % 64 & 1) != 0;
}

/* Why a packet is refused whose pipe is not in use here. */
static int refused_pipe(const struct qos *q, uint32_t path)
{
    return q->shards != NULL && path / QOS_QUEUES < q->shards->peers.n * q->n_pipes &&
                   qos_place(q, path / QOS_QUEUES) == CFG_NONE
               ? DROP_OTHER_SHARD
               : DROP_NOBODY;
}

/* The reason for which a packet is not given to the scheduler; -1: none. */
static inline int refused(const struct qos *q, const struct rte_mbuf *m)
{
    /* a pipe without a subscriber has no rate */
    if (unlikely(!has_profile(q, meta_path(m) / QOS_QUEUES - q->first_pipe)))
        return refused_pipe(q, meta_path(m));
    /* no token bucket is sure to hold more than mtu: the packet would block its queue for ever */
    if (unlikely(m->pkt_len > q->shape->mtu))
        return DROP_TOO_BIG;
    return -1;
}

static void put(struct task *t, struct rte_mbuf **m, uint32_t n)
{
    struct qos *q = t->state;

    q->owed += n;
    if (unlikely(sched_enqueue(q->sched, m, n) < n) || q->drops_late)
        count_drops(t, q);
}

static void expect(const struct task *t, struct rte_mbuf *const *m, uint32_t n)
{
    struct qos *q = t->state;

    sched_expect(q->sched, m, n, q->first_pipe * QOS_QUEUES);
    q->announced += n;
}

static void handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    struct qos *q = t->state;
    uint32_t stamp = sched_stamp_of(rte_rdtsc()), k = 0;

    if (q->announced < n)
        expect(t, m, n);
    q->announced = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct rte_mbuf *p = m[i];
        int why = refused(q, p);

        if (unlikely(why >= 0) && qos_has_news(q)) {
            /* the subscriber is new, perhaps; packets so far may be in pipes that are to be closed
             */
            put(t, m, k);
            k = 0;
            qos_take_news(t);
            why = refused(q, p);
        }
        if (unlikely(why >= 0)) {
            task_drop(t, p, (unsigned)why);
            continue;
        }
        sched_tell(p, meta_path(p) - q->first_pipe * QOS_QUEUES, stamp);
        m[k++] = p;
    }
    put(t, m, k);
}

/* Dry run: the packet leaves at once, because how long it would wait is said by explain/notes.c. */
static void explain(struct task *t, struct rte_mbuf *m, const struct task_explain *x)
{
    int why = refused(t->state, m);

    (void)x;
    if (why >= 0)
        task_drop(t, m, (unsigned)why);
    else
        task_emit(t, OUT_TO, m);
}

/* --- packets out --- */

static uint16_t poll(struct task *t, uint64_t now)
{
    struct qos *q = t->state;
    struct rte_mbuf *m[BURST_MAX];
    uint32_t want = RTE_MAX(q->owed, (uint32_t)t->cfg->burst), n;
    uint64_t took;

    if (unlikely(qos_has_news(q)))
        qos_take_some_news(t, NEWS_AT_ONCE);
    if (unlikely(now < q->paused_until))
        return 0;
    want = RTE_MIN(want, (uint32_t)BURST_MAX);
    if (sched_held(q->sched) == 0 && now - q->asked < q->idle_cycles)
        return 0;
    q->asked = rte_rdtsc();
    n = sched_dequeue_at(q->sched, q->asked, m, want);
    now = rte_rdtsc();
    took = now - q->asked;
    /* nothing is owed where no more may leave */
    q->owed = n == want && q->owed > n ? q->owed - n : 0;
    t->again = q->owed >= t->cfg->burst;
    if (unlikely(took > LONG_CYCLES) && q->searches)
        q->paused_until = now + RTE_MIN(took * PAUSE_SHARE, PAUSE_MAX);
    if (n == 0)
        return 0;
    if (q->drops_late)
        count_drops(t, q);
    qos_account(q, m, n, now);
    task_emit_burst(t, OUT_TO, m, (uint16_t)n);
    return (uint16_t)n;
}

static uint64_t held(const struct task *t)
{
    const struct qos *q = t->state;

    return sched_held(q->sched);
}

/* --- start and end --- */

/* List the profiles that the scheduler can do: one of another scheduler may be beyond it. Returns
 * their number. */
static unsigned fit_profiles(struct qos *q, struct cfg_profile *fit)
{
    unsigned n = 0;

    for (unsigned i = 0; i < q->cfg->n_profiles; i++) {
        q->sched_profile[i] = qos_fits(q, i) ? (int16_t)n : (int16_t)-1;
        if (q->sched_profile[i] >= 0)
            fit[n++] = q->cfg->profiles[i];
    }
    return n;
}

/* Make what the instances of the task share, or join the one that has. Returns 0 or -ENOMEM. */
static int join_shards(struct qos *q, const struct task_env *env)
{
    uint64_t across[QOS_MAX_SUBPORTS / 64] = {0};

    if (qos_shards(q->shape) == 1)
        return 0;
    for (unsigned i = 0; i < q->shape->n_subports; i++)
        across[i / 64] |= (uint64_t)!q->shape->subports[i].whole << i % 64;
    q->shards = env->first != NULL
                    ? shards_hold(qos_state(env->first)->shards)
                    : shards_create(q->shape, qos_shards(q->shape), across, env->socket);
    if (q->shards == NULL)
        return -ENOMEM;
    q->idle_cycles = q->shards->quantum / SHARD_IDLE_PART;
    return 0;
}

static int make_sched(struct qos *q, const struct task_env *env, unsigned worker)
{
    struct cfg_scheduler shape = qos_shard_shape(q->shape);
    struct cfg_profile *fit = calloc(q->cfg->n_profiles + 1, sizeof(*fit));
    struct sched_config config = {
        .name = env->cfg->name,
        .socket = env->socket,
        .shape = &shape,
        .direction = q->direction,
        .profiles = fit,
        .shards = q->shards,
        .shard = worker,
        .records = q->pipe,
    };

    if (fit == NULL)
        return -ENOMEM;
    config.n_profiles = fit_profiles(q, fit);
    config.max_profiles = config.n_profiles + room_profiles(q->cfg) - q->cfg->n_profiles;
    q->sched = sched_create(&config);
    free(fit);
    return q->sched != NULL ? 0 : -ENOMEM;
}

/* Has the subscriber a pipe in this scheduler? */
static bool is_ours(const struct qos *q, const struct cfg_subscriber *s)
{
    for (unsigned i = 0; i < q->shape->n_subports; i++)
        if (q->shape->subports[i].port == s->port)
            return s->pipe != CFG_NONE;
    return false;
}

static int fill_pipes(struct task *t, const struct cfg_model *m)
{
    struct qos *q = t->state;
    int rc = 0;

    for (uint32_t i = 0; i < q->n_pipes; i++)
        q->pipe[i].profile = CFG_NONE;
    for (uint32_t i = 0; rc == 0 && i < m->n_subscribers; i++)
        if (is_ours(q, &m->subscribers[i]) && qos_place(q, m->subscribers[i].pipe) != CFG_NONE)
            rc =
                qos_set_profile(t, qos_place(q, m->subscribers[i].pipe), m->subscribers[i].profile);
    return rc;
}

static int allocate(struct qos *q, int socket)
{
    q->pipe = rte_zmalloc_socket("qos", q->n_pipes * sizeof(*q->pipe), RTE_CACHE_LINE_SIZE, socket);
    q->in_use = rte_zmalloc_socket("qos", (q->n_pipes / 64 + 1) * sizeof(*q->in_use),
                                   RTE_CACHE_LINE_SIZE, socket);
    q->news = slots_create(QOS_NEWS, sizeof(struct qos_news));
    return q->pipe != NULL && q->in_use != NULL && q->news != NULL ? 0 : -ENOMEM;
}

static void fini(struct task *t)
{
    struct qos *q = t->state;

    if (q->sched != NULL)
        sched_free(q->sched);
    shards_free(q->shards);
    rte_free(q->pipe);
    rte_free(q->in_use);
    slots_free(q->news);
}

static int init(struct task *t, const struct task_env *env)
{
    const struct cfg_model *m = env->plan->cfg;
    struct qos *q = t->state;
    int rc;

    q->cfg = &m->qos;
    q->shape = &m->qos.schedulers[env->cfg->param[ARG_SCHEDULER].u];
    q->direction = (enum qos_direction)env->cfg->param[ARG_DIRECTION].u;
    q->tsc_hz = env->tsc_hz;
    q->says_limited = q->shape->backend == QOS_WHEEL;
    q->searches = q->shape->backend == QOS_LIBRTE_SCHED;
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        q->drops_late |= qos_class_used(q->shape, c) && qos_drops_late(q->shape->class[c].aqm);
    q->n_pipes = q->shape->pipes.n;
    q->first_pipe = t->worker * q->n_pipes;
    q->idle_cycles = IDLE_CYCLES;
    rc = allocate(q, env->socket);
    if (rc == 0)
        rc = join_shards(q, env);
    if (rc == 0)
        rc = make_sched(q, env, t->worker);
    if (rc == 0)
        rc = fill_pipes(t, m);
    if (rc != 0)
        fini(t);
    return rc;
}

void qos_use(struct task *t, const struct cfg_qos *cfg)
{
    ((struct qos *)t->state)->cfg = cfg;
}

const struct task_type task_qos = {
    .schema = {.type = "qos",
               .help = "holds each subscriber's packets to its profile: hierarchical scheduler",
               .more = "On several cores it is one scheduler, and an lb before it brings each "
                       "subscriber's packets to his core. What is behind it should have on_full "
                       "= \"wait\".",
               .doc = "doc/qos.md",
               .kind = TASK_WORKER,
               .params = params,
               .n_params = N_ARGS,
               .outputs = {[OUT_TO] = {"to", "packets whose turn has come"}},
               .drops = drops,
               .n_drops = N_DROPS,
               .waits = true,
               .needs = FACT_PATH},
    .state_size = sizeof(struct qos),
    .init = init,
    .fini = fini,
    .handle = handle,
    .poll = poll,
    .expect = expect,
    .explain = explain,
    .held = held,
    .drops_itself = true,
};
