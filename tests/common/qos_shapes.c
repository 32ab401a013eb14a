/* SPDX-License-Identifier: BSD-3-Clause */
#include "qos_shapes.h"

struct qos_shape plain_shape(uint64_t rate, uint64_t burst)
{
    struct qos_shape s = {.rate = rate,
                          .burst = burst,
                          .tc_period_ms = 40,
                          .weight = {1, 1, 1, 1},
                          .oversubscription_weight = 1};

    for (unsigned c = 0; c < QOS_CLASSES; c++)
        s.class_rate[c] = rate;
    return s;
}

void plain_subport_rate(struct cfg_subport *s, uint64_t rate)
{
    s->rate[QOS_UP] = s->rate[QOS_DOWN] = rate;
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        s->class_rate[c] = rate;
}

void plain_pipes(struct cfg_scheduler *s, uint32_t pipes_per_subport)
{
    uint64_t wanted[QOS_MAX_SUBPORTS];

    for (unsigned i = 0; i < s->n_subports; i++)
        wanted[i] = pipes_per_subport;
    s->pipes = qos_lay_pipes(s, wanted, NULL);
}

struct cfg_scheduler plain_scheduler(uint64_t rate, struct cfg_subport *subports,
                                     uint32_t n_subports, uint32_t pipes_per_subport)
{
    struct cfg_scheduler s = {.name = "plain",
                              .rate = rate,
                              .overhead = 4,
                              .mtu = 1518,
                              .n_subports = n_subports,
                              .subports = subports};

    s.class[QOS_BE].size = 64;
    for (uint32_t i = 0; i < n_subports; i++) {
        plain_subport_rate(&subports[i], rate);
        subports[i].n_pipes = pipes_per_subport;
    }
    plain_pipes(&s, pipes_per_subport);
    return s;
}
