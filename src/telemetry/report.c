/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_memory.h>
#include <rte_mempool.h>
#include <rte_ring.h>
#include <rte_version.h>

#include "base/cpu/prefetch.h"
#include "base/json.h"
#include "base/log.h"
#include "base/output.h"
#include "engine/eal.h"
#include "engine/drops.h"

json_t *report_ports_json(const struct engine *e, const struct ledger *l)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < e->plan->cfg->n_ports; i++) {
        struct port_counters c;

        stats_port(e, i, &c);
        list = json_with_item(
            list,
            json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
                      e->plan->cfg->ports[i].name, "rx_packets", json_count(c.rx_packets),
                      "rx_bytes", json_count(c.rx_bytes), "tx_packets", json_count(c.tx_packets),
                      "tx_bytes", json_count(c.tx_bytes), "rx_missed", json_count(c.rx_missed),
                      "rx_errors", json_count(c.rx_errors), "rx_no_mbuf", json_count(c.rx_no_mbuf),
                      "tx_errors", json_count(c.tx_errors), "tx_lost", json_count(l->lost[i]),
                      "refused", json_count(e->ports[i].refused), "waiting",
                      json_count(e->ports[i].is_wire ? rte_ring_count(e->ports[i].wire_rx) : 0)));
    }
    return list;
}

static json_t *direction_json(const struct engine *e, enum direction direction)
{
    struct traffic v4 = stats_traffic(e, direction, FAMILY_IPV4),
                   v6 = stats_traffic(e, direction, FAMILY_IPV6);

    return json_pack("{s:o, s:o, s:o, s:o}", "ipv4_packets", json_count(v4.packets), "ipv4_bytes",
                     json_count(v4.bytes), "ipv6_packets", json_count(v6.packets), "ipv6_bytes",
                     json_count(v6.bytes));
}

json_t *report_directions_json(const struct engine *e)
{
    return json_pack("{s:o, s:o}", "up", direction_json(e, DIRECTION_UP), "down",
                     direction_json(e, DIRECTION_DOWN));
}

static json_t *drops_json(const struct task_schema *schema, const struct task_stats *s)
{
    json_t *drops = json_object();

    for (unsigned i = 0; i < N_TASK_DROPS; i++) {
        const char *name = drop_name(schema, i);

        if (name != NULL)
            drops = json_with_key(drops, name, json_count(s->drops[i]));
    }
    return json_with_key(drops, drop_name(schema, DROP_LINK_FULL), json_count(s->full));
}

static json_t *figures_json(const struct engine *e, unsigned task)
{
    const char *const *names = stats_figure_names(e, task);
    json_t *figures = json_object();

    for (unsigned k = 0; names != NULL && names[k] != NULL; k++)
        figures = json_with_key(figures, names[k], json_count(stats_figure(e, task, k)));
    return figures;
}

/* The result of task_type.report, as JSON; NULL for a type without one. */
static json_t *measured_json(const struct engine *e, unsigned task)
{
    const struct task *instances[e->plan->n_instances];
    unsigned n = 0;

    for (unsigned i = 0; i < e->plan->n_instances; i++)
        if (e->plan->instances[i].task == task)
            instances[n++] = e->tasks[i];
    return n > 0 && instances[0]->type->report != NULL ? instances[0]->type->report(instances, n)
                                                       : NULL;
}

static json_t *task_json(const struct engine *e, unsigned i, bool with_measured)
{
    const struct cfg_task *cfg = &e->plan->cfg->tasks[i];
    json_t *measured = with_measured ? measured_json(e, i) : NULL, *task;
    struct task_stats s;

    stats_task(e, i, &s);
    task =
        json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", cfg->name, "type",
                  cfg->schema->type, "in", json_count(s.in), "created", json_count(s.created),
                  "sent", json_count(s.sent), "consumed", json_count(s.consumed), "held",
                  json_count(s.held), "stalled", json_count(s.stalled), "drops",
                  drops_json(cfg->schema, &s), "stats", figures_json(e, i));
    if (measured != NULL)
        task = json_with_key(task, "measured", measured);
    return task;
}

json_t *report_tasks_json(const struct engine *e, bool measured)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < e->plan->cfg->n_tasks; i++)
        list = json_with_item(list, task_json(e, i, measured));
    return list;
}

static json_t *cores_json(const struct engine *e)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < e->plan->n_cores; i++) {
        const struct core *c = e->cores[i];

        list = json_with_item(
            list,
            json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "cpu", (int)e->plan->cores[i].run_on,
                      "busy", json_rounded(stats_busy(c), 4), "cpu_seconds",
                      json_rounded((double)core_cpu_time(c) / 1e9, 3), "rounds",
                      json_count(c->rounds), "empty_rounds", json_count(c->empty_rounds), "stalls",
                      json_count(e->watchdog[i].stalls), "stalled_seconds",
                      json_rounded((double)e->watchdog[i].stalled_ns / 1e9, 3)));
    }
    return list;
}

/* The NUMA socket on which a pool lies, or its first part; null where DPDK does not know. */
static json_t *pool_socket(const struct rte_mempool *p)
{
    const struct rte_mempool_memhdr *part = STAILQ_FIRST(&p->mem_list);
    const struct rte_memseg *at = part != NULL ? rte_mem_virt2memseg(part->addr, NULL) : NULL;

    return at != NULL ? json_integer(at->socket_id) : json_null();
}

static json_t *pools_json(const struct engine *e)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < e->plan->n_pools; i++)
        list =
            json_with_item(list, json_pack("{s:s, s:i, s:i, s:o}", "pool", e->plan->pools[i].name,
                                           "mbufs", (int)e->pools[i]->size, "free",
                                           (int)rte_mempool_avail_count(e->pools[i]), "socket",
                                           pool_socket(e->pools[i])));
    return list;
}

static json_t *ledger_json(const struct ledger *l)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:i, s:i, s:b}", "received",
                     json_count(l->received), "created", json_count(l->created), "sent",
                     json_count(l->sent), "consumed", json_count(l->consumed), "dropped",
                     json_count(l->dropped), "held", json_count(l->held), "unexplained",
                     (json_int_t)l->unexplained, "faults", (int)l->n_faults, "unaudited_ports",
                     (int)l->n_unaudited, "balances", (int)ledger_balances(l));
}

int report_write(const struct engine *e, FILE *to, double seconds, json_t *qos, json_t *routes)
{
    struct ledger l = ledger_read(e, NULL);
    json_t *report = json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:i, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
        e->plan->cfg->name, "version", VBNG_VERSION, "dpdk", rte_version(), "memory",
        eal_memory_name(), "tsc_hz", json_count(rte_get_tsc_hz()), "prefetch", (int)prefetch_step,
        "shared_cpus", (int)e->plan->share_cpus, "seconds", json_rounded(seconds, 3), "ports",
        report_ports_json(e, &l), "directions", report_directions_json(e), "tasks",
        report_tasks_json(e, true), "cores", cores_json(e), "pools", pools_json(e), "routes",
        routes, "qos", qos, "ledger", ledger_json(&l));
    int rc = report != NULL ? json_dumpf(report, to, JSON_INDENT(2) | JSON_DIGITS) : -1;

    json_decref(report);
    return rc == 0 && fputc('\n', to) != EOF ? 0 : -ENOMEM;
}

struct sample {
    const struct engine *engine;
    const char *path;
    FILE *to;
    struct timespec start;
    double period, next; /* seconds */
};

static double elapsed(const struct sample *s)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - s->start.tv_sec) + (double)(now.tv_nsec - s->start.tv_nsec) / 1e9;
}

static void write_lines(struct sample *s, double now)
{
    const struct cfg_model *m = s->engine->plan->cfg;

    for (unsigned i = 0; i < m->n_tasks; i++) {
        struct task_stats t;
        uint64_t dropped;

        stats_task(s->engine, i, &t);
        dropped = t.full;
        for (unsigned k = 0; k < N_TASK_DROPS; k++)
            dropped += t.drops[k];
        fprintf(s->to, "%.6f,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", now,
                m->tasks[i].name, t.in, t.created, t.sent, dropped, t.held);
    }
}

struct sample *sample_open(const struct engine *e, const char *path, uint64_t period_ns)
{
    struct sample *s = calloc(1, sizeof(*s));

    if (s != NULL)
        s->to = output_open(path);
    else
        log_error("%s: %s", path, strerror(errno));
    if (s == NULL || s->to == NULL) {
        free(s);
        return NULL;
    }
    s->engine = e;
    s->path = path;
    s->period = (double)period_ns / 1e9;
    clock_gettime(CLOCK_MONOTONIC, &s->start);
    fputs("seconds,task,in,created,sent,dropped,held\n", s->to);
    return s;
}

void sample_take(struct sample *s)
{
    double now = elapsed(s);

    if (now < s->next)
        return;
    write_lines(s, now);
    s->next += s->period;
    if (s->next < now) /* a sample that came too late is left out */
        s->next = now;
}

int sample_close(struct sample *s)
{
    int failed, rc;

    if (s == NULL)
        return 0;
    write_lines(s, elapsed(s));
    failed = ferror(s->to);
    rc = fclose(s->to) != 0 ? -errno : failed ? -EIO : 0;
    if (rc != 0)
        log_error("%s: %s", s->path, strerror(-rc));
    free(s);
    return rc;
}
