/* SPDX-License-Identifier: BSD-3-Clause */
/* QoS as JSON: times in seconds, rates in bit/s. */
#include "control/show.h"
#include "engine/ledger.h"

static json_t *hist_json(const struct qos *q, const struct hist *h)
{
    return json_pack("{s:I, s:f, s:f, s:f, s:f}", "packets", (json_int_t)h->count, "mean",
                     qos_seconds(q, hist_mean(h)), "p50", qos_seconds(q, hist_percentile(h, 0.5)),
                     "p99", qos_seconds(q, hist_percentile(h, 0.99)), "max",
                     qos_seconds(q, h->max));
}

static json_t *sojourn_json(const struct qos *q)
{
    json_t *all = json_object();

    for (unsigned k = 0; k < QOS_CLASSES; k++)
        if (q->shape->class[k].size > 0)
            json_object_set_new(all, class_name(k), hist_json(q, &q->sojourn[k]));
    return all;
}

static json_t *error_json(const struct shaping_error *e)
{
    return json_pack("{s:f, s:i, s:i, s:i, s:f, s:f, s:i}", "seconds", e->seconds, "limited",
                     (int)e->limited, "under", (int)e->under, "over", (int)e->over, "median",
                     e->median, "worst", e->worst, "worst_subscriber", (int)e->worst_subscriber);
}

#define READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

static void add_class(struct sched_class *sum, const struct sched_class *c)
{
    sum->cleared += READ(c->cleared);
    sum->sent += READ(c->sent); /* before accepted: a packet leaves after it came */
    sum->accepted += READ(c->accepted);
    sum->bytes += READ(c->bytes);
    sum->tail += READ(c->tail);
    sum->aqm += READ(c->aqm);
}

static uint64_t waiting(const struct sched_class *c)
{
    uint64_t gone = c->sent + c->cleared;

    return c->accepted > gone ? c->accepted - gone : 0;
}

/* What the classes of subports first..end - 1 have done, together. */
static json_t *classes_json(const struct qos *q, uint32_t first, uint32_t end)
{
    json_t *all = json_object();

    for (unsigned k = 0; k < QOS_CLASSES; k++) {
        struct sched_class sum = {0};

        if (q->shape->class[k].size == 0)
            continue;
        for (uint32_t i = first; i < end; i++)
            add_class(&sum, sched_class(q->sched, i, k));
        json_object_set_new(all, class_name(k),
                            json_pack("{s:I, s:I, s:I, s:I, s:I}", "packets", (json_int_t)sum.sent,
                                      "bytes", (json_int_t)sum.bytes, "waiting",
                                      (json_int_t)waiting(&sum), "tail", (json_int_t)sum.tail,
                                      "aqm", (json_int_t)sum.aqm));
    }
    return all;
}

static json_t *subport_json(const struct shaper *s, unsigned i)
{
    const struct qos *q = s->q;
    uint32_t first = i * q->shape->pipes_per_subport, subscribers = 0;
    uint64_t packets = 0, bytes = 0;

    for (uint32_t p = first; p < first + q->shape->pipes_per_subport; p++) {
        subscribers += s->subscriber[p] != 0;
        packets += __atomic_load_n(&q->pipe[p].packets, __ATOMIC_RELAXED);
        bytes += __atomic_load_n(&q->pipe[p].bytes, __ATOMIC_RELAXED);
    }
    return json_pack("{s:s, s:I, s:i, s:I, s:I, s:o}", "name", q->shape->subports[i].name, "rate",
                     (json_int_t)s->subport_rate[i], "subscribers", (int)subscribers, "packets",
                     (json_int_t)packets, "bytes", (json_int_t)bytes, "classes",
                     classes_json(q, i, i + 1));
}

static json_t *shaper_json(const struct shaper *s)
{
    const struct qos *q = s->q;
    json_t *subports = json_array();

    for (unsigned i = 0; i < q->shape->n_subports; i++)
        json_array_append_new(subports, subport_json(s, i));
    return json_pack("{s:s, s:s, s:s, s:I, s:f, s:o, s:o, s:o, s:o, s:o}", "task",
                     s->task->cfg->name, "scheduler", q->shape->name, "direction",
                     direction_name(q->direction), "held", (json_int_t)task_held(s->task), "lost",
                     (double)sched_lost_cycles(q->sched) / (double)q->tsc_hz, "lag",
                     hist_json(q, &q->lag), "sojourn", sojourn_json(q), "shaping",
                     error_json(&s->error), "classes", classes_json(q, 0, q->shape->n_subports),
                     "subports", subports);
}

json_t *show_qos_json(const struct control *c)
{
    json_t *all = json_array();

    for (unsigned i = 0; i < c->n_shapers; i++)
        json_array_append_new(all, shaper_json(&c->shaper[i]));
    return all;
}

char *show_qos_report(const struct control *c)
{
    json_t *all = show_qos_json(c);
    char *text = json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(9));

    json_decref(all);
    return text;
}
