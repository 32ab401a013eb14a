/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/pool.h"

#include <errno.h>
#include <stdlib.h>

int pool_open(struct pool *p, uint32_t first, uint32_t last)
{
    uint32_t n = last - first + 1;

    *p = (struct pool){.first = first, .n = n, .n_free = n};
    p->owner = calloc(n, sizeof(struct session *));
    return p->owner != NULL ? 0 : -ENOMEM;
}

void pool_close(struct pool *p)
{
    free(p->owner);
    *p = (struct pool){0};
}

bool pool_has(const struct pool *p, uint32_t address)
{
    return address - p->first < p->n;
}

bool pool_take(struct pool *p, uint32_t address, struct session *owner)
{
    if (!pool_has(p, address) || p->owner[address - p->first] != NULL)
        return false;
    p->owner[address - p->first] = owner;
    p->n_free--;
    return true;
}

uint32_t pool_take_any(struct pool *p, struct session *owner)
{
    if (p->n_free == 0)
        return 0;
    while (p->owner[p->next] != NULL)
        p->next = p->next + 1 < p->n ? p->next + 1 : 0;
    p->owner[p->next] = owner;
    p->n_free--;
    return p->first + p->next;
}

void pool_give(struct pool *p, uint32_t address, struct session *owner)
{
    p->owner[address - p->first] = owner;
    if (owner == NULL)
        p->n_free++;
}

struct session *pool_owner(const struct pool *p, uint32_t address)
{
    struct session *owner = pool_has(p, address) ? p->owner[address - p->first] : NULL;

    return owner != POOL_KEPT ? owner : NULL;
}
