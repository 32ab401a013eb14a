/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/request.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/qos_profiles.h"
#include "config/subscribers.h"
#include "control/rates.h"
#include "control/subscribers/add.h"
#include "control/subscribers/octets.h"
#include "control/subscribers/room.h"
#include "provision.h"
#include "telemetry/metrics.h"

/* --- pipes --- */

struct pipe_work {
    const struct control *c;
    const struct shaper *s;
    const struct cfg_subscriber *list;
    bool *waits; /* by place in list: packets still wait in the closed pipe */
};

static bool shapes(const struct pipe_work *w, uint32_t i)
{
    return w->list[i].pipe != CFG_NONE && w->c->by_port[w->list[i].port] == w->s->q->shape &&
           qos_place(w->s->q, w->list[i].pipe) != CFG_NONE;
}

static bool tell_opened(const struct task *t, uint32_t i, void *ctx)
{
    const struct pipe_work *w = ctx;

    return !shapes(w, i) ||
           qos_tell_opened(t, qos_place(w->s->q, w->list[i].pipe), w->list[i].profile);
}

static bool tell_closed(const struct task *t, uint32_t i, void *ctx)
{
    const struct pipe_work *w = ctx;

    return !shapes(w, i) || qos_tell_closed(t, qos_place(w->s->q, w->list[i].pipe));
}

/* Core calls. */
static int open_one(struct task *t, uint32_t i, void *ctx)
{
    const struct pipe_work *w = ctx;

    return shapes(w, i)
               ? qos_set_profile(t, qos_place(w->s->q, w->list[i].pipe), w->list[i].profile)
               : 0;
}

static int close_one(struct task *t, uint32_t i, void *ctx)
{
    const struct pipe_work *w = ctx;

    if (shapes(w, i) && qos_close_pipe(t, qos_place(w->s->q, w->list[i].pipe)) > 0)
        w->waits[i] = true;
    return 0;
}

static const struct news opening = {tell_opened, open_one}, closing = {tell_closed, close_one};

/* Tell the core of each scheduler that shapes some of n subscribers. */
static int work_on_pipes(struct control *c, const struct cfg_subscriber *list, uint32_t n,
                         const struct news *news, bool *waits, struct refusal *why)
{
    for (unsigned i = 0; i < c->n_shapers; i++) {
        struct pipe_work w = {.c = c, .s = &c->shaper[i], .list = list, .waits = waits};
        bool any = false;
        int rc;

        for (uint32_t k = 0; !any && k < n; k++)
            any = shapes(&w, k);
        rc = any ? core_tell_each(c->e, w.s->instance, n, news, &w) : 0;
        if (rc != 0) {
            refuse(why, "task %s: %s", w.s->task->cfg->name, strerror(-rc));
            return rc;
        }
    }
    return 0;
}

/* --- the running config, and the samples of pipes --- */

static void set_pipe_owner(struct control *c, const struct cfg_subscriber *s, uint32_t id)
{
    for (unsigned i = 0; s->pipe != CFG_NONE && i < c->n_shapers; i++) {
        struct shaper *sh = &c->shaper[i];
        uint32_t pipe = qos_place(sh->q, s->pipe);

        if (sh->q->shape != c->by_port[s->port] || pipe == CFG_NONE)
            continue;
        sh->subscriber[pipe] = id;
        memset(&sh->before[pipe], 0, sizeof(sh->before[0]));
        memset(&sh->sample[pipe], 0, sizeof(sh->sample[0]));
        if (sh->counters != NULL)
            memset(&sh->counters[(size_t)pipe * sh->n_queues], 0,
                   sh->n_queues * sizeof(sh->counters[0]));
    }
}

/* A subscriber is in the running config from now on, which takes over his name. */
static void enter(struct control *c, const struct cfg_subscriber *s, char *name, uint32_t id)
{
    metrics_hold();
    c->model->subscribers[id - 1] = *s;
    c->model->subscribers[id - 1].name = name;
    if (id > c->model->n_subscribers)
        c->model->n_subscribers = id;
    set_pipe_owner(c, s, id);
    metrics_release();
    c->ids.n_subscribers++;
}

/* An id is free in the running config from now on. */
static void leave(struct control *c, uint32_t id)
{
    struct cfg_subscriber *s = &c->model->subscribers[id - 1];

    metrics_hold();
    set_pipe_owner(c, s, 0);
    s->port = CFG_NONE;
    free((char *)(uintptr_t)s->name);
    s->name = NULL;
    metrics_release();
    c->ids.n_subscribers--;
}

/* --- remove --- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* An id must not be in a list twice. */
static int check_ids(const uint32_t *id, uint32_t n, struct refusal *why)
{
    uint32_t *sorted = malloc(n * sizeof(*sorted));
    int rc = 0;

    if (sorted == NULL)
        return -ENOMEM;
    memcpy(sorted, id, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_number);
    for (uint32_t i = 1; rc == 0 && i < n; i++)
        if (sorted[i] == sorted[i - 1])
            rc = refuse(why, "subscriber %" PRIu32 " is named twice", sorted[i]);
    free(sorted);
    return rc;
}

/* Remove n subscribers, by id. Their packets are dropped as unknown from now on, and so are packets
 * that wait in their queues (not_shaped), but for librte_sched, which sends them. Returns 0;
 * -EINVAL: none was removed; -ETIMEDOUT: they are removed, but a core does not answer and may send
 * what waits. */
static int remove_subscribers(struct control *c, const uint32_t *id, uint32_t n,
                              struct refusal *why)
{
    struct cfg_subscriber *removed = malloc(n * sizeof(*removed));
    bool *waits = calloc(n, sizeof(*waits));
    int rc = removed == NULL || waits == NULL ? -ENOMEM : check_ids(id, n, why);

    if (rc != 0)
        goto out;
    for (uint32_t i = 0; i < n; i++) {
        removed[i] = c->model->subscribers[id[i] - 1];
        removed[i].name = NULL; /* leave() frees it */
        subscriber_unpublish(c->tables->subscribers, id[i]);
        leave(c, id[i]);
    }
    rc = work_on_pipes(c, removed, n, &closing, waits, why);
    /* where a core does not answer, packets of these ids may wait for ever: they stay out of use */
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        ids_retire_subscriber(c, id[i], waits[i]);
out:
    free(removed);
    free(waits);
    return rc;
}

/* --- add --- */

static int publish(struct control *c, const struct cfg_subscriber *s, uint32_t *id)
{
    struct subscriber_spec spec = subscriber_spec_of(c->model, s, c->tables->port_mac[s->port]);
    char *name = s->name != NULL ? strdup(s->name) : NULL;
    int64_t rc;

    accounts_begin(c, subscriber_next_id(c->tables->subscribers));
    rc = s->name != NULL && name == NULL ? -ENOMEM : subscriber_add(c->tables->subscribers, &spec);
    if (rc < 0) {
        free(name);
        return (int)rc;
    }
    *id = (uint32_t)rc;
    enter(c, s, name, *id);
    return 0;
}

/* Publish n subscribers, whose pipes are open: all, or none. */
static int publish_all(struct control *c, struct request *r, const struct cfg_subscriber *list,
                       uint32_t n, uint32_t *id)
{
    struct refusal unused;

    for (uint32_t i = 0; i < n; i++) {
        int rc = publish(c, &list[i], &id[i]);

        if (rc == 0)
            continue;
        diag_error(r->l.d, entry_loc(r, i), "%s",
                   rc == -ENOMEM ? "no memory for its indices: VLANs, keys and addresses near "
                                   "those of others take less"
                                 : strerror(-rc));
        if (i > 0)
            remove_subscribers(c, id, i, &unused);
        for (uint32_t k = i; k < n; k++)
            ids_return_pipe(c, list[k].port, list[k].pipe);
        return rc;
    }
    return 0;
}

int add_subscribers(struct control *c, struct request *r, struct cfg_subscriber *list, uint32_t n,
                    uint32_t *id, struct refusal *why)
{
    int rc = check_new_subscribers(c, r, list, n, why);

    if (rc != 0)
        return rc;
    for (uint32_t i = 0; i < n; i++)
        list[i].pipe = ids_take_pipe(c, &list[i]);
    rc = work_on_pipes(c, list, n, &opening, NULL, why);
    if (rc == 0)
        return publish_all(c, r, list, n, id);
    for (uint32_t i = 0; i < n; i++)
        ids_return_pipe(c, list[i].port, list[i].pipe);
    return rc;
}

/* --- MAC --- */

struct mac_change {
    struct subscriber *s;
    const uint8_t *mac;
};

static int set_mac(struct task *t, void *arg)
{
    const struct mac_change *m = arg;

    (void)t;
    subscriber_set_static_mac(m->s, m->mac);
    return 0;
}

int change_mac(struct control *c, uint32_t id, const uint8_t *mac, struct refusal *why)
{
    struct mac_change m = {&c->tables->subscribers->record[id], mac};
    uint32_t arp = arp_instance(c);
    int rc;

    if (c->model->subscribers[id - 1].pppoe.session != 0)
        return refuse(why, "he is in a PPPoE session, which has his MAC");
    if (arp == CFG_NONE && mac == NULL)
        return refuse(why, "nobody learns MACs here: no task of type arp runs");
    /* the arp task is the one writer of MACs */
    rc = arp != CFG_NONE ? engine_call(c->e, arp, set_mac, &m) : set_mac(NULL, &m);
    if (rc != 0) {
        refuse(why, "task arp: %s", strerror(-rc));
        return rc;
    }
    c->model->subscribers[id - 1].has_mac = mac != NULL;
    if (mac != NULL)
        memcpy(c->model->subscribers[id - 1].mac, mac, 6);
    return 0;
}

/* --- requests --- */

static const struct key one_key[] = {
    {"subscriber", KEY_SUBSCRIBER, .required = true, .help = "who"}};
static const struct key add_keys[] = {
    {"subscribers", KEY_LIST, .help = "objects with the keys of add-subscriber"}};
static const struct key remove_keys[] = {
    {"subscribers", KEY_LIST, .help = "ids, or \"PORT SVLAN.CVLAN\""},
    {"if_there", KEY_BOOL, .def = "false", .help = "those who are not there are left out"},
    {"octets", KEY_BOOL, .def = "false", .help = "what they have sent and were sent to the end"}};
static const struct key mac_keys[] = {
    {"subscriber", KEY_SUBSCRIBER, .required = true, .help = "whose"},
    {"mac", KEY_MAC, .required = true, .or_null = true,
     .help = "his MAC address; null: it is to be learned"}};

static json_t *add_one(struct control *c, struct request *r, struct refusal *why)
{
    struct cfg_subscriber s = subscriber_of(r->v);
    uint32_t id = 0;

    if (!check_families(&r->l, entry_loc(r, 0), r->v) || !read_pppoe(&r->l, r->v, 1, &s) ||
        add_subscribers(c, r, &s, 1, &id, why) != 0)
        return NULL;
    return json_pack("{s:b, s:i, s:I}", "ok", 1, "changed", 1, "id", (json_int_t)id);
}

bool read_subscriber(struct request *r, struct cfg_subscriber *s, size_t i)
{
    struct value v[N_SUBSCRIBER_KEYS];

    if (!want_object(r, &r->v[0], i, "subscriber", subscriber_keys, N_SUBSCRIBER_KEYS, v) ||
        !check_families(&r->l, r->l.at, v))
        return false;
    *s = subscriber_of(v);
    return read_pppoe(&r->l, v, 1, s);
}

bool read_subscribers(struct request *r, struct cfg_subscriber *list, size_t n)
{
    bool ok = true;

    for (size_t i = 0; ok && i < n; i++)
        ok = read_subscriber(r, &list[i], i);
    return ok;
}

static json_t *added(const uint32_t *id, size_t n)
{
    json_t *ids = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(ids, json_integer(id[i]));
    return json_pack("{s:b, s:I, s:o}", "ok", 1, "changed", (json_int_t)n, "ids", ids);
}

static json_t *add_many(struct control *c, struct request *r, struct refusal *why)
{
    size_t n = want_list(r, &r->v[0], "subscribers", REQUEST_MAX_CHANGES, "objects");
    struct cfg_subscriber *list = calloc(n + 1, sizeof(*list));
    uint32_t *id = calloc(n + 1, sizeof(*id));
    json_t *answer = NULL;

    if (n > 0 && list != NULL && id != NULL && read_subscribers(r, list, n) &&
        add_subscribers(c, r, list, (uint32_t)n, id, why) == 0)
        answer = added(id, n);
    free(id);
    free(list);
    return answer;
}

static json_t *remove_one(struct control *c, struct request *r, struct refusal *why)
{
    uint32_t id;

    if (!want_subscriber(c, &r->l, &r->v[0], &id) || remove_subscribers(c, &id, 1, why) != 0)
        return NULL;
    return answer_changed(1);
}

/* The id of whom an entry names. Returns false where there is nobody, which is no error if that may
 * be. */
static bool entry_id(const struct control *c, struct request *r, const struct value *v,
                     bool if_there, uint32_t *id)
{
    struct diags unused = {0};
    struct loader l = r->l;
    bool found;

    if (!if_there)
        return want_subscriber(c, &r->l, v, id);
    l.d = &unused;
    found = want_subscriber(c, &l, v, id);
    diag_free(&unused);
    return found;
}

/* One of those whom a request removes. */
struct leaver {
    uint32_t id;   /* 0: there is nobody */
    uint32_t line; /* subscriber_vlan_key(); of who is not there only if the request says it */
};

/* Whom an entry names. Returns false where that is an error. */
static bool read_leaver(const struct control *c, struct request *r, size_t i, struct leaver *l)
{
    struct value v = {.json = json_array_get(r->v[0].json, i)};
    bool if_there = r->v[1].v.u != 0;

    r->l.at = entry_loc(r, i);
    if (!read_value(&r->l, one_key, &v))
        return false;
    if (entry_id(c, r, &v, if_there, &l->id)) {
        const struct cfg_subscriber *s = &control_model(c)->subscribers[l->id - 1];

        l->line = subscriber_vlan_key((uint8_t)s->port, s->svlan, s->cvlan);
        return true;
    }
    l->id = 0;
    if (v.v.s != NULL)
        circuit_key(c, v.v.s, &l->line);
    return if_there;
}

/* The final octets of removed subscribers, after the grace period; of a line without a subscriber,
 * the octets kept from an earlier removal. */
static json_t *last_octets(struct control *c, const struct leaver *l, size_t n)
{
    json_t *list = json_array();

    ids_wait_grace(c);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, l[i].id != 0 ? account_end(c, l[i].id, l[i].line)
                                                 : account_kept(c, l[i].line));
    return list;
}

static json_t *remove_many(struct control *c, struct request *r, struct refusal *why)
{
    size_t n = want_list(r, &r->v[0], "subscribers", REQUEST_MAX_CHANGES, "of them");
    struct leaver *l = calloc(n + 1, sizeof(*l));
    uint32_t *id = calloc(n + 1, sizeof(*id)), k = 0;
    bool ok = n > 0 && l != NULL && id != NULL;
    json_t *answer = NULL;

    for (size_t i = 0; ok && i < n; i++) {
        ok = read_leaver(c, r, i, &l[i]);
        id[k] = l[i].id;
        k += ok && l[i].id != 0;
    }
    ok = ok && (k == 0 || remove_subscribers(c, id, k, why) == 0);
    if (ok) {
        answer = answer_changed(k);
        if (r->v[2].v.u != 0)
            json_object_set_new(answer, "octets", last_octets(c, l, n));
    }
    free(id);
    free(l);
    return answer;
}

static json_t *request_set_mac(struct control *c, struct request *r, struct refusal *why)
{
    uint8_t mac[6];
    uint32_t id;

    mac_from_u64(r->v[1].v.u, mac);
    if (!want_subscriber(c, &r->l, &r->v[0], &id) ||
        change_mac(c, id, r->v[1].set ? mac : NULL, why) != 0)
        return NULL;
    return answer_changed(1);
}

static_assert(N_SUBSCRIBER_KEYS <= REQUEST_MAX_KEYS, "a request has room for all keys");

const struct command subscriber_commands[] = {
    {"add-subscriber", subscriber_keys, N_SUBSCRIBER_KEYS, add_one, "adds a subscriber", true},
    {"add-subscribers", KEYS(add_keys), add_many, "adds all of them, or none", true},
    {"remove-subscriber", KEYS(one_key), remove_one, "removes a subscriber", true},
    {"remove-subscribers", KEYS(remove_keys), remove_many, "removes all of them, or none", true},
    {"set-mac", KEYS(mac_keys), request_set_mac, "gives a subscriber a static MAC address", true},
    {NULL},
};
