/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "control/client.h"
#include "control/listen.h"

struct server {
    struct listener listener;
    struct client client[SERVER_MAX_CLIENTS];
};

struct server *server_open(const char *path, const struct access *access)
{
    struct server *s = calloc(1, sizeof(*s));

    if (s == NULL || listener_open(&s->listener, path, access) != 0) {
        free(s);
        return NULL;
    }
    for (unsigned i = 0; i < SERVER_MAX_CLIENTS; i++)
        s->client[i].fd = -1;
    return s;
}

void server_close(struct server *s)
{
    if (s == NULL)
        return;
    for (unsigned i = 0; i < SERVER_MAX_CLIENTS; i++)
        client_close(&s->client[i]);
    listener_close(&s->listener);
    free(s);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A free place, or that of the client which has been still for longest, if that is long. */
static struct client *find_place(struct server *s, double now)
{
    struct client *oldest = NULL;

    for (unsigned i = 0; i < SERVER_MAX_CLIENTS; i++) {
        struct client *c = &s->client[i];

        if (c->fd < 0)
            return c;
        if (now - c->active > CLIENT_STILL_S && (oldest == NULL || c->active < oldest->active))
            oldest = c;
    }
    if (oldest != NULL)
        client_close(oldest);
    return oldest;
}

static void accept_clients(struct server *s, double now)
{
    static const char full[] = "{\"error\": \"too many clients\"}\n";

    /* bounded: whoever connects in a loop shall not keep us here */
    for (unsigned i = 0; i < SERVER_MAX_CLIENTS; i++) {
        int fd = accept4(s->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        struct client *c;

        if (fd < 0)
            return;
        c = find_place(s, now);
        if (c == NULL) {
            (void)!send(fd, full, sizeof(full) - 1, MSG_NOSIGNAL);
            close(fd);
            continue;
        }
        client_open(c, fd, now);
    }
}

void server_poll(struct server *s, struct control *c, int timeout_ms)
{
    struct pollfd p[SERVER_MAX_CLIENTS + 1] = {{.fd = s->listener.fd, .events = POLLIN}};
    double now;

    for (unsigned i = 0; i < SERVER_MAX_CLIENTS; i++) {
        p[i + 1].fd = s->client[i].fd;
        p[i + 1].events = client_events(&s->client[i]);
        if (client_has_request(&s->client[i]))
            timeout_ms = 0;
    }
    if (poll(p, SERVER_MAX_CLIENTS + 1, timeout_ms) < 0)
        return;
    now = seconds();
    for (unsigned i = 0; i < SERVER_MAX_CLIENTS; i++)
        if (s->client[i].fd >= 0)
            client_serve(&s->client[i], c, p[i + 1].revents, now);
    if (p[0].revents != 0)
        accept_clients(s, now);
}
