/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/reload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/plan.h"
#include "control/check_subscribers.h"
#include "control/delta.h"
#include "control/reload_profiles.h"
#include "control/request_impl.h"
#include "control/restart.h"

/* The first error of those that were found. */
static void tell_error(struct diags *d, struct refusal *why)
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

/* As at a start, with all checks. */
static struct cfg_model *read_model(const struct control *c, const char *path, struct refusal *why)
{
    struct diags diags = {0};
    struct cfg_model *m = config_load(path, c->options, &diags);
    struct plan *plan = m != NULL ? plan_make(m, c->options->share_cpus, &diags) : NULL;

    if (plan == NULL) {
        tell_error(&diags, why);
        config_free(m);
        m = NULL;
    }
    plan_free(plan);
    diag_free(&diags);
    return m;
}

/* Will all that the other has have a place? The port of each is one that is there. */
static int check_room(const struct control *c, const struct delta *d, struct refusal *why)
{
    uint32_t subscribers = c->ids.n_subscribers - d->n[DELTA_SUBSCRIBERS].removed +
                           d->n[DELTA_SUBSCRIBERS].added,
             routes = c->model->n_routes - d->n[DELTA_ROUTES].removed + d->n[DELTA_ROUTES].added;
    const struct cfg_qos *qos = &c->model->qos;

    if (subscribers > c->tables->subscribers->capacity)
        return refuse(why,
                      "%" PRIu32 " subscribers, and there is room for %" PRIu32
                      ": max_subscribers, and a restart",
                      subscribers, c->tables->subscribers->capacity);
    if (routes > c->model->max_routes)
        return refuse(
            why, "%" PRIu32 " routes, and there is room for %" PRIu32 ": max_routes, and a restart",
            routes, c->model->max_routes);
    for (unsigned i = 0; i < qos->n_schedulers; i++) {
        uint32_t wanted[QOS_MAX_SUBPORTS] = {0};

        for (uint32_t k = 0; k < d->other->n_subscribers; k++) {
            struct cfg_subscriber s = d->other->subscribers[k];
            uint32_t subport;

            s.port = d->port_of[s.port];
            subport = s.port != CFG_NONE && c->by_port[s.port] == &qos->schedulers[i]
                          ? subport_of(&qos->schedulers[i], &s)
                          : CFG_NONE;
            if (subport != CFG_NONE && ++wanted[subport] > qos->schedulers[i].pipes_per_subport)
                return refuse(why,
                              "subport '%s' has room for %" PRIu32
                              " subscribers: max_subscribers, and a restart",
                              qos->schedulers[i].subports[subport].name,
                              qos->schedulers[i].pipes_per_subport);
        }
    }
    return 0;
}

/* One after the other: each is done as a whole or not at all. */
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
