/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about packets: what is known of every packet on a link between tasks (enum packet_fact). */
#ifndef PLAN_FACTS_H
#define PLAN_FACTS_H

#include "config/model.h"

/** Find the facts that hold for every packet at the input of each task; facts[] is by index in
 * m->tasks[]. */
void plan_facts(const struct cfg_model *m, uint32_t facts[CFG_MAX_TASKS]);

/** The facts of every packet that leaves a task by an output, where those in before held at the
 * input. */
uint32_t plan_facts_at_output(const struct cfg_task *t, unsigned output, uint32_t before);

#endif
