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

struct punt {
    struct cp *cp;
    struct watch watch; /* fd -1: no connection */
    struct timer retry;
    unsigned n_ports;
    struct punt_port ports[MAX_PORTS];
};

#define PUNT_OF_WATCH(w) ((struct punt *)((char *)(w)-offsetof(struct punt, watch)))

const struct punt_port *punt_port(const struct punt *p, const char *name)
{
    for (unsigned i = 0; i < p->n_ports; i++)
        if (strcmp(p->ports[i].name, name) == 0)
            return &p->ports[i];
    return NULL;
}

static void hello(struct punt *p, const struct punt_header *h, const uint8_t *frame)
{
    struct punt_port *port = (struct punt_port *)punt_port(p, h->port);

    if (h->frame_bytes < PUNT_HELLO_LEN || (port == NULL && p->n_ports == MAX_PORTS))
        return;
    if (port == NULL)
        port = &p->ports[p->n_ports++];
    memcpy(port->name, h->port, sizeof(port->name));
    memcpy(port->mac, frame, sizeof(port->mac));
    port->mtu = get16(frame + sizeof(port->mac));
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
    p->n_ports = 0;
    try_later(p);
}

static void ready(struct watch *w, short revents, void *ctx)
{
    struct punt *p = PUNT_OF_WATCH(w);
    uint8_t message[PUNT_MESSAGE_MOST];
    ssize_t n = 0;

    (void)ctx;
    (void)revents;
    for (unsigned i = 0; i < AT_ONCE; i++) {
        n = recv(w->fd, message, sizeof(message), 0);
        if (n <= 0)
            break;
        take(p, message, (size_t)n);
    }
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    if (p->n_ports >
        0) /* not where another vbng-cp has the place, which is tried again and again */
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
    free(p);
}

void punt_send(struct punt *p, enum punt_kind kind, const struct session *line,
               const uint8_t *frame, size_t n)
{
    struct punt_header h = {.magic = PUNT_MAGIC,
                            .header_bytes = sizeof(h),
                            .frame_bytes = (uint16_t)n,
                            .svlan = line->svlan,
                            .cvlan = line->cvlan,
                            .kind = (uint8_t)kind};
    struct iovec part[2] = {{&h, sizeof(h)}, {(void *)frame, n}};
    struct msghdr m = {.msg_iov = part, .msg_iovlen = 2};

    if (p->watch.fd < 0 || n > PUNT_FRAME_MOST)
        return;
    strncpy(h.port, line->access->port, sizeof(h.port) - 1);
    (void)!sendmsg(p->watch.fd, &m, MSG_NOSIGNAL);
}
