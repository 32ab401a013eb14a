/* SPDX-License-Identifier: BSD-3-Clause */
/* QoS for people and programs: the block below the live table, and JSON. */
#ifndef CONTROL_SHOW_H
#define CONTROL_SHOW_H

#include <stdio.h>

#include <jansson.h>

#include "control/control.h"

/** Lag, sojourn times and shaping error of each qos task, of the last interval or, with whole, of
 * the whole run (but the shaping error: always of the last interval). Nothing without qos tasks. */
void show_qos_text(const struct control *c, FILE *to, bool whole);

/** The same of the whole run, with subports: an array; see doc/report.md. NULL without memory. */
json_t *show_qos_json(const struct control *c);

/** That as text, to be freed; NULL without memory. */
char *show_qos_report(const struct control *c);

#endif
