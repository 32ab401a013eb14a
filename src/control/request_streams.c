/* SPDX-License-Identifier: BSD-3-Clause */
/* The requests about streams: of generators, and as sinks have seen them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "control/request.h"
#include "control/request_impl.h"
#include "tasks/gen.h"
#include "tasks/task_types.h"

/* Index in cfg->tasks[] of the gen that "task" names. */
static int want_gen(const struct control *c, const json_t *request, unsigned *task,
                    struct refusal *why)
{
    const struct cfg_model *m = control_model(c);
    const char *names[CFG_MAX_TASKS], *name, *near;
    size_t n = 0;

    if (want_name(request, "task", &name, why) != 0)
        return -EINVAL;
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

/* Index in cfg->items[] of the stream that "stream" names, or GEN_ALL_STREAMS where there is no
 * such key. */
static int want_stream(const struct cfg_task *t, const json_t *request, unsigned *stream,
                       struct refusal *why)
{
    size_t task = strlen(t->name) + 1; /* an item is called TASK/NAME */
    const char *names[CFG_MAX_ITEMS], *name, *near;

    *stream = GEN_ALL_STREAMS;
    if (json_object_get(request, "stream") == NULL)
        return 0;
    if (want_name(request, "stream", &name, why) != 0)
        return -EINVAL;
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

/* On all instances of the task. They are alike: what one refuses, the first has refused. */
static json_t *change(struct control *c, const json_t *request, struct gen_change *ch,
                      struct refusal *why)
{
    const struct plan *p = c->e->plan;
    unsigned task = 0;
    int n = 0;

    if (want_gen(c, request, &task, why) != 0 ||
        want_stream(&p->cfg->tasks[task], request, &ch->stream, why) != 0)
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

static json_t *start_stream(struct control *c, const json_t *request, struct refusal *why)
{
    const json_t *duration = json_object_get(request, "duration");
    struct gen_change ch = {.action = GEN_START};

    if (duration != NULL && (!json_is_string(duration) ||
                             parse_duration(json_string_value(duration), &ch.duration_ns) != 0)) {
        refuse(why, "key 'duration': expected a time with its unit, such as \"5s\"");
        return NULL;
    }
    return change(c, request, &ch, why);
}

static json_t *stop_stream(struct control *c, const json_t *request, struct refusal *why)
{
    struct gen_change ch = {.action = GEN_STOP};

    return change(c, request, &ch, why);
}

static json_t *set_rate(struct control *c, const json_t *request, struct refusal *why)
{
    const char *rate = json_string_value(json_object_get(request, "rate"));
    struct gen_change ch = {.action = GEN_RATE};

    if (rate == NULL || parse_load(rate, &ch.load) != 0) {
        refuse(why, "key 'rate': expected a load, such as \"1Mpps\", \"10Gbit/s\" or \"100%%\"");
        return NULL;
    }
    return change(c, request, &ch, why);
}

/* What the report says that a task has measured; NULL without memory. Its core goes on counting
 * meanwhile. */
static json_t *measured(const struct control *c, unsigned task)
{
    const struct task *instances[TOPO_MAX_CPUS];
    char *text = NULL;
    size_t len = 0;
    unsigned n = 0;
    json_t *report;
    FILE *f;

    for (unsigned i = 0; i < c->e->plan->n_instances; i++)
        if (c->e->plan->instances[i].task == task)
            instances[n++] = c->e->tasks[i];
    f = open_memstream(&text, &len);
    if (f == NULL)
        return NULL;
    instances[0]->type->report(instances, n, f);
    fclose(f);
    report = json_loadb(text, len, 0, NULL);
    free(text);
    return report;
}

/* All tasks of a type. */
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

static json_t *show_streams(struct control *c, const json_t *request, struct refusal *why)
{
    (void)request;
    (void)why;
    return show_measured(c, &task_gen);
}

static json_t *show_sinks(struct control *c, const json_t *request, struct refusal *why)
{
    (void)request;
    (void)why;
    return show_measured(c, &task_sink);
}

const struct command stream_commands[] = {
    {"start-stream", {"task", "stream", "duration"}, start_stream},
    {"stop-stream", {"task", "stream"}, stop_stream},
    {"set-rate", {"task", "stream", "rate"}, set_rate},
    {"show-streams", {NULL}, show_streams},
    {"show-sinks", {NULL}, show_sinks},
    {NULL, {NULL}, NULL},
};
