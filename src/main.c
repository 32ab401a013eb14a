/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vbng: options, check, EAL, start, run, stop. Read from main() at the end upwards: main() reads
 * the configuration and makes the plan, act() does what the options ask for, run_served() opens the
 * control socket, run_plan() starts EAL and builds the engine, run_controlled(), run_with_state()
 * and run_and_account() run it, and run() is the loop of the main thread. Each function takes down,
 * in reverse order, what it has started.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu/topology.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/output.h"
#include "capture/capture.h"
#include "config/model.h"
#include "plan/plan.h"
#include "control/ids.h"
#include "control/request.h"
#include "control/socket/punt.h"
#include "control/view.h"
#include "control/state.h"
#include "engine/eal.h"
#include "engine/engine.h"
#include "engine/ledger.h"
#include "engine/watch.h"
#include "explain/explain.h"
#include "options.h"
#include "provision.h"
#include "tasks/arp/arp.h"
#include "telemetry/documents.h"
#include "telemetry/live.h"
#include "telemetry/metrics.h"
#include "telemetry/report.h"

#define SHOW_S           1.0    /* between two tables, and two samples of the QoS */
#define SLICE_S          0.0001 /* between two slices of samples: leaves a CPU to its other threads */
#define WATCH_S          0.02   /* between two calls of engine_watch(); the loop's longest wait */
#define STOP_NS          10000000000u /* what a stop takes beside the drain: reports, devices, memory */
#define SAMPLE_PERIOD_NS 10000000     /* default of --sample-period */
#define MMAP_THRESHOLD   131072 /* bytes; a larger block has pages of its own, gone when freed */

static volatile sig_atomic_t stop_signal;

static void on_signal(int sig)
{
    stop_signal = sig;
}

static double seconds_since(const struct timespec *start)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

/* Wait for the time that the loop has, and serve requests meanwhile. */
static void wait_for_requests(struct server *server, struct control *control, double seconds)
{
    struct timespec pause = {.tv_nsec = (long)(seconds * 1e9)};

    ids_poll(control);
    if (server != NULL)
        server_poll(server, &(struct answerer){request_serve, control}, pause.tv_nsec);
    else
        nanosleep(&pause, NULL);
}

/* The samples of the QoS and the live table, which shows them. */
struct show {
    struct live *live; /* NULL: no table */
    double begun;      /* seconds since the start, when the last round of samples began */
    double printed;
};

/* Sample some of the pipes, once a second all; then print the table. Returns whether a round is
 * under way: its next slice comes after the requests that wait. */
static bool show(struct show *s, struct control *control, double now)
{
    if (!control->samples.under_way) {
        if (now - s->begun < SHOW_S)
            return false;
        samples_begin(control);
        s->begun = now;
    }
    metrics_hold();
    samples_next(control);
    metrics_release();
    if (control->samples.under_way)
        return true;
    if (s->live != NULL) {
        live_print(s->live, stdout, now - s->printed);
        show_qos_text(control, stdout, false);
    }
    s->printed = now;
    return false;
}

static void sample_the_rest(struct control *control)
{
    metrics_hold();
    control_sample(control);
    metrics_release();
}

/* Say which next hops have another MAC since the last call. */
static void watch_neighbours(const struct engine *e, const struct control *control, uint64_t *seen)
{
    uint32_t arp = arp_instance(control);

    if (arp != CFG_NONE)
        arp_log_changes(e->tasks[arp], seen);
}

/* The loop of the main thread, until a signal, the end of the duration or the end of all sources.
 * Returns the time that the run took, in seconds. */
static double run(struct engine *e, struct control *control, struct server *server,
                  struct sample *sample, struct state *state, const struct options *o)
{
    struct show shown = {.live = o->live ? live_start(e) : NULL};
    double now = 0, watched = 0, pace = WATCH_S;
    bool busy;
    uint64_t changes = 0;
    struct timespec start;

    /* half a period of --sample, so that no sample is missed */
    if (sample != NULL && (double)o->sample_period_ns / 2e9 < pace)
        pace = (double)o->sample_period_ns / 2e9;

    clock_gettime(CLOCK_MONOTONIC, &start);
    while (stop_signal == 0 && !engine_sources_finished(e)) {
        now = seconds_since(&start);
        if (o->duration_ns > 0 && now >= (double)o->duration_ns / 1e9)
            break;
        busy = show(&shown, control, now);
        if (now - watched >= WATCH_S) {
            engine_watch(e);
            capture_watch(control->capture);
            state_watch(state);
            if (watchdog_all_move(e))
                notify_alive();
            watch_neighbours(e, control, &changes);
            watched = now;
        }
        if (sample != NULL)
            sample_take(sample);
        punt_serve(control->punt);
        wait_for_requests(server, control, busy ? SLICE_S : punt_pace(control->punt, pace));
    }
    now = seconds_since(&start);
    if (control->samples.under_way || now - shown.begun >= SHOW_S / 2)
        sample_the_rest(control);
    live_free(shown.live);
    return now;
}

static int open_output(const char *path, FILE **f)
{
    *f = strcmp(path, "-") == 0 ? stdout : output_open(path);
    return *f != NULL ? 0 : -errno;
}

static int close_output(const char *path, FILE *f, int rc)
{
    bool bad = ferror(f) != 0 || (f == stdout ? fflush(f) : fclose(f)) != 0;

    if (bad && rc == 0)
        rc = -EIO;
    if (rc != 0)
        log_error("%s: %s", path, strerror(-rc));
    return rc;
}

static int write_report(const struct engine *e, const struct control *control, const char *path,
                        double seconds)
{
    FILE *f;
    int rc = open_output(path, &f);

    return rc != 0 ? rc
                   : close_output(path, f,
                                  report_write(e, f, seconds, show_qos_json(control),
                                               show_copies_json(control)));
}

static int write_subscribers(struct control *control, const char *path)
{
    FILE *f;
    int rc = open_output(path, &f);

    return rc != 0 ? rc : close_output(path, f, subscribers_dump(control, f));
}

/* Run the engine, stop it, and print and write what it did. */
static int run_and_account(struct engine *e, struct control *control, struct server *server,
                           struct state *state, const struct options *o)
{
    struct sample *sample = NULL;
    struct ledger ledger;
    double seconds;

    if (o->sample != NULL && (sample = sample_open(e, o->sample, o->sample_period_ns)) == NULL)
        return EXIT_START;
    if (engine_start(e) != 0) {
        engine_stop(e);
        sample_close(sample);
        return EXIT_START;
    }
    notify_ready("forwarding: %u ports, %u subscribers, %u cores", e->plan->cfg->n_ports,
                 e->plan->cfg->n_subscribers, e->plan->n_cores);
    seconds = run(e, control, server, sample, state, o);
    notify_stopping(e->plan->cfg->drain_ns + STOP_NS);
    engine_stop(e);
    punt_finish(control->punt);
    if (sample_close(sample) != 0)
        return EXIT_START;
    live_print_totals(e, stdout, seconds);
    show_qos_text(control, stdout, true);
    if (o->report != NULL && write_report(e, control, o->report, seconds) != 0)
        return EXIT_START;
    if (o->subscribers != NULL && write_subscribers(control, o->subscribers) != 0)
        return EXIT_START;
    ledger = ledger_read(e, NULL);
    return ledger_balances(&ledger) ? EXIT_OK : EXIT_LEDGER;
}

/* Run with the state that another run has kept (--state), and keep it for the next. */
static int run_with_state(struct engine *e, struct control *control, struct server *server,
                          const struct options *o)
{
    struct state *state = NULL;
    int status;

    if (o->state != NULL && (state = state_open(control, o->state)) == NULL)
        return EXIT_START;
    status = run_and_account(e, control, server, state, o);
    return state_close(state) == 0 || status != EXIT_OK ? status : EXIT_START;
}

static int run_controlled(struct engine *e, struct tables *tables, struct server *server,
                          const struct options *o)
{
    struct control *control = control_open(e, tables);
    int status = EXIT_START;

    if (control != NULL)
        control->options = &o->config;
    if (control == NULL)
        log_error("no memory to watch the subscribers");
    else if ((control->capture = capture_open(e, tables, o->capture_dir)) == NULL)
        log_error("no memory for captures, or --capture-dir is no folder");
    else if (e->plan->cfg->punt_socket != NULL &&
             (control->punt = punt_open(control, &o->access)) == NULL)
        status = EXIT_START; /* it has said why */
    else if (metrics_engine_add(e) != 0 || metrics_qos_add(control) != 0 ||
             documents_add(e->plan) != 0) /* the last: a reader that finds it finds all others */
        log_error("DPDK's telemetry library has no room for our commands");
    else
        status = run_with_state(e, control, server, o);
    metrics_close();
    documents_close();
    control_free(control);
    return status;
}

static struct tables *make_tables(const struct engine *e)
{
    const struct plan *p = e->plan;
    uint8_t mac[CFG_MAX_PORTS][6];

    for (unsigned i = 0; i < p->cfg->n_ports; i++)
        memcpy(mac[i], &e->ports[i].mac, sizeof(mac[i]));
    return provision(p, (const uint8_t(*)[6])mac);
}

static int explain_only(const struct engine *e, struct tables *tables, const char *text)
{
    int sent = offline_explain(e, tables, text, stdout);

    return sent < 0 ? EXIT_USAGE : sent ? EXIT_OK : EXIT_NOT_SENT;
}

/* Sockets, cores and siblings of a layout are those of the machine that it was written for: another
 * may number its CPUs in another way, as guests of QEMU do, where siblings are neighbours. */
static void warn_of_places(const struct plan *p)
{
    static struct topology is;
    unsigned i = topo_read(&is, SYSFS_CPUS) == 0 ? plan_moved_core(p, &is) : p->n_cores;
    const struct topo_cpu *said, *real;

    if (i == p->n_cores)
        return;
    said = topo_cpu(&p->cfg->topology, p->cores[i].cpu);
    real = topo_cpu(&is, p->cores[i].cpu);
    log_warning("%s: CPU %u is thread %u of core %u of socket %u in the topology that the layout "
                "is for, and thread %u of core %u of socket %u here: start with --topology live, "
                "or say what this machine has",
                p->cfg->path, said->id, said->thread, said->core, said->socket, real->thread,
                real->core, real->socket);
}

static int run_plan(const struct plan *p, struct server *server, const struct options *o)
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
    warn_of_places(p);
    if (eal_start(p, o->verbose) != 0)
        return EXIT_START;
    if (engine_open(&engine, p) == 0 && (tables = make_tables(&engine)) != NULL &&
        engine_build(&engine, tables) == 0)
        status = o->explain != NULL ? explain_only(&engine, tables, o->explain)
                                    : run_controlled(&engine, tables, server, o);
    missing = engine_free(&engine);
    if (missing > 0 && status == EXIT_OK) {
        log_error("%llu mbufs did not come back to their pools", (unsigned long long)missing);
        status = EXIT_LEDGER;
    }
    provision_free(tables);
    eal_stop();
    return status;
}

/* Open the control socket, then run. The socket comes first, so that a path that another vbng uses
 * is an error at once. */
static int run_served(const struct plan *p, const struct options *o)
{
    struct server *server = NULL;
    int status;

    if (o->control != NULL) {
        server = server_open(o->control, &o->access);
        if (server == NULL)
            return EXIT_START;
    }
    status = run_plan(p, server, o);
    server_close(server);
    return status;
}

static int print_json(const struct plan *p)
{
    char *text = plan_json(p, true);

    if (text == NULL) {
        log_error("no memory for the plan as JSON");
        return EXIT_START;
    }
    puts(text);
    free(text);
    return EXIT_OK;
}

static int act(struct cfg_model *m, struct plan *p, const struct options *o)
{
    switch (o->action) {
    case ACTION_CHECK:
        printf("%s: OK (%u ports, %u subscribers, %u routes, %u tasks on %u cores)\n", m->path,
               m->n_ports, m->n_subscribers, m->n_routes + m->n_routes6, m->n_tasks, p->n_cores);
        return EXIT_OK;
    case ACTION_PLAN:
        plan_print_text(p, stdout);
        return EXIT_OK;
    case ACTION_PLAN_JSON:
        return print_json(p);
    case ACTION_EXPLAIN:
        offline_prepare(m, p);
        return run_plan(p, NULL, o);
    case ACTION_RUN:
        break;
    }
    return run_served(p, o);
}

/* The schemas of task_types[], which is all that the configuration needs to know of them. */
static const struct task_schema *const *schemas(void)
{
    static const struct task_schema *list[64];

    for (unsigned i = 0; i < RTE_DIM(list) - 1 && task_types[i] != NULL; i++)
        list[i] = &task_types[i]->schema;
    return list;
}

/* Without a limit of our own libc raises it to the largest block that was ever freed, and keeps
 * what each reload frees: 3 MiB after ten of 8192 routes. */
static void give_back_what_is_freed(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
#endif
}

int main(int argc, char **argv)
{
    static uint8_t given[TOPO_MAX_CPUS];
    struct options o = {.live = isatty(STDOUT_FILENO) == 1, .sample_period_ns = SAMPLE_PERIOD_NS};
    struct sigaction action = {.sa_handler = on_signal};
    struct diags diags = {0};
    struct cfg_model *model;
    struct plan *plan = NULL;
    int status = options_parse(argc, argv, &o);

    if (status >= 0)
        return status;
    give_back_what_is_freed();
    umask(umask(0) | S_IWOTH); /* also for the sockets that DPDK's drivers make */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* net_virtio_user writes to its peer, which may have gone */
    o.config.schemas = schemas();
    o.config.template_dir = VBNG_DATADIR "/pkt_templates";
    if (topo_affinity(given) == 0) /* now: EAL and the threads of vbng move to CPUs of their own */
        o.config.given = given;
    notify_open();
    model = config_load(o.path, &o.config, &diags);
    if (model != NULL)
        plan = plan_make(model, o.config.share_cpus, &diags);
    if (plan != NULL)
        plan_hints(plan, &diags);
    diag_print(&diags, stderr);
    diag_free(&diags);
    status = plan != NULL ? act(model, plan, &o) : EXIT_CONFIG;
    plan_free(plan);
    config_free(model);
    notify_close();
    return status;
}
