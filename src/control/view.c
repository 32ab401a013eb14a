/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "control/rates.h"
#include "control/subscribers/octets.h"
#include "tasks/arp/arp.h"

/* --- subscribers --- */

#define PAGE 1024 /* subscribers whose queues are read before their rows are printed */

struct reading {
    const struct control *c;
    struct shaper *s;
    uint32_t first; /* id of the first subscriber */
};

/* A core call. */
static int read_one(struct task *t, uint32_t i, void *ctx)
{
    const struct reading *r = ctx;
    const struct shaper *s = r->s;
    const struct qos_pipe *p = shaper_pipe(r->c, s, r->first + i);
    uint32_t pipe;

    if (p == NULL)
        return 0;
    qos_take_news(t);
    pipe = (uint32_t)(p - s->q->pipe);
    for (unsigned k = 0; k < s->n_queues; k++) {
        int rc =
            sched_read_queue(s->q->sched, pipe, s->queue[k], &s->counters[pipe * s->n_queues + k]);

        if (rc != 0)
            return rc;
    }
    return 0;
}

int subscribers_read(struct control *c, uint32_t first, uint32_t n)
{
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < c->n_shapers; i++) {
        struct reading r = {.c = c, .s = &c->shaper[i], .first = first};

        if (r.s->counters == NULL)
            r.s->counters = calloc((size_t)r.s->q->n_pipes * r.s->n_queues, sizeof(*r.s->counters));
        rc = r.s->counters == NULL ? -ENOMEM
                                   : core_call_each(c->e, r.s->instance, n, read_one, &r, NULL);
    }
    return rc;
}

enum mac_kind subscriber_mac(const struct control *c, uint32_t id, struct arp_learned *out)
{
    const struct cfg_subscriber *s = &control_model(c)->subscribers[id - 1];
    uint32_t arp = arp_instance(c);

    if (s->has_mac) {
        memcpy(out->mac, s->mac, sizeof(out->mac));
        return MAC_CONFIGURED;
    }
    for (unsigned i = 0; arp != CFG_NONE && i < arp_n_of_subscriber(c->e->tasks[arp], id); i++)
        if (arp_of_subscriber(c->e->tasks[arp], id, i, out))
            return MAC_LEARNED;
    return MAC_UNKNOWN;
}

char *subscriber_addresses(const struct cfg_subscriber *s, char *buf, size_t len)
{
    buf[0] = '\0';
    if (s->ipv4_len != 0)
        format_ipv4(s->ipv4, buf, len);
    if (s->ipv4_len != 0 && s->ipv4_len < 32)
        snprintf(buf + strlen(buf), len - strlen(buf), "/%u", s->ipv4_len);
    return buf;
}

/* --- sessions --- */

/* The kind of a subscriber's session. static: configured, neither begun nor ended by a control
 * plane. */
static const char *session_kind(const struct cfg_subscriber *s)
{
    return s->pppoe.session != 0 ? "pppoe" : s->dynamic ? "ipoe" : "static";
}

static const char *session_by(const struct cfg_subscriber *s)
{
    return s->dynamic ? "control plane" : "configuration";
}

static json_t *session_json(const struct control *c, uint32_t id)
{
    const struct cfg_subscriber *s = &control_model(c)->subscribers[id - 1];
    uint64_t since = accounts_since(c, id);
    bool is_pppoe = s->pppoe.session != 0;

    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "kind", session_kind(s), "by", session_by(s),
                     "id", is_pppoe ? json_integer(s->pppoe.session) : json_null(), "mtu",
                     is_pppoe ? json_integer(s->pppoe.mtu) : json_null(), "since",
                     since != 0 ? json_integer((json_int_t)since) : json_null());
}

static void print_session(const struct control *c, uint32_t id, FILE *to)
{
    const struct cfg_subscriber *s = &control_model(c)->subscribers[id - 1];
    uint64_t since = accounts_since(c, id);

    fprintf(to, ",%s,%s,", session_kind(s), session_by(s));
    if (s->pppoe.session != 0)
        fprintf(to, "%u", s->pppoe.session);
    fputc(',', to);
    if (since != 0)
        fprintf(to, "%" PRIu64, since);
}

/* --- CSV --- */

/* A cell of CSV (RFC 4180). */
static void print_cell(const char *text, FILE *to)
{
    if (strpbrk(text, ",\"") == NULL) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text != '\0'; text++)
        fprintf(to, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', to);
}

/* A qos task adds its columns, and those of the queues that it uses. */
void subscribers_header(const struct control *c, FILE *to)
{
    fprintf(to, "id,port,svlan,cvlan,ipv4,ipv6,delegated,gre_key,mac,profile,name,"
                "session,session_by,session_id,session_since");
    for (const struct shaper *s = next_shaper(c, NULL); s != NULL; s = next_shaper(c, s)) {
        const char *task = s->task->cfg->name;

        fprintf(to, ",%s_rate,%s_bytes,%s_packets,%s_sojourn_us", task, task, task, task);
        for (unsigned k = 0; k < s->n_queues; k++) {
            const char *q = queue_name(s->queue[k]);

            fprintf(to, ",%s_%s_depth,%s_%s_queued,%s_%s_tail,%s_%s_aqm", task, q, task, q, task, q,
                    task, q);
        }
    }
    fputc('\n', to);
}

static const struct sched_queue_counters *counters_of(const struct shaper *s,
                                                      const struct qos_pipe *p)
{
    return &s->counters[(uint32_t)(p - s->q->pipe) * s->n_queues];
}

static void row_of_shaper(const struct shaper *s, const struct qos_pipe *p, FILE *to)
{
    const struct cfg_profile *profile =
        &s->q->cfg->profiles[__atomic_load_n(&p->profile, __ATOMIC_RELAXED)];
    const struct sched_queue_counters *n = counters_of(s, p);
    uint32_t pipe = (uint32_t)(p - s->q->pipe);
    const struct sched_pipe_counters *sent = sched_pipe_counters(s->q->sched, pipe);

    fprintf(to, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.1f", profile->shape[s->q->direction].rate,
            __atomic_load_n(&sent->bytes, __ATOMIC_RELAXED), shaper_packets(s, pipe),
            qos_sojourn(s->q, p) * 1e6);
    for (unsigned k = 0; k < s->n_queues; k++)
        fprintf(to, ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64, n[k].depth, n[k].packets, n[k].tail,
                n[k].aqm);
}

/* The profile of the pipe, where there is one: a change reaches the core before the model. */
static const char *profile_name(const struct control *c, uint32_t id)
{
    const struct cfg_model *m = control_model(c);
    uint32_t profile = m->subscribers[id - 1].profile;

    for (unsigned i = 0; i < c->n_shapers; i++) {
        const struct qos_pipe *p = shaper_pipe(c, &c->shaper[i], id);

        if (p != NULL)
            profile = __atomic_load_n(&p->profile, __ATOMIC_RELAXED);
    }
    return profile != CFG_NONE ? m->qos.profiles[profile].name : "";
}

/* Who a subscriber is: the columns before those of the qos tasks. */
static void print_identity(const struct control *c, uint32_t id, FILE *to)
{
    const struct cfg_model *m = control_model(c);
    const struct cfg_subscriber *s = &m->subscribers[id - 1];
    char addresses[32], wan[IPV6_TEXT], delegated[DELEGATED_TEXT], key[16] = "", mac[24] = "";
    struct arp_learned learned;

    if (s->has_gre_key)
        snprintf(key, sizeof(key), "%" PRIu32, s->gre_key);
    if (subscriber_mac(c, id, &learned) != MAC_UNKNOWN)
        format_mac(learned.mac, mac, sizeof(mac));
    fprintf(to, "%" PRIu32 ",%s,%u,%u,%s,%s,%s,%s,%s,%s,", id, m->ports[s->port].name, s->svlan,
            s->cvlan, subscriber_addresses(s, addresses, sizeof(addresses)),
            format_wan(&s->ipv6, wan), format_delegated(&s->ipv6, delegated), key, mac,
            profile_name(c, id));
    print_cell(s->name != NULL ? s->name : "", to);
    print_session(c, id, to);
}

void subscribers_row(const struct control *c, uint32_t id, FILE *to)
{
    if (!running_has(control_model(c), id))
        return;
    print_identity(c, id, to);
    for (const struct shaper *s = next_shaper(c, NULL); s != NULL; s = next_shaper(c, s)) {
        const struct qos_pipe *p;
        const struct shaper *on = shard_of(c, s, id, &p);

        if (on != NULL) {
            row_of_shaper(on, p, to);
            continue;
        }
        for (unsigned k = 0; k < 4 + 4 * s->n_queues; k++)
            fputc(',', to);
    }
    fputc('\n', to);
}

int subscribers_dump(struct control *c, FILE *to)
{
    uint32_t all = control_model(c)->n_subscribers;

    subscribers_header(c, to);
    for (uint32_t first = 1; first <= all; first += PAGE) {
        uint32_t n = RTE_MIN((uint32_t)PAGE, all - first + 1);
        int rc = subscribers_read(c, first, n);

        if (rc != 0)
            return rc;
        for (uint32_t id = first; id < first + n; id++)
            subscribers_row(c, id, to);
    }
    return ferror(to) ? -EIO : 0;
}

static json_t *queues_json(const struct shaper *s, const struct qos_pipe *p)
{
    const struct sched_queue_counters *n = counters_of(s, p);
    json_t *queues = json_object();

    for (unsigned k = 0; k < s->n_queues; k++)
        json_object_set_new(queues, queue_name(s->queue[k]),
                            json_pack("{s:i, s:I, s:I, s:I, s:I}", "depth", (int)n[k].depth,
                                      "queued", (json_int_t)n[k].packets, "queued_bytes",
                                      (json_int_t)n[k].bytes, "tail", (json_int_t)n[k].tail, "aqm",
                                      (json_int_t)n[k].aqm));
    return queues;
}

static json_t *shaped_json(const struct shaper *s, const struct qos_pipe *p)
{
    const struct cfg_profile *profile =
        &s->q->cfg->profiles[__atomic_load_n(&p->profile, __ATOMIC_RELAXED)];
    uint32_t pipe = (uint32_t)(p - s->q->pipe);
    const struct sched_pipe_counters *sent = sched_pipe_counters(s->q->sched, pipe);

    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:f, s:o}", "task", s->task->cfg->name, "direction",
                     direction_name(s->q->direction), "rate",
                     (json_int_t)profile->shape[s->q->direction].rate, "bytes",
                     (json_int_t)__atomic_load_n(&sent->bytes, __ATOMIC_RELAXED), "packets",
                     (json_int_t)shaper_packets(s, pipe), "sojourn", qos_sojourn(s->q, p), "queues",
                     queues_json(s, p));
}

json_t *identity_json(const struct control *c, uint32_t id)
{
    static const char *const origins[] = {
        [MAC_UNKNOWN] = NULL, [MAC_CONFIGURED] = "configured", [MAC_LEARNED] = "learned"};
    const struct cfg_model *m = control_model(c);
    const struct cfg_subscriber *s = &m->subscribers[id - 1];
    char addresses[32], wan[IPV6_TEXT], delegated[DELEGATED_TEXT], mac[24];
    struct arp_learned learned;
    enum mac_kind kind = subscriber_mac(c, id, &learned);

    return json_pack(
        "{s:i, s:s, s:i, s:i, s:s?, s:s?, s:s?, s:o, s:s?, s:s?, s:s, s:s?, s:o}", "id", (int)id,
        "port", m->ports[s->port].name, "svlan", (int)s->svlan, "cvlan", (int)s->cvlan, "ipv4",
        s->ipv4_len != 0 ? subscriber_addresses(s, addresses, sizeof(addresses)) : NULL, "ipv6",
        s->ipv6.wan_len != 0 ? format_wan(&s->ipv6, wan) : NULL, "delegated",
        s->ipv6.n_delegated != 0 ? format_delegated(&s->ipv6, delegated) : NULL, "gre_key",
        s->has_gre_key ? json_integer(s->gre_key) : json_null(), "mac",
        kind != MAC_UNKNOWN ? format_mac(learned.mac, mac, sizeof(mac)) : NULL, "mac_is",
        origins[kind], "profile", profile_name(c, id), "name", s->name, "session",
        session_json(c, id));
}

/* The hosts of a subscriber with a prefix, as far as they are known. */
static json_t *hosts_json(const struct control *c, uint32_t id)
{
    uint32_t arp = arp_instance(c);
    unsigned n = arp != CFG_NONE ? arp_n_of_subscriber(c->e->tasks[arp], id) : 0;
    json_t *list = json_array();
    char mac[24], address[24];
    struct arp_learned l;

    for (unsigned i = 0; n > 1 && i < n; i++)
        if (arp_of_subscriber(c->e->tasks[arp], id, i, &l))
            json_array_append_new(list, json_pack("{s:s, s:s, s:i}", "ipv4",
                                                  format_ipv4(l.address, address, sizeof(address)),
                                                  "mac", format_mac(l.mac, mac, sizeof(mac)), "age",
                                                  (int)l.age));
    return list;
}

json_t *subscriber_json(const struct control *c, uint32_t id)
{
    json_t *shaped = json_array();

    for (unsigned i = 0; i < c->n_shapers; i++) {
        const struct qos_pipe *p = shaper_pipe(c, &c->shaper[i], id);

        if (p != NULL)
            json_array_append_new(shaped, shaped_json(&c->shaper[i], p));
    }
    return json_with_key(json_with_key(identity_json(c, id), "shaped", shaped), "hosts",
                         hosts_json(c, id));
}
