/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan for Graphviz: a box for each core with its instances, ports at both sides. Solid edges
 * are direct calls, bold dashed ones rings, dotted ones in-memory wires between ports.
 */
#include <string.h>

#include "config/plan_build.h"

/* Names in labels: what DOT's quoted strings want escaped. */
static void put_label(FILE *to, const char *s)
{
    for (; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\')
            fputc('\\', to);
        fputc(*s, to);
    }
}

static void put_cores(const struct plan *p, FILE *to)
{
    char name[64];

    for (unsigned i = 0; i < p->n_cores; i++) {
        const struct plan_core *c = &p->cores[i];

        fprintf(to, "  subgraph cluster_core%u {\n    label=\"core %u: CPU %u, socket %u\";\n",
                i + 1, i + 1, c->cpu, c->socket);
        for (uint16_t k = 0; k < c->n_instances; k++) {
            const struct plan_instance *inst = &p->instances[c->instances[k]];
            const char *type = p->cfg->tasks[inst->task].schema->type;

            fprintf(to, "    i%u [label=\"", c->instances[k]);
            put_label(to, instance_name(p, c->instances[k], name, sizeof(name)));
            fprintf(to, strcmp(name, type) == 0 ? "\"];\n" : "\\n(%s)\"];\n", type);
        }
        fputs("  }\n", to);
    }
}

/* One node where a port's packets come in, another where they go out, so that the picture flows one
 * way. */
static void put_port(const struct plan *p, unsigned i, const char *way, FILE *to)
{
    fprintf(to, "  %s%u [label=\"", way, i);
    put_label(to, p->cfg->ports[i].name);
    fprintf(to, " %s\", shape=cds, style=filled, fillcolor=\"#d5e8d4\"];\n", way);
}

static void put_ports(const struct plan *p, FILE *to)
{
    for (unsigned i = 0; i < p->cfg->n_ports; i++) {
        if (p->rx_queues[i] > 0)
            put_port(p, i, "rx", to);
        if (p->tx_queues[i] > 0)
            put_port(p, i, "tx", to);
    }
}

/* A port with one queue needs no number. */
static void put_queue(FILE *to, uint16_t n_queues, uint16_t queue)
{
    if (n_queues > 1)
        fprintf(to, "queue %u", queue);
}

/* The slow path is drawn pale and does not pull at the picture. */
static void put_edge(const struct plan *p, unsigned from, unsigned output,
                     const struct plan_dest *d, FILE *to)
{
    const struct cfg_task *t = &p->cfg->tasks[p->instances[from].task];
    const char *style = output > 0
                            ? ", color=gray55, fontcolor=gray40, fontsize=8, penwidth=1, weight=0"
                            : ", weight=4";
    const struct plan_ring *r = d->kind == DEST_RING ? &p->rings[d->index] : NULL;

    fprintf(to, "  i%u -> %s%u [label=\"", from, d->kind == DEST_PORT ? "tx" : "i",
            (unsigned)(r != NULL ? r->consumer : d->index));
    if (output > 0)
        fprintf(to, "%s%s", t->schema->outputs[output], d->kind == DEST_CALL ? "" : "\\n");
    if (d->kind == DEST_PORT)
        put_queue(to, p->tx_queues[d->index], d->queue);
    if (r != NULL)
        fprintf(to, "ring %u %s\", style=\"bold,dashed", r->size, ring_producers(r));
    fprintf(to, "\"%s];\n", style);
}

static void put_edges(const struct plan *p, FILE *to)
{
    for (unsigned i = 0; i < p->n_instances; i++) {
        const struct plan_instance *inst = &p->instances[i];

        for (uint16_t r = 0; r < inst->n_rx; r++) {
            fprintf(to, "  rx%u -> i%u [label=\"", inst->rx[r].port, i);
            put_queue(to, p->rx_queues[inst->rx[r].port], inst->rx[r].queue);
            fputs("\", weight=4];\n", to);
        }
        for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
            for (uint16_t k = 0; k < inst->output[o].n_dests; k++)
                put_edge(p, i, o, &inst->output[o].dest[k], to);
    }
}

/* What is sent into one end of a wire is received at the other. */
static void put_wires(const struct plan *p, FILE *to)
{
    for (unsigned i = 0; i < p->cfg->n_ports; i++) {
        unsigned peer = wire_peer(p->cfg, i);

        if (port_is_wire(&p->cfg->ports[i]) && p->tx_queues[i] > 0 && p->rx_queues[peer] > 0)
            fprintf(to, "  tx%u -> rx%u [style=dotted, color=\"#5a8a55\"];\n", i, peer);
    }
}

void plan_print_dot(const struct plan *p, FILE *to)
{
    fputs("digraph plan {\n  label=\"", to);
    put_label(to, p->cfg->name);
    fputs("\";\n  rankdir=LR;\n  labeljust=l;\n  ranksep=0.7;\n  fontname=\"Helvetica\";\n"
          "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\", "
          "fontname=\"Helvetica\"];\n"
          "  edge [fontname=\"Helvetica\", fontsize=10];\n"
          "  graph [style=\"rounded,filled\", fillcolor=\"#eef3fa\", bgcolor=\"#ffffff\"];\n",
          to);
    put_cores(p, to);
    put_ports(p, to);
    put_edges(p, to);
    put_wires(p, to);
    fputs("}\n", to);
}
