/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory a scheduler takes, said before it is built. */
#include "config/qos_fit.h"

/* Sizes of the library's structures (DPDK 22.11, x86-64); a test compares the sum with what the
 * library itself says and takes. */
enum {
    SIZE_PORT = 192,
    SIZE_SUBPORT = 3904,
    SIZE_SUBPORT_PROFILE = 136,
    SIZE_PIPE = 192,
    SIZE_QUEUE = 4,
    SIZE_QUEUE_EXTRA = 120,
    SIZE_PROFILE = 144,
    SIZE_MALLOC = 128, /* header and trailer of an allocation */
    LINE = 64,
};

static uint64_t lines(uint64_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

/* A bit per queue, with a summary bit per line of bits. */
static uint64_t bitmap_bytes(uint64_t bits)
{
    uint64_t bit_lines = (bits + 511) / 512, summary = (bit_lines + 63) / 64, slabs = 1;

    while (slabs < summary)
        slabs *= 2;
    return ((5 + slabs + 7) / 8 + bit_lines) * LINE;
}

static uint64_t subport_bytes(uint64_t pipes, uint64_t queue_packets, unsigned max_profiles)
{
    uint64_t queues = pipes * QOS_QUEUES;

    return lines(pipes * SIZE_PIPE) + lines(queues * SIZE_QUEUE) +
           lines(queues * SIZE_QUEUE_EXTRA) + lines((max_profiles + 1ull) * SIZE_PROFILE) +
           bitmap_bytes(queues) + lines(pipes * queue_packets * sizeof(void *));
}

static uint64_t place(uint64_t *end, uint64_t n, uint64_t size)
{
    uint64_t at = *end;

    *end += lines(n * size);
    return at;
}

void qos_wheel_layout(const struct cfg_scheduler *s, unsigned max_profiles,
                      struct qos_wheel_layout *l)
{
    uint64_t pipes = (uint64_t)s->n_subports * s->pipes_per_subport, end = QOS_WHEEL_SELF;

    *l = (struct qos_wheel_layout){0};
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        unsigned queues = c == QOS_BE ? QOS_BE_QUEUES : 1;
        unsigned aqm = s->class[c].aqm == AQM_PIE ? QOS_WHEEL_PIE : QOS_WHEEL_RED;

        if (!qos_class_used(s, c))
            continue;
        l->classes++;
        l->queues += queues;
        if (s->class[c].aqm == AQM_TAIL)
            continue;
        l->aqm_queues += queues;
        l->aqm_size = aqm > l->aqm_size ? aqm : l->aqm_size;
    }
    l->pipe = place(&end, pipes, QOS_WHEEL_PIPE);
    l->queue = place(&end, pipes * l->queues, QOS_WHEEL_QUEUE);
    l->drops = place(&end, pipes * (l->queues + (l->queues < QOS_QUEUES)), QOS_WHEEL_DROPS);
    l->aqm = place(&end, pipes * l->aqm_queues, l->aqm_size);
    l->cap = place(&end, pipes * l->classes, QOS_WHEEL_CAP);
    l->ring = place(&end, pipes * l->classes, sizeof(uint32_t));
    l->subport = place(&end, s->n_subports, QOS_WHEEL_SUBPORT);
    l->profile = place(&end, max_profiles, QOS_WHEEL_PROFILE);
    l->total = end;
}

/* The library's; 0 where its 32-bit sizes wrap. */
static uint64_t library_bytes(const struct cfg_scheduler *s, unsigned max_profiles)
{
    uint64_t packets = 0, subports = 1;
    bool pie = false;

    for (unsigned c = 0; c < QOS_CLASSES; c++)
        pie |= qos_class_used(s, c) && s->class[c].aqm == AQM_PIE;
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        /* With PIE the library wants a queue in every class: see src/sched/library_params.c. */
        uint64_t size = s->class[c].size == 0 && pie ? 1 : s->class[c].size;
        packets += c == QOS_BE ? QOS_BE_QUEUES * size : size;
    }
    while (subports < s->n_subports)
        subports *= 2;
    uint64_t each = subport_bytes(s->pipes_per_subport, packets, max_profiles);
    uint64_t spare = subport_bytes(1, packets, max_profiles);
    if (each + SIZE_SUBPORT > UINT32_MAX)
        return 0;
    return SIZE_PORT + lines(subports * sizeof(void *)) +
           lines((subports + QOS_MAX_SUBPORTS + 1) * SIZE_SUBPORT_PROFILE) +
           s->n_subports * (each + SIZE_SUBPORT + SIZE_MALLOC) +
           (subports - s->n_subports) * (spare + SIZE_SUBPORT + SIZE_MALLOC) + 2 * SIZE_MALLOC;
}

uint64_t qos_sched_bytes(const struct cfg_scheduler *s, unsigned max_profiles)
{
    uint64_t counters = (uint64_t)s->n_subports * QOS_CLASSES * QOS_SCHED_CLASS + SIZE_MALLOC, own;
    struct qos_wheel_layout l;

    if (s->engine == QOS_LIBRTE_SCHED) {
        own = library_bytes(s, max_profiles);
        return own != 0 ? own + counters : 0;
    }
    qos_wheel_layout(s, max_profiles, &l);
    return l.total + SIZE_MALLOC + counters;
}
