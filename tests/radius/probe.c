/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The RADIUS library by itself, for tests in Python: objects of JSON in, one in a line, objects
 * out. The first line is the configuration; each other one is a request, and its "tag" comes back
 * with what has become of it:
 *
 *   {"cmd": "access", "tag": 1, "name": "user", "password": "x", "chap": false}
 *   {"cmd": "account", "tag": 2, "name": "user", "status": 1, "session": "17", "octets": [1, 2, 3,
 * 4]}
 *   {"cmd": "state"}
 *
 * Changes come as {"change": ...}: of session "17" they are made, of others there is none.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <jansson.h>
#include <nettle/md5.h>

#include "bed.h"

static struct radius *radius;

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static void say(json_t *object)
{
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

static const char *string(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));

    return s != NULL ? s : "";
}

static uint64_t integer(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static json_t *octets(struct radius_octets o)
{
    return json_stringn(o.n > 0 ? (const char *)o.p : "", o.n);
}

/* --- the configuration --- */

static void set_address(union radius_address *a, uint64_t port)
{
    a->ipv4.sin_family = AF_INET;
    a->ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    a->ipv4.sin_port = htons((uint16_t)port);
}

static void configure(const json_t *from, struct radius_config *to)
{
    json_t *server;
    size_t i;

    snprintf(to->nas_identifier, sizeof(to->nas_identifier), "probe");
    to->nas_ipv4 = 0xc0000201;
    to->timeout_ns = integer(from, "timeout_ms") * MS;
    to->retries = (unsigned)integer(from, "retries");
    to->dead_ns = integer(from, "dead_ms") * MS;
    to->sockets = 4;
    to->window_s = 300;
    json_array_foreach(json_object_get(from, "servers"), i, server)
    {
        struct radius_server *s = &to->servers[to->n_servers++];

        set_address(&s->authentication, integer(server, "authentication"));
        set_address(&s->accounting, integer(server, "accounting"));
        snprintf(s->secret, sizeof(s->secret), "%s", string(server, "secret"));
    }
    if (integer(from, "coa") == 0)
        return;
    set_address(&to->coa, integer(from, "coa"));
    set_address(&to->clients[0].address, 0);
    snprintf(to->clients[0].secret, sizeof(to->clients[0].secret), "%s",
             string(from, "coa_secret"));
    to->n_clients = 1;
}

/* --- requests --- */

static const char *const outcomes[] = {
    [RADIUS_ACCEPTED] = "accepted",
    [RADIUS_REJECTED] = "rejected",
    [RADIUS_UNUSABLE] = "unusable",
    [RADIUS_NO_ANSWER] = "no answer",
};

static void done(void *ctx, const struct radius_answer *a)
{
    char wan[IPV6_TEXT], delegated[DELEGATED_TEXT];

    say(json_pack("{sI ss sI so so so so so sI sI sI ss ss}", "tag", (json_int_t)(intptr_t)ctx,
                  "outcome", outcomes[a->outcome], "ipv4", (json_int_t)a->ipv4, "pool",
                  octets(a->pool), "pool6", octets(a->pool6), "profile", octets(a->profile),
                  "message", octets(a->message), "classes", octets(a->classes), "session",
                  (json_int_t)a->session_s, "idle", (json_int_t)a->idle_s, "interim",
                  (json_int_t)a->interim_s, "ipv6", format_wan(&a->ipv6, wan), "delegated",
                  format_delegated(&a->ipv6, delegated)));
}

static struct radius_user user_of(const json_t *request)
{
    return (struct radius_user){.name = text(string(request, "name")),
                                .session = text(string(request, "session")),
                                .line = text("cpe0 128.256"),
                                .station = text("02:00:00:00:00:01"),
                                .called = text("02:00:00:00:00:02"),
                                .circuit = text("cpe0 128.256 circuit"),
                                .remote = text("remote"),
                                .port_type = RADIUS_PORT_PPPOE_QINQ,
                                .ipv4 = 0x0a000001};
}

/* RFC 1994 section 4.1. */
static void respond(struct radius_credentials *c, const char *password)
{
    struct md5_ctx md5;

    c->kind = RADIUS_CHAP;
    c->chap_id = 7;
    c->challenge = text("a challenge of 21 oct");
    md5_init(&md5);
    md5_update(&md5, 1, &c->chap_id);
    md5_update(&md5, strlen(password), (const uint8_t *)password);
    md5_update(&md5, c->challenge.n, c->challenge.p);
    md5_digest(&md5, sizeof(c->response), c->response);
}

static void access_of(const json_t *request, void *tag)
{
    struct radius_credentials c = {.kind = RADIUS_PAP,
                                   .password = text(string(request, "password"))};
    struct radius_user user = user_of(request);

    if (json_is_true(json_object_get(request, "chap")))
        respond(&c, string(request, "password"));
    radius_access(radius, &user, &c, done, tag);
}

static void account_of(const json_t *request, void *tag)
{
    const json_t *v = json_object_get(request, "octets");
    struct radius_user user = user_of(request);
    struct radius_record r = {
        .status = (enum radius_status)integer(request, "status"),
        .classes = text("\x19\x07"
                        "class"),
        .time_s = integer(request, "time"),
        .session_s = 90,
        .cause = RADIUS_CAUSE_USER_REQUEST,
    };

    r.ipv4.octets_in = (uint64_t)json_integer_value(json_array_get(v, 0));
    r.ipv4.octets_out = (uint64_t)json_integer_value(json_array_get(v, 1));
    r.ipv6.octets_in = (uint64_t)json_integer_value(json_array_get(v, 2));
    r.ipv6.octets_out = (uint64_t)json_integer_value(json_array_get(v, 3));
    radius_account(radius, r.status == RADIUS_ON ? NULL : &user, &r, done, tag);
}

static json_t *peer_state(unsigned server, enum radius_role role)
{
    struct radius_peer_state s = radius_peer_state(radius, server, role);
    const struct radius_peer_counts *c = &s.counts;

    return json_pack("{sb sI sI sI sI sI sI sI}", "dead", s.dead, "malformed",
                     (json_int_t)c->malformed, "bad_authenticators",
                     (json_int_t)c->bad_authenticators, "bad_message_authenticators",
                     (json_int_t)c->bad_message_authenticators, "no_message_authenticators",
                     (json_int_t)c->no_message_authenticators, "timeouts", (json_int_t)c->timeouts,
                     "late", (json_int_t)c->late, "rtt_us_max", (json_int_t)s.rtt_us->max);
}

static void state(unsigned n_servers)
{
    json_t *servers = json_array();

    for (unsigned i = 0; i < n_servers; i++)
        json_array_append_new(servers, json_pack("{so so}", "authentication",
                                                 peer_state(i, RADIUS_AUTHENTICATION), "accounting",
                                                 peer_state(i, RADIUS_ACCOUNTING)));
    say(json_pack("{so}", "state", servers));
}

static void changed(void *ctx, struct radius_coa *coa, const struct radius_change *change)
{
    say(json_pack("{sb so so}", "change", !change->disconnect, "session", octets(change->session),
                  "profile", octets(change->profile)));
    radius_answer_change(coa, is_text(change->session, "17") ? RADIUS_NO_ERROR
                                                             : RADIUS_SESSION_NOT_FOUND);
}

/* --- lines --- */

/* Returns the object of the next line, or NULL behind the last one. */
static json_t *next_object(void)
{
    char line[65536];

    return fgets(line, sizeof(line), stdin) != NULL ? json_loads(line, 0, NULL) : NULL;
}

static void handle(const json_t *request, unsigned n_servers)
{
    void *tag = (void *)(intptr_t)integer(request, "tag");

    if (strcmp(string(request, "cmd"), "access") == 0)
        access_of(request, tag);
    else if (strcmp(string(request, "cmd"), "account") == 0)
        account_of(request, tag);
    else
        state(n_servers);
}

static int timeout(void)
{
    uint64_t next = radius_next(radius), t = now();

    return next == UINT64_MAX ? -1 : next <= t ? 0 : (int)((next - t) / MS + 1);
}

int main(void)
{
    static struct radius_config config;
    const char *where;
    json_t *object;

    setvbuf(stdin, NULL, _IONBF, 0); /* so that poll() knows of each line */
    setvbuf(stdout, NULL, _IOLBF, 0);
    configure(next_object(), &config);
    radius = radius_open(&config, &where);
    if (radius == NULL) {
        perror(where);
        return EXIT_FAILURE;
    }
    radius_on_change(radius, changed, NULL);
    puts("{\"ready\": true}");
    for (;;) {
        struct pollfd fds[] = {{0, POLLIN, 0}, {radius_fd(radius), POLLIN, 0}};

        poll(fds, 2, timeout());
        if (fds[0].revents != 0) {
            object = next_object();
            if (object == NULL)
                break;
            handle(object, config.n_servers);
            json_decref(object);
        }
        radius_run(radius, now());
    }
    radius_close(radius);
    return EXIT_SUCCESS;
}
