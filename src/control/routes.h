/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds, changes and removes routes while traffic flows, by the requests of routes.c; everything is
 * checked before anything is changed. */
#ifndef CONTROL_ROUTES_H
#define CONTROL_ROUTES_H

#include "control/control.h"

/** Index the routes of the configuration. Returns 0 or -1. */
int routes_open(struct control *c);
void routes_close(struct control *c);

#endif
