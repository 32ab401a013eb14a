/* SPDX-License-Identifier: BSD-3-Clause */
/* From the configuration to the tables of the data path: the one place that knows both. */
#ifndef PROVISION_H
#define PROVISION_H

#include "config/model.h"
#include "plan/plan.h"
#include "tables/tables.h"

/**
 * Build the tables that the configuration of a plan describes, on the socket of the first core;
 * routes where the plan says. port_mac[i] is the MAC of the configuration's port i. Returns NULL
 * without memory, with the reason on stderr. Needs EAL.
 */
struct tables *provision(const struct plan *p, const uint8_t (*port_mac)[6]);
void provision_free(struct tables *t);

/** The shard of the scheduler that shapes a subscriber, or SUBSCRIBER_NO_SHARD. */
static inline uint8_t subscriber_shard_of(const struct cfg_model *m, const struct cfg_subscriber *s)
{
    for (unsigned i = 0; s->pipe != CFG_NONE && i < m->qos.n_schedulers; i++) {
        const struct cfg_scheduler *on = &m->qos.schedulers[i];

        for (unsigned k = 0; qos_shards(on) > 1 && k < on->n_subports; k++)
            if (on->subports[k].port == s->port)
                return (uint8_t)qos_shard_of(on, s->pipe);
    }
    return SUBSCRIBER_NO_SHARD;
}

/** A subscriber as the table wants him; gateway_mac: of his port. s and gateway_mac must live as
 * long as the spec. */
static inline struct subscriber_spec subscriber_spec_of(const struct cfg_model *m,
                                                        const struct cfg_subscriber *s,
                                                        const uint8_t *gateway_mac)
{
    return (struct subscriber_spec){
        .port = (uint8_t)s->port,
        .svlan = s->svlan,
        .cvlan = s->cvlan,
        .tpid = m->ports[s->port].tpid,
        .ipv4 = s->ipv4,
        .ipv4_len = s->ipv4_len,
        .routed = s->routed,
        .has_gre_key = s->has_gre_key,
        .gre_key = s->gre_key,
        .path = s->pipe != CFG_NONE ? s->pipe * QOS_QUEUES : SUBSCRIBER_NO_PATH,
        .shard = subscriber_shard_of(m, s),
        .gateway_mac = gateway_mac,
        .mac = s->has_mac ? s->mac : NULL,
        .session = s->pppoe.session,
        .magic = s->pppoe.magic,
        .mtu = s->pppoe.session != 0 ? s->pppoe.mtu : m->ports[s->port].mtu,
        .ipv6 = s->ipv6,
    };
}

/** Do the tasks gre_encap of a configuration write keys? */
static inline enum gre_keys gre_keys_of(const struct cfg_model *m)
{
    unsigned n[2] = {0}; /* tasks without, and with */

    for (unsigned i = 0; i < m->n_tasks; i++) {
        const struct cfg_task *t = &m->tasks[i];

        if (strcmp(t->schema->type, "gre_encap") != 0)
            continue;
        for (unsigned p = 0; p < t->schema->n_params; p++)
            if (strcmp(t->schema->params[p].name, "key") == 0)
                n[t->param[p].u != 0]++;
    }
    if (n[0] == 0)
        return GRE_KEYS_ALWAYS;
    return n[1] == 0 ? GRE_KEYS_NEVER : GRE_KEYS_SOMETIMES;
}

/** A next hop as the table wants it; gateway_mac: of its port. nh and gateway_mac must live as long
 * as the spec. */
static inline struct nexthop_spec
nexthop_spec_of(const struct cfg_model *m, const struct cfg_nexthop *nh, const uint8_t *gateway_mac)
{
    const struct cfg_port *port = &m->ports[nh->port];

    return (struct nexthop_spec){
        .port = (uint8_t)nh->port,
        .mtu = port->mtu,
        .gateway_mac = gateway_mac,
        .mac = nh->mac_set ? nh->mac : NULL,
        .via = nh->via,
        .has_gre = nh->has_gre,
        .has_mpls = nh->has_mpls,
        .gre_keys = nh->has_gre ? gre_keys_of(m) : GRE_KEYS_ALWAYS,
        .gre_source = is_mapped6(nh->gre) ? mapped6(port->addresses[0]) : port->addresses6[0],
        .gre_destination = nh->gre,
        .label = nh->mpls,
    };
}

#endif
