/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/client.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/request.h"
#include "control/server.h"

#define READ_AT_ONCE 65536

void client_open(struct client *k, int fd, double now)
{
    *k = (struct client){.fd = fd, .active = now};
}

void client_close(struct client *k)
{
    if (k->fd >= 0)
        close(k->fd);
    free(k->in);
    free(k->out);
    *k = (struct client){.fd = -1};
}

short client_events(const struct client *k)
{
    if (k->out != NULL)
        return POLLOUT;
    return k->ended || k->has_line ? 0 : POLLIN;
}

bool client_has_request(const struct client *k)
{
    return k->fd >= 0 && k->out == NULL && k->has_line;
}

static void look_for_line(struct client *k)
{
    k->has_line =
        k->n_in > k->scanned && memchr(k->in + k->scanned, '\n', k->n_in - k->scanned) != NULL;
    if (!k->has_line)
        k->scanned = k->n_in;
}

/* Without memory the client is closed: it sees that. */
static int make_room(struct client *k)
{
    size_t want = k->n_in + READ_AT_ONCE;
    char *in;

    if (want <= k->room_in)
        return 0;
    in = realloc(k->in, RTE_MAX(want, k->room_in * 2));
    if (in == NULL)
        return -ENOMEM;
    k->in = in;
    k->room_in = RTE_MAX(want, k->room_in * 2);
    return 0;
}

static int take(struct client *k, double now)
{
    ssize_t n;

    if (make_room(k) != 0)
        return -ENOMEM;
    n = recv(k->fd, k->in + k->n_in, READ_AT_ONCE, 0);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    if (n == 0) {
        k->ended = true;
        return 0;
    }
    k->active = now;
    k->n_in += (size_t)n;
    look_for_line(k);
    return 0;
}

static int put(struct client *k, char *text, double now)
{
    if (text == NULL)
        return -ENOMEM;
    k->out = text;
    k->n_out = strlen(text);
    k->sent = 0;
    k->active = now;
    return 0;
}

/* Where such a line ends is unknown, so nothing after it can be understood. */
static int refuse_long(struct client *k, double now)
{
    static const char text[] =
        "{\"error\": \"the request is too long: expected a line of at most 1048576 bytes\"}\n";

    k->closing = true;
    return put(k, strdup(text), now);
}

static int answer(struct client *k, struct control *c, double now)
{
    char *end = memchr(k->in + k->scanned, '\n', k->n_in - k->scanned);
    size_t len = (size_t)(end - k->in);
    int rc;

    if (len > SERVER_MAX_REQUEST)
        return refuse_long(k, now);
    rc = put(k, request_answer(c, k->in, len), now);
    k->n_in -= len + 1;
    memmove(k->in, end + 1, k->n_in);
    k->scanned = 0;
    look_for_line(k);
    return rc;
}

static int give(struct client *k, double now)
{
    ssize_t n = send(k->fd, k->out + k->sent, k->n_out - k->sent, MSG_NOSIGNAL);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    k->active = now;
    k->sent += (size_t)n;
    if (k->sent < k->n_out)
        return 0;
    free(k->out);
    k->out = NULL;
    return k->closing ? -ESHUTDOWN : 0;
}

static int serve(struct client *k, struct control *c, short revents, double now)
{
    int rc = 0;

    if ((revents & (POLLERR | POLLNVAL)) != 0)
        return -EPIPE;
    if (k->out == NULL && !k->has_line && !k->ended && (revents & (POLLIN | POLLHUP)) != 0)
        rc = take(k, now);
    if (rc == 0 && client_has_request(k))
        rc = answer(k, c, now);
    else if (rc == 0 && k->out == NULL && k->n_in > SERVER_MAX_REQUEST)
        rc = refuse_long(k, now);
    if (rc == 0 && k->out != NULL)
        rc = give(k, now);
    /* what it sent last without a line end is no request */
    return rc == 0 && k->ended && k->out == NULL && !k->has_line ? -ESHUTDOWN : rc;
}

void client_serve(struct client *k, struct control *c, short revents, double now)
{
    if (serve(k, c, revents, now) != 0)
        client_close(k);
}
