/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/owned.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* The first descriptor is O_PATH, so that the owner and the mode decide even where the caller
 * cannot read the folder. */
int owned_open(int parent, const char *name)
{
    int at = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), fd;
    struct stat s;

    if (at < 0)
        return -errno;
    if (fstat(at, &s) != 0)
        fd = -errno;
    else if (s.st_uid != geteuid() || (s.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        fd = -EPERM;
    else if ((fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        fd = -errno;
    close(at);
    return fd;
}

int owned_remove(int parent, const char *name)
{
    int fd = owned_open(parent, name);
    struct dirent *entry;
    DIR *dir;

    if (fd < 0)
        return fd;
    dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return -ENOMEM;
    }
    while ((entry = readdir(dir)) != NULL)
        unlinkat(fd, entry->d_name, 0);
    closedir(dir);
    return unlinkat(parent, name, AT_REMOVEDIR) == 0 ? 0 : -errno;
}

/* EAGAIN comes from a listener that is busy, EPROTOTYPE from a socket of another type. */
static bool is_answer(int error)
{
    return error == 0 || error == EAGAIN || error == EPROTOTYPE;
}

/* Returns 0 where nobody listens on a socket, -EADDRINUSE where somebody does, or another -errno.
 */
static int check_deaf(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd, rc;

    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    rc = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ? 0 : errno;
    close(fd);
    return rc == ECONNREFUSED ? 0 : is_answer(rc) ? -EADDRINUSE : -rc;
}

int owned_clear_socket(const char *path)
{
    struct stat s;
    int rc;

    if (lstat(path, &s) != 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(s.st_mode))
        return -EEXIST;
    rc = check_deaf(path);
    if (rc != 0)
        return rc == -ENOENT ? 0 : rc;
    if (s.st_uid != geteuid())
        return -EPERM;
    return unlink(path) == 0 || errno == ENOENT ? 0 : -errno;
}

int owned_folder_of(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX] = ".";
    int fd;

    *name = slash == NULL ? path : slash + 1;
    if (*name - path >= (long)sizeof(folder))
        return -ENAMETOOLONG;
    if (slash != NULL) {
        memcpy(folder, path, (size_t)(*name - path));
        folder[*name - path] = '\0';
    }
    fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 ? fd : -errno;
}

const char *owned_dead_suffix(const char *name, const char *prefix)
{
    size_t len = strlen(prefix);
    char *end;
    long pid;

    if (strncmp(name, prefix, len) != 0)
        return NULL;
    pid = strtol(name + len, &end, 10);
    return end != name + len && pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH ? end : NULL;
}
