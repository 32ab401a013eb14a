/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/runtime.h"

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
#include <sys/un.h>
#include <unistd.h>

#include <rte_eal.h>

#define TELEMETRY_SOCKET "dpdk_telemetry.v2"

/* Files and all; a folder within it, which we never make, stays, and it with it. */
static void remove_folder(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *entry;

    if (d == NULL)
        return;
    while ((entry = readdir(d)) != NULL)
        unlinkat(dirfd(d), entry->d_name, 0);
    closedir(d);
    rmdir(path);
}

void runtime_remove(void)
{
    if (strstr(rte_eal_get_runtime_dir(), RUNTIME_PREFIX) != NULL)
        remove_folder(rte_eal_get_runtime_dir());
}

/* On the telemetry socket, which is there once EAL is up. */
static bool nobody_listens(const char *folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd,
        len = snprintf(address.sun_path, sizeof(address.sun_path), "%s/" TELEMETRY_SOCKET, folder);
    bool refused;

    if (len < 0 || (size_t)len >= sizeof(address.sun_path))
        return false;
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    refused =
        connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 && errno == ECONNREFUSED;
    close(fd);
    return refused;
}

/* EAL locks its configuration from its first moment to its last. With --in-memory it has none. */
static bool is_abandoned(const char *folder)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[1024];
    bool free;
    int fd;

    snprintf(path, sizeof(path), "%s/config", folder);
    fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT && nobody_listens(folder);
    free = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
    close(fd);
    return free;
}

const char *runtime_of_the_dead(const char *name)
{
    char *end;
    long pid;

    if (strncmp(name, RUNTIME_PREFIX, strlen(RUNTIME_PREFIX)) != 0)
        return NULL;
    name += strlen(RUNTIME_PREFIX);
    pid = strtol(name, &end, 10);
    return end != name && pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH ? end : NULL;
}

void runtime_sweep(void)
{
    char parent[512], folder[sizeof(parent) + NAME_MAX + 2], *slash;
    struct dirent *entry;
    DIR *d;

    snprintf(parent, sizeof(parent), "%s", rte_eal_get_runtime_dir());
    slash = strrchr(parent, '/');
    if (slash == NULL)
        return;
    *slash = '\0';
    d = opendir(parent);
    if (d == NULL)
        return;
    while ((entry = readdir(d)) != NULL) {
        const char *rest = runtime_of_the_dead(entry->d_name);

        snprintf(folder, sizeof(folder), "%s/%s", parent, entry->d_name);
        if (rest != NULL && *rest == '\0' && is_abandoned(folder))
            remove_folder(folder);
    }
    closedir(d);
}
