/* SPDX-License-Identifier: BSD-3-Clause */
/* Who holds what only one may hold: sort the claims, then look at neighbours. */
#include <stdlib.h>

#include "config/load.h"

static int by_first(const void *pa, const void *pb)
{
    const struct claim *a = pa, *b = pb;

    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->who < b->who ? -1 : a->who > b->who;
}

static bool is_sorted(const struct claim *c, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (by_first(&c[i - 1], &c[i]) > 0)
            return false;
    return true;
}

void find_clashes(struct claim *c, size_t n,
                  void (*clash)(void *ctx, const struct claim *earlier, const struct claim *later),
                  void *ctx)
{
    const struct claim *widest = c; /* the one that reaches furthest so far */

    if (n == 0)
        return;
    if (!is_sorted(c, n)) /* ranges and generated tables are */
        qsort(c, n, sizeof(*c), by_first);
    for (size_t i = 1; i < n; i++) {
        if (c[i].first <= widest->last) {
            bool in_order = widest->who < c[i].who;

            clash(ctx, in_order ? widest : &c[i], in_order ? &c[i] : widest);
        }
        if (c[i].last > widest->last)
            widest = &c[i];
    }
}
