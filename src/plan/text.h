/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of a plan: names for what has none in the configuration, for text, picture and JSON. */
#ifndef PLAN_TEXT_H
#define PLAN_TEXT_H

#include "plan/plan.h"

/** Name an instance: "route", or "route.2" where the task has several instances. Returns buf. */
char *instance_name(const struct plan *p, unsigned instance, char *buf, size_t len);

/** List ascending numbers as "0-2,5". Returns buf. */
char *number_list(const uint16_t *n, unsigned count, char *buf, size_t len);

/** The kind of a ring by its producers: "SP" (single) or "MP" (multi). */
const char *ring_producers(const struct plan_ring *r);

/** Draw the pipeline, core by core. */
void plan_draw(const struct plan *p, FILE *to);

#endif
