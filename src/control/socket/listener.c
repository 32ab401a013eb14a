/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/socket/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/owned.h"

#define BACKLOG 128

int parse_access_mode(const char *text, unsigned *mode)
{
    char *end;
    unsigned long m = strtoul(text, &end, 8);

    /* an owner who cannot both read and write would get no answers */
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

/* Open the socket (at: an O_PATH descriptor; mode 0600 so far) to the configured group and mode.
 * The group comes first: at no moment may another group use the socket. */
static int grant(int at, const struct access *a)
{
    unsigned mode = a->mode != 0 ? a->mode : a->group != NULL ? 0660 : 0600;
    char path[32];
    gid_t gid;

    if (a->group != NULL) {
        if (find_group(a->group, &gid) != 0)
            return -ESRCH;
        if (fchownat(at, "", (uid_t)-1, gid, AT_EMPTY_PATH) != 0)
            return -errno;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", at); /* fchmod() takes no O_PATH */
    return chmod(path, mode) == 0 ? 0 : -errno;
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

    if (rc == -EADDRINUSE)
        rc = owned_clear_socket(l->address.sun_path);
    else
        return rc;
    return rc == 0 ? try_bind(l) : rc;
}

/* Who may write to the folder could have put something else at the path since bind(). */
static int grant_own(struct listener *l, const struct access *access)
{
    int at = open(l->address.sun_path, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc;
    struct stat st;

    if (at < 0)
        return -errno;
    if (fstat(at, &st) != 0 || !S_ISSOCK(st.st_mode) || st.st_uid != geteuid()) {
        rc = -EEXIST;
    } else {
        l->dev = st.st_dev;
        l->ino = st.st_ino;
        rc = grant(at, access);
    }
    close(at);
    return rc;
}

static void remove_own(const struct listener *l)
{
    struct stat st;

    if (lstat(l->address.sun_path, &st) == 0 && st.st_dev == l->dev && st.st_ino == l->ino)
        unlink(l->address.sun_path);
}

static int start(struct listener *l, const struct access *access)
{
    int rc = bind_path(l);

    if (rc != 0)
        return rc;
    l->ino = 0;
    rc = grant_own(l, access);
    if (rc == 0 && listen(l->fd, BACKLOG) != 0)
        rc = -errno;
    if (rc != 0)
        remove_own(l);
    return rc;
}

int listener_open(struct listener *l, const char *what, const char *path, int type,
                  const struct access *access)
{
    int rc;

    l->address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) == 0 || strlen(path) >= sizeof(l->address.sun_path)) {
        log_error("%s %s: expected a path of 1 to %zu characters", what, path,
                  sizeof(l->address.sun_path) - 1);
        return -ENAMETOOLONG;
    }
    strcpy(l->address.sun_path, path);
    l->fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    rc = l->fd < 0 ? -errno : start(l, access);
    if (rc == 0)
        return 0;
    log_error("%s %s: %s", what, path,
              rc == -EADDRINUSE ? "another process answers there; give each vbng its own path"
              : rc == -ESRCH    ? "there is no group as --control-group names it"
              : rc == -EPERM  ? "another user's socket is there; remove it, or choose another path"
              : rc == -EEXIST ? "there is a file that is no socket; choose another path"
                              : strerror(-rc));
    if (l->fd >= 0)
        close(l->fd);
    return rc;
}

void listener_close(struct listener *l)
{
    remove_own(l);
    close(l->fd);
}
