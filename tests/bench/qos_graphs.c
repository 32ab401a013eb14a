/* SPDX-License-Identifier: BSD-3-Clause */
#include "qos_graphs.h"
#include "gateway_text.h"

#define WHEEL   "wheel"
#define LIBRARY "librte_sched"

/* DSCP 0..15 is the queue. */
#define QOS(backend, profile, classes, map)                                                        \
    "qos = { profiles = { home = { rate = \"" profile "\"; }; };\n"                                \
    "  dscp_maps = { queues = { queues = ( " map " ); default = { class = \"be\"; }; }; };\n"      \
    "  schedulers = { access = { ports = \"access\"; rate = \"40G\"; backend = \"" backend "\";\n" \
    "    classes = ( " classes " ); dscp_map = \"queues\"; }; }; };"
#define STRICT(n, size) "{ class = \"" #n "\"; queue = " size "; }, "
#define BE(size)        "{ class = \"be\"; aqm = \"none\"; queue = " size "; }"
#define STRICT_ALL(size)                                                                           \
    STRICT(0, size)                                                                                \
    STRICT(1, size)                                                                                \
    STRICT(2, size)                                                                                \
    STRICT(3, size)                                                                                \
    STRICT(4, size)                                                                                \
    STRICT(5, size)                                                                                \
    STRICT(6, size)                                                                                \
    STRICT(7, size) STRICT(8, size) STRICT(9, size) STRICT(10, size) STRICT(11, size)
#define ALL(size) STRICT_ALL(size) BE(size)
#define FQ_ALL(size)                                                                               \
    STRICT_ALL(size) "{ class = \"be\"; queue = " size "; codel = { active = 32768; }; }"
#define THREE(size) STRICT(0, size) STRICT(1, size) BE(size)

#define TO_CLASS(dscp, class) "{ dscp = " #dscp "; class = \"" #class "\"; }, "
#define TO_BE                                                                                      \
    "{ dscp = 13; class = \"be\"; queue = 1; }, { dscp = 14; class = \"be\"; queue = 2; }, "       \
    "{ dscp = 15; class = \"be\"; queue = 3; }"
#define TO_THREE TO_CLASS(0, 0) TO_CLASS(1, 1) TO_BE
#define TO_ALL                                                                                     \
    TO_CLASS(0, 0)                                                                                 \
    TO_CLASS(1, 1)                                                                                 \
    TO_CLASS(2, 2)                                                                                 \
    TO_CLASS(3, 3)                                                                                 \
    TO_CLASS(4, 4)                                                                                 \
    TO_CLASS(5, 5)                                                                                 \
    TO_CLASS(6, 6)                                                                                 \
    TO_CLASS(7, 7) TO_CLASS(8, 8) TO_CLASS(9, 9) TO_CLASS(10, 10) TO_CLASS(11, 11) TO_BE

/* qos lets as many packets go as come, 32 at least: bursts are those of classify, or in cases of
 * the task alone as those of the library beside it. */
#define MINIMAL_TASKS(more)                                                                        \
    "{ name = \"classify\"; type = \"classify\"; from = \"access\"; to = \"qos\"; "                \
    "scheduler = \"access\"; shed = 0; " more " },\n"                                              \
    "{ name = \"qos\"; type = \"qos\"; scheduler = \"access\"; direction = \"up\"; "               \
    "to = \"tx\"; burst = 32; },\n"                                                                \
    "{ name = \"tx\"; type = \"forward\"; to = \"core\"; " more " }"
#define MINIMAL_LAYOUT "{ core = \"0\"; tasks = [\"classify\", \"qos\", \"tx\"]; }"
#define BNG_TASKS                                                                                  \
    "{ name = \"classify\"; type = \"classify\"; from = \"access\"; to = \"qos_up\"; "             \
    "scheduler = \"access\"; shed = 0; },\n"                                                       \
    "{ name = \"qos_up\"; type = \"qos\"; scheduler = \"access\"; direction = \"up\"; "            \
    "to = \"decap\"; },\n" DECAP_TO_CORE ",\n"                                                     \
    "{ name = \"pop\"; type = \"mpls_pop\"; from = \"core\"; to = \"ungre\"; },\n"                 \
    "{ name = \"ungre\"; type = \"gre_decap\"; to = \"encap\"; scheduler = \"access\"; },\n"       \
    "{ name = \"encap\"; type = \"qinq_encap\"; to = \"qos_down\"; },\n"                           \
    "{ name = \"qos_down\"; type = \"qos\"; scheduler = \"access\"; direction = \"down\"; "        \
    "to = \"access\"; }"
#define BNG_LAYOUT                                                                                 \
    "{ core = \"0\"; tasks = [\"classify\", \"qos_up\", \"decap\", \"route\", \"gre\", "           \
    "\"push\", \"pop\", \"ungre\", \"encap\", \"qos_down\"]; }"

#define MINIMAL_GRAPH(name, more, backend, classes, map, mib)                                      \
    {                                                                                              \
        {name, MINIMAL_TASKS(more), MINIMAL_LAYOUT, QOS(backend, "10M", classes, map)}, mib        \
    }
#define BNG_GRAPH(name, backend, mib)                                                              \
    {                                                                                              \
        {name, BNG_TASKS, BNG_LAYOUT, QOS(backend, "10M", ALL("64"), TO_ALL)}, mib                 \
    }
#define SHAPED_GRAPH(name, backend, profile, mib)                                                  \
    {                                                                                              \
        {name, MINIMAL_TASKS(""), MINIMAL_LAYOUT, QOS(backend, profile, BE("2"), TO_BE)}, mib      \
    }

const struct qos_graph qos_graphs[N_GRAPHS] = {
    [LIB_MINIMAL] = MINIMAL_GRAPH("lib-minimal", "", LIBRARY, ALL("64"), TO_ALL, 330),
    [LIB_MINIMAL_32] =
        MINIMAL_GRAPH("lib-minimal-32", "burst = 32;", LIBRARY, ALL("64"), TO_ALL, 330),
    [LIB_BNG] = BNG_GRAPH("lib-bng-qos", LIBRARY, 660),
    [LIB_QUEUE_256] = MINIMAL_GRAPH("lib-queue-256", "", LIBRARY, ALL("256"), TO_ALL, 1100),
    [LIB_FEW] = MINIMAL_GRAPH("lib-few-classes", "", LIBRARY, THREE("64"), TO_THREE, 200),
    [LIB_ADVISED] = MINIMAL_GRAPH("lib-advised", "", LIBRARY, THREE("64"), TO_THREE, 200),
    [LIB_HALF] = SHAPED_GRAPH("lib-half", LIBRARY, "490K", 80),
    [LIB_TENTH] = SHAPED_GRAPH("lib-tenth", LIBRARY, "98K", 80),
    [MINIMAL] = MINIMAL_GRAPH("minimal", "", WHEEL, ALL("64"), TO_ALL, 50),
    [MINIMAL_32] = MINIMAL_GRAPH("minimal-32", "burst = 32;", WHEEL, ALL("64"), TO_ALL, 50),
    [BNG] = BNG_GRAPH("bng-qos", WHEEL, 100),
    [BNG_FUSED] = {{"bng-qos-fused", BNG_TASKS, BNG_LAYOUT, QOS(WHEEL, "10M", ALL("64"), TO_ALL),
                    .fuse = true},
                   100},
    [QUEUE_256] = MINIMAL_GRAPH("queue-256", "", WHEEL, ALL("256"), TO_ALL, 50),
    [FEW] = MINIMAL_GRAPH("few-classes", "", WHEEL, THREE("64"), TO_THREE, 30),
    [HALF] = SHAPED_GRAPH("half", WHEEL, "490K", 30),
    [TENTH] = SHAPED_GRAPH("tenth", WHEEL, "98K", 30),
    [FQ] = MINIMAL_GRAPH("fq", "", WHEEL, FQ_ALL("64"), TO_ALL, 70),
};
