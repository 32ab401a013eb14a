/* SPDX-License-Identifier: BSD-3-Clause */
/* From the configuration to the tables of the data path: the one place that knows both. */
#ifndef PROVISION_H
#define PROVISION_H

#include "config/model.h"
#include "tables/tables.h"

/**
 * Build the tables that a configuration describes. port_mac[i] is the MAC of the configuration's
 * port i. Returns NULL without memory, with the reason on stderr. Needs EAL.
 */
struct tables *provision(const struct cfg_model *m, const uint8_t (*port_mac)[6], int socket);
void provision_free(struct tables *t);

#endif
