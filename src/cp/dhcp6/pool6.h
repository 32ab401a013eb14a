/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocks of equal length of an IPv6 prefix, such as the /64 of a /40, and who has each. */
#ifndef CP_DHCP6_POOL6_H
#define CP_DHCP6_POOL6_H

#include "cp/dhcp6/config.h"
#include "cp/pool.h"

/** Blocks are named by the upper half of their addresses. */
struct pool6 {
    struct pool blocks; /* their numbers, from 1 on; none where the pool is empty */
    uint64_t first;
    uint8_t len; /* of a block: at most 64 */
};

/** What lines get together. */
struct pools6 {
    struct pool6 wan, delegated;
};

/** The blocks of a configuration. Returns 0 or -ENOMEM. */
int pool6_open(struct pool6 *p, const struct cp_blocks *blocks);
void pool6_close(struct pool6 *p);

/** Is this a block of the pool? */
bool pool6_has(const struct pool6 *p, uint64_t block);

/** Take a block, if it is the pool's and free. Returns whether it was. */
bool pool6_take(struct pool6 *p, uint64_t block, struct session *owner);

/** Take the first free block behind the one that was found last. Returns whether there is one; else
 * *block stays as it was. */
bool pool6_take_any(struct pool6 *p, struct session *owner, uint64_t *block);

/** Let a block of the pool, which is taken, be free. */
void pool6_give(struct pool6 *p, uint64_t block);

/** Who has a block; NULL: nobody, or it is none of the pool's. */
struct session *pool6_owner(const struct pool6 *p, uint64_t block);

#endif
