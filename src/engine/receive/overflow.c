/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/receive/overflow.h"

#include <dirent.h>
#include <linux/if_packet.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

#define MOST_SOCKETS 16 /* net_af_packet has no more queues */

struct overflow {
    int fd[MOST_SOCKETS];
    unsigned n;
    uint64_t packets; /* so far */
};

static bool is_on(int fd, unsigned if_index)
{
    struct sockaddr_ll at = {0};
    socklen_t len = sizeof(at);

    return getsockname(fd, (struct sockaddr *)&at, &len) == 0 && at.sll_family == AF_PACKET &&
           (unsigned)at.sll_ifindex == if_index;
}

struct overflow *overflow_open(unsigned if_index)
{
    struct overflow *o = calloc(1, sizeof(*o));
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;

    while (o != NULL && dir != NULL && o->n < MOST_SOCKETS && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.' && is_on(atoi(entry->d_name), if_index))
            o->fd[o->n++] = atoi(entry->d_name);
    if (dir != NULL)
        closedir(dir);
    return o;
}

void overflow_close(struct overflow *o)
{
    free(o);
}

uint64_t overflow_read(struct overflow *o)
{
    if (o == NULL)
        return 0;
    for (unsigned i = 0; i < o->n; i++) {
        struct tpacket_stats s = {0};
        socklen_t len = sizeof(s);

        /* the kernel begins anew with each answer */
        if (getsockopt(o->fd[i], SOL_PACKET, PACKET_STATISTICS, &s, &len) == 0)
            __atomic_fetch_add(&o->packets, s.tp_drops, __ATOMIC_RELAXED);
    }
    return __atomic_load_n(&o->packets, __ATOMIC_RELAXED);
}
