/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/socket/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "control/socket/answer.h"

#define MAX_CLIENTS  (SERVER_FDS - 1)
#define MAX_REQUEST  (1 << 20) /* bytes of a line */
#define READ_AT_ONCE 65536
#define TURN         64    /* requests of one client before others have their turn */
#define TURN_S       0.001 /* the same in seconds */
#define SEND_AT_ONCE 65536 /* so many bytes of answers do not wait for others of the turn */
#define ROUND_S      5     /* seconds that a request and its answer may take before both give way */

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* --- one client --- */

/* What a client has sent and was not answered, and the answers that it has not taken. */
struct client {
    int fd; /* -1: the place is free */
    /* When the client came, last ended a request or took the whole of an answer, CLOCK_MONOTONIC
     * seconds. A byte now and then is no progress: it would hold a place for good. */
    double active;
    char *in, *out; /* requests; the answers that are being sent, or NULL */
    size_t n_in, room_in;
    size_t n_out, sent;
    size_t done;    /* bytes of in that were answered; 0 between two turns */
    size_t scanned; /* bytes of in, those with them, behind which to look for a line end */
    bool has_line;  /* in holds a whole line */
    bool ended;     /* the client sends no more */
    bool closing;   /* close when the answers are taken */
};

static void client_open(struct client *k, int fd, double now)
{
    *k = (struct client){.fd = fd, .active = now};
}

static void client_close(struct client *k)
{
    if (k->fd >= 0)
        close(k->fd);
    free(k->in);
    free(k->out);
    *k = (struct client){.fd = -1};
}

static short client_events(const struct client *k)
{
    if (k->out != NULL)
        return POLLOUT;
    return k->ended || k->has_line ? 0 : POLLIN;
}

static bool client_has_request(const struct client *k)
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

static size_t bigger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Without memory the connection is closed, which the client sees. */
static int make_room(struct client *k)
{
    size_t want = k->n_in + READ_AT_ONCE;
    char *in;

    if (want <= k->room_in)
        return 0;
    in = realloc(k->in, bigger(want, k->room_in * 2));
    if (in == NULL)
        return -ENOMEM;
    k->in = in;
    k->room_in = bigger(want, k->room_in * 2);
    return 0;
}

static int take(struct client *k)
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
    k->n_in += (size_t)n;
    look_for_line(k);
    return 0;
}

/* Have an answer, which is freed some time, sent behind those that are there. */
static int put(struct client *k, char *text, double now)
{
    size_t len = text != NULL ? strlen(text) : 0;
    char *out = text;

    if (text == NULL)
        return -ENOMEM;
    if (k->out != NULL) {
        out = realloc(k->out, k->n_out + len);
        if (out != NULL)
            memcpy(out + k->n_out, text, len);
        free(text);
        if (out == NULL)
            return -ENOMEM;
    }
    k->out = out;
    k->n_out += len;
    k->active = now;
    return 0;
}

/* The end of such a line is unknown, so that nothing behind it can be understood. */
static int refuse_long(struct client *k, double now)
{
    k->closing = true;
    return put(k,
               answer_refused("the request is too long: expected a line of at most 1048576 "
                              "bytes"),
               now);
}

static int answer(struct client *k, const struct answerer *v, double now)
{
    char *line = k->in + k->done, *end = memchr(k->in + k->scanned, '\n', k->n_in - k->scanned);
    size_t len = (size_t)(end - line);
    struct server_request request;
    char *text;
    int rc;

    if (len > MAX_REQUEST)
        return refuse_long(k, now);
    request = (struct server_request){
        .text = line, .len = len, .client = k->fd, .behind = k->out != NULL};
    text = v->answer(v->ctx, &request);
    if (request.taken || request.again) {
        free(text);
        return request.taken ? -ESHUTDOWN : -EAGAIN;
    }
    rc = put(k, text, now);
    k->done += len + 1;
    k->scanned = k->done;
    look_for_line(k);
    return rc;
}

static int give(struct client *k, double now)
{
    ssize_t n = send(k->fd, k->out + k->sent, k->n_out - k->sent, MSG_NOSIGNAL);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    k->sent += (size_t)n;
    if (k->sent < k->n_out)
        return 0;
    k->active = now;
    free(k->out);
    k->out = NULL;
    k->n_out = k->sent = 0;
    return k->closing ? -ESHUTDOWN : 0;
}

/* Answer requests that are there, one after the other, as long as others need not wait for long,
 * and send the answers together: who sends several without waiting for answers pays once for waking
 * up this thread, and is woken up once. */
static int answer_some(struct client *k, const struct answerer *v, double now)
{
    double begun = seconds();
    int rc = 0;

    for (unsigned i = 0; i < TURN && rc == 0 && k->has_line && !k->closing; i++) {
        rc = answer(k, v, now);
        if (rc == -EAGAIN || (rc == 0 && k->n_out >= SEND_AT_ONCE)) {
            rc = give(k, now);
            if (k->out != NULL)
                break;
        }
        now = seconds();
        if (now - begun > TURN_S)
            break;
    }
    k->n_in -= k->done;
    memmove(k->in, k->in + k->done, k->n_in);
    k->scanned -= k->done;
    k->done = 0;
    return rc;
}

static int serve(struct client *k, const struct answerer *v, short revents, double now)
{
    int rc = 0;

    if ((revents & (POLLERR | POLLNVAL)) != 0)
        return -EPIPE;
    if (k->out == NULL && !k->has_line && !k->ended && (revents & (POLLIN | POLLHUP)) != 0)
        rc = take(k);
    if (rc == 0 && client_has_request(k))
        rc = answer_some(k, v, now);
    else if (rc == 0 && k->out == NULL && k->n_in > MAX_REQUEST)
        rc = refuse_long(k, now);
    if (rc == 0 && k->out != NULL)
        rc = give(k, now);
    /* bytes without a line end at the end are no request */
    return rc == 0 && k->ended && k->out == NULL && !k->has_line ? -ESHUTDOWN : rc;
}

static void client_serve(struct client *k, const struct answerer *v, short revents, double now)
{
    if (serve(k, v, revents, now) != 0)
        client_close(k);
}

/* --- all clients --- */

struct server {
    struct listener listener;
    struct client client[MAX_CLIENTS];
};

/* A free place, or that of the client that has ended nothing for longest, if for ROUND_S. */
static struct client *find_place(struct server *s, double now)
{
    struct client *oldest = NULL;

    for (unsigned i = 0; i < MAX_CLIENTS; i++) {
        struct client *c = &s->client[i];

        if (c->fd < 0)
            return c;
        if (now - c->active > ROUND_S && (oldest == NULL || c->active < oldest->active))
            oldest = c;
    }
    if (oldest != NULL)
        client_close(oldest);
    return oldest;
}

static void turn_away(int fd)
{
    char *answer = answer_refused("too many clients");

    if (answer != NULL)
        (void)!send(fd, answer, strlen(answer), MSG_NOSIGNAL);
    free(answer);
    close(fd);
}

static void accept_clients(struct server *s, double now)
{
    /* bounded, so that a client that connects in a loop does not keep the main thread here */
    for (unsigned i = 0; i < MAX_CLIENTS; i++) {
        int fd = accept4(s->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        struct client *c;

        if (fd < 0)
            return;
        c = find_place(s, now);
        if (c == NULL) {
            turn_away(fd);
            continue;
        }
        client_open(c, fd, now);
    }
}

struct server *server_open(const char *path, const struct access *access)
{
    struct server *s = calloc(1, sizeof(*s));

    if (s == NULL || listener_open(&s->listener, "--control", path, SOCK_STREAM, access) != 0) {
        free(s);
        return NULL;
    }
    for (unsigned i = 0; i < MAX_CLIENTS; i++)
        s->client[i].fd = -1;
    return s;
}

bool server_prepare(const struct server *s, struct pollfd p[SERVER_FDS])
{
    bool at_once = false;

    p[0] = (struct pollfd){.fd = s->listener.fd, .events = POLLIN};
    for (unsigned i = 0; i < MAX_CLIENTS; i++) {
        p[i + 1] = (struct pollfd){.fd = s->client[i].fd, .events = client_events(&s->client[i])};
        at_once |= client_has_request(&s->client[i]);
    }
    return at_once;
}

void server_serve(struct server *s, const struct answerer *v, const struct pollfd p[SERVER_FDS])
{
    double now = seconds();

    for (unsigned i = 0; i < MAX_CLIENTS; i++)
        if (s->client[i].fd >= 0)
            client_serve(&s->client[i], v, p[i + 1].revents, now);
    if (p[0].revents != 0)
        accept_clients(s, now);
}

void server_poll(struct server *s, const struct answerer *v, long timeout_ns)
{
    struct pollfd p[SERVER_FDS];
    struct timespec timeout = {.tv_nsec = server_prepare(s, p) ? 0 : timeout_ns};

    if (ppoll(p, SERVER_FDS, &timeout, NULL) >= 0)
        server_serve(s, v, p);
}

void server_close(struct server *s)
{
    if (s == NULL)
        return;
    for (unsigned i = 0; i < MAX_CLIENTS; i++)
        client_close(&s->client[i]);
    listener_close(&s->listener);
    free(s);
}
