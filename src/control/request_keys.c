/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the keys of a request. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "config/load_value.h"
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

int want_port(const struct control *c, const json_t *request, unsigned *port, struct refusal *why)
{
    const struct cfg_model *m = control_model(c);
    const char *names[CFG_MAX_PORTS], *name, *near;

    if (want_name(request, "port", &name, why) != 0)
        return -EINVAL;
    for (*port = 0; *port < m->n_ports; ++*port) {
        names[*port] = m->ports[*port].name;
        if (strcmp(names[*port], name) == 0)
            return 0;
    }
    near = nearest_name(name, names, m->n_ports);
    return refuse(why, "there is no port '%.60s'%s%s%s", name, near ? ": did you mean '" : "",
                  near ? near : "", near ? "'?" : "");
}

int want_host(const json_t *request, const char *key, uint32_t *addr, struct refusal *why)
{
    const char *text = json_string_value(json_object_get(request, key));

    if (text == NULL || parse_ipv4(text, addr) != 0 || !ipv4_is_host(*addr))
        return refuse(why, "key '%s': expected the IPv4 address of a host", key);
    return 0;
}

int want_prefix(const json_t *request, const char *key, uint32_t *addr, uint8_t *len,
                struct refusal *why)
{
    const char *text = json_string_value(json_object_get(request, key));

    if (text == NULL || parse_prefix(text, addr, len) != 0 ||
        (*len < 32 && (*addr & (UINT32_MAX >> *len)) != 0))
        return refuse(why,
                      "key '%s': expected an IPv4 prefix like \"192.0.2.0/24\", with no bits "
                      "set after its length",
                      key);
    return 0;
}

int want_mac(const json_t *request, const char *key, uint8_t mac[6], struct refusal *why)
{
    static const uint8_t none[6];
    const char *text = json_string_value(json_object_get(request, key));

    if (text == NULL || parse_mac(text, mac) != 0 || (mac[0] & 1) != 0 || memcmp(mac, none, 6) == 0)
        return refuse(why, "key '%s': expected the MAC address of one station", key);
    return 0;
}

static int check_object(const json_t *object, const char *const *keys, struct refusal *why)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return refuse(why, "expected an object");
    json_object_foreach((json_t *)object, key, value)
    {
        const char *const *known = keys;

        while (*known != NULL && strcmp(*known, key) != 0)
            known++;
        if (*known == NULL)
            return refuse(why, "unknown key '%.40s'", key);
    }
    return 0;
}

int64_t want_list(const struct control *c, const json_t *request, const char *key, size_t max,
                  const char *const *keys, size_t size, void **out,
                  int (*read)(const struct control *c, const json_t *object, void *out,
                              struct refusal *why),
                  struct refusal *why)
{
    const json_t *list = json_object_get(request, key);
    size_t n = json_array_size(list), i;
    struct refusal what;
    json_t *object;

    if (n < 1 || n > max)
        return refuse(why, "key '%s': expected a list of 1 to %zu objects", key, max);
    *out = calloc(n, size);
    if (*out == NULL)
        return -ENOMEM;
    json_array_foreach(list, i, object)
    {
        if (check_object(object, keys, &what) == 0 &&
            read(c, object, (char *)*out + i * size, &what) == 0)
            continue;
        free(*out);
        *out = NULL;
        return refuse(why, "%s[%zu]: %.200s", key, i, what.text);
    }
    return (int64_t)n;
}
