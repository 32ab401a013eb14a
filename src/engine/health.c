/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/health.h"

#include <inttypes.h>

#include <rte_mempool.h>

#include "base/log.h"
#include "engine/engine.h"

#define HEALTH_EVERY 25 /* calls */
#define LOW_SHARE    64 /* a pool is low with less than this part of its mbufs free, */
#define ENOUGH_SHARE 16 /* and has enough again with this */

/* Free, but for what cores have in their caches: that is of no use to another, who finds none. */
static unsigned free_mbufs(const struct rte_mempool *p)
{
    unsigned all = rte_mempool_avail_count(p), cached = 0;

    for (unsigned i = 0; p->cache_size > 0 && i < RTE_MAX_LCORE; i++)
        cached += p->local_cache[i].len;
    return all > cached ? all - cached : 0;
}

static void look_at_pool(struct engine *e, unsigned i)
{
    const struct rte_mempool *p = e->pools[i];
    const char *name = e->plan->cfg->pools[i].name;
    unsigned free = free_mbufs(p);
    bool *low = &e->health.pool_low[i];

    if (!*low && free < p->size / LOW_SHARE) {
        *low = true;
        log_warning("pool %s is nearly empty: %u of %u mbufs are free, but for those in the cores' "
                    "caches; what finds none is lost and counted; give it more if this stays",
                    name, free, p->size);
    } else if (*low && free >= p->size / ENOUGH_SHARE) {
        *low = false;
        log_warning("pool %s has enough mbufs again: %u of %u are free", name, free, p->size);
    }
}

static void look_at_link(struct engine *e, unsigned i)
{
    const struct port *p = &e->ports[i];
    bool *down = &e->health.link_down[i], is_down;

    if (p->is_wire || p->peer.comes_back != PEER_NONE)
        return;
    is_down = !port_link_up(p);
    if (is_down != *down)
        log_warning("port %s: its link is %s", p->cfg->name, is_down ? "down" : "up again");
    *down = is_down;
}

static void look_at_errors(struct engine *e, unsigned i)
{
    const struct port *p = &e->ports[i];
    bool *failing = &e->health.failing[i], fails;
    struct port_counters c;

    port_read(p, &c);
    fails = c.tx_errors > e->health.tx_errors[i];
    if (fails && !*failing)
        log_warning("port %s: its device fails to send: is its interface down? %" PRIu64
                    " packets so far (tx_errors)",
                    p->cfg->name, c.tx_errors);
    else if (!fails && *failing)
        log_warning("port %s: its device has not failed to send for half a second; %" PRIu64
                    " packets in all (tx_errors)",
                    p->cfg->name, c.tx_errors);
    *failing = fails;
    e->health.tx_errors[i] = c.tx_errors;
}

void health_look(struct engine *e)
{
    if (e->health.looks++ % HEALTH_EVERY != 0)
        return;
    for (unsigned i = 0; i < e->plan->cfg->n_pools; i++)
        look_at_pool(e, i);
    for (unsigned i = 0; i < e->plan->cfg->n_ports; i++) {
        look_at_link(e, i);
        look_at_errors(e, i);
    }
}
