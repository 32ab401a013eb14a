/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that values may have in any section and request: ports and profiles. */
#include <string.h>

#include "config/read.h"

uint32_t find_port(const struct loader *l, const char *name)
{
    for (unsigned i = 0; i < l->m->n_ports; i++)
        if (strcmp(l->m->ports[i].name, name) == 0)
            return i;
    return CFG_NONE;
}

const char *nearest_port(const struct loader *l, const char *name)
{
    const char *names[CFG_MAX_PORTS];

    for (unsigned i = 0; i < l->m->n_ports; i++)
        names[i] = l->m->ports[i].name;
    return nearest_name(name, names, l->m->n_ports);
}

uint32_t find_profile(const struct loader *l, const char *name)
{
    for (unsigned i = 0; i < l->m->qos.n_profiles; i++)
        if (strcmp(l->m->qos.profiles[i].name, name) == 0)
            return i;
    return CFG_NONE;
}

const char *nearest_profile(const struct loader *l, const char *name)
{
    const char *names[QOS_MAX_PROFILES];

    for (unsigned i = 0; i < l->m->qos.n_profiles; i++)
        names[i] = l->m->qos.profiles[i].name;
    return nearest_name(name, names, l->m->qos.n_profiles);
}
