/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of pipes: which of a shard's are whose. */
#include "sched/params.h"

#define MOST_BLOCKS                                                                                \
    4096 /* where all subports together need no more: so many entries of the wheel's               \
            table stay in a core's cache, and rounding up costs little memory */

static uint32_t power_of_two(uint64_t n)
{
    uint32_t p = 1;

    while (p < n)
        p *= 2;
    return p;
}

/* The block in which the pipes of subports are counted. librte_sched knows one size of subports
 * only. */
static uint32_t block_of(const struct cfg_scheduler *s, const uint64_t *wanted)
{
    uint64_t sum = 0, largest = 1;
    uint32_t block = 1;

    for (unsigned k = 0; k < s->n_subports; k++) {
        sum += wanted[k];
        largest = wanted[k] > largest ? wanted[k] : largest;
    }
    if (s->backend == QOS_LIBRTE_SCHED)
        return power_of_two(largest);
    while (sum / block > MOST_BLOCKS)
        block *= 2;
    return block;
}

struct cfg_pipes qos_lay_pipes(struct cfg_scheduler *s, const uint64_t *wanted,
                               const uint64_t *resting)
{
    struct cfg_pipes p = {0};
    uint32_t least = block_of(s, wanted);

    for (unsigned k = 0; k < s->n_subports; k++) {
        uint64_t more = resting != NULL && s->backend == QOS_WHEEL ? resting[k] : 0,
                 blocks = (wanted[k] + more + least - 1) / least;

        s->subports[k].first = p.n;
        s->subports[k].pipes = (uint32_t)(blocks > 1 ? blocks : 1) * least;
        p.n += s->subports[k].pipes;
        p.places += power_of_two(s->subports[k].pipes);
        p.block |= s->subports[k].pipes;
    }
    p.block &= -p.block; /* subports that are alike have one large block each */
    return p;
}

uint32_t qos_subport_of(const struct cfg_scheduler *s, uint32_t pipe)
{
    uint32_t low = 0, high = s->n_subports;

    pipe %= s->pipes.n;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;

        *(pipe < s->subports[middle].first ? &high : &low) = middle;
    }
    return low;
}
