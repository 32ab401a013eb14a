/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a port asks of its device for transmission, and a pool of its socket. The functions here
 * stand before DPDK's: those of ethdev add to what a wire's device says that it can, and keep what
 * is asked of it; no mempool finds room on a socket that is full.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "common/eal.h"
#include "common/program.h"
#include "engine/engine.h"
#include "engine/port.h"
#include "engine/task.h"

#define FAST_FREE RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE
#define N_QUEUES  2

const struct task_type *const task_types[] = {NULL};

static uint64_t of_port, of_queues; /* offloads that the device has for all queues, for each */
static uint64_t asked_of_port, asked_of[N_QUEUES];

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
    own.offloads = 0;
    return real(port_id, queue, desc, socket, &own);
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

/* --- a port at a wire with two transmit queues --- */

static struct cfg_model model = {
    .n_ports = 2,
    .ports = {{.name = "p", .device = "wire:w", .mtu = 1500, .rx_desc = 64, .tx_desc = 64},
              {.name = "q", .device = "wire:w", .mtu = 1500, .rx_desc = 64, .tx_desc = 64}}};
static struct plan_tx tx[N_QUEUES];
static struct plan plan = {.cfg = &model, .n_pools = 2, .tx_queues = {N_QUEUES}, .tx = {tx}};
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
    open_port(&port, 2 | PLAN_MBUFS_CHAINED, 0, FAST_FREE);
    asks(0, FAST_FREE, 0);
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
    {"fast free of all queues", test_of_all_queues},
    {"nothing else", test_of_none},
    {"a full socket", test_full_socket},
    {NULL, NULL},
};

const struct test_program test_program = {"offloads", tests, open_eal, close_eal};
