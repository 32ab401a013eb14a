/* SPDX-License-Identifier: BSD-3-Clause */
/* Receive queues: what the core of each has taken from it. */
#include <stdio.h>

#include "engine/engine.h"
#include "telemetry/metrics.h"

#define READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

struct queue_figures {
    uint64_t taken, stalled;
};

static const struct metric queue_metrics[] = {
    {"rx_packets", "vbng_queue_rx_packets_total", METRIC_COUNTER, "packets",
     "Taken from the receive queue by its core", offsetof(struct queue_figures, taken)},
    {"stalled", "vbng_queue_stalled_polls_total", METRIC_COUNTER, "polls",
     "Left out because of back-pressure", offsetof(struct queue_figures, stalled)},
    {NULL}};

/* The port and number of the i-th receive queue of all; port is n_ports where there are fewer. */
static struct plan_rx queue_at(const struct plan *p, unsigned i)
{
    struct plan_rx at = {0};

    for (; at.port < p->cfg->n_ports && i >= p->rx_queues[at.port]; at.port++)
        i -= p->rx_queues[at.port];
    at.queue = (uint16_t)i;
    return at;
}

static unsigned queue_count(const void *of)
{
    const struct plan *p = ((const struct engine *)of)->plan;
    unsigned n = 0;

    for (unsigned i = 0; i < p->cfg->n_ports; i++)
        n += p->rx_queues[i];
    return n;
}

/* "cpe0.west" of a queue that has a name, else "cpe0.0". */
static void queue_name(const void *of, unsigned i, char *name)
{
    const struct plan *p = ((const struct engine *)of)->plan;
    struct plan_rx at = queue_at(p, i);
    const struct cfg_port *port = &p->cfg->ports[at.port];

    if (receive_by_rules(&port->receive))
        snprintf(name, METRICS_MAX_NAME, "%s.%s", port->name, port->receive.queues[at.queue].name);
    else
        snprintf(name, METRICS_MAX_NAME, "%s.%u", port->name, at.queue);
}

static void queue_read(const void *of, unsigned i, uint64_t *figures)
{
    const struct engine *e = of;
    struct plan_rx at = queue_at(e->plan, i);
    const struct input *in = engine_input(e, at.port, at.queue);

    *(struct queue_figures *)figures =
        (struct queue_figures){.taken = READ(in->polled), .stalled = READ(in->stalled)};
}

int metrics_queues_add(const struct engine *e)
{
    static struct metric_group group = {.object = "queue",
                                        .metrics = queue_metrics,
                                        .count = queue_count,
                                        .name = queue_name,
                                        .read = queue_read};

    group.of = e;
    return metrics_add(&group);
}
