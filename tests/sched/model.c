/* SPDX-License-Identifier: BSD-3-Clause */
#include "model.h"

#include <math.h>
#include <string.h>

static unsigned class_of(unsigned queue)
{
    return queue < QOS_BE ? queue : QOS_BE;
}

static bool is_capped(const struct qos_shape *s, unsigned class)
{
    return s->class_rate[class] < s->rate;
}

static double cap_size(const struct qos_shape *s, unsigned class)
{
    return (double)(s->class_rate[class] / 8 * s->tc_period_ms / 1000);
}

void model_profile(struct model_pipe *p, const struct qos_shape *shape)
{
    p->shape = shape;
    p->bucket.tokens = (double)shape->burst / 2;
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        p->cap[c].tokens = cap_size(shape, c) / 2;
}

bool model_put(struct model_pipe *p, unsigned queue, uint32_t bytes, unsigned size)
{
    struct model_queue *q = &p->queue[queue];

    if (q->n >= size)
        return false;
    if (queue >= QOS_BE && q->n == 0) {
        double least = INFINITY; /* it has not saved up what it did not send */
        for (unsigned i = 0; i < QOS_BE_QUEUES; i++)
            if (p->queue[QOS_BE + i].n > 0)
                least = fmin(least, p->had[i]);
        if (least != INFINITY)
            p->had[queue - QOS_BE] = fmax(p->had[queue - QOS_BE], least);
    }
    q->bytes[(q->head + q->n++) % MODEL_QUEUE] = bytes;
    return true;
}

/* The queue of the highest class that may send, or -1. */
static int next_queue(const struct model_pipe *p)
{
    int best = -1;

    for (unsigned q = 0; q < QOS_QUEUES; q++) {
        unsigned class = class_of(q);
        const struct model_queue *k = &p->queue[q];

        if (k->n == 0 || (q > QOS_BE && best >= 0 && best < QOS_BE))
            continue;
        if (is_capped(p->shape, class) && p->cap[class].tokens < k->bytes[k->head])
            continue;
        if (q < QOS_BE)
            return (int)q;
        if (best < 0 || p->had[q - QOS_BE] < p->had[best - QOS_BE])
            best = (int)q;
    }
    return best;
}

static void send_all(struct model_pipe *p)
{
    int q;

    while ((q = next_queue(p)) >= 0) {
        struct model_queue *k = &p->queue[q];
        uint32_t bytes = k->bytes[k->head];

        if (p->bucket.tokens < bytes)
            return;
        p->bucket.tokens -= bytes;
        p->cap[class_of((unsigned)q)].tokens -= bytes;
        if (q >= QOS_BE)
            p->had[q - QOS_BE] += (double)bytes / p->shape->weight[q - QOS_BE];
        k->head = (k->head + 1) % MODEL_QUEUE;
        k->n--;
        k->sent += bytes;
    }
}

void model_step(struct model *m, double seconds)
{
    for (unsigned i = 0; i < m->n_pipes; i++) {
        struct model_pipe *p = &m->pipe[i];
        const struct qos_shape *s = p->shape;

        p->bucket.tokens = fmin((double)s->burst, p->bucket.tokens + (double)s->rate / 8 * seconds);
        for (unsigned c = 0; c < QOS_CLASSES; c++)
            p->cap[c].tokens =
                fmin(cap_size(s, c), p->cap[c].tokens + (double)s->class_rate[c] / 8 * seconds);
        send_all(p);
    }
}
