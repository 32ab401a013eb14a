/* SPDX-License-Identifier: BSD-3-Clause */
/* All that the data path looks things up in. Made by provision(), handed to every task. */
#ifndef TABLES_TABLES_H
#define TABLES_TABLES_H

#include "tables/dscp.h"
#include "tables/route.h"
#include "tables/subscriber.h"

#define MAC_ROOM         8  /* a MAC, and two bytes of zeros so that it can be read as 8 */
#define TABLES_MAX_PORTS 64 /* as many as a configuration may have */

struct rte_rcu_qsbr;

struct tables {
    struct rte_rcu_qsbr *readers; /* the cores: each says here when it holds nothing of all this */
    struct subscriber_table *subscribers;
    struct route_table *routes;
    /* [scheduler * 2 + direction], as the configuration numbers them; NULL without QoS */
    struct dscp_table *dscp;
    uint8_t port_mac[TABLES_MAX_PORTS][MAC_ROOM]; /* our own, by the configuration's port number */
};

#endif
