/* SPDX-License-Identifier: BSD-3-Clause */
/* The addresses of a pool, and who has each. */
#ifndef CP_POOL_H
#define CP_POOL_H

#include <stdbool.h>
#include <stdint.h>

struct session;

struct pool {
    uint32_t first; /* host order */
    uint32_t n;     /* addresses from first on */
    uint32_t n_free;
    uint32_t next; /* where the search for a free one begins */
    /* Who has it; NULL: nobody, POOL_KEPT: it is given to nobody. */
    struct session **owner;
};

#define POOL_KEPT ((struct session *)1)

/** The addresses first..last. Returns 0 or -ENOMEM. */
int pool_open(struct pool *p, uint32_t first, uint32_t last);
void pool_close(struct pool *p);

/** Is this an address of the pool? */
bool pool_has(const struct pool *p, uint32_t address);

/** Take an address, if it is the pool's and free. Returns whether it was. */
bool pool_take(struct pool *p, uint32_t address, struct session *owner);

/** Take the first free address behind the one that was found last, so that an address which was
 * given back rests. Returns 0 where there is none. */
uint32_t pool_take_any(struct pool *p, struct session *owner);

/** Give an address of the pool, which is taken, to another; NULL: it is free. */
void pool_give(struct pool *p, uint32_t address, struct session *owner);

/** Who has an address; NULL: nobody, or it is none of the pool's, or kept. */
struct session *pool_owner(const struct pool *p, uint32_t address);

#endif
