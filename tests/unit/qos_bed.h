/* SPDX-License-Identifier: BSD-3-Clause */
/* Models of configurations with two ports, a and b, and two tasks: classify by scheduler s, and its
 * qos. */
#ifndef TESTS_UNIT_QOS_BED_H
#define TESTS_UNIT_QOS_BED_H

#include "config/model.h"

extern struct diags qos_diags; /* of the last configuration */
extern const char *qos_cores;  /* of both tasks; "0" */

/** Load a configuration with what is printed: profiles, schedulers and subscribers. Returns NULL
 * with the reason in qos_diags and on stderr. */
struct cfg_model *qos_load(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** At the end of a program of tests. */
int qos_free_diags(void);

#endif
