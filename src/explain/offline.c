/* SPDX-License-Identifier: BSD-3-Clause */
#include "explain/offline.h"

#include <errno.h>

#include "base/log.h"
#include "explain/explain.h"

#define FEW_MBUFS 1024 /* of each pool: what its cores' caches may hold, and no more */

void offline_prepare(struct cfg_model *m, struct plan *p)
{
    static char device[CFG_MAX_PORTS][32];

    for (unsigned i = 0; i < m->n_ports; i++) {
        snprintf(device[i], sizeof(device[i]), "net_null%u,no-rx=1", i);
        m->ports[i].device = device[i];
    }
    for (unsigned i = 0; i < m->n_pools; i++)
        m->pools[i].mbufs = FEW_MBUFS;
    m->memory = "no-huge";
    m->eal = "";
    p->memory.total -= p->memory.mbufs_total;
    p->memory.mbufs_total = 0;
}

int offline_explain(const struct engine *e, struct tables *tables, const char *text, FILE *to)
{
    struct explain *x = explain_open(e, tables, NULL, NULL);
    struct walk *w = NULL;
    char err[256] = "no memory";
    int rc = -EINVAL;

    if (x != NULL)
        w = explain_text(x, text, err, sizeof(err));
    if (w != NULL) {
        walk_print(w, to);
        rc = w->verdict == WALK_SENT;
    } else {
        log_error("--explain: %s", err);
    }
    walk_free(w);
    explain_free(x);
    return rc;
}
