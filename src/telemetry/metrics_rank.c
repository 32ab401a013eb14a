/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/metrics_rank.h"

#include <stdlib.h>
#include <string.h>

/* The greatest first; where they are equal, in the order of their numbers. */
static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    return x->i < y->i ? -1 : 1;
}

/* Does a metric count where things are ranked by a key? "drops" is up_drops and down_drops. */
static bool ranks_by(const struct metric *m, const char *key, size_t len)
{
    size_t whole = strlen(m->key);

    return !metric_is_extra(m) && whole >= len && memcmp(m->key + whole - len, key, len) == 0 &&
           (whole == len || m->key[whole - len - 1] == '_');
}

struct ranked *metrics_rank(const struct metric_group *g, const char *key, size_t len, unsigned *n)
{
    const struct metric *by[METRICS_MAX_FIGURES];
    unsigned count = g->count(g->of), n_by = 0;
    struct ranked *all;

    for (const struct metric *m = g->metrics; m->key != NULL; m++)
        if (ranks_by(m, key, len))
            by[n_by++] = m;
    all = n_by > 0 ? calloc(count + 1, sizeof(*all)) : NULL;
    *n = 0;
    for (unsigned i = 0; all != NULL && i < count; i++) {
        uint64_t figures[METRICS_MAX_FIGURES] = {0}, sum = 0;

        if (g->has != NULL && !g->has(g->of, i))
            continue;
        g->read(g->of, i, figures);
        for (unsigned k = 0; k < n_by; k++)
            sum += metric_value_of(figures, by[k]);
        all[(*n)++] = (struct ranked){sum, i};
    }
    if (all != NULL)
        qsort(all, *n, sizeof(*all), by_rank);
    return all;
}
