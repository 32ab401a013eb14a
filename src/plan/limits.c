/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits that a start would meet: of DPDK, and of the queues of virtual devices, as far as they
 * follow from the configuration. */
#include "plan/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/make.h"

#define RING_ZONES  1u   /* memzones of a ring */
#define POOL_ZONES  8u   /* memzones of a pool: its header, and a few pieces of memory */
#define OTHER_ZONES 128u /* EAL's, the drivers' and the tables' own */

/* --- tasks --- */

/* Report the second instance of a type of task that may have only one. */
static void check_alone(struct plan_build *b, unsigned task)
{
    const struct cfg_task *t = &b->m->tasks[task];
    unsigned before = 0;

    if (!t->schema->alone)
        return;
    for (unsigned i = 0; i < task; i++)
        before += b->m->tasks[i].schema == t->schema ? b->n_of[i] : 0;
    if (before + b->n_of[task] > 1)
        diag_error(b->d, t->loc,
                   "task '%s': a task of type %s runs once in a gateway, here there are %u "
                   "instances: name one such task, and give it one CPU in the layout",
                   t->name, t->schema->type, before + b->n_of[task]);
}

/* --- DPDK --- */

static void check_dpdk(struct plan_build *b)
{
    const struct cfg_model *m = b->m;
    uint64_t zones =
        OTHER_ZONES + (uint64_t)b->p->n_pools * POOL_ZONES + (uint64_t)b->p->n_rings * RING_ZONES;

    if (m->n_ports > LIMIT_DEVICES)
        diag_error(b->d, m->ports[LIMIT_DEVICES].loc,
                   "port '%s' is number %u: expected at most %u, as DPDK has no room for more "
                   "devices",
                   m->ports[LIMIT_DEVICES].name, LIMIT_DEVICES + 1, LIMIT_DEVICES);
    if (zones > LIMIT_MEMZONES)
        diag_error(b->d, m->placements[m->n_placements - 1].loc,
                   "%u links between cores are more than DPDK has room for: put tasks that follow "
                   "one another on the same cores",
                   b->p->n_rings);
}

/* --- queues of devices --- */

/* How many queues a virtual device has, as far as its driver says so by an argument. */
struct driver {
    const char *name;
    const char *key; /* of the number of queue pairs; 1 where it is not given */
    bool all;        /* packets come to all of them, so that each must be read */
};

static const struct driver drivers[] = {
    {"net_af_packet", "qpairs", true},
    {"net_af_xdp", "queue_count", false},
    {"net_vhost", "queues", false},
    {"net_virtio_user", "queues", false},
};

static const struct driver *driver_of(const char *device)
{
    for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
        if (strncmp(device, drivers[i].name, strlen(drivers[i].name)) == 0)
            return &drivers[i];
    return NULL;
}

/* The number that an argument of a device string gives, or 1. */
static unsigned long argument(const char *device, const char *key)
{
    size_t len = strlen(key);

    for (const char *c = strchr(device, ','); c != NULL; c = strchr(c + 1, ','))
        if (strncmp(c + 1, key, len) == 0 && c[1 + len] == '=')
            return strtoul(c + len + 2, NULL, 0);
    return 1;
}

static void check_pairs(struct plan_build *b, unsigned port, const struct driver *driver)
{
    const struct cfg_port *p = &b->m->ports[port];
    unsigned long pairs = argument(p->device, driver->key);
    unsigned readers = b->p->rx_queues[port], senders = b->p->tx_queues[port];

    if (readers > pairs || senders > pairs)
        diag_error(b->d, p->loc,
                   "port '%s': %u cores read it and %u send to it, but its device has %lu queue "
                   "pairs: expected %s=%u in its device, or fewer cores (an lb, or a forward, "
                   "brings many to one)",
                   p->name, readers, senders, pairs, driver->key,
                   readers > senders ? readers : senders);
    else if (driver->all && readers > 0 && readers < pairs)
        diag_error(b->d, p->loc,
                   "port '%s': its device spreads packets over %lu queue pairs, and %u cores read "
                   "it, so that the others' would be lost: expected %s=%u, or as many cores",
                   p->name, pairs, readers, driver->key, readers);
}

/* The peer of a net_memif that is the server makes the rings, one for each of its queues. The
 * driver lets a queue that got none share the first ring: each packet comes twice, and what two
 * cores send is torn. A client makes the rings itself, and the server compares: it refuses a queue
 * too many. */
static void check_memif(struct plan_build *b, unsigned port)
{
    const struct cfg_port *p = &b->m->ports[port];
    unsigned readers = b->p->rx_queues[port], senders = b->p->tx_queues[port];

    if (strncmp(p->device, "net_memif", 9) != 0 || (readers <= 1 && senders <= 1))
        return;
    if (strstr(p->device, ",role=server") == NULL && strstr(p->device, ",role=master") == NULL)
        return;
    diag_error(b->d, p->loc,
               "port '%s': %u cores read it and %u send to it, but a net_memif that is the server "
               "cannot know for how many its peer makes rings, and a queue without one takes "
               "another's packets once more: say role=client (and server at the peer), or use it "
               "by one core (an lb, or a forward, brings many to one)",
               p->name, readers, senders);
}

static void check_queues(struct plan_build *b, unsigned port)
{
    const struct cfg_port *p = &b->m->ports[port];
    const struct driver *driver = driver_of(p->device);
    unsigned readers = b->p->rx_queues[port], senders = b->p->tx_queues[port];

    if (driver != NULL)
        check_pairs(b, port, driver);
    check_memif(b, port);
    if (strncmp(p->device, "net_tap", 7) == 0 && readers > 0 && senders > readers)
        diag_error(b->d, p->loc,
                   "port '%s': %u cores read it and %u send to it, but net_tap has as many receive "
                   "as transmit queues, and what comes to one that nobody reads is lost: send by "
                   "one task of type forward, or read it on %u cores",
                   p->name, readers, senders, senders);
    if (port_is_wire(p) && senders > LIMIT_WIRE_QUEUES)
        diag_error(b->d, p->loc, "port '%s': %u cores send to it: expected at most %u for a wire",
                   p->name, senders, LIMIT_WIRE_QUEUES);
}

void plan_check_limits(struct plan_build *b)
{
    check_dpdk(b);
    for (unsigned i = 0; i < b->m->n_tasks; i++)
        check_alone(b, i);
    for (unsigned i = 0; i < b->m->n_ports; i++)
        check_queues(b, i);
}
