/* SPDX-License-Identifier: BSD-3-Clause */
/* What a device string says of the other end, which sockets are taken away, when DPDK's interrupt
 * thread may unmap what a core reads, and either end of a memif whose other end does not wait. */
#define ALLOW_EXPERIMENTAL_API /* rte_intr_*() */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <rte_bus_vdev.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_mbuf.h>
#include <rte_rcu_qsbr.h>

#include "common/eal.h"
#include "common/program.h"
#include "engine/link_state.h"

static void test_read(void)
{
    static const struct {
        const char *device;
        enum peer_reconnect reconnect;
        const char *path;
    } cases[] = {
        {"0000:05:00.0", PEER_NONE, ""},
        {"wire:w", PEER_NONE, ""},
        {"net_af_packet0,iface=path=x", PEER_NONE, ""},
        {"net_virtio_user0,path=/a.sock,queue_size=1024", PEER_REOPEN, "/a.sock"},
        {"net_virtio_user0,queue_size=1024,path=/a.sock", PEER_REOPEN, "/a.sock"},
        {"net_virtio_user0,path=/a.sock,server=1", PEER_BY_DRIVER, "/a.sock"},
        {"net_virtio_user0,path=/a.sock,server=0", PEER_REOPEN, "/a.sock"},
        {"net_virtio_user0,xserver=1,path=/a.sock", PEER_REOPEN, "/a.sock"},
        {"net_vhost0,iface=/a.sock", PEER_BY_DRIVER, ""},
        {"net_vhost0,iface=/a.sock,client=1", PEER_BY_DRIVER, ""},
        {"net_memif0,role=server,id=0", PEER_BY_DRIVER, ""},
        {"net_memif0,role=master,id=0", PEER_BY_DRIVER, ""},
        {"net_memif0,id=0,role=client", PEER_RESTART, ""},
        {"net_memif0", PEER_RESTART, ""},
    };
    struct peer p;

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        peer_read(cases[i].device, &p);
        CU_ASSERT_EQUAL(p.reconnect, cases[i].reconnect);
        CU_ASSERT_STRING_EQUAL(p.path, cases[i].path);
    }
}

static void test_clear(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char folder[] = "/tmp/vbng-peer-XXXXXX", device[256];
    struct peer server, client;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", folder);
    snprintf(device, sizeof(device), "net_virtio_user0,server=1,path=%s", address.sun_path);
    peer_read(device, &server);
    snprintf(device, sizeof(device), "net_virtio_user0,path=%s", address.sun_path);
    peer_read(device, &client);
    CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    CU_ASSERT_EQUAL_FATAL(listen(fd, 4), 0);
    peer_clear(&server); /* somebody is there */
    CU_ASSERT_EQUAL(access(address.sun_path, F_OK), 0);
    close(fd);
    peer_clear(&client); /* not ours */
    CU_ASSERT_EQUAL(access(address.sun_path, F_OK), 0);
    peer_clear(&server);
    CU_ASSERT_NOT_EQUAL(access(address.sun_path, F_OK), 0);
    rmdir(folder);
}

/* A device whose peer goes: as net_memif does, it is marked as disconnected, and its ring is
 * unmapped, both on DPDK's interrupt thread. */
#define RING_BYTES 4096
#define IN_A_BURST 20 /* times that a reader looks at the ring in a burst, 1 ms apart */

static struct {
    struct rte_rcu_qsbr *readers;
    volatile uint8_t *ring;
    bool connected, unmapped, stop, in_burst;
    unsigned bursts;
} device;

static void *read_device(void *arg)
{
    static const struct timespec ms = {.tv_nsec = 1000000};

    rte_rcu_qsbr_thread_online(device.readers, 0);
    while (!__atomic_load_n(&device.stop, __ATOMIC_RELAXED)) {
        if (__atomic_load_n(&device.connected, __ATOMIC_RELAXED)) {
            __atomic_store_n(&device.in_burst, true, __ATOMIC_RELAXED);
            for (unsigned i = 0; i < IN_A_BURST; i++) {
                (void)device.ring[i];
                nanosleep(&ms, NULL); /* a core that has lost its CPU */
            }
            __atomic_store_n(&device.in_burst, false, __ATOMIC_RELAXED);
            device.bursts++;
        }
        rte_rcu_qsbr_quiescent(device.readers, 0);
    }
    rte_rcu_qsbr_thread_offline(device.readers, 0);
    return arg;
}

static void peer_goes(void *event)
{
    uint64_t n;

    if (read(*(int *)event, &n, sizeof(n)) < 0)
        return;
    __atomic_store_n(&device.connected, false, __ATOMIC_RELAXED);
    munmap((void *)(uintptr_t)device.ring, RING_BYTES);
    __atomic_store_n(&device.unmapped, true, __ATOMIC_RELEASE);
}

static bool wait_until(const bool *what, bool is)
{
    static const struct timespec nap = {.tv_nsec = 100000};

    for (unsigned i = 0; i < 300000; i++) { /* 30 s and more */
        if (__atomic_load_n(what, __ATOMIC_ACQUIRE) == is)
            return true;
        nanosleep(&nap, NULL);
    }
    return false;
}

static void *make_ring(void)
{
    return mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Without the guard this ends by SIGSEGV: the reader has lost its CPU in the midst of the ring. */
static void test_unmap(void)
{
    struct rte_intr_handle *h = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
    int event = eventfd(0, 0);
    uint64_t one = 1;
    pthread_t reader;

    device.readers = aligned_alloc(RTE_CACHE_LINE_SIZE, rte_rcu_qsbr_get_memsize(1));
    CU_ASSERT_PTR_NOT_NULL_FATAL(device.readers);
    rte_rcu_qsbr_init(device.readers, 1);
    rte_rcu_qsbr_thread_register(device.readers, 0);
    rte_intr_fd_set(h, event);
    rte_intr_type_set(h, RTE_INTR_HANDLE_EXT);
    CU_ASSERT_EQUAL_FATAL(rte_intr_callback_register(h, peer_goes, &event), 0);
    peer_guard_memory(device.readers);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&reader, NULL, read_device, NULL), 0);
    for (unsigned i = 0; i < 5; i++) {
        device.ring = make_ring();
        device.unmapped = false;
        __atomic_store_n(&device.connected, true, __ATOMIC_RELEASE);
        CU_ASSERT(wait_until(&device.in_burst, true));
        CU_ASSERT_EQUAL(write(event, &one, sizeof(one)), sizeof(one));
        CU_ASSERT(wait_until(&device.unmapped, true));
        CU_ASSERT_FALSE(__atomic_load_n(&device.in_burst, __ATOMIC_RELAXED));
    }
    __atomic_store_n(&device.stop, true, __ATOMIC_RELAXED);
    pthread_join(reader, NULL);
    CU_ASSERT(device.bursts >= 5);
    /* no core runs: nobody is waited for; nor does any other thread wait */
    device.ring = make_ring();
    device.unmapped = false;
    CU_ASSERT_EQUAL(write(event, &one, sizeof(one)), sizeof(one));
    CU_ASSERT(wait_until(&device.unmapped, true));
    rte_rcu_qsbr_thread_online(device.readers, 0);
    CU_ASSERT_EQUAL(munmap(make_ring(), RING_BYTES), 0);
    peer_guard_memory(NULL);
    rte_intr_callback_unregister_sync(h, peer_goes, &event);
    rte_intr_instance_free(h);
    close(event);
    free(device.readers);
}

#define HASTY 200 /* clients, of which many have gone before the interrupt thread sees them */

static int connect_to(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

    for (unsigned i = 0; i < 30000; i++) { /* 30 s and more: few may wait */
        if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
            return fd;
        usleep(1000);
    }
    close(fd);
    return -1;
}

/* Without what link_state.c does the interrupt thread ends the process: Bad file descriptor. */
static void test_hasty_clients(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char folder[] = "/tmp/vbng-peer-XXXXXX", args[256], greeting[256];
    int fd;

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", folder);
    snprintf(args, sizeof(args), "role=server,id=0,socket-abstract=no,socket=%s", address.sun_path);
    CU_ASSERT_EQUAL_FATAL(rte_vdev_init("net_memif0", args), 0);
    for (unsigned i = 0; i < HASTY; i++) {
        fd = connect_to(&address);
        CU_ASSERT_FATAL(fd >= 0);
        close(fd);
    }
    fd = connect_to(&address);
    CU_ASSERT(recv(fd, greeting, sizeof(greeting), 0) > 0);
    close(fd);
    peer_park_interrupts("net_memif0"); /* for good: this is the last test */
    rte_vdev_uninit("net_memif0");
    rmdir(folder);
}

/* A server that greets each client and hears it out. */
#define RESTARTS 300

struct greeting {
    uint16_t type;
    uint8_t name[32];
    uint16_t versions[2], limits[3];
    uint8_t log2_ring_size, rest[83];
} __attribute__((packed));

static void *greet(void *listener)
{
    static const struct greeting hello = {2, .versions = {0x200, 0x200}, .log2_ring_size = 10};
    char heard[sizeof(hello)];
    int fd;

    while ((fd = accept(*(int *)listener, NULL, NULL)) >= 0) {
        if (send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) == (ssize_t)sizeof(hello))
            while (recv(fd, heard, sizeof(heard), 0) > 0)
                ;
        close(fd);
    }
    return listener;
}

static uint16_t open_client(const char *path, struct rte_mempool *pool)
{
    static const struct rte_eth_conf conf;
    char args[256];
    uint16_t id;

    snprintf(args, sizeof(args), "role=client,id=0,socket-abstract=no,socket=%s", path);
    CU_ASSERT_EQUAL_FATAL(rte_vdev_init("net_memif1", args), 0);
    CU_ASSERT_EQUAL_FATAL(rte_eth_dev_get_port_by_name("net_memif1", &id), 0);
    CU_ASSERT_EQUAL_FATAL(rte_eth_dev_configure(id, 1, 1, &conf), 0);
    CU_ASSERT_EQUAL_FATAL(rte_eth_rx_queue_setup(id, 0, 64, 0, NULL, pool), 0);
    CU_ASSERT_EQUAL_FATAL(rte_eth_tx_queue_setup(id, 0, 64, 0, NULL), 0);
    return id;
}

/* Stopped on this thread, it ends by SIGSEGV within some dozens of restarts: the interrupt thread
 * is in the midst of the greeting. */
static void test_restart(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct rte_mempool *pool = rte_pktmbuf_pool_create("peer", 255, 0, 0, 2176, 0);
    char folder[] = "/tmp/vbng-peer-XXXXXX";
    int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    pthread_t server;
    uint16_t id;

    CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", folder);
    CU_ASSERT_EQUAL_FATAL(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    CU_ASSERT_EQUAL_FATAL(listen(listener, 8), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&server, NULL, greet, &listener), 0);
    id = open_client(address.sun_path, pool);
    for (unsigned i = 0; i < RESTARTS; i++) {
        CU_ASSERT_EQUAL_FATAL(rte_eth_dev_start(id), 0);
        usleep(i % 30 * 10);
        CU_ASSERT_EQUAL_FATAL(peer_stop(id), 0);
    }
    shutdown(listener, SHUT_RDWR);
    pthread_join(server, NULL);
    close(listener);
    rte_vdev_uninit("net_memif1");
    rte_mempool_free(pool);
    unlink(address.sun_path);
    rmdir(folder);
}

static int open_eal(void)
{
    return test_eal_start(64, NULL);
}

static int close_eal(void)
{
    test_eal_stop();
    return 0;
}

static const struct test tests[] = {
    {"what a device string says", test_read},
    {"stale sockets", test_clear},
    {"memory that a core reads", test_unmap},
    {"a client that connects again", test_restart},
    {"clients that leave at once", test_hasty_clients},
    {NULL, NULL},
};

const struct test_program test_program = {"peer", tests, open_eal, close_eal};
