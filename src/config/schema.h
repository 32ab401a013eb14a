/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the configuration needs to know of a type of task: its parameters, outputs and drop reasons.
 * It is free of DPDK, so that a file can be checked anywhere. Each file in tasks/ defines the
 * schema of its type.
 */
#ifndef CONFIG_SCHEMA_H
#define CONFIG_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#define TASK_MAX_PARAMS  24
#define TASK_MAX_OUTPUTS 4
#define TASK_MAX_DROPS   24

/** Notation and type of a parameter; param_value.u holds the result unless said otherwise. */
enum param_type {
    PARAM_COUNT,     /* parse_count() */
    PARAM_SIZE,      /* parse_size(): bytes */
    PARAM_RATE,      /* parse_rate(): bit/s */
    PARAM_DURATION,  /* parse_duration(): ns */
    PARAM_BOOL,      /* true or false, libconfig's own */
    PARAM_ENUM,      /* one of choices[]; u is its index */
    PARAM_IPV4,      /* parse_ipv4(): host order */
    PARAM_STRING,    /* s */
    PARAM_SCHEDULER, /* name of one in qos.schedulers; u is its index. A task with set_gives
                        FACT_PATH chooses its queues, one that needs FACT_PATH shapes by it, any
                        other drops by its classes when there is too much */
    PARAM_RANGE,     /* parse_range(): u is its first, u2 its last number */
    PARAM_LOAD,      /* parse_load(): load */
    PARAM_SHARE,     /* parse_share(): of 2^64 */
    PARAM_TEMPLATE,  /* path of a packet template, relative to pkt_templates/ or to the file that
                        names it; u is its index in model.templates[] */
    PARAM_SIZES,     /* frame_sizes_parse(): s. The task's templates are loaded with these sizes */
    PARAM_NAME,      /* a string that may name a thing: s */
};

/** Where a parameter may stand, in a type that has a list of items (task_schema.items). */
enum param_scope {
    SCOPE_TASK,    /* in the task only */
    SCOPE_ITEM,    /* in an item only */
    SCOPE_INHERIT, /* in an item, or for those that do not say it in the task */
    SCOPE_BOTH,    /* in both: each has its own, and an item has no default */
};

struct task_param {
    const char *name;
    enum param_type type;
    const char *def;   /* in the configuration's notation; NULL: the parameter may be absent
                          (value.set false) */
    uint64_t min, max; /* bounds of the parsed number, both inside; max 0: none */
    const char *const *choices; /* PARAM_ENUM: names, NULL at the end */
    const char *help;           /* one line for the manual */
    /* PARAM_ENUM, optional: packet_fact bits that a choice adds to gives, and to needs */
    const uint32_t *choice_gives, *choice_needs;
    uint32_t set_gives; /* packet_fact bits that are added to gives where it is set */
    bool required;      /* it must be given */
    enum param_scope scope;
};

struct cfg_model;
struct cfg_task;
struct diags;

enum task_kind {
    TASK_WORKER, /* packets in, packets out */
    TASK_SOURCE, /* makes packets; has no input */
    TASK_SINK,   /* takes packets; has no output */
};

/**
 * What is known of every packet at a point of the graph. plan_make() follows these facts along all
 * paths and refuses a graph in which a task may get a packet that lacks what the task needs.
 */
enum packet_fact {
    FACT_SUBSCRIBER = 1 << 0, /* the mbuf names a subscriber */
    FACT_NEXTHOP = 1 << 1,    /* the mbuf names a next hop */
    FACT_EGRESS = 1 << 2,     /* the mbuf names its egress port */
    FACT_QINQ_IPV4 = 1 << 3,  /* a double-tagged frame with a checked IPv4 header at byte 22 */
    FACT_IPV4 = 1 << 4,       /* an untagged frame with a checked IPv4 header at byte 14 */
    FACT_PATH = 1 << 5,       /* the mbuf holds a scheduler path */
};

/** Which egress ports a task writes into packets: every one of them must be reachable from it. */
enum egress_set { EGRESS_NONE, EGRESS_NEXTHOPS, EGRESS_SUBSCRIBERS, EGRESS_ALL_PORTS };

struct task_schema {
    const char *type; /* the word in the configuration */
    const char *help; /* one line for the manual */
    enum task_kind kind;
    /* The key of a list of groups in the task, such as "streams", and what one of them is called;
     * NULL: it has none. A task that does not give the list has one item, made of its own
     * parameters. At most CFG_MAX_ITEMS. */
    const char *items, *item;
    /** What the values of a task must obey together; may be NULL. They are right one by one, but
     * for indices that may be CFG_NONE after an error. */
    void (*check)(const struct cfg_model *m, const struct cfg_task *t, struct diags *d);
    /* lb: its "to" spreads over all instances of the tasks it names; any other task has one path to
     * each */
    bool spreads;
    struct task_param params[TASK_MAX_PARAMS + 1]; /* name NULL at the end */
    const char
        *outputs[TASK_MAX_OUTPUTS + 1]; /* [0] is "to"; the others are optional; NULL at the end.
                                           "punt" leads to the slow path: no facts follow it */
    const char
        *drops[TASK_MAX_DROPS + 1]; /* reasons in the task's own numbering; NULL at the end */
    /* packet_fact bits: true of every packet that it takes; of every packet that leaves it by any
     * output but "punt"; no longer true after it */
    uint32_t needs, gives, loses;
    uint32_t output_gives[TASK_MAX_OUTPUTS]; /* and of every packet that leaves it by one output */
    enum egress_set egress;
};

#endif
