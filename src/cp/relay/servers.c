/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/relay/servers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "cp/relay/relay4.h"
#include "cp/relay/relay6.h"

#define AT_ONCE     256 /* messages in a turn: one transaction for all that they change */
#define UNANSWERED  3   /* messages, and the timeout, after which a server is dead */
#define SOCKET_ROOM (1 << 20)
#define WHOSE       16 /* bytes of a message, and of its answer, by which its client is known */

/* Whose message a server's time of an answer is taken of. */
struct probe {
    bool waits;
    uint64_t since;
    uint8_t whose[WHOSE];
};

struct server {
    uint64_t dead_until; /* ns of CLOCK_MONOTONIC */
    uint64_t since;      /* when the first message was sent that it has not answered */
    uint32_t tries;      /* messages that it has not answered, since it was tried anew */
    struct relay_server_state state;
    struct probe probe;
    struct dhcp6_duid duid; /* of DHCPv6: what it was called last; n 0: it was not heard */
};

struct relay {
    const struct relay_config *config;
    struct watch watch; /* fd -1: not open */
    struct server server[RELAY_MAX_SERVERS];
};

#define RELAY_OF_WATCH(w) ((struct relay *)((char *)(w)-offsetof(struct relay, watch)))

struct relay *relay_at(struct relay *relays, uint32_t index)
{
    return &relays[index];
}

const struct relay_config *relay_config(const struct relay *r)
{
    return r->config;
}

static bool is_ipv4(const struct relay *r)
{
    return r->config->own.any.sa_family == AF_INET;
}

static socklen_t address_len(const struct relay *r)
{
    return is_ipv4(r) ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static bool same_host(const struct relay *r, const union relay_address *a,
                      const union relay_address *b)
{
    return is_ipv4(r) ? a->ipv4.sin_addr.s_addr == b->ipv4.sin_addr.s_addr
                      : memcmp(&a->ipv6.sin6_addr, &b->ipv6.sin6_addr, 16) == 0;
}

uint32_t relay_server4(const struct relay *r, uint32_t address)
{
    for (uint32_t i = 0; i < r->config->n_servers; i++)
        if (ntohl(r->config->server[i].ipv4.sin_addr.s_addr) == address)
            return i;
    return RELAY_ANYBODY;
}

uint32_t relay_server6(const struct relay *r, const uint8_t *duid, size_t n)
{
    for (uint32_t i = 0; i < r->config->n_servers; i++)
        if (n > 0 && r->server[i].duid.n == n && memcmp(r->server[i].duid.at, duid, n) == 0)
            return i;
    return n > 0 ? RELAY_UNKNOWN : RELAY_ANYBODY;
}

const struct relay_server_state *relay_server_state(const struct relay *r, uint32_t server)
{
    return &r->server[server].state;
}

void relay_learn(struct relay *r, uint32_t server, const struct dhcp6_duid *duid)
{
    r->server[server].duid = *duid;
}

uint32_t relay_giaddr(const struct relay *r)
{
    return ntohl(r->config->own.ipv4.sin_addr.s_addr);
}

/* --- the time of an answer --- */

/* Tell whose message, or the answer to it, this is. Returns false where it is too short. */
static bool read_whose(const struct relay *r, const uint8_t *message, size_t n,
                       uint8_t whose[WHOSE])
{
    const size_t xid = 4, chaddr = 28, peer = 18; /* RFC 2131 section 2, RFC 8415 section 9 */

    if (n < chaddr + WHOSE)
        return false;
    if (!is_ipv4(r)) {
        memcpy(whose, message + peer, WHOSE);
        return true;
    }
    memcpy(whose, message + xid, 4);
    memcpy(whose + 4, message + chaddr, WHOSE - 4);
    return true;
}

/* Begin to take the time, unless that of another client is being taken. Which message an answer to
 * somebody who has asked twice is to, nobody knows. */
static void probe_sent(struct relay *r, struct server *s, const uint8_t *message, size_t n,
                       uint64_t now)
{
    uint8_t whose[WHOSE];

    if (!read_whose(r, message, n, whose))
        return;
    if (s->probe.waits && memcmp(whose, s->probe.whose, WHOSE) == 0) {
        s->probe.waits = false;
        return;
    }
    if (s->probe.waits && now - s->probe.since < r->config->timeout_ns)
        return;
    s->probe = (struct probe){.waits = true, .since = now};
    memcpy(s->probe.whose, whose, WHOSE);
}

static void probe_answered(const struct relay *r, struct server *s, const uint8_t *message,
                           size_t n)
{
    uint8_t whose[WHOSE];
    uint64_t us;

    if (!s->probe.waits || !read_whose(r, message, n, whose) ||
        memcmp(whose, s->probe.whose, WHOSE) != 0)
        return;
    s->probe.waits = false;
    us = (now_ns() - s->probe.since) / 1000;
    hist_add(&s->state.rtt_us, us < UINT32_MAX ? (uint32_t)us : UINT32_MAX);
}

/* --- sending --- */

static bool is_dead(const struct server *s, uint64_t now)
{
    return now < s->dead_until;
}

static void send_one(struct relay *r, unsigned i, bool answers, const uint8_t *message, size_t n,
                     uint64_t now)
{
    const union relay_address *to = &r->config->server[i];
    struct server *s = &r->server[i];

    if (answers && s->tries++ == 0)
        s->since = now;
    s->state.unanswered += answers;
    s->state.messages++;
    if (answers)
        probe_sent(r, s, message, n, now);
    /* What the kernel does not take is lost, as on a wire: the client says it again. */
    (void)!sendto(r->watch.fd, message, n, MSG_NOSIGNAL, &to->any, address_len(r));
}

/* A server that has not answered for too long is left alone for a time. */
static void judge(struct relay *r, unsigned i, uint64_t now)
{
    struct server *s = &r->server[i];

    if (is_dead(s, now) || s->tries < UNANSWERED || now - s->since < r->config->timeout_ns)
        return;
    s->dead_until = now + r->config->dead_ns;
    s->tries = 0;
    s->state.deaths++;
    s->state.dead = true;
    log_warning("relay %s: server %s does not answer", r->config->name, r->config->server_name[i]);
}

/* The first one that lives; where none does, the first. */
static uint32_t choose(const struct relay *r, uint64_t now)
{
    for (uint32_t i = 0; i < r->config->n_servers; i++)
        if (!is_dead(&r->server[i], now))
            return i;
    return 0;
}

void relay_send(struct relay *r, uint32_t who, const uint8_t *message, size_t n)
{
    uint64_t now = now_ns();
    uint32_t one;

    for (unsigned i = 0; i < r->config->n_servers; i++)
        judge(r, i, now); /* where all are asked for the log alone: a dead one is, too */
    one = who == RELAY_ANYBODY ? choose(r, now) : who;
    for (unsigned i = 0; i < r->config->n_servers; i++)
        if (r->config->asks_all || who == RELAY_UNKNOWN || i == one)
            send_one(r, i, who == RELAY_ANYBODY || who == i, message, n, now);
}

void relay_send_to(struct relay *r, uint32_t who, bool answers, const uint8_t *message, size_t n)
{
    uint64_t now = now_ns();

    if (who < r->config->n_servers && answers)
        judge(r, who, now);
    if (who < r->config->n_servers && !(answers && is_dead(&r->server[who], now)))
        send_one(r, who, answers, message, n, now);
    else
        relay_send(r, RELAY_ANYBODY, message, n);
}

/* --- receiving --- */

static void heard(struct server *s)
{
    s->dead_until = 0;
    s->tries = 0;
    s->state.answers++;
    s->state.unanswered = 0;
    s->state.dead = false;
}

/* Take a server's answer; strangers are not heard. */
static void take(struct cp *cp, struct relay *r, const union relay_address *from,
                 const uint8_t *message, size_t n)
{
    for (unsigned i = 0; i < r->config->n_servers; i++) {
        if (!same_host(r, &r->config->server[i], from))
            continue;
        heard(&r->server[i]);
        probe_answered(r, &r->server[i], message, n);
        if (is_ipv4(r))
            relay4_reply(cp, r, ntohl(from->ipv4.sin_addr.s_addr), message, n);
        else
            relay6_reply(cp, r, i, message, n);
        return;
    }
}

static void ready(struct watch *w, short revents, void *ctx)
{
    struct relay *r = RELAY_OF_WATCH(w);
    uint8_t message[RELAY_MESSAGE];
    union relay_address from;

    (void)revents;
    for (unsigned i = 0; i < AT_ONCE; i++) {
        socklen_t len = sizeof(from);
        ssize_t n =
            recvfrom(w->fd, message, sizeof(message), MSG_TRUNC, (struct sockaddr *)&from, &len);

        if (n < 0)
            return;
        if ((size_t)n <= sizeof(message))
            take(ctx, r, &from, message, (size_t)n);
    }
}

/* --- opening --- */

static bool open_relay(struct cp *cp, struct relay *r)
{
    const union relay_address *own = &r->config->own;
    char address[INET6_ADDRSTRLEN];
    int room = SOCKET_ROOM;

    r->watch = (struct watch){
        .fd = socket(own->any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
        .events = POLLIN,
        .ready = ready};
    if (r->watch.fd >= 0)
        setsockopt(r->watch.fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    if (r->watch.fd >= 0 && bind(r->watch.fd, &own->any, address_len(r)) == 0 &&
        loop_add(&cp->loop, &r->watch) == 0)
        return true;
    inet_ntop(own->any.sa_family,
              is_ipv4(r) ? (const void *)&own->ipv4.sin_addr : &own->ipv6.sin6_addr, address,
              sizeof(address));
    log_error("relay %s: %s port %u: %s", r->config->name, address, ntohs(own->ipv4.sin_port),
              strerror(errno));
    return false;
}

struct relay *relays_open(struct cp *cp)
{
    const struct relays_config *c = &cp->config->relays;
    struct relay *relays = calloc(c->n, sizeof(*relays));

    for (unsigned i = 0; relays != NULL && i < c->n; i++) {
        relays[i].config = &c->relay[i];
        relays[i].watch.fd = -1;
    }
    for (unsigned i = 0; relays != NULL && i < c->n; i++)
        if (!open_relay(cp, &relays[i])) {
            relays_close(cp, relays);
            return NULL;
        }
    return relays;
}

void relays_close(struct cp *cp, struct relay *relays)
{
    for (unsigned i = 0; i < cp->config->relays.n; i++) {
        if (relays[i].watch.fd < 0)
            continue;
        loop_remove(&cp->loop, &relays[i].watch);
        close(relays[i].watch.fd);
    }
    free(relays);
}
