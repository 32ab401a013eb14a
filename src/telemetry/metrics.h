/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures of the running gateway, as DPDK's telemetry socket and Prometheus show them. One row says
 * all of a metric: where its value stands, its key, name, unit and meaning. doc/telemetry.md.
 *
 * Readers are on the telemetry library's threads, while cores count: a group's functions may only
 * use relaxed loads of what lives from metrics_add() to metrics_close().
 */
#ifndef TELEMETRY_METRICS_H
#define TELEMETRY_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define METRICS_MAX_GROUPS 16
#define METRICS_MAX_NAME   64 /* characters of an object's name */

enum metric_type { METRIC_COUNTER, METRIC_GAUGE };

struct metric {
    const char *key;  /* in the answer; one that ends in '_' begins the keys that extra() adds */
    const char *name; /* Prometheus: base units (ns are shown as seconds), counters end in _total;
                                ends in {label} where the key ends in '_' */
    enum metric_type type;
    const char *unit;
    const char *help; /* NULL: what metric_group.words say of the key */
    size_t offset;    /* of the uint64_t in what read() fills in */
};

struct engine;
struct metric_out;
struct task_drop;

/** Objects of one kind, with the same metrics. */
struct metric_group {
    const char *object;            /* "task": commands /vbng/task, /vbng/task/list ... */
    const struct metric *metrics;  /* key NULL at the end */
    const void *of;                /* handed to the functions */
    const struct task_drop *words; /* n_words of them, for metrics without a help; or NULL */
    unsigned n_words;
    unsigned (*count)(const void *of);
    void (*name)(const void *of, unsigned i, char name[METRICS_MAX_NAME]);
    /** Fill in a structure of at most METRICS_MAX_FIGURES numbers. */
    void (*read)(const void *of, unsigned i, uint64_t *figures);
    /** Optional: more figures, each by metric_extra(). */
    void (*extra)(const void *of, unsigned i, struct metric_out *out);
    /** Optional: is there an object of that number? Without it there is one of each. */
    bool (*has)(const void *of, unsigned i);
    /** Optional: the number of a name, or count() where nobody has it; without it names are
     * compared one by one. */
    unsigned (*find)(const void *of, const char *name);
    /** Optional, both or none: what people call an object, or NULL; and the numbers of at most room
     * objects from number first on that a text may mean, *n of them. search() returns the number to
     * go on from, or count() at the end. */
    const char *(*label)(const void *of, unsigned i);
    unsigned (*search)(const void *of, const char *text, unsigned first, unsigned *number,
                       unsigned room, unsigned *n);
};

#define METRICS_MAX_FIGURES 32

/** Does the row begin keys that extra() adds? */
static inline bool metric_is_extra(const struct metric *m)
{
    return m->key[strlen(m->key) - 1] == '_';
}

static inline uint64_t metric_value_of(const uint64_t *figures, const struct metric *m)
{
    return figures[m->offset / sizeof(uint64_t)];
}

/** For extra(): a figure of a row whose key ends in '_', and the rest of its key. */
void metric_extra(struct metric_out *out, const struct metric *row, const char *which,
                  uint64_t value);

/** Offer a group. g must live until metrics_close(). Needs EAL. Returns 0 or -errno. */
int metrics_add(const struct metric_group *g);

/** Keep readers out while what they read changes in more than single fields. */
void metrics_hold(void);
void metrics_release(void);

/** Withdraw all groups; no reader looks at them afterwards. */
void metrics_close(void);

/** Offer the metrics of what the engine counts: tasks, ports, pools, cores, the ledger, links,
 * and receive queues. e must be built and live until metrics_close(). Returns 0 or -errno. */
int metrics_engine_add(const struct engine *e);

/** The part of metrics_engine_add() about receive queues. */
int metrics_queues_add(const struct engine *e);

#endif
