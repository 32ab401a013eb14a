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
#include "base/units.h"
#include "cp/relay/relay4.h"

#define MESSAGE     1500 /* bytes of the longest one that fits a frame */
#define AT_ONCE     256  /* messages in a turn: one transaction for all that they change */
#define UNANSWERED  3    /* messages, and the timeout, after which a server is dead */
#define SOCKET_ROOM (1 << 20)

struct server {
    uint64_t dead_until; /* ns of CLOCK_MONOTONIC */
    uint64_t since;      /* when the first message was sent that it has not answered */
    uint32_t unanswered;
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

static uint32_t address_of(const struct relay_address *a)
{
    return ntohl(a->ipv4.sin_addr.s_addr);
}

/* --- sending --- */

static bool is_dead(const struct server *s, uint64_t now)
{
    return now < s->dead_until;
}

static void send_one(struct relay *r, unsigned i, const uint8_t *message, size_t n, uint64_t now)
{
    const struct sockaddr_in *to = &r->config->server[i].ipv4;
    struct server *s = &r->server[i];

    if (s->unanswered++ == 0)
        s->since = now;
    /* What the kernel does not take is lost, as on a wire: the client says it again. */
    (void)!sendto(r->watch.fd, message, n, MSG_NOSIGNAL, (const struct sockaddr *)to, sizeof(*to));
}

/* A server that has not answered for too long is left alone for a time. */
static void judge(struct relay *r, unsigned i, uint64_t now)
{
    struct server *s = &r->server[i];
    char address[20];

    if (is_dead(s, now) || s->unanswered < UNANSWERED || now - s->since < r->config->timeout_ns)
        return;
    s->dead_until = now + r->config->dead_ns;
    s->unanswered = 0;
    log_warning("relay %s: server %s does not answer", r->config->name,
                format_ipv4(address_of(&r->config->server[i]), address, sizeof(address)));
}

/* The first one that lives; where none does, the first. */
static unsigned choose(struct relay *r, uint64_t now)
{
    for (unsigned i = 0; i < r->config->n_servers; i++) {
        judge(r, i, now);
        if (!is_dead(&r->server[i], now))
            return i;
    }
    return 0;
}

void relay_send(struct relay *r, const uint8_t *message, size_t n)
{
    uint64_t now = now_ns();

    if (!r->config->asks_all) {
        send_one(r, choose(r, now), message, n, now);
        return;
    }
    for (unsigned i = 0; i < r->config->n_servers; i++) {
        judge(r, i, now); /* for the log: a dead one is sent everything, too */
        send_one(r, i, message, n, now);
    }
}

void relay_send_to(struct relay *r, uint32_t address, const uint8_t *message, size_t n)
{
    for (unsigned i = 0; i < r->config->n_servers; i++)
        if (address_of(&r->config->server[i]) == address) {
            send_one(r, i, message, n, now_ns());
            return;
        }
    relay_send(r, message, n);
}

/* --- receiving --- */

/* Take a server's answer; strangers are not heard. */
static void take(struct cp *cp, struct relay *r, const struct sockaddr_in *from,
                 const uint8_t *message, size_t n)
{
    for (unsigned i = 0; i < r->config->n_servers; i++) {
        const struct sockaddr_in *server = &r->config->server[i].ipv4;

        if (server->sin_addr.s_addr != from->sin_addr.s_addr)
            continue;
        r->server[i].unanswered = 0;
        r->server[i].dead_until = 0;
        relay4_reply(cp, r, address_of(&r->config->server[i]), message, n);
        return;
    }
}

static void ready(struct watch *w, short revents, void *ctx)
{
    struct relay *r = RELAY_OF_WATCH(w);
    uint8_t message[MESSAGE];
    struct sockaddr_in from;

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
    const struct sockaddr_in *own = &r->config->own.ipv4;
    int room = SOCKET_ROOM;
    char address[20];

    r->watch = (struct watch){.fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
                              .events = POLLIN,
                              .ready = ready};
    if (r->watch.fd >= 0)
        setsockopt(r->watch.fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    if (r->watch.fd >= 0 && bind(r->watch.fd, (const struct sockaddr *)own, sizeof(*own)) == 0 &&
        loop_add(&cp->loop, &r->watch) == 0)
        return true;
    log_error("relay %s: %s port %u: %s", r->config->name,
              format_ipv4(address_of(&r->config->own), address, sizeof(address)),
              ntohs(own->sin_port), strerror(errno));
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
