/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/radius/radius.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "cp/radius/coa.h"
#include "cp/radius/message.h"
#include "cp/radius/peer.h"

#define EVENTS       64
#define PASSWORD_MAX 128
/* What a packet has besides the body: its header, Message-Authenticator and User-Password. */
#define BODY_MAX (RADIUS_PACKET_MAX - RADIUS_HEADER - 18 - 2 - PASSWORD_MAX)

/* The servers of one role, and the requests that wait for a server. */
struct client {
    struct peer peers[RADIUS_SERVERS_MAX]; /* as in the configuration */
    struct request_list waiting;
    bool stalled; /* what waits can be sent to no server before one's dead time is over */
};

struct radius {
    const struct radius_config *config;
    int epoll;
    bool fresh; /* something waits that radius_run() has not seen */
    struct client client[RADIUS_ROLES];
    struct coa_server *coa; /* NULL: changes are not taken */
};

/* --- opening --- */

static int open_peers(struct radius *r, const char **where)
{
    int error;

    for (unsigned i = 0; i < r->config->n_servers; i++) {
        *where = r->config->servers[i].name;
        for (unsigned role = 0; role < RADIUS_ROLES; role++) {
            error = peer_open(&r->client[role].peers[i], r->config, i, role, r->epoll);
            if (error != 0)
                return error;
        }
    }
    return 0;
}

static int open_all(struct radius *r, const char **where)
{
    int error = open_peers(r, where);

    if (error != 0 || r->config->coa.any.sa_family == AF_UNSPEC)
        return error;
    *where = "the server of changes";
    r->coa = coa_open(r->config, r->epoll);
    return r->coa != NULL ? 0 : -errno;
}

struct radius *radius_open(const struct radius_config *config, const char **where)
{
    struct radius *r = calloc(1, sizeof(*r));
    int error;

    if (r == NULL)
        abort();
    r->config = config;
    for (unsigned role = 0; role < RADIUS_ROLES; role++)
        TAILQ_INIT(&r->client[role].waiting);
    *where = "epoll";
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    error = r->epoll >= 0 ? open_all(r, where) : -errno;
    if (error == 0)
        return r;
    radius_close(r);
    errno = -error;
    return NULL;
}

static void close_client(struct client *c, unsigned n_servers)
{
    struct radius_request *q;

    while ((q = TAILQ_FIRST(&c->waiting)) != NULL) {
        TAILQ_REMOVE(&c->waiting, q, entry);
        free(q);
    }
    for (unsigned i = 0; i < n_servers && c->peers[i].config != NULL; i++)
        peer_close(&c->peers[i]);
}

void radius_close(struct radius *r)
{
    for (unsigned role = 0; role < RADIUS_ROLES; role++)
        close_client(&r->client[role], r->config->n_servers);
    if (r->coa != NULL)
        coa_close(r->coa);
    if (r->epoll >= 0)
        close(r->epoll);
    free(r);
}

int radius_fd(const struct radius *r)
{
    return r->epoll;
}

/* --- requests --- */

static struct radius_request *enqueue(struct radius *r, enum radius_role role,
                                      const struct radius_writer *body,
                                      struct radius_octets password, radius_done *done, void *ctx)
{
    struct request_list *list = &r->client[role].waiting;
    struct radius_request *q;

    if (body->overfull || password.n > PASSWORD_MAX)
        return NULL;
    q = malloc(sizeof(*q) + body->len + password.n);
    if (q == NULL)
        abort();
    *q = (struct radius_request){.list = list,
                                 .done = done,
                                 .ctx = ctx,
                                 .role = role,
                                 .n_body = (uint16_t)body->len,
                                 .n_password = (uint16_t)password.n};
    memcpy(q->octets, body->at, body->len);
    if (password.n > 0)
        memcpy(q->octets + body->len, password.p, password.n);
    TAILQ_INSERT_TAIL(list, q, entry);
    r->fresh = true;
    return q;
}

struct radius_request *radius_access(struct radius *r, const struct radius_user *user,
                                     const struct radius_credentials *credentials,
                                     radius_done *done, void *ctx)
{
    bool pap = credentials->kind == RADIUS_PAP;
    uint8_t octets[BODY_MAX];
    struct radius_writer body = {octets, sizeof(octets), 0, false};
    struct radius_request *q;

    radius_write_access(&body, r->config, user, credentials, (uint64_t)time(NULL));
    q = enqueue(r, RADIUS_AUTHENTICATION, &body,
                pap ? credentials->password : radius_octets(NULL, 0), done, ctx);
    if (q != NULL)
        q->has_password = pap;
    return q;
}

struct radius_request *radius_account(struct radius *r, const struct radius_user *user,
                                      const struct radius_record *record, radius_done *done,
                                      void *ctx)
{
    uint8_t octets[BODY_MAX];
    struct radius_writer body = {octets, sizeof(octets), 0, false};

    radius_write_record(&body, r->config, user, record);
    return enqueue(r, RADIUS_ACCOUNTING, &body, radius_octets(NULL, 0), done, ctx);
}

void radius_cancel(struct radius_request *request)
{
    if (request->socket != NULL)
        peer_forget(request);
    else
        TAILQ_REMOVE(request->list, request, entry);
    free(request);
}

/* --- sending --- */

/* The first server of the configuration that lives, or is to be tried, and has not let this request
 * down; NULL: none. */
static struct peer *choose(struct client *c, unsigned n_servers, const struct radius_request *q,
                           uint64_t now)
{
    for (unsigned i = 0; i < n_servers; i++)
        if ((q->tried & c->peers[i].bit) == 0 && peer_is_usable(&c->peers[i], now))
            return &c->peers[i];
    return NULL;
}

/* Who asks to come in does not wait for a server to live again: he asks again himself. A record
 * waits for ever, and goes round all servers. */
static void dispatch(struct radius *r, enum radius_role role, uint64_t now)
{
    struct client *c = &r->client[role];
    struct radius_request *q;
    struct peer *p;

    c->stalled = false;
    while ((q = TAILQ_FIRST(&c->waiting)) != NULL) {
        p = choose(c, r->config->n_servers, q, now);
        if (p == NULL && role == RADIUS_ACCOUNTING) {
            q->tried = 0;
            p = choose(c, r->config->n_servers, q, now);
            c->stalled = p == NULL;
        }
        if (p != NULL && !peer_send(p, q, now))
            return;
        if (p != NULL)
            continue;
        if (role == RADIUS_ACCOUNTING)
            return;
        TAILQ_REMOVE(&c->waiting, q, entry);
        q->done(q->ctx, &(struct radius_answer){.outcome = RADIUS_NO_ANSWER});
        free(q);
    }
}

/* --- receiving --- */

static void receive(struct peer_socket *s, uint64_t now)
{
    uint8_t packet[RADIUS_PACKET_MAX], classes[RADIUS_CLASSES_MAX];
    struct radius_answer answer;
    struct radius_request *q;
    size_t len;

    while ((q = peer_receive(s, now, packet, &len)) != NULL) {
        radius_read_answer(packet, len, classes, &answer);
        q->done(q->ctx, &answer);
        free(q);
    }
}

static void receive_all(struct radius *r, uint64_t now)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(r->epoll, events, EVENTS, 0);

    for (int i = 0; i < n; i++) {
        if (events[i].data.ptr == NULL)
            coa_receive(r->coa, now);
        else
            receive(events[i].data.ptr, now);
    }
}

/* --- in the loop --- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t client_next(const struct client *c, unsigned n_servers)
{
    uint64_t next = UINT64_MAX;

    for (unsigned i = 0; i < n_servers; i++) {
        const struct peer *p = &c->peers[i];

        next = least(next, peer_next(p));
        if (c->stalled && p->trial == NULL)
            next = least(next, p->dead_until);
    }
    return next;
}

uint64_t radius_next(const struct radius *r)
{
    uint64_t next = r->fresh ? 0 : UINT64_MAX;

    for (unsigned role = 0; role < RADIUS_ROLES; role++)
        next = least(next, client_next(&r->client[role], r->config->n_servers));
    return next;
}

void radius_run(struct radius *r, uint64_t now)
{
    r->fresh = false;
    receive_all(r, now);
    for (unsigned role = 0; role < RADIUS_ROLES; role++) {
        struct client *c = &r->client[role];

        for (unsigned i = 0; i < r->config->n_servers; i++)
            peer_expire(&c->peers[i], now, &c->waiting);
        dispatch(r, role, now);
    }
}

/* --- changes and counters --- */

void radius_on_change(struct radius *r, radius_changed *changed, void *ctx)
{
    if (r->coa != NULL)
        coa_on_change(r->coa, changed, ctx);
}

struct radius_coa_counts radius_coa_counts(const struct radius *r)
{
    return r->coa != NULL ? coa_counts(r->coa) : (struct radius_coa_counts){0};
}

struct radius_peer_state radius_peer_state(const struct radius *r, unsigned server,
                                           enum radius_role role)
{
    const struct peer *p = &r->client[role].peers[server];

    return (struct radius_peer_state){p->counts, &p->rtt_us, p->pending, p->dead_until != 0};
}

uint32_t radius_waiting(const struct radius *r, enum radius_role role)
{
    const struct radius_request *q;
    uint32_t n = 0;

    TAILQ_FOREACH(q, &r->client[role].waiting, entry)
    n++;
    return n;
}
