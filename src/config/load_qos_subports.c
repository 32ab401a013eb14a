/* SPDX-License-Identifier: BSD-3-Clause */
/* subports = ( { name; port; svlan; rate; }, ... ) of a scheduler: groups of its subscribers. */
#include <string.h>

#include "config/load_qos.h"
#include "config/qos_fit.h"

static void add_subport(struct cfg_scheduler *s, const struct cfg_subport *new)
{
    GROW_ONE(s->subports, s->n_subports);
    s->subports[s->n_subports++] = *new;
}

struct subport_list {
    struct cfg_scheduler *s;
    const uint32_t *ports;
    unsigned n_ports;
};

enum {
    SUBPORT_NAME,
    SUBPORT_PORT,
    SUBPORT_SVLAN,
    SUBPORT_RATE,
    SUBPORT_UP,
    SUBPORT_DOWN,
    N_SUBPORT_KEYS
};

static const struct key subport_keys[N_SUBPORT_KEYS] = {
    [SUBPORT_NAME] = {"name", KEY_NAME, .required = true},
    [SUBPORT_PORT] = {"port", KEY_STRING},
    [SUBPORT_SVLAN] = {"svlan", KEY_RANGE, .def = "1-4094", .min = 1, .max = 4094},
    [SUBPORT_RATE] = {"rate", KEY_RATE, .min = 8000, .max = QOS_MAX_RATE},
    [SUBPORT_UP] = {"rate_up", KEY_RATE, .min = 8000, .max = QOS_MAX_RATE},
    [SUBPORT_DOWN] = {"rate_down", KEY_RATE, .min = 8000, .max = QOS_MAX_RATE},
};

/* v or, where that is not given, the rate of both directions. */
static uint64_t subport_rate(struct loader *l, const struct value *v, uint64_t both,
                             uint64_t port_rate)
{
    uint64_t rate = v->setting != NULL && v->set ? v->v.u : both;

    if (rate > port_rate) {
        key_error(l, v->setting, config_setting_name(v->setting),
                  "expected at most the scheduler's own rate");
        return port_rate;
    }
    return rate;
}

bool is_among(const uint32_t *ports, unsigned n, uint32_t port)
{
    for (unsigned i = 0; i < n; i++)
        if (ports[i] == port)
            return true;
    return false;
}

/* A subport's name and subscribers are its own. */
static void check_subport(struct loader *l, const struct cfg_scheduler *s, const struct value *v,
                          const config_setting_t *group, const struct cfg_subport *new)
{
    for (unsigned k = 0; k < s->n_subports; k++) {
        const struct cfg_subport *old = &s->subports[k];

        if (strcmp(old->name, new->name) == 0)
            key_error(l, v[SUBPORT_NAME].setting, "name", "already a subport at %s:%u",
                      old->loc.file, old->loc.line);
        else if (old->port == new->port &&
                 old->svlan_first <= new->svlan_last &&new->svlan_first <= old->svlan_last)
            key_error(l, v[SUBPORT_SVLAN].setting != NULL ? v[SUBPORT_SVLAN].setting : group,
                      "svlan", "overlaps subport '%s' at %s:%u", old->name, old->loc.file,
                      old->loc.line);
    }
}

static void read_subport(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    struct subport_list *list = ctx;
    struct value v[N_SUBPORT_KEYS];
    struct cfg_subport new = {.loc = setting_loc(l, group),
                              .port = list->n_ports > 0 ? list->ports[0] : 0};
    uint64_t both;

    (void)i;
    if (!read_group(l, group, "subport", subport_keys, N_SUBPORT_KEYS, v))
        return;
    if (v[SUBPORT_PORT].setting != NULL) {
        new.port = find_port(l, v[SUBPORT_PORT].v.s);
        if (new.port == CFG_NONE) {
            unknown_name(l, v[SUBPORT_PORT].setting, "port", "port",
                         nearest_port(l, v[SUBPORT_PORT].v.s));
            return;
        }
        if (!is_among(list->ports, list->n_ports, new.port)) {
            key_error(l, v[SUBPORT_PORT].setting, "port", "is not among the scheduler's ports");
            return;
        }
    } else if (list->n_ports > 1) {
        key_error(l, group, "port", "missing in this subport: the scheduler has several ports");
        return;
    }
    new.name = v[SUBPORT_NAME].v.s;
    new.svlan_first = (uint16_t)v[SUBPORT_SVLAN].v.u;
    new.svlan_last = (uint16_t)v[SUBPORT_SVLAN].v.u2;
    both = subport_rate(l, &v[SUBPORT_RATE], list->s->rate, list->s->rate);
    new.rate[QOS_UP] = subport_rate(l, &v[SUBPORT_UP], both, list->s->rate);
    new.rate[QOS_DOWN] = subport_rate(l, &v[SUBPORT_DOWN], both, list->s->rate);
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        new.class_rate[c] = list->s->rate;
    check_subport(l, list->s, v, group, &new);
    if (list->s->n_subports == QOS_MAX_SUBPORTS)
        key_error(l, group, "subports", "expected at most %d", QOS_MAX_SUBPORTS);
    else
        add_subport(list->s, &new);
}

static void check_ports_used(struct loader *l, const config_setting_t *setting,
                             const struct subport_list *list)
{
    for (unsigned i = 0; i < list->n_ports; i++) {
        bool used = false;

        for (unsigned k = 0; k < list->s->n_subports; k++)
            used |= list->s->subports[k].port == list->ports[i];
        if (!used)
            key_error(l, setting, "subports", "the scheduler's port '%s' has none",
                      l->m->ports[list->ports[i]].name);
    }
}

/* Without subports each port is one. */
void load_subports(struct loader *l, const struct value *v, struct cfg_scheduler *s,
                   const uint32_t *ports, unsigned n)
{
    struct subport_list list = {.s = s, .ports = ports, .n_ports = n};
    size_t errors = l->d->n_errors;

    if (v->setting != NULL) {
        each_group(l, v->setting, "subports", read_subport, &list);
        if (l->d->n_errors == errors)
            check_ports_used(l, v->setting, &list);
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        struct cfg_subport all = {.loc = s->loc,
                                  .name = l->m->ports[ports[i]].name,
                                  .port = ports[i],
                                  .svlan_first = 1,
                                  .svlan_last = 4094,
                                  .rate = {s->rate, s->rate}};

        for (unsigned c = 0; c < QOS_CLASSES; c++)
            all.class_rate[c] = s->rate;
        add_subport(s, &all);
    }
}
