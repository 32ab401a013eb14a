/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/live.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/ledger.h"
#include "engine/drops.h"

#define FCS 4 /* bytes that a frame has on the line and not in memory */

struct core_sample {
    uint64_t busy, idle, cpu_ns;
};

struct sample {
    struct port_counters port[CFG_MAX_PORTS];
    struct traffic traffic[2][N_FAMILIES]; /* up, down */
    struct task_stats task[CFG_MAX_TASKS];
    struct core_sample *core;
};

struct live {
    const struct engine *e;
    struct sample before, now;
    double elapsed;
};

static void take(const struct engine *e, struct sample *s)
{
    for (unsigned i = 0; i < e->plan->cfg->n_ports; i++)
        stats_port(e, i, &s->port[i]);
    for (unsigned k = 0; k < N_FAMILIES; k++) {
        s->traffic[0][k] = stats_traffic(e, DIRECTION_UP, k);
        s->traffic[1][k] = stats_traffic(e, DIRECTION_DOWN, k);
    }
    for (unsigned i = 0; i < e->plan->cfg->n_tasks; i++)
        stats_task(e, i, &s->task[i]);
    for (unsigned i = 0; i < e->plan->n_cores; i++) {
        s->core[i].busy = __atomic_load_n(&e->cores[i]->busy, __ATOMIC_RELAXED);
        s->core[i].idle = __atomic_load_n(&e->cores[i]->idle_cycles, __ATOMIC_RELAXED);
        s->core[i].cpu_ns = core_cpu_time(e->cores[i]);
    }
}

struct live *live_start(const struct engine *e)
{
    struct live *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return NULL;
    l->e = e;
    l->before.core = calloc(e->plan->n_cores, sizeof(struct core_sample));
    l->now.core = calloc(e->plan->n_cores, sizeof(struct core_sample));
    if (l->before.core == NULL || l->now.core == NULL) {
        live_free(l);
        return NULL;
    }
    take(e, &l->before);
    return l;
}

void live_free(struct live *l)
{
    if (l == NULL)
        return;
    free(l->before.core);
    free(l->now.core);
    free(l);
}

static double mega(uint64_t now, uint64_t before, double seconds)
{
    return (double)(now - before) / seconds / 1e6;
}

static double gigabit(uint64_t bytes, uint64_t packets, double seconds)
{
    return (double)(bytes + FCS * packets) * 8 / seconds / 1e9;
}

static void print_ports(const struct engine *e, const struct sample *was, const struct sample *now,
                        FILE *to, double s)
{
    fprintf(to, "%-12s %9s %9s %9s %9s %14s %14s %10s\n", "port", "rx Mpps", "rx Gbit/s", "tx Mpps",
            "tx Gbit/s", "rx packets", "tx packets", "rx missed");
    for (unsigned i = 0; i < e->plan->cfg->n_ports; i++) {
        const struct port_counters *a = &was->port[i], *b = &now->port[i];

        fprintf(to, "%-12s %9.3f %9.3f %9.3f %9.3f %14" PRIu64 " %14" PRIu64 " %10" PRIu64 "\n",
                e->plan->cfg->ports[i].name, mega(b->rx_packets, a->rx_packets, s),
                gigabit(b->rx_bytes - a->rx_bytes, b->rx_packets - a->rx_packets, s),
                mega(b->tx_packets, a->tx_packets, s),
                gigabit(b->tx_bytes - a->tx_bytes, b->tx_packets - a->tx_packets, s), b->rx_packets,
                b->tx_packets, b->rx_missed);
    }
}

/* Print what subscribers sent and are sent, of the families that there are. */
static void print_directions(const struct sample *was, const struct sample *now, FILE *to, double s)
{
    static const char *const names[2][N_FAMILIES] = {{"up IPv4", "up IPv6"},
                                                     {"down IPv4", "down IPv6"}};
    const char *head = "\ndirection         Mpps    Gbit/s        packets  (Gbit/s of IP)\n";

    for (unsigned d = 0; d < 2; d++)
        for (unsigned k = 0; k < N_FAMILIES; k++) {
            const struct traffic *a = &was->traffic[d][k], *b = &now->traffic[d][k];

            if (b->packets == 0)
                continue;
            fprintf(to, "%s%-12s %9.3f %9.3f %14" PRIu64 "\n", head, names[d][k],
                    mega(b->packets, a->packets, s), gigabit(b->bytes - a->bytes, 0, s),
                    b->packets);
            head = "";
        }
}

static void print_drops(const struct task_schema *schema, const struct task_stats *t, FILE *to)
{
    const char *sep = "";

    for (unsigned i = 0; i < N_TASK_DROPS; i++) {
        const char *name = drop_name(schema, i);

        if (name != NULL && t->drops[i] > 0) {
            fprintf(to, "%s%s %" PRIu64, sep, name, t->drops[i]);
            sep = ", ";
        }
    }
    if (t->full > 0)
        fprintf(to, "%slink_full %" PRIu64, sep, t->full);
}

/* Print the figures that only this type of task has (task_type.stat_names), where they are not 0.
 */
static void print_figures(const struct engine *e, unsigned task, FILE *to)
{
    const char *const *names = stats_figure_names(e, task);
    const char *sep = "  [";

    for (unsigned k = 0; names != NULL && names[k] != NULL; k++) {
        uint64_t value = stats_figure(e, task, k);

        if (value == 0)
            continue;
        fprintf(to, "%s%s %" PRIu64, sep, names[k], value);
        sep = ", ";
    }
    fputs(sep[0] == ',' ? "]\n" : "\n", to);
}

static void print_tasks(const struct engine *e, const struct sample *was, const struct sample *now,
                        FILE *to, double s)
{
    fprintf(to, "\n%-12s %-12s %9s %9s %14s %14s  %s\n", "task", "type", "in Mpps", "out Mpps",
            "in packets", "out packets", "dropped by reason [other figures]");
    for (unsigned i = 0; i < e->plan->cfg->n_tasks; i++) {
        const struct cfg_task *cfg = &e->plan->cfg->tasks[i];
        const struct task_stats *a = &was->task[i], *b = &now->task[i];

        fprintf(to, "%-12s %-12s %9.3f %9.3f %14" PRIu64 " %14" PRIu64 "  ", cfg->name,
                cfg->schema->type, mega(b->in + b->created, a->in + a->created, s),
                mega(b->sent + b->consumed, a->sent + a->consumed, s), b->in + b->created,
                b->sent + b->consumed);
        print_drops(cfg->schema, b, to);
        print_figures(e, i, to);
    }
}

static void print_cores(const struct engine *e, const struct sample *was, const struct sample *now,
                        FILE *to, double s)
{
    fprintf(to, "\n%-6s %-6s %7s %7s  %s\n", "core", "cpu", "busy %", "cpu %", "tasks");
    for (unsigned i = 0; i < e->plan->n_cores; i++) {
        const struct plan_core *pc = &e->plan->cores[i];
        const struct core_sample *a = &was->core[i], *b = &now->core[i];
        double busy = (double)(b->busy - a->busy), all = busy + (double)(b->idle - a->idle);

        fprintf(to, "%-6u %-6u %7.1f %7.1f ", i, pc->run_on, all > 0 ? busy / all * 100 : 0,
                (double)(b->cpu_ns - a->cpu_ns) / s / 1e7);
        for (uint16_t k = 0; k < pc->n_instances; k++)
            fprintf(to, " %s", e->plan->cfg->tasks[e->plan->instances[pc->instances[k]].task].name);
        fputc('\n', to);
    }
}

static void print_ledger(const struct engine *e, FILE *to, bool running)
{
    struct ledger l = ledger_read(e, running ? NULL : to);

    fprintf(to,
            "\nledger: received %" PRIu64 " + created %" PRIu64 " = sent %" PRIu64
            " + consumed %" PRIu64 " + dropped %" PRIu64 " + held %" PRIu64,
            l.received, l.created, l.sent, l.consumed, l.dropped, l.held);
    if (running)
        fprintf(to, " + under way\n");
    else
        fprintf(to, "; %" PRId64 " unexplained: %s\n", l.unexplained,
                ledger_balances(&l) ? "balances" : "DOES NOT BALANCE");
}

void live_print(struct live *l, FILE *to, double seconds)
{
    const struct engine *e = l->e;
    struct core_sample *cores = l->before.core;

    take(e, &l->now);
    l->elapsed += seconds;
    if (isatty(fileno(to)))
        fprintf(to, "\033[H\033[J");
    fprintf(to, "%s after %.0f s; Gbit/s with FCS; Ctrl-C ends\n\n", e->plan->cfg->name,
            l->elapsed);
    print_ports(e, &l->before, &l->now, to, seconds);
    print_directions(&l->before, &l->now, to, seconds);
    print_tasks(e, &l->before, &l->now, to, seconds);
    print_cores(e, &l->before, &l->now, to, seconds);
    print_ledger(e, to, true);
    fputc('\n', to);
    fflush(to);
    memcpy(l->before.port, l->now.port, sizeof(l->now.port));
    memcpy(l->before.traffic, l->now.traffic, sizeof(l->now.traffic));
    memcpy(l->before.task, l->now.task, sizeof(l->now.task));
    l->before.core = l->now.core;
    l->now.core = cores;
}

void live_print_totals(const struct engine *e, FILE *to, double seconds)
{
    struct live *l = live_start(e);
    struct sample zero = {0};

    if (l == NULL)
        return;
    zero.core = calloc(e->plan->n_cores, sizeof(struct core_sample));
    if (zero.core != NULL) {
        fprintf(to, "%s: means over %.1f s\n\n", e->plan->cfg->name, seconds);
        print_ports(e, &zero, &l->before, to, seconds);
        print_directions(&zero, &l->before, to, seconds);
        print_tasks(e, &zero, &l->before, to, seconds);
        print_cores(e, &zero, &l->before, to, seconds);
        print_ledger(e, to, false);
        fflush(to);
    }
    free(zero.core);
    live_free(l);
}
