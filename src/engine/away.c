/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/away.h"

#include <rte_log.h>

#include "base/log.h"
#include "engine/link.h"

#define PATIENCE 10 /* looks at a port until a connection is tried once more */

struct change {
    struct engine *e;
    unsigned port;
};

/* Of every output that leads to the port, on the core that runs it. */
static void change_outputs(struct engine *e, struct task *t, unsigned port, bool away)
{
    const struct plan_instance *inst = &e->plan->instances[t->instance];

    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
        for (uint16_t k = 0; k < inst->output[o].n_dests; k++) {
            const struct plan_dest *d = &inst->output[o].dest[k];
            const struct port *p = &e->ports[port];

            if (d->kind != DEST_PORT || d->index != port)
                continue;
            if (away)
                link_to_nobody(&t->output[o][k]);
            else
                link_to_port(&t->output[o][k], p->dpdk_id, d->queue, p->cfg->on_full, p->is_wire);
        }
}

/* On a core: all that it has to do with the port. */
static int change_core(struct task *any, void *arg)
{
    const struct change *change = arg;
    struct engine *e = change->e;
    struct core *c = e->cores[any->core];
    const struct port *p = &e->ports[change->port];

    for (unsigned i = 0; i < c->n_inputs; i++)
        if (c->inputs[i].kind == INPUT_PORT && c->inputs[i].in_port == change->port) {
            c->inputs[i].away = p->away;
            c->inputs[i].dpdk_port = p->dpdk_id;
        }
    for (unsigned i = 0; i < e->plan->n_instances; i++)
        if (e->tasks[i]->core == any->core)
            change_outputs(e, e->tasks[i], change->port, p->away);
    return 0;
}

/* Tell all cores. False: one of them did not answer. */
static bool tell(struct engine *e, unsigned port)
{
    struct change change = {.e = e, .port = port};
    bool all = true;

    for (unsigned c = 0; c < e->plan->n_cores; c++)
        for (unsigned i = 0; i < e->plan->n_instances; i++)
            if (e->plan->instances[i].core == c) {
                all = engine_call(e, i, change_core, &change) == 0 && all;
                break;
            }
    return all;
}

static void leave(struct engine *e, unsigned i)
{
    e->ports[i].away = true;
    e->ports[i].left = tell(e, i);
    log_warning("port %s: its peer has gone", e->ports[i].cfg->name);
}

static void come_back(struct engine *e, unsigned i)
{
    e->ports[i].away = false;
    e->ports[i].left = false;
    if (!tell(e, i)) {
        e->ports[i].away = true; /* once more, next time */
        return;
    }
    log_warning("port %s: its peer is back", e->ports[i].cfg->name);
}

/* A client's connection. Some tries fail, and the drivers would complain about each. */
static void try_again(struct engine *e, unsigned i)
{
    struct port *port = &e->ports[i];
    uint32_t level = rte_log_get_global_level();
    int rc;

    if (port_link_up(port)) {
        come_back(e, i);
        return;
    }
    if (port->patience-- > 0)
        return;
    port->patience = PATIENCE;
    rte_log_set_global_level(RTE_LOG_EMERG);
    rc = port_reconnect(port, e->plan, i, e->pools[port->cfg->pool]);
    rte_log_set_global_level(level);
    if (rc == 0 && port_link_up(port))
        come_back(e, i);
}

void away_watch(struct engine *e, unsigned i)
{
    struct port *port = &e->ports[i];

    switch (port->peer.comes_back) {
    case PEER_NONE:
        return;
    case PEER_ITSELF:
        if (port_link_up(port) == port->away)
            port->away ? come_back(e, i) : leave(e, i);
        return;
    case PEER_RESTART:
    case PEER_REOPEN:
        if (!port->away) {
            if (!port_link_up(port))
                leave(e, i);
            return;
        }
        if (!port->left)
            port->left = tell(e, i);
        else
            try_again(e, i);
        return;
    }
}
