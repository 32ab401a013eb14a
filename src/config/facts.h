/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of the packets on the ways between tasks: enum packet_fact. */
#ifndef CONFIG_FACTS_H
#define CONFIG_FACTS_H

#include "config/model.h"

/** The facts that hold for every packet that each task gets; by index in m->tasks[]. */
void plan_facts(const struct cfg_model *m, uint32_t facts[CFG_MAX_TASKS]);

/** Those of every packet that leaves a task by an output, if these held before. */
uint32_t plan_facts_at_output(const struct cfg_task *t, unsigned output, uint32_t before);

#endif
