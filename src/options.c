/* SPDX-License-Identifier: BSD-3-Clause */
/* The help, the options that getopt_long() knows, and what each does. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu/core_latency.h"
#include "base/log.h"
#include "base/units.h"
#include "help.h"

#define SAMPLE_LEAST_NS 1000000 /* of --sample-period */

static void usage(FILE *to)
{
    fprintf(
        to,
        "usage: vbng [options] FILE\n"
        "Run the virtual Broadband Network Gateway, or generator, that a configuration describes.\n"
        "\n"
        "  -c, --config FILE      the same as FILE\n"
        "      --capture-dir DIR  where captures are written (vbngctl capture), default: "
        "vbng-captures,\n"
        "                         which is made here\n"
        "      --check            only check the configuration; needs no DPDK, huge pages or root\n"
        "      --plan[=FORM]      only show what would be built; FORM: text (default), json\n"
        "                         (vbng-lab describe: what it needs, for orchestrators; pictures)\n"
        "      --core-latency[=FORM]\n"
        "                         only measure how long a word takes from each CPU to each other "
        "one and\n"
        "                         back; FORM: text (default), json; needs no FILE\n"
        "      --control PATH     answer requests on a Unix socket: see doc/control.md, vbngctl\n"
        "      --control-group GROUP, --control-mode MODE\n"
        "                         who may use it: its group, and 0600 (default) to 0770; with a "
        "group\n"
        "                         the default is 0660\n"
        "  -d, --duration TIME    stop after TIME, for example 10s\n"
        "      --explain FRAME    only say what would become of a frame: see doc/explain.md\n"
        "      --layout FILE      take the layout, and nothing else, from FILE\n"
        "  -l, --live             print the table of rates once a second (default on a terminal)\n"
        "  -q, --quiet            do not\n"
        "  -r, --report FILE      write what the run did as JSON\n"
        "      --sample FILE      write the counters of all tasks over time as CSV\n"
        "      --sample-period TIME\n"
        "                         between two samples, default 10ms\n"
        "      --set TASK.PARAM=VALUE\n"
        "                         instead of what the file says; also pools.NAME.KEY=VALUE and the "
        "like\n"
        "      --share-cpus       run all cores of the layout on the CPUs that there are: for "
        "function,\n"
        "                         never for figures\n"
        "      --state FILE       keep live changes and learned MACs in FILE, and take them back "
        "from "
        "it\n"
        "      --subscribers FILE write what each subscriber got as CSV\n"
        "      --topology SPEC    check the layout against SPEC instead of what the file says: "
        "\"live\" is\n"
        "                         this machine, \"2x10x2\" is sockets x cores x threads\n"
        "  -v, --verbose          show what DPDK and its drivers say\n"
        "  -V, --version          print versions\n"
        "  -h, --help [WORD]      print this, or what WORD is: a type of task, a drop reason, "
        "tasks,\n"
        "                         drops (all of them), json (all that is known of tasks, for "
        "programs)\n"
        "\n"
        "exit status: 0 done and the ledger balances, 1 configuration, 2 usage, 3 start, 4 "
        "ledger,\n"
        "5 --explain: the frame would not be sent\n"
        "see vbng(8), vbng.cfg(5)\n");
}

/* The form of --plan. Returns NULL, or what is wrong. */
static const char *parse_plan_form(const char *form, struct options *o)
{
    o->action = ACTION_PLAN;
    if (form == NULL || strcmp(form, "text") == 0)
        return NULL;
    o->action = ACTION_PLAN_JSON;
    if (strcmp(form, "json") == 0)
        return NULL;
    return strcmp(form, "dot") == 0
               ? "replaced by: vbng-lab describe dot FILE"
               : "expected text or json (pictures: vbng-lab describe dot FILE)";
}

/* The form of --core-latency, and what it asks for. Returns an exit status. */
static int measure_latency(const char *form)
{
    bool json = form != NULL && strcmp(form, "json") == 0;

    if (form != NULL && !json && strcmp(form, "text") != 0) {
        log_error("--core-latency %s: expected text or json", form);
        return EXIT_USAGE;
    }
    return core_latency_print(stdout, json) == 0 ? EXIT_OK : EXIT_START;
}

static int add_set(const char *text, struct options *o)
{
    if (o->config.n_set == OPTIONS_MAX_SET)
        return -ENOSPC;
    o->set[o->config.n_set++] = text;
    o->config.set = o->set;
    return 0;
}

enum {
    OPT_CHECK = 256,
    OPT_CAPTURE_DIR,
    OPT_PLAN,
    OPT_CONTROL,
    OPT_CONTROL_GROUP,
    OPT_CONTROL_MODE,
    OPT_CORE_LATENCY,
    OPT_DESCRIBE,
    OPT_EXPLAIN,
    OPT_LAYOUT,
    OPT_SAMPLE,
    OPT_SAMPLE_PERIOD,
    OPT_SET,
    OPT_SHARE,
    OPT_STATE,
    OPT_SUBSCRIBERS,
    OPT_TOPOLOGY
};

static const struct option longs[] = {
    {"config", required_argument, NULL, 'c'},
    {"capture-dir", required_argument, NULL, OPT_CAPTURE_DIR},
    {"check", no_argument, NULL, OPT_CHECK},
    {"plan", optional_argument, NULL, OPT_PLAN},
    {"control", required_argument, NULL, OPT_CONTROL},
    {"control-group", required_argument, NULL, OPT_CONTROL_GROUP},
    {"control-mode", required_argument, NULL, OPT_CONTROL_MODE},
    {"core-latency", optional_argument, NULL, OPT_CORE_LATENCY},
    {"describe", optional_argument, NULL, OPT_DESCRIBE},
    {"duration", required_argument, NULL, 'd'},
    {"explain", required_argument, NULL, OPT_EXPLAIN},
    {"layout", required_argument, NULL, OPT_LAYOUT},
    {"live", no_argument, NULL, 'l'},
    {"quiet", no_argument, NULL, 'q'},
    {"report", required_argument, NULL, 'r'},
    {"sample", required_argument, NULL, OPT_SAMPLE},
    {"sample-period", required_argument, NULL, OPT_SAMPLE_PERIOD},
    {"set", required_argument, NULL, OPT_SET},
    {"share-cpus", no_argument, NULL, OPT_SHARE},
    {"state", required_argument, NULL, OPT_STATE},
    {"subscribers", required_argument, NULL, OPT_SUBSCRIBERS},
    {"topology", required_argument, NULL, OPT_TOPOLOGY},
    {"verbose", no_argument, NULL, 'v'},
    {"version", no_argument, NULL, 'V'},
    {"help", optional_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* Where an option that is a mere text is kept; NULL for all other options. */
static const char **text_option(int c, struct options *o)
{
    switch (c) {
    case 'c':
        return &o->path;
    case 'r':
        return &o->report;
    case OPT_CAPTURE_DIR:
        return &o->capture_dir;
    case OPT_CONTROL:
        return &o->control;
    case OPT_CONTROL_GROUP:
        return &o->access.group;
    case OPT_LAYOUT:
        return &o->config.layout;
    case OPT_SAMPLE:
        return &o->sample;
    case OPT_STATE:
        return &o->state;
    case OPT_SUBSCRIBERS:
        return &o->subscribers;
    case OPT_TOPOLOGY:
        return &o->config.topology;
    default:
        return NULL;
    }
}

/* Take an option. Returns NULL, or what its argument should have been. */
static const char *take_argument(int c, const char *arg, struct options *o)
{
    const char **text = text_option(c, o);

    if (text != NULL)
        *text = arg;
    switch (c) {
    case OPT_PLAN:
        return parse_plan_form(arg, o);
    case OPT_DESCRIBE:
        return "replaced by: vbng-lab describe json|tosca|k8s FILE";
    case 'd':
        return parse_duration(arg, &o->duration_ns) == 0 && o->duration_ns > 0
                   ? NULL
                   : "expected a time with its unit, for example 10s";
    case OPT_SAMPLE_PERIOD:
        return parse_duration(arg, &o->sample_period_ns) == 0 &&
                       o->sample_period_ns >= SAMPLE_LEAST_NS
                   ? NULL
                   : "expected a time of at least 1ms";
    case OPT_SET:
        return add_set(arg, o) == 0 ? NULL : "there are too many of them";
    case OPT_CHECK:
        o->action = ACTION_CHECK;
        break;
    case OPT_EXPLAIN:
        o->action = ACTION_EXPLAIN;
        o->explain = arg;
        o->config.share_cpus = true;
        break;
    case 'l':
    case 'q':
        o->live = c == 'l';
        break;
    case OPT_CONTROL_MODE:
        return parse_access_mode(arg, &o->access.mode) == 0
                   ? NULL
                   : "expected an octal mode of owner and group, 0600 to 0770; others get nothing";
    case OPT_SHARE:
        o->config.share_cpus = true;
        break;
    case 'v':
        o->verbose = true;
        break;
    }
    return NULL;
}

/* The long name of an option; every option has one. */
static const char *long_name(int c)
{
    const struct option *option = longs;

    while (option->val != c)
        option++;
    return option->name;
}

int options_parse(int argc, char **argv, struct options *o)
{
    int c;

    while ((c = getopt_long(argc, argv, "c:d:lqr:vVh", longs, NULL)) != -1) {
        const char *wrong;

        switch (c) {
        case 'V':
            printf("vbng %s\n", VBNG_VERSION);
            return EXIT_OK;
        case 'h':
            if (optarg == NULL && optind < argc && argv[optind][0] != '-')
                optarg = argv[optind];
            if (optarg != NULL)
                return help_word(optarg);
            usage(stdout);
            return EXIT_OK;
        case OPT_CORE_LATENCY:
            return measure_latency(optarg);
        case '?': /* getopt_long() has said which */
            fputs("vbng --help lists all options\n", stderr);
            return EXIT_USAGE;
        }
        wrong = take_argument(c, optarg, o);
        if (wrong != NULL) {
            log_error("--%s%s%s: %s", long_name(c), optarg != NULL ? " " : "",
                      optarg != NULL ? optarg : "", wrong);
            return EXIT_USAGE;
        }
    }
    if (o->path == NULL && optind < argc)
        o->path = argv[optind++];
    if (o->path == NULL)
        log_error(
            "which configuration? expected vbng [options] FILE; vbng --help lists all options");
    else if (optind < argc)
        log_error("two configurations, '%s' and '%s': expected one; vbng --help lists all options",
                  o->path, argv[optind]);
    if (o->path == NULL || optind < argc)
        return EXIT_USAGE;
    return -1;
}
