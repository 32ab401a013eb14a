/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/lines.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define READ_AT_ONCE 65536
#define LONGEST      (8 << 20) /* bytes of a line */

/* Bytes that have come, or that are to go. */
struct buffer {
    char *at;
    size_t n, room;
};

struct lines {
    struct loop *loop;
    struct watch watch; /* fd -1: no connection */
    struct buffer in, out;
    size_t scanned; /* bytes of in that hold no line end */
    void (*take)(void *ctx, const char *line, size_t n);
    void (*lost)(void *ctx);
    void *ctx;
    bool broken;
};

#define LINES_OF(w) ((struct lines *)((char *)(w)-offsetof(struct lines, watch)))

static char *room_for(struct buffer *b, size_t n)
{
    if (b->n + n > b->room) {
        b->room = b->n + n > b->room * 2 ? b->n + n : b->room * 2;
        b->at = realloc(b->at, b->room);
        if (b->at == NULL)
            abort();
    }
    return b->at + b->n;
}

static void take_off(struct buffer *b, size_t n)
{
    b->n -= n;
    memmove(b->at, b->at + n, b->n);
}

static void end(struct lines *l)
{
    loop_remove(l->loop, &l->watch);
    close(l->watch.fd);
    l->watch.fd = -1;
    l->in.n = 0;
    l->out.n = 0;
    l->scanned = 0;
    l->broken = false;
    l->lost(l->ctx);
}

static void read_some(struct lines *l)
{
    ssize_t n = recv(l->watch.fd, room_for(&l->in, READ_AT_ONCE), READ_AT_ONCE, 0);

    if (n > 0)
        l->in.n += (size_t)n;
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        l->broken = true;
    l->broken |= l->in.n > LONGEST;
}

static void take_lines(struct lines *l)
{
    size_t begin = 0;
    char *stop;

    while (!l->broken && (stop = memchr(l->in.at + l->scanned, '\n', l->in.n - l->scanned))) {
        l->take(l->ctx, l->in.at + begin, (size_t)(stop - l->in.at) - begin);
        begin = l->scanned = (size_t)(stop - l->in.at) + 1;
    }
    take_off(&l->in, begin);
    l->scanned = l->in.n;
}

static void write_some(struct lines *l)
{
    ssize_t n = l->out.n > 0 ? send(l->watch.fd, l->out.at, l->out.n, MSG_NOSIGNAL) : 0;

    if (n > 0)
        take_off(&l->out, (size_t)n);
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        l->broken = true;
    l->watch.events = l->out.n > 0 || l->broken ? POLLIN | POLLOUT : POLLIN;
}

static void ready(struct watch *w, short revents, void *ctx)
{
    struct lines *l = LINES_OF(w);

    (void)ctx;
    if ((revents & (POLLIN | POLLHUP | POLLERR)) != 0)
        read_some(l);
    if (l->in.n > 0)
        take_lines(l);
    if (!l->broken)
        write_some(l);
    if (l->broken)
        end(l);
}

bool lines_connect(struct lines *l, const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd;

    if (strlen(path) >= sizeof(to.sun_path))
        return false;
    strcpy(to.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    l->watch = (struct watch){.fd = fd, .events = POLLIN, .ready = ready};
    if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0 &&
        loop_add(l->loop, &l->watch) == 0)
        return true;
    close(fd);
    l->watch.fd = -1;
    return false;
}

static int append(const char *text, size_t n, void *ctx)
{
    struct buffer *b = ctx;

    memcpy(room_for(b, n), text, n);
    b->n += n;
    return 0;
}

void lines_close(struct lines *l)
{
    l->broken = true;
    l->watch.events = POLLIN | POLLOUT; /* so that the next turn sees it */
}

void lines_send(struct lines *l, const json_t *document)
{
    if (l->watch.fd < 0 || l->broken)
        return;
    if (json_dump_callback(document, append, &l->out, JSON_COMPACT) != 0)
        lines_close(l);
    append("\n", 1, &l->out);
    write_some(l);
}

struct lines *lines_open(struct loop *loop, void (*take)(void *ctx, const char *line, size_t n),
                         void (*lost)(void *ctx), void *ctx)
{
    struct lines *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return NULL;
    *l = (struct lines){.loop = loop, .watch.fd = -1, .take = take, .lost = lost, .ctx = ctx};
    return l;
}

void lines_free(struct lines *l)
{
    if (l->watch.fd >= 0) {
        loop_remove(l->loop, &l->watch);
        close(l->watch.fd);
    }
    free(l->in.at);
    free(l->out.at);
    free(l);
}
