/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/backlog.h"

#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "engine/tap_point.h"

/* Ranking reads from memory, and asks for it ahead: of few packets it is twice as dear. */
#define RANK_AT_ONCE 256

#define LOOK_SHARE  4  /* filling takes one part of so many of the time */
#define LOOK_LEAST  64 /* what any task takes in a round */
#define LOOK_WINDOW 32 /* fills before that is thought over */

struct backlog *backlog_create(struct task *t, int socket)
{
    uint32_t size = t->hold + 2 * BACKLOG_LOOK;
    struct backlog *b;

    b = rte_zmalloc_socket("backlog", sizeof(*b) + size * (sizeof(b->m[0]) + sizeof(b->rank[0])),
                           RTE_CACHE_LINE_SIZE, socket);
    if (b == NULL)
        return NULL;
    b->task = t;
    b->hold = t->hold;
    b->look = BACKLOG_LOOK;
    b->limit = RANKS;
    b->rank = (uint8_t *)&b->m[size];
    return b;
}

void backlog_free(struct backlog *b)
{
    if (b == NULL)
        return;
    rte_pktmbuf_free_bulk(b->m + b->head, b->tail - b->head);
    rte_free(b);
}

static void set_ends(struct backlog *b, uint32_t head, uint32_t tail)
{
    b->head = head;
    b->tail = tail;
    __atomic_store_n(&b->waiting, tail - head, __ATOMIC_RELAXED);
}

static void move_to_front(struct backlog *b)
{
    uint32_t n = b->tail - b->head;

    memmove(b->m, b->m + b->head, n * sizeof(b->m[0]));
    memmove(b->rank, b->rank + b->head, n * sizeof(b->rank[0]));
    b->ranked -= b->head;
    set_ends(b, 0, n);
}

/* Of the packets from a place on keep those of a rank before the limit, and room of the limit
 * itself; what is kept moves to a place before. Returns where it ends then. */
static uint32_t sift(struct backlog *b, uint32_t from, uint32_t to, unsigned limit, uint32_t room)
{
    struct rte_mbuf *drop[BURST_MAX];
    uint16_t n = 0;

    for (uint32_t i = from; i < b->tail; i++) {
        /* no branch on what is at random */
        unsigned rank = b->rank[i], partly = (rank == limit) & (room > 0),
                 in = (rank < limit) | partly;

        room -= partly;
        b->m[to] = b->m[i];
        b->rank[to] = (uint8_t)rank;
        drop[n] = b->m[i];
        to += in;
        n += in ^ 1;
        if (unlikely(n == BURST_MAX)) {
            task_drop_fresh(b->task, drop, n, b->task->type->overload);
            n = 0;
        }
    }
    if (n > 0)
        task_drop_fresh(b->task, drop, n, b->task->type->overload);
    return to;
}

/*
 * Until nothing waits any more, packets of lower ranks than the one that had to lose some are not
 * even taken in, and those of that rank only while there is ample room. So what waits is never less
 * important than what is dropped.
 */
static bool is_ample(const struct backlog *b)
{
    return b->tail - b->head <= b->hold / 2;
}

/* Would ranking what has come lead to a drop? */
static bool is_closed(const struct backlog *b)
{
    return b->limit < b->lowest || (b->limit < RANKS && !is_ample(b));
}

static void rank_new(struct backlog *b)
{
    unsigned closed = b->limit + is_ample(b);

    b->task->type->rank(b->task, b->m + b->ranked, b->tail - b->ranked, b->rank + b->ranked);
    if (b->limit < RANKS)
        set_ends(b, b->head, sift(b, b->ranked, b->ranked, closed, 0));
    for (; b->ranked < b->tail; b->ranked++)
        b->count[b->rank[b->ranked]]++;
}

/* All ranks that fit are kept whole. The next one gets half of the room that is left: this goes
 * through all that waits, so it is not to be done each time. */
static void choose(struct backlog *b)
{
    uint32_t room = b->hold;
    unsigned rank = 0;

    while (rank < RANKS - 1 && b->count[rank] <= room)
        room -= b->count[rank++];
    room = RTE_MIN(room / 2, b->count[rank]);
    for (unsigned r = rank; r < RANKS; r++)
        if (b->count[r] > 0)
            b->lowest = RTE_MAX(b->lowest, r);
    set_ends(b, 0, sift(b, b->head, 0, rank, room));
    b->limit = rank;
    b->ranked = b->tail;
    b->count[rank] = room;
    memset(&b->count[rank + 1], 0, (RANKS - rank - 1) * sizeof(b->count[0]));
}

static void adjust_look(struct backlog *b, uint64_t start)
{
    uint64_t now = rte_rdtsc();

    b->spent += now - start;
    if (++b->fills < LOOK_WINDOW)
        return;
    if (b->spent * LOOK_SHARE > now - b->since)
        b->look = RTE_MAX(b->look * 3 / 4, (uint32_t)LOOK_LEAST);
    else
        b->look = RTE_MIN(b->look * 9 / 8, (uint32_t)BACKLOG_LOOK);
    b->since = now;
    b->spent = b->fills = 0;
}

uint16_t backlog_fill(struct backlog *b, uint16_t dpdk_port, uint16_t queue, bool spare)
{
    uint64_t start = rte_rdtsc();
    uint16_t n;

    if (unlikely(b->tail > b->hold + BACKLOG_LOOK))
        move_to_front(b);
    n = rte_eth_rx_burst(dpdk_port, queue, b->m + b->tail,
                         (uint16_t)(spare ? BACKLOG_LOOK : b->look));
    if (unlikely(b->task->tapped & TAPPED_RX))
        tap_rx(b->task, b->task->in_port, b->m + b->tail, n);
    set_ends(b, b->head, b->tail + n);
    if ((is_closed(b) && b->tail - b->ranked >= RANK_AT_ONCE) || b->tail - b->head > b->hold)
        rank_new(b);
    if (b->tail - b->head > b->hold)
        choose(b);
    if (!spare)
        adjust_look(b, start);
    return n;
}

uint16_t backlog_take(struct backlog *b, uint16_t n, struct rte_mbuf ***m)
{
    n = (uint16_t)RTE_MIN((uint32_t)n, b->tail - b->head);
    *m = b->m + b->head;
    for (uint32_t i = b->head; i < b->head + n && i < b->ranked; i++)
        b->count[b->rank[i]]--;
    set_ends(b, b->head + n, b->tail);
    b->ranked = RTE_MAX(b->ranked, b->head);
    if (b->head == b->tail) { /* it is over */
        b->limit = RANKS;
        b->lowest = 0;
    }
    return n;
}
