/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/punt.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "cp/packet/bytes.h"
#include "cp/dhcp6/server.h"
#include "cp/ipoe4.h"
#include "cp/pppoe/pppoe.h"

#define RECONNECT_NS (NS_PER_S / 10)
#define AT_ONCE      256 /* messages in a turn: one transaction for all that they ask for */
#define MAX_PORTS    64
#define MOST_WAITING (4 << 20) /* bytes of messages that wait: the ends of some 15,000 sessions */

/* A message that waits for the socket. */
struct waiting {
    struct waiting *next;
    struct punt_header header;
    uint8_t frame[];
};

struct punt {
    struct cp *cp;
    struct watch watch; /* fd -1: no connection */
    struct timer retry;
    bool full; /* the socket has no room, until it is ready */
    struct waiting *first, **end;
    size_t waiting; /* bytes */
    unsigned n_ports;
    struct punt_port ports[MAX_PORTS];
    unsigned n_told; /* of which the user plane has told on this connection */
    bool told[MAX_PORTS];
};

#define PUNT_OF_WATCH(w) ((struct punt *)((char *)(w)-offsetof(struct punt, watch)))

/* The place of a port; n_ports: there is none. */
static unsigned find(const struct punt *p, const char *name)
{
    unsigned i = 0;

    while (i < p->n_ports && strcmp(p->ports[i].name, name) != 0)
        i++;
    return i;
}

const struct punt_port *punt_port(const struct punt *p, const char *name)
{
    unsigned i = find(p, name);

    return i < p->n_ports && p->told[i] ? &p->ports[i] : NULL;
}

const uint8_t *punt_mac(const struct punt *p, const char *name)
{
    unsigned i = find(p, name);

    return i < p->n_ports ? p->ports[i].mac : NULL;
}

/* --- messages to vbng --- */

static size_t bytes_of(const struct waiting *w)
{
    return sizeof(*w) + w->header.frame_bytes;
}

static void forget(struct punt *p, struct waiting **at)
{
    struct waiting *w = *at;

    *at = w->next;
    if (p->end == &w->next)
        p->end = at;
    p->waiting -= bytes_of(w);
    free(w);
}

/* Have a message wait, in place of the oldest ones where there are too many. */
static void keep(struct punt *p, const struct punt_header *h, const uint8_t *frame)
{
    struct waiting *w = malloc(sizeof(*w) + h->frame_bytes);

    if (w == NULL)
        return;
    w->next = NULL;
    w->header = *h;
    memcpy(w->frame, frame, h->frame_bytes);
    *p->end = w;
    p->end = &w->next;
    p->waiting += bytes_of(w);
    while (p->waiting > MOST_WAITING)
        forget(p, &p->first);
}

/* Send a message, with the port's MAC as its frame's source. Returns whether it needs not be kept:
 * it was sent, or can never be. */
static bool send_now(struct punt *p, const struct punt_port *port, const struct punt_header *h,
                     const uint8_t *frame)
{
    struct iovec part[4] = {{(void *)h, sizeof(*h)},
                            {(void *)frame, 6},
                            {(void *)port->mac, 6},
                            {(void *)(frame + 12), h->frame_bytes - 12u}};
    struct msghdr m = {.msg_iov = part, .msg_iovlen = 4};

    if (sendmsg(p->watch.fd, &m, MSG_NOSIGNAL) >= 0)
        return true;
    p->full = errno == EAGAIN || errno == EPIPE || errno == ECONNRESET;
    return !p->full;
}

static void wait_for_room(struct punt *p)
{
    p->watch.events = p->full ? POLLIN | POLLOUT : POLLIN;
}

/* Send what waits, but for ports that vbng has not told of. */
static void send_waiting(struct punt *p)
{
    struct waiting **at = &p->first;

    while (*at != NULL && !p->full) {
        const struct punt_port *port = punt_port(p, (*at)->header.port);

        if (port != NULL && send_now(p, port, &(*at)->header, (*at)->frame))
            forget(p, at);
        else
            at = &(*at)->next;
    }
    wait_for_room(p);
}

static void send_or_keep(struct punt *p, enum punt_kind kind, const struct session *line,
                         const uint8_t *frame, size_t n, bool waits)
{
    const struct punt_port *port = punt_port(p, line->access->port);
    struct punt_header h = {.magic = PUNT_MAGIC,
                            .header_bytes = sizeof(h),
                            .frame_bytes = (uint16_t)n,
                            .svlan = line->svlan,
                            .cvlan = line->cvlan,
                            .kind = (uint8_t)kind};

    if (n < 12 || n > PUNT_FRAME_MOST)
        return;
    strncpy(h.port, line->access->port, sizeof(h.port) - 1);
    if (port != NULL && !p->full && send_now(p, port, &h, frame))
        return;
    if (port != NULL || waits)
        keep(p, &h, frame);
    wait_for_room(p);
}

void punt_send(struct punt *p, enum punt_kind kind, const struct session *line,
               const uint8_t *frame, size_t n)
{
    send_or_keep(p, kind, line, frame, n, false);
}

void punt_send_last(struct punt *p, enum punt_kind kind, const struct session *line,
                    const uint8_t *frame, size_t n)
{
    send_or_keep(p, kind, line, frame, n, true);
}

/* --- messages of vbng --- */

static void hello(struct punt *p, const struct punt_header *h, const uint8_t *frame)
{
    unsigned i = find(p, h->port);
    struct punt_port *port = &p->ports[i];

    if (h->frame_bytes < PUNT_HELLO_LEN || i == MAX_PORTS)
        return;
    if (i == p->n_ports)
        p->n_ports++;
    p->n_told += !p->told[i];
    p->told[i] = true;
    memcpy(port->name, h->port, sizeof(port->name));
    memcpy(port->mac, frame, sizeof(port->mac));
    port->mtu = get16(frame + sizeof(port->mac));
    send_waiting(p);
}

static void take(struct punt *p, const uint8_t *message, size_t n)
{
    struct punt_header h;
    const uint8_t *frame;

    if (n < sizeof(h))
        return;
    memcpy(&h, message, sizeof(h));
    if (h.magic != PUNT_MAGIC || h.header_bytes < sizeof(h) ||
        (size_t)h.header_bytes + h.frame_bytes > n || h.port[sizeof(h.port) - 1] != '\0')
        return;
    frame = message + h.header_bytes;
    if (h.kind == PUNT_HELLO)
        hello(p, &h, frame);
    else if (h.kind == PUNT_DHCP4)
        ipoe4_take(p->cp, &h, frame);
    else if (h.kind == PUNT_DHCP6)
        dhcp6_take(p->cp, &h, frame);
    else if (h.kind == PUNT_PPPOE_DISCOVERY)
        pppoe_take_discovery(p->cp, &h, frame);
    else if (h.kind == PUNT_PPP)
        pppoe_take_session(p->cp, &h, frame);
}

/* --- the connection --- */

static void try_connect(struct timer *t, void *ctx);

static void try_later(struct punt *p)
{
    p->retry.fire = try_connect;
    timer_set(&p->cp->loop.timers, &p->retry, now_ns() + RECONNECT_NS);
}

static void end(struct punt *p)
{
    loop_remove(&p->cp->loop, &p->watch);
    close(p->watch.fd);
    p->watch.fd = -1;
    p->n_told = 0;
    memset(p->told, 0, sizeof(p->told));
    p->full = false;
    try_later(p);
}

static void ready(struct watch *w, short revents, void *ctx)
{
    struct punt *p = PUNT_OF_WATCH(w);
    uint8_t message[PUNT_MESSAGE_MOST];
    ssize_t n = 0;

    (void)ctx;
    if ((revents & POLLOUT) != 0) {
        p->full = false;
        send_waiting(p);
    }
    for (unsigned i = 0; i < AT_ONCE; i++) {
        n = recv(w->fd, message, sizeof(message), 0);
        if (n <= 0)
            break;
        take(p, message, (size_t)n);
    }
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    if (p->n_told > 0) /* not where another vbng-cp has the place, which is tried again and again */
        log_warning("vbng's punt socket: the connection has ended");
    end(p);
}

static bool connect_to(struct punt *p, const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd;

    if (strlen(path) >= sizeof(to.sun_path))
        return false;
    strcpy(to.sun_path, path);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    p->watch = (struct watch){.fd = fd, .events = POLLIN, .ready = ready};
    if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0 &&
        loop_add(&p->cp->loop, &p->watch) == 0)
        return true;
    close(fd);
    p->watch.fd = -1;
    return false;
}

static void try_connect(struct timer *t, void *ctx)
{
    struct cp *cp = ctx;

    (void)t;
    if (!connect_to(cp->punt, cp->config->punt_socket))
        try_later(cp->punt);
}

struct punt *punt_open(struct cp *cp)
{
    struct punt *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return NULL;
    p->cp = cp;
    p->watch.fd = -1;
    p->end = &p->first;
    p->retry.fire = try_connect;
    timer_set(&cp->loop.timers, &p->retry, 0);
    return p;
}

void punt_close(struct punt *p)
{
    if (p->watch.fd >= 0) {
        loop_remove(&p->cp->loop, &p->watch);
        close(p->watch.fd);
    }
    timer_stop(&p->cp->loop.timers, &p->retry);
    while (p->first != NULL)
        forget(p, &p->first);
    free(p);
}
