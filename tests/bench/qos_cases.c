/* SPDX-License-Identifier: BSD-3-Clause */
/* What bench-qos measures: the list of cases in the order of the table. "lib" is librte_sched, the
 * others are the wheel, but for what is called bare. */
#include <string.h>

#include "qos.h"
#include "qos_graphs.h"

#define MEASURE(run_, name_, what_, versus_, graph_, ...)                                          \
    .name = name_, .what = what_, .versus = versus_, .run = run_, .graph = graph_,                 \
    .qos = &(const struct qos_variant)                                                             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define CASE(name, what, versus, graph, ...)                                                       \
    {                                                                                              \
        MEASURE(pass_qos, name, what, versus, graph, __VA_ARGS__)                                  \
    }
/* bar: of the ratio; cycles: bar of cycles a packet; 0: none */
#define BARRED(name, what, versus, bar_, cycles_, graph, ...)                                      \
    {                                                                                              \
        MEASURE(pass_qos, name, what, versus, graph, __VA_ARGS__), .bar = bar_,                    \
                                                                   .bar_cycles = cycles_           \
    }
#define SHAPED(name, what, graph, ...)                                                             \
    {                                                                                              \
        MEASURE(pass_shaped, name, what, "qos: bare", graph, __VA_ARGS__)                          \
    }

const struct bench_case bench_cases[] = {
    CASE("qos: bare", "rte_sched_port_enqueue + _dequeue, random subscriber, class, queue", NULL,
         LIB_MINIMAL, .target = QOS_BARE),
    CASE("qos: sched.h", "sched_enqueue + sched_dequeue", "qos: bare", MINIMAL,
         .target = QOS_SCHED),
    BARRED("qos: task", "handle + poll", "qos: bare", 1.15, 0, MINIMAL, .target = QOS_TASK),
    BARRED("qos: minimal", "classify > qos > tx, engine", "qos: bare", 0, 400, MINIMAL,
           .target = QOS_ENGINE),
    BARRED("qos: BNG", "gateway with qos in both directions, half of the packets each", "qos: bare",
           0, 550, BNG, .target = QOS_ENGINE_BOTH),
    CASE("qos: BNG, fused", "the same as a gateway runs it", "qos: bare", BNG_FUSED,
         .target = QOS_ENGINE_BOTH),
    CASE("lib: sched.h", "the same with librte_sched", "qos: bare", LIB_MINIMAL,
         .target = QOS_SCHED),
    BARRED("lib: task", "", "qos: bare", 1.15, 0, LIB_MINIMAL, .target = QOS_TASK),
    CASE("lib: minimal", "", "qos: bare", LIB_MINIMAL, .target = QOS_ENGINE),
    CASE("lib: BNG", "", "qos: bare", LIB_BNG, .target = QOS_ENGINE_BOTH),
    CASE("be: bare", "all in one best-effort queue: what leaves has waited longest", NULL,
         LIB_MINIMAL, .target = QOS_BARE, .best_effort = true),
    CASE("be: sched.h", "sched.h", "be: bare", MINIMAL, .target = QOS_SCHED, .best_effort = true),
    BARRED("be: task", "task", "be: bare", 1.15, 0, MINIMAL, .target = QOS_TASK,
           .best_effort = true),
    BARRED("be: minimal", "classify > qos > tx", "be: bare", 0, 400, MINIMAL, .target = QOS_ENGINE,
           .best_effort = true),
    CASE("be: task, fq", "task with FQ-CoDel: 7 of 10 packets find another one waiting", "be: task",
         FQ, .target = QOS_TASK, .best_effort = true),
    CASE("be: min, fq", "classify > qos > tx with FQ-CoDel", "be: minimal", FQ,
         .target = QOS_ENGINE, .best_effort = true),
    CASE("be: calm", "task, and nobody waits", "be: bare", MINIMAL, .target = QOS_TASK,
         .best_effort = true, .calm = true),
    CASE("be: calm, fq", "the same with FQ-CoDel", "be: calm", FQ, .target = QOS_TASK,
         .best_effort = true, .calm = true),
    BARRED("be: BNG", "gateway", "be: bare", 0, 550, BNG, .target = QOS_ENGINE_BOTH,
           .best_effort = true),
    CASE("one: bare", "one class and queue of each subscriber", NULL, LIB_MINIMAL,
         .target = QOS_BARE, .one_queue = true),
    BARRED("one: task", "task", "one: bare", 1.15, 0, MINIMAL, .target = QOS_TASK,
           .one_queue = true),
    CASE("one: minimal", "classify > qos > tx", "one: bare", MINIMAL, .target = QOS_ENGINE,
         .one_queue = true),
    CASE("lib: one, task", "librte_sched: task", "one: bare", LIB_MINIMAL, .target = QOS_TASK,
         .one_queue = true),
    CASE("lib: one, min", "classify > qos > tx", "one: bare", LIB_MINIMAL, .target = QOS_ENGINE,
         .one_queue = true),
    CASE("minimal, 32", "classify > qos > tx in bursts of 32", "qos: minimal", MINIMAL_32,
         .target = QOS_ENGINE),
    CASE("min, few mbufs", "with 4096 mbufs beside those that wait", "qos: minimal", MINIMAL,
         .target = QOS_ENGINE, .in_use = QOS_HELD + 4096),
    CASE("min, 3 classes", "two strict classes and best effort", "qos: minimal", FEW,
         .target = QOS_ENGINE, .few = true),
    CASE("min, q 256", "queues of 256 packets", "qos: minimal", QUEUE_256, .target = QOS_ENGINE),
    CASE("bare, 64", "the library alone in bursts of 64", "qos: bare", LIB_MINIMAL,
         .target = QOS_BARE, .burst = 64),
    CASE("lib: min, 32", "classify > qos > tx in bursts of 32", "lib: minimal", LIB_MINIMAL_32,
         .target = QOS_ENGINE),
    CASE("bare, oversub", "oversubscription on, as the library has it", "qos: bare", LIB_MINIMAL,
         .target = QOS_BARE, .oversubscription = true),
    CASE("bare, in order", "one subscriber after the other", "qos: bare", LIB_MINIMAL,
         .target = QOS_BARE, .neighbours = true),
    CASE("bare, few mbufs", "4096 mbufs beside those that wait", "qos: bare", LIB_MINIMAL,
         .target = QOS_BARE, .in_use = QOS_HELD + 4096),
    CASE("lib: few mbufs", "classify > qos > tx with as few", "lib: minimal", LIB_MINIMAL,
         .target = QOS_ENGINE, .in_use = QOS_HELD + 4096),
    CASE("bare, 3 classes", "two strict classes and best effort; the others have no queues",
         "qos: bare", LIB_FEW, .target = QOS_BARE, .few = true),
    CASE("lib: 3 classes", "classify > qos > tx with as few", "lib: minimal", LIB_FEW,
         .target = QOS_ENGINE, .few = true),
    CASE("lib: advised", "three classes, bursts of 64, 4096 mbufs beside those that wait",
         "lib: minimal", LIB_ADVISED, .target = QOS_ENGINE, .few = true, .in_use = QOS_HELD + 4096),
    CASE("bare, q 256", "queues of 256 packets", "qos: bare", LIB_QUEUE_256, .target = QOS_BARE),
    SHAPED("shaped 2x: bare", "arrivals twice what the profiles let through; library alone",
           LIB_HALF, .target = QOS_BARE),
    SHAPED("shaped 2x: lib", "task with the library", LIB_HALF, .target = QOS_TASK),
    SHAPED("shaped 2x: task", "task with the wheel", HALF, .target = QOS_TASK),
    SHAPED("shaped 10x:bare", "arrivals ten times that", LIB_TENTH, .target = QOS_BARE),
    SHAPED("shaped 10x:lib", "", LIB_TENTH, .target = QOS_TASK),
    SHAPED("shaped 10x:task", "", TENTH, .target = QOS_TASK),
};

const unsigned n_bench_cases = RTE_DIM(bench_cases);
const uint32_t bench_subscribers = 32768, bench_wire_len = 4096;
const char bench_name[] = "bench-qos";
const char bench_note[] = "ratios are to the bare library; 40960 packets wait";

static const struct bench_case *find_case(const char *name)
{
    for (unsigned i = 0; name != NULL && i < n_bench_cases; i++)
        if (strcmp(bench_cases[i].name, name) == 0)
            return &bench_cases[i];
    return NULL;
}

/* By a case that is chosen, or by one that it is compared with. */
static bool graph_needed(const struct options *o, unsigned graph)
{
    for (unsigned i = 0; i < n_bench_cases; i++) {
        if (!case_chosen(o, &bench_cases[i]))
            continue;
        for (const struct bench_case *c = &bench_cases[i]; c != NULL; c = find_case(c->versus))
            if (c->graph == graph)
                return true;
    }
    return false;
}

unsigned cases_need_mib(const struct options *o)
{
    unsigned mib = 384; /* mbufs 160, routes 64, and the rest with room */

    for (unsigned i = 0; i < N_GRAPHS; i++)
        mib += graph_needed(o, i) ? 2 * qos_graphs[i].mib + 8 : 0; /* pipes for more subscribers */
    return mib;
}

int cases_open(struct bench *b)
{
    for (unsigned i = 0; i < N_GRAPHS; i++) {
        if (!graph_needed(&b->options, i))
            continue;
        b->graph[i] = graph_make(b, &qos_graphs[i].text);
        if (b->graph[i] == NULL)
            return -1;
    }
    return 0;
}

void cases_close(struct bench *b)
{
    for (unsigned i = 0; i < N_GRAPHS; i++)
        graph_free(b->graph[i]);
    tables_free(b);
}
