/* SPDX-License-Identifier: BSD-3-Clause */
/* From the interface of a scheduler to its backend: one indirect call for each burst. */
#include "sched/sched.h"

#include <errno.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "base/log.h"
#include "sched/backend.h"
#include "sched/shards/shards.h"

#define MAX_FINDINGS 64

/* Report the errors among findings. Returns 0 where there are none, else -EINVAL. */
static int refuse(const char *name, const char *what, unsigned which, const struct qos_finding *f,
                  unsigned n)
{
    int bad = 0;

    for (unsigned i = 0; i < n; i++) {
        if (!f[i].error)
            continue;
        log_error("scheduler %s, %s %u, class %u: %s", name, what, which, f[i].class,
                  qos_problem_text(f[i].problem));
        bad = -EINVAL;
    }
    return bad;
}

/* Check a configuration but for its profiles. */
static int check(const struct sched_config *config)
{
    struct qos_finding f[MAX_FINDINGS];
    unsigned n = qos_scheduler_check(config->shape, config->direction, f, MAX_FINDINGS);
    int bad = refuse(config->name, "port", 0, f, n);

    if (config->n_profiles == 0 || config->n_profiles > config->max_profiles ||
        config->max_profiles > QOS_MAX_PROFILES) {
        log_error("scheduler %s: %u profiles with room for %u; expected 1 to %u", config->name,
                  config->n_profiles, config->max_profiles, QOS_MAX_PROFILES);
        bad = -EINVAL;
    }
    if (config->shards != NULL &&
        (config->shape->backend != QOS_WHEEL || config->shard >= config->shards->peers.n ||
         config->shape->n_subports != config->shards->n_subports)) {
        log_error("scheduler %s: it is no shard of what was made", config->name);
        bad = -EINVAL;
    }
    return bad;
}

int sched_check_profiles(const struct sched_config *config, uint64_t clock)
{
    struct qos_finding f[MAX_FINDINGS];
    int bad = 0;

    for (unsigned i = 0; i < config->n_profiles; i++) {
        unsigned n = qos_shape_check(
            config->shape, clock, &config->profiles[i].shape[config->direction], f, MAX_FINDINGS);
        bad |= refuse(config->name, "profile", i, f, n);
    }
    return bad != 0 ? -EINVAL : 0;
}

uint64_t sched_heap_bytes(int socket)
{
    struct rte_malloc_socket_stats stats;

    return rte_malloc_get_socket_stats(socket < 0 ? 0 : socket, &stats) == 0
               ? stats.heap_allocsz_bytes
               : 0;
}

/* Make the counters of classes and pipes where the backend has none. Returns 0 or -ENOMEM. */
static int make_counters(struct sched *s, const struct sched_config *config)
{
    uint64_t before = sched_heap_bytes(config->socket);
    const struct cfg_scheduler *shape = config->shape;
    const size_t classes = (size_t)shape->n_subports * QOS_CLASSES;

    if (s->pipe_stride != 0)
        return 0;
    s->class = rte_zmalloc_socket("sched", classes * sizeof(s->class[0]), RTE_CACHE_LINE_SIZE,
                                  config->socket);
    s->rest = rte_zmalloc_socket("sched", classes * sizeof(s->rest[0]), RTE_CACHE_LINE_SIZE,
                                 config->socket);
    s->pipe_counters = rte_zmalloc_socket("sched", shape->pipes.n * sizeof(s->pipe_counters[0]),
                                          RTE_CACHE_LINE_SIZE, config->socket);
    s->bytes += sched_heap_bytes(config->socket) - before;
    return s->class != NULL && s->rest != NULL && s->pipe_counters != NULL ? 0 : -ENOMEM;
}

struct sched *sched_create(const struct sched_config *config)
{
    const struct sched_backend *backend =
        config->shards != NULL ? &sched_shard : sched_backend_of(config->shape);
    struct sched *s = check(config) == 0 ? backend->create(config) : NULL;

    if (s == NULL)
        return NULL;
    if (make_counters(s, config) != 0) {
        log_error("scheduler %s: no memory", config->name);
        sched_free(s);
        return NULL;
    }
    return s;
}

void sched_free(struct sched *s)
{
    if (s == NULL)
        return;
    if (s->pipe_stride == 0) {
        rte_free(s->class);
        rte_free(s->rest);
        rte_free(s->pipe_counters);
    }
    s->backend->free(s);
}

uint32_t sched_enqueue(struct sched *s, struct rte_mbuf **m, uint32_t n)
{
    return s->backend->enqueue(s, m, n);
}

void sched_expect(const struct sched *s, struct rte_mbuf *const *m, uint32_t n, uint32_t first)
{
    if (s->backend->expect != NULL)
        s->backend->expect(s, m, n, first);
}

uint32_t sched_dequeue(struct sched *s, struct rte_mbuf **m, uint32_t n)
{
    return s->backend->dequeue(s, rte_rdtsc(), m, n);
}

uint32_t sched_dequeue_at(struct sched *s, uint64_t now, struct rte_mbuf **m, uint32_t n)
{
    return s->backend->dequeue(s, now, m, n);
}

int sched_set_profile(struct sched *s, uint32_t pipe, uint32_t profile)
{
    return s->backend->set_profile(s, pipe, profile);
}

int64_t sched_clear(struct sched *s, uint32_t pipe)
{
    return s->backend->clear != NULL ? s->backend->clear(s, pipe) : -ENOTSUP;
}

int sched_add_profile(struct sched *s, const struct qos_shape *shape)
{
    return s->backend->add_profile(s, shape);
}

int sched_set_subport_rate(struct sched *s, uint32_t subport, uint64_t rate)
{
    return s->backend->set_subport_rate(s, subport, rate);
}

uint64_t sched_held(const struct sched *s)
{
    uint64_t left = __atomic_load_n(&s->left, __ATOMIC_RELAXED);
    uint64_t accepted = __atomic_load_n(&s->accepted, __ATOMIC_RELAXED);

    return accepted > left ? accepted - left : 0;
}

struct sched_drops sched_drops(const struct sched *s)
{
    return s->backend->drops(s);
}

#define READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

struct sched_class sched_class(const struct sched *s, uint32_t subport, unsigned class)
{
    const struct sched_class_state *c = &s->class[subport * QOS_CLASSES + class];
    const struct sched_class_rest *x = &s->rest[subport * QOS_CLASSES + class];
    struct sched_class k = {.cleared = READ(x->cleared),
                            .late = READ(x->late),
                            .marked = READ(x->marked),
                            .bytes = READ(c->bytes),
                            .tail = READ(x->tail),
                            .aqm = READ(x->aqm)};

    k.sent = READ(c->sent);
    k.accepted = READ(c->accepted); /* last: so nothing has left that was not accepted */
    return k;
}

const struct sched_pipe_counters *sched_pipe_counters(const struct sched *s, uint32_t pipe)
{
    size_t stride = s->pipe_stride != 0 ? s->pipe_stride : sizeof(s->pipe_counters[0]);

    return (const struct sched_pipe_counters *)((const char *)s->pipe_counters + pipe * stride);
}

void sched_reset_pipe_counters(struct sched *s, uint32_t pipe)
{
    struct sched_pipe_counters *c = (struct sched_pipe_counters *)sched_pipe_counters(s, pipe);

    __atomic_store_n(&c->bytes, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&c->packets, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&c->dropped, 0, __ATOMIC_RELAXED);
}

bool sched_knows_drops(const struct sched *s)
{
    return s->backend->knows_drops;
}

int sched_read_queue(struct sched *s, uint32_t pipe, unsigned queue,
                     struct sched_queue_counters *add)
{
    return s->backend->read_queue(s, pipe, queue, add);
}

uint64_t sched_lost_cycles(const struct sched *s)
{
    return __atomic_load_n(&s->lost, __ATOMIC_RELAXED);
}

uint64_t sched_bytes(const struct sched *s)
{
    return s->bytes;
}
