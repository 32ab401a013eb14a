/* SPDX-License-Identifier: BSD-3-Clause */
#define ALLOW_EXPERIMENTAL_API /* rte_intr_*(): stable since DPDK 23.11 */
#include "engine/peer.h"

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_interrupts.h>

static bool is_device(const char *device, const char *driver)
{
    return strncmp(device, driver, strlen(driver)) == 0;
}

/* Value of an argument of a device string, or what it is without. */
static void argument(const char *device, const char *key, const char *without, char *out,
                     size_t size)
{
    size_t len = strlen(key);

    snprintf(out, size, "%s", without);
    for (const char *p = strchr(device, ','); p != NULL; p = strchr(p + 1, ',')) {
        if (strncmp(p + 1, key, len) != 0 || p[1 + len] != '=')
            continue;
        p += len + 2;
        snprintf(out, size, "%.*s", (int)strcspn(p, ","), p);
        return;
    }
}

void peer_read(const char *device, struct peer *out)
{
    char value[16];

    *out = (struct peer){.comes_back = PEER_NONE};
    if (is_device(device, "net_memif")) {
        argument(device, "role", "client", value, sizeof(value));
        out->comes_back = strcmp(value, "server") == 0 || strcmp(value, "master") == 0
                              ? PEER_ITSELF
                              : PEER_RESTART;
    } else if (is_device(device, "net_vhost")) {
        out->comes_back = PEER_ITSELF;
    } else if (is_device(device, "net_virtio_user")) {
        argument(device, "server", "0", value, sizeof(value));
        out->comes_back = strcmp(value, "1") == 0 ? PEER_ITSELF : PEER_REOPEN;
        argument(device, "path", "", out->path, sizeof(out->path));
    }
}

void peer_clear(const struct peer *peer)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    if (peer->comes_back != PEER_ITSELF || peer->path[0] == '\0')
        return;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    memcpy(address.sun_path, peer->path, sizeof(address.sun_path));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 && errno == ECONNREFUSED)
        unlink(peer->path);
    close(fd);
}

static void stay(void *arg)
{
    sem_post(arg);
    for (;;)
        pause();
}

/* An event that calls stay() on the interrupt thread. It could be an alarm, but rte_eal_cleanup()
 * waits for those. Returns whether stay() will be called. */
static bool send_there(sem_t *there)
{
    struct rte_intr_handle *h = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);

    return h != NULL && rte_intr_fd_set(h, eventfd(1, 0)) == 0 &&
           rte_intr_type_set(h, RTE_INTR_HANDLE_EXT) == 0 &&
           rte_intr_callback_register(h, stay, there) == 0;
}

void peer_keep_still(const char *device)
{
    static bool still;
    static sem_t there;

    if (still || !is_device(device, "net_memif") || sem_init(&there, 0, 0) != 0)
        return;
    still = send_there(&there);
    while (still && sem_wait(&there) != 0)
        ;
}
