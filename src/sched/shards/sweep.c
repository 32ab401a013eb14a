/* SPDX-License-Identifier: BSD-3-Clause */
/* What a shard does not use it gives back. */
#include "sched/shards/shard.h"

void shard_give_back(struct wheel_shard *x, struct wallet *wallet)
{
    if (wallet->purse == NULL)
        return;
    wallet_withdraw(wallet, x->index);
    wallet_return(wallet);
}

/* Give back what a wallet holds whose queues are empty, unless it has paid since the last look and
 * no shard waits: the queues of who sends all the time are empty at many looks, and to borrow anew
 * after each of them cost two cores 3 %. Returns whether it is given back. */
static bool sweep_wallet(struct wheel_shard *x, struct wallet *wallet)
{
    bool idle = wallet->purse == NULL || wallet->credit == wallet->seen ||
                purse_is_short(wallet->purse, &x->all->peers);

    wallet->seen = wallet->credit;
    if (idle)
        shard_give_back(x, wallet);
    return idle;
}

/* Give back what the wallets of a subport hold for classes (a bit each) that have nothing to send.
 */
static void sweep_subport(struct wheel *w, uint32_t subport, uint32_t idle)
{
    struct wheel_shard *x = w->shard;
    struct shard_subport *s = &x->subport[subport];
    bool all = w->gate[subport].backlog == 0;

    for (unsigned c = 0; c < QOS_CLASSES; c++)
        if ((idle >> c & 1) != 0)
            all &= sweep_wallet(x, &s->cap[c]);
    if (w->gate[subport].backlog == 0)
        all &= sweep_wallet(x, &w->subport[subport].wallet);
    if (all)
        x->holds[subport / 64] &= ~(UINT64_C(1) << subport % 64);
}

void shard_sweep(struct wheel *w)
{
    struct wheel_shard *x = w->shard;

    x->swept = w->now;
    shard_open_turns(x);
    for (uint32_t word = 0; word < RTE_DIM(x->holds); word++)
        for (uint64_t left = x->holds[word]; left != 0; left &= left - 1) {
            uint32_t i = word * 64 + (uint32_t)__builtin_ctzll(left);

            sweep_subport(w, i, ~(uint32_t)w->gate[i].backlog);
        }
    if (w->classes == 0)
        sweep_wallet(x, &x->line);
}
