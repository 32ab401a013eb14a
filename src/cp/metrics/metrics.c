/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/metrics/metrics.h"

#include <stddef.h>

#include "base/hist.h"
#include "cp/aaa/aaa.h"
#include "cp/dhcp6/pool6.h"
#include "cp/relay/config.h"
#include "cp/relay/servers.h"
#include "cp/store.h"

#define US_PER_S 1e6

struct metric {
    const char *name; /* Prometheus: base units; counters end in _total */
    enum { COUNTER, GAUGE, HISTOGRAM, INFO } type;
    const char *unit;
    const char *label[2]; /* or NULL */
    const char *help;
    void (*read)(const struct cp *cp, const struct metric *m, json_t *series);
    size_t offset; /* in what read() looks at */
};

#define FIGURE(p, m) (*(const uint64_t *)((const char *)(p) + (m)->offset))

/* --- series --- */

/* Takes the reference to the value. */
static void add(json_t *series, const char *first, const char *second, json_t *value)
{
    json_t *labels = json_array();

    if (first != NULL)
        json_array_append_new(labels, json_string(first));
    if (second != NULL)
        json_array_append_new(labels, json_string(second));
    json_array_append_new(series, json_pack("{s:o, s:o}", "labels", labels, "value", value));
}

static void add_number(json_t *series, const char *first, const char *second, uint64_t value)
{
    add(series, first, second, json_integer((json_int_t)value));
}

/* Numbers up to bounds, in seconds; a number counts as that at the end of its bucket, 12.5 % above
 * it at most. */
static void add_histogram(json_t *series, const char *first, const char *second,
                          const struct hist *us)
{
    static const uint32_t bounds[] = {100,    250,    500,     1000,    2500,
                                      5000,   10000,  25000,   50000,   100000,
                                      250000, 500000, 1000000, 2500000, 5000000};
    json_t *buckets = json_array();
    uint64_t below = 0;
    unsigned at = 0;

    for (unsigned i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        for (; at <= hist_index(bounds[i]); at++)
            below += us->bucket[at];
        json_array_append_new(buckets,
                              json_pack("[f, I]", bounds[i] / US_PER_S, (json_int_t)below));
    }
    add(series, first, second,
        json_pack("{s:o, s:I, s:f}", "buckets", buckets, "count", (json_int_t)us->count, "sum",
                  (double)us->sum / US_PER_S));
}

/* --- sessions --- */

static const char *const kinds[N_SESSION_KINDS] = {
    [SESSION_IPOE] = "ipoe", [SESSION_PPPOE] = "pppoe"};

static void read_states(const struct cp *cp, const struct metric *m, json_t *series)
{
    (void)m;
    for (unsigned i = 0; i < N_SESSION_STATES; i++)
        add_number(series, session_state_name(i), NULL, cp->sessions.in_state[i]);
}

static void read_kinds(const struct cp *cp, const struct metric *m, json_t *series)
{
    for (unsigned i = 0; i < N_SESSION_KINDS; i++)
        add_number(series, kinds[i], NULL, FIGURE(&cp->sessions.of_kind[i], m));
}

static void read_failures(const struct cp *cp, const struct metric *m, json_t *series)
{
    (void)m;
    for (unsigned i = 0; i < N_FAILURES; i++)
        add_number(series, cp_failures[i].name, NULL, cp->sessions.failed[i]);
}

static void read_words(const struct cp *cp, const struct metric *m, json_t *series)
{
    (void)cp;
    (void)m;
    for (unsigned i = 0; i < N_FAILURES; i++)
        add(series, cp_failures[i].name, NULL,
            json_pack("{s:s, s:s}", "meaning", cp_failures[i].meaning, "remedy",
                      cp_failures[i].remedy));
}

/* --- pools --- */

static void read_pools(const struct cp *cp, const struct metric *m, json_t *series)
{
    for (unsigned i = 0; i < cp->config->n_pools; i++) {
        const struct pool *p = &cp->pools[i];

        add_number(series, cp->config->pools[i].name, "ipv4", m->offset != 0 ? p->n_free : p->n);
    }
    for (unsigned i = 0; i < cp->config->pools6.n; i++) {
        const char *name = cp->config->pools6.pool[i].name;
        const struct pool *wan = &cp->pools6[i].wan.blocks, *pd = &cp->pools6[i].delegated.blocks;

        add_number(series, name, "link", m->offset != 0 ? wan->n_free : wan->n);
        add_number(series, name, "delegated", m->offset != 0 ? pd->n_free : pd->n);
    }
}

/* --- RADIUS --- */

static const char *const roles[RADIUS_ROLES] = {
    [RADIUS_AUTHENTICATION] = "authentication", [RADIUS_ACCOUNTING] = "accounting"};

/* Call for each server and role that is used. */
static void each_peer(const struct cp *cp, const struct metric *m, json_t *series,
                      void (*call)(const struct radius_peer_state *p, const struct metric *m,
                                   const char *server, const char *role, json_t *series))
{
    if (cp->aaa == NULL)
        return;
    for (unsigned i = 0; i < cp->config->radius->n_servers; i++)
        for (unsigned role = 0; role < RADIUS_ROLES; role++) {
            struct radius_peer_state p = radius_peer_state(aaa_radius(cp->aaa), i, role);

            if (role == RADIUS_AUTHENTICATION || cp->acct != NULL)
                call(&p, m, cp->config->radius->servers[i].name, roles[role], series);
        }
}

static void add_count(const struct radius_peer_state *p, const struct metric *m, const char *server,
                      const char *role, json_t *series)
{
    add_number(series, server, role, FIGURE(&p->counts, m));
}

static void read_counts(const struct cp *cp, const struct metric *m, json_t *series)
{
    each_peer(cp, m, series, add_count);
}

static void add_dead(const struct radius_peer_state *p, const struct metric *m, const char *server,
                     const char *role, json_t *series)
{
    (void)m;
    add_number(series, server, role, p->dead ? 0 : 1);
}

static void read_alive(const struct cp *cp, const struct metric *m, json_t *series)
{
    each_peer(cp, m, series, add_dead);
}

static void add_pending(const struct radius_peer_state *p, const struct metric *m,
                        const char *server, const char *role, json_t *series)
{
    (void)m;
    add_number(series, server, role, p->pending);
}

static void read_pending(const struct cp *cp, const struct metric *m, json_t *series)
{
    each_peer(cp, m, series, add_pending);
}

static void add_times(const struct radius_peer_state *p, const struct metric *m, const char *server,
                      const char *role, json_t *series)
{
    (void)m;
    add_histogram(series, server, role, p->rtt_us);
}

static void read_times(const struct cp *cp, const struct metric *m, json_t *series)
{
    each_peer(cp, m, series, add_times);
}

/* --- servers of DHCP behind --- */

static void each_server(const struct cp *cp, json_t *series,
                        uint64_t (*value)(const struct relay_server_state *s,
                                          const struct metric *m),
                        const struct metric *m)
{
    for (unsigned i = 0; i < cp->config->relays.n; i++) {
        const struct relay *r = relay_at(cp->relays, i);
        const struct relay_config *c = relay_config(r);

        for (unsigned k = 0; k < c->n_servers; k++)
            add_number(series, c->name, c->server_name[k], value(relay_server_state(r, k), m));
    }
}

static void read_relay_times(const struct cp *cp, const struct metric *m, json_t *series)
{
    (void)m;
    for (unsigned i = 0; i < cp->config->relays.n; i++) {
        const struct relay *r = relay_at(cp->relays, i);
        const struct relay_config *c = relay_config(r);

        for (unsigned k = 0; k < c->n_servers; k++)
            add_histogram(series, c->name, c->server_name[k], &relay_server_state(r, k)->rtt_us);
    }
}

static uint64_t figure_of(const struct relay_server_state *s, const struct metric *m)
{
    return FIGURE(s, m);
}

static void read_relay(const struct cp *cp, const struct metric *m, json_t *series)
{
    each_server(cp, series, figure_of, m);
}

static uint64_t unanswered_of(const struct relay_server_state *s, const struct metric *m)
{
    (void)m;
    return s->unanswered;
}

static void read_unanswered(const struct cp *cp, const struct metric *m, json_t *series)
{
    each_server(cp, series, unanswered_of, m);
}

static uint64_t alive_of(const struct relay_server_state *s, const struct metric *m)
{
    (void)m;
    return s->dead ? 0 : 1;
}

static void read_relay_alive(const struct cp *cp, const struct metric *m, json_t *series)
{
    each_server(cp, series, alive_of, m);
}

/* --- the store --- */

static void read_commits(const struct cp *cp, const struct metric *m, json_t *series)
{
    (void)m;
    add_histogram(series, NULL, NULL, store_commit_us(cp->store));
}

/* --- all --- */

#define KIND(field)   .read = read_kinds, .offset = offsetof(struct session_figures, field)
#define RADIUS(field) .read = read_counts, .offset = offsetof(struct radius_peer_counts, field)
#define PEER                                                                                       \
    {                                                                                              \
        "server", "role"                                                                           \
    }

#define RELAY(field) .read = read_relay, .offset = offsetof(struct relay_server_state, field)
#define SERVER                                                                                     \
    {                                                                                              \
        "relay", "server"                                                                          \
    }

static const struct metric metrics[] = {
    {"vbng_cp_lines", GAUGE, "lines", {"state"}, "Lines that were heard of", read_states, 0},
    {"vbng_cp_sessions", GAUGE, "sessions", {"kind"}, "Sessions that are up", KIND(up)},
    {"vbng_cp_sessions_begun_total",
     COUNTER,
     "sessions",
     {"kind"},
     "Sessions that came up",
     KIND(begun)},
    {"vbng_cp_sessions_ended_total",
     COUNTER,
     "sessions",
     {"kind"},
     "Sessions that were up and have ended",
     KIND(ended)},
    {"vbng_cp_failures_total",
     COUNTER,
     "1",
     {"reason"},
     "What clients asked for and did not get",
     read_failures,
     0},
    {"vbng_cp_failure",
     INFO,
     "1",
     {"reason"},
     "What a reason means, and what to do about it",
     read_words,
     0},
    {"vbng_cp_pool_size",
     GAUGE,
     "blocks",
     {"pool", "of"},
     "Addresses, links or delegated prefixes of a pool",
     read_pools,
     0},
    {"vbng_cp_pool_free",
     GAUGE,
     "blocks",
     {"pool", "of"},
     "Those of them that are free",
     read_pools,
     1},
    {"vbng_cp_radius_requests_total", COUNTER, "requests", PEER, "First transmissions",
     RADIUS(requests)},
    {"vbng_cp_radius_retransmissions_total", COUNTER, "requests", PEER,
     "Further transmissions to the same server", RADIUS(retransmissions)},
    {"vbng_cp_radius_accepts_total", COUNTER, "requests", PEER, "Access-Accepts", RADIUS(accepts)},
    {"vbng_cp_radius_rejects_total", COUNTER, "requests", PEER, "Access-Rejects", RADIUS(rejects)},
    {"vbng_cp_radius_responses_total", COUNTER, "requests", PEER, "Accounting-Responses",
     RADIUS(responses)},
    {"vbng_cp_radius_timeouts_total", COUNTER, "requests", PEER,
     "Requests that the server has not answered, after all transmissions", RADIUS(timeouts)},
    {"vbng_cp_radius_deaths_total", COUNTER, "1", PEER, "Times that the server was taken for dead",
     RADIUS(deaths)},
    {"vbng_cp_radius_alive", GAUGE, "1", PEER, "0 while the server is taken for dead", read_alive,
     0},
    {"vbng_cp_radius_pending_requests", GAUGE, "requests", PEER, "Requests under way", read_pending,
     0},
    {"vbng_cp_radius_seconds", HISTOGRAM, "seconds", PEER,
     "From the first transmission to the answer", read_times, 0},
    {"vbng_cp_relay_messages_total", COUNTER, "messages", SERVER,
     "Messages to a server of DHCP behind", RELAY(messages)},
    {"vbng_cp_relay_answers_total", COUNTER, "messages", SERVER, "Messages of it", RELAY(answers)},
    {"vbng_cp_relay_unanswered", GAUGE, "messages", SERVER,
     "Messages that it should have answered, since it has said something", read_unanswered, 0},
    {"vbng_cp_relay_deaths_total", COUNTER, "1", SERVER, "Times that the server was taken for dead",
     RELAY(deaths)},
    {"vbng_cp_relay_alive", GAUGE, "1", SERVER,
     "0 from when the server was taken for dead until it says something", read_relay_alive, 0},
    {"vbng_cp_relay_seconds", HISTOGRAM, "seconds", SERVER,
     "From a message to the answer to it, of one client at a time", read_relay_times, 0},
    {"vbng_cp_store_commit_seconds",
     HISTOGRAM,
     "seconds",
     {NULL},
     "Time of a commit of the store",
     read_commits,
     0},
};

json_t *metrics_json(const struct cp *cp)
{
    static const char *const types[] = {
        [COUNTER] = "counter", [GAUGE] = "gauge", [HISTOGRAM] = "histogram", [INFO] = "info"};
    json_t *list = json_array();

    for (unsigned i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
        const struct metric *m = &metrics[i];
        json_t *labels = json_array(), *series = json_array();

        for (unsigned k = 0; k < 2 && m->label[k] != NULL; k++)
            json_array_append_new(labels, json_string(m->label[k]));
        m->read(cp, m, series);
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "name", m->name,
                                              "type", types[m->type], "unit", m->unit, "help",
                                              m->help, "labels", labels, "series", series));
    }
    return list;
}
