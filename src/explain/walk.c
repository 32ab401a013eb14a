/* SPDX-License-Identifier: BSD-3-Clause */
#include "explain/walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "explain/headers.h"
#include "explain/walker.h"

/* Add an element to a list, whose room is the next power of two. */
static void *grow(void *list, unsigned n, size_t size)
{
    if ((n & (n - 1)) == 0)
        list = realloc(list, RTE_MAX(2 * n, 1u) * size);
    if (list == NULL)
        abort();
    memset((char *)list + n * size, 0, size);
    return list;
}

struct walk *walk_new(const struct plan *p)
{
    struct walk *w = grow(NULL, 0, sizeof(*w));

    w->plan = p;
    return w;
}

struct walk_step *walk_add_step(struct walk *w)
{
    w->step = grow(w->step, w->n_steps, sizeof(*w->step));
    return &w->step[w->n_steps++];
}

struct walk_end *walk_add_end(struct walk_step *s, enum walk_end_kind kind, uint64_t n)
{
    s->end = grow(s->end, s->n_ends, sizeof(*s->end));
    s->end[s->n_ends].kind = kind;
    s->end[s->n_ends].n = n;
    return &s->end[s->n_ends++];
}

struct walk_frame walk_copy(const struct rte_mbuf *m)
{
    struct walk_frame f = {.bytes = malloc(RTE_MAX(m->pkt_len, 1u)), .len = m->pkt_len};
    uint32_t done = 0;

    if (f.bytes == NULL)
        abort();
    for (; m != NULL; m = m->next) {
        memcpy(f.bytes + done, rte_pktmbuf_mtod(m, void *), m->data_len);
        done += m->data_len;
    }
    return f;
}

void walk_free(struct walk *w)
{
    if (w == NULL)
        return;
    for (unsigned i = 0; i < w->n_steps; i++) {
        for (unsigned k = 0; k < w->step[i].n_ends; k++)
            free(w->step[i].end[k].frame.bytes);
        free(w->step[i].end);
        free(w->step[i].notes);
    }
    free(w->step);
    free(w->frame.bytes);
    free(w);
}

const char *walk_verdict_name(enum walk_verdict verdict)
{
    static const char *const names[] = {[WALK_SENT] = "sent",
                                        [WALK_ANSWERED] = "answered",
                                        [WALK_DROPPED] = "dropped",
                                        [WALK_CONSUMED] = "consumed",
                                        [WALK_ENDLESS] = "endless"};

    return names[verdict];
}

static void print_frame(const struct walk_frame *f, FILE *to)
{
    fputs("    ", to);
    headers_print(to, f->bytes, f->len);
    fputc('\n', to);
}

/* Print lines, indented. */
static void print_notes(const char *notes, FILE *to)
{
    while (notes != NULL && *notes != '\0') {
        int len = (int)strcspn(notes, "\n");

        fprintf(to, "    %.*s\n", len, notes);
        notes += len + (notes[len] == '\n');
    }
}

static void print_way(const struct walk *w, const struct walk_end *end, FILE *to)
{
    const struct plan *p = w->plan;
    unsigned next;

    if (end->to.kind == DEST_PORT) {
        fprintf(to, "port %s%s", p->cfg->ports[end->to.index].name,
                end->peer_gone ? ", and is lost: its peer is away" : "");
        return;
    }
    next = walk_next(w, end);
    fputs(walk_task(w, next)->name, to);
    if (end->to.kind == DEST_RING)
        fprintf(to, " by a ring to core %u", p->instances[next].core);
}

static bool changed(const struct walk_frame *a, const struct walk_frame *b)
{
    return a->len != b->len || memcmp(a->bytes, b->bytes, a->len) != 0;
}

static void print_end(const struct walk *w, const struct walk_step *s, const struct walk_end *end,
                      FILE *to)
{
    switch (end->kind) {
    case END_OUTPUT:
        if (end->packet != s->packet || changed(&s->came, &end->frame))
            print_frame(&end->frame, to);
        fputs("    ", to);
        if (end->packet != s->packet)
            fprintf(to, "packet %u ", end->packet);
        if (strcmp(end->output, "to") != 0)
            fprintf(to, "%s ", end->output);
        fputs("-> ", to);
        print_way(w, end, to);
        fputc('\n', to);
        break;
    case END_DROP:
        if (end->n > 1)
            fprintf(to, "    drops %" PRIu64 " packets: %s\n", end->n, end->reason);
        else
            fprintf(to, "    drops it: %s\n", end->reason);
        break;
    case END_CONSUMED:
        fputs(s->n_ends > 1 ? "    made these of it\n" : "    takes it: it ends here\n", to);
        break;
    }
}

static void print_step(const struct walk *w, const struct walk_step *s, FILE *to)
{
    const struct plan_instance *inst = &w->plan->instances[s->instance];
    const struct cfg_task *t = walk_task(w, s->instance);

    fprintf(to, "%s", t->name);
    if (s->packet > 1)
        fprintf(to, ", packet %u", s->packet);
    fprintf(to, " (%s, core %u)\n", t->schema->type, inst->core);
    print_notes(s->notes, to);
    for (unsigned i = 0; i < s->n_ends; i++)
        print_end(w, s, &s->end[i], to);
}

/* Print the ports by which packets leave, each once. */
static void print_ports(const struct walk *w, FILE *to)
{
    bool named[CFG_MAX_PORTS] = {false};
    const char *sep = "";

    for (unsigned i = 0; i < w->n_steps; i++)
        for (unsigned k = 0; k < w->step[i].n_ends; k++) {
            const struct walk_end *end = &w->step[i].end[k];

            if (end->kind != END_OUTPUT || end->to.kind != DEST_PORT || named[end->to.index])
                continue;
            named[end->to.index] = true;
            fprintf(to, "%s%s", sep, w->plan->cfg->ports[end->to.index].name);
            sep = ", ";
        }
}

void walk_print(const struct walk *w, FILE *to)
{
    fprintf(to, "%s -> %s\n", w->plan->cfg->ports[w->port].name, walk_task(w, w->reader)->name);
    print_frame(&w->frame, to);
    for (unsigned i = 0; i < w->n_steps; i++)
        print_step(w, &w->step[i], to);
    switch (w->verdict) {
    case WALK_SENT:
    case WALK_ANSWERED:
        fprintf(to, "result: %s by ", walk_verdict_name(w->verdict));
        print_ports(w, to);
        fputc('\n', to);
        break;
    case WALK_DROPPED:
        fprintf(to, "result: dropped by %s: %s\n", w->task, w->reason);
        break;
    case WALK_CONSUMED:
        fprintf(to, "result: ends in %s\n", walk_task(w, w->step[w->n_steps - 1].instance)->name);
        break;
    case WALK_ENDLESS:
        fprintf(to, "result: no end after %u tasks: the links form a circle\n", w->n_steps);
        break;
    }
}
