/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that load a layout share: which places are taken, and who places the tasks that
 * the layout does not name. */
#ifndef CONFIG_LAYOUT_LAYOUT_H
#define CONFIG_LAYOUT_LAYOUT_H

#include "config/read.h"

#define REST_NAME "*" /* in a list of tasks: all that the layout does not name */

/** The place of the tasks that the layout does not name. */
struct rest {
    const config_setting_t *setting; /* NULL: the layout has no such place */
    unsigned entry;                  /* index in placements[] */
    uint16_t at;                     /* how many of the entry's tasks come before them */
};

/** The placement (index in placements[]) that has each CPU, and the last one that has each task or
 * an instance of it; or -1. */
struct taken {
    int cpu[TOPO_MAX_CPUS];
    int task[CFG_MAX_TASKS];
    bool whole[CFG_MAX_TASKS]; /* that placement has all instances of the task */
    bool wrong[CFG_MAX_TASKS]; /* an error leaves open where the task is */
    bool unknown_task; /* a name was near to no task, and may stand for any task that seems missing
                        */
    struct rest rest;
};

/** Place the tasks that have no place where the layout says so; its entries have been read. */
void place_rest(struct loader *l, struct taken *taken);

/** Place all tasks of a configuration without a layout on one core, the first that the process was
 * given. */
void place_all(struct loader *l, struct taken *taken);

#endif
