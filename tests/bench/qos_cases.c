/* SPDX-License-Identifier: BSD-3-Clause */
/* What bench-qos measures: the graphs, and the list of cases in the order of the table. */
#include <string.h>

#include "qos.h"

enum graph_id {
    GRAPH_MINIMAL,
    GRAPH_MINIMAL_64, /* bursts of 64 */
    GRAPH_BNG,
    GRAPH_QUEUE_256,
    GRAPH_FEW,     /* two strict classes and best effort */
    GRAPH_ADVISED, /* the same in bursts of 64 */
    GRAPH_HALF,    /* profiles for half of what arrives in pass_shaped() */
    GRAPH_TENTH,
    N_GRAPHS
};

#define TASK(name, type, more) "  { name = \"" name "\"; type = \"" type "\"; " more " }"
#define CORE(n, tasks)         "{ core = \"" n "\"; tasks = [" tasks "]; }"

/* DSCP 0..15 is the queue. */
#define QOS(rate, classes, map) QOS_AT("10M", rate, classes, map)
#define QOS_AT(profile, rate, classes, map)                                                        \
    "qos = { profiles = { home = { rate = \"" profile "\"; }; };\n"                                \
    "  dscp_maps = { queues = { queues = ( " map " ); default = { class = \"be\"; }; }; };\n"      \
    "  schedulers = { access = { ports = \"access\"; rate = \"" rate "\";\n"                       \
    "    classes = ( " classes " ); dscp_map = \"queues\"; }; }; };"
#define STRICT(n, size) "{ class = \"" #n "\"; queue = " size "; }, "
#define BE(size)        "{ class = \"be\"; queue = " size "; }"
#define ALL(size)                                                                                  \
    STRICT(0, size)                                                                                \
    STRICT(1, size)                                                                                \
    STRICT(2, size)                                                                                \
    STRICT(3, size)                                                                                \
    STRICT(4, size)                                                                                \
    STRICT(5, size)                                                                                \
    STRICT(6, size)                                                                                \
    STRICT(7, size) STRICT(8, size) STRICT(9, size) STRICT(10, size) STRICT(11, size) BE(size)
#define TO_CLASS(dscp, class) "{ dscp = " #dscp "; class = \"" #class "\"; }, "
#define TO_BE                                                                                      \
    "{ dscp = 13; class = \"be\"; queue = 1; }, { dscp = 14; class = \"be\"; queue = 2; }, "       \
    "{ dscp = 15; class = \"be\"; queue = 3; }"
#define ALL_QUEUES                                                                                 \
    TO_CLASS(0, 0)                                                                                 \
    TO_CLASS(1, 1)                                                                                 \
    TO_CLASS(2, 2)                                                                                 \
    TO_CLASS(3, 3)                                                                                 \
    TO_CLASS(4, 4)                                                                                 \
    TO_CLASS(5, 5)                                                                                 \
    TO_CLASS(6, 6)                                                                                 \
    TO_CLASS(7, 7) TO_CLASS(8, 8) TO_CLASS(9, 9) TO_CLASS(10, 10) TO_CLASS(11, 11) TO_BE

#define MINIMAL(more)                                                                              \
    TASK("classify", "classify",                                                                   \
         "from = \"access\"; to = \"qos\"; scheduler = \"access\"; shed = 0; " more)               \
    ",\n" TASK(                                                                                    \
        "qos", "qos",                                                                              \
        "scheduler = \"access\"; direction = \"up\"; to = \"tx\"; " more) ",\n" TASK("tx",         \
                                                                                     "forward",    \
                                                                                     "to = "       \
                                                                                     "\"core\";"   \
                                                                                     " " more)
#define MINIMAL_NAMES "\"classify\", \"qos\", \"tx\""
#define BNG                                                                                                                                                                                                                                                                                                                                                                                                                                            \
    TASK("classify", "classify",                                                                                                                                                                                                                                                                                                                                                                                                                       \
         "from = \"access\"; to = \"qos_up\"; scheduler = \"access\"; shed = 0;")                                                                                                                                                                                                                                                                                                                                                                      \
    ",\n" TASK(                                                                                                                                                                                                                                                                                                                                                                                                                                        \
        "qos_up", "qos",                                                                                                                                                                                                                                                                                                                                                                                                                               \
        "scheduler = \"access\"; direction = \"up\"; to = \"decap\";") ",\n" TASK("decap",                                                                                                                                                                                                                                                                                                                                                             \
                                                                                  "qinq_decap",                                                                                                                                                                                                                                                                                                                                                        \
                                                                                  "to = "                                                                                                                                                                                                                                                                                                                                                              \
                                                                                  "\"route\";") ",\n" TASK("route",                                                                                                                                                                                                                                                                                                                                    \
                                                                                                           "route", "to = \"gre\";") ",\n" TASK("gre",                                                                                                                                                                                                                                                                                                 \
                                                                                                                                                "gre_encap",                                                                                                                                                                                                                                                                                           \
                                                                                                                                                "to = "                                                                                                                                                                                                                                                                                                \
                                                                                                                                                "\"push\";") ",\n" TASK("push",                                                                                                                                                                                                                                                                        \
                                                                                                                                                                        "mpls_"                                                                                                                                                                                                                                                                        \
                                                                                                                                                                        "push",                                                                                                                                                                                                                                                                        \
                                                                                                                                                                        "to = "                                                                                                                                                                                                                                                                        \
                                                                                                                                                                        "\"cor"                                                                                                                                                                                                                                                                        \
                                                                                                                                                                        "e\";") ",\n" TASK("pop", "mpls_pop", "from = \"core\"; to = \"ungre\";") ",\n" TASK("ungre", "gre_decap", "to = \"encap\"; scheduler = \"access\";") ",\n" TASK("encap", "qinq_encap", "to = \"qos_down\";") ",\n" TASK("qos_down",                                           \
                                                                                                                                                                                                                                                                                                                                                                                                 "qos",                                                \
                                                                                                                                                                                                                                                                                                                                                                                                 "scheduler = \"access\"; direction = \"down\"; to = " \
                                                                                                                                                                                                                                                                                                                                                                                                 "\"access\";")
#define BNG_NAMES                                                                                  \
    "\"classify\", \"qos_up\", \"decap\", \"route\", \"gre\", \"push\", \"pop\", \"ungre\", "      \
    "\"encap\", \"qos_down\""

static const struct {
    struct graph_text text;
    unsigned mib; /* its schedulers */
} graphs[N_GRAPHS] = {
    [GRAPH_MINIMAL] = {{"minimal", MINIMAL(""), CORE("0", MINIMAL_NAMES),
                        QOS("40G", ALL("64"), ALL_QUEUES)},
                       330},
    [GRAPH_MINIMAL_64] = {{"minimal-64", MINIMAL("burst = 64;"), CORE("0", MINIMAL_NAMES),
                           QOS("40G", ALL("64"), ALL_QUEUES)},
                          330},
    [GRAPH_BNG] = {{"bng-qos", BNG, CORE("0", BNG_NAMES), QOS("40G", ALL("64"), ALL_QUEUES)}, 660},
    [GRAPH_QUEUE_256] = {{"queue-256", MINIMAL(""), CORE("0", MINIMAL_NAMES),
                          QOS("40G", ALL("256"), ALL_QUEUES)},
                         1100},
    [GRAPH_FEW] = {{"few-classes", MINIMAL(""), CORE("0", MINIMAL_NAMES),
                    QOS("40G", STRICT(0, "64") STRICT(1, "64") BE("64"),
                        TO_CLASS(0, 0) TO_CLASS(1, 1) TO_BE)},
                   200},
    [GRAPH_ADVISED] = {{"advised", MINIMAL("burst = 64;"), CORE("0", MINIMAL_NAMES),
                        QOS("40G", STRICT(0, "64") STRICT(1, "64") BE("64"),
                            TO_CLASS(0, 0) TO_CLASS(1, 1) TO_BE)},
                       200},
    [GRAPH_HALF] = {{"half", MINIMAL(""), CORE("0", MINIMAL_NAMES),
                     QOS_AT("490K", "40G", BE("2"), TO_BE)},
                    80},
    [GRAPH_TENTH] = {{"tenth", MINIMAL(""), CORE("0", MINIMAL_NAMES),
                      QOS_AT("98K", "40G", BE("2"), TO_BE)},
                     80},
};

#define BARE_CASE(name_, what_, ...)                                                               \
    {                                                                                              \
        .name = name_, .what = what_, .versus = "qos: bare", .run = pass_qos,                      \
        .graph = GRAPH_MINIMAL, .qos = &(const struct qos_variant)                                 \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

const struct bench_case bench_cases[] = {
    {.name = "qos: bare",
     .what = "rte_sched_port_enqueue + _dequeue, random subscriber, class, queue",
     .run = pass_qos,
     .graph = GRAPH_MINIMAL,
     .qos = &(const struct qos_variant){.target = QOS_BARE}},
    {.name = "qos: sched.h",
     .what = "sched_enqueue + sched_dequeue",
     .versus = "qos: bare",
     .run = pass_qos,
     .graph = GRAPH_MINIMAL,
     .qos = &(const struct qos_variant){.target = QOS_SCHED}},
    {.name = "qos: task",
     .what = "handle + poll",
     .versus = "qos: bare",
     .bar = 1.15,
     .run = pass_qos,
     .graph = GRAPH_MINIMAL,
     .qos = &(const struct qos_variant){.target = QOS_TASK}},
    {.name = "qos: minimal",
     .what = "classify > qos > tx, engine",
     .versus = "qos: bare",
     .bar_cycles = 400,
     .run = pass_qos,
     .graph = GRAPH_MINIMAL,
     .qos = &(const struct qos_variant){.target = QOS_ENGINE}},
    {.name = "qos: BNG",
     .what = "gateway with qos in both directions, half of the packets each",
     .versus = "qos: bare",
     .bar_cycles = 550,
     .run = pass_qos,
     .graph = GRAPH_BNG,
     .qos = &(const struct qos_variant){.target = QOS_ENGINE_BOTH}},
    {.name = "one: bare",
     .what = "one class and queue of each subscriber: library",
     .run = pass_qos,
     .graph = GRAPH_MINIMAL,
     .qos = &(const struct qos_variant){.target = QOS_BARE, .one_queue = true}},
    {.name = "one: task",
     .what = "task",
     .versus = "one: bare",
     .bar = 1.15,
     .run = pass_qos,
     .graph = GRAPH_MINIMAL,
     .qos = &(const struct qos_variant){.target = QOS_TASK, .one_queue = true}},
    {.name = "one: minimal",
     .what = "classify > qos > tx",
     .versus = "one: bare",
     .run = pass_qos,
     .graph = GRAPH_MINIMAL,
     .qos = &(const struct qos_variant){.target = QOS_ENGINE, .one_queue = true}},
    BARE_CASE("bare, 64", "bursts of 64", .target = QOS_BARE, .burst = 64),
    {.name = "minimal, 64",
     .what = "classify > qos > tx in bursts of 64",
     .versus = "qos: minimal",
     .run = pass_qos,
     .graph = GRAPH_MINIMAL_64,
     .qos = &(const struct qos_variant){.target = QOS_ENGINE}},
    BARE_CASE("bare, oversub", "oversubscription on, as the library has it", .target = QOS_BARE,
              .oversubscription = true),
    BARE_CASE("bare, in order", "one subscriber after the other", .target = QOS_BARE,
              .neighbours = true),
    BARE_CASE("bare, few mbufs", "4096 mbufs beside those that wait", .target = QOS_BARE,
              .in_use = QOS_HELD + 4096),
    {.name = "min, few mbufs",
     .what = "classify > qos > tx with as few",
     .versus = "qos: minimal",
     .run = pass_qos,
     .graph = GRAPH_MINIMAL,
     .qos = &(const struct qos_variant){.target = QOS_ENGINE, .in_use = QOS_HELD + 4096}},
    {.name = "bare, 3 classes",
     .what = "two strict classes and best effort; the others have no queues",
     .versus = "qos: bare",
     .run = pass_qos,
     .graph = GRAPH_FEW,
     .qos = &(const struct qos_variant){.target = QOS_BARE, .few = true}},
    {.name = "min, 3 classes",
     .what = "classify > qos > tx with as few",
     .versus = "qos: minimal",
     .run = pass_qos,
     .graph = GRAPH_FEW,
     .qos = &(const struct qos_variant){.target = QOS_ENGINE, .few = true}},
    {.name = "min, advised",
     .what = "three classes, bursts of 64, 4096 mbufs beside those that wait",
     .versus = "qos: minimal",
     .run = pass_qos,
     .graph = GRAPH_ADVISED,
     .qos =
         &(const struct qos_variant){.target = QOS_ENGINE, .few = true, .in_use = QOS_HELD + 4096}},
    {.name = "bare, q 256",
     .what = "queues of 256 packets",
     .versus = "qos: bare",
     .run = pass_qos,
     .graph = GRAPH_QUEUE_256,
     .qos = &(const struct qos_variant){.target = QOS_BARE}},
#define SHAPED(name_, what_, graph_, target_)                                                      \
    {                                                                                              \
        .name = name_, .what = what_, .versus = "qos: bare", .run = pass_shaped, .graph = graph_,  \
        .qos = &(const struct qos_variant)                                                         \
        {                                                                                          \
            .target = target_                                                                      \
        }                                                                                          \
    }
    SHAPED("shaped 2x: bare", "arrivals twice what the profiles let through; library", GRAPH_HALF,
           QOS_BARE),
    SHAPED("shaped 2x: task", "task", GRAPH_HALF, QOS_TASK),
    SHAPED("shaped 10x:bare", "arrivals ten times that; library", GRAPH_TENTH, QOS_BARE),
    SHAPED("shaped 10x:task", "task", GRAPH_TENTH, QOS_TASK),
};

const unsigned n_bench_cases = RTE_DIM(bench_cases);
const char bench_name[] = "bench-qos";
const char bench_note[] = "ratios are to the bare library; 40960 packets wait";

static bool graph_needed(const struct options *o, unsigned graph)
{
    for (unsigned i = 0; i < n_bench_cases; i++) {
        const struct bench_case *c = &bench_cases[i];

        if (!case_chosen(o, c))
            continue;
        if (c->graph == graph)
            return true;
        for (unsigned k = 0; c->versus != NULL && k < n_bench_cases; k++)
            if (strcmp(bench_cases[k].name, c->versus) == 0 && bench_cases[k].graph == graph)
                return true;
    }
    return false;
}

unsigned cases_need_mib(const struct options *o)
{
    unsigned mib = 384; /* mbufs 160, routes 64, and the rest with room */

    for (unsigned i = 0; i < N_GRAPHS; i++)
        mib += graph_needed(o, i) ? graphs[i].mib + 8 : 0;
    return mib;
}

int cases_open(struct bench *b)
{
    for (unsigned i = 0; i < N_GRAPHS; i++) {
        if (!graph_needed(&b->options, i))
            continue;
        b->graph[i] = graph_make(b, &graphs[i].text);
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
