/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/owned.h"

#define MODE 0666 /* less the umask */

/* Can only the caller and root create files in a folder? */
static bool is_private(const struct stat *folder)
{
    return (folder->st_uid == geteuid() || folder->st_uid == 0) &&
           (folder->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Is a file one that only the caller, or the owner of its folder, can have put there? */
static bool is_harmless(const struct stat *file, const struct stat *folder)
{
    if (S_ISREG(file->st_mode))
        return file->st_nlink == 1 && (file->st_uid == geteuid() || file->st_uid == folder->st_uid);
    return S_ISFIFO(file->st_mode) && file->st_uid == geteuid();
}

/* Open a file in a folder that others may write to. An existing one is checked and then opened by
 * the same descriptor, so that nobody can exchange it in between. Returns a descriptor or -errno.
 */
static int open_among_others(int folder, const char *name, const struct stat *of)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE), at, err;
    char path[32];
    struct stat s;

    if (fd >= 0 || errno != EEXIST)
        return fd >= 0 ? fd : -errno;
    at = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (at < 0)
        return -errno;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
    if (fstat(at, &s) != 0 || !is_harmless(&s, of))
        err = ELOOP;
    else
        err = (fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC)) >= 0 ? 0 : errno;
    close(at);
    return err == 0 ? fd : -err;
}

/* Open a file by the rule of its folder. Returns a descriptor or -errno. */
static int open_there(const char *path)
{
    const char *name;
    int folder = owned_folder_of(path, &name), fd;
    struct stat s;

    if (folder < 0)
        return folder;
    if (fstat(folder, &s) != 0)
        fd = -errno;
    else if (!is_private(&s))
        fd = open_among_others(folder, name, &s);
    else if ((fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, MODE)) < 0)
        fd = -errno;
    close(folder);
    return fd;
}

FILE *output_open(const char *path)
{
    int fd = open_there(path);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (fd >= 0 && f == NULL)
        close(fd);
    if (f == NULL) {
        fd = fd < 0 ? fd : -ENOMEM;
        log_error("%s: %s", path,
                  fd == -ELOOP ? "is a link or another user's file, in a folder that others may "
                                 "write to: remove it, or give another path"
                               : strerror(-fd));
        errno = -fd;
    }
    return f;
}
