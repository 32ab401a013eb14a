/* SPDX-License-Identifier: BSD-3-Clause */
/* Leases at the start and the end of vbng-cp: what the store has is taken up again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cp/aaa/aaa.h"
#include "cp/dhcp6/lease6.h"
#include "cp/lease.h"
#include "cp/pppoe/pppoe.h"
#include "cp/relay/relay4.h"
#include "cp/store.h"

struct row {
    char port[64];
    uint16_t svlan, cvlan;
};

struct loading {
    struct cp *cp;
    uint32_t taken;
    struct row *left; /* rows that no line or pool of the configuration is for */
    uint32_t n_left;
};

/* A session of PPPoE has no lease that ends by itself. */
static void take_row_ppp(struct cp *cp, struct session *s, const char *text)
{
    timer_stop(&cp->loop.timers, &s->timer);
    if (!pppoe_resume(cp, s, text))
        lease_end_for(cp, s, RADIUS_CAUSE_NAS_ERROR, "its PPPoE session cannot be taken up again");
}

static bool take_row(struct cp *cp, const struct store_session *row)
{
    const struct cp_access *a = cp_config_access(cp->config, row->port, row->svlan, row->cvlan);
    struct session *s = a != NULL ? session_get(&cp->sessions, a, row->svlan, row->cvlan) : NULL;
    bool v4 = s != NULL && lease_resume(cp, s, row),
         v6 = s != NULL && row->v6 != NULL && lease6_load(cp, s, row->mac, row->v6);

    if (!v4 && !v6)
        return false;
    if (row->service != NULL)
        aaa_resume(cp, s, row->service);
    if (v4 && row->relay != NULL && relay4_serves(cp, s))
        relay4_resume(s, row->relay);
    if (row->ppp != NULL)
        take_row_ppp(cp, s, row->ppp);
    if (v4 != (row->address != 0) || v6 != (row->v6 != NULL))
        lease_changed(cp, s); /* the store is to forget the other */
    session_event(s, "taken from the store");
    return true;
}

static void load_row(const struct store_session *row, void *ctx)
{
    struct loading *l = ctx;
    struct row left = {.svlan = row->svlan, .cvlan = row->cvlan};

    if (take_row(l->cp, row)) {
        l->taken++;
        return;
    }
    strncpy(left.port, row->port, sizeof(left.port) - 1);
    l->left = reallocarray(l->left, l->n_left + 1, sizeof(*l->left));
    if (l->left == NULL)
        abort();
    l->left[l->n_left++] = left;
}

static int open_pools(struct cp *cp)
{
    const struct cp_config *c = cp->config;

    cp->pools = calloc(c->n_pools > 0 ? c->n_pools : 1, sizeof(*cp->pools));
    for (unsigned i = 0; cp->pools != NULL && i < c->n_pools; i++) {
        const struct cp_pool *p = &c->pools[i];

        if (pool_open(&cp->pools[i], p->first, p->last) != 0)
            return -ENOMEM;
        pool_take(&cp->pools[i], p->gateway, POOL_KEPT);
    }
    return cp->pools != NULL ? 0 : -ENOMEM;
}

int leases_open(struct cp *cp)
{
    struct loading l = {.cp = cp};
    bool ok;

    if (open_pools(cp) != 0 || sessions_open(&cp->sessions, cp->config->max_lines) != 0) {
        log_error("no memory for the pools and lines");
        return -ENOMEM;
    }
    if (leases6_open(cp) != 0)
        return -EIO;
    ok = store_each(cp->store, load_row, &l);
    for (uint32_t i = 0; i < l.n_left; i++)
        store_remove(cp->store, l.left[i].port, l.left[i].svlan, l.left[i].cvlan);
    ok = store_commit(cp->store) && ok;
    free(l.left);
    sessions_count_anew(&cp->sessions);
    if (l.n_left > 0)
        log_warning("%u sessions of the store end: their lines or addresses are not configured",
                    l.n_left);
    log_info("%u sessions taken from the store", l.taken);
    return ok ? 0 : -EIO;
}

void leases_close(struct cp *cp)
{
    lease_close_timers(cp);
    for (unsigned i = 0; cp->pools != NULL && i < cp->config->n_pools; i++)
        pool_close(&cp->pools[i]);
    free(cp->pools);
    leases6_close(cp);
    sessions_close(&cp->sessions);
    free(cp->turn);
    free(cp->made);
}
