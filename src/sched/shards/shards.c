/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and freeing what the shards of a scheduler share. */
#include "sched/shards/shards.h"

#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "base/log.h"

#define QUANTA_PER_SECOND   10000
#define PATIENCE_PER_SECOND 5000

static void *zalloc(size_t n, size_t size, int socket)
{
    return rte_zmalloc_socket("shards", n * size, SHARDS_LINE, socket);
}

struct shards *shards_create(const struct cfg_scheduler *shape, unsigned n, const uint64_t *across,
                             int socket)
{
    size_t purses = (size_t)shape->n_subports * (QOS_CLASSES + 1);
    uint64_t now = rte_rdtsc();
    struct shards *s;

    if (n == 0 || n > SHARDS_MAX || shape->backend != QOS_WHEEL) {
        log_error("scheduler %s: %u shards; expected 1 to %u, of the wheel", shape->name, n,
                  SHARDS_MAX);
        return NULL;
    }
    s = zalloc(1, sizeof(*s), socket);
    if (s != NULL) {
        s->holders = 1;
        s->subport = zalloc(purses, sizeof(s->subport[0]), socket);
        s->turns = zalloc((size_t)shape->n_subports * QOS_CLASSES, sizeof(s->turns[0]), socket);
    }
    if (s == NULL || s->subport == NULL || s->turns == NULL) {
        log_error("scheduler %s: no memory for what its shards share", shape->name);
        shards_free(s);
        return NULL;
    }
    s->peers.n = n;
    s->peers.patience = rte_get_tsc_hz() / PATIENCE_PER_SECOND;
    s->quantum = rte_get_tsc_hz() / QUANTA_PER_SECOND;
    s->n_subports = shape->n_subports;
    if (across != NULL)
        memcpy(s->across, across, sizeof(s->across));
    else
        memset(s->across, 0xff, sizeof(s->across));
    purse_start(&s->port, now);
    for (size_t i = 0; i < purses; i++)
        purse_start(&s->subport[i], now);
    return s;
}

struct shards *shards_hold(struct shards *s)
{
    s->holders++;
    return s;
}

uint64_t shards_bytes(uint32_t n_subports)
{
    return sizeof(struct shards) +
           (uint64_t)n_subports * ((QOS_CLASSES + 1) * sizeof(struct purse) +
                                   QOS_CLASSES * sizeof(struct shards_turns));
}

void shards_free(struct shards *s)
{
    if (s == NULL || --s->holders > 0)
        return;
    rte_free(s->subport);
    rte_free(s->turns);
    rte_free(s);
}
