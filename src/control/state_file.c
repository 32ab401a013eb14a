/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/owned.h"

#define END      "\"}\n" /* of the text, behind the digits of the sum */
#define N_DIGITS (sizeof(STATE_NO_SUM) - 1)

#define MAX_BYTES (1ll << 30)

uint64_t state_sum(const char *text, size_t len)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < len; i++)
        sum = (sum ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
    return sum;
}

/* Where the digits of the sum are in a text that ends with it. */
static char *digits_in(char *text, size_t len)
{
    return text + len - strlen(END) - N_DIGITS;
}

static void put_digits(char *at, uint64_t sum)
{
    char digits[N_DIGITS + 1];

    snprintf(digits, sizeof(digits), "%016" PRIx64, sum);
    memcpy(at, digits, N_DIGITS);
}

char *state_text(const json_t *content, size_t *len)
{
    char *text = json_dumps(content, JSON_COMPACT), *line;

    if (text == NULL)
        return NULL;
    *len = strlen(text) + 1;
    line = realloc(text, *len + 1);
    if (line == NULL) {
        free(text);
        return NULL;
    }
    memcpy(line + *len - 1, "\n", 2);
    put_digits(digits_in(line, *len), state_sum(line, *len));
    return line;
}

bool state_is_whole(char *text, size_t len)
{
    char digits[N_DIGITS];
    char *at;

    if (len < N_DIGITS + strlen(END))
        return false;
    at = digits_in(text, len);
    memcpy(digits, at, N_DIGITS);
    memcpy(at, STATE_NO_SUM, N_DIGITS);
    put_digits(at, state_sum(text, len));
    return memcmp(digits, at, N_DIGITS) == 0;
}

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
static int sync_folder(int folder)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

    if (fd < 0)
        return -errno;
    rc = fsync(fd) == 0 ? 0 : -errno;
    close(fd);
    return rc;
}

/* Remove a temporary file that a killed vbng has left. Another user's file stays, and writing then
 * fails. */
static void remove_left(int folder, const char *tmp)
{
    struct stat s;

    if (fstatat(folder, tmp, &s, AT_SYMLINK_NOFOLLOW) == 0 && s.st_uid == geteuid())
        unlinkat(folder, tmp, 0);
}

static int write_in(int folder, const char *name, const char *text, size_t len)
{
    char tmp[NAME_MAX + 1];
    int fd, rc;

    if (snprintf(tmp, sizeof(tmp), "%s.tmp", name) >= (int)sizeof(tmp))
        return -ENAMETOOLONG;
    remove_left(folder, tmp);
    fd = openat(folder, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    rc = write_all(fd, text, len);
    if (close(fd) != 0 && rc == 0)
        rc = -errno;
    if (rc == 0 && renameat(folder, tmp, folder, name) != 0)
        rc = -errno;
    if (rc != 0)
        unlinkat(folder, tmp, 0);
    return rc != 0 ? rc : sync_folder(folder);
}

int state_write_file(const char *path, const char *text, size_t len)
{
    const char *name;
    int folder = owned_folder_of(path, &name), rc;

    if (folder < 0)
        return folder;
    rc = write_in(folder, name, text, len);
    close(folder);
    return rc;
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
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW), rc = 0;
    struct stat st;
    ssize_t n;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) != 0)
        rc = -errno;
    else if (!S_ISREG(st.st_mode))
        rc = -ENOMSG;
    else if ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & S_IWOTH) != 0)
        rc = -EPERM;
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
