/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pipeline as a picture of text: one block for each placement, whose cores all look the same.
 * On the left is what comes into the core; then come the tasks in the order of the calls, as a
 * tree. Of a task that has instances elsewhere, those of the block are named.
 * ──▶ direct call, or a port      ══[ring 512 SP]══▶ to another core      ─punt─▶ another output
 */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "plan/make.h"

#define MAX_PREFIX 2048
#define MAX_EDGES  (TASK_MAX_OUTPUTS * CFG_MAX_PORTS * 2)
#define NAME_ROOM  640 /* bytes of a task's name with the numbers of its instances */

struct picture {
    const struct plan *p;
    FILE *to;
    unsigned first, n; /* cores of the block */
    size_t len;
    char prefix[MAX_PREFIX]; /* what stands on the left of a continued line */
    bool *drawn;             /* by instance */
};

/* The destinations of one output that lead to the same port or task in the same way. */
struct edge {
    unsigned output;
    const struct plan_dest *dest; /* the first of them */
    uint16_t n;
};

/* The width of a string: its bytes, without those that continue a UTF-8 character. */
static size_t columns(const char *s)
{
    size_t n = 0;

    for (; *s != '\0'; s++)
        n += (*s & 0xc0) != 0x80;
    return n;
}

static void indent(struct picture *pic, const char *s, size_t spaces)
{
    size_t n = strlen(s);

    if (pic->len + n + spaces >= sizeof(pic->prefix))
        return;
    memcpy(pic->prefix + pic->len, s, n);
    memset(pic->prefix + pic->len + n, ' ', spaces);
    pic->len += n + spaces;
    pic->prefix[pic->len] = '\0';
}

static void outdent(struct picture *pic, size_t len)
{
    pic->len = len;
    pic->prefix[len] = '\0';
}

/* The instance at the end of a call or ring. */
static const struct plan_instance *end_of(const struct plan *p, const struct plan_dest *d)
{
    return &p->instances[d->kind == DEST_RING ? p->rings[d->index].consumer : d->index];
}

static bool same_edge(const struct plan *p, const struct plan_dest *a, const struct plan_dest *b)
{
    if (a->kind != b->kind)
        return false;
    return a->kind == DEST_PORT ? a->index == b->index : end_of(p, a)->task == end_of(p, b)->task;
}

static unsigned find_edges(const struct plan *p, const struct plan_instance *inst,
                           struct edge edges[MAX_EDGES])
{
    unsigned n = 0;

    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++) {
        const struct plan_output *out = &inst->output[o];
        unsigned first = n, e;

        for (uint16_t k = 0; k < out->n_dests; k++) {
            for (e = first; e < n && !same_edge(p, edges[e].dest, &out->dest[k]); e++)
                ;
            if (e == n)
                edges[n++] = (struct edge){.output = o, .dest = &out->dest[k]};
            edges[e].n++;
        }
    }
    return n;
}

/* Does an instance on the same core call this one over "to"? Then this one stands in the caller's
 * line. */
static bool called_in_line(const struct plan *p, unsigned i)
{
    const struct plan_core *c = &p->cores[p->instances[i].core];

    for (uint16_t k = 0; k < c->n_instances; k++) {
        const struct plan_output *out = &p->instances[c->instances[k]].output[0];

        for (uint16_t d = 0; d < out->n_dests; d++)
            if (out->dest[d].kind == DEST_CALL && out->dest[d].index == i)
                return true;
    }
    return false;
}

/* An instance that is fed by a port, a ring or itself starts a line of its own. So does one that is
 * only called over another output than "to", so that a side path does not break the main one. */
static bool starts_line(const struct plan *p, unsigned i)
{
    const struct plan_instance *inst = &p->instances[i];

    return inst->n_rx > 0 || inst->in_ring != CFG_NONE ||
           p->cfg->tasks[inst->task].schema->kind == TASK_SOURCE || !called_in_line(p, i);
}

static void put_arrow(const struct picture *pic, const struct edge *e, const char *name, char *buf,
                      size_t len)
{
    bool is_ring = e->dest->kind == DEST_RING;
    char label[64] = "";

    if (e->output > 0)
        snprintf(label, sizeof(label), "%s%s", name, is_ring ? "═" : "─");
    if (is_ring) {
        const struct plan_ring *r = &pic->p->rings[e->dest->index];

        snprintf(buf, len, "═%s[ring %u %s]═▶ ", label[0] != '\0' ? label : "═", r->size,
                 ring_producers(r));
    } else {
        snprintf(buf, len, "─%s▶ ", label[0] != '\0' ? label : "─");
    }
}

static bool in_block(const struct picture *pic, const struct plan_instance *inst)
{
    return inst->core >= pic->first && inst->core < pic->first + pic->n;
}

/* Name a task whose instances among all are marked: "decap", or "decap.0-1" where there are others.
 * Returns how many are marked, with their cores in cores. */
static unsigned name_marked(const struct plan *p, unsigned task, const bool *marked, char *buf,
                            size_t len, uint16_t cores[PLAN_MAX_CORES])
{
    uint16_t workers[PLAN_MAX_CORES];
    unsigned n = 0, all = 0;
    char list[512];

    for (unsigned i = 0; i < p->n_instances; i++) {
        if (p->instances[i].task != task)
            continue;
        all++;
        if (!marked[i])
            continue;
        cores[n] = p->instances[i].core;
        workers[n++] = p->instances[i].worker;
    }
    if (n == all)
        snprintf(buf, len, "%s", p->cfg->tasks[task].name);
    else
        snprintf(buf, len, "%s.%s", p->cfg->tasks[task].name,
                 number_list(workers, n, list, sizeof(list)));
    return n;
}

/* Name a task by its instances in the block. */
static const char *name_here(const struct picture *pic, unsigned task, char *buf, size_t len)
{
    bool *marked = calloc(pic->p->n_instances + 1, sizeof(marked[0]));
    uint16_t cores[PLAN_MAX_CORES];

    buf[0] = '\0';
    if (marked == NULL)
        return buf;
    for (unsigned i = 0; i < pic->p->n_instances; i++)
        marked[i] = in_block(pic, &pic->p->instances[i]);
    name_marked(pic->p, task, marked, buf, len, cores);
    free(marked);
    return buf;
}

/* Mark the instances to which those of a task in the block lead by the rings of an edge. */
static void mark_ends(const struct picture *pic, const struct plan_instance *inst,
                      const struct edge *e, bool *marked)
{
    const struct plan *p = pic->p;

    for (unsigned i = 0; i < p->n_instances; i++) {
        const struct plan_output *out = &p->instances[i].output[e->output];

        if (p->instances[i].task != inst->task || !in_block(pic, &p->instances[i]))
            continue;
        for (uint16_t k = 0; k < out->n_dests; k++)
            if (same_edge(p, e->dest, &out->dest[k]))
                marked[p->rings[out->dest[k].index].consumer] = true;
    }
}

/* Name a task of other cores: "forward (core 4)", "decap ×3 (cores 2-4)", "decap.1-2 (cores 3-4)";
 * "one each" where each core of the block leads to an instance of its own. */
static void put_remote(const struct picture *pic, const struct plan_instance *inst,
                       const struct edge *e)
{
    bool *marked = calloc(pic->p->n_instances + 1, sizeof(marked[0]));
    uint16_t cores[PLAN_MAX_CORES];
    char name[NAME_ROOM], list[512];
    unsigned n;

    if (marked == NULL)
        return;
    mark_ends(pic, inst, e, marked);
    n = name_marked(pic->p, end_of(pic->p, e->dest)->task, marked, name, sizeof(name), cores);
    fputs(name, pic->to);
    if (n > 1 && strcmp(name, pic->p->cfg->tasks[end_of(pic->p, e->dest)->task].name) == 0)
        fprintf(pic->to, " ×%u", n);
    fprintf(pic->to, " (core%s %s%s)", n > 1 ? "s" : "", number_list(cores, n, list, sizeof(list)),
            n > 1 && e->n == 1 ? ", one each" : "");
    free(marked);
}

/* Name a port with the transmit queues of all cores of the block: "core0 tx 0". */
static void put_port(const struct picture *pic, const struct plan_instance *inst,
                     const struct edge *e)
{
    const struct plan *p = pic->p;
    unsigned at = (unsigned)(e->dest - inst->output[e->output].dest), n = 0;
    uint16_t queues[PLAN_MAX_CORES];
    char list[256];

    for (unsigned i = 0; i < p->n_instances; i++) {
        const struct plan_instance *other = &p->instances[i];

        if (other->task == inst->task && in_block(pic, other))
            queues[n++] = other->output[e->output].dest[at].queue;
    }
    fprintf(pic->to, "%s tx %s", p->cfg->ports[e->dest->index].name,
            number_list(queues, n, list, sizeof(list)));
}

static void draw_instance(struct picture *pic, unsigned i); /* calls itself over draw_edge() */

/* Draw an arrow and what it leads to; below stands under the fork on the lines that follow. */
static void draw_edge(struct picture *pic, const struct plan_instance *inst, const struct edge *e,
                      const char *below)
{
    const struct plan *p = pic->p;
    const char *output = p->cfg->tasks[inst->task].schema->outputs[e->output].name;
    size_t len = pic->len;
    char arrow[160], name[NAME_ROOM];

    put_arrow(pic, e, output, arrow, sizeof(arrow));
    fputs(arrow, pic->to);
    indent(pic, below, columns(arrow));
    if (e->dest->kind == DEST_PORT)
        put_port(pic, inst, e);
    else if (e->dest->kind == DEST_RING)
        put_remote(pic, inst, e);
    else if (pic->drawn[e->dest->index] || starts_line(p, e->dest->index))
        fprintf(pic->to, "%s …",
                name_here(pic, p->instances[e->dest->index].task, name, sizeof(name)));
    else
        draw_instance(pic, e->dest->index);
    outdent(pic, len);
}

static void draw_instance(struct picture *pic, unsigned i)
{
    const struct plan_instance *inst = &pic->p->instances[i];
    char name[NAME_ROOM];
    struct edge *edges = calloc(MAX_EDGES, sizeof(edges[0]));
    size_t len = pic->len;
    unsigned n;

    if (edges == NULL)
        return;
    n = find_edges(pic->p, inst, edges);
    pic->drawn[i] = true;
    fputs(name_here(pic, inst->task, name, sizeof(name)), pic->to);
    indent(pic, "", columns(name));
    for (unsigned k = 0; k < n; k++) {
        if (k > 0)
            fprintf(pic->to, "\n%s", pic->prefix);
        fputs(n == 1 ? " " : k == 0 ? " ─┬" : k + 1 == n ? "  └" : "  ├", pic->to);
        draw_edge(pic, inst, &edges[k], n == 1 ? " " : k + 1 == n ? "   " : "  │");
    }
    outdent(pic, len);
    free(edges);
}

/* The receive queues of a port that a task reads on the cores of the block. Returns how many. */
static unsigned block_queues(const struct picture *pic, unsigned task, unsigned port,
                             uint16_t queues[PLAN_MAX_CORES])
{
    const struct plan *p = pic->p;
    unsigned n = 0;

    for (uint16_t q = 0; q < p->rx_queues[port]; q++) {
        unsigned reader = plan_queue_reader(p, port, q);
        const struct plan_instance *inst = &p->instances[reader];

        if (reader < p->n_instances && inst->task == task && in_block(pic, inst))
            queues[n++] = q;
    }
    return n;
}

/* Name what feeds the first instance of a line, with the receive queues of all cores of the block.
 */
static void put_inputs(const struct picture *pic, const struct plan_instance *inst, char *buf,
                       size_t len)
{
    const struct plan *p = pic->p;
    const struct plan_ring *ring;
    uint16_t queues[PLAN_MAX_CORES];
    size_t used = 0;
    char list[256];

    buf[0] = '\0';
    if (inst->n_rx == 0 && inst->in_ring == CFG_NONE &&
        p->cfg->tasks[inst->task].schema->kind != TASK_SOURCE)
        snprintf(buf, len, "… ─▶ ");
    for (uint16_t r = 0; r < inst->n_rx && used < len; r++) {
        unsigned n = block_queues(pic, inst->task, inst->rx[r].port, queues);

        if (r == 0 || inst->rx[r].port != inst->rx[r - 1].port)
            used += (size_t)snprintf(buf + used, len - used, "%s%s rx %s", r > 0 ? ", " : "",
                                     p->cfg->ports[inst->rx[r].port].name,
                                     number_list(queues, n, list, sizeof(list)));
    }
    if (inst->n_rx > 0 && used < len)
        used += (size_t)snprintf(buf + used, len - used, " %s",
                                 inst->in_ring == CFG_NONE ? "──▶ " : "and ");
    if (inst->in_ring == CFG_NONE || used >= len)
        return;
    ring = &p->rings[inst->in_ring];
    snprintf(buf + used, len - used, "══[ring %u %s]═▶ ", ring->size, ring_producers(ring));
}

static void draw_line(struct picture *pic, unsigned i)
{
    char in[4096];

    put_inputs(pic, &pic->p->instances[i], in, sizeof(in));
    fprintf(pic->to, "  %s", in);
    indent(pic, "", 2 + columns(in));
    draw_instance(pic, i);
    outdent(pic, 0);
    fputc('\n', pic->to);
}

static void draw_block(struct picture *pic)
{
    const struct plan *p = pic->p;
    const struct plan_core *c = &p->cores[pic->first];
    uint16_t cores[PLAN_MAX_CORES], cpus[PLAN_MAX_CORES];
    char core_list[512], cpu_list[512];

    for (unsigned i = 0; i < pic->n; i++) {
        cores[i] = (uint16_t)(pic->first + i);
        cpus[i] = p->cores[pic->first + i].cpu;
    }
    fprintf(pic->to, "\ncore%s %s (CPU %s)\n", pic->n > 1 ? "s" : "",
            number_list(cores, pic->n, core_list, sizeof(core_list)),
            number_list(cpus, pic->n, cpu_list, sizeof(cpu_list)));
    for (uint16_t i = 0; i < c->n_instances; i++)
        if (starts_line(p, c->instances[i]))
            draw_line(pic, c->instances[i]);
}

void plan_draw(const struct plan *p, FILE *to)
{
    struct picture *pic = calloc(1, sizeof(*pic));
    bool *drawn = calloc(p->n_instances + 1, sizeof(drawn[0]));

    if (pic != NULL && drawn != NULL) {
        *pic = (struct picture){.p = p, .to = to, .drawn = drawn};
        for (unsigned i = 0; i < p->cfg->n_placements; i++) {
            pic->n = p->cfg->placements[i].n_cpus;
            draw_block(pic);
            pic->first += pic->n;
        }
    }
    free(drawn);
    free(pic);
}
