/* SPDX-License-Identifier: BSD-3-Clause */
/* The requests about captures. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "control/request.h"
#include "control/request_impl.h"

#define DEFAULT_SECONDS 10
#define DEFAULT_PACKETS 1000000
#define DEFAULT_BYTES   (UINT64_C(100) << 20)
#define DEFAULT_SNAPLEN UINT16_MAX
#define ALL             "*"

/* An element of "ports" or "tasks": NAME, or NAME:POINT, or "*" for all names. */
struct point {
    char name[64];
    const char *point; /* "": not said */
};

static int read_point(const char *key, const json_t *value, struct point *out, struct refusal *why)
{
    const char *text = json_string_value(value), *colon;

    if (text == NULL)
        return refuse(why, "key '%s': expected a list of strings", key);
    colon = strrchr(text, ':');
    out->point = colon != NULL ? colon + 1 : "";
    snprintf(out->name, sizeof(out->name), "%.*s",
             colon != NULL ? (int)(colon - text) : (int)strlen(text), text);
    return 0;
}

/* Which of n names is meant; a bit each. */
static int find_names(const char *what, const struct point *p, const char *const *names, size_t n,
                      bool *chosen, struct refusal *why)
{
    const char *near;
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        chosen[i] = strcmp(p->name, ALL) == 0 || strcmp(p->name, names[i]) == 0;
        any |= chosen[i];
    }
    if (any)
        return 0;
    near = nearest_name(p->name, names, n);
    return refuse(why, "there is no %s '%s'%s%s%s", what, p->name, near ? ": did you mean '" : "",
                  near ? near : "", near ? "'?" : "");
}

static int add_port(const struct cfg_model *m, const struct point *p, struct capture_spec *s,
                    struct refusal *why)
{
    bool chosen[CFG_MAX_PORTS], rx = strcmp(p->point, "rx") == 0, tx = strcmp(p->point, "tx") == 0;
    const char *names[CFG_MAX_PORTS];

    if (!rx && !tx && p->point[0] != '\0')
        return refuse(why, "port '%s': expected :rx or :tx, not ':%.20s'", p->name, p->point);
    for (unsigned i = 0; i < m->n_ports; i++)
        names[i] = m->ports[i].name;
    if (find_names("port", p, names, m->n_ports, chosen, why) != 0)
        return -EINVAL;
    for (unsigned i = 0; i < m->n_ports; i++) {
        s->rx |= (uint64_t)(chosen[i] && !tx) << i;
        s->tx |= (uint64_t)(chosen[i] && !rx) << i;
    }
    return 0;
}

static int add_task(const struct cfg_model *m, const struct point *p, struct capture_spec *s,
                    struct refusal *why)
{
    bool chosen[CFG_MAX_TASKS], all = p->point[0] == '\0',
                                before = all || strcmp(p->point, "before") == 0,
                                after = all || strcmp(p->point, "after") == 0,
                                drops = all || strcmp(p->point, "drops") == 0;
    const char *names[CFG_MAX_TASKS];

    if (!before && !after && !drops)
        return refuse(why, "task '%s': expected :before, :after or :drops, not ':%.20s'", p->name,
                      p->point);
    for (unsigned i = 0; i < m->n_tasks; i++)
        names[i] = m->tasks[i].name;
    if (find_names("task", p, names, m->n_tasks, chosen, why) != 0)
        return -EINVAL;
    for (unsigned i = 0; i < m->n_tasks; i++) {
        s->before[i] |= chosen[i] && before;
        s->after[i] |= chosen[i] && after;
        s->reasons[i] |= chosen[i] && drops ? TAP_ALL_REASONS : 0;
    }
    return 0;
}

typedef int add_point(const struct cfg_model *m, const struct point *p, struct capture_spec *s,
                      struct refusal *why);

static int add_points(const struct cfg_model *m, const json_t *request, const char *key,
                      add_point *add, struct capture_spec *s, struct refusal *why)
{
    const json_t *list = json_object_get(request, key), *value;
    struct point p = {.point = ""};
    size_t i;

    if (list != NULL && !json_is_array(list))
        return refuse(why, "key '%s': expected a list of strings", key);
    json_array_foreach(list, i, value)
    {
        if (read_point(key, value, &p, why) != 0 || add(m, &p, s, why) != 0)
            return -EINVAL;
    }
    return 0;
}

/* Of each task whose drops are wanted: the bits of a reason that it has. */
static int keep_reason(const struct cfg_model *m, const char *reason, const struct capture_spec *s,
                       uint32_t keep[CFG_MAX_TASKS], struct refusal *why)
{
    const char *names[256], *near;
    bool any = false;
    size_t n = 0;

    for (unsigned t = 0; t < m->n_tasks; t++)
        for (unsigned i = 0; s->reasons[t] != 0 && i <= TAP_LINK_FULL; i++) {
            const char *name = capture_reason(&m->tasks[t], i);

            if (name != NULL && strcmp(name, reason) == 0) {
                keep[t] |= 1u << i;
                any = true;
            }
            if (name != NULL && n < RTE_DIM(names))
                names[n++] = name;
        }
    if (any)
        return 0;
    near = nearest_name(reason, names, n);
    return refuse(why, "none of these tasks drops for the reason '%.40s'%s%s%s", reason,
                  near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int filter_reasons(const struct cfg_model *m, const json_t *request, struct capture_spec *s,
                          struct refusal *why)
{
    const json_t *list = json_object_get(request, "reasons"), *value;
    uint32_t keep[CFG_MAX_TASKS] = {0};
    size_t i;

    if (list == NULL)
        return 0;
    if (!json_is_array(list) || json_array_size(list) == 0)
        return refuse(why, "key 'reasons': expected a list of drop reasons");
    json_array_foreach(list, i, value)
    {
        if (!json_is_string(value))
            return refuse(why, "key 'reasons': expected a list of drop reasons");
        if (keep_reason(m, json_string_value(value), s, keep, why) != 0)
            return -EINVAL;
    }
    memcpy(s->reasons, keep, sizeof(keep));
    return 0;
}

static int want_points(const struct cfg_model *m, const json_t *request, struct capture_spec *s,
                       struct refusal *why)
{
    static const struct point all_ports = {ALL, ""};

    if (add_points(m, request, "ports", add_port, s, why) != 0 ||
        add_points(m, request, "tasks", add_task, s, why) != 0)
        return -EINVAL;
    if (json_object_get(request, "ports") == NULL && json_object_get(request, "tasks") == NULL)
        add_port(m, &all_ports, s, why);
    return filter_reasons(m, request, s, why);
}

/* An optional integer. */
static int bound(const json_t *request, const char *key, uint64_t least, uint64_t most,
                 uint64_t without, uint64_t *out, struct refusal *why)
{
    *out = without;
    return json_object_get(request, key) == NULL
               ? 0
               : want_integer(request, key, least, most, out, why);
}

static int want_bounds(const json_t *request, struct capture_spec *s, struct refusal *why)
{
    uint64_t snaplen = 0, every = 0;

    if (bound(request, "seconds", 1, CAPTURE_MAX_SECONDS, DEFAULT_SECONDS, &s->seconds, why) != 0 ||
        bound(request, "packets", 1, CAPTURE_MAX_PACKETS, DEFAULT_PACKETS, &s->packets, why) != 0 ||
        bound(request, "bytes", 1, CAPTURE_MAX_BYTES, DEFAULT_BYTES, &s->bytes, why) != 0 ||
        bound(request, "snaplen", CAPTURE_MIN_SNAPLEN, UINT16_MAX, DEFAULT_SNAPLEN, &snaplen,
              why) != 0 ||
        bound(request, "every", 1, CAPTURE_MAX_EVERY, 1, &every, why) != 0)
        return -EINVAL;
    s->snaplen = (uint32_t)snaplen;
    s->every = (uint32_t)every;
    return 0;
}

/* A program that only answers requests has none. */
static int want_captures(const struct control *c, struct refusal *why)
{
    return c->capture != NULL ? 0 : refuse(why, "there are no captures here");
}

static json_t *start_capture(struct control *c, const json_t *request, struct refusal *why)
{
    const json_t *force = json_object_get(request, "force"),
                 *subscriber = json_object_get(request, "subscriber");
    struct capture_spec s = {.force = json_is_true(force)};
    char words[CAPTURE_WHY_MAX], *text;
    int rc;

    if (want_captures(c, why) != 0 || want_name(request, "file", &s.file, why) != 0 ||
        (subscriber != NULL && subscriber_value(c, subscriber, &s.subscriber, why) != 0) ||
        want_points(c->e->plan->cfg, request, &s, why) != 0 || want_bounds(request, &s, why) != 0)
        return NULL;
    if (force != NULL && !json_is_boolean(force)) {
        refuse(why, "key 'force': expected true or false");
        return NULL;
    }
    text = json_dumps(request, JSON_COMPACT);
    s.words = text;
    rc = capture_start(c->capture, &s, words);
    free(text);
    if (rc != 0) {
        refuse(why, "%s", words);
        return NULL;
    }
    return json_pack("{s:b}", "ok", 1);
}

static json_t *stop_capture(struct control *c, const json_t *request, struct refusal *why)
{
    (void)request;
    if (want_captures(c, why) != 0)
        return NULL;
    if (capture_stop(c->capture) == 0)
        return json_pack("{s:b}", "ok", 1);
    refuse(why, "no capture runs");
    return NULL;
}

static json_t *interfaces(const struct capture *c)
{
    json_t *list = json_array();
    struct capture_interface in;

    for (unsigned i = 0; capture_interface(c, i, &in); i++)
        if (in.name[0] != '\0')
            json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I, s:I}", "name", in.name,
                                                  "matched", (json_int_t)in.matched, "taken",
                                                  (json_int_t)in.taken, "lost", (json_int_t)in.lost,
                                                  "written", (json_int_t)in.packets));
    return list;
}

static json_t *show_capture(struct control *c, const json_t *request, struct refusal *why)
{
    static const char *const ends[] = {[CAPTURE_RUNS] = "",
                                       [CAPTURE_BY_TIME] = "seconds",
                                       [CAPTURE_BY_PACKETS] = "packets",
                                       [CAPTURE_BY_BYTES] = "bytes",
                                       [CAPTURE_STOPPED] = "stopped",
                                       [CAPTURE_FAILED] = "failed"};
    struct capture_state s;

    (void)request;
    if (want_captures(c, why) != 0)
        return NULL;
    capture_read(c->capture, &s);
    if (!s.any)
        return json_pack("{s:b, s:n}", "ok", 1, "capture");
    return json_pack("{s:b, s:{s:s, s:b, s:s, s:s, s:f, s:I, s:I, s:I, s:I, s:I, s:o}}", "ok", 1,
                     "capture", "path", s.path, "running", s.end == CAPTURE_RUNS, "ended_by",
                     ends[s.end], "error", s.error != 0 ? strerror(s.error) : "", "seconds",
                     s.seconds, "packets", (json_int_t)s.packets, "bytes", (json_int_t)s.bytes,
                     "matched", (json_int_t)s.matched, "taken", (json_int_t)s.taken, "lost",
                     (json_int_t)s.lost, "interfaces", interfaces(c->capture));
}

const struct command capture_commands[] = {
    {.name = "start-capture",
     .keys = {"file", "force", "subscriber", "ports", "tasks", "reasons", "seconds", "packets",
              "bytes", "snaplen", "every"},
     .run = start_capture},
    {.name = "stop-capture", .run = stop_capture},
    {.name = "show-capture", .run = show_capture},
    {.name = NULL},
};
