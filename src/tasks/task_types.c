/* SPDX-License-Identifier: BSD-3-Clause */
/* The one list of the types of task: a constructor in a static archive would be dropped by the
 * linker. */
#include "tasks/task_types.h"

const struct task_type *const task_types[] = {
    &task_arp,
    &task_classify,
    &task_forward,
    &task_fragment,
    &task_gen,
    &task_gre_decap,
    &task_gre_encap,
    &task_impair,
    &task_lb,
    &task_mpls_pop,
    &task_mpls_push,
    &task_qinq_decap,
    &task_qinq_encap,
    &task_qos,
    &task_route,
    &task_sink,
    NULL,
};
