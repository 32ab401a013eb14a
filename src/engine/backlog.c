/* SPDX-License-Identifier: BSD-3-Clause */
/* An array of packets and one of their ranks; dropping sifts both in place. */
#include "engine/backlog.h"

#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "engine/tap.h"

/* Packets to rank at a time: rank() prefetches, which costs twice as much for few packets. */
#define RANK_AT_ONCE 256

#define LOOK_SHARE  4  /* backlog_fill() may take one part in so many of the time */
#define LOOK_LEAST  64 /* packets: the most that other inputs take in a round */
#define LOOK_WINDOW 32 /* calls of backlog_fill() between two adjustments */

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

/* Keep of m[from] to m[tail - 1] the packets of ranks above the limit, and the first room packets
 * of the limit's own rank; move them to m[to] on and drop all others. Returns the new end. */
static uint32_t sift(struct backlog *b, uint32_t from, uint32_t to, unsigned limit, uint32_t room)
{
    struct rte_mbuf *drop[BURST_MAX];
    uint16_t n = 0;

    for (uint32_t i = from; i < b->tail; i++) {
        /* no branch: ranks come at random, and would be mispredicted */
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
 * Is there room for packets of the rank at the limit? After a drop and until the backlog is empty,
 * new packets of ranks below the limit are dropped at once, and those of its rank wherever there is
 * no such room. So no packet that waits is less important than one that is dropped.
 */
static bool is_ample(const struct backlog *b)
{
    return b->tail - b->head <= b->hold / 2;
}

/* Could ranking the new packets drop some of them? */
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

/* Choose the packets to keep: all ranks that fit, and of the next rank as many as half of the room
 * left takes. The other half keeps the next choice, which goes through all packets that wait, from
 * being due at once. */
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
    if (b->head == b->tail) { /* the overload is over */
        b->limit = RANKS;
        b->lowest = 0;
    }
    return n;
}
