/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "engine/drops.h"
#include "packet/bytes.h"
#include "truth.h"

#define MAX_SEEN 512

/* Different (type of task, reason) that were seen, and packets. */
static struct seen {
    const char *type, *reason;
    uint64_t n;
} seen[MAX_SEEN];
static unsigned n_seen;
static uint64_t n_sent;

void fate_add_sent(struct fate *f, unsigned port, const uint8_t *bytes, uint32_t len)
{
    struct sent *s = &f->sent[f->n_sent++];

    if (f->n_sent > RTE_DIM(f->sent))
        abort();
    *s = (struct sent){.port = port, .bytes = malloc(len + 1), .len = len};
    memcpy(s->bytes, bytes, len);
}

/* Add sign times what the tasks have counted. */
static void add_counters(struct fate *f, const struct engine *e, uint64_t sign)
{
    for (unsigned i = 0; i < e->plan->n_instances; i++) {
        const struct task *t = e->tasks[i];
        unsigned task = e->plan->instances[i].task;

        for (unsigned k = 0; k < N_TASK_DROPS; k++)
            f->drops[task][k] += sign * t->drops[k];
        f->consumed[task] += sign * t->consumed;
    }
}

void fate_begin(struct fate *f, const struct engine *e)
{
    memset(f, 0, sizeof(*f));
    add_counters(f, e, UINT64_MAX); /* -1 */
}

void fate_end(struct fate *f, const struct engine *e)
{
    add_counters(f, e, 1);
}

static unsigned reason_of(const struct cfg_task *t, const char *reason)
{
    for (unsigned i = 0; i < t->schema->n_drops; i++)
        if (strcmp(t->schema->drops[i].name, reason) == 0)
            return i;
    return DROP_NO_PATH;
}

void fate_of_walk(struct fate *f, const struct walk *w)
{
    for (unsigned i = 0; i < w->n_steps; i++) {
        const struct walk_step *s = &w->step[i];
        unsigned task = w->plan->instances[s->instance].task;

        for (unsigned k = 0; k < s->n_ends; k++) {
            const struct walk_end *end = &s->end[k];

            if (end->kind == END_DROP)
                f->drops[task][reason_of(walk_task(w, s->instance), end->reason)] += end->n;
            else if (end->kind == END_CONSUMED)
                f->consumed[task] += end->n;
            else if (end->to.kind == DEST_PORT)
                fate_add_sent(f, end->to.index, end->frame.bytes, end->frame.len);
        }
    }
}

static int by_content(const void *a, const void *b)
{
    const struct sent *x = a, *y = b;

    if (x->port != y->port)
        return x->port < y->port ? -1 : 1;
    if (x->len != y->len)
        return x->len < y->len ? -1 : 1;
    return memcmp(x->bytes, y->bytes, x->len);
}

bool fate_equal(struct fate *a, struct fate *b)
{
    if (a->n_sent != b->n_sent || memcmp(a->drops, b->drops, sizeof(a->drops)) != 0 ||
        memcmp(a->consumed, b->consumed, sizeof(a->consumed)) != 0)
        return false;
    qsort(a->sent, a->n_sent, sizeof(a->sent[0]), by_content);
    qsort(b->sent, b->n_sent, sizeof(b->sent[0]), by_content);
    for (unsigned i = 0; i < a->n_sent; i++)
        if (by_content(&a->sent[i], &b->sent[i]) != 0)
            return false;
    return true;
}

void fate_print(const struct fate *f, FILE *to)
{
    fprintf(to, "really:\n");
    for (unsigned i = 0; i < f->n_sent; i++) {
        fprintf(to, "    sent by port %u:", f->sent[i].port);
        for (uint32_t k = 0; k < f->sent[i].len; k++)
            fprintf(to, "%s%02x", k % 4 == 0 ? " " : "", f->sent[i].bytes[k]);
        fputc('\n', to);
    }
    for (unsigned i = 0; i < CFG_MAX_TASKS; i++) {
        for (unsigned k = 0; k < N_TASK_DROPS; k++)
            if (f->drops[i][k] != 0)
                fprintf(to, "    dropped by task %u, reason %u: %llu\n", i, k,
                        (unsigned long long)f->drops[i][k]);
        if (f->consumed[i] != 0)
            fprintf(to, "    ended in task %u: %llu\n", i, (unsigned long long)f->consumed[i]);
    }
}

void fate_free(struct fate *f)
{
    for (unsigned i = 0; i < f->n_sent; i++)
        free(f->sent[i].bytes);
    f->n_sent = 0;
}

static void count(const char *type, const char *reason, uint64_t n)
{
    unsigned i = 0;

    if (n == 0)
        return;
    while (i < n_seen && (strcmp(seen[i].type, type) != 0 || strcmp(seen[i].reason, reason) != 0))
        i++;
    if (i == MAX_SEEN)
        abort();
    if (i == n_seen)
        seen[n_seen++] = (struct seen){.type = type, .reason = reason};
    seen[i].n += n;
}

void fate_count(const struct fate *f, const struct cfg_model *m)
{
    n_sent += f->n_sent;
    for (unsigned i = 0; i < m->n_tasks; i++) {
        const struct task_schema *s = m->tasks[i].schema;

        for (unsigned k = 0; k < s->n_drops; k++)
            count(s->type, s->drops[k].name, f->drops[i][k]);
        count(s->type, drop_name(s, DROP_NO_PATH), f->drops[i][DROP_NO_PATH]);
        count(s->type, "(ends here)", f->consumed[i]);
    }
}

void fate_print_counts(FILE *to)
{
    fprintf(to, "sent: %llu frames; else, packets by task and reason:\n",
            (unsigned long long)n_sent);
    for (unsigned i = 0; i < n_seen; i++)
        fprintf(to, "    %-11s %-20s %llu\n", seen[i].type, seen[i].reason,
                (unsigned long long)seen[i].n);
}

/* By words: tables are large. What is left behind the last whole one does not count. */
static uint64_t mix(uint64_t h, const void *data, size_t len)
{
    const uint8_t *p = data;

    for (size_t i = 0; i + sizeof(uint64_t) <= len; i += sizeof(uint64_t))
        h = (h ^ load64(p + i)) * UINT64_C(0x100000001b3);
    return h;
}

uint64_t fate_fingerprint(const struct engine *e, const struct tables *t)
{
    const struct subscriber_table *s = t->subscribers;
    const struct route_table *r = t->routes;
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (unsigned i = 0; i < e->plan->n_instances; i++) {
        const struct task *k = e->tasks[i];

        h = mix(h, k, sizeof(*k));
        h = mix(h, k->state, k->type->state_size);
        for (unsigned o = 0; o < k->n_outs; o++)
            h = mix(h, &k->outs[o].sent, sizeof(k->outs[o].sent));
    }
    for (unsigned i = 0; i < e->plan->n_pools; i++) {
        uint64_t free_mbufs = rte_mempool_avail_count(e->pools[i]);

        h = mix(h, &free_mbufs, sizeof(free_mbufs));
    }
    h = mix(h, s->record, (s->n + UINT64_C(1)) * sizeof(s->record[0]));
    return mix(h, r->nexthop, (r->n_nexthops + UINT64_C(1)) * sizeof(r->nexthop[0]));
}

bool fate_reads(const struct plan_instance *inst, unsigned port)
{
    for (uint16_t i = 0; i < inst->n_rx; i++)
        if (inst->rx[i].port == port)
            return true;
    return false;
}
