/* SPDX-License-Identifier: BSD-3-Clause */
/* The section pppoe of the configuration; vbng-cp.cfg(5) describes it. */
#ifndef CP_PPPOE_CONFIG_H
#define CP_PPPOE_CONFIG_H

#include <libconfig.h>

#include "base/diag.h"
#include "cp/ppp/ppp.h"

struct loader;

#define PPPOE_MAX_SERVICES 16
#define PPPOE_MAX_USERS    256
#define PPPOE_MAX_NAME     64 /* characters of a name */

/** Somebody who may have a session where there is no RADIUS. */
struct pppoe_user {
    const char *name, *password;
    struct loc loc;
};

struct pppoe_config {
    struct ppp_settings ppp; /* its name is the AC-Name */
    const char *services[PPPOE_MAX_SERVICES];
    unsigned n_services; /* 0: any */
    uint32_t max_negotiating;
    uint64_t negotiation_ns; /* for how long a CPE may take from discovery to its address */
    unsigned n_users;
    struct pppoe_user users[PPPOE_MAX_USERS];
};

/** Read the section. has_radius: users are RADIUS' matter. */
void pppoe_config_read(struct loader *l, const config_setting_t *group, bool has_radius,
                       struct pppoe_config *c);

/** Is what a peer says a user's name and password? */
bool pppoe_user_proves(const struct pppoe_config *c, const struct ppp_proof *proof);

#endif
