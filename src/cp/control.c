/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/control.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "control/socket/answer.h"
#include "control/socket/server.h"
#include "cp/dhcp6/lease6.h"
#include "cp/lease.h"
#include "cp/metrics/metrics.h"
#include "cp/pppoe/pppoe.h"

#define MOST_SESSIONS 1000  /* in an answer */
#define MOST_BUCKETS  16384 /* that a request looks at: some milliseconds */
#define LONGEST_TEXT  64

struct control_socket {
    struct server *server;
    struct answerer answerer;
};

/* --- sessions as JSON --- */

static json_t *text_or_null(const char *text)
{
    return text != NULL ? json_string(text) : json_null();
}

static json_t *events_json(const struct session *s)
{
    json_t *list = json_array();

    struct event e[EVENTS_KEPT];
    unsigned n = events_list(s->events, e);

    for (unsigned i = 0; i < n; i++)
        json_array_append_new(
            list, json_pack("{s:f, s:s}", "time", (double)e[i].time_ms / 1000, "text", e[i].text));
    return list;
}

static json_t *ipv4_json(const struct session *s)
{
    bool is_its = s->lease4 != LEASE_NONE || s->state == SESSION_NONE;
    char address[20];

    return text_or_null(
        s->address != 0 && is_its ? format_ipv4(s->address, address, sizeof(address)) : NULL);
}

/* What the line has of IPv6, and until when. */
static void add_ipv6(json_t *o, const struct session *s)
{
    struct cpe_prefixes p = session6_prefixes(s);
    char wan[IPV6_TEXT], address[IPV6_TEXT], delegated[DELEGATED_TEXT];
    bool held = session6_held(s);

    json_object_set_new(o, "ipv6", text_or_null(p.wan_len != 0 ? format_wan(&p, wan) : NULL));
    json_object_set_new(
        o, "ipv6_address",
        text_or_null(held && s->v6->na.held ? format_ipv6(s->v6->wan, address) : NULL));
    json_object_set_new(o, "delegated",
                        text_or_null(p.n_delegated > 0 ? format_delegated(&p, delegated) : NULL));
    json_object_set_new(o, "expires6", held ? json_integer(s->v6->expires) : json_null());
}

static const char *pool_name(const struct cp *cp, const struct session *s)
{
    return s->access->pool != CP_NO_POOL ? pool_config(cp, s)->name : NULL;
}

static const char *pool6_name(const struct cp *cp, const struct session *s)
{
    return s->access->pool6 != CP_NO_POOL ? pool6_config(cp, s)->name : NULL;
}

/* What the line's session is of, or NULL. */
static const char *kind_of(const struct session *s)
{
    return s->state == SESSION_NONE ? NULL : s->ppp != NULL ? "pppoe" : "ipoe";
}

/* The session id is of PPPoE alone. */
static void add_kind(json_t *o, const struct session *s)
{
    json_object_set_new(o, "kind", text_or_null(kind_of(s)));
    json_object_set_new(o, "session", s->ppp != NULL ? json_integer(pppoe_id(s)) : json_null());
    json_object_set_new(o, "user", text_or_null(session_user(s)));
}

static json_t *session_json(const struct cp *cp, const struct session *s)
{
    char mac[20];
    json_t *o = json_pack("{s:s, s:i, s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "port",
                          s->access->port, "svlan", s->svlan, "cvlan", s->cvlan, "state",
                          session_state_name(s->state), "mac", format_mac(s->mac, mac, sizeof(mac)),
                          "ipv4", ipv4_json(s), "expires",
                          lease_is_held(s->lease4) ? json_integer(s->expires) : json_null(), "pool",
                          text_or_null(pool_name(cp, s)), "pool6", text_or_null(pool6_name(cp, s)),
                          "profile", text_or_null(session_profile(s)), "events", events_json(s));

    add_ipv6(o, s);
    add_kind(o, s);
    return o;
}

/* --- requests --- */

static json_t *refusal(const char *why)
{
    return json_pack("{s:s}", "error", why);
}

/* A text that may mean lines, and what it can be read as. */
struct query {
    const char *text;
    bool is_mac, is_ipv4, is_ipv6, is_pair;
    uint8_t mac[6];
    uint32_t ipv4;
    struct ipv6 ipv6;
    uint8_t ipv6_len;
    uint16_t svlan, cvlan;
    bool may_be_line; /* or a part of it */
};

static struct query read_query(const char *text)
{
    struct query q = {.text = text};

    q.is_mac = parse_mac(text, q.mac) == 0;
    q.is_ipv4 = parse_ipv4(text, &q.ipv4) == 0 && q.ipv4 != 0;
    q.is_ipv6 = strchr(text, ':') != NULL && parse_prefix6(text, &q.ipv6, &q.ipv6_len) == 0;
    q.is_pair = parse_vlan_pair(text, &q.svlan, &q.cvlan) == 0;
    q.may_be_line = strchr(text, '.') == NULL || strchr(text, ' ') != NULL;
    return q;
}

/* Is it an address or a prefix of IPv6 of a session? */
static bool means_ipv6(const struct session *s, const struct query *q)
{
    struct cpe_prefixes p = session6_prefixes(s);

    return (p.wan_len != 0 && q->ipv6_len >= p.wan_len &&
            ((q->ipv6.upper ^ p.wan.upper) & mask64(p.wan_len)) == 0) ||
           (p.n_delegated != 0 && q->ipv6_len >= p.delegated_len[0] &&
            ((q->ipv6.upper ^ p.delegated[0]) & mask64(p.delegated_len[0])) == 0);
}

/* Does it name a line's session, or what it is? */
static bool means_session(const struct session *s, const char *text)
{
    const char *kind = kind_of(s), *user = session_user(s);

    return strcmp(text, session_state_name(s->state)) == 0 ||
           (kind != NULL && strcmp(text, kind) == 0) || (user != NULL && strcmp(text, user) == 0);
}

/* Does a search text match a line? By MAC, address, VLAN pair, state, kind of session, user name,
 * or a part of "PORT SVLAN.CVLAN". */
static bool matches(const struct session *s, const struct query *q)
{
    char line[SESSION_LINE_TEXT];

    return (q->is_mac && memcmp(q->mac, s->mac, sizeof(s->mac)) == 0) ||
           (q->is_ipv4 && q->ipv4 == s->address) || (q->is_ipv6 && means_ipv6(s, q)) ||
           (q->is_pair && q->svlan == s->svlan && q->cvlan == s->cvlan) ||
           means_session(s, q->text) ||
           (q->may_be_line && strstr(session_line(s, line), q->text) != NULL);
}

static json_t *show_sessions(struct cp *cp, const json_t *request)
{
    const char *text = json_string_value(json_object_get(request, "text"));
    json_int_t first = json_integer_value(json_object_get(request, "first"));
    const struct sessions *t = &cp->sessions;
    json_t *list = json_array(), *next;
    const struct session *line;
    struct query q;
    uint32_t i;

    if (text == NULL || strlen(text) > LONGEST_TEXT || first < 0) {
        json_decref(list);
        return refusal("show-sessions: expected 'text', a string of at most 64 characters, and "
                       "optionally 'first', the 'next' of the answer before");
    }
    line = session_of_line(t, cp->config, text);
    if (line != NULL) { /* it alone, and at once */
        json_array_append_new(list, session_json(cp, line));
        return json_pack("{s:b, s:o, s:n}", "ok", 1, "sessions", list, "next");
    }
    q = read_query(text);
    for (i = first < t->n_buckets ? (uint32_t)first : t->n_buckets;
         i < t->n_buckets && i - first < MOST_BUCKETS && json_array_size(list) < MOST_SESSIONS; i++)
        for (const struct session *s = t->bucket[i]; s != NULL; s = s->next)
            if (matches(s, &q))
                json_array_append_new(list, session_json(cp, s));
    next = i < t->n_buckets ? json_integer(i) : json_null();
    return json_pack("{s:b, s:o, s:o}", "ok", 1, "sessions", list, "next", next);
}

static json_t *disconnect(struct cp *cp, const json_t *request)
{
    const char *line = json_string_value(json_object_get(request, "session"));
    struct session *s = line != NULL ? session_of_line(&cp->sessions, cp->config, line) : NULL;

    if (s == NULL || (s->state != SESSION_UP && s->state != SESSION_STARTING))
        return refusal("disconnect: expected 'session', \"PORT SVLAN.CVLAN\" of a line with one");
    lease_end_for(cp, s, RADIUS_CAUSE_ADMIN_RESET, "disconnected by an operator");
    return json_pack("{s:b}", "ok", 1);
}

static json_t *pool_json(const char *name, const struct pool *p)
{
    return json_pack("{s:s, s:I, s:I}", "name", name, "addresses", (json_int_t)p->n, "free",
                     (json_int_t)p->n_free);
}

static json_t *show_status(struct cp *cp, const json_t *request)
{
    const struct cp_config *c = cp->config;
    json_t *states = json_object(), *pools = json_array(), *pools6 = json_array();

    (void)request;
    for (unsigned i = 0; i < N_SESSION_STATES; i++)
        json_object_set_new(states, session_state_name(i), json_integer(cp->sessions.in_state[i]));
    for (unsigned i = 0; i < c->n_pools; i++)
        json_array_append_new(pools, pool_json(c->pools[i].name, &cp->pools[i]));
    for (unsigned i = 0; i < c->pools6.n; i++) {
        const struct pools6 *p = &cp->pools6[i];

        json_array_append_new(pools6,
                              json_pack("{s:s, s:I, s:I, s:I, s:I}", "name", c->pools6.pool[i].name,
                                        "wan", (json_int_t)p->wan.blocks.n, "wan_free",
                                        (json_int_t)p->wan.blocks.n_free, "delegated",
                                        (json_int_t)p->delegated.blocks.n, "delegated_free",
                                        (json_int_t)p->delegated.blocks.n_free));
    }
    return json_pack("{s:b, s:s, s:o, s:o, s:o}", "ok", 1, "version", VBNG_VERSION, "lines", states,
                     "pools", pools, "pools6", pools6);
}

static json_t *show_metrics(struct cp *cp, const json_t *request)
{
    (void)request;
    return json_pack("{s:b, s:o}", "ok", 1, "metrics", metrics_json(cp));
}

static const struct {
    const char *name;
    json_t *(*run)(struct cp *cp, const json_t *request);
} commands[] = {
    {"show-metrics", show_metrics},
    {"show-sessions", show_sessions},
    {"show-status", show_status},
    {"disconnect", disconnect},
};

static json_t *run(struct cp *cp, const json_t *request)
{
    const char *name = json_string_value(json_object_get(request, "cmd"));

    for (unsigned i = 0; name != NULL && i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(commands[i].name, name) == 0)
            return commands[i].run(cp, request);
    return refusal("expected an object whose 'cmd' is show-sessions, show-status, show-metrics or "
                   "disconnect; subscribers, rates and routes are vbng's, on its own socket");
}

static char *answer(void *ctx, struct server_request *request)
{
    json_t *parsed = json_loadb(request->text, request->len, JSON_REJECT_DUPLICATES, NULL),
           *result = parsed != NULL ? run(ctx, parsed) : refusal("not JSON: expected an object");

    json_decref(parsed);
    return result != NULL ? answer_line(result) : answer_refused("no memory");
}

/* --- in the loop --- */

static bool prepare(struct pollfd *p, void *ctx)
{
    const struct cp *cp = ctx;

    return server_prepare(cp->control->server, p);
}

static void serve(const struct pollfd *p, void *ctx)
{
    const struct cp *cp = ctx;

    server_serve(cp->control->server, &cp->control->answerer, p);
}

static const struct crowd clients = {.n = SERVER_FDS, .prepare = prepare, .serve = serve};

struct control_socket *cp_control_open(struct cp *cp, const char *path)
{
    struct control_socket *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    c->answerer = (struct answerer){answer, cp};
    c->server = server_open(path, &(struct access){.mode = 0});
    if (c->server != NULL) {
        cp->loop.crowd = &clients;
        return c;
    }
    free(c);
    return NULL;
}

void cp_control_close(struct control_socket *c)
{
    server_close(c->server);
    free(c);
}
