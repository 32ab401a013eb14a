/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/reload_profiles.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/metrics.h"

static_assert(sizeof(struct qos_shape) == 8 + 8 + 8 * QOS_CLASSES + 4 + QOS_BE_QUEUES + 1 + 7,
              "same_shape() looks at all of it but 7 bytes of padding, which hold anything");

static bool same_shape(const struct qos_shape *a, const struct qos_shape *b)
{
    return a->rate == b->rate && a->burst == b->burst && a->tc_period_ms == b->tc_period_ms &&
           a->oversubscription_weight == b->oversubscription_weight &&
           memcmp(a->class_rate, b->class_rate, sizeof(a->class_rate)) == 0 &&
           memcmp(a->weight, b->weight, sizeof(a->weight)) == 0;
}

void profiles_compare(struct profile_delta *p, const struct control *c,
                      const struct cfg_model *other)
{
    const struct cfg_qos *now = &c->model->qos;

    *p = (struct profile_delta){.other = &other->qos};
    for (unsigned i = 0; i < other->qos.n_profiles; i++) {
        const struct cfg_profile *o = &other->qos.profiles[i];
        unsigned k = 0;

        while (k < now->n_profiles && strcmp(now->profiles[k].name, o->name) != 0)
            k++;
        if (k == now->n_profiles) {
            p->added[p->n_added++] = (uint16_t)i;
        } else if (!same_shape(&now->profiles[k].shape[QOS_UP], &o->shape[QOS_UP]) ||
                   !same_shape(&now->profiles[k].shape[QOS_DOWN], &o->shape[QOS_DOWN])) {
            p->changed[p->n_changed].now = (uint16_t)k;
            p->changed[p->n_changed++].other = (uint16_t)i;
        }
    }
}

int profiles_check(const struct profile_delta *p, const struct control *c, struct refusal *why)
{
    unsigned room = room_profiles(&c->configured->qos), places = p->n_added + p->n_changed;

    if (c->n_shapers == 0 || places == 0 || c->profile_places + places <= c->profile_room)
        return 0;
    return refuse(why,
                  "%u profiles are new or changed, and there is room for %u: qos.max_profiles (now "
                  "%u), and a restart",
                  places, c->profile_room - c->profile_places, room);
}

static int take_profile(struct task *t, void *arg)
{
    return qos_take_profile(t, *(const uint32_t *)arg);
}

/* What stands in the model at a place is what the schedulers mean by it from now on. */
static int tell_schedulers(struct control *c, uint32_t profile, struct refusal *why)
{
    c->profile_places++;
    for (unsigned i = 0; i < c->n_shapers; i++) {
        int rc = engine_call(c->e, c->shaper[i].instance, take_profile, &profile);

        if (rc != 0) {
            refuse(why, "task %s: profile '%s': %s", c->shaper[i].task->cfg->name,
                   c->model->qos.profiles[profile].name, strerror(-rc));
            return rc;
        }
    }
    return 0;
}

static int add(struct control *c, const struct cfg_profile *from, struct refusal *why)
{
    struct cfg_qos *qos = &c->model->qos;
    char *name = strdup(from->name);

    if (name == NULL || qos->n_profiles == QOS_MAX_PROFILES) {
        free(name);
        return refuse(why, "there is no room for profile '%s'", from->name);
    }
    c->profile_name[qos->n_profiles] = name;
    metrics_hold();
    qos->profiles[qos->n_profiles] = *from;
    qos->profiles[qos->n_profiles].name = name;
    qos->n_profiles++;
    metrics_release();
    return tell_schedulers(c, qos->n_profiles - 1, why);
}

/* Who has it gets it anew. */
static int renew(struct control *c, uint32_t profile, struct refusal *why)
{
    const struct cfg_model *m = c->model;
    struct profile_change *list = calloc(m->n_subscribers + UINT64_C(1), sizeof(*list));
    uint32_t n = 0;
    int rc;

    if (list == NULL)
        return -ENOMEM;
    for (uint32_t id = 1; id <= m->n_subscribers; id++)
        if (live_has(m, id) && m->subscribers[id - 1].pipe != CFG_NONE &&
            m->subscribers[id - 1].profile == profile)
            list[n++] = (struct profile_change){.subscriber = id, .profile = profile};
    rc = n > 0 ? change_profiles(c, list, n, why) : 0;
    free(list);
    return rc;
}

static int change(struct control *c, uint32_t profile, const struct cfg_profile *to,
                  struct refusal *why)
{
    int rc;

    metrics_hold();
    memcpy(c->model->qos.profiles[profile].shape, to->shape, sizeof(to->shape));
    metrics_release();
    rc = tell_schedulers(c, profile, why);
    return rc == 0 ? renew(c, profile, why) : rc;
}

int profiles_apply(const struct profile_delta *p, struct control *c, struct refusal *why)
{
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < p->n_added; i++)
        rc = add(c, &p->other->profiles[p->added[i]], why);
    for (unsigned i = 0; rc == 0 && i < p->n_changed; i++)
        rc = change(c, p->changed[i].now, &p->other->profiles[p->changed[i].other], why);
    return rc;
}

json_t *profile_names(const struct profile_delta *p)
{
    json_t *added = json_array(), *changed = json_array();

    for (unsigned i = 0; i < p->n_added; i++)
        json_array_append_new(added, json_pack("s", p->other->profiles[p->added[i]].name));
    for (unsigned i = 0; i < p->n_changed; i++)
        json_array_append_new(changed,
                              json_pack("s", p->other->profiles[p->changed[i].other].name));
    return json_pack("{s:o, s:o}", "added", added, "changed", changed);
}
