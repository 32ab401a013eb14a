/* SPDX-License-Identifier: BSD-3-Clause */
/* EAL, mbufs and the program around the tests. */
#include "harness.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>

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

/* One lcore on any CPU that the process may use: tests run side by side. */
static void lcore_arg(char *buf, size_t len)
{
    size_t n = (size_t)snprintf(buf, len, "--lcores=0@(");
    const char *sep = "";
    cpu_set_t set;

    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE && n < len - 16; cpu++) {
        if (CPU_ISSET(cpu, &set)) {
            n += (size_t)snprintf(buf + n, len - n, "%s%u", sep, cpu);
            sep = ",";
        }
    }
    snprintf(buf + n, len - n, ")");
}

static int start(void)
{
    static char lcores[4096], prefix[64];
    static char *args[] = {"test", lcores, prefix,     "--no-huge",      "--no-shconf",
                           "-m",   "256",  "--no-pci", "--no-telemetry", "--log-level=*:warning",
                           NULL};

    lcore_arg(lcores, sizeof(lcores));
    snprintf(prefix, sizeof(prefix), "--file-prefix=vbng-test-%d", getpid());
    if (rte_eal_init((int)RTE_DIM(args) - 1, args) < 0)
        return -1;
    harness_pool = rte_pktmbuf_pool_create("test", RIG_MBUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
    return harness_pool != NULL && harness_tables() != NULL ? 0 : -1;
}

static void stop(void)
{
    char dir[512];

    snprintf(dir, sizeof(dir), "%s", rte_eal_get_runtime_dir());
    rte_mempool_free(harness_pool);
    rte_eal_cleanup();
    rmdir(dir);
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

int harness_main(const char *suite, const struct harness_test *tests)
{
    CU_pSuite s;
    unsigned failures;

    if (start() != 0)
        return 1;
    CU_initialize_registry();
    s = CU_add_suite(suite, NULL, NULL);
    for (unsigned i = 0; tests[i].name != NULL; i++)
        CU_add_test(s, tests[i].name, tests[i].run);
    CU_basic_run_tests();
    failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    stop();
    return failures != 0;
}
