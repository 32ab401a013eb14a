/* SPDX-License-Identifier: BSD-3-Clause */
/* The requests that change something. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "control/request.h"
#include "control/request_impl.h"

static json_t *changed(uint32_t n)
{
    return json_pack("{s:b, s:i}", "ok", 1, "changed", (int)n);
}

static int read_change(const struct control *c, const json_t *subscriber, const json_t *profile,
                       struct profile_change *ch, struct refusal *why)
{
    if (subscriber_value(c, subscriber, &ch->subscriber, why) != 0)
        return -EINVAL;
    return profile_value(c, profile, &ch->profile, why);
}

static json_t *set_profile(struct control *c, const json_t *request, struct refusal *why)
{
    struct profile_change ch;

    if (read_change(c, json_object_get(request, "subscriber"), json_object_get(request, "profile"),
                    &ch, why) != 0 ||
        change_profiles(c, &ch, 1, why) != 0)
        return NULL;
    return changed(1);
}

/* "changes": [[SUBSCRIBER, PROFILE], ...] */
static int read_changes(const struct control *c, const json_t *list, struct profile_change *ch,
                        struct refusal *why)
{
    struct refusal what;
    json_t *pair;
    size_t i;

    json_array_foreach(list, i, pair)
    {
        if (json_array_size(pair) != 2)
            return refuse(why, "changes[%zu]: expected [SUBSCRIBER, PROFILE]", i);
        if (read_change(c, json_array_get(pair, 0), json_array_get(pair, 1), &ch[i], &what) != 0)
            return refuse(why, "changes[%zu]: %.200s", i, what.text);
    }
    return 0;
}

static json_t *set_profiles(struct control *c, const json_t *request, struct refusal *why)
{
    const json_t *list = json_object_get(request, "changes");
    size_t n = json_array_size(list);
    struct profile_change *ch;
    int rc;

    if (n < 1 || n > REQUEST_MAX_PROFILES) {
        refuse(why, "key 'changes': expected a list of 1 to %d pairs [SUBSCRIBER, PROFILE]",
               REQUEST_MAX_PROFILES);
        return NULL;
    }
    ch = calloc(n, sizeof(*ch));
    if (ch == NULL)
        return NULL;
    rc = read_changes(c, list, ch, why);
    if (rc == 0)
        rc = change_profiles(c, ch, (uint32_t)n, why);
    free(ch);
    return rc == 0 ? changed((uint32_t)n) : NULL;
}

static int want_rate(const json_t *request, uint64_t *rate, struct refusal *why)
{
    const json_t *v = json_object_get(request, "rate");

    if (json_is_integer(v) && json_integer_value(v) > 0) {
        *rate = (uint64_t)json_integer_value(v);
        return 0;
    }
    if (json_is_string(v) && parse_rate(json_string_value(v), rate) == 0)
        return 0;
    return refuse(why, "key 'rate': expected bit/s, as a number or like \"1.5G\"");
}

static json_t *set_subport_rate(struct control *c, const json_t *request, struct refusal *why)
{
    const struct cfg_scheduler *shape;
    enum qos_direction direction;
    unsigned scheduler, subport = 0;
    const char *name;
    uint64_t rate = 0;

    if (want_scheduler(c, request, &scheduler, why) != 0 ||
        want_name(request, "subport", &name, why) != 0 ||
        want_direction(request, &direction, why) != 0 || want_rate(request, &rate, why) != 0)
        return NULL;
    shape = &control_model(c)->qos.schedulers[scheduler];
    while (subport < shape->n_subports && strcmp(shape->subports[subport].name, name) != 0)
        subport++;
    if (subport == shape->n_subports) {
        refuse(why, "there is no subport '%.60s' in scheduler '%s'", name, shape->name);
        return NULL;
    }
    if (change_subport_rate(c, scheduler, subport, direction, rate, why) != 0)
        return NULL;
    return changed(1);
}

/* "class": "0".."11" or "be"; "queue": 0..3, of best effort only. */
static int want_queue(const json_t *request, unsigned *queue, struct refusal *why)
{
    const char *name = json_string_value(json_object_get(request, "class"));
    uint64_t which = 0;
    unsigned class = 0;

    while (name != NULL && class < QOS_CLASSES && strcmp(class_name(class), name) != 0)
        class ++;
    if (name == NULL || class == QOS_CLASSES)
        return refuse(why, "key 'class': expected \"0\" to \"11\", or \"be\"");
    if (json_object_get(request, "queue") != NULL &&
        want_integer(request, "queue", 0, class == QOS_BE ? QOS_BE_QUEUES - 1 : 0, &which, why))
        return -EINVAL;
    *queue = class + (unsigned)which;
    return 0;
}

static json_t *set_dscp(struct control *c, const json_t *request, struct refusal *why)
{
    enum qos_direction direction;
    unsigned scheduler, queue = 0;
    uint64_t dscp;

    if (want_scheduler(c, request, &scheduler, why) != 0 ||
        want_direction(request, &direction, why) != 0 ||
        want_integer(request, "dscp", 0, 63, &dscp, why) != 0 ||
        want_queue(request, &queue, why) != 0 ||
        change_dscp(c, scheduler, direction, (unsigned)dscp, queue, why) != 0)
        return NULL;
    return changed(1);
}

const struct command change_commands[] = {
    {"set-profile", {"subscriber", "profile"}, set_profile},
    {"set-profiles", {"changes"}, set_profiles},
    {"set-subport-rate", {"scheduler", "subport", "direction", "rate"}, set_subport_rate},
    {"set-dscp", {"scheduler", "direction", "dscp", "class", "queue"}, set_dscp},
    {NULL, {NULL}, NULL},
};
