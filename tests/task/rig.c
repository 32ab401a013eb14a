/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs packets through a rig and says what became of them. */
#include "base/cpu/prefetch.h"
#include "engine/drops.h"
#include "rig.h"

#include <stdio.h>
#include <string.h>

static int find_output(const struct rig *r, const char *name, size_t len)
{
    const struct task_output *outputs = r->task->type->schema.outputs;

    for (int i = 0; i < TASK_MAX_OUTPUTS && outputs[i].name != NULL; i++)
        if (strlen(outputs[i].name) == len && strncmp(outputs[i].name, name, len) == 0)
            return i;
    fprintf(stderr, "harness: no output '%s'\n", name);
    CU_FAIL_FATAL("no such output");
    return -1;
}

struct task *rig_task(struct rig *r)
{
    return r->task;
}

void rig_lose_path(struct rig *r, const char *output, uint8_t port)
{
    r->instance.output[find_output(r, output, strlen(output))].by_port[port] = 0xff;
}

static uint64_t sent(const struct rig *r)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < r->task->n_outs; i++)
        sum += r->task->outs[i].sent;
    return sum;
}

static uint64_t dropped(const struct rig *r)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < N_TASK_DROPS; i++)
        sum += r->task->drops[i];
    return sum;
}

void rig_close(struct rig *r)
{
    struct task *t = r->task;
    uint64_t held = t->type->held != NULL ? t->type->held(t) : 0;

    rig_clear(r);
    if (t->type->fini != NULL)
        t->type->fini(t);
    CU_ASSERT_EQUAL(t->in + t->created, sent(r) + dropped(r) + t->consumed + held);
    CU_ASSERT_EQUAL(rte_mempool_avail_count(harness_pool), RIG_MBUFS);
    mbuf_unguard();
    rig_free(r);
}

void rig_burst(struct rig *r, struct rte_mbuf **m, unsigned n)
{
    /* stages near each other and far by turns: the same comes of both */
    prefetch_step = prefetch_step == PREFETCH_NEAR ? PREFETCH_FAR : PREFETCH_NEAR;
    for (unsigned i = 0; i < n; i += BURST_MAX)
        task_run(r->task, m + i, (uint16_t)RTE_MIN(n - i, (unsigned)BURST_MAX));
}

uint16_t rig_poll(struct rig *r, uint64_t now)
{
    uint16_t n = r->task->type->poll(r->task, now);

    task_flush(r->task);
    return n;
}

/* Where a packet went, by comparing the counters with what they were. */
static void describe(struct rig *r, const uint64_t *drops, const unsigned (*n)[RIG_MAX_WAYS])
{
    const struct task_schema *s = &r->task->type->schema;

    for (unsigned i = 0; i < N_TASK_DROPS; i++)
        if (r->task->drops[i] != drops[i])
            snprintf(r->fate, sizeof(r->fate), "drop %s", drop_name(s, i));
    for (unsigned i = 0; i < TASK_MAX_OUTPUTS && s->outputs[i].name != NULL; i++) {
        for (unsigned w = 0; w < r->task->n_dests[i]; w++) {
            struct capture *c = &r->way[i][w];

            if (c->n == n[i][w])
                continue;
            r->last = c->m[c->n - 1];
            if (r->task->n_dests[i] > 1)
                snprintf(r->fate, sizeof(r->fate), "%s/%u", s->outputs[i].name, w);
            else
                snprintf(r->fate, sizeof(r->fate), "%s", s->outputs[i].name);
        }
    }
}

const char *rig_fate(struct rig *r, struct rte_mbuf *m)
{
    uint64_t drops[N_TASK_DROPS], consumed = r->task->consumed;
    uint64_t before = sent(r) + dropped(r) + consumed, ends;
    unsigned n[TASK_MAX_OUTPUTS][RIG_MAX_WAYS];

    memcpy(drops, r->task->drops, sizeof(drops));
    for (unsigned i = 0; i < TASK_MAX_OUTPUTS; i++)
        for (unsigned w = 0; w < RIG_MAX_WAYS; w++)
            n[i][w] = r->way[i][w].n;
    r->last = NULL;
    rig_burst(r, &m, 1);
    ends = sent(r) + dropped(r) + r->task->consumed - before;
    snprintf(r->fate, sizeof(r->fate), "%s", r->task->consumed > consumed ? "consumed" : "held");
    describe(r, drops, (const unsigned(*)[RIG_MAX_WAYS])n);
    if (ends > 1)
        snprintf(r->fate, sizeof(r->fate), "ended %u times", (unsigned)ends);
    return r->fate;
}

struct rte_mbuf *rig_last(struct rig *r)
{
    return r->last;
}

unsigned rig_captured_way(struct rig *r, const char *output, unsigned way)
{
    return r->way[find_output(r, output, strlen(output))][way].n;
}

unsigned rig_captured(struct rig *r, const char *output)
{
    unsigned sum = 0;

    for (unsigned w = 0; w < RIG_MAX_WAYS; w++)
        sum += rig_captured_way(r, output, w);
    return sum;
}

struct rte_mbuf *rig_out(struct rig *r, const char *output, unsigned way, unsigned i)
{
    struct capture *c = &r->way[find_output(r, output, strlen(output))][way];

    return i < c->n ? c->m[i] : NULL;
}

void rig_clear(struct rig *r)
{
    for (unsigned i = 0; i < TASK_MAX_OUTPUTS; i++) {
        for (unsigned w = 0; w < RIG_MAX_WAYS; w++) {
            rte_pktmbuf_free_bulk(r->way[i][w].m, r->way[i][w].n);
            r->way[i][w].n = 0;
        }
    }
    r->last = NULL;
}

uint64_t rig_drops(struct rig *r, const char *reason)
{
    for (unsigned i = 0; i <= DROP_NO_PATH; i++) {
        const char *name = drop_name(&r->task->type->schema, i);

        if (name != NULL && strcmp(name, reason) == 0)
            return r->task->drops[i];
    }
    fprintf(stderr, "harness: no drop reason '%s'\n", reason);
    CU_FAIL_FATAL("no such drop reason");
    return 0;
}
