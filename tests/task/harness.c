/* SPDX-License-Identifier: BSD-3-Clause */
/* EAL, mbufs and the program around the tests. */
#include "harness.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/eal.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#define FILL 0xa5 /* what an mbuf holds around a frame: a leak of it is seen */

struct rte_mempool *harness_pool;

static size_t guard_spare;
static bool guarded;

int harness_open(void)
{
    if (test_eal_start(256, NULL) != 0)
        return EXIT_FAILURE;
    harness_pool = rte_pktmbuf_pool_create("test", RIG_MBUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
    return harness_pool != NULL && harness_tables() != NULL ? 0 : EXIT_FAILURE;
}

int harness_close(void)
{
    rte_mempool_free(harness_pool);
    test_eal_stop();
    return 0;
}

struct rte_mbuf *mbuf_from_bytes(const void *bytes, size_t len, uint16_t port)
{
    struct rte_mbuf *m = rte_pktmbuf_alloc(harness_pool);
    size_t open;

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    ASAN_UNPOISON_MEMORY_REGION(m->buf_addr, m->buf_len);
    memset(m->buf_addr, FILL, m->buf_len);
    memcpy(rte_pktmbuf_append(m, (uint16_t)len), bytes, len);
    m->port = port;
    /* fields that a task may not trust before one has written them */
    m->packet_type = 0xdeadbeef;
    m->vlan_tci = 0xdead;
    m->vlan_tci_outer = 0xdead;
    memset(&m->hash, FILL, sizeof(m->hash));
    open = RTE_MAX(len, guard_spare);
    if (guarded)
        ASAN_POISON_MEMORY_REGION(rte_pktmbuf_mtod(m, uint8_t *) + open,
                                  m->buf_len - m->data_off - open);
    return m;
}

void mbuf_guard(size_t spare)
{
    guard_spare = spare;
    guarded = true;
}

static void unguard(struct rte_mempool *pool, void *arg, void *obj, unsigned i)
{
    struct rte_mbuf *m = obj;

    ASAN_UNPOISON_MEMORY_REGION(m->buf_addr, m->buf_len);
}

void mbuf_unguard(void)
{
    rte_mempool_obj_iter(harness_pool, unguard, NULL);
    guarded = false;
}

struct rte_mbuf *mbuf_from_hex(const char *hex, uint16_t port)
{
    uint8_t bytes[2048];
    unsigned n = 0;

    for (const char *p = hex; *p != '\0'; p++) {
        char digit[2] = {*p, '\0'};

        if (isspace((unsigned char)*p))
            continue;
        CU_ASSERT_FATAL(isxdigit((unsigned char)*p) && n < 2 * sizeof(bytes));
        if (n % 2 == 0)
            bytes[n / 2] = 0;
        bytes[n / 2] = (uint8_t)(bytes[n / 2] << 4 | strtoul(digit, NULL, 16));
        n++;
    }
    CU_ASSERT_FATAL(n % 2 == 0);
    return mbuf_from_bytes(bytes, n / 2, port);
}

static void print_bytes(const char *what, const uint8_t *p, size_t len)
{
    fprintf(stderr, "\n%s %3zu:", what, len);
    for (size_t i = 0; i < len; i++)
        fprintf(stderr, "%s%02x", i % 2 == 0 ? " " : "", p[i]);
    fprintf(stderr, "\n");
}

int mbuf_is(const struct rte_mbuf *m, const void *bytes, size_t len)
{
    if (m == NULL)
        return 0;
    if (m->pkt_len == len && m->data_len == len &&
        memcmp(rte_pktmbuf_mtod(m, void *), bytes, len) == 0)
        return 1;
    print_bytes("is    ", rte_pktmbuf_mtod(m, uint8_t *), m->data_len);
    print_bytes("not   ", bytes, len);
    return 0;
}
