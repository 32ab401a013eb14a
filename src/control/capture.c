/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "control/request.h"

/* The requests about captures. */

enum {
    CAPTURE_FILE,
    CAPTURE_STREAM,
    CAPTURE_FORCE,
    CAPTURE_SUBSCRIBER,
    CAPTURE_FAMILY,
    CAPTURE_PORTS,
    CAPTURE_TASKS,
    CAPTURE_REASONS,
    CAPTURE_SECONDS,
    CAPTURE_PACKETS,
    CAPTURE_BYTES,
    CAPTURE_SNAPLEN,
    CAPTURE_EVERY,
    N_CAPTURE_KEYS
};

static const char *const families[] = {
    [CAPTURE_BOTH] = "both", [CAPTURE_IPV4] = "ipv4", [CAPTURE_IPV6] = "ipv6", NULL};

static const struct key start_keys[N_CAPTURE_KEYS] = {
    [CAPTURE_FILE] = {"file", KEY_STRING, .help = "a pcapng file"},
    [CAPTURE_STREAM] = {"stream", KEY_BOOL, .def = "false",
                        .help = "in the place of a file: this connection, which ends with it"},
    [CAPTURE_FORCE] = {"force", KEY_BOOL, .def = "false", .help = "replace a file that is there"},
    [CAPTURE_SUBSCRIBER] = {"subscriber", KEY_SUBSCRIBER, .help = "only packets of him"},
    [CAPTURE_FAMILY] = {"family", KEY_ENUM, .choices = families, .def = "both",
                        .help = "only packets of this one; ARP is of IPv4"},
    [CAPTURE_PORTS] = {"ports", KEY_LIST, .help = "names, or NAME:rx or NAME:tx; * for all"},
    [CAPTURE_TASKS] = {"tasks", KEY_LIST,
                       .help = "names, or NAME:before, NAME:after or NAME:drops; * for all"},
    [CAPTURE_REASONS] = {"reasons", KEY_LIST, .help = "only drops for these reasons"},
    [CAPTURE_SECONDS] = {"seconds", KEY_COUNT, .def = "10", .min = 1, .max = CAPTURE_MAX_SECONDS,
                         .help = "ends after so many seconds"},
    [CAPTURE_PACKETS] = {"packets", KEY_COUNT, .def = "1000000", .min = 1,
                         .max = CAPTURE_MAX_PACKETS, .help = "ends after so many packets"},
    [CAPTURE_BYTES] = {"bytes", KEY_SIZE, .def = "100M", .min = 1, .max = CAPTURE_MAX_BYTES,
                       .help = "ends before the file is larger"},
    [CAPTURE_SNAPLEN] = {"snaplen", KEY_COUNT, .def = "65535", .min = CAPTURE_MIN_SNAPLEN,
                         .max = UINT16_MAX, .help = "bytes of each packet at most"},
    [CAPTURE_EVERY] = {"every", KEY_COUNT, .def = "1", .min = 1, .max = CAPTURE_MAX_EVERY,
                       .help = "of so many packets one"},
};

#define ALL "*"

/* An entry of "ports" or "tasks": NAME, or NAME:POINT; NAME may be "*" for all. */
struct point {
    char name[64];
    const char *point; /* "": all points */
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

/* Choose those of n names that a point names. */
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

static int add_points(const struct cfg_model *m, const struct request *r, unsigned k,
                      add_point *add, struct capture_spec *s, struct refusal *why)
{
    const char *key = start_keys[k].name;
    const json_t *list = r->v[k].json, *value;
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

/* Keep the bit of a reason for each task whose drops are wanted and that has it. */
static int keep_reason(const struct cfg_model *m, const char *reason, const struct capture_spec *s,
                       uint64_t keep[CFG_MAX_TASKS], struct refusal *why)
{
    const char *names[256], *near;
    bool any = false;
    size_t n = 0;

    for (unsigned t = 0; t < m->n_tasks; t++)
        for (unsigned i = 0; s->reasons[t] != 0 && i <= DROP_LINK_FULL; i++) {
            const char *name = capture_reason(&m->tasks[t], i);

            if (name != NULL && strcmp(name, reason) == 0) {
                keep[t] |= UINT64_C(1) << i;
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

static int filter_reasons(const struct cfg_model *m, const struct request *r,
                          struct capture_spec *s, struct refusal *why)
{
    const json_t *list = r->v[CAPTURE_REASONS].json, *value;
    uint64_t keep[CFG_MAX_TASKS] = {0};
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

static int want_points(const struct cfg_model *m, const struct request *r, struct capture_spec *s,
                       struct refusal *why)
{
    static const struct point all_ports = {ALL, ""};

    if (add_points(m, r, CAPTURE_PORTS, add_port, s, why) != 0 ||
        add_points(m, r, CAPTURE_TASKS, add_task, s, why) != 0)
        return -EINVAL;
    if (!r->v[CAPTURE_PORTS].set && !r->v[CAPTURE_TASKS].set)
        add_port(m, &all_ports, s, why);
    return filter_reasons(m, r, s, why);
}

/* A program that only answers requests takes no captures. */
static int want_captures(const struct control *c, struct refusal *why)
{
    return c->capture != NULL ? 0 : refuse(why, "there are no captures here");
}

/* Where shall the packets go? Into a file, or to the client that asks. */
static int want_target(const struct control *c, const struct value *v, struct refusal *why)
{
    bool stream = v[CAPTURE_STREAM].v.u != 0;

    if (stream == v[CAPTURE_FILE].set)
        return refuse(why, "expected either file or stream");
    if (stream && c->from == NULL)
        return refuse(why, "there is no connection to be the stream");
    if (!stream || !c->from->behind)
        return 0;
    c->from->again = true; /* the stream is behind all answers */
    return -EAGAIN;
}

static json_t *start_capture(struct control *c, struct request *r, struct refusal *why)
{
    const struct value *v = r->v;
    struct capture_spec s = {.file = v[CAPTURE_FILE].set ? v[CAPTURE_FILE].v.s : NULL,
                             .stream = c->from != NULL ? c->from->client : -1,
                             .force = v[CAPTURE_FORCE].v.u != 0,
                             .family = (enum capture_family)v[CAPTURE_FAMILY].v.u,
                             .seconds = v[CAPTURE_SECONDS].v.u,
                             .packets = v[CAPTURE_PACKETS].v.u,
                             .bytes = v[CAPTURE_BYTES].v.u,
                             .snaplen = (uint32_t)v[CAPTURE_SNAPLEN].v.u,
                             .every = (uint32_t)v[CAPTURE_EVERY].v.u};
    char words[CAPTURE_WHY_MAX], *text;
    int rc;

    if (want_captures(c, why) != 0 || want_target(c, v, why) != 0 ||
        (v[CAPTURE_SUBSCRIBER].set &&
         !want_subscriber(c, &r->l, &v[CAPTURE_SUBSCRIBER], &s.subscriber)) ||
        want_points(c->e->plan->cfg, r, &s, why) != 0)
        return NULL;
    text = json_dumps(r->json, JSON_COMPACT);
    s.words = text;
    rc = capture_start(c->capture, &s, words);
    free(text);
    if (rc != 0) {
        refuse(why, "%s", words);
        return NULL;
    }
    if (s.file == NULL)
        c->from->taken = true; /* the answer begins the stream */
    return json_pack("{s:b}", "ok", 1);
}

static json_t *stop_capture(struct control *c, struct request *r, struct refusal *why)
{
    (void)r;
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

static json_t *show_capture(struct control *c, struct request *r, struct refusal *why)
{
    static const char *const ends[] = {[CAPTURE_RUNS] = "",
                                       [CAPTURE_BY_TIME] = "seconds",
                                       [CAPTURE_BY_PACKETS] = "packets",
                                       [CAPTURE_BY_BYTES] = "bytes",
                                       [CAPTURE_STOPPED] = "stopped",
                                       [CAPTURE_FAILED] = "failed",
                                       [CAPTURE_BY_READER] = "reader"};
    struct capture_state s;

    (void)r;
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
    {"start-capture", KEYS(start_keys), start_capture, "writes packets to a pcapng file", false},
    {"stop-capture", NULL, 0, stop_capture, "ends the capture", false},
    {"show-capture", NULL, 0, show_capture, "how far the capture is, or the last one was", false},
    {NULL},
};
