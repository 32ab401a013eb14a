/* SPDX-License-Identifier: BSD-3-Clause */
/* vbng: options, check, start, run, stop. Everything that is started here is taken down in reverse
 * order. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "config/model.h"
#include "config/plan.h"
#include "engine/eal.h"
#include "engine/engine.h"
#include "engine/ledger.h"
#include "provision.h"
#include "telemetry/live.h"
#include "telemetry/report.h"

enum exit_status {
    EXIT_OK = 0,
    EXIT_CONFIG = 1, /* the configuration has errors */
    EXIT_USAGE = 2,  /* the command line has */
    EXIT_START = 3,  /* something did not start */
    EXIT_LEDGER = 4, /* packets are missing */
};

enum action { ACTION_RUN, ACTION_CHECK, ACTION_PLAN };

struct options {
    enum action action;
    void (*print_plan)(const struct plan *p, FILE *to);
    const char *path, *report;
    struct config_options config;
    uint64_t duration_ns; /* 0: until a signal, or until all sources have ended */
    bool live, verbose;
};

static volatile sig_atomic_t stop_signal;

static void on_signal(int sig)
{
    stop_signal = sig;
}

static void usage(FILE *to)
{
    fprintf(
        to,
        "usage: vbng [options] FILE\n"
        "Run the virtual Broadband Network Gateway, or generator, that a configuration describes.\n"
        "\n"
        "  -c, --config FILE      the same as FILE\n"
        "      --check            only check the configuration; needs no DPDK, huge pages or root\n"
        "      --plan[=FORM]      only show what would be built; FORM: text (default), json, dot\n"
        "  -d, --duration TIME    stop after TIME, for example 10s\n"
        "  -l, --live             print the table of rates once a second (default on a terminal)\n"
        "  -q, --quiet            do not\n"
        "  -r, --report FILE      write what the run did as JSON\n"
        "      --share-cpus       run all cores of the layout on the CPUs that there are: for "
        "function,\n"
        "                         never for figures\n"
        "      --topology SPEC    check the layout against SPEC instead of what the file says: "
        "\"live\" is\n"
        "                         this machine, \"2x10x2\" is sockets x cores x threads\n"
        "  -v, --verbose          show what DPDK and its drivers say\n"
        "  -V, --version          print versions\n"
        "  -h, --help             print this\n"
        "\n"
        "exit status: 0 done and the ledger balances, 1 configuration, 2 usage, 3 start, 4 ledger\n"
        "see vbng(8), vbng.cfg(5)\n");
}

static int parse_plan_form(const char *form, struct options *o)
{
    o->action = ACTION_PLAN;
    if (form == NULL || strcmp(form, "text") == 0)
        o->print_plan = plan_print_text;
    else if (strcmp(form, "json") == 0)
        o->print_plan = plan_print_json;
    else if (strcmp(form, "dot") == 0)
        o->print_plan = plan_print_dot;
    else
        return -EINVAL;
    return 0;
}

/* Returns -1 to go on, or the exit status. */
static int parse_options(int argc, char **argv, struct options *o)
{
    enum { OPT_CHECK = 256, OPT_PLAN, OPT_SHARE, OPT_TOPOLOGY };
    static const struct option longs[] = {
        {"config", required_argument, NULL, 'c'},
        {"check", no_argument, NULL, OPT_CHECK},
        {"plan", optional_argument, NULL, OPT_PLAN},
        {"duration", required_argument, NULL, 'd'},
        {"live", no_argument, NULL, 'l'},
        {"quiet", no_argument, NULL, 'q'},
        {"report", required_argument, NULL, 'r'},
        {"share-cpus", no_argument, NULL, OPT_SHARE},
        {"topology", required_argument, NULL, OPT_TOPOLOGY},
        {"verbose", no_argument, NULL, 'v'},
        {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "c:d:lqr:vVh", longs, NULL)) != -1) {
        switch (c) {
        case 'c':
            o->path = optarg;
            break;
        case OPT_CHECK:
            o->action = ACTION_CHECK;
            break;
        case OPT_PLAN:
            if (parse_plan_form(optarg, o) != 0) {
                log_error("--plan=%s: expected text, json or dot", optarg);
                return EXIT_USAGE;
            }
            break;
        case 'd':
            if (parse_duration(optarg, &o->duration_ns) != 0 || o->duration_ns == 0) {
                log_error("--duration %s: expected a time with its unit, for example 10s", optarg);
                return EXIT_USAGE;
            }
            break;
        case 'l':
            o->live = true;
            break;
        case 'q':
            o->live = false;
            break;
        case 'r':
            o->report = optarg;
            break;
        case OPT_SHARE:
            o->config.share_cpus = true;
            break;
        case OPT_TOPOLOGY:
            o->config.topology = optarg;
            break;
        case 'v':
            o->verbose = true;
            break;
        case 'V':
            printf("vbng %s\n", VBNG_VERSION);
            return EXIT_OK;
        case 'h':
            usage(stdout);
            return EXIT_OK;
        default:
            usage(stderr);
            return EXIT_USAGE;
        }
    }
    if (o->path == NULL && optind < argc)
        o->path = argv[optind++];
    if (o->path == NULL || optind < argc) {
        usage(stderr);
        return EXIT_USAGE;
    }
    return -1;
}

static double seconds_since(const struct timespec *start)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

/* Until a signal, the end of the duration or the end of all sources. Returns how long it was, in
 * seconds. */
static double run(struct engine *e, const struct options *o)
{
    static const struct timespec tick = {.tv_nsec = 20000000};
    struct live *live = o->live ? live_start(e) : NULL;
    struct timespec start;
    double now = 0, shown = 0;

    clock_gettime(CLOCK_MONOTONIC, &start);
    while (stop_signal == 0 && !engine_sources_finished(e)) {
        now = seconds_since(&start);
        if (o->duration_ns > 0 && now >= (double)o->duration_ns / 1e9)
            break;
        if (live != NULL && now - shown >= 1) {
            live_print(live, stdout, now - shown);
            shown = now;
        }
        engine_watch(e);
        nanosleep(&tick, NULL);
    }
    live_free(live);
    return seconds_since(&start);
}

static int write_report(const struct engine *e, const char *path, double seconds)
{
    FILE *f = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");

    if (f == NULL) {
        log_error("%s: %s", path, strerror(errno));
        return -errno;
    }
    report_write(e, f, seconds);
    return f == stdout ? fflush(f) : fclose(f);
}

static struct tables *make_tables(const struct engine *e)
{
    const struct plan *p = e->plan;
    uint8_t mac[CFG_MAX_PORTS][6];

    for (unsigned i = 0; i < p->cfg->n_ports; i++)
        memcpy(mac[i], &e->ports[i].mac, sizeof(mac[i]));
    return provision(p->cfg, (const uint8_t(*)[6])mac, engine_socket(p->cores[0].socket));
}

/* The engine is built: run, stop, account. */
static int run_and_account(struct engine *e, const struct options *o)
{
    struct ledger ledger;
    double seconds;

    if (engine_start(e) != 0) {
        engine_stop(e);
        return EXIT_START;
    }
    seconds = run(e, o);
    engine_stop(e);
    live_print_totals(e, stdout, seconds);
    if (o->report != NULL && write_report(e, o->report, seconds) != 0)
        return EXIT_START;
    ledger = ledger_read(e, NULL);
    return ledger_balances(&ledger) ? EXIT_OK : EXIT_LEDGER;
}

static int run_plan(const struct plan *p, const struct options *o)
{
    static struct engine engine;
    struct tables *tables = NULL;
    uint64_t missing;
    int status = EXIT_START;
    char err[256];

    if (plan_check_machine(p, err, sizeof(err)) != 0) {
        log_error("%s: %s", p->cfg->path, err);
        return EXIT_START;
    }
    if (eal_start(p, o->verbose) != 0)
        return EXIT_START;
    if (engine_open(&engine, p) == 0 && (tables = make_tables(&engine)) != NULL &&
        engine_build(&engine, tables) == 0)
        status = run_and_account(&engine, o);
    missing = engine_free(&engine);
    if (missing > 0 && status == EXIT_OK) {
        log_error("%llu mbufs did not come back to their pools", (unsigned long long)missing);
        status = EXIT_LEDGER;
    }
    provision_free(tables);
    eal_stop();
    return status;
}

static int act(const struct cfg_model *m, const struct plan *p, const struct options *o)
{
    switch (o->action) {
    case ACTION_CHECK:
        printf("%s: OK (%u ports, %u subscribers, %u routes, %u tasks on %u cores)\n", m->path,
               m->n_ports, m->n_subscribers, m->n_routes, m->n_tasks, p->n_cores);
        return EXIT_OK;
    case ACTION_PLAN:
        o->print_plan(p, stdout);
        return EXIT_OK;
    case ACTION_RUN:
        break;
    }
    return run_plan(p, o);
}

/* task_types[] as the configuration wants to see it. */
static const struct task_schema *const *schemas(void)
{
    static const struct task_schema *list[64];

    for (unsigned i = 0; task_types[i] != NULL && i < RTE_DIM(list) - 1; i++)
        list[i] = &task_types[i]->schema;
    return list;
}

int main(int argc, char **argv)
{
    struct options o = {.live = isatty(STDOUT_FILENO) == 1};
    struct sigaction action = {.sa_handler = on_signal};
    struct diags diags = {0};
    struct cfg_model *model;
    struct plan *plan = NULL;
    int status = parse_options(argc, argv, &o);

    if (status >= 0)
        return status;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    o.config.schemas = schemas();
    o.config.template_dir = VBNG_DATADIR "/pkt_templates";
    model = config_load(o.path, &o.config, &diags);
    if (model != NULL)
        plan = plan_make(model, o.config.share_cpus, &diags);
    diag_print(&diags, stderr);
    diag_free(&diags);
    status = plan != NULL ? act(model, plan, &o) : EXIT_CONFIG;
    plan_free(plan);
    config_free(model);
    return status;
}
