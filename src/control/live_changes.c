/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/live_changes.h"

#include <string.h>

#define LIST_MAX 5000 /* entries of a request: it stays far below 1 MiB */

/* "PORT SVLAN.CVLAN" */
static json_t *name_of(const struct cfg_model *m, const struct cfg_subscriber *s)
{
    return json_sprintf("%s %u.%u", m->ports[s->port].name, s->svlan, s->cvlan);
}

/* Put an entry into the list of the last request, or of a new one. */
static void list_add(json_t *all, const char *cmd, const char *key, json_t *entry)
{
    json_t *last = json_array_get(all, json_array_size(all) - 1);
    const char *last_cmd = json_string_value(json_object_get(last, "cmd"));

    if (last_cmd == NULL || strcmp(last_cmd, cmd) != 0 ||
        json_array_size(json_object_get(last, key)) == LIST_MAX) {
        last = json_pack("{s:s, s:[]}", "cmd", cmd, key);
        json_array_append_new(all, last);
    }
    json_array_append_new(json_object_get(last, key), entry);
}

static uint32_t id_now(const struct control *c, const struct cfg_subscriber *s)
{
    return idmap_get(c->tables->subscribers->by_vlan,
                     subscriber_vlan_key((uint8_t)s->port, s->svlan, s->cvlan));
}

static void changed_profiles(const struct control *c, json_t *all)
{
    const struct cfg_model *was = c->configured, *now = control_model(c);

    for (uint32_t i = 0; i < was->n_subscribers; i++) {
        const struct cfg_subscriber *s = &was->subscribers[i], *t;
        uint32_t id = id_now(c, s);

        if (id == 0)
            continue;
        t = &now->subscribers[id - 1];
        if (t->profile != s->profile && t->profile != CFG_NONE)
            list_add(all, "set-profiles", "changes",
                     json_pack("[o, s]", name_of(now, t), now->qos.profiles[t->profile].name));
    }
}

static void changed_rates(const struct control *c, json_t *all)
{
    for (unsigned i = 0; i < c->n_shapers; i++) {
        const struct shaper *s = &c->shaper[i];
        const struct cfg_scheduler *shape = s->q->shape;

        for (unsigned k = 0; k < shape->n_subports; k++)
            if (s->subport_rate[k] != shape->subports[k].rate[s->q->direction])
                json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s, s:I}", "cmd",
                                                     "set-subport-rate", "scheduler", shape->name,
                                                     "subport", shape->subports[k].name,
                                                     "direction", direction_name(s->q->direction),
                                                     "rate", (json_int_t)s->subport_rate[k]));
    }
}

static void changed_map(const struct control *c, unsigned scheduler, enum qos_direction d,
                        json_t *all)
{
    const struct cfg_qos *qos = &c->configured->qos;
    const struct cfg_scheduler *s = &qos->schedulers[scheduler];
    const uint8_t *was = qos->dscp_maps[s->dscp_map[d]].queue,
                  *now = c->tables->dscp[scheduler * QOS_DIRECTIONS + d].queue;

    for (unsigned i = 0; i < 64; i++)
        if (now[i] != was[i])
            json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:i, s:s, s:i}", "cmd",
                                                 "set-dscp", "scheduler", s->name, "direction",
                                                 direction_name(d), "dscp", (int)i, "class",
                                                 class_name(now[i] < QOS_BE ? now[i] : QOS_BE),
                                                 "queue", now[i] < QOS_BE ? 0 : now[i] - QOS_BE));
}

json_t *live_changes(const struct control *c)
{
    json_t *all = json_array();

    if (all == NULL)
        return NULL;
    changed_profiles(c, all);
    changed_rates(c, all);
    for (unsigned i = 0; i < c->configured->qos.n_schedulers; i++)
        for (unsigned d = 0; d < QOS_DIRECTIONS; d++)
            changed_map(c, i, (enum qos_direction)d, all);
    return all;
}
