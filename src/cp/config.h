/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration of vbng-cp, in the language of vbng's; vbng-cp.cfg(5) describes it. */
#ifndef CP_CONFIG_H
#define CP_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "cp/dhcp6/config.h"
#include "cp/packet/dhcp4.h"
#include "cp/radius/config.h"
#include "cp/relay/config.h"

#define CP_MAX_POOLS  64
#define CP_MAX_ACCESS 1024
#define CP_NO_POOL    UINT_MAX /* lines without one family */

struct pppoe_config;
struct cfg_model; /* of it, only the strings are used here */

/** Addresses that clients get, and what they are told with them. */
struct cp_pool {
    const char *name;
    struct loc loc;
    uint32_t prefix; /* host order, as all addresses */
    uint8_t len;
    uint32_t first, last; /* given to clients, but for the gateway's */
    uint32_t gateway;     /* router and server identifier */
    uint32_t dns[DHCP4_MAX_SERVERS];
    unsigned n_dns;
    const char *domain; /* or NULL */
    uint32_t relay;     /* whose servers give the addresses; CP_NO_RELAY: this one does */
    uint32_t lease_s;
    uint64_t declined_ns; /* for how long an address is left alone that is in use elsewhere */
};

/** Lines: VLAN pairs of an access port. */
struct cp_access {
    const char *port;
    struct loc loc;
    uint16_t svlan_first, svlan_last, cvlan_first, cvlan_last;
    unsigned pool, pool6; /* CP_NO_POOL: none, of at most one of them */
    const char *profile;  /* or NULL */
};

struct cp_config {
    const char *control_socket, *punt_socket; /* vbng's */
    const char *store;                        /* path of the database */
    uint64_t offer_ns;                        /* for how long an offered address is kept */
    uint32_t max_lines;
    unsigned n_pools, n_access;
    struct cp_pool pools[CP_MAX_POOLS];
    struct cp_access access[CP_MAX_ACCESS];
    struct pools6_config pools6;
    struct relays_config relays;
    struct radius_config *radius; /* NULL: nobody is asked */
    struct pppoe_config *pppoe;   /* NULL: no PPPoE */
    struct cfg_model *text;       /* owns the strings */
};

/** Read a file. Returns NULL after errors, which are added to d. */
struct cp_config *cp_config_load(const char *path, struct diags *d);

void cp_config_free(struct cp_config *c);

/** The entry of the lines that a line belongs to, or NULL. */
const struct cp_access *cp_config_access(const struct cp_config *c, const char *port,
                                         uint16_t svlan, uint16_t cvlan);

#endif
