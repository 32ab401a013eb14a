/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The reason why a descriptor is no plain file's, or NULL. */
static const char *not_plain(int fd)
{
    struct stat s;

    if (fstat(fd, &s) != 0)
        return strerror(errno);
    return S_ISREG(s.st_mode)   ? NULL
           : S_ISDIR(s.st_mode) ? "is a folder: expected a file"
                                : "is no plain file: expected no pipe, socket or device";
}

FILE *input_open(const char *path, const char **why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    FILE *f = NULL;

    if (fd < 0) {
        *why = strerror(errno);
        return NULL;
    }
    *why = not_plain(fd);
    if (*why == NULL && (f = fdopen(fd, "r")) == NULL)
        *why = strerror(errno);
    if (f == NULL)
        close(fd);
    return f;
}
