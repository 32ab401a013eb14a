/* SPDX-License-Identifier: BSD-3-Clause */
/* The results as a table for people and as JSON for programs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_memory.h>
#include <rte_version.h>

#include "base/cpu/prefetch.h"
#include "bench.h"

/* "model name" of the first CPU. */
static const char *cpu_model(void)
{
    static char model[128];
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");

    snprintf(model, sizeof(model), "unknown");
    if (f == NULL)
        return model;
    while (fgets(line, sizeof(line), f) != NULL) {
        char *value = strchr(line, ':');

        if (value != NULL && strncmp(line, "model name", 10) == 0) {
            value[strcspn(value, "\n")] = '\0';
            snprintf(model, sizeof(model), "%.*s", (int)sizeof(model) - 1, value + 2);
            break;
        }
    }
    fclose(f);
    return model;
}

static const char *memory_name(const struct bench *b)
{
    const struct rte_memseg_list *l = rte_mem_virt2memseg_list(b->packets.pool);

    if (!b->huge || l == NULL)
        return "4 KiB pages";
    return l->page_sz == RTE_PGSIZE_1G ? "huge pages of 1 GiB" : "huge pages of 2 MiB";
}

static bool meets(const struct bench_case *c, const struct result *r)
{
    return (c->bar == 0 || r->ratio.median <= c->bar) &&
           (c->bar_cycles == 0 || r->cycles.median <= c->bar_cycles);
}

static bool collapsed(const struct bench_case *c, const struct result *r, double slack)
{
    return (c->bar > 0 && r->least > slack * c->bar) ||
           (c->bar_cycles > 0 && r->cycles.min > slack * c->bar_cycles);
}

static const char *verdict(const struct bench_case *c, const struct result *r)
{
    return meets(c, r) ? "OK" : "MISSED";
}

static void table_line(const struct bench_case *c, const struct result *r, FILE *to)
{
    fprintf(to, "%-15s %7.1f %7.1f %7.1f", c->name, r->cycles.median, r->cycles.min, r->cycles.max);
    if (c->versus != NULL)
        fprintf(to, "  %5.2f (%.2f-%.2f)", r->ratio.median, r->ratio.min, r->ratio.max);
    else
        fprintf(to, "  %-17s", "");
    if (c->bar > 0 || c->bar_cycles > 0)
        fprintf(to, "  <= %-4.4g %-6s", c->bar > 0 ? c->bar : c->bar_cycles, verdict(c, r));
    else
        fprintf(to, "  %14s", "");
    fprintf(to, " %s\n", c->what);
}

void report_table(const struct bench *b, const struct result *results, FILE *to)
{
    fprintf(to,
            "machine     %s, TSC %.2f GHz, CPU %d\n"
            "software    %s, %s\n"
            "memory      %s%s\n"
            "prefetch    %u packets from stage to stage\n"
            "load        %u mbufs of %u bytes in random order, %u subscribers and %u routes at "
            "random, bursts of %u, of configurations theirs\n"
            "repetitions %u, interleaved; %s\n\n",
            cpu_model(), (double)rte_get_tsc_hz() / 1e9, b->options.cpu, "vbng " VBNG_VERSION,
            rte_version(), memory_name(b),
            b->huge ? ""
                    : " (for huge pages, as root: echo 512 > /proc/sys/vm/nr_hugepages; give them "
                      "back with 0)",
            prefetch_step, N_PACKETS, DATA_ROOM, bench_subscribers, N_ROUTES, BURST,
            b->options.rounds, bench_note);
    fprintf(to, "%-15s %23s  %-17s  %s\n", "", "cycles per packet", "ratio", "bar");
    fprintf(to, "%-15s %7s %7s %7s  %-17s\n", "", "median", "min", "max", "median (min-max)");
    for (unsigned i = 0; i < n_bench_cases; i++)
        if (results[i].measured)
            table_line(&bench_cases[i], &results[i], to);
}

static void json_spread(FILE *f, const char *name, const struct spread *s)
{
    fprintf(f, ", \"%s\": {\"median\": %.3f, \"min\": %.3f, \"max\": %.3f}", name, s->median,
            s->min, s->max);
}

static void json_case(FILE *f, const struct bench_case *c, const struct result *r)
{
    fprintf(f, "{\"name\": \"%s\"", c->name);
    json_spread(f, "cycles", &r->cycles);
    if (c->versus != NULL) {
        fprintf(f, ", \"versus\": \"%s\"", c->versus);
        json_spread(f, "ratio", &r->ratio);
    }
    if (c->bar > 0)
        fprintf(f, ", \"bar\": %.2f, \"ok\": %s", c->bar, meets(c, r) ? "true" : "false");
    if (c->bar_cycles > 0)
        fprintf(f, ", \"bar_cycles\": %.0f, \"ok\": %s", c->bar_cycles,
                meets(c, r) ? "true" : "false");
    fprintf(f, "}");
}

int report_json(const struct bench *b, const struct result *results, const char *path)
{
    FILE *f = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    const char *sep = "";

    if (f == NULL) {
        fprintf(stderr, "bench: %s: %s\n", path, strerror(errno));
        return -1;
    }
    fprintf(f,
            "{\"machine\": \"%s\", \"tsc_hz\": %llu, \"dpdk\": \"%s\", \"vbng\": \"%s\", "
            "\"memory\": \"%s\", \"repetitions\": %u, \"cases\": [\n",
            cpu_model(), (unsigned long long)rte_get_tsc_hz(), rte_version(), VBNG_VERSION,
            b->huge ? "hugepages" : "no-huge", b->options.rounds);
    for (unsigned i = 0; i < n_bench_cases; i++) {
        if (!results[i].measured)
            continue;
        fprintf(f, "%s  ", sep);
        json_case(f, &bench_cases[i], &results[i]);
        sep = ",\n";
    }
    fprintf(f, "\n]}\n");
    return f == stdout ? fflush(f) : fclose(f);
}

unsigned report_missed(const struct result *results)
{
    unsigned missed = 0;

    for (unsigned i = 0; i < n_bench_cases; i++)
        missed += results[i].measured && !meets(&bench_cases[i], &results[i]);
    return missed;
}

unsigned report_collapsed(const struct result *results, double slack)
{
    unsigned n = 0;

    for (unsigned i = 0; i < n_bench_cases; i++)
        n += results[i].measured && collapsed(&bench_cases[i], &results[i], slack);
    return n;
}
