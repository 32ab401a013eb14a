/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan for Graphviz: a box for each core with its instances, ports at both sides. Solid edges
 * are direct calls, bold dashed ones rings.
 */
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
            fprintf(to, "\\n(%s)\"];\n", type);
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

static void put_edge(const struct plan *p, unsigned from, unsigned output,
                     const struct plan_dest *d, FILE *to)
{
    const struct cfg_task *t = &p->cfg->tasks[p->instances[from].task];
    const char *name = output > 0 ? t->schema->outputs[output] : "";
    const char *colour = output > 0 ? ", color=gray45, fontcolor=gray45" : "";
    const struct plan_ring *r;

    switch (d->kind) {
    case DEST_PORT:
        fprintf(to, "  i%u -> tx%u [label=\"%s%squeue %u\"%s];\n", from, d->index, name,
                output > 0 ? "\\n" : "", d->queue, colour);
        break;
    case DEST_CALL:
        fprintf(to, "  i%u -> i%u [label=\"%s\"%s];\n", from, d->index, name, colour);
        break;
    case DEST_RING:
        r = &p->rings[d->index];
        fprintf(to, "  i%u -> i%u [label=\"%s%sring %u %s\", style=\"bold,dashed\"%s];\n", from,
                r->consumer, name, output > 0 ? "\\n" : "", r->size, ring_producers(r), colour);
        break;
    }
}

static void put_edges(const struct plan *p, FILE *to)
{
    for (unsigned i = 0; i < p->n_instances; i++) {
        const struct plan_instance *inst = &p->instances[i];

        for (uint16_t r = 0; r < inst->n_rx; r++)
            fprintf(to, "  rx%u -> i%u [label=\"queue %u\"];\n", inst->rx[r].port, i,
                    inst->rx[r].queue);
        for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
            for (uint16_t k = 0; k < inst->output[o].n_dests; k++)
                put_edge(p, i, o, &inst->output[o].dest[k], to);
    }
}

void plan_print_dot(const struct plan *p, FILE *to)
{
    fputs("digraph plan {\n  label=\"", to);
    put_label(to, p->cfg->name);
    fputs("\";\n  rankdir=LR;\n  fontname=\"Helvetica\";\n"
          "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\", "
          "fontname=\"Helvetica\"];\n"
          "  edge [fontname=\"Helvetica\", fontsize=10];\n"
          "  graph [style=\"rounded,filled\", fillcolor=\"#eef3fa\", bgcolor=\"#ffffff\"];\n",
          to);
    put_cores(p, to);
    put_ports(p, to);
    put_edges(p, to);
    fputs("}\n", to);
}
