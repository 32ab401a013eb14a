/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/listen.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

#define BACKLOG 128

/* Does anybody answer there? 0: nobody, so that the path may go; or -errno. */
static int check_stale(const struct sockaddr_un *a)
{
    struct stat st;
    int fd, rc;

    if (lstat(a->sun_path, &st) != 0)
        return -errno;
    if (!S_ISSOCK(st.st_mode))
        return -EEXIST;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    rc = connect(fd, (const struct sockaddr *)a, sizeof(*a)) == 0 ? 0 : errno;
    close(fd);
    /* EAGAIN: it lives, and is busy */
    return rc == ECONNREFUSED ? 0 : rc == 0 || rc == EAGAIN ? -EADDRINUSE : -rc;
}

static int try_bind(struct listener *l)
{
    mode_t mask = umask(0177);
    int rc =
        bind(l->fd, (const struct sockaddr *)&l->address, sizeof(l->address)) == 0 ? 0 : -errno;

    umask(mask);
    return rc;
}

static int bind_path(struct listener *l)
{
    int rc = try_bind(l);

    if (rc != -EADDRINUSE)
        return rc;
    rc = check_stale(&l->address);
    if (rc != 0 && rc != -ENOENT)
        return rc;
    if (rc == 0 && unlink(l->address.sun_path) != 0 && errno != ENOENT)
        return -errno;
    return try_bind(l);
}

static int start(struct listener *l)
{
    struct stat st;
    int rc = bind_path(l);

    if (rc != 0)
        return rc;
    if (lstat(l->address.sun_path, &st) != 0 || listen(l->fd, BACKLOG) != 0) {
        rc = -errno;
        unlink(l->address.sun_path);
        return rc;
    }
    l->dev = st.st_dev;
    l->ino = st.st_ino;
    return 0;
}

int listener_open(struct listener *l, const char *path)
{
    int rc;

    l->address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) == 0 || strlen(path) >= sizeof(l->address.sun_path)) {
        log_error("--control %s: expected a path of 1 to %zu characters", path,
                  sizeof(l->address.sun_path) - 1);
        return -ENAMETOOLONG;
    }
    strcpy(l->address.sun_path, path);
    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    rc = l->fd < 0 ? -errno : start(l);
    if (rc == 0)
        return 0;
    log_error("--control %s: %s", path,
              rc == -EADDRINUSE ? "another process answers there; give each vbng its own path"
              : rc == -EEXIST   ? "there is a file that is no socket; choose another path"
                                : strerror(-rc));
    if (l->fd >= 0)
        close(l->fd);
    return rc;
}

void listener_close(struct listener *l)
{
    struct stat st;

    if (lstat(l->address.sun_path, &st) == 0 && st.st_dev == l->dev && st.st_ino == l->ino)
        unlink(l->address.sun_path);
    close(l->fd);
}
