/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of configurations: a task, a core, and the tasks of both directions of a gateway. */
#ifndef BENCH_GATEWAY_TEXT_H
#define BENCH_GATEWAY_TEXT_H

#define TASK(name, type, more) "  { name = \"" name "\"; type = \"" type "\"; " more " }"
#define CORE(n, tasks)         "{ core = \"" n "\"; tasks = [" tasks "]; }"

#define DECAP_TO_CORE                                                                              \
    TASK("decap", "qinq_decap", "to = \"route\";")                                                 \
    ",\n" TASK("route", "route", "to = \"gre\";") ",\n" TASK(                                      \
        "gre", "gre_encap", "to = \"push\";") ",\n" TASK("push", "mpls_push", "to = \"core\";")
#define UP       TASK("classify", "classify", "from = \"access\"; to = \"decap\";") ",\n" DECAP_TO_CORE
#define UP_NAMES "\"classify\", \"decap\", \"route\", \"gre\", \"push\""
#define DOWN                                                                                       \
    TASK("pop", "mpls_pop", "from = \"core\"; to = \"ungre\";")                                    \
    ",\n" TASK("ungre", "gre_decap", "to = \"encap\";") ",\n" TASK("encap", "qinq_encap",          \
                                                                   "to = \"access\";")
#define DOWN_NAMES "\"pop\", \"ungre\", \"encap\""

#endif
