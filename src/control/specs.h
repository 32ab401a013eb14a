/* SPDX-License-Identifier: BSD-3-Clause */
/* What the configuration says of a subscriber or a next hop, as the tables want it. */
#ifndef CONTROL_SPECS_H
#define CONTROL_SPECS_H

#include "config/model.h"
#include "tables/tables.h"

/** gateway_mac: of his port. Both must live as long as the spec. */
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
        .has_gre_key = s->has_gre_key,
        .gre_key = s->gre_key,
        .path = s->pipe != CFG_NONE ? s->pipe * QOS_QUEUES : SUBSCRIBER_NO_PATH,
        .gateway_mac = gateway_mac,
        .mac = s->has_mac ? s->mac : NULL,
    };
}

/** gateway_mac: of its port. Both must live as long as the spec. */
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
        .gre_source = port->addresses[0],
        .gre_destination = nh->gre,
        .label = nh->mpls,
    };
}

#endif
