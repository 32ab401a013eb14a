/* SPDX-License-Identifier: BSD-3-Clause */
/* The file: whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/state_impl.h"

#define MAX_BYTES (1ll << 30)

static int write_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            text += n;
            len -= (size_t)n;
        }
    }
    return fsync(fd) == 0 ? 0 : -errno;
}

/* So that the new name outlives a loss of power, too. */
static int sync_folder(const char *path)
{
    char folder[4096];
    char *slash;
    int fd, rc;

    snprintf(folder, sizeof(folder), "%s", path);
    slash = strrchr(folder, '/');
    if (slash == NULL)
        snprintf(folder, sizeof(folder), ".");
    else
        slash[slash == folder] = '\0';
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    rc = fsync(fd) == 0 ? 0 : -errno;
    close(fd);
    return rc;
}

int state_write_file(const char *path, const char *text, size_t len)
{
    char tmp[4096];
    int fd, rc;

    if (snprintf(tmp, sizeof(tmp), "%s.tmp", path) >= (int)sizeof(tmp))
        return -ENAMETOOLONG;
    unlink(tmp); /* of one who was killed while he wrote */
    fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    rc = write_all(fd, text, len);
    if (close(fd) != 0 && rc == 0)
        rc = -errno;
    if (rc == 0 && rename(tmp, path) != 0)
        rc = -errno;
    if (rc != 0)
        unlink(tmp);
    return rc != 0 ? rc : sync_folder(path);
}

/* Returns the bytes read, at most size. */
static ssize_t read_all(int fd, char *text, size_t size)
{
    size_t len = 0;

    while (len < size) {
        ssize_t n = read(fd, text + len, size - len);

        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0)
            len += (size_t)n;
    }
    return (ssize_t)len;
}

int state_read_file(const char *path, char **text, size_t *len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc = 0;
    struct stat st;
    ssize_t n;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) != 0)
        rc = -errno;
    else if (!S_ISREG(st.st_mode))
        rc = -ENOMSG;
    else if (st.st_size > MAX_BYTES)
        rc = -EFBIG;
    *text = rc == 0 ? malloc((size_t)st.st_size + 1) : NULL;
    if (rc == 0 && *text == NULL)
        rc = -ENOMEM;
    if (rc == 0) {
        n = read_all(fd, *text, (size_t)st.st_size);
        if (n < 0) {
            rc = (int)n;
            free(*text);
        } else {
            *len = (size_t)n;
            (*text)[n] = '\0';
        }
    }
    close(fd);
    return rc;
}
