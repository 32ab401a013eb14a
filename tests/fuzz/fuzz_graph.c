/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole data path: a burst of arbitrary frames through the graph. An input is a row of
 *
 *   port (1 byte) | length (2 bytes, little-endian) | that many bytes, as far as there are any
 *
 * and each stretch of frames of one port is a burst. What lies in an mbuf behind its frame is under
 * AddressSanitizer's watch, but for a router solicitation: the advertisement that answers it is
 * longer and takes its place. After each input every packet must be accounted for.
 */
#include <sanitizer/asan_interface.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "engine/ledger.h"
#include "fuzz.h"
#include "packet/nd.h"
#include "packet/qinq.h"

#define MAX_FRAMES 32
#define MIN_FRAME                                                                                  \
    76 /* up to there the gateway may pad and read: 60 without FCS, and what a frame               \
          may lose before that, two tags and the headers of PPPoE */
#define MAX_ROUNDS  200 /* of the core, for what waits in a scheduler */
#define POOL_FRAMES 1023

static struct gateway gateway;
static struct rte_mempool *pool;
static struct task *reader[CFG_MAX_PORTS];
static uint64_t injected;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    gateway_open(&gateway, "gateway.cfg");
    pool = rte_pktmbuf_pool_create("fuzz", POOL_FRAMES, 0, 0, 2304, SOCKET_ID_ANY);
    if (pool == NULL)
        fuzz_fail("no memory for frames");
    for (unsigned i = 0; i < gateway.plan->n_instances; i++) {
        const struct plan_instance *inst = &gateway.plan->instances[i];

        for (unsigned k = 0; k < inst->n_rx; k++)
            reader[inst->rx[k].port] = gateway.engine.tasks[i];
    }
    return 0;
}

/* May a frame be a router solicitation? It is if the byte of that type stands anywhere in it. */
static bool may_solicit(const uint8_t *data, uint16_t len)
{
    return memchr(data, ICMPV6_ROUTER_SOLICIT, len) != NULL;
}

static struct rte_mbuf *make(const uint8_t *data, uint16_t len)
{
    struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
    uint16_t least = may_solicit(data, len) ? QINQ_LEN + ND_ROUTER_MOST : MIN_FRAME,
             kept = RTE_MAX(len, least);
    uint8_t *frame;

    if (m == NULL)
        return NULL;
    ASAN_UNPOISON_MEMORY_REGION(m->buf_addr, m->buf_len);
    frame = (uint8_t *)rte_pktmbuf_append(m, len);
    memcpy(frame, data, len);
    ASAN_POISON_MEMORY_REGION(frame + kept, m->buf_len - m->data_off - kept);
    return m;
}

static void run(unsigned port, struct rte_mbuf **m, uint16_t n)
{
    struct task *t = reader[port];

    injected += n;
    t->in_port = (uint16_t)port;
    task_run(t, m, n);
    t->in_port = PORT_IN_MBUF;
}

/* Takes the next frame off the input; NULL at its end. */
static struct rte_mbuf *next(const uint8_t **data, size_t *size, unsigned *port)
{
    size_t len;
    struct rte_mbuf *m;

    if (*size < 3)
        return NULL;
    *port = (*data)[0] % gateway.model->n_ports;
    len = (size_t)(*data)[1] | (size_t)(*data)[2] << 8;
    *data += 3;
    *size -= 3;
    if (len > *size)
        len = *size;
    if (len > 2000)
        len = 2000;
    m = make(*data, (uint16_t)len);
    *data += len;
    *size -= len;
    return m;
}

static void check(void)
{
    struct ledger l = ledger_read(&gateway.engine, NULL);
    uint64_t in_use =
        rte_mempool_in_use_count(pool) + rte_mempool_in_use_count(gateway.engine.pools[0]);

    if (l.received != 0 || l.unexplained != -(int64_t)injected)
        fuzz_fail("%lld packets are not accounted for",
                  (long long)l.unexplained + (long long)injected);
    if (in_use != l.held)
        fuzz_fail("%llu mbufs are in use, and %llu are held", (unsigned long long)in_use,
                  (unsigned long long)l.held);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rte_mbuf *m[MAX_FRAMES], *one;
    unsigned port = 0, of_burst = 0, rounds = 0;
    uint16_t n = 0;

    while ((one = next(&data, &size, &port)) != NULL) {
        if (n == MAX_FRAMES || (n > 0 && port != of_burst)) {
            run(of_burst, m, n);
            n = 0;
        }
        of_burst = port;
        m[n++] = one;
    }
    if (n > 0)
        run(of_burst, m, n);
    do
        core_round(gateway.engine.cores[0], rte_rdtsc());
    while (ledger_read(&gateway.engine, NULL).held > 0 && ++rounds < MAX_ROUNDS);
    check();
    return 0;
}
