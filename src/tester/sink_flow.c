/* SPDX-License-Identifier: BSD-3-Clause */
#include "tester/sink_flow.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

static_assert(FLOW_SLOTS >= 2 * FLOW_MAX, "a search ends at a free slot soon");

int flow_table_init(struct flow_table *t, unsigned max, int socket)
{
    t->max = max;
    t->flow = rte_zmalloc_socket("sink", max * sizeof(t->flow[0]), RTE_CACHE_LINE_SIZE, socket);
    return t->flow != NULL ? 0 : -ENOMEM;
}

void flow_table_fini(struct flow_table *t)
{
    rte_free(t->flow);
}

struct flow *flow_search(struct flow_table *t, uint32_t key)
{
    uint32_t i = key * 0x9e3779b1u >> 16;

    while (t->slot[i % FLOW_SLOTS] != 0) {
        uint32_t slot = t->slot[i % FLOW_SLOTS];

        if (slot >> 8 == key)
            return t->last = &t->flow[(slot & 0xff) - 1];
        i++;
    }
    if (t->n == t->max)
        return NULL;
    t->last = &t->flow[t->n];
    t->last->key = key;
    t->slot[i % FLOW_SLOTS] = key << 8 | ++t->n;
    return t->last;
}

/* Advance the window to a new greatest number, and clear the words between the last one and it. */
static void go_ahead(struct flow *f, uint64_t number)
{
    uint64_t begun = (f->next + 63) / 64, last = number / 64;

    if (last + 1 > begun + FLOW_WORDS)
        begun = last + 1 - FLOW_WORDS;
    for (; begun <= last; begun++)
        f->seen[begun % FLOW_WORDS] = 0;
    f->seen[last % FLOW_WORDS] |= 1ull << number % 64;
    f->next = number + 1;
    f->unique++;
}

void flow_count_jump(struct flow *f, int32_t ahead)
{
    uint64_t number, behind = (uint64_t) - (int64_t)ahead, *word;

    if (f->unique == 0)
        f->first = (uint32_t)ahead; /* the sink started after the generator */
    if (ahead > 0 || f->unique == 0) {
        go_ahead(f, f->next + (uint32_t)ahead);
        return;
    }
    if (behind > FLOW_WINDOW || behind > f->next) {
        f->late++;
        return;
    }
    number = f->next - behind;
    word = &f->seen[number / 64 % FLOW_WORDS];
    if (*word & 1ull << number % 64) {
        f->duplicates++;
        return;
    }
    *word |= 1ull << number % 64;
    f->unique++;
    f->reordered++;
    f->extent = RTE_MAX(f->extent, behind - 1);
    f->first = RTE_MIN(f->first, number);
}
