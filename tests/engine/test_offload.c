/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a port asks of its device for transmission, and the sockets of queues, rings and pools. The
 * functions here stand before DPDK's: those of ethdev add to what a wire's device says that it can,
 * and keep what is asked of it; no mempool and no ring finds room on a socket that is full.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "common/eal.h"
#include "common/program.h"
#include "engine/engine.h"
#include "engine/pools/pools.h"
#include "engine/port.h"
#include "engine/queues/queues.h"
#include "engine/queues/virtio.h"
#include "engine/task.h"

#define FAST_FREE RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE
#define SEGMENTS  RTE_ETH_TX_OFFLOAD_MULTI_SEGS
#define N_QUEUES  2
#define FAR       1 /* a socket that this machine may lack */

const struct task_type *const task_types[] = {NULL};

static uint64_t of_port, of_queues; /* offloads that the device has for all queues, for each */
static uint64_t asked_of_port, asked_of[N_QUEUES];
static int tx_socket[N_QUEUES], rx_socket;
static uint16_t tx_free_thresh[N_QUEUES], entries; /* of the ring of a virtio device; 0: another */

static void *dpdk(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

int rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
    int (*real)(uint16_t, struct rte_eth_dev_info *);
    int rc;

    *(void **)&real = dpdk("rte_eth_dev_info_get");
    rc = real(port_id, info);
    info->tx_offload_capa |= of_port | of_queues;
    info->tx_queue_offload_capa |= of_queues;
    return rc;
}

int rte_eth_dev_configure(uint16_t port_id, uint16_t n_rx, uint16_t n_tx,
                          const struct rte_eth_conf *conf)
{
    int (*real)(uint16_t, uint16_t, uint16_t, const struct rte_eth_conf *);
    struct rte_eth_conf own = *conf;

    *(void **)&real = dpdk("rte_eth_dev_configure");
    asked_of_port = own.txmode.offloads;
    own.txmode.offloads = 0;
    return real(port_id, n_rx, n_tx, &own);
}

int rte_eth_tx_queue_setup(uint16_t port_id, uint16_t queue, uint16_t desc, unsigned int socket,
                           const struct rte_eth_txconf *conf)
{
    int (*real)(uint16_t, uint16_t, uint16_t, unsigned int, const struct rte_eth_txconf *);
    struct rte_eth_txconf own = *conf;

    *(void **)&real = dpdk("rte_eth_tx_queue_setup");
    CU_ASSERT_FATAL(queue < N_QUEUES);
    asked_of[queue] = own.offloads;
    tx_socket[queue] = (int)socket;
    tx_free_thresh[queue] = own.tx_free_thresh;
    if (entries > 0 && own.tx_free_thresh >= entries - 3) /* as virtio_dev_tx_queue_setup() */
        return -EINVAL;
    own.offloads = 0;
    return real(port_id, queue, desc, socket, &own);
}

int rte_eth_rx_queue_setup(uint16_t port_id, uint16_t queue, uint16_t desc, unsigned int socket,
                           const struct rte_eth_rxconf *conf, struct rte_mempool *pool)
{
    int (*real)(uint16_t, uint16_t, uint16_t, unsigned int, const struct rte_eth_rxconf *,
                struct rte_mempool *);

    *(void **)&real = dpdk("rte_eth_rx_queue_setup");
    rx_socket = (int)socket;
    return real(port_id, queue, desc, socket, conf, pool);
}

static int full_socket = SOCKET_ID_ANY - 1;

struct rte_mempool *rte_mempool_create_empty(const char *name, unsigned n, unsigned elt_size,
                                             unsigned cache, unsigned private, int socket,
                                             unsigned flags)
{
    struct rte_mempool *(*real)(const char *, unsigned, unsigned, unsigned, unsigned, int,
                                unsigned);

    *(void **)&real = dpdk("rte_mempool_create_empty");
    if (socket == full_socket) {
        rte_errno = ENOMEM;
        return NULL;
    }
    return real(name, n, elt_size, cache, private, socket, flags);
}

struct rte_ring *rte_ring_create(const char *name, unsigned int count, int socket,
                                 unsigned int flags)
{
    struct rte_ring *(*real)(const char *, unsigned int, int, unsigned int);

    *(void **)&real = dpdk("rte_ring_create");
    return socket == full_socket ? NULL : real(name, count, socket, flags);
}

/* --- a port at a wire with two transmit queues --- */

static struct cfg_model model = {
    .n_ports = 2,
    .ports = {{.loc = {"t.cfg", 3},
               .name = "p",
               .device = "wire:w",
               .mtu = 1500,
               .rx_desc = 64,
               .tx_desc = 64},
              {.name = "q", .device = "wire:w", .mtu = 1500, .rx_desc = 64, .tx_desc = 64}}};
static struct plan_core cores[N_QUEUES] = {{.cpu = 4, .socket = 0}, {.cpu = 5, .socket = 63}};
static struct plan_rx rx[1];
static struct plan_instance reader = {.core = 0, .n_rx = 1, .rx = rx};
static struct plan_tx tx[N_QUEUES] = {{.core = 0}, {.core = 1}};
static struct plan plan = {.cfg = &model,
                           .n_cores = N_QUEUES,
                           .cores = cores,
                           .n_instances = 1,
                           .instances = &reader,
                           .n_pools = 2,
                           .rx_queues = {1},
                           .tx_queues = {N_QUEUES},
                           .tx = {tx}};
static struct rte_mempool *pools[PLAN_MAX_POOLS];

/* mbufs: what comes to the second queue. The first has those of one pool. */
static void open_port(struct port *port, uint64_t mbufs, uint64_t port_has, uint64_t queues_have)
{
    of_port = port_has;
    of_queues = queues_have;
    tx[0].mbufs = 1;
    tx[1].mbufs = mbufs;
    memset(port, 0, sizeof(*port));
    CU_ASSERT_EQUAL_FATAL(port_open(port, &plan, 0, pools), 0);
}

static void asks(uint64_t all, uint64_t first, uint64_t second)
{
    CU_ASSERT_EQUAL(asked_of_port, all);
    CU_ASSERT_EQUAL(asked_of[0], first);
    CU_ASSERT_EQUAL(asked_of[1], second);
}

static void close_port(struct port *port)
{
    struct rte_ring *ring = port->wire_rx;

    port_close(port);
    rte_ring_free(ring);
    rte_ring_free(rte_ring_lookup("wire_1"));
}

static void test_of_each_queue(void)
{
    struct port port;

    open_port(&port, 1, 0, FAST_FREE);
    asks(0, FAST_FREE, FAST_FREE);
    close_port(&port);
    open_port(&port, 3, 0, FAST_FREE);
    asks(0, FAST_FREE, 0);
    CU_ASSERT_PTR_NULL(port.no_fast_free);
    close_port(&port);
}

/* What may lie in several mbufs is sent by a queue that can. */
static void test_of_segments(void)
{
    struct port port;

    open_port(&port, 1 | PLAN_MBUFS_CHAINED, 0, FAST_FREE | SEGMENTS);
    asks(0, FAST_FREE, SEGMENTS);
    close_port(&port);
    open_port(&port, 1 | PLAN_MBUFS_CHAINED, SEGMENTS, FAST_FREE);
    asks(SEGMENTS, FAST_FREE, 0);
    close_port(&port);
    open_port(&port, 1, SEGMENTS, SEGMENTS);
    asks(0, 0, 0);
    close_port(&port);
}

/* A device that knows it of all queues is not asked where one of them must not. */
static void test_of_all_queues(void)
{
    struct port port;

    open_port(&port, 2, FAST_FREE, 0);
    asks(FAST_FREE, 0, 0);
    CU_ASSERT_PTR_NULL(port.no_fast_free);
    close_port(&port);
    open_port(&port, 3, FAST_FREE, 0);
    asks(0, 0, 0);
    CU_ASSERT_STRING_EQUAL(port.no_fast_free, "the device offers it for all queues together");
    close_port(&port);
}

/* Nothing else is asked for, whatever the device has. */
static void test_of_none(void)
{
    struct port port;

    open_port(&port, 1, ~FAST_FREE, ~FAST_FREE);
    asks(0, 0, 0);
    CU_ASSERT_STRING_EQUAL(port.no_fast_free, "the device does not offer it");
    close_port(&port);
}

/* --- a queue on a socket --- */

static int said_of(const struct port *port, char **said)
{
    FILE *before = stderr;
    size_t len;

    stderr = open_memstream(said, &len);
    CU_ASSERT_PTR_NOT_NULL_FATAL(stderr);
    queues_check_sockets(port, &plan, 0);
    fclose(stderr);
    stderr = before;
    return *said[0] != '\0';
}

/* A virtual device is where the core is that has the queue; the machine lacks the socket of one. */
static void test_of_the_core(void)
{
    struct port port;
    char *said;

    open_port(&port, 1, 0, 0);
    CU_ASSERT_EQUAL(rx_socket, 0);
    CU_ASSERT_EQUAL(tx_socket[0], 0);
    CU_ASSERT_EQUAL(tx_socket[1], SOCKET_ID_ANY);
    CU_ASSERT_EQUAL(said_of(&port, &said), 0);
    free(said);
    close_port(&port);
}

static void test_of_the_nic(void)
{
    static const struct queues queues = {.n_rx = 1, .n_tx = N_QUEUES, .rx_desc = 64, .tx_desc = 64};
    struct rte_eth_dev_info info = {0};
    struct port port;
    char *said;

    open_port(&port, 1, 0, 0);
    rte_eth_dev_stop(port.dpdk_id);
    port.socket = FAR;
    CU_ASSERT_EQUAL(queues_open(&port, &plan, 0, &queues, &info, pools), 0);
    CU_ASSERT_EQUAL(rx_socket, FAR);
    CU_ASSERT_EQUAL(tx_socket[0], FAR);
    CU_ASSERT_EQUAL(tx_socket[1], FAR);
    CU_ASSERT_EQUAL(said_of(&port, &said), 1);
    CU_ASSERT_STRING_EQUAL(
        said, "vbng: warning: t.cfg:3: port p: its NIC is on NUMA socket 1, but CPU 4, which reads "
              "it, on socket 0: each frame crosses the link between the sockets; read it on CPUs "
              "of socket 1\n");
    free(said);
    port.socket = 0;
    CU_ASSERT_EQUAL(said_of(&port, &said), 0);
    free(said);
    close_port(&port);
}

/* --- mbufs that the peer has read --- */

/* The threshold that a queue of a device gets; its ring has so many entries. */
static uint16_t thresh_of(const char *driver, uint16_t desc, uint16_t ring)
{
    const struct queues queues = {.n_rx = 1, .n_tx = N_QUEUES, .rx_desc = 64, .tx_desc = desc};
    struct rte_eth_dev_info info = {.driver_name = driver, .default_txconf.tx_free_thresh = 7};
    struct port port;

    open_port(&port, 1, 0, 0);
    rte_eth_dev_stop(port.dpdk_id);
    entries = ring;
    CU_ASSERT_EQUAL(queues_open(&port, &plan, 0, &queues, &info, pools), 0);
    entries = 0;
    close_port(&port);
    CU_ASSERT_EQUAL(tx_free_thresh[0], tx_free_thresh[1]);
    return tx_free_thresh[0];
}

/* A virtio device gives them back when there are more than 64, whatever the length of its ring. */
static void test_of_virtio(void)
{
    CU_ASSERT_EQUAL(thresh_of("net_virtio_user", 1024, 1024), 1024 - 64);
    CU_ASSERT_EQUAL(thresh_of("net_virtio_user", 512, 1024), 1024 - 64);
    CU_ASSERT_EQUAL(thresh_of("net_virtio_user", 2048, 2048), 2048 - 64);
    CU_ASSERT_EQUAL(thresh_of("net_virtio", 1024, 256), 256 - 64);
    CU_ASSERT_EQUAL(thresh_of("net_virtio", 128, 128), 128 - 64);
    CU_ASSERT_EQUAL(thresh_of("net_virtio", 1024, 64), 0);
    CU_ASSERT_EQUAL(thresh_of("net_virtio", 64, 64), 0);
    CU_ASSERT_EQUAL(thresh_of("net_ring", 1024, 0), 7);
    CU_ASSERT_EQUAL(thresh_of(NULL, 1024, 0), 7);
}

/* net_virtio_user is asked for packed rings where its device string says nothing of them. */
static void test_packed(void)
{
    static const char *const cases[][2] = {
        {"net_virtio_user0,path=/a.sock", "net_virtio_user0,path=/a.sock,packed_vq=1"},
        {"net_virtio_user0,packed_vq=0,path=/a.sock", "net_virtio_user0,packed_vq=0,path=/a.sock"},
        {"net_virtio_user0,path=/packed_vq=0", "net_virtio_user0,path=/packed_vq=0,packed_vq=1"},
        {"net_vhost0,iface=/a.sock", "net_vhost0,iface=/a.sock"},
        {"0000:05:00.0", "0000:05:00.0"},
    };

    for (unsigned i = 0; i < RTE_DIM(cases); i++) {
        char *device = virtio_device(cases[i][0]);

        CU_ASSERT_STRING_EQUAL(device, cases[i][1]);
        free(device);
    }
}

static void test_of_a_full_socket(void)
{
    struct rte_ring *r;

    full_socket = 0;
    r = queues_make_ring("full", 64, 0, 0);
    CU_ASSERT_PTR_NOT_NULL(r);
    rte_ring_free(r);
    full_socket = SOCKET_ID_ANY;
    CU_ASSERT_PTR_NULL(queues_make_ring("full", 64, SOCKET_ID_ANY, 0));
    full_socket = SOCKET_ID_ANY - 1;
}

/* --- a pool on a socket --- */

/* An engine that has nothing else. */
static int open_pool(struct engine *e, int16_t socket)
{
    static struct cfg_model own;
    static struct plan p;

    own = (struct cfg_model){.n_pools = 1,
                             .pools = {{.name = "own",
                                        .loc = {"t.cfg", 7},
                                        .mbufs = 512,
                                        .data_room = 2176,
                                        .socket = socket}}};
    p = (struct plan){.cfg = &own, .n_pools = 1, .pools = {{.name = "own"}}};
    p.memory.pool_mbufs[0] = 512;
    p.memory.mbufs[0] = 3 << 20;
    return engine_open(e, &p);
}

static void test_full_socket(void)
{
    struct engine e;

    full_socket = 0;
    CU_ASSERT_EQUAL_FATAL(open_pool(&e, -1), 0);
    CU_ASSERT_EQUAL(e.pools[0]->socket_id, SOCKET_ID_ANY);
    engine_free(&e);
    CU_ASSERT_EQUAL(open_pool(&e, 0), -ENOMEM); /* the configuration says that socket */
    engine_free(&e);
    full_socket = SOCKET_ID_ANY - 1;
    CU_ASSERT_EQUAL_FATAL(open_pool(&e, -1), 0);
    CU_ASSERT_EQUAL(e.pools[0]->socket_id, 0);
    engine_free(&e);
}

static int open_eal(void)
{
    int rc = test_eal_start(64, NULL);

    if (rc == 0)
        pools[0] = pool_create("test", 512, 0, 2176, SOCKET_ID_ANY);
    return rc == 0 && pools[0] != NULL ? 0 : -1;
}

static int close_eal(void)
{
    rte_mempool_free(pools[0]);
    test_eal_stop();
    return 0;
}

static const struct test tests[] = {
    {"fast free of each queue", test_of_each_queue},
    {"packets of several mbufs", test_of_segments},
    {"fast free of all queues", test_of_all_queues},
    {"nothing else", test_of_none},
    {"queues at a core", test_of_the_core},
    {"queues at a NIC", test_of_the_nic},
    {"virtio gives mbufs back", test_of_virtio},
    {"virtio has packed rings", test_packed},
    {"a ring on a full socket", test_of_a_full_socket},
    {"a pool on a full socket", test_full_socket},
    {NULL, NULL},
};

const struct test_program test_program = {"offloads", tests, open_eal, close_eal};
