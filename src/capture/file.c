/* SPDX-License-Identifier: BSD-3-Clause */
#include "capture/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODE 0600

const char *capture_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* Do both descriptors stand for the same folder? */
static bool is_same(int a, int b)
{
    struct stat x, y;

    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool is_in_folder(int folder, const char *path)
{
    size_t len = (size_t)(capture_file_name(path) - path);
    char dir[PATH_MAX];
    bool same;
    int fd;

    if (len == 0)
        return true;
    if (path[0] != '/' || len >= sizeof(dir))
        return false;
    memcpy(dir, path, len);
    dir[len] = '\0';
    fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    same = is_same(fd, folder);
    close(fd);
    return same;
}

static int create(int folder, const char *name)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);

    return fd >= 0 ? fd : -errno;
}

static int remove_plain(int folder, const char *name)
{
    struct stat s;

    if (fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) != 0)
        return -errno;
    if (!S_ISREG(s.st_mode))
        return -EINVAL;
    return unlinkat(folder, name, 0) == 0 ? 0 : -errno;
}

int capture_file_create(int folder, const char *path, bool replace, char *why, size_t size)
{
    const char *name = capture_file_name(path);
    int fd;

    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        !is_in_folder(folder, path)) {
        snprintf(why, size,
                 "file '%.100s' is not in the folder of captures: expected a name, or start vbng "
                 "with --capture-dir",
                 path);
        return -EINVAL;
    }
    fd = create(folder, name);
    if (fd == -EEXIST && replace) {
        fd = remove_plain(folder, name);
        if (fd == 0)
            fd = create(folder, name);
    }
    if (fd == -EEXIST)
        snprintf(why, size, "file '%.100s' exists: expected another name, or force", name);
    else if (fd == -EINVAL)
        snprintf(why, size, "'%.100s' is not a plain file: expected another name", name);
    else if (fd < 0)
        snprintf(why, size, "file '%.100s': %s", name, strerror(-fd));
    return fd;
}
