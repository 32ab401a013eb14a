/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/subscribers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "control/slices.h"

#define PAGE 1024 /* subscribers whose queues are read before their rows are written */

struct reading {
    const struct control *c;
    struct shaper *s;
    uint32_t first; /* id */
};

/* On the core of the scheduler. */
static int read_one(struct task *t, uint32_t i, void *ctx)
{
    const struct reading *r = ctx;
    const struct shaper *s = r->s;
    const struct qos_pipe *p = shaper_pipe(r->c, s, r->first + i);
    uint32_t pipe;

    (void)t;
    if (p == NULL)
        return 0;
    pipe = (uint32_t)(p - s->q->pipe);
    for (unsigned k = 0; k < s->n_queues; k++) {
        int rc =
            sched_read_queue(s->q->sched, pipe, s->queue[k], &s->counters[pipe * s->n_queues + k]);

        if (rc != 0)
            return rc;
    }
    return 0;
}

int subscribers_read(struct control *c, uint32_t first, uint32_t n)
{
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < c->n_shapers; i++) {
        struct reading r = {.c = c, .s = &c->shaper[i], .first = first};

        if (r.s->counters == NULL)
            r.s->counters = calloc((size_t)r.s->q->n_pipes * r.s->n_queues, sizeof(*r.s->counters));
        rc =
            r.s->counters == NULL ? -ENOMEM : in_slices(c->e, r.s->instance, n, read_one, &r, NULL);
    }
    return rc;
}

/* Columns of a direction are there if some task shapes it; of a queue, if that task uses it. */
void subscribers_header(const struct control *c, FILE *to)
{
    fprintf(to, "id,port,svlan,cvlan,profile");
    for (unsigned i = 0; i < c->n_shapers; i++) {
        const struct shaper *s = &c->shaper[i];
        const char *task = s->task->cfg->name;

        fprintf(to, ",%s_rate,%s_bytes,%s_packets,%s_sojourn_us", task, task, task, task);
        for (unsigned k = 0; k < s->n_queues; k++) {
            const char *q = queue_name(s->queue[k]);

            fprintf(to, ",%s_%s_depth,%s_%s_queued,%s_%s_tail,%s_%s_aqm", task, q, task, q, task, q,
                    task, q);
        }
    }
    fputc('\n', to);
}

static const struct sched_queue_counters *counters_of(const struct shaper *s,
                                                      const struct qos_pipe *p)
{
    return &s->counters[(uint32_t)(p - s->q->pipe) * s->n_queues];
}

static void row_of_shaper(const struct shaper *s, const struct qos_pipe *p, FILE *to)
{
    const struct cfg_profile *profile =
        &s->q->cfg->profiles[__atomic_load_n(&p->profile, __ATOMIC_RELAXED)];
    const struct sched_queue_counters *n = counters_of(s, p);

    fprintf(to, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.1f", profile->shape[s->q->direction].rate,
            __atomic_load_n(&p->bytes, __ATOMIC_RELAXED),
            __atomic_load_n(&p->packets, __ATOMIC_RELAXED), qos_sojourn(s->q, p) * 1e6);
    for (unsigned k = 0; k < s->n_queues; k++)
        fprintf(to, ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64, n[k].depth, n[k].packets, n[k].tail,
                n[k].aqm);
}

/* The profile that holds now: a scheduler's, where there is one. */
static const char *profile_name(const struct control *c, uint32_t id)
{
    const struct cfg_model *m = control_model(c);
    uint32_t profile = m->subscribers[id - 1].profile;

    for (unsigned i = 0; i < c->n_shapers; i++) {
        const struct qos_pipe *p = shaper_pipe(c, &c->shaper[i], id);

        if (p != NULL)
            profile = __atomic_load_n(&p->profile, __ATOMIC_RELAXED);
    }
    return profile != CFG_NONE ? m->qos.profiles[profile].name : "";
}

void subscribers_row(const struct control *c, uint32_t id, FILE *to)
{
    const struct cfg_model *m = control_model(c);
    const struct cfg_subscriber *sub = &m->subscribers[id - 1];

    if (!live_has(m, id))
        return;
    fprintf(to, "%" PRIu32 ",%s,%u,%u,%s", id, m->ports[sub->port].name, sub->svlan, sub->cvlan,
            profile_name(c, id));
    for (unsigned i = 0; i < c->n_shapers; i++) {
        const struct shaper *s = &c->shaper[i];
        const struct qos_pipe *p = shaper_pipe(c, s, id);

        if (p != NULL) {
            row_of_shaper(s, p, to);
            continue;
        }
        for (unsigned k = 0; k < 4 + 4 * s->n_queues; k++)
            fputc(',', to);
    }
    fputc('\n', to);
}

int subscribers_dump(struct control *c, FILE *to)
{
    uint32_t all = control_model(c)->n_subscribers;

    subscribers_header(c, to);
    for (uint32_t first = 1; first <= all; first += PAGE) {
        uint32_t n = RTE_MIN((uint32_t)PAGE, all - first + 1);
        int rc = subscribers_read(c, first, n);

        if (rc != 0)
            return rc;
        for (uint32_t id = first; id < first + n; id++)
            subscribers_row(c, id, to);
    }
    return ferror(to) ? -EIO : 0;
}

static json_t *queues_json(const struct shaper *s, const struct qos_pipe *p)
{
    const struct sched_queue_counters *n = counters_of(s, p);
    json_t *queues = json_object();

    for (unsigned k = 0; k < s->n_queues; k++)
        json_object_set_new(queues, queue_name(s->queue[k]),
                            json_pack("{s:i, s:I, s:I, s:I, s:I}", "depth", (int)n[k].depth,
                                      "queued", (json_int_t)n[k].packets, "queued_bytes",
                                      (json_int_t)n[k].bytes, "tail", (json_int_t)n[k].tail, "aqm",
                                      (json_int_t)n[k].aqm));
    return queues;
}

static json_t *shaped_json(const struct shaper *s, const struct qos_pipe *p)
{
    const struct cfg_profile *profile =
        &s->q->cfg->profiles[__atomic_load_n(&p->profile, __ATOMIC_RELAXED)];

    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:f, s:o}", "task", s->task->cfg->name, "direction",
                     direction_name(s->q->direction), "rate",
                     (json_int_t)profile->shape[s->q->direction].rate, "bytes",
                     (json_int_t)__atomic_load_n(&p->bytes, __ATOMIC_RELAXED), "packets",
                     (json_int_t)__atomic_load_n(&p->packets, __ATOMIC_RELAXED), "sojourn",
                     qos_sojourn(s->q, p), "queues", queues_json(s, p));
}

json_t *subscriber_json(const struct control *c, uint32_t id)
{
    const struct cfg_model *m = control_model(c);
    const struct cfg_subscriber *sub = &m->subscribers[id - 1];
    json_t *shaped = json_array();

    for (unsigned i = 0; i < c->n_shapers; i++) {
        const struct qos_pipe *p = shaper_pipe(c, &c->shaper[i], id);

        if (p != NULL)
            json_array_append_new(shaped, shaped_json(&c->shaper[i], p));
    }
    return json_pack("{s:i, s:s, s:i, s:i, s:s, s:o}", "id", (int)id, "port",
                     m->ports[sub->port].name, "svlan", (int)sub->svlan, "cvlan", (int)sub->cvlan,
                     "profile", profile_name(c, id), "shaped", shaped);
}
