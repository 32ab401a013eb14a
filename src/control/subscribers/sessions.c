/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests for a control plane, which says again and again who is to be there, until it is so: each
 * entry of a list is judged by itself, and what is there already is no mistake. Subscribers whom it
 * has put are dynamic: a reload of the configuration leaves them alone.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/subscribers.h"
#include "control/delta.h"
#include "control/subscribers/add.h"
#include "control/subscribers/entry.h"
#include "control/view.h"

/* --- put --- */

/* Entries of a request that are new. */
struct news {
    struct control *c;
    struct request *r;
    struct cfg_subscriber *list;
    uint32_t *id;
    size_t *entry; /* of the request's list */
    json_t *results;
    uint32_t added, refused;
};

static void add_result(const struct news *w, size_t i, json_t *result)
{
    json_array_set_new(w->results, w->entry[i], result);
}

/* Name the first error of some entries. */
static json_t *error_of(const struct diags *d, const struct refusal *why)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->list[i].level == DIAG_ERROR)
            return json_pack("{s:s, s:s}", "was", "refused", "error", d->list[i].text);
    return json_pack("{s:s, s:s}", "was", "refused", "error", why->text);
}

/* Try to add n entries from one on. Returns whether that is done with: all are added, or all have
 * the same reason, so that a part of them would not do better. */
static bool try_to_add(struct news *w, size_t from, size_t n)
{
    struct diags d = {0};
    struct request part = *w->r;
    struct refusal why = {"no memory"};
    int rc;
    bool alike;

    part.l.d = &d;
    rc = add_subscribers(w->c, &part, w->list + from, (uint32_t)n, w->id + from, &why);
    alike = rc == 0 || n == 1 || d.n_errors == 0;
    for (size_t i = from; alike && i < from + n; i++)
        add_result(w, i,
                   rc == 0 ? json_pack("{s:s, s:I}", "was", "added", "id", (json_int_t)w->id[i])
                           : error_of(&d, &why));
    w->added += rc == 0 ? (uint32_t)n : 0;
    w->refused += rc != 0 && alike ? (uint32_t)n : 0;
    diag_free(&d);
    return alike;
}

/* Add those that can be added: where one of some is wrong, each half of them is tried. */
static void add_what_can_be(struct news *w, size_t from, size_t n)
{
    if (n == 0 || try_to_add(w, from, n))
        return;
    add_what_can_be(w, from, n / 2);
    add_what_can_be(w, from + n / 2, n - n / 2);
}

/* Is a subscriber as an entry says? */
static bool is_as_said(const struct cfg_subscriber *is, const struct cfg_subscriber *said)
{
    return same_identity(is, said) && is->profile == said->profile &&
           is->has_mac == said->has_mac && (!is->has_mac || memcmp(is->mac, said->mac, 6) == 0) &&
           is->dynamic == said->dynamic &&
           (is->name == said->name ||
            (is->name != NULL && said->name != NULL && strcmp(is->name, said->name) == 0));
}

static uint32_t id_on_line(const struct control *c, const struct cfg_subscriber *s)
{
    return idmap_get(c->tables->subscribers->by_vlan,
                     subscriber_vlan_key((uint8_t)s->port, s->svlan, s->cvlan));
}

/* Judge the entries whose lines have subscribers, and gather the others. Returns how many these
 * are; *equal: how many are there as they should be. */
static size_t sort_out(struct news *w, const struct cfg_subscriber *all, size_t n, uint32_t *equal)
{
    size_t n_new = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t id = id_on_line(w->c, &all[i]);
        bool same = id != 0 && is_as_said(&control_model(w->c)->subscribers[id - 1], &all[i]);

        json_array_append_new(w->results,
                              id == 0 ? json_null()
                                      : json_pack("{s:s, s:I}", "was", same ? "equal" : "different",
                                                  "id", (json_int_t)id));
        *equal += same;
        if (id != 0)
            continue;
        w->list[n_new] = all[i];
        w->entry[n_new++] = i;
    }
    return n_new;
}

enum { PUT_SUBSCRIBERS, PUT_DYNAMIC, N_PUT_KEYS };

static const struct key put_keys[N_PUT_KEYS] = {
    [PUT_SUBSCRIBERS] = {"subscribers", KEY_LIST,
                         .help = "objects with the keys of "
                                 "add-subscriber"},
    [PUT_DYNAMIC] = {"dynamic", KEY_BOOL, .def = "true",
                     .help = "a reload of the configuration leaves them alone"},
};

static json_t *put(struct control *c, struct request *r, struct refusal *why)
{
    size_t n = want_list(r, &r->v[PUT_SUBSCRIBERS], "subscribers", REQUEST_MAX_CHANGES, "objects"),
           n_new;
    bool dynamic = r->v[PUT_DYNAMIC].v.u != 0;
    struct cfg_subscriber *all = calloc(n + 1, sizeof(*all));
    struct news w = {.c = c,
                     .r = r,
                     .list = calloc(n + 1, sizeof(*w.list)),
                     .id = calloc(n + 1, sizeof(*w.id)),
                     .entry = calloc(n + 1, sizeof(*w.entry)),
                     .results = json_array()};
    json_t *answer = NULL;
    uint32_t equal = 0;

    (void)why;
    if (n > 0 && all != NULL && w.list != NULL && w.id != NULL && w.entry != NULL &&
        read_subscribers(r, all, n)) {
        for (size_t i = 0; i < n; i++)
            all[i].dynamic = dynamic;
        n_new = sort_out(&w, all, n, &equal);
        add_what_can_be(&w, 0, n_new);
        answer =
            json_pack("{s:b, s:I, s:I, s:I, s:O}", "ok", 1, "changed", (json_int_t)w.added, "equal",
                      (json_int_t)equal, "refused", (json_int_t)w.refused, "results", w.results);
    }
    json_decref(w.results);
    free(w.entry);
    free(w.id);
    free(w.list);
    free(all);
    return answer;
}

/* --- show --- */

enum { SHOW_FIRST, SHOW_COUNT, SHOW_ALL, N_SHOW_KEYS };

#define SHOW_MOST 10000 /* subscribers in one answer */

static const struct key show_keys[N_SHOW_KEYS] = {
    [SHOW_FIRST] = {"first", KEY_COUNT, .def = "1", .min = 1, .max = UINT32_MAX,
                    .help = "id to begin with"},
    [SHOW_COUNT] = {"count", KEY_COUNT, .def = "1000", .min = 1, .max = SHOW_MOST,
                    .help = "how many at most"},
    [SHOW_ALL] = {"all", KEY_BOOL, .def = "false", .help = "also those of the configuration"},
};

/* What the schedulers of a direction have sent of a subscriber, since he was added. */
static void count(const struct control *c, uint32_t id, enum qos_direction d, json_t *to)
{
    const struct qos_pipe *p;

    for (const struct shaper *s = next_shaper(c, NULL); s != NULL; s = next_shaper(c, s)) {
        const struct shaper *on = s->q->direction == d ? shard_of(c, s, id, &p) : NULL;
        const struct sched_pipe_counters *sent;
        uint32_t pipe;

        if (on == NULL)
            continue;
        pipe = (uint32_t)(p - on->q->pipe);
        sent = sched_pipe_counters(on->q->sched, pipe);
        json_object_set_new(to, direction_name(d),
                            json_pack("{s:I, s:I}", "packets", (json_int_t)shaper_packets(on, pipe),
                                      "bytes",
                                      (json_int_t)__atomic_load_n(&sent->bytes, __ATOMIC_RELAXED)));
        return;
    }
}

static json_t *show(struct control *c, struct request *r, struct refusal *why)
{
    const struct cfg_model *m = control_model(c);
    uint64_t id = r->v[SHOW_FIRST].v.u, left = r->v[SHOW_COUNT].v.u;
    json_t *list = json_array();

    (void)why;
    for (; id <= m->n_subscribers && left > 0; id++) {
        const struct cfg_subscriber *s = &m->subscribers[id - 1];
        json_t *o;

        if (!running_has(m, (uint32_t)id) || (!s->dynamic && r->v[SHOW_ALL].v.u == 0))
            continue;
        o = subscriber_entry_json(m, s);
        json_object_set_new(o, "id", json_integer((json_int_t)id));
        json_object_set_new(o, "dynamic", json_boolean(s->dynamic));
        count(c, (uint32_t)id, QOS_UP, o);
        count(c, (uint32_t)id, QOS_DOWN, o);
        json_array_append_new(list, o);
        left--;
    }
    return json_pack("{s:b, s:o, s:o}", "ok", 1, "subscribers", list, "next",
                     id <= m->n_subscribers ? json_integer((json_int_t)id) : json_null());
}

const struct command session_commands[] = {
    {"put-subscribers", KEYS(put_keys), put, "adds those who are not there, each by himself", true},
    {"list-subscribers", KEYS(show_keys), show,
     .help = "subscribers as put-subscribers has them, and what they have sent"},
    {NULL},
};
