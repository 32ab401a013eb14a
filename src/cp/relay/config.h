/* SPDX-License-Identifier: BSD-3-Clause */
/* Servers of DHCP behind this gateway, in the configuration of vbng-cp; vbng-cp.cfg(5) describes
 * them. */
#ifndef CP_RELAY_CONFIG_H
#define CP_RELAY_CONFIG_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

#define CP_MAX_RELAYS     8
#define CP_NO_RELAY       UINT32_MAX
#define RELAY_MAX_SERVERS 8
#define RELAY_NODE_MOST   63 /* characters of the name in option 82 */
#define RELAY4_PORT       67
#define RELAY6_PORT       547

/** An address of either family, with a port. */
union relay_address {
    struct sockaddr any;
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;
};

struct relay_config {
    const char *name;
    struct loc loc;
    union relay_address own; /* where this side is bound: giaddr of IPv4. All are of its family */
    unsigned n_servers;
    union relay_address server[RELAY_MAX_SERVERS];
    const char *server_name[RELAY_MAX_SERVERS]; /* their addresses as texts */
    bool asks_all;    /* every server is sent every message; else one is, until it is dead */
    bool refuses;     /* messages of clients that bear option 82 are ignored, not only stripped */
    const char *node; /* what this gateway is called */
    uint64_t timeout_ns, dead_ns;
    uint32_t client_s; /* the longest lease that a client is told by a proxy; 0: the server's */
};

struct relays_config {
    unsigned n;
    struct relay_config relay[CP_MAX_RELAYS];
};

struct loader;
struct config_setting_t;
struct value;

/** Read the list of them; NULL: there is none. Errors are added to the loader's. */
void relays_read(struct loader *l, const struct config_setting_t *list, struct relays_config *c);

/** The place of the one of a family, AF_INET or AF_INET6, that the value of a key "relay" names, or
 * CP_NO_RELAY: the key is not there, or after an error. */
uint32_t relay_named(struct loader *l, const struct relays_config *c, const struct value *v,
                     int family);

#endif
