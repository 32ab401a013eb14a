/* SPDX-License-Identifier: BSD-3-Clause */
/* What the command line says instead of the file: single values (--set), and the layout
 * (--layout). */
#ifndef CONFIG_OVERRIDE_H
#define CONFIG_OVERRIDE_H

#include "config/load.h"

/**
 * Put the values of opt->set[] into the tree that has been read, before anything looks at it. Each
 * is PATH=VALUE, where PATH is TASK.KEY, or leads from the root to a key: "pools.default.mbufs",
 * "ports.cpe0.mtu", "memory". VALUE is true, false or a string. A value that is not there is added;
 * what stands above it must be there, except for the pool "default". Whether the key exists and
 * takes the value is left to who reads the section; such errors stand at "--set PATH=VALUE".
 */
void override_values(struct loader *l, config_setting_t *root);

/** The option that gave a value, "--set PATH=VALUE", or NULL where a file did. */
const char *override_of(const config_setting_t *s);

#endif
