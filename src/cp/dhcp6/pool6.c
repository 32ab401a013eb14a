/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/dhcp6/pool6.h"

#define FIRST_NUMBER 1 /* for struct pool says 0 where there is none */

int pool6_open(struct pool6 *p, const struct cp_blocks *blocks)
{
    *p = (struct pool6){.first = blocks->prefix, .len = blocks->each_len};
    if (blocks->len == 0)
        return 0;
    return pool_open(&p->blocks, FIRST_NUMBER, UINT32_C(1) << (blocks->each_len - blocks->len));
}

void pool6_close(struct pool6 *p)
{
    pool_close(&p->blocks);
}

/* The number of a block; 0: it is none of the pool's. */
static uint32_t number_of(const struct pool6 *p, uint64_t block)
{
    uint64_t n = block - p->first;

    if (p->blocks.n == 0 || (n & ~mask64(p->len)) != 0)
        return 0;
    n >>= 64 - p->len;
    return n < p->blocks.n ? (uint32_t)n + FIRST_NUMBER : 0;
}

bool pool6_has(const struct pool6 *p, uint64_t block)
{
    return number_of(p, block) != 0;
}

bool pool6_take(struct pool6 *p, uint64_t block, struct session *owner)
{
    uint32_t n = number_of(p, block);

    return n != 0 && pool_take(&p->blocks, n, owner);
}

bool pool6_take_any(struct pool6 *p, struct session *owner, uint64_t *block)
{
    uint32_t n = p->blocks.n > 0 ? pool_take_any(&p->blocks, owner) : 0;

    if (n == 0)
        return false;
    *block = p->first + ((uint64_t)(n - FIRST_NUMBER) << (64 - p->len));
    return true;
}

void pool6_give(struct pool6 *p, uint64_t block)
{
    pool_give(&p->blocks, number_of(p, block), NULL);
}

struct session *pool6_owner(const struct pool6 *p, uint64_t block)
{
    uint32_t n = number_of(p, block);

    return n != 0 ? pool_owner(&p->blocks, n) : NULL;
}
