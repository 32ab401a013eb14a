/* SPDX-License-Identifier: BSD-3-Clause */
/* The requests by which subscribers come and go. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "control/change_subscribers.h"
#include "control/request.h"
#include "control/request_impl.h"

static const char *const keys[] = {"port",    "svlan", "cvlan",   "ipv4",
                                   "gre_key", "mac",   "profile", NULL};

static int read_options(const struct control *c, const json_t *o, struct cfg_subscriber *s,
                        struct refusal *why)
{
    uint64_t gre_key;

    if (json_object_get(o, "gre_key") != NULL) {
        if (want_integer(o, "gre_key", 0, UINT32_MAX, &gre_key, why) != 0)
            return -EINVAL;
        s->gre_key = (uint32_t)gre_key;
        s->has_gre_key = true;
    }
    if (json_object_get(o, "mac") != NULL) {
        if (want_mac(o, "mac", s->mac, why) != 0)
            return -EINVAL;
        s->has_mac = true;
    }
    if (json_object_get(o, "profile") != NULL)
        return profile_value(c, json_object_get(o, "profile"), &s->profile, why);
    return 0;
}

static int read_subscriber(const struct control *c, const json_t *o, void *out, struct refusal *why)
{
    struct cfg_subscriber *s = out;
    const char *ipv4 = json_string_value(json_object_get(o, "ipv4"));
    uint64_t svlan, cvlan;
    unsigned port;

    if (want_port(c, o, &port, why) != 0 || want_integer(o, "svlan", 1, 4094, &svlan, why) != 0 ||
        want_integer(o, "cvlan", 1, 4094, &cvlan, why) != 0)
        return -EINVAL;
    *s = (struct cfg_subscriber){.port = port,
                                 .svlan = (uint16_t)svlan,
                                 .cvlan = (uint16_t)cvlan,
                                 .profile = CFG_NONE,
                                 .pipe = CFG_NONE};
    if (ipv4 == NULL || parse_prefix(ipv4, &s->ipv4, &s->ipv4_len) != 0)
        return refuse(why, "key 'ipv4': expected the IPv4 address of a host, or a prefix of length "
                           "24..32");
    return read_options(c, o, s, why);
}

static json_t *add_one(struct control *c, const json_t *request, struct refusal *why)
{
    struct cfg_subscriber s;
    uint32_t id, which;

    if (read_subscriber(c, request, &s, why) != 0 ||
        add_subscribers(c, &s, 1, &id, &which, why) != 0)
        return NULL;
    return json_pack("{s:b, s:i, s:I}", "ok", 1, "changed", 1, "id", (json_int_t)id);
}

/* Which entry of the list it is about, if it is about one. */
static void say_which(const char *list, uint32_t which, struct refusal *why)
{
    struct refusal what = *why;

    if (which != CHANGE_NONE)
        refuse(why, "%s[%" PRIu32 "]: %.200s", list, which, what.text);
}

static json_t *added(const uint32_t *id, uint32_t n)
{
    json_t *ids = json_array();

    for (uint32_t i = 0; i < n; i++)
        json_array_append_new(ids, json_integer(id[i]));
    return json_pack("{s:b, s:I, s:o}", "ok", 1, "changed", (json_int_t)n, "ids", ids);
}

static json_t *add_many(struct control *c, const json_t *request, struct refusal *why)
{
    void *list = NULL;
    int64_t n = want_list(c, request, "subscribers", REQUEST_MAX_CHANGES, keys,
                          sizeof(struct cfg_subscriber), &list, read_subscriber, why);
    uint32_t *id = n > 0 ? calloc((size_t)n, sizeof(*id)) : NULL, which = CHANGE_NONE;
    json_t *answer = NULL;

    if (id != NULL && add_subscribers(c, list, (uint32_t)n, id, &which, why) == 0)
        answer = added(id, (uint32_t)n);
    else if (id != NULL)
        say_which("subscribers", which, why);
    free(id);
    free(list);
    return answer;
}

static json_t *remove_one(struct control *c, const json_t *request, struct refusal *why)
{
    uint32_t id;

    if (subscriber_value(c, json_object_get(request, "subscriber"), &id, why) != 0 ||
        remove_subscribers(c, &id, 1, why) != 0)
        return NULL;
    return json_pack("{s:b, s:i}", "ok", 1, "changed", 1);
}

static json_t *remove_many(struct control *c, const json_t *request, struct refusal *why)
{
    const json_t *list = json_object_get(request, "subscribers");
    size_t n = json_array_size(list), i;
    struct refusal what;
    json_t *value;
    uint32_t *id;
    int rc = 0;

    if (n < 1 || n > REQUEST_MAX_CHANGES) {
        refuse(why, "key 'subscribers': expected a list of 1 to %d of them", REQUEST_MAX_CHANGES);
        return NULL;
    }
    id = calloc(n, sizeof(*id));
    if (id == NULL)
        return NULL;
    json_array_foreach(list, i, value)
    {
        if (subscriber_value(c, value, &id[i], &what) != 0) {
            rc = refuse(why, "subscribers[%zu]: %.200s", i, what.text);
            break;
        }
    }
    if (rc == 0)
        rc = remove_subscribers(c, id, (uint32_t)n, why);
    free(id);
    return rc == 0 ? json_pack("{s:b, s:I}", "ok", 1, "changed", (json_int_t)n) : NULL;
}

static json_t *set_mac(struct control *c, const json_t *request, struct refusal *why)
{
    bool learn = json_is_null(json_object_get(request, "mac"));
    uint8_t mac[6];
    uint32_t id;

    if (subscriber_value(c, json_object_get(request, "subscriber"), &id, why) != 0 ||
        (!learn && want_mac(request, "mac", mac, why) != 0) ||
        change_mac(c, id, learn ? NULL : mac, why) != 0)
        return NULL;
    return json_pack("{s:b, s:i}", "ok", 1, "changed", 1);
}

const struct command subscriber_commands[] = {
    {"add-subscriber", {"port", "svlan", "cvlan", "ipv4", "gre_key", "mac", "profile"}, add_one},
    {"add-subscribers", {"subscribers"}, add_many},
    {"remove-subscriber", {"subscriber"}, remove_one},
    {"remove-subscribers", {"subscribers"}, remove_many},
    {"set-mac", {"subscriber", "mac"}, set_mac},
    {NULL, {NULL}, NULL},
};
