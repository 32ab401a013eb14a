/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

#define BACKLOG 128

int parse_access_mode(const char *text, unsigned *mode)
{
    char *end;
    unsigned long m = strtoul(text, &end, 8);

    /* who cannot both read and write gets no answers */
    if (text[0] < '0' || text[0] > '7' || *end != '\0' || (m & ~0770ul) != 0 || (m & 0600) != 0600)
        return -EINVAL;
    *mode = (unsigned)m;
    return 0;
}

/* Returns 0 or -ENOENT. */
static int find_group(const char *name, gid_t *gid)
{
    const struct group *g = getgrnam(name);
    char *end;
    unsigned long number = strtoul(name, &end, 10);

    if (g == NULL && (*name < '0' || *name > '9' || *end != '\0' || number >= (gid_t)-1))
        return -ENOENT;
    *gid = g != NULL ? g->gr_gid : (gid_t)number;
    return 0;
}

/* The path is there, for its owner alone. First the group, then what it may do: there is no moment
 * in which another group may. */
static int grant(const char *path, const struct access *a)
{
    unsigned mode = a->mode != 0 ? a->mode : a->group != NULL ? 0660 : 0600;
    gid_t gid;

    if (a->group != NULL) {
        if (find_group(a->group, &gid) != 0)
            return -ESRCH;
        if (lchown(path, (uid_t)-1, gid) != 0)
            return -errno;
    }
    return fchmodat(AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : -errno;
}

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

static int start(struct listener *l, const struct access *access)
{
    struct stat st;
    int rc = bind_path(l);

    if (rc != 0)
        return rc;
    rc = grant(l->address.sun_path, access);
    if (rc != 0) {
        unlink(l->address.sun_path);
        return rc;
    }
    if (lstat(l->address.sun_path, &st) != 0 || listen(l->fd, BACKLOG) != 0) {
        rc = -errno;
        unlink(l->address.sun_path);
        return rc;
    }
    l->dev = st.st_dev;
    l->ino = st.st_ino;
    return 0;
}

int listener_open(struct listener *l, const char *path, const struct access *access)
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
    rc = l->fd < 0 ? -errno : start(l, access);
    if (rc == 0)
        return 0;
    log_error("--control %s: %s", path,
              rc == -EADDRINUSE ? "another process answers there; give each vbng its own path"
              : rc == -ESRCH    ? "there is no group as --control-group names it"
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
