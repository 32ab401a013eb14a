/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/reload.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "config/subscribers.h"
#include "control/delta.h"
#include "control/rates.h"
#include "control/request.h"
#include "plan/plan.h"
#include "telemetry/metrics.h"

/* --- profiles --- */

/* Profiles that a reload adds or changes. A profile that the file has no more stays, for the
 * subscribers who have it. */
struct profile_delta {
    const struct cfg_qos *other;
    unsigned n_added, n_changed;
    uint16_t added[QOS_MAX_PROFILES]; /* index in other->profiles[] */
    struct {
        uint16_t running, other; /* indices */
    } changed[QOS_MAX_PROFILES];
};

static_assert(sizeof(struct qos_shape) == 8 + 8 + 8 * QOS_CLASSES + 4 + QOS_BE_QUEUES + 1 + 7,
              "same_shape() looks at all of it but 7 bytes of padding, which hold anything");

static bool same_shape(const struct qos_shape *a, const struct qos_shape *b)
{
    return a->rate == b->rate && a->burst == b->burst && a->tc_period_ms == b->tc_period_ms &&
           a->oversubscription_weight == b->oversubscription_weight &&
           memcmp(a->class_rate, b->class_rate, sizeof(a->class_rate)) == 0 &&
           memcmp(a->weight, b->weight, sizeof(a->weight)) == 0;
}

static void profiles_compare(struct profile_delta *p, const struct control *c,
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
            p->changed[p->n_changed].running = (uint16_t)k;
            p->changed[p->n_changed++].other = (uint16_t)i;
        }
    }
}

/* Have the schedulers places for the profiles? A changed one takes a place, too. */
static int profiles_check(const struct profile_delta *p, const struct control *c,
                          struct refusal *why)
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

/* The schedulers learn the shape that the running config has at the index of a profile. */
static int take_profiles(struct control *c, uint32_t profile, struct refusal *why)
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
    return take_profiles(c, qos->n_profiles - 1, why);
}

/* Subscribers keep the old shape of a profile until it is given to them again. */
static int give_again(struct control *c, uint32_t profile, struct refusal *why)
{
    const struct cfg_model *m = c->model;
    struct profile_change *list = calloc(m->n_subscribers + UINT64_C(1), sizeof(*list));
    uint32_t n = 0;
    int rc = 0;

    if (list == NULL)
        return -ENOMEM;
    for (uint32_t id = 1; rc == 0 && id <= m->n_subscribers; id++) {
        const struct cfg_subscriber *s = &m->subscribers[id - 1];

        if (!running_has(m, id) || s->pipe == CFG_NONE || s->profile != profile)
            continue;
        if (!profile_fits(c, c->by_port[s->port], profile))
            rc = refuse(why, "profile '%s' is beyond what scheduler '%s' can do",
                        m->qos.profiles[profile].name, c->by_port[s->port]->name);
        list[n++] = (struct profile_change){.subscriber = id, .profile = profile};
    }
    if (rc == 0 && n > 0)
        rc = change_profiles(c, list, n, why);
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
    rc = take_profiles(c, profile, why);
    return rc == 0 ? give_again(c, profile, why) : rc;
}

static int profiles_apply(const struct profile_delta *p, struct control *c, struct refusal *why)
{
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < p->n_added; i++)
        rc = add(c, &p->other->profiles[p->added[i]], why);
    for (unsigned i = 0; rc == 0 && i < p->n_changed; i++)
        rc = change(c, p->changed[i].running, &p->other->profiles[p->changed[i].other], why);
    return rc;
}

/* {"added": [names], "changed": [names]} */
static json_t *profile_names(const struct profile_delta *p)
{
    json_t *added = json_array(), *changed = json_array();

    for (unsigned i = 0; i < p->n_added; i++)
        json_array_append_new(added, json_pack("s", p->other->profiles[p->added[i]].name));
    for (unsigned i = 0; i < p->n_changed; i++)
        json_array_append_new(changed,
                              json_pack("s", p->other->profiles[p->changed[i].other].name));
    return json_pack("{s:o, s:o}", "added", added, "changed", changed);
}

/* --- the file --- */

/* Refuse with the first error of a file. */
static void refuse_file(struct diags *d, struct refusal *why)
{
    char *text = NULL;
    size_t len = 0, errors = d->n_errors;
    FILE *f = open_memstream(&text, &len);

    if (f == NULL)
        return;
    diag_print(d, f);
    fclose(f);
    for (char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1)
        if (strstr(line, ": error: ") != NULL) {
            line[strcspn(line, "\n")] = '\0';
            refuse(why, "nothing was changed: %zu errors, the first is %.180s", errors, line);
            break;
        }
    free(text);
}

/* Read and check a configuration as a start does. */
static struct cfg_model *read_model(const struct control *c, const char *path, struct refusal *why)
{
    struct diags diags = {0};
    struct cfg_model *m = config_load(path, c->options, &diags);
    struct plan *plan = m != NULL ? plan_make(m, c->options->share_cpus, &diags) : NULL;

    if (plan == NULL) {
        refuse_file(&diags, why);
        config_free(m);
        m = NULL;
    }
    plan_free(plan);
    diag_free(&diags);
    return m;
}

/* The most subscribers that a subport can have. */
static uint32_t room_in(const struct cfg_scheduler *s, uint32_t subport)
{
    return s->subports[subport].pipes * (s->subports[subport].whole ? 1 : qos_shards(s));
}

/* Is there room for all subscribers and routes of the other model? */
static int check_room(const struct control *c, const struct delta *d, struct refusal *why)
{
    uint32_t subscribers = c->ids.n_subscribers - d->n[DELTA_SUBSCRIBERS].removed +
                           d->n[DELTA_SUBSCRIBERS].added,
             routes = (uint32_t)(c->model->n_routes + d->more_routes),
             routes6 = (uint32_t)(c->model->n_routes6 + d->more_routes6);
    const struct cfg_qos *qos = &c->model->qos;
    const struct subscriber6_table *v6 = c->tables->subscribers->v6;
    uint32_t prefixes = d->other->n_prefixes, room = v6 != NULL ? v6->capacity : 0;

    for (uint32_t id = 1; id <= c->model->n_subscribers; id++)
        if (running_has(c->model, id) && c->model->subscribers[id - 1].dynamic)
            prefixes += count_prefixes(&c->model->subscribers[id - 1].ipv6);
    if (subscribers > c->model->max_subscribers)
        return refuse(why,
                      "%" PRIu32 " subscribers, and there is room for %" PRIu32
                      ": max_subscribers, and a restart",
                      subscribers, c->model->max_subscribers);
    if (routes > c->model->max_routes)
        return refuse(
            why, "%" PRIu32 " routes, and there is room for %" PRIu32 ": max_routes, and a restart",
            routes, c->model->max_routes);
    if (routes6 > c->model->max_routes6)
        return refuse(why,
                      "%" PRIu32 " routes of IPv6, and there is room for %" PRIu32
                      ": max_routes6, and a restart",
                      routes6, c->model->max_routes6);
    if (prefixes > room)
        return refuse(why,
                      "%" PRIu32 " IPv6 prefixes, and there is room for %" PRIu32
                      ": max_prefixes, and a restart",
                      prefixes, room);
    for (unsigned i = 0; i < qos->n_schedulers; i++) {
        uint32_t wanted[QOS_MAX_SUBPORTS] = {0};

        for (uint32_t id = 1; id <= c->model->n_subscribers; id++) {
            const struct cfg_subscriber *s = &c->model->subscribers[id - 1];

            if (running_has(c->model, id) && s->dynamic && s->pipe != CFG_NONE &&
                c->by_port[s->port] == &qos->schedulers[i])
                wanted[subport_of(&qos->schedulers[i], s)]++;
        }
        for (uint32_t k = 0; k < d->other->n_subscribers; k++) {
            struct cfg_subscriber s = d->other->subscribers[k];
            uint32_t subport;

            s.port = d->port_of[s.port];
            subport = s.port != CFG_NONE && c->by_port[s.port] == &qos->schedulers[i]
                          ? subport_of(&qos->schedulers[i], &s)
                          : CFG_NONE;
            if (subport != CFG_NONE && ++wanted[subport] > room_in(&qos->schedulers[i], subport))
                return refuse(why,
                              "subport '%s' has room for %" PRIu32
                              " subscribers: max_subscribers, and a restart",
                              qos->schedulers[i].subports[subport].name,
                              room_in(&qos->schedulers[i], subport));
        }
    }
    return 0;
}

/* Each request is done as a whole or not at all; the first that is refused ends the list. */
static int run_all(struct control *c, const json_t *requests, struct refusal *why)
{
    struct refusal what = {"no memory"};
    const json_t *request;
    size_t i;

    json_array_foreach(requests, i, request)
    {
        json_t *answer = request_run(c, request, &what);

        if (answer == NULL)
            return refuse(why, "%.150s: after %zu of %zu steps, which stay; reload again",
                          what.text, i, json_array_size(requests));
        json_decref(answer);
    }
    return 0;
}

static int apply(struct control *c, const struct delta *d, const struct profile_delta *p,
                 struct refusal *why)
{
    int rc = profiles_apply(p, c, why);

    return rc == 0 ? run_all(c, d->requests, why) : rc;
}

static json_t *counts(const struct delta *d, enum delta_what what)
{
    return json_pack("{s:I, s:I, s:I}", "added", (json_int_t)d->n[what].added, "removed",
                     (json_int_t)d->n[what].removed, "changed", (json_int_t)d->n[what].changed);
}

static json_t *answer_of(const struct reload_options *o, const struct delta *d,
                         const struct profile_delta *p)
{
    json_t *answer =
        json_pack("{s:b, s:b, s:o, s:o, s:o, s:I, s:I, s:O}", "ok", 1, "dry_run", (int)o->dry_run,
                  "subscribers", counts(d, DELTA_SUBSCRIBERS), "routes", counts(d, DELTA_ROUTES),
                  "profiles", profile_names(p), "rates", (json_int_t)d->n_rates, "dscp",
                  (json_int_t)d->n_dscp, "restart", d->restart);

    if (o->details)
        json_object_set(answer, "requests", d->requests);
    return answer;
}

json_t *reload(struct control *c, const struct reload_options *o, struct refusal *why)
{
    const char *path = o->path != NULL ? o->path : c->configured->path;
    struct cfg_model *other;
    struct profile_delta profiles;
    json_t *answer = NULL;
    struct delta d;
    int rc;

    if (c->options == NULL) {
        refuse(why, "there is no configuration file to read again");
        return NULL;
    }
    other = read_model(c, path, why);
    if (other == NULL)
        return NULL;
    profiles_compare(&profiles, c, other);
    delta_make(&d, c, other, true);
    restart_needed(c->model, other, d.restart);
    rc = check_room(c, &d, why) != 0 ? -EINVAL : profiles_check(&profiles, c, why);
    if (rc != 0 && o->dry_run)
        delta_restart(&d, "%s", why->text);
    else if (rc == 0 && !o->dry_run)
        rc = apply(c, &d, &profiles, why);
    if (rc == 0 || o->dry_run)
        answer = answer_of(o, &d, &profiles);
    delta_free(&d);
    if (answer == NULL || o->dry_run) {
        config_free(other);
        return answer;
    }
    config_free(c->reloaded);
    c->configured = c->reloaded = other;
    return answer;
}

/* --- the request --- */

enum { RELOAD_FILE, RELOAD_DRY_RUN, RELOAD_DETAILS, N_RELOAD_KEYS };

static const struct key reload_keys[N_RELOAD_KEYS] = {
    [RELOAD_FILE] = {"file", KEY_STRING, .help = "a path from the root; else what was read before"},
    [RELOAD_DRY_RUN] = {"dry_run", KEY_BOOL, .def = "false", .help = "only say what would change"},
    [RELOAD_DETAILS] = {"details", KEY_BOOL, .def = "false",
                        .help = "with the requests that do it"},
};

static json_t *run_reload(struct control *c, struct request *r, struct refusal *why)
{
    struct reload_options o = {.path = r->v[RELOAD_FILE].v.s,
                               .dry_run = r->v[RELOAD_DRY_RUN].v.u != 0,
                               .details = r->v[RELOAD_DETAILS].v.u != 0};

    if (o.path != NULL && o.path[0] != '/') {
        refuse(why,
               "key 'file': expected a path from the root, as only vbng's own folder is known");
        return NULL;
    }
    return reload(c, &o, why);
}

const struct command reload_commands[] = {
    {"reload", KEYS(reload_keys), run_reload, "reads a configuration again", true},
    {NULL},
};
