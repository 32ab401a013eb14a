/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of the data path. provision() makes them, and every task gets them. */
#ifndef TABLES_TABLES_H
#define TABLES_TABLES_H

#include "tables/dscp.h"
#include "tables/route.h"
#include "tables/subscriber.h"

#define MAC_ROOM         8  /* a MAC, and two bytes of zeros so that it can be read as 8 */
#define TABLES_MAX_PORTS 64 /* as many as a configuration may have */

struct rte_rcu_qsbr;

struct tables {
    struct rte_rcu_qsbr *readers; /* the cores: each reports here when it refers to no entry */
    struct subscriber_table *subscribers;
    struct route_table *routes;
    /* [scheduler * 2 + direction], as the configuration numbers them; NULL without QoS */
    struct dscp_table *dscp;
    /* The gateway's own MACs, by the configuration's port number. */
    uint8_t port_mac[TABLES_MAX_PORTS][MAC_ROOM];
};

#endif
