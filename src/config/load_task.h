/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of the reader of tasks: their parameters, and the list of items that some types have. */
#ifndef CONFIG_LOAD_TASK_H
#define CONFIG_LOAD_TASK_H

#include "config/load_value.h"

/** What a group is: a task, a task that gives a list of items, or an item. */
enum param_place { IN_TASK, IN_TASK_WITH_ITEMS, IN_ITEM };

/** The keys of a schema's parameters, parallel to them; what does not belong there has no name.
 * Returns how many. */
unsigned param_keys(const struct task_schema *s, enum param_place place, struct key *keys);

/** Values as parameters: names of schedulers to indices, templates loaded. */
void take_params(struct loader *l, const struct task_schema *s, const struct value *v,
                 struct param_value *out);

/** The items of a task whose schema has such: of its list (NULL: it gives none), or the one that
 * its own parameters are. v: the task's values. */
void load_items(struct loader *l, const config_setting_t *list, struct cfg_task *t,
                const struct value *v);

#endif
