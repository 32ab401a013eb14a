/* SPDX-License-Identifier: BSD-3-Clause */
/* Words for the parts of a plan that have no name in the configuration. */
#include <stdio.h>

#include "config/plan_build.h"

unsigned task_instances(const struct plan *p, unsigned task)
{
    unsigned n = 0;

    for (unsigned i = 0; i < p->n_instances; i++)
        n += p->instances[i].task == task;
    return n;
}

char *instance_name(const struct plan *p, unsigned instance, char *buf, size_t len)
{
    const struct plan_instance *inst = &p->instances[instance];
    const char *name = p->cfg->tasks[inst->task].name;

    if (task_instances(p, inst->task) == 1)
        snprintf(buf, len, "%s", name);
    else
        snprintf(buf, len, "%s.%u", name, inst->worker);
    return buf;
}

char *number_list(const uint16_t *n, unsigned count, char *buf, size_t len)
{
    size_t used = 0;

    buf[0] = '\0';
    for (unsigned i = 0, last; i < count && used < len; i = last + 1) {
        const char *sep = i > 0 ? "," : "";

        for (last = i; last + 1 < count && n[last + 1] == n[last] + 1; last++)
            ;
        if (last == i)
            used += (size_t)snprintf(buf + used, len - used, "%s%u", sep, n[i]);
        else
            used += (size_t)snprintf(buf + used, len - used, "%s%u-%u", sep, n[i], n[last]);
    }
    return buf;
}

const char *ring_producers(const struct plan_ring *r)
{
    return r->n_producers == 1 ? "SP" : "MP";
}

const char *full_policy_name(enum full_policy policy)
{
    return policy == FULL_WAIT ? "wait" : "drop";
}
