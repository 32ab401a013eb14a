/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line; vbng(8) describes it. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "config/model.h"
#include "control/socket/server.h"

#define OPTIONS_MAX_SET 64

enum exit_status {
    EXIT_OK = 0,
    EXIT_CONFIG = 1,   /* the configuration has errors */
    EXIT_USAGE = 2,    /* the command line has errors */
    EXIT_START = 3,    /* something did not start */
    EXIT_LEDGER = 4,   /* packets are missing */
    EXIT_NOT_SENT = 5, /* --explain: the frame would not be sent */
};

enum action { ACTION_RUN, ACTION_CHECK, ACTION_PLAN, ACTION_PLAN_JSON, ACTION_EXPLAIN };

struct options {
    enum action action;
    const char *path, *report;
    const char *explain;     /* a frame in words, or NULL */
    const char *control;     /* path of the control socket, or NULL */
    struct access access;    /* to the control socket */
    const char *capture_dir; /* where captures are written; NULL: in CAPTURE_FOLDER, here */
    const char *subscribers; /* where to write what each subscriber got, or NULL */
    const char *state;       /* where to keep live changes and learned MACs, or NULL */
    const char *sample;      /* where to write the counters over time, or NULL */
    uint64_t sample_period_ns;
    struct config_options config;
    const char *set[OPTIONS_MAX_SET]; /* config.set */
    uint64_t duration_ns;             /* 0: until a signal, or until all sources have ended */
    bool live, verbose;
};

/** Read the command line into o, which has the defaults. Returns -1 to go on, or the exit status:
 * the help, the version, core-to-core latencies or the error has been printed. */
int options_parse(int argc, char **argv, struct options *o);

#endif
