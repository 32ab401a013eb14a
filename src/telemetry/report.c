/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/report.h"

#include <inttypes.h>

#include <rte_cycles.h>
#include <rte_ring.h>
#include <rte_version.h>

#include "engine/eal.h"
#include "engine/ledger.h"
#include "engine/stats.h"

/* Names come from the configuration, which allows only characters that JSON need not escape. */
static void write_ports(const struct engine *e, const struct ledger *l, FILE *to)
{
    fprintf(to, "  \"ports\": [");
    for (unsigned i = 0; i < e->plan->cfg->n_ports; i++) {
        struct port_counters c;

        stats_port(e, i, &c);
        fprintf(to,
                "%s\n    {\"name\": \"%s\", \"rx_packets\": %" PRIu64 ", \"rx_bytes\": %" PRIu64
                ", \"tx_packets\": %" PRIu64 ", \"tx_bytes\": %" PRIu64 ", \"rx_missed\": %" PRIu64
                ", \"rx_errors\": %" PRIu64 ", \"rx_no_mbuf\": %" PRIu64 ", \"tx_errors\": %" PRIu64
                ", \"tx_lost\": %" PRIu64 ", \"waiting\": %u}",
                i > 0 ? "," : "", e->plan->cfg->ports[i].name, c.rx_packets, c.rx_bytes,
                c.tx_packets, c.tx_bytes, c.rx_missed, c.rx_errors, c.rx_no_mbuf, c.tx_errors,
                l->lost[i], e->ports[i].is_wire ? rte_ring_count(e->ports[i].wire_rx) : 0);
    }
    fprintf(to, "\n  ],\n");
}

static void write_drops(const struct task_schema *schema, const struct task_stats *s, FILE *to)
{
    const char *sep = "";

    fprintf(to, "{");
    for (unsigned i = 0; i <= TASK_MAX_DROPS; i++) {
        const char *name = drop_name(schema, i);

        if (name != NULL) {
            fprintf(to, "%s\"%s\": %" PRIu64, sep, name, s->drops[i]);
            sep = ", ";
        }
    }
    fprintf(to, "%s\"link_full\": %" PRIu64 "}", sep, s->full);
}

static void write_figures(const struct engine *e, unsigned task, FILE *to)
{
    const char *const *names = stats_figure_names(e, task);
    const char *sep = "";

    fprintf(to, ", \"stats\": {");
    for (unsigned k = 0; names != NULL && names[k] != NULL; k++) {
        fprintf(to, "%s\"%s\": %" PRIu64, sep, names[k], stats_figure(e, task, k));
        sep = ", ";
    }
    fputc('}', to);
}

/* What a type measures by itself. */
static void write_measured(const struct engine *e, unsigned task, FILE *to)
{
    const struct task *instances[e->plan->n_instances];
    unsigned n = 0;

    for (unsigned i = 0; i < e->plan->n_instances; i++)
        if (e->plan->instances[i].task == task)
            instances[n++] = e->tasks[i];
    if (n == 0 || instances[0]->type->report == NULL)
        return;
    fprintf(to, ", \"measured\": ");
    instances[0]->type->report(instances, n, to);
}

static void write_tasks(const struct engine *e, FILE *to)
{
    fprintf(to, "  \"tasks\": [");
    for (unsigned i = 0; i < e->plan->cfg->n_tasks; i++) {
        const struct cfg_task *cfg = &e->plan->cfg->tasks[i];
        struct task_stats s;

        stats_task(e, i, &s);
        fprintf(to,
                "%s\n    {\"name\": \"%s\", \"type\": \"%s\", \"in\": %" PRIu64
                ", \"created\": %" PRIu64 ", \"sent\": %" PRIu64 ", \"consumed\": %" PRIu64
                ", \"held\": %" PRIu64 ", \"stalled\": %" PRIu64 ", \"drops\": ",
                i > 0 ? "," : "", cfg->name, cfg->schema->type, s.in, s.created, s.sent, s.consumed,
                s.held, s.stalled);
        write_drops(cfg->schema, &s, to);
        write_figures(e, i, to);
        write_measured(e, i, to);
        fprintf(to, "}");
    }
    fprintf(to, "\n  ],\n");
}

static void write_cores(const struct engine *e, FILE *to)
{
    fprintf(to, "  \"cores\": [");
    for (unsigned i = 0; i < e->plan->n_cores; i++) {
        const struct core *c = e->cores[i];

        fprintf(to,
                "%s\n    {\"cpu\": %u, \"busy\": %.4f, \"cpu_seconds\": %.3f, \"rounds\": %" PRIu64
                ", \"empty_rounds\": %" PRIu64 ", \"stalls\": %" PRIu64
                ", \"stalled_seconds\": %.3f}",
                i > 0 ? "," : "", e->plan->cores[i].run_on, stats_busy(c),
                (double)core_cpu_time(c) / 1e9, c->rounds, c->empty_rounds, e->watchdog[i].stalls,
                (double)e->watchdog[i].stalled_ns / 1e9);
    }
    fprintf(to, "\n  ],\n");
}

void report_write(const struct engine *e, FILE *to, double seconds, const char *qos)
{
    struct ledger l = ledger_read(e, NULL);

    fprintf(to,
            "{\n  \"name\": \"%s\",\n  \"version\": \"%s\",\n  \"dpdk\": \"%s\",\n  \"memory\": "
            "\"%s\",\n"
            "  \"tsc_hz\": %" PRIu64 ",\n  \"shared_cpus\": %s,\n  \"seconds\": %.3f,\n",
            e->plan->cfg->name, VBNG_VERSION, rte_version(), eal_memory_name(), rte_get_tsc_hz(),
            e->plan->share_cpus ? "true" : "false", seconds);
    write_ports(e, &l, to);
    write_tasks(e, to);
    write_cores(e, to);
    fprintf(to, "  \"qos\": %s,\n", qos);
    fprintf(to,
            "  \"ledger\": {\"received\": %" PRIu64 ", \"created\": %" PRIu64 ", \"sent\": %" PRIu64
            ", \"consumed\": %" PRIu64 ", \"dropped\": %" PRIu64 ", \"held\": %" PRIu64
            ", \"unexplained\": %" PRId64
            ", \"faults\": %u, \"unaudited_ports\": %u, \"balances\": %s}\n}\n",
            l.received, l.created, l.sent, l.consumed, l.dropped, l.held, l.unexplained, l.n_faults,
            l.n_unaudited, ledger_balances(&l) ? "true" : "false");
}
