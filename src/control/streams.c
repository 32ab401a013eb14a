/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/request.h"
#include "tasks/task_types.h"
#include "tester/gen.h"

/* The requests about streams: what generators send, and what sinks have measured. */

enum { STREAM_TASK, STREAM_STREAM, STREAM_RATE, STREAM_DURATION = STREAM_RATE };

#define TASK_KEY                                                                                   \
    {                                                                                              \
        "task", KEY_STRING, .required = true, .help = "a task of type gen"                         \
    }
#define STREAM_KEY                                                                                 \
    {                                                                                              \
        "stream", KEY_STRING, .help = "one of its streams; else all of them"                       \
    }

static const struct key start_keys[] = {
    [STREAM_TASK] = TASK_KEY,
    [STREAM_STREAM] = STREAM_KEY,
    [STREAM_DURATION] = {"duration", KEY_DURATION,
                         .help = "for how long; else until it is stopped"},
};
static const struct key stop_keys[] = {[STREAM_TASK] = TASK_KEY, [STREAM_STREAM] = STREAM_KEY};
static const struct key rate_keys[] = {
    [STREAM_TASK] = TASK_KEY,
    [STREAM_STREAM] = {"stream", KEY_STRING,
                       .help = "one of its streams; else those without a rate of their own"},
    [STREAM_RATE] = {"rate", KEY_LOAD, .required = true, .help = "what it sends"},
};

/* Find the index in cfg->tasks[] of the generator that the request names. */
static int want_gen(const struct control *c, const struct request *r, unsigned *task,
                    struct refusal *why)
{
    const struct cfg_model *m = control_model(c);
    const char *names[CFG_MAX_TASKS], *name = r->v[STREAM_TASK].v.s, *near;
    size_t n = 0;

    for (*task = 0; *task < m->n_tasks; ++*task) {
        if (m->tasks[*task].schema != &task_gen.schema)
            continue;
        if (strcmp(m->tasks[*task].name, name) == 0)
            return 0;
        names[n++] = m->tasks[*task].name;
    }
    near = nearest_name(name, names, n);
    return refuse(why, "there is no task '%.60s' of type gen%s%s%s", name,
                  near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Find the index in cfg->items[] of the stream that the request names, or GEN_ALL_STREAMS where it
 * names none. */
static int want_stream(const struct cfg_task *t, const struct request *r, unsigned *stream,
                       struct refusal *why)
{
    size_t task = strlen(t->name) + 1; /* an item is called TASK/NAME */
    const char *names[CFG_MAX_ITEMS], *name = r->v[STREAM_STREAM].v.s, *near;

    *stream = GEN_ALL_STREAMS;
    if (name == NULL)
        return 0;
    for (unsigned i = 0; i < t->n_items; i++) {
        names[i] = strlen(t->items[i].name) > task ? t->items[i].name + task : t->name;
        if (strcmp(names[i], name) == 0) {
            *stream = i;
            return 0;
        }
    }
    near = nearest_name(name, names, t->n_items);
    return refuse(why, "task '%s' has no stream '%.60s'%s%s%s", t->name, name,
                  near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Change all instances of the task. They are alike, so that only the first can refuse a change. */
static json_t *change(struct control *c, const struct request *r, struct gen_change *ch,
                      struct refusal *why)
{
    const struct plan *p = c->e->plan;
    unsigned task = 0;
    int n = 0;

    if (want_gen(c, r, &task, why) != 0 ||
        want_stream(&p->cfg->tasks[task], r, &ch->stream, why) != 0)
        return NULL;
    for (unsigned i = 0; i < p->n_instances; i++) {
        int rc;

        if (p->instances[i].task != task)
            continue;
        rc = engine_call(c->e, i, gen_change, ch);
        if (rc != 0) {
            refuse(why, "task %s: %s", p->cfg->tasks[task].name,
                   rc == -ENOENT   ? "all its streams have rates of their own: expected a stream"
                   : rc == -EINVAL ? "it cannot keep that rate, or has no port to take % of"
                                   : strerror(-rc));
            return NULL;
        }
        n++;
    }
    return json_pack("{s:b, s:i}", "ok", 1, "changed", n);
}

static json_t *start_stream(struct control *c, struct request *r, struct refusal *why)
{
    struct gen_change ch = {.action = GEN_START, .duration_ns = r->v[STREAM_DURATION].v.u};

    return change(c, r, &ch, why);
}

static json_t *stop_stream(struct control *c, struct request *r, struct refusal *why)
{
    struct gen_change ch = {.action = GEN_STOP};

    return change(c, r, &ch, why);
}

static json_t *set_rate(struct control *c, struct request *r, struct refusal *why)
{
    struct gen_change ch = {.action = GEN_RATE, .load = r->v[STREAM_RATE].v.load};

    return change(c, r, &ch, why);
}

/* A task's part of the report (doc/report.md), whose core goes on counting meanwhile; NULL without
 * memory. */
static json_t *measured(const struct control *c, unsigned task)
{
    const struct task *instances[TOPO_MAX_CPUS];
    unsigned n = 0;

    for (unsigned i = 0; i < c->e->plan->n_instances; i++)
        if (c->e->plan->instances[i].task == task)
            instances[n++] = c->e->tasks[i];
    return instances[0]->type->report(instances, n);
}

/* The answer with the measurements of all tasks of a type. */
static json_t *show_measured(const struct control *c, const struct task_type *type)
{
    const struct cfg_model *m = control_model(c);
    json_t *tasks = json_array();

    for (unsigned i = 0; i < c->e->plan->n_instances; i++) {
        unsigned task = c->e->plan->instances[i].task;

        if (c->e->tasks[i]->type == type && c->e->tasks[i]->worker == 0)
            json_array_append_new(tasks, json_pack("{s:s, s:o}", "name", m->tasks[task].name,
                                                   "measured", measured(c, task)));
    }
    return json_pack("{s:b, s:o}", "ok", 1, "tasks", tasks);
}

static json_t *show_streams(struct control *c, struct request *r, struct refusal *why)
{
    (void)r;
    (void)why;
    return show_measured(c, &task_gen);
}

static json_t *show_sinks(struct control *c, struct request *r, struct refusal *why)
{
    (void)r;
    (void)why;
    return show_measured(c, &task_sink);
}

const struct command stream_commands[] = {
    {"start-stream", KEYS(start_keys), start_stream, "lets a stream send from now on", false},
    {"stop-stream", KEYS(stop_keys), stop_stream, "lets a stream send no more", false},
    {"set-rate", KEYS(rate_keys), set_rate, "changes what streams send", false},
    {"show-streams", NULL, 0, show_streams, "what generators have measured", false},
    {"show-sinks", NULL, 0, show_sinks, "what sinks have measured", false},
    {NULL},
};
