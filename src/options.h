/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line; vbng(8) describes it. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "config/describe.h"
#include "config/model.h"
#include "config/plan.h"
#include "control/listen.h"

#define OPTIONS_MAX_SET 64

enum exit_status {
    EXIT_OK = 0,
    EXIT_CONFIG = 1,   /* the configuration has errors */
    EXIT_USAGE = 2,    /* the command line has */
    EXIT_START = 3,    /* something did not start */
    EXIT_LEDGER = 4,   /* packets are missing */
    EXIT_NOT_SENT = 5, /* --explain: the frame would not be sent */
};

enum action { ACTION_RUN, ACTION_CHECK, ACTION_PLAN, ACTION_DESCRIBE, ACTION_EXPLAIN };

struct options {
    enum action action;
    void (*print_plan)(const struct plan *p, FILE *to);
    describe_form *describe;
    struct describe_options description;
    const char *path, *report;
    const char *explain;     /* a frame in words, or NULL */
    const char *control;     /* path of the control socket, or NULL */
    struct access access;    /* to it */
    const char *capture_dir; /* where captures are written */
    const char *subscribers; /* where to write all of them at the end, or NULL */
    const char *state;       /* where to keep live changes and learned MACs, or NULL */
    const char *sample;      /* where to write the counters over time, or NULL */
    uint64_t sample_period_ns;
    struct config_options config;
    const char *set[OPTIONS_MAX_SET]; /* config.set */
    uint64_t duration_ns;             /* 0: until a signal, or until all sources have ended */
    bool live, verbose;
};

/** Returns -1 to go on, or the exit status. */
int options_parse(int argc, char **argv, struct options *o);

#endif
