/* SPDX-License-Identifier: BSD-3-Clause */
/* The one list of the types of task: a constructor in a static archive would be dropped by the
 * linker. */
#include "tasks/task_types.h"

const struct task_type *const task_types[] = {
    &task_fragment,
    &task_gen,
    &task_lb,
    &task_sink,
    NULL,
};
