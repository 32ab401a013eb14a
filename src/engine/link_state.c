/* SPDX-License-Identifier: BSD-3-Clause */
/* The peer that a device string names, and the ports whose peer comes and goes. */
#define ALLOW_EXPERIMENTAL_API /* rte_intr_*(): stable since DPDK 23.11 */

#include "engine/link_state.h"

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_log.h>
#include <rte_rcu_qsbr.h>

#include "base/log.h"
#include "base/owned.h"
#include "engine/engine.h"
#include "engine/link.h"

#define RETRY_EVERY  10 /* calls of link_state_watch() between two tries to connect */
#define REFUSALS_MAX 3  /* connections that a peer ends at once before that is reported */
#define SLOWER_MAX   5u /* times that the gap between tries doubles while a peer ends them */

/** A core call: the port whose state has changed. */
struct port_change {
    struct engine *e;
    unsigned port;
};

static bool is_device(const char *device, const char *driver)
{
    return strncmp(device, driver, strlen(driver)) == 0;
}

/* Write the value of an argument of a device string to out, or the default. */
static void argument(const char *device, const char *key, const char *value, char *out, size_t size)
{
    size_t len = strlen(key);

    snprintf(out, size, "%s", value);
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

    *out = (struct peer){.reconnect = PEER_NONE};
    if (is_device(device, "net_memif")) {
        argument(device, "role", "client", value, sizeof(value));
        out->reconnect = strcmp(value, "server") == 0 || strcmp(value, "master") == 0
                             ? PEER_BY_DRIVER
                             : PEER_RESTART;
    } else if (is_device(device, "net_vhost")) {
        out->reconnect = PEER_BY_DRIVER;
    } else if (is_device(device, "net_virtio_user")) {
        argument(device, "server", "0", value, sizeof(value));
        out->reconnect = strcmp(value, "1") == 0 ? PEER_BY_DRIVER : PEER_REOPEN;
        argument(device, "path", "", out->path, sizeof(out->path));
    }
}

void peer_clear(const struct peer *peer)
{
    if (peer->reconnect == PEER_BY_DRIVER && peer->path[0] != '\0')
        owned_clear_socket(peer->path); /* the driver reports a path that stays in use */
}

/* Have DPDK's interrupt thread call a function while the event is raised. An alarm would do so,
 * too, but rte_eal_cleanup() waits for alarms. Returns NULL where that fails. */
static struct rte_intr_handle *on_event(int event, rte_intr_callback_fn call, void *arg)
{
    struct rte_intr_handle *h = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);

    if (h != NULL && rte_intr_fd_set(h, event) == 0 &&
        rte_intr_type_set(h, RTE_INTR_HANDLE_EXT) == 0 &&
        rte_intr_callback_register(h, call, arg) == 0)
        return h;
    rte_intr_instance_free(h);
    return NULL;
}

/* Runs on DPDK's interrupt thread, and never returns. */
static void park(void *parked)
{
    sem_post(parked);
    for (;;)
        pause();
}

void peer_park_interrupts(const char *device)
{
    static bool done;
    static sem_t parked;

    if (done || !is_device(device, "net_memif") || sem_init(&parked, 0, 0) != 0)
        return;
    done = on_event(eventfd(1, 0), park, &parked) != NULL;
    while (done && sem_wait(&parked) != 0)
        ;
}

/** A port to be stopped on DPDK's interrupt thread. */
struct stop {
    int event;
    uint16_t port; /* DPDK's number */
    sem_t done;
};

static void stop_port(void *arg)
{
    struct stop *s = arg;
    uint64_t n;

    if (read(s->event, &n, sizeof(n)) < 0)
        return;
    rte_eth_dev_stop(s->port);
    sem_post(&s->done);
}

int peer_stop(uint16_t port)
{
    struct stop s = {.event = eventfd(1, EFD_NONBLOCK), .port = port};
    struct rte_intr_handle *h = NULL;

    if (s.event >= 0 && sem_init(&s.done, 0, 0) == 0)
        h = on_event(s.event, stop_port, &s);
    if (h != NULL) {
        while (sem_wait(&s.done) != 0)
            ;
        rte_intr_callback_unregister_sync(h, stop_port, &s);
        rte_intr_instance_free(h);
    }
    if (s.event >= 0)
        close(s.event);
    return h != NULL ? 0 : -ENOMEM;
}

static struct rte_rcu_qsbr *guarding; /* read by any thread that unmaps */

void peer_guard_memory(struct rte_rcu_qsbr *cores)
{
    __atomic_store_n(&guarding, cores, __ATOMIC_RELEASE);
}

static void wait_for_rounds(struct rte_rcu_qsbr *cores)
{
    static const struct timespec nap = {.tv_nsec = 20000};
    uint64_t token = rte_rcu_qsbr_start(cores);

    while (rte_rcu_qsbr_check(cores, token, false) == 0)
        nanosleep(&nap, NULL);
}

/* Takes the place of libc's function for drivers, too, which call it by name. */
int munmap(void *addr, size_t len)
{
    struct rte_rcu_qsbr *cores = __atomic_load_n(&guarding, __ATOMIC_ACQUIRE);

    if (cores != NULL && rte_thread_is_intr() != 0)
        wait_for_rounds(cores);
    return (int)syscall(SYS_munmap, addr, len);
}

static bool is_seqpacket(int fd)
{
    int type = 0;
    socklen_t len = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
}

/* Takes the place of libc's function, as above. net_memif as a server leaves the socket of a client
 * that it cannot greet registered with DPDK's interrupt thread, closes it, and the thread panics.
 * So a message counts as sent there, and its connection is shut down: what the driver reads next is
 * the end, which it handles well. Of the drivers only net_memif has sockets of this type. */
ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    ssize_t n = syscall(SYS_sendmsg, fd, message, flags);

    if (n >= 0 || rte_thread_is_intr() == 0 || !is_seqpacket(fd))
        return n;
    shutdown(fd, SHUT_RDWR);
    n = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++)
        n += (ssize_t)message->msg_iov[i].iov_len;
    return n;
}

/* Exchange the send functions of all outputs of a task that lead to the port. */
static void update_outputs(struct engine *e, struct task *t, unsigned port)
{
    const struct plan_instance *inst = &e->plan->instances[t->instance];
    const struct port *p = &e->ports[port];

    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
        for (uint16_t k = 0; k < inst->output[o].n_dests; k++) {
            const struct plan_dest *d = &inst->output[o].dest[k];

            if (d->kind != DEST_PORT || d->index != port)
                continue;
            if (p->peer_gone)
                link_down(&t->output[o][k]);
            else
                link_to_port(&t->output[o][k], p->dpdk_id, d->queue, p->cfg->on_full, p->is_wire);
        }
}

/* A core call: make the inputs and outputs of a core agree with the port's state. */
static int update_core(struct task *any, void *arg)
{
    const struct port_change *change = arg;
    struct engine *e = change->e;
    struct core *c = e->cores[any->core];
    const struct port *p = &e->ports[change->port];

    for (unsigned i = 0; i < c->n_inputs; i++)
        if (c->inputs[i].kind == INPUT_PORT && c->inputs[i].in_port == change->port) {
            c->inputs[i].peer_gone = p->peer_gone;
            c->inputs[i].dpdk_port = p->dpdk_id;
        }
    for (unsigned i = 0; i < e->plan->n_instances; i++)
        if (e->tasks[i]->core == any->core)
            update_outputs(e, e->tasks[i], change->port);
    return 0;
}

/* Returns whether all cores have taken over the port's state. */
static bool update_cores(struct engine *e, unsigned port)
{
    struct port_change change = {.e = e, .port = port};

    return engine_call_cores(e, update_core, &change) == 0;
}

static void detach(struct engine *e, unsigned i)
{
    e->ports[i].peer_gone = true;
    e->ports[i].detached = update_cores(e, i);
    log_warning("port %s: its peer has gone", e->ports[i].cfg->name);
}

/* Let the cores use the port again. A core that does not answer leaves the port detached until the
 * next check. */
static void attach(struct engine *e, unsigned i)
{
    e->ports[i].peer_gone = false;
    e->ports[i].detached = false;
    e->ports[i].is_tried = false;
    e->ports[i].refused_now = 0;
    if (!update_cores(e, i)) {
        e->ports[i].peer_gone = true;
        return;
    }
    engine_link_is_up(e, i);
    log_warning("port %s: its peer is back", e->ports[i].cfg->name);
}

/* Count a connection that the peer took and has ended again. net_memif is silent about what the
 * peer says then. */
static void count_refusal(struct port *port, const struct plan *p, unsigned i)
{
    __atomic_store_n(&port->refused, port->refused + 1, __ATOMIC_RELAXED);
    if (++port->refused_now != REFUSALS_MAX)
        return;
    log_warning(
        "port %s: its peer ends each connection at once: %u cores read the port and %u send to it, "
        "so it needs as many queues towards each other as that; else it expects another id or "
        "secret, or is connected already",
        port->cfg->name, p->rx_queues[i], p->tx_queues[i]);
}

/* Connect a client, from time to time. Tries that fail are expected, so the drivers are silent. */
static void try_connect(struct engine *e, unsigned i)
{
    struct port *port = &e->ports[i];
    uint32_t level = rte_log_get_global_level();
    int rc;

    if (port_link_up(port)) {
        attach(e, i);
        return;
    }
    if (port->retry_in-- > 0)
        return;
    if (port->is_tried)
        count_refusal(port, e->plan, i);
    /* a peer that is slow has time to answer, and net_memif as a server suffers from crowds */
    port->retry_in = RETRY_EVERY << RTE_MIN(port->refused_now, SLOWER_MAX);
    rte_log_set_global_level(RTE_LOG_EMERG);
    rc = port_reconnect(port, e->plan, i, e->pools);
    rte_log_set_global_level(level);
    port->is_tried = rc == 0;
    if (rc != 0)
        port->refused_now = 0; /* nobody is there */
    if (rc == 0 && port_link_up(port))
        attach(e, i);
}

static void watch_client(struct engine *e, unsigned i)
{
    struct port *port = &e->ports[i];

    if (!port->peer_gone) {
        if (!port_link_up(port))
            detach(e, i);
    } else if (!port->detached) {
        port->detached = update_cores(e, i);
    } else {
        try_connect(e, i);
    }
}

void link_state_watch(struct engine *e, unsigned i)
{
    struct port *port = &e->ports[i];

    switch (port->peer.reconnect) {
    case PEER_NONE:
        return;
    case PEER_BY_DRIVER:
        if (port_link_up(port) == port->peer_gone)
            port->peer_gone ? attach(e, i) : detach(e, i);
        return;
    case PEER_RESTART:
    case PEER_REOPEN:
        watch_client(e, i);
        return;
    }
}
