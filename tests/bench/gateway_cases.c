/* SPDX-License-Identifier: BSD-3-Clause */
/* What bench-gateway measures: whole gateways, each program with another number of subscribers, all
 * of whom have both families (doc/scale.md). */
#include "gateway_text.h"
#include "qos.h"
#include "qos_graphs.h"

enum { PLAIN_BNG, SHAPED_BNG };

static const struct graph_text plain = {"gateway", UP ",\n" DOWN,
                                        CORE("0", UP_NAMES ", " DOWN_NAMES), .fuse = true};

const struct bench_case bench_cases[] = {
    {.name = "both ways",
     .what = "gateway without QoS, half of the packets each way",
     .run = pass_both,
     .graph = PLAIN_BNG},
    {.name = "both ways, QoS",
     .what = "with a scheduler in each direction",
     .run = pass_qos,
     .graph = SHAPED_BNG,
     .qos = &(const struct qos_variant){.target = QOS_ENGINE_BOTH}},
};

const unsigned n_bench_cases = RTE_DIM(bench_cases);
const uint32_t bench_subscribers = GATEWAY_SUBSCRIBERS, bench_wire_len = 4096;
const char bench_name[] = "bench-gateway";
const char bench_note[] = "40960 packets wait where there is QoS";

unsigned cases_need_mib(const struct options *o)
{
    return 512 +
           bench_subscribers / 1024 * 4; /* mbufs 160, routes; 2.7 KiB a subscriber's two pipes */
}

int cases_open(struct bench *b)
{
    /* tables are made from the first one: with profiles and pipes */
    b->graph[SHAPED_BNG] = graph_make(b, &qos_graphs[BNG_FUSED].text);
    b->graph[PLAIN_BNG] = graph_make(b, &plain);
    return b->graph[PLAIN_BNG] != NULL && b->graph[SHAPED_BNG] != NULL ? 0 : -1;
}

void cases_close(struct bench *b)
{
    graph_free(b->graph[PLAIN_BNG]);
    graph_free(b->graph[SHAPED_BNG]);
    tables_free(b);
}
