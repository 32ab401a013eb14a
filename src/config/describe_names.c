/* SPDX-License-Identifier: BSD-3-Clause */
/* Words that all forms of a description use. */
#include "config/describe_build.h"

const char *port_kind_name(enum port_kind kind)
{
    static const char *const names[] = {
        [KIND_WIRE] = "wire",
        [KIND_PCI] = "pci",
        [KIND_VHOST] = "vhost",
        [KIND_OTHER] = "vdev",
    };

    return names[kind];
}

const char *port_side_name(enum port_side side)
{
    static const char *const names[] = {
        [SIDE_OTHER] = "other",
        [SIDE_ACCESS] = "access",
        [SIDE_CORE] = "core",
    };

    return names[side];
}

char *core_tasks(const struct plan *p, unsigned core, char *buf, size_t len)
{
    const struct plan_core *c = &p->cores[core];
    size_t used = 0;
    char name[64];

    buf[0] = '\0';
    for (uint16_t i = 0; i < c->n_instances && used < len; i++)
        used += (size_t)snprintf(buf + used, len - used, "%s%s", i > 0 ? ", " : "",
                                 instance_name(p, c->instances[i], name, sizeof(name)));
    return buf;
}
