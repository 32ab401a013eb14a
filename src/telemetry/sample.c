/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/sample.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "engine/stats.h"

struct sample {
    const struct engine *engine;
    const char *path;
    FILE *to;
    struct timespec start;
    double period, next; /* seconds */
};

static double elapsed(const struct sample *s)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - s->start.tv_sec) + (double)(now.tv_nsec - s->start.tv_nsec) / 1e9;
}

static void write_lines(struct sample *s, double now)
{
    const struct cfg_model *m = s->engine->plan->cfg;

    for (unsigned i = 0; i < m->n_tasks; i++) {
        struct task_stats t;
        uint64_t dropped;

        stats_task(s->engine, i, &t);
        dropped = t.full;
        for (unsigned k = 0; k <= TASK_MAX_DROPS; k++)
            dropped += t.drops[k];
        fprintf(s->to, "%.6f,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", now,
                m->tasks[i].name, t.in, t.created, t.sent, dropped, t.held);
    }
}

struct sample *sample_open(const struct engine *e, const char *path, uint64_t period_ns)
{
    struct sample *s = calloc(1, sizeof(*s));

    if (s != NULL)
        s->to = fopen(path, "w");
    if (s == NULL || s->to == NULL) {
        log_error("%s: %s", path, strerror(errno));
        free(s);
        return NULL;
    }
    s->engine = e;
    s->path = path;
    s->period = (double)period_ns / 1e9;
    clock_gettime(CLOCK_MONOTONIC, &s->start);
    fputs("seconds,task,in,created,sent,dropped,held\n", s->to);
    return s;
}

void sample_take(struct sample *s)
{
    double now = elapsed(s);

    if (now < s->next)
        return;
    write_lines(s, now);
    s->next += s->period;
    if (s->next < now) /* what was missed is not made up for */
        s->next = now;
}

int sample_close(struct sample *s)
{
    int failed, rc;

    if (s == NULL)
        return 0;
    write_lines(s, elapsed(s));
    failed = ferror(s->to);
    rc = fclose(s->to) != 0 ? -errno : failed ? -EIO : 0;
    if (rc != 0)
        log_error("%s: %s", s->path, strerror(-rc));
    free(s);
    return rc;
}
