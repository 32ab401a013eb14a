/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schema of a type of task: its parameters, outputs and drop reasons, each with words for
 * people. A task's file writes its schema; the reader of configurations, vbng --help, the man page
 * vbng.cfg(5), doc/drops.md and DPDK's telemetry socket read it. It is free of DPDK, so that a file
 * can be checked anywhere.
 *
 * Words: a help is one line without a full stop, in lower case; more text is whole sentences.
 */
#ifndef CONFIG_SCHEMA_H
#define CONFIG_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TASK_MAX_PARAMS  24
#define TASK_MAX_OUTPUTS 4
#define TASK_MAX_DROPS   48

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
                        FACT_PATH chooses the scheduler's queue of a packet, a task that needs
                        FACT_PATH is the shaper, any other task drops by the scheduler's classes
                        under overload */
    PARAM_RANGE,     /* parse_range(): u is its first, u2 its last number */
    PARAM_LOAD,      /* parse_load(): load */
    PARAM_SHARE,     /* parse_share(): of 2^64 */
    PARAM_TEMPLATE,  /* path of a packet template, relative to pkt_templates/ or to the file that
                        names it; u is its index in model.templates[] */
    PARAM_SIZES,     /* frame_sizes_parse(): s. The task's templates are loaded with these sizes */
    PARAM_NAME,      /* a string that may name a thing: s */
    PARAM_LIST,      /* of groups: whoever has the parameter reads it itself */
};

/** Where a parameter may stand in a type that has a list of items (task_schema.items). */
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
    const char *help;           /* one line */
    const char *more;           /* further sentences for the manual, or NULL */
    /* PARAM_ENUM, optional: packet_fact bits that a choice adds to gives, and to needs */
    const uint32_t *choice_gives, *choice_needs;
    uint32_t set_gives; /* packet_fact bits that are added to gives where it is set */
    bool required;      /* it must be given */
    enum param_scope scope;
};

/** A way out of a task. [0] is "to"; the others are optional. "punt" leads to the slow path. */
struct task_output {
    const char *name;
    const char *help; /* one line: which packets leave by it */
    uint32_t gives;   /* packet_fact bits that are true of them, beside task_schema.gives */
};

/** A reason for which packets end early. */
struct task_drop {
    const char *name;    /* as counters, reports and captures have it */
    const char *meaning; /* what was wrong, one line */
    const char *remedy;  /* what an operator does about it, whole sentences */
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
    const char *help; /* one line */
    const char *more; /* further sentences for the manual, or NULL */
    const char *doc;  /* path of the page that says more, or NULL */
    enum task_kind kind;
    /* The key of a list of groups in the task, such as "streams", and what one of them is called;
     * NULL: it has none. A task that does not give the list has one item, made of its own
     * parameters. At most CFG_MAX_ITEMS. */
    const char *items, *item;
    /** What the values of a task must obey together; may be NULL. They are right one by one, but
     * for indices that may be CFG_NONE after an error. */
    void (*check)(const struct cfg_model *m, const struct cfg_task *t, struct diags *d);
    bool waits; /* packets wait in it, so they are in no cache when they leave: a scheduler */
    bool makes; /* packets of its own, beside those that it takes; a source does in any case */
    bool alone; /* one instance in a gateway: two would both write what has one writer */
    /* lb: its "to" spreads over all instances of the tasks it names; any other task has one path to
     * each */
    bool spreads;
    const struct task_param *params; /* in the task's own numbering, at most TASK_MAX_PARAMS */
    unsigned n_params;
    struct task_output outputs[TASK_MAX_OUTPUTS + 1]; /* name NULL at the end */
    const struct task_drop *drops; /* in the task's own numbering, at most TASK_MAX_DROPS */
    unsigned n_drops;
    /* packet_fact bits: true of every packet that it takes; of every packet that leaves it by any
     * output but "punt"; no longer true after it */
    uint32_t needs, gives, loses;
    enum egress_set egress;
    unsigned keeps; /* most packets that an instance keeps for later, beside queues of a scheduler
                       and what PARAM_IS_SHED holds */
    unsigned per_subscriber; /* bytes that an instance has for each subscriber, and once more */
    unsigned keeps_for_each; /* the same for each destination of the first output */
};

/** A packet_fact in words. */
struct fact_words {
    uint32_t fact;
    const char *name;  /* one word */
    const char *what;  /* "packets ..." */
    const char *giver; /* tasks that usually give it: "put ... before it" */
};

/** All facts; name NULL at the end. */
extern const struct fact_words fact_words[];

/** What the values of a type of parameter are called, as vbng.cfg(5) explains it: "duration". */
const char *param_notation(enum param_type type);

/** The bounds of a parameter in its notation: "1s to 168h", "at most 8192", or "". buf is
 * returned. */
char *param_bounds(const struct task_param *p, char *buf, size_t len);

/** The name of a scope in the machine form of a schema: "task", "item", "inherit", "both". */
const char *param_scope_name(enum param_scope scope);

/** The name of a kind of task: "worker", "source", "sink". */
const char *task_kind_name(enum task_kind kind);

#endif
