/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables/fib/lines.h"

#include <errno.h>
#include <time.h>

#include <rte_rcu_qsbr.h>

#define WAIT_NS 1000000000
#define NAP_NS  20000

static void push(struct lines *l, struct line_list *list, uint32_t line)
{
    l->next[line] = list->first;
    if (list->n++ == 0)
        list->last = line;
    list->first = line;
}

/* Move all lines of a list to the front of another. */
static void move(struct lines *l, struct line_list *from, struct line_list *to)
{
    if (from->n == 0)
        return;
    l->next[from->last] = to->first;
    if (to->n == 0)
        to->last = from->last;
    to->first = from->first;
    to->n += from->n;
    from->n = 0;
}

/* Free the lines that no reader can be in: those that wait, when all readers have passed their
 * token; then those retired since then begin to wait. */
static void reclaim(struct lines *l)
{
    for (unsigned i = 0; i < 2; i++) {
        if (l->waiting.n > 0 && l->readers != NULL &&
            rte_rcu_qsbr_check(l->readers, l->token, false) == 0)
            return;
        move(l, &l->waiting, &l->free);
        move(l, &l->retired, &l->waiting);
        if (l->readers != NULL)
            l->token = rte_rcu_qsbr_start(l->readers);
    }
}

static bool has_lines(const struct lines *l, uint32_t n)
{
    return l->free.n + l->n - l->n_touched >= n;
}

bool lines_have(struct lines *l, uint32_t n)
{
    if (l->free.n < n && l->retired.n + l->waiting.n > 0)
        reclaim(l);
    return has_lines(l, n);
}

int lines_want(struct lines *l, uint32_t n)
{
    static const struct timespec nap = {.tv_nsec = NAP_NS};

    if (lines_have(l, n))
        return 0;
    for (unsigned i = 0; !has_lines(l, n) && i < WAIT_NS / NAP_NS; i++) {
        if (l->retired.n + l->waiting.n == 0)
            break;
        nanosleep(&nap, NULL);
        reclaim(l);
    }
    return has_lines(l, n) ? 0 : -ENOSPC;
}

uint32_t lines_take(struct lines *l)
{
    uint32_t line = l->free.first;

    if (l->free.n == 0)
        return l->n_touched++;
    l->free.first = l->next[line];
    l->free.n--;
    return line;
}

void lines_give(struct lines *l, uint32_t line)
{
    push(l, l->readers != NULL ? &l->retired : &l->free, line);
}
