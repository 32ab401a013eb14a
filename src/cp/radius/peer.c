/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/radius/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cp/radius/seal.h"

/* --- sockets --- */

static socklen_t address_len(const union radius_address *a)
{
    return a->any.sa_family == AF_INET6 ? sizeof(a->ipv6) : sizeof(a->ipv4);
}

/* Connected: what comes from others, the kernel keeps away. */
static int open_socket(const struct peer *p)
{
    const union radius_address *source = &p->config->source;
    int fd = socket(p->address->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), why;

    if (fd < 0)
        return -errno;
    if ((source->any.sa_family != p->address->any.sa_family ||
         bind(fd, &source->any, address_len(source)) == 0) &&
        connect(fd, &p->address->any, address_len(p->address)) == 0)
        return fd;
    why = errno;
    close(fd);
    return -why;
}

static int add_socket(struct peer *p)
{
    struct epoll_event event = {.events = EPOLLIN};
    struct peer_socket *s = calloc(1, sizeof(*s));
    int fd = open_socket(p), why;

    if (s == NULL)
        abort();
    event.data.ptr = s;
    s->peer = p;
    s->fd = fd;
    if (fd >= 0 && epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &event) == 0) {
        p->sockets[p->n_sockets++] = s;
        return 0;
    }
    why = fd >= 0 ? -errno : fd;
    if (fd >= 0)
        close(fd);
    free(s);
    return why;
}

/* One with a free id, or NULL. */
static struct peer_socket *free_socket(struct peer *p)
{
    for (unsigned i = 0; i < p->n_sockets; i++)
        if (p->sockets[i]->n < IDS)
            return p->sockets[i];
    if (p->n_sockets == p->config->sockets || add_socket(p) != 0)
        return NULL;
    return p->sockets[p->n_sockets - 1];
}

int peer_open(struct peer *p, const struct radius_config *config, unsigned server,
              enum radius_role role, int epoll)
{
    const struct radius_server *s = &config->servers[server];

    *p = (struct peer){.config = config, .role = role, .epoll = epoll};
    p->address = role == RADIUS_AUTHENTICATION ? &s->authentication : &s->accounting;
    p->secret = radius_octets(s->secret, strlen(s->secret));
    p->bit = (uint8_t)(1u << server);
    for (unsigned i = 0; i <= RADIUS_RETRIES_MAX; i++)
        TAILQ_INIT(&p->sent[i]);
    return add_socket(p);
}

void peer_close(struct peer *p)
{
    struct radius_request *q;

    for (unsigned i = 0; i <= RADIUS_RETRIES_MAX; i++) {
        while ((q = TAILQ_FIRST(&p->sent[i])) != NULL) {
            TAILQ_REMOVE(&p->sent[i], q, entry);
            free(q);
        }
    }
    for (unsigned i = 0; i < p->n_sockets; i++) {
        close(p->sockets[i]->fd);
        free(p->sockets[i]);
    }
}

bool peer_is_usable(const struct peer *p, uint64_t now)
{
    return p->dead_until == 0 || (p->dead_until <= now && p->trial == NULL);
}

/* --- sending --- */

/* The packet is made anew each time, and is the same to the octet for the same server, so that the
 * server knows it again (RFC 5080 section 2.2.2). */
static size_t build(const struct peer *p, struct radius_request *q, uint8_t *packet)
{
    struct radius_octets body = radius_octets(q->octets, q->n_body);
    struct radius_octets password = radius_octets(q->octets + q->n_body, q->n_password);
    struct radius_writer w;
    size_t len;

    if (q->role == RADIUS_ACCOUNTING) {
        w = radius_begin(packet, RADIUS_ACCOUNTING_REQUEST, q->id, q->authenticator);
        radius_put_raw(&w, body);
        len = radius_sign_request(&w, p->secret);
        memcpy(q->authenticator, packet + 4, RADIUS_AUTHENTICATOR);
        return len;
    }
    w = radius_begin(packet, RADIUS_ACCESS_REQUEST, q->id, q->authenticator);
    radius_put_message_authenticator(&w);
    radius_put_raw(&w, body);
    if (q->has_password)
        radius_put_password(&w, password, p->secret, q->authenticator);
    return radius_sign_access(&w, p->secret);
}

/* What the kernel cannot send is lost like what the network loses: it will be sent again. */
static void transmit(struct peer *p, struct radius_request *q, uint64_t now)
{
    uint8_t packet[RADIUS_PACKET_MAX];
    size_t len = build(p, q, packet);

    send(q->socket->fd, packet, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    q->due = now + (p->config->timeout_ns << q->sends);
    request_move(q, &p->sent[q->sends++]);
}

static void take_id(struct peer_socket *s, struct radius_request *q)
{
    while (s->of[s->next_id] != NULL)
        s->next_id++;
    q->id = s->next_id++;
    q->socket = s;
    s->of[q->id] = q;
    s->n++;
    s->peer->pending++;
}

static void leave_id(struct radius_request *q)
{
    struct peer_socket *s = q->socket;

    s->of[q->id] = NULL;
    s->n--;
    s->peer->pending--;
    if (s->peer->trial == q)
        s->peer->trial = NULL;
    q->socket = NULL;
}

bool peer_send(struct peer *p, struct radius_request *q, uint64_t now)
{
    struct peer_socket *s = free_socket(p);

    if (s == NULL)
        return false;
    take_id(s, q);
    if (getrandom(q->authenticator, sizeof(q->authenticator), 0) !=
        (ssize_t)sizeof(q->authenticator))
        abort(); /* 16 octets are never refused */
    if (p->dead_until != 0)
        p->trial = q;
    q->sends = 0;
    q->sent = now;
    p->counts.requests++;
    transmit(p, q, now);
    return true;
}

/* --- waiting --- */

uint64_t peer_next(const struct peer *p)
{
    const struct radius_request *q;
    uint64_t next = UINT64_MAX;

    for (unsigned i = 0; i <= p->config->retries; i++) {
        q = TAILQ_FIRST(&p->sent[i]);
        if (q != NULL && q->due < next)
            next = q->due;
    }
    return next;
}

static void give_up(struct peer *p, struct radius_request *q, struct request_list *unanswered)
{
    leave_id(q);
    q->tried |= p->bit;
    request_move(q, unanswered);
}

/* All that is under way goes elsewhere at once. */
static void die(struct peer *p, uint64_t now, struct request_list *unanswered)
{
    struct radius_request *q;

    p->counts.deaths++;
    p->dead_until = now + p->config->dead_ns;
    for (unsigned i = 0; i <= p->config->retries; i++)
        while ((q = TAILQ_FIRST(&p->sent[i])) != NULL)
            give_up(p, q, unanswered);
}

/* A server that has answered others meanwhile lives: it does not want to answer this one. */
static void lose(struct peer *p, struct radius_request *q, uint64_t now,
                 struct request_list *unanswered)
{
    bool silent = p->heard < q->sent;

    p->counts.timeouts++;
    give_up(p, q, unanswered);
    if (silent)
        die(p, now, unanswered);
}

void peer_expire(struct peer *p, uint64_t now, struct request_list *unanswered)
{
    struct radius_request *q;

    for (unsigned i = 0; i <= p->config->retries; i++) {
        while ((q = TAILQ_FIRST(&p->sent[i])) != NULL && q->due <= now) {
            if (i == p->config->retries) {
                lose(p, q, now, unanswered);
            } else {
                p->counts.retransmissions++;
                transmit(p, q, now);
            }
        }
    }
}

void peer_forget(struct radius_request *q)
{
    leave_id(q);
    TAILQ_REMOVE(q->list, q, entry);
}

/* --- answers --- */

/* Count an answer by its code. Returns false where it is none to this role's requests. */
static bool count_code(struct peer *p, uint8_t code)
{
    if (p->role == RADIUS_ACCOUNTING && code == RADIUS_ACCOUNTING_RESPONSE)
        p->counts.responses++;
    else if (p->role == RADIUS_AUTHENTICATION && code == RADIUS_ACCESS_ACCEPT)
        p->counts.accepts++;
    else if (p->role == RADIUS_AUTHENTICATION && code == RADIUS_ACCESS_REJECT)
        p->counts.rejects++;
    else if (p->role == RADIUS_AUTHENTICATION && code == RADIUS_ACCESS_CHALLENGE)
        p->counts.challenges++;
    else
        return false;
    return true;
}

/* An answer to an Access-Request needs a Message-Authenticator: else who stands between could turn
 * a reject into an accept (CVE-2024-3596). */
static bool is_genuine(struct peer *p, const struct radius_request *q, const uint8_t *packet,
                       size_t len)
{
    switch (radius_check_answer(packet, len, q->authenticator, p->secret)) {
    case RADIUS_BAD_AUTHENTICATOR:
        p->counts.bad_authenticators++;
        return false;
    case RADIUS_BAD_MESSAGE_AUTHENTICATOR:
        p->counts.bad_message_authenticators++;
        return false;
    case RADIUS_NO_MESSAGE_AUTHENTICATOR:
        if (p->role == RADIUS_ACCOUNTING)
            return true;
        p->counts.no_message_authenticators++;
        return false;
    default:
        return true;
    }
}

/* The request that n octets are the answer to, or NULL. */
static struct radius_request *match(struct peer_socket *s, const uint8_t *packet, size_t n,
                                    size_t *len)
{
    struct peer *p = s->peer;
    struct radius_request *q;

    *len = radius_packet_len(packet, n);
    if (*len == 0) {
        p->counts.malformed++;
        return NULL;
    }
    q = s->of[packet[1]];
    if (q == NULL) {
        p->counts.late++;
        return NULL;
    }
    if (!is_genuine(p, q, packet, *len))
        return NULL;
    if (!count_code(p, packet[0])) {
        p->counts.unknown_types++;
        return NULL;
    }
    return q;
}

static void hear(struct peer *p, const struct radius_request *q, uint64_t now)
{
    uint64_t us = (now - q->sent) / 1000;

    hist_add(&p->rtt_us, us < UINT32_MAX ? (uint32_t)us : UINT32_MAX);
    p->heard = now;
    p->dead_until = 0;
}

struct radius_request *peer_receive(struct peer_socket *s, uint64_t now, uint8_t *packet,
                                    size_t *len)
{
    struct radius_request *q;
    ssize_t n;

    for (;;) {
        n = recv(s->fd, packet, RADIUS_PACKET_MAX, MSG_DONTWAIT);
        if (n < 0 && errno == ECONNREFUSED) /* anybody may have said so */
            continue;
        if (n < 0)
            return NULL;
        q = match(s, packet, (size_t)n, len);
        if (q == NULL)
            continue;
        hear(s->peer, q, now);
        peer_forget(q);
        return q;
    }
}
