/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may use the lines of a table of routes (fib.h, fib6.h), by their numbers: a line that is
 * given back is used again when no reader can be in it, after a grace period. Only the control
 * thread uses it.
 */
#ifndef TABLES_LINES_H
#define TABLES_LINES_H

#include <stdbool.h>
#include <stdint.h>

#define TABLE_COPIES 127 /* of a table of routes, at most: one for each core */

struct rte_rcu_qsbr;

/** Lines in a row; the next of each is in lines.next[]. */
struct line_list {
    uint32_t first, last, n;
};

struct lines {
    uint32_t *next;                          /* by line; its memory is that of the table's user */
    uint32_t n, n_touched;                   /* room, and lines that were ever in use */
    struct line_list free, retired, waiting; /* waiting: for readers to pass token */
    uint64_t token;
    struct rte_rcu_qsbr *readers; /* NULL: there are none */
};

/** Can n lines be taken, without waiting for readers? */
bool lines_have(struct lines *l, uint32_t n);

/** Make sure that n lines can be taken. Returns 0, or -ENOSPC where readers have blocked for a
 * second those that are needed. */
int lines_want(struct lines *l, uint32_t n);

/** Take a line, of which there is one: lines_want() has said so. */
uint32_t lines_take(struct lines *l);

/** Give back a line to which nothing leads any more, though readers may be in it. */
void lines_give(struct lines *l, uint32_t line);

/** Lines that are in use. */
static inline uint32_t lines_in_use(const struct lines *l)
{
    return l->n_touched - l->free.n - l->retired.n - l->waiting.n;
}

#endif
