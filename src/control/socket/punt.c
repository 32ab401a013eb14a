/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/socket/punt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rte_byteorder.h>
#include <rte_cycles.h>

#include "base/log.h"
#include "base/units.h"
#include "packet/punt.h"
#include "tasks/arp/arp.h"

#define BATCH     32 /* messages of one system call */
#define BATCHES   8  /* each way in one punt_serve(), so that requests have their turn */
#define PACE_S    0.001
#define SEND_ROOM (1 << 20) /* bytes that may wait in the socket for a client */

struct punt_socket {
    struct listener listener;
    const struct control *c;
    struct arp_control *lines;
    int client; /* -1: none */
};

struct punt_socket *punt_open(const struct control *c, const struct access *access)
{
    const char *path = control_model(c)->punt_socket;
    struct punt_socket *p = calloc(1, sizeof(*p));

    if (p == NULL ||
        listener_open(&p->listener, "punt_socket", path, SOCK_SEQPACKET, access) != 0) {
        free(p);
        return NULL;
    }
    p->c = c;
    p->client = -1;
    for (unsigned i = 0; i < c->e->plan->n_instances; i++)
        if (arp_is(c->e->tasks[i]))
            p->lines = arp_control(c->e->tasks[i]);
    return p;
}

/* Count what waits for a client that is gone, or has not come yet, as lost. */
static void discard(struct punt_socket *p)
{
    while (slots_full(p->lines->out, 0) != NULL) {
        slots_take(p->lines->out, 1);
        __atomic_store_n(&p->lines->lost, p->lines->lost + 1, __ATOMIC_RELAXED);
    }
}

static void leave(struct punt_socket *p, const char *why)
{
    __atomic_store_n(&p->lines->listens, 0, __ATOMIC_RELEASE);
    close(p->client);
    p->client = -1;
    discard(p);
    log_info("punt_socket %s: the control plane is gone: %s", p->listener.address.sun_path, why);
}

/* Tell a client of a port: its name, MAC and mtu. Returns 0 or -errno. */
static int tell_port(const struct punt_socket *p, int fd, unsigned port)
{
    const struct cfg_port *cfg = &control_model(p->c)->ports[port];
    struct {
        struct punt_header h;
        uint8_t mac[6];
        uint16_t mtu;
    } hello = {.h = {.magic = PUNT_MAGIC,
                     .header_bytes = sizeof(hello.h),
                     .frame_bytes = PUNT_HELLO_LEN,
                     .kind = PUNT_HELLO},
               .mtu = rte_cpu_to_be_16(cfg->mtu)};

    static_assert(sizeof(hello) == sizeof(hello.h) + PUNT_HELLO_LEN, "no gaps");
    strncpy(hello.h.port, cfg->name, sizeof(hello.h.port) - 1);
    memcpy(hello.mac, p->c->tables->port_mac[port], sizeof(hello.mac));
    return send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) == (ssize_t)sizeof(hello) ? 0 : -errno;
}

/* Take in a client, or turn it away where there is one. */
static void take_in(struct punt_socket *p, int fd)
{
    const int room = SEND_ROOM;
    int rc = 0;

    if (p->client >= 0) {
        close(fd);
        return;
    }
    discard(p); /* what the task has put while the last client left */
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    /* before the client hears anything: whoever has heard it misses no frame from then on */
    __atomic_store_n(&p->lines->listens, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; rc == 0 && i < control_model(p->c)->n_ports; i++)
        if ((p->c->e->plan->subscriber_ports >> i & 1) != 0)
            rc = tell_port(p, fd, i);
    p->client = fd;
    if (rc != 0) {
        leave(p, strerror(-rc));
        return;
    }
    log_info("punt_socket %s: a control plane is there", p->listener.address.sun_path);
}

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Give the client a batch of messages. Returns how many it took: fewer than BATCH where there are
 * no more, or it has no room; or -errno. */
static int give_batch(struct punt_socket *p)
{
    struct mmsghdr headers[BATCH];
    struct iovec parts[BATCH];
    uint64_t now = rte_rdtsc(), now_ns = clock_ns(), hz = rte_get_tsc_hz();
    unsigned n = 0;
    int sent;

    for (struct arp_message *m; n < BATCH && (m = slots_full(p->lines->out, n)) != NULL; n++) {
        struct punt_header *h = (struct punt_header *)(void *)m->message;
        double age = now > m->tsc ? (double)(now - m->tsc) / (double)hz : 0;

        h->time_ns = now_ns - (uint64_t)(age * (double)NS_PER_S);
        parts[n] = (struct iovec){m->message, m->bytes};
        headers[n] = (struct mmsghdr){.msg_hdr = {.msg_iov = &parts[n], .msg_iovlen = 1}};
    }
    if (n == 0)
        return 0;
    sent = sendmmsg(p->client, headers, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR || errno == ENOBUFS ? 0 : -errno;
    slots_take(p->lines->out, (uint32_t)sent);
    return sent;
}

/* Take a batch of messages from the client. Returns how many there were: fewer than BATCH where
 * there are no more, or the task has no room; -ECONNRESET at their end, or another -errno. */
static int take_batch(struct punt_socket *p)
{
    struct mmsghdr headers[BATCH];
    struct iovec parts[BATCH];
    unsigned n = 0;
    int came;

    for (struct arp_message *m; n < BATCH && (m = slots_room(p->lines->in, n)) != NULL; n++) {
        parts[n] = (struct iovec){m->message, sizeof(m->message)};
        headers[n] = (struct mmsghdr){.msg_hdr = {.msg_iov = &parts[n], .msg_iovlen = 1}};
    }
    if (n == 0)
        return 0;
    came = recvmmsg(p->client, headers, n, MSG_DONTWAIT | MSG_TRUNC, NULL);
    if (came < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    for (int i = 0; i < came; i++) {
        struct arp_message *m = slots_room(p->lines->in, 0);

        if (headers[i].msg_len == 0)
            return -ECONNRESET;
        m->bytes = headers[i].msg_len; /* of the whole message, also where it was cut off */
        slots_put(p->lines->in, 1);
    }
    return came;
}

/* Move messages one way, as long as there are whole batches. Returns 0 or -errno. */
static int move(struct punt_socket *p, int (*batch)(struct punt_socket *p))
{
    int n = BATCH;

    for (unsigned i = 0; i < BATCHES && n == BATCH; i++)
        n = batch(p);
    return n < 0 ? n : 0;
}

void punt_serve(struct punt_socket *p)
{
    int rc, fd;

    if (p == NULL)
        return;
    if (p->client >= 0) {
        rc = move(p, take_batch);
        if (rc == 0)
            rc = move(p, give_batch);
        if (rc != 0)
            leave(p, strerror(-rc));
    }
    /* one at a time: who connects in a loop does not keep the main thread here */
    fd = accept4(p->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0)
        take_in(p, fd);
}

double punt_pace(const struct punt_socket *p, double seconds)
{
    return p != NULL && p->client >= 0 && seconds > PACE_S ? PACE_S : seconds;
}

void punt_finish(struct punt_socket *p)
{
    if (p == NULL || p->client < 0)
        return;
    while (give_batch(p) > 0)
        ;
    leave(p, "the gateway stops");
}

void punt_close(struct punt_socket *p)
{
    if (p == NULL)
        return;
    if (p->client >= 0)
        close(p->client);
    listener_close(&p->listener);
    free(p);
}
