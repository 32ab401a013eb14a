/* SPDX-License-Identifier: BSD-3-Clause */
/* The qos tasks for people and programs: all instances of a task together. */
#include "control/view.h"

#include <inttypes.h>

#include "engine/ledger.h"

/* --- QoS as JSON: times in seconds, rates in bit/s --- */

static json_t *hist_json(const struct qos *q, const struct hist *h)
{
    return json_pack("{s:I, s:f, s:f, s:f, s:f}", "packets", (json_int_t)h->count, "mean",
                     qos_seconds(q, hist_mean(h)), "p50", qos_seconds(q, hist_percentile(h, 0.5)),
                     "p99", qos_seconds(q, hist_percentile(h, 0.99)), "max",
                     qos_seconds(q, h->max));
}

/* The lag of all instances of a task. */
static void task_lag(const struct shaper *s, struct hist *sum)
{
    *sum = (struct hist){0};
    for (unsigned i = 0; i < s->n_shards; i++) {
        struct hist one;

        qos_lag(s[i].q, &one);
        hist_merge(sum, &one);
    }
}

/* The sojourn times of a class in all instances of a task. */
static void task_sojourn(const struct shaper *s, unsigned class, struct hist *sum)
{
    *sum = (struct hist){0};
    for (unsigned i = 0; i < s->n_shards; i++) {
        struct hist one;

        qos_sojourn_times(s[i].q, class, &one);
        hist_merge(sum, &one);
    }
}

/* Packets that wait in all instances of a task. */
static uint64_t held_by_task(const struct shaper *s)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < s->n_shards; i++)
        n += task_held(s[i].task);
    return n;
}

static json_t *sojourn_json(const struct shaper *s)
{
    json_t *all = json_object();

    for (unsigned k = 0; k < QOS_CLASSES; k++) {
        struct hist times;

        if (s->q->shape->class[k].size == 0)
            continue;
        task_sojourn(s, k, &times);
        json_object_set_new(all, class_name(k), hist_json(s->q, &times));
    }
    return all;
}

static json_t *error_json(const struct shaping_error *e)
{
    return json_pack("{s:f, s:i, s:i, s:i, s:f, s:f, s:i}", "seconds", e->seconds, "limited",
                     (int)e->limited, "under", (int)e->under, "over", (int)e->over, "median",
                     e->median, "worst", e->worst, "worst_subscriber", (int)e->worst_subscriber);
}

uint64_t class_waiting(const struct sched_class *c)
{
    uint64_t left = c->sent + c->cleared + c->late;

    return c->accepted > left ? c->accepted - left : 0;
}

void task_class_add(const struct shaper *s, uint32_t subport, unsigned class,
                    struct sched_class *sum)
{
    for (unsigned i = 0; i < s->n_shards; i++) {
        struct sched_class k = sched_class(s[i].q->sched, subport, class);

        sum->accepted += k.accepted;
        sum->sent += k.sent;
        sum->bytes += k.bytes;
        sum->tail += k.tail;
        sum->aqm += k.aqm;
        sum->cleared += k.cleared;
        sum->late += k.late;
        sum->marked += k.marked;
    }
}

/* The sum of subports first..end - 1 of a task, by class. */
static json_t *classes_json(const struct shaper *s, uint32_t first, uint32_t end)
{
    json_t *all = json_object();

    for (unsigned k = 0; k < QOS_CLASSES; k++) {
        struct sched_class sum = {0};

        if (s->q->shape->class[k].size == 0)
            continue;
        for (uint32_t i = first; i < end; i++)
            task_class_add(s, i, k, &sum);
        json_object_set_new(all, class_name(k),
                            json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "packets",
                                      (json_int_t)sum.sent, "bytes", (json_int_t)sum.bytes,
                                      "waiting", (json_int_t)class_waiting(&sum), "tail",
                                      (json_int_t)sum.tail, "aqm", (json_int_t)sum.aqm, "marked",
                                      (json_int_t)sum.marked));
    }
    return all;
}

static json_t *subport_json(const struct shaper *s, unsigned i)
{
    const struct qos *q = s->q;
    uint32_t first = q->shape->subports[i].first, end = first + q->shape->subports[i].pipes,
             subscribers = 0;
    struct sched_class sum = {0};

    for (unsigned k = 0; k < s->n_shards; k++)
        for (uint32_t p = first; p < end; p++)
            subscribers += s[k].subscriber[p] != 0;
    for (unsigned k = 0; k < QOS_CLASSES; k++)
        task_class_add(s, i, k, &sum);
    return json_pack("{s:s, s:I, s:i, s:I, s:I, s:o}", "name", q->shape->subports[i].name, "rate",
                     (json_int_t)s->subport_rate[i], "subscribers", (int)subscribers, "packets",
                     (json_int_t)sum.sent, "bytes", (json_int_t)sum.bytes, "classes",
                     classes_json(s, i, i + 1));
}

/* What each instance of a task on several cores holds and has lost. */
static json_t *shards_json(const struct shaper *s)
{
    json_t *all = json_array();

    for (unsigned i = 0; i < s->n_shards; i++) {
        uint64_t lost = sched_lost_cycles(s[i].q->sched);

        json_array_append_new(all, json_pack("{s:i, s:i, s:I, s:f}", "shard",
                                             (int)s[i].task->worker, "core", (int)s[i].task->core,
                                             "held", (json_int_t)task_held(s[i].task), "lost",
                                             (double)lost / (double)s[i].q->tsc_hz));
    }
    return all;
}

/* All instances of a task together; lost is that of who has lost most. */
static json_t *shaper_json(const struct shaper *s)
{
    const struct qos *q = s->q;
    json_t *subports = json_array();
    uint64_t lost = 0;
    struct hist lag;

    task_lag(s, &lag);
    for (unsigned i = 0; i < s->n_shards; i++)
        lost = RTE_MAX(lost, sched_lost_cycles(s[i].q->sched));
    for (unsigned i = 0; i < q->shape->n_subports; i++)
        json_array_append_new(subports, subport_json(s, i));
    return json_pack("{s:s, s:s, s:s, s:I, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "task",
                     s->task->cfg->name, "scheduler", q->shape->name, "direction",
                     direction_name(q->direction), "held", (json_int_t)held_by_task(s), "lost",
                     (double)lost / (double)q->tsc_hz, "lag", hist_json(q, &lag), "sojourn",
                     sojourn_json(s), "shaping", error_json(&s->task_error), "classes",
                     classes_json(s, 0, q->shape->n_subports), "subports", subports, "shards",
                     shards_json(s));
}

json_t *show_qos_json(const struct control *c)
{
    json_t *all = json_array();

    for (const struct shaper *s = next_shaper(c, NULL); s != NULL; s = next_shaper(c, s))
        json_array_append_new(all, shaper_json(s));
    return all;
}

/* --- QoS as text: the block below the live table --- */

static const char *time_text(const struct qos *q, const struct hist *h, double p, char buf[32])
{
    uint32_t units = p < 1 ? hist_percentile(h, p) : h->max;

    if (h->count == 0)
        return "-";
    return format_duration((uint64_t)(qos_seconds(q, units) * 1e6) * 1000, buf, 32);
}

static void print_lag(const struct shaper *s, const struct hist *lag, FILE *to)
{
    char p50[32], p99[32], max[32];

    fprintf(to, "%-12s %-5s %10" PRIu64 " %9s %9s %9s", s->task->cfg->name,
            direction_name(s->q->direction), held_by_task(s), time_text(s->q, lag, 0.5, p50),
            time_text(s->q, lag, 0.99, p99), time_text(s->q, lag, 1, max));
}

static void print_error(const struct control *c, const struct shaping_error *e, FILE *to)
{
    const struct cfg_model *m = control_model(c);
    const struct cfg_subscriber *worst;

    if (e->limited == 0 || !running_has(m, e->worst_subscriber)) {
        fprintf(to, " %10u %9s %9s\n", 0u, "-", "-");
        return;
    }
    worst = &m->subscribers[e->worst_subscriber - 1];
    fprintf(to, " %10" PRIu32 " %+8.2f%% %+8.2f%% (%s %u.%u)\n", e->limited, e->median * 100,
            e->worst * 100, m->ports[worst->port].name, worst->svlan, worst->cvlan);
}

static void print_sojourn(const struct shaper *s, const struct hist *sojourn, FILE *to)
{
    char p50[32], p99[32];

    fprintf(to, "%12s sojourn p50 / p99:", "");
    for (unsigned k = 0; k < QOS_CLASSES; k++)
        if (s->q->shape->class[k].size > 0)
            fprintf(to, "  class %s %s / %s", class_name(k), time_text(s->q, &sojourn[k], 0.5, p50),
                    time_text(s->q, &sojourn[k], 0.99, p99));
    fputc('\n', to);
}

void show_qos_text(const struct control *c, FILE *to, bool whole)
{
    if (c->n_shapers == 0)
        return;
    fprintf(to, "\n%-12s %-5s %10s %9s %9s %9s %10s %9s %9s\n", "qos", "", "held", "lag p50", "p99",
            "max", "limited", "median", "worst error");
    for (const struct shaper *s = next_shaper(c, NULL); s != NULL; s = next_shaper(c, s)) {
        struct hist lag = {0}, sojourn[QOS_CLASSES] = {0};

        if (whole)
            task_lag(s, &lag);
        for (unsigned k = 0; whole && k < QOS_CLASSES; k++)
            task_sojourn(s, k, &sojourn[k]);
        for (unsigned i = 0; !whole && i < s->n_shards; i++) {
            hist_merge(&lag, &s[i].lag);
            for (unsigned k = 0; k < QOS_CLASSES; k++)
                hist_merge(&sojourn[k], &s[i].sojourn[k]);
        }
        print_lag(s, &lag, to);
        print_error(c, &s->task_error, to);
        print_sojourn(s, sojourn, to);
    }
    fflush(to);
}
