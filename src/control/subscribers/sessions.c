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

/* Some of a request's entries: the new subscribers, or the subscribers to be changed. */
struct batch {
    const char *was; /* the result that the answer tells for each entry done */
    int (*run)(struct control *c, struct request *r, struct cfg_subscriber *list, uint32_t n,
               uint32_t *id, struct refusal *why);
    struct cfg_subscriber *list;
    uint32_t *id;
    size_t *entry; /* of the request's list */
    size_t n;
};

struct putting {
    struct control *c;
    struct request *r;
    json_t *results;
    struct batch new, change;
    uint32_t done, equal, refused;
};

static int change(struct control *c, struct request *r, struct cfg_subscriber *list, uint32_t n,
                  uint32_t *id, struct refusal *why)
{
    return change_subscribers(c, r, list, n, id, why);
}

static bool open_batch(struct batch *b, size_t room)
{
    b->list = calloc(room, sizeof(*b->list));
    b->id = calloc(room, sizeof(*b->id));
    b->entry = calloc(room, sizeof(*b->entry));
    return b->list != NULL && b->id != NULL && b->entry != NULL;
}

static void close_batch(struct batch *b)
{
    free(b->list);
    free(b->id);
    free(b->entry);
}

static void gather(struct batch *b, const struct cfg_subscriber *s, uint32_t id, size_t entry)
{
    b->list[b->n] = *s;
    b->id[b->n] = id;
    b->entry[b->n++] = entry;
}

/* Name the first error of some entries. */
static json_t *error_of(const struct diags *d, const struct refusal *why)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->list[i].level == DIAG_ERROR)
            return json_pack("{s:s, s:s}", "was", "refused", "error", d->list[i].text);
    return json_pack("{s:s, s:s}", "was", "refused", "error", why->text);
}

/* Try n entries of a batch from one on. Returns whether that is done with: it is done for all, or
 * all have the same reason, so that a part of them would not do better. */
static bool try_some(struct putting *w, struct batch *b, size_t from, size_t n)
{
    struct diags d = {0};
    struct request part = *w->r;
    struct refusal why = {"no memory"};
    int rc;
    bool alike;

    part.l.d = &d;
    rc = b->run(w->c, &part, b->list + from, (uint32_t)n, b->id + from, &why);
    alike = rc == 0 || n == 1 || d.n_errors == 0;
    for (size_t i = from; alike && i < from + n; i++)
        json_array_set_new(w->results, b->entry[i],
                           rc == 0
                               ? json_pack("{s:s, s:I}", "was", b->was, "id", (json_int_t)b->id[i])
                               : error_of(&d, &why));
    w->done += rc == 0 ? (uint32_t)n : 0;
    w->refused += rc != 0 && alike ? (uint32_t)n : 0;
    diag_free(&d);
    return alike;
}

/* Run a batch for all entries that are valid: where a batch fails, each half of the batch is tried
 * by itself. */
static void do_what_can_be(struct putting *w, struct batch *b, size_t from, size_t n)
{
    if (n == 0 || try_some(w, b, from, n))
        return;
    do_what_can_be(w, b, from, n / 2);
    do_what_can_be(w, b, from + n / 2, n - n / 2);
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

/* Judge an entry whose line has a subscriber, or gather it. Of one who is not dynamic nothing is
 * changed: that his line is taken is what will be found wrong with the entry. */
static json_t *judge(struct putting *w, const struct cfg_subscriber *s, size_t entry)
{
    uint32_t id = id_on_line(w->c, s);
    const struct cfg_subscriber *is = id != 0 ? &control_model(w->c)->subscribers[id - 1] : NULL;
    bool equal = id != 0 && is_as_said(is, s);

    w->equal += equal;
    if (equal)
        return json_pack("{s:s, s:I}", "was", "equal", "id", (json_int_t)id);
    if (id == 0 || !is->dynamic || !s->dynamic)
        gather(&w->new, s, id, entry);
    else if (can_change(is, s))
        gather(&w->change, s, id, entry);
    else
        return json_pack("{s:s, s:I}", "was", "different", "id", (json_int_t)id);
    return json_null();
}

/* Read the entries and judge each by itself. */
static void judge_all(struct putting *w, size_t n, bool dynamic)
{
    struct diags *whole = w->r->l.d, d = {0};
    struct refusal none = {""};

    w->r->l.d = &d;
    for (size_t i = 0; i < n; i++) {
        struct cfg_subscriber s;
        bool right = read_subscriber(w->r, &s, i);

        s.dynamic = dynamic;
        w->refused += !right;
        json_array_append_new(w->results, right ? judge(w, &s, i) : error_of(&d, &none));
        diag_free(&d);
        d = (struct diags){0};
    }
    w->r->l.d = whole;
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
    size_t n = want_list(r, &r->v[PUT_SUBSCRIBERS], "subscribers", REQUEST_MAX_CHANGES, "objects");
    struct putting w = {.c = c,
                        .r = r,
                        .results = json_array(),
                        .new = {.was = "added", .run = add_subscribers},
                        .change = {.was = "changed", .run = change}};
    json_t *answer = NULL;

    (void)why;
    if (n > 0 && open_batch(&w.new, n) && open_batch(&w.change, n)) {
        judge_all(&w, n, r->v[PUT_DYNAMIC].v.u != 0);
        do_what_can_be(&w, &w.change, 0, w.change.n); /* first: they may give up what others get */
        do_what_can_be(&w, &w.new, 0, w.new.n);
        answer =
            json_pack("{s:b, s:I, s:I, s:I, s:O}", "ok", 1, "changed", (json_int_t)w.done, "equal",
                      (json_int_t)w.equal, "refused", (json_int_t)w.refused, "results", w.results);
    }
    json_decref(w.results);
    close_batch(&w.new);
    close_batch(&w.change);
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
    {"put-subscribers", KEYS(put_keys), put, "adds or changes them, each by himself", true},
    {"list-subscribers", KEYS(show_keys), show,
     .help = "subscribers as put-subscribers has them, and what they have sent"},
    {NULL},
};
