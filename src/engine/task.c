/* SPDX-License-Identifier: BSD-3-Clause */
/* The ends that packets have in a task: consumed, dropped, or sent when the burst is flushed. */
#include "engine/task.h"

#include <rte_cycles.h>

#include "engine/tap.h"
#include "packet/free.h"

#define PUNT_BY_PORT 0x80000000u /* in a source's key, where the rest is no subscriber */
#define PUNT_REASONS 8u          /* places for each source; more than there are */
#define LINE_BITS    30          /* of a key: port and VLAN pair */

static_assert(N_PUNTS <= PUNT_REASONS, "a place for each reason");

/* Has a packet's source still a share of the slow path, for this reason? */
static bool may_punt(const struct task *t, const struct rte_mbuf *m, enum punt_reason why)
{
    struct punt_limit *p = t->punted;
    uint32_t id;

    if (p == NULL)
        return true;
    id = p->by_subscriber ? meta_subscriber(m) : 0;
    if (id != 0)
        return source_limit_take(&p->sources, id * PUNT_REASONS + why, rte_rdtsc(),
                                 &p->rates->subscriber);
    return source_limit_take(&p->sources, PUNT_BY_PORT | (task_in_port(t, m) * PUNT_REASONS + why),
                             rte_rdtsc(), &p->rates->port);
}

void task_punt(struct task *t, unsigned output, struct rte_mbuf *m, enum punt_reason why,
               unsigned reason)
{
    if (!task_has_output(t, output)) {
        task_drop(t, m, reason);
        return;
    }
    if (!may_punt(t, m, why)) {
        task_drop(t, m, why == PUNT_NO_MAC ? reason : DROP_PUNT_LIMITED);
        return;
    }
    meta_set_in_port(m, task_in_port(t, m));
    meta_set_punt(m, why);
    task_emit(t, output, m);
}

void task_punt_line(struct task *t, unsigned output, struct rte_mbuf *m, struct punt_lines *lines,
                    uint32_t line, unsigned kind)
{
    uint64_t now = rte_rdtsc();

    if (lines != NULL && t->punted != NULL &&
        (!source_limit_take(&lines->sources, kind << LINE_BITS | line, now,
                            &t->punted->rates->line) ||
         !source_take(&lines->full_at[meta_subscriber(m) != 0], now, &t->punted->rates->lines))) {
        task_drop(t, m, DROP_PUNT_LIMITED);
        return;
    }
    meta_set_in_port(m, task_in_port(t, m));
    meta_set_out_port(m, (uint8_t)meta_in_port(m));
    meta_set_punt(m, PUNT_LINE);
    task_emit(t, output, m);
}

void task_consume(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    t->consumed += n;
    packets_free(m, n);
}

void task_drop_fresh(struct task *t, struct rte_mbuf **m, uint16_t n, unsigned reason)
{
    t->in += n;
    t->drops[reason] += n;
    if (unlikely(t->tapped & TAPPED_DROPS))
        tap_drops(t, m, n, NULL, reason);
    packets_free(m, n);
}

void task_drop_now(struct task *t, struct rte_mbuf *m, unsigned reason)
{
    t->drops[reason]++;
    if (unlikely(t->tapped & TAPPED_DROPS))
        tap_drops(t, &m, 1, NULL, reason);
    rte_pktmbuf_free(m);
}

void task_flush(struct task *t)
{
    for (uint16_t i = 0; i < t->n_outs; i++) {
        struct out *o = &t->outs[i];

        if (o->n != 0) {
            uint16_t n = o->n;

            o->n = 0;
            o->send(o, o->buf, n);
        }
    }
    if (unlikely(t->n_drop != 0)) {
        if (unlikely(t->tapped & TAPPED_DROPS))
            tap_drops(t, t->drop, t->n_drop, t->drop_reason, 0);
        packets_free(t->drop, t->n_drop);
        t->n_drop = 0;
    }
}
