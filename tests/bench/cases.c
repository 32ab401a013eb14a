/* SPDX-License-Identifier: BSD-3-Clause */
/* What is measured: the graphs, and the list of cases in the order of the table. */
#include "bench.h"
#include "gateway_text.h"

enum graph_id {
    GRAPH_FORWARD,
    GRAPH_FORWARD_NIC,
    GRAPH_UP,
    GRAPH_DOWN,
    GRAPH_BOTH,
    GRAPH_UP_FUSED,
    GRAPH_DOWN_FUSED,
    GRAPH_BOTH_FUSED,
    GRAPH_BOTH_NO_IPV6,
    GRAPH_UP_PPPOE,
    GRAPH_DOWN_PPPOE,
    GRAPH_UP_OVER6,
    GRAPH_DOWN_OVER6,
    GRAPH_PLAIN_DOWN,
    GRAPH_UP_ALONE, /* each task on a core of its own */
    GRAPH_DOWN_ALONE,
    GRAPH_LB,
    GRAPH_LB_16, /* 16 workers */
    GRAPH_GEN,
    GRAPH_SINK_STAMPS,
    GRAPH_SINK_EXPECT,
    N_GRAPHS
};

#define ALONE(n, task) ", " CORE(n, "\"" task "\"")

#define FORWARD                                                                                    \
    TASK("forward", "forward", "from = \"access\"; to = \"core\";") "\n", CORE("0", "\"forward\"")
#define PLAIN_DOWN_TASKS                                                                           \
    TASK("find", "classify", "from = \"core\"; match = \"ipv4\"; to = \"encap\";")                 \
    ",\n" TASK("encap", "qinq_encap", "to = \"access\";")
#define LB                                                                                         \
    TASK("lb_access", "lb", "from = \"access\"; to = \"up\"; by = \"qinq\";")                      \
    ",\n" TASK("up", "forward", "to = \"core\";") ",\n" TASK(                                      \
        "lb_core", "lb",                                                                           \
        "from = \"core\"; to = \"down\"; by = \"gre\";") ",\n" TASK("down", "forward",             \
                                                                    "to = \"access\";")
#define GEN_TO               "to = \"access\"; template = \"cpe0.tmpl\"; rate = \"1Tbit/s\"; "
#define GEN_TASK(name, more) TASK(name, "gen", GEN_TO more) ",\n"
#define STREAMS              "streams = ( { }, { }, { }, { } );"
#define STAMPED              "size = 78; stamp = true;"
#define POISSON              "pace = \"poisson\";"
#define IMIX                 "size = \"imix\";"
#define SINK                 TASK("sink", "sink", "from = \"core\";")
#define GENS                 GEN_TASK("gen4", STREAMS) GEN_TASK("gen_stamp", STAMPED)
#define GEN                                                                                        \
    GEN_TASK("gen", "") GENS GEN_TASK("gen_poisson", POISSON) GEN_TASK("gen_imix", IMIX) SINK

#define SINK_WITH(more)                                                                            \
    TASK("sink", "sink", "from = [\"core\", \"access\"]; " more), CORE("0", "\"sink\"")

static const struct graph_text graphs[N_GRAPHS] = {
    [GRAPH_FORWARD] = {"forward", FORWARD, .ports_count_bytes = false},
    [GRAPH_FORWARD_NIC] = {"forward", FORWARD, .ports_count_bytes = true},
    [GRAPH_UP] = {"upstream", UP, CORE("0", UP_NAMES)},
    [GRAPH_DOWN] = {"downstream", DOWN, CORE("0", DOWN_NAMES)},
    [GRAPH_BOTH] = {"both-ways", UP ",\n" DOWN, CORE("0", UP_NAMES ", " DOWN_NAMES)},
    [GRAPH_UP_FUSED] = {"upstream-fused", UP, CORE("0", UP_NAMES), .fuse = true},
    [GRAPH_DOWN_FUSED] = {"downstream-fused", DOWN, CORE("0", DOWN_NAMES), .fuse = true},
    [GRAPH_BOTH_FUSED] = {"both-ways-fused", UP ",\n" DOWN, CORE("0", UP_NAMES ", " DOWN_NAMES),
                          .fuse = true},
    [GRAPH_BOTH_NO_IPV6] = {"both-ways-no-ipv6", UP ",\n" DOWN, CORE("0", UP_NAMES ", " DOWN_NAMES),
                            .fuse = true, .no_ipv6 = true},
    [GRAPH_UP_PPPOE] = {"upstream-pppoe", UP, CORE("0", UP_NAMES), .fuse = true, .pppoe = true},
    [GRAPH_DOWN_PPPOE] = {"downstream-pppoe", DOWN, CORE("0", DOWN_NAMES), .fuse = true,
                          .pppoe = true},
    [GRAPH_UP_OVER6] = {"upstream-over6", UP, CORE("0", UP_NAMES), .fuse = true, .over6 = true},
    [GRAPH_DOWN_OVER6] = {"downstream-over6", DOWN, CORE("0", DOWN_NAMES), .fuse = true,
                          .over6 = true},
    [GRAPH_PLAIN_DOWN] = {"plain-downstream", PLAIN_DOWN_TASKS, CORE("0", "\"find\", \"encap\""),
                          .fuse = true},
    [GRAPH_UP_ALONE] = {"upstream-tasks", UP,
                        CORE("0", "\"classify\"") ALONE("1", "decap") ALONE("2", "route")
                            ALONE("3", "gre") ALONE("4", "push")},
    [GRAPH_DOWN_ALONE] = {"downstream-tasks", DOWN,
                          CORE("0", "\"pop\"") ALONE("1", "ungre") ALONE("2", "encap")},
    [GRAPH_LB] = {"load-balancers", LB,
                  CORE("0", "\"lb_access\"")
                      ALONE("1", "lb_core") ", " CORE("2-5", "\"up\", \"down\"")},
    [GRAPH_LB_16] = {"load-balancers-16", LB,
                     CORE("0", "\"lb_access\"")
                         ALONE("1", "lb_core") ", " CORE("2-17", "\"up\", \"down\"")},
    [GRAPH_GEN] = {"generator-and-sink", GEN,
                   CORE("0", "\"gen\"") ALONE("1", "sink") ALONE("2", "gen4")
                       ALONE("3", "gen_stamp") ALONE("4", "gen_poisson") ALONE("5", "gen_imix")},
    [GRAPH_SINK_STAMPS] = {"sink-stamps", SINK_WITH("stamps = true;")},
    [GRAPH_SINK_EXPECT] = {"sink-expect", SINK_WITH("expect = \"../tests/bench/core.tmpl\";")},
};

static const char *const up_to_decap[] = {"classify", NULL};
static const char *const up_to_route[] = {"classify", "decap", NULL};
static const char *const up_to_gre[] = {"classify", "decap", "route", NULL};
static const char *const up_to_push[] = {"classify", "decap", "route", "gre", NULL};
static const char *const down_to_ungre[] = {"pop", NULL};
static const char *const down_to_encap[] = {"pop", "ungre", NULL};

#define FLOOR "floor"

const struct bench_case bench_cases[] = {
    {.name = "bare", .what = "rte_eth_rx_burst, rte_eth_tx_burst", .run = pass_bare},
    {.name = "bare, bytes",
     .what = "the same, and the bytes counted, which net_ring leaves out",
     .run = pass_bare,
     .bytes = true},
    {.name = "null path",
     .what = "engine, one task forward, bytes counted",
     .versus = "bare, bytes",
     .bar = 1.3,
     .run = pass_engine,
     .graph = GRAPH_FORWARD},
    {.name = "null, no bytes",
     .what = "the same to ports that count for themselves",
     .versus = "bare",
     .run = pass_engine,
     .graph = GRAPH_FORWARD_NIC},
    {.name = FLOOR, .what = "rx, header and subscriber line r/w, tx", .run = pass_floor},
    {.name = "floor, prefetch",
     .what = "the same in passes that prefetch",
     .versus = FLOOR,
     .run = pass_floor,
     .prefetch = true},
    {.name = "upstream",
     .what = "classify > qinq_decap > route > gre_encap > mpls_push, one after the other",
     .versus = FLOOR,
     .bar = 2.0,
     .run = pass_engine,
     .graph = GRAPH_UP},
    {.name = "downstream",
     .what = "mpls_pop > gre_decap > qinq_encap, one after the other",
     .versus = FLOOR,
     .bar = 2.0,
     .run = pass_engine,
     .graph = GRAPH_DOWN,
     .direction = DOWNSTREAM},
    {.name = "both ways",
     .what = "upstream and downstream in turn, half of each",
     .versus = FLOOR,
     .run = pass_both,
     .graph = GRAPH_BOTH},
    {.name = "upstream, fused",
     .what = "the same as a gateway runs it: all at once",
     .versus = FLOOR,
     .bar = 1.4,
     .run = pass_engine,
     .graph = GRAPH_UP_FUSED},
    {.name = "downstream, fused",
     .what = "the same",
     .versus = FLOOR,
     .bar = 1.4,
     .run = pass_engine,
     .graph = GRAPH_DOWN_FUSED,
     .direction = DOWNSTREAM},
    {.name = "both ways, fused",
     .what = "the same",
     .versus = FLOOR,
     .run = pass_both,
     .graph = GRAPH_BOTH_FUSED},
    {.name = "both ways, no IPv6",
     .what = "the same where nobody has IPv6",
     .versus = FLOOR,
     .run = pass_both,
     .graph = GRAPH_BOTH_NO_IPV6},
    {.name = "both ways, IPv4",
     .what = "IPv4 where all have IPv6, too",
     .versus = "both ways, no IPv6",
     .bar = 1.02,
     .run = pass_both,
     .graph = GRAPH_BOTH_FUSED},
#define IPV6_CASES(name_, run_, graph_, six_, mix_)                                                \
    {.name = name_ ", IPv6",                                                                       \
     .what = "the same of IPv6, half of it of delegated prefixes",                                 \
     .versus = name_ ", fused",                                                                    \
     .bar = 1.2,                                                                                   \
     .run = run_,                                                                                  \
     .graph = graph_,                                                                              \
     .direction = six_},                                                                           \
    {                                                                                              \
        .name = name_ ", half IPv6",                                                               \
        .what = "both families in random order, against the mean of both",                         \
        .versus = name_ ", fused", .mean = name_ ", IPv6", .bar = 1.05, .run = run_,               \
        .graph = graph_, .direction = mix_                                                         \
    }
    IPV6_CASES("upstream", pass_engine, GRAPH_UP_FUSED, UPSTREAM6, UPSTREAM_MIX),
    IPV6_CASES("downstream", pass_engine, GRAPH_DOWN_FUSED, DOWNSTREAM6, DOWNSTREAM_MIX),
    IPV6_CASES("both ways", pass_both, GRAPH_BOTH_FUSED, UPSTREAM6, UPSTREAM_MIX),
#define VARIANT_CASE(name_, what_, versus_, graph_, direction_, bar_)                              \
    {                                                                                              \
        .name = name_, .what = what_, .versus = versus_, .bar = bar_, .run = pass_engine,          \
        .graph = graph_, .direction = direction_                                                   \
    }
    VARIANT_CASE("upstream, PPPoE", "IPv4 where all are in sessions of PPPoE", "upstream, fused",
                 GRAPH_UP_PPPOE, UPSTREAM_PPPOE, 1.08),
    VARIANT_CASE("downstream, PPPoE", "the same", "downstream, fused", GRAPH_DOWN_PPPOE, DOWNSTREAM,
                 1.08),
    VARIANT_CASE("upstream, PPPoE, IPv6", "the same of IPv6", "upstream, IPv6", GRAPH_UP_PPPOE,
                 UPSTREAM6_PPPOE, 1.05),
    VARIANT_CASE("downstream, PPPoE, IPv6", "the same", "downstream, IPv6", GRAPH_DOWN_PPPOE,
                 DOWNSTREAM6, 1.06),
    VARIANT_CASE("upstream, over IPv6", "IPv4 in tunnels over IPv6", "upstream, fused",
                 GRAPH_UP_OVER6, UPSTREAM, 0),
    VARIANT_CASE("downstream, over IPv6", "the same", "downstream, fused", GRAPH_DOWN_OVER6,
                 DOWNSTREAM_OVER6, 0),
    VARIANT_CASE("upstream, IPv6 over IPv6", "IPv6 in tunnels over IPv6", "upstream, IPv6",
                 GRAPH_UP_OVER6, UPSTREAM6, 0),
    VARIANT_CASE("downstream, IPv6 over IPv6", "the same", "downstream, IPv6", GRAPH_DOWN_OVER6,
                 DOWNSTREAM6_OVER6, 0),
#define PLAIN "plain downstream"
    {.name = PLAIN,
     .what = "classify by address > qinq_encap: a core side without tunnels",
     .versus = FLOOR,
     .run = pass_engine,
     .graph = GRAPH_PLAIN_DOWN,
     .direction = PLAIN_DOWN},
    {.name = PLAIN ", IPv6",
     .what = "the same of IPv6, half of it to delegated prefixes",
     .versus = PLAIN,
     .bar = 1.2,
     .run = pass_engine,
     .graph = GRAPH_PLAIN_DOWN,
     .direction = PLAIN_DOWN6},
    {.name = PLAIN ", IPv6, near",
     .what = "the same from the net that the gateway's own address is of",
     .versus = PLAIN,
     .run = pass_engine,
     .graph = GRAPH_PLAIN_DOWN,
     .direction = PLAIN_DOWN6_NEAR},
    {.name = PLAIN ", half IPv6",
     .what = "both families in random order, against the mean of both",
     .versus = PLAIN,
     .mean = PLAIN ", IPv6",
     .bar = 1.05,
     .run = pass_engine,
     .graph = GRAPH_PLAIN_DOWN,
     .direction = PLAIN_DOWN_MIX},
    {.name = "forward",
     .what = "task alone",
     .versus = FLOOR,
     .run = pass_task,
     .graph = GRAPH_FORWARD,
     .task = "forward"},
    {.name = "lb qinq",
     .what = "task alone, 4 workers",
     .versus = FLOOR,
     .run = pass_task,
     .graph = GRAPH_LB,
     .task = "lb_access"},
    {.name = "lb gre",
     .what = "task alone, 4 workers",
     .versus = FLOOR,
     .run = pass_task,
     .graph = GRAPH_LB,
     .task = "lb_core",
     .direction = DOWNSTREAM},
#define LB_CASE(name_, what_, graph_, task_, direction_)                                           \
    {                                                                                              \
        .name = name_, .what = what_, .versus = FLOOR, .run = pass_spread, .graph = graph_,        \
        .task = task_, .direction = direction_                                                     \
    }
    LB_CASE("lb qinq, rings", "into the rings of 4 workers", GRAPH_LB, "lb_access", UPSTREAM),
    LB_CASE("lb qinq, 16", "into the rings of 16 workers", GRAPH_LB_16, "lb_access", UPSTREAM),
    LB_CASE("lb gre, rings", "into the rings of 4 workers", GRAPH_LB, "lb_core", DOWNSTREAM),
    LB_CASE("lb gre, 16", "into the rings of 16 workers", GRAPH_LB_16, "lb_core", DOWNSTREAM),
#define PREFIX_CASE(name_, graph_, task_, via_, direction_)                                        \
    {                                                                                              \
        .name = name_, .what = "the path up to here", .versus = FLOOR, .run = pass_prefix,         \
        .graph = graph_, .task = task_, .via = via_, .direction = direction_                       \
    }
    PREFIX_CASE("up: classify", GRAPH_UP, "classify", up_to_decap, UPSTREAM),
    PREFIX_CASE("up: decap", GRAPH_UP, "decap", up_to_decap, UPSTREAM),
    PREFIX_CASE("up: route", GRAPH_UP, "route", up_to_decap, UPSTREAM),
    PREFIX_CASE("up: gre", GRAPH_UP, "gre", up_to_decap, UPSTREAM),
    PREFIX_CASE("down: pop", GRAPH_DOWN, "pop", down_to_ungre, DOWNSTREAM),
    PREFIX_CASE("down: gre", GRAPH_DOWN, "ungre", down_to_ungre, DOWNSTREAM),
#define TASK_CASE(name_, graph_, task_, via_, direction_)                                          \
    {                                                                                              \
        .name = name_, .what = "task alone", .versus = FLOOR, .run = pass_task, .graph = graph_,   \
        .task = task_, .via = via_, .direction = direction_                                        \
    }
    TASK_CASE("classify", GRAPH_UP_ALONE, "classify", NULL, UPSTREAM),
    {.name = "classify, IPv6",
     .what = "task alone: sources on the link, or in what is delegated",
     .versus = "classify",
     .run = pass_task,
     .graph = GRAPH_UP_ALONE,
     .task = "classify",
     .direction = UPSTREAM6},
    TASK_CASE("qinq_decap", GRAPH_UP_ALONE, "decap", up_to_decap, UPSTREAM),
    TASK_CASE("route", GRAPH_UP_ALONE, "route", up_to_route, UPSTREAM),
    TASK_CASE("gre_encap", GRAPH_UP_ALONE, "gre", up_to_gre, UPSTREAM),
    TASK_CASE("mpls_push", GRAPH_UP_ALONE, "push", up_to_push, UPSTREAM),
    TASK_CASE("mpls_pop", GRAPH_DOWN_ALONE, "pop", NULL, DOWNSTREAM),
    TASK_CASE("gre_decap", GRAPH_DOWN_ALONE, "ungre", down_to_ungre, DOWNSTREAM),
    TASK_CASE("qinq_encap", GRAPH_DOWN_ALONE, "encap", down_to_encap, DOWNSTREAM),
    {.name = "gen",
     .what = "task alone: mbuf from the pool, 64 B frame",
     .versus = FLOOR,
     .bar = 1.0,
     .run = pass_source,
     .graph = GRAPH_GEN,
     .task = "gen"},
#define GEN_CASE(name_, what_, task_)                                                              \
    {                                                                                              \
        .name = name_, .what = what_, .versus = FLOOR, .run = pass_source, .graph = GRAPH_GEN,     \
        .task = task_                                                                              \
    }
    GEN_CASE("gen, 4 streams", "the same, streams in turn", "gen4"),
    GEN_CASE("gen, stamps", "78 B with a stamp each", "gen_stamp"),
    GEN_CASE("gen, Poisson", "a random gap before each packet", "gen_poisson"),
    GEN_CASE("gen, IMIX", "64, 594 and 1518 B", "gen_imix"),
    {.name = "sink",
     .what = "task alone: mbuf back to the pool",
     .versus = FLOOR,
     .run = pass_sink,
     .graph = GRAPH_GEN,
     .task = "sink",
     .direction = DOWNSTREAM},
#define SINK_CASE(name_, what_, graph_, bar_)                                                      \
    {                                                                                              \
        .name = name_, .what = what_, .versus = FLOOR, .bar = bar_, .run = pass_sink,              \
        .graph = graph_, .task = "sink", .direction = DOWNSTREAM, .stamps = true                   \
    }
    SINK_CASE("sink, stamps", "loss, order and latency of 4 streams", GRAPH_SINK_STAMPS, 1.25),
    SINK_CASE("sink, expect", "the same, and the headers compared", GRAPH_SINK_EXPECT, 0),
};

const unsigned n_bench_cases = RTE_DIM(bench_cases);
const uint32_t bench_subscribers = 65536, bench_wire_len = 2 * CHUNK;
const char bench_name[] = "bench";
const char bench_note[] = "ratios are to \"floor\", of the null paths to the bare loops";

unsigned cases_need_mib(const struct options *o)
{
    return 760; /* mbufs 160, routes and the rest four times 120, and room */
}

int cases_open(struct bench *b)
{
    for (unsigned i = 0; i < N_GRAPHS; i++) {
        b->graph[i] = graph_make(b, &graphs[i]);
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
