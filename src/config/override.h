/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of the command line that stand in the place of a file's (--set PATH=VALUE). */
#ifndef CONFIG_OVERRIDE_H
#define CONFIG_OVERRIDE_H

#include "config/read.h"

/**
 * Put the values of opt->set[] into the tree of settings below root, before a section is read. Each
 * is PATH=VALUE, where PATH is TASK.KEY, or leads from the root to a key: "pools.default.mbufs",
 * "ports.cpe0.mtu", "memory". VALUE is true, false or a string. A key that the tree lacks is added;
 * the groups above it must be there, except for the pool "default". The reader of the section
 * checks the key and its value; the place of such an error is "--set PATH=VALUE".
 */
void override_values(struct loader *l, config_setting_t *root);

/** The option that gave a setting its value, "--set PATH=VALUE", or NULL where a file did. */
const char *override_of(const config_setting_t *s);

#endif
