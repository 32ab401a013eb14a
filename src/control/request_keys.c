/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the keys of a request. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "control/request_impl.h"

int want_integer(const json_t *request, const char *key, uint64_t first, uint64_t last,
                 uint64_t *out, struct refusal *why)
{
    const json_t *v = json_object_get(request, key);

    if (!json_is_integer(v) || json_integer_value(v) < 0 ||
        (uint64_t)json_integer_value(v) < first || (uint64_t)json_integer_value(v) > last)
        return refuse(why, "key '%s': expected an integer, %" PRIu64 " to %" PRIu64, key, first,
                      last);
    *out = (uint64_t)json_integer_value(v);
    return 0;
}

int want_name(const json_t *request, const char *key, const char **out, struct refusal *why)
{
    *out = json_string_value(json_object_get(request, key));
    return *out != NULL ? 0 : refuse(why, "key '%s': expected a string", key);
}

/* "PORT SVLAN.CVLAN" */
static int find_by_vlans(const struct control *c, const char *text, uint32_t *id,
                         struct refusal *why)
{
    const struct cfg_model *m = control_model(c);
    unsigned svlan, cvlan, port = 0;
    char name[64], end;

    if (sscanf(text, "%63s %4u.%4u%c", name, &svlan, &cvlan, &end) != 3 || svlan > 4094 ||
        cvlan > 4094)
        return refuse(why, "subscriber '%.60s': expected an id or \"PORT SVLAN.CVLAN\"", text);
    while (port < m->n_ports && strcmp(m->ports[port].name, name) != 0)
        port++;
    if (port == m->n_ports)
        return refuse(why, "subscriber '%.60s': there is no port '%s'", text, name);
    *id = idmap_get(c->tables->subscribers->by_vlan,
                    subscriber_vlan_key((uint8_t)port, (uint16_t)svlan, (uint16_t)cvlan));
    return *id != 0 ? 0 : refuse(why, "subscriber '%.60s': there is none", text);
}

int subscriber_value(const struct control *c, const json_t *value, uint32_t *id,
                     struct refusal *why)
{
    uint32_t last = control_model(c)->n_subscribers;

    if (json_is_string(value))
        return find_by_vlans(c, json_string_value(value), id, why);
    if (!json_is_integer(value))
        return refuse(why, "key 'subscriber': expected an id or \"PORT SVLAN.CVLAN\"");
    if (json_integer_value(value) < 1 || json_integer_value(value) > (json_int_t)last)
        return refuse(why, "subscriber %lld: expected 1 to %" PRIu32,
                      (long long)json_integer_value(value), last);
    *id = (uint32_t)json_integer_value(value);
    return live_has(control_model(c), *id)
               ? 0
               : refuse(why, "subscriber %" PRIu32 ": there is none now", *id);
}

int profile_value(const struct control *c, const json_t *value, uint32_t *profile,
                  struct refusal *why)
{
    const struct cfg_qos *q = &control_model(c)->qos;
    const char *names[QOS_MAX_PROFILES], *name = json_string_value(value), *near;

    if (name == NULL)
        return refuse(why, "key 'profile': expected the name of a profile");
    for (unsigned i = 0; i < q->n_profiles; i++) {
        names[i] = q->profiles[i].name;
        if (strcmp(names[i], name) == 0) {
            *profile = i;
            return 0;
        }
    }
    near = nearest_name(name, names, q->n_profiles);
    return refuse(why, "there is no profile '%.60s'%s%s%s", name, near ? ": did you mean '" : "",
                  near ? near : "", near ? "'?" : "");
}

int want_scheduler(const struct control *c, const json_t *request, unsigned *scheduler,
                   struct refusal *why)
{
    const struct cfg_qos *q = &control_model(c)->qos;
    const char *name;

    if (want_name(request, "scheduler", &name, why) != 0)
        return -EINVAL;
    for (*scheduler = 0; *scheduler < q->n_schedulers; ++*scheduler)
        if (strcmp(q->schedulers[*scheduler].name, name) == 0)
            return 0;
    return refuse(why, "there is no scheduler '%.60s'", name);
}

int want_direction(const json_t *request, enum qos_direction *direction, struct refusal *why)
{
    const char *name = json_string_value(json_object_get(request, "direction"));

    if (name == NULL || (strcmp(name, "up") != 0 && strcmp(name, "down") != 0))
        return refuse(why, "key 'direction': expected \"up\" or \"down\"");
    *direction = strcmp(name, "up") == 0 ? QOS_UP : QOS_DOWN;
    return 0;
}
