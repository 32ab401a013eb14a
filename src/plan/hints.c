/* SPDX-License-Identifier: BSD-3-Clause */
/* Warnings of what is allowed, and seldom meant: a gateway that cannot learn a MAC, has no route,
 * does not hear what comes back, or has nothing to send ICMPv6 from. */
#include <string.h>

#include "plan/make.h"

#define LINK_BITS  24 /* of an address that its neighbours on a link usually share, */
#define LINK6_BITS 64 /* and of one of IPv6 */

static bool leads_to(const struct cfg_task *t, unsigned task)
{
    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
        for (uint16_t k = 0; k < t->output[o].n_dests; k++)
            if (!t->output[o].dest[k].is_port && t->output[o].dest[k].index == task)
                return true;
    return false;
}

/* Does any task get packets that asks for MACs and answers? */
static bool has_slow_path(const struct cfg_model *m)
{
    for (unsigned i = 0; i < m->n_tasks; i++) {
        if (m->tasks[i].schema->egress != EGRESS_ALL_PORTS)
            continue;
        if (m->tasks[i].n_from > 0)
            return true;
        for (unsigned k = 0; k < m->n_tasks; k++)
            if (leads_to(&m->tasks[k], i))
                return true;
    }
    return false;
}

static bool has_task(const struct cfg_model *m, enum egress_set egress)
{
    for (unsigned i = 0; i < m->n_tasks; i++)
        if (m->tasks[i].schema->egress == egress)
            return true;
    return false;
}

/* Warn once of the first whose MAC nobody will ever learn. */
static void check_learning(const struct plan *p, struct diags *d)
{
    const struct cfg_model *m = p->cfg;
    bool asks = false;

    if (has_slow_path(m))
        return;
    for (uint32_t i = 0; i < m->n_nexthops && !asks && has_task(m, EGRESS_NEXTHOPS); i++) {
        asks = !m->nexthops[i].mac_set;
        if (asks)
            diag_warning(d, m->nexthops[i].loc,
                         "no punt leads to a task of type arp, so that the MAC of this route's via "
                         "is never learned: add one, with punt = \"NAME\" at the tasks before it, "
                         "or say mac");
    }
    for (uint32_t i = 0; i < m->n_subscribers && !asks && has_task(m, EGRESS_SUBSCRIBERS); i++) {
        const struct cfg_subscriber *s = &m->subscribers[i];

        asks = !s->has_mac;
        if (asks)
            diag_warning(d, (struct loc){m->files[s->file], s->line},
                         "no punt leads to a task of type arp, so that this subscriber's MAC is "
                         "never learned: add one, with punt = \"NAME\" at the tasks before it, or "
                         "say mac");
    }
}

static void check_some_route(const struct plan *p, struct diags *d)
{
    for (unsigned i = 0; i < p->cfg->n_tasks; i++)
        if (p->cfg->tasks[i].schema->egress == EGRESS_NEXTHOPS &&
            p->cfg->n_routes + p->cfg->n_routes6 == 0 && p->cfg->max_routes == 0 &&
            p->cfg->max_routes6 == 0) {
            diag_warning(d, p->cfg->tasks[i].loc,
                         "task '%s' has no route to choose from: it drops all, until one is added "
                         "(routes = ( { prefix = \"0.0.0.0/0\"; ... } ), or vbngctl add-route)",
                         p->cfg->tasks[i].name);
            return;
        }
}

static void doubt_via(struct diags *d, const struct cfg_nexthop *hop, const struct cfg_port *port,
                      unsigned bits, struct ipv6 own, const char *question)
{
    char via[IPV6_TEXT], address[IPV6_TEXT];

    diag_warning(d, hop->loc,
                 "key 'via': value '%s': shares no /%u with an address of port '%s' (%s, ...): is "
                 "it on that link? only who is there answers %s",
                 format_address(hop->via, via), bits, port->name, format_address(own, address),
                 question);
}

/* The same of IPv6, whose link-local neighbours are on the link. */
static void check_via6(struct diags *d, const struct cfg_nexthop *hop, const struct cfg_port *port)
{
    if (port->n_addresses6 == 0 || is_link_local6(hop->via))
        return;
    for (unsigned i = 0; i < port->n_addresses6; i++)
        if (port->addresses6[i].upper == hop->via.upper)
            return;
    doubt_via(d, hop, port, LINK6_BITS, port->addresses6[0], "neighbour solicitations");
}

/* An address has no length, so a neighbour beyond a usual link is no more than a doubt. */
static void check_via(const struct plan *p, struct diags *d, const struct cfg_nexthop *hop)
{
    const struct cfg_port *port = &p->cfg->ports[hop->port];

    if (hop->mac_set)
        return;
    if (!is_mapped6(hop->via)) {
        check_via6(d, hop, port);
        return;
    }
    for (unsigned i = 0; i < port->n_addresses; i++)
        if ((port->addresses[i] ^ (uint32_t)hop->via.lower) >> (32 - LINK_BITS) == 0)
            return;
    if (port->n_addresses > 0)
        doubt_via(d, hop, port, LINK_BITS, mapped6(port->addresses[0]), "ARP");
}

static void check_heard(const struct plan *p, struct diags *d)
{
    bool told[CFG_MAX_PORTS] = {false};

    for (uint32_t i = 0; i < p->cfg->n_nexthops; i++) {
        unsigned port = p->cfg->nexthops[i].port;

        if (p->rx_queues[port] > 0 || told[port])
            continue;
        told[port] = true;
        diag_warning(d, p->cfg->ports[port].loc,
                     "port '%s': routes leave by it, and no task reads it: what comes back, and "
                     "answers to ARP, are lost",
                     p->cfg->ports[port].name);
    }
}

/* Whoever is beyond a subscriber's link is told from an address of a port, whichever it is. */
static void check_told6(const struct plan *p, struct diags *d)
{
    const struct cfg_model *m = p->cfg;
    uint32_t i = 0;

    if (m->n_prefixes == 0 || own_addresses6(m) > 0 || !has_slow_path(m))
        return;
    while (count_prefixes(&m->subscribers[i].ipv6) == 0)
        i++;
    diag_warning(d, (struct loc){m->files[m->subscribers[i].file], m->subscribers[i].line},
                 "this subscriber has IPv6, and no port has an address of it: the core and hosts "
                 "behind CPEs are told nothing by ICMPv6, so that path MTU discovery fails: give "
                 "a port one (addresses)");
}

void plan_hints(const struct plan *p, struct diags *d)
{
    check_learning(p, d);
    check_some_route(p, d);
    for (uint32_t i = 0; i < p->cfg->n_nexthops; i++)
        check_via(p, d, &p->cfg->nexthops[i]);
    check_heard(p, d);
    check_told6(p, d);
}
