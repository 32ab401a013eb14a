/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of IPv6 in the configuration of vbng-cp; vbng-cp.cfg(5) describes them. */
#ifndef CP_DHCP6_CONFIG_H
#define CP_DHCP6_CONFIG_H

#include "base/diag.h"
#include "cp/packet/dhcp6.h"

#define CP_MAX_POOLS6 64
#define CP_BLOCK_BITS 24 /* a prefix has at most 2^24 blocks */

/** The blocks of a prefix that lines get. */
struct cp_blocks {
    uint64_t prefix;  /* upper half */
    uint8_t len;      /* of the prefix; 0: there are none */
    uint8_t each_len; /* of a block */
};

/** Prefixes and addresses of IPv6 for lines, and the DHCPv6 options for their clients. */
struct cp_pool6 {
    const char *name;
    struct loc loc;
    struct cp_blocks wan, delegated;
    struct ipv6 dns[DHCP6_MAX_SERVERS];
    unsigned n_dns;
    const char *domain; /* or NULL */
    uint32_t lease_s;
    uint32_t relay; /* whose servers give it all; CP_NO_RELAY: this one does */
};

struct pools6_config {
    unsigned n;
    struct cp_pool6 pool[CP_MAX_POOLS6];
};

struct loader;
struct relays_config;
struct config_setting_t;

/** Read the list of them; NULL: there is none. Errors are added to the loader's. */
void pools6_read(struct loader *l, const struct config_setting_t *list,
                 const struct relays_config *relays, struct pools6_config *c);

#endif
