/* SPDX-License-Identifier: BSD-3-Clause */
/* The schemas of all types of task for programs: doc/schemas/tasks.json. */
#ifndef TELEMETRY_SCHEMA_H
#define TELEMETRY_SCHEMA_H

#include <stdbool.h>

/**
 * Every type of task with its parameters, outputs, facts and drops, and the words of what the
 * engine counts, as JSON; indented for people. To be freed; NULL: no memory.
 */
char *schema_json(bool indented);

#endif
