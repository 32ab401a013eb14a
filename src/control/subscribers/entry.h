/* SPDX-License-Identifier: BSD-3-Clause */
/* Subscribers of a model as requests name and describe them. */
#ifndef CONTROL_SUBSCRIBERS_ENTRY_H
#define CONTROL_SUBSCRIBERS_ENTRY_H

#include <jansson.h>

#include "config/model.h"

/** "PORT SVLAN.CVLAN" */
json_t *circuit_json(const struct cfg_model *m, const struct cfg_subscriber *s);

/** A static MAC, or null. */
json_t *mac_json(const struct cfg_subscriber *s);

/** The name of a subscriber's profile, or NULL. */
const char *profile_name_of(const struct cfg_model *m, const struct cfg_subscriber *s);

/** A subscriber as add-subscriber describes him. */
json_t *subscriber_entry_json(const struct cfg_model *m, const struct cfg_subscriber *s);

#endif
