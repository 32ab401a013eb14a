/* SPDX-License-Identifier: BSD-3-Clause */
/* EAL with one lcore, which is this thread, pinned to one CPU. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "bench.h"

static unsigned long free_pages(unsigned long kib)
{
    char path[96];
    unsigned long pages = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%lukB/free_hugepages", kib);
    f = fopen(path, "r");
    if (f == NULL)
        return 0;
    if (fscanf(f, "%lu", &pages) != 1)
        pages = 0;
    fclose(f);
    return pages;
}

static unsigned long free_huge_mib(void)
{
    return free_pages(2048) * 2 + free_pages(1048576) * 1024;
}

static int last_cpu(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    for (int cpu = CPU_SETSIZE - 1; cpu > 0; cpu--)
        if (CPU_ISSET(cpu, &set))
            return cpu;
    return 0;
}

int bench_eal_start(struct bench *b)
{
    static char lcores[32], prefix[48], mib[16];
    static char *args[16];
    unsigned long have = free_huge_mib();
    unsigned need = cases_need_mib(&b->options);
    int n = 0;

    if (b->options.cpu < 0)
        b->options.cpu = last_cpu();
    b->huge = b->options.memory == MEMORY_HUGE ||
              (b->options.memory == MEMORY_AUTO && geteuid() == 0 && have >= need);
    if (b->options.memory == MEMORY_HUGE && have < need) {
        fprintf(stderr,
                "bench: --huge needs %u MiB of free huge pages and there are %lu MiB; reserve them "
                "as root: echo %u > /proc/sys/vm/nr_hugepages\n",
                need, have, need / 2);
        return -1;
    }
    snprintf(lcores, sizeof(lcores), "--lcores=0@%d", b->options.cpu);
    snprintf(prefix, sizeof(prefix), "--file-prefix=vbng-bench-%d", getpid());
    snprintf(mib, sizeof(mib), "%u", need);
    args[n++] = strdup("bench");
    args[n++] = lcores;
    args[n++] = prefix;
    args[n++] = strdup("--no-pci");
    args[n++] = strdup("--no-telemetry");
    args[n++] = strdup("--log-level=*:warning");
    if (b->huge) {
        args[n++] = strdup("--in-memory");
    } else {
        args[n++] = strdup("--no-huge");
        args[n++] = strdup("--no-shconf");
        args[n++] = strdup("-m");
        args[n++] = mib;
    }
    if (rte_eal_init(n, args) < 0) {
        fprintf(stderr, "bench: DPDK's environment did not start: %s\n", rte_strerror(rte_errno));
        return -1;
    }
    return 0;
}

void bench_eal_stop(void)
{
    char dir[512];

    snprintf(dir, sizeof(dir), "%s", rte_eal_get_runtime_dir());
    rte_eal_cleanup();
    rmdir(dir); /* EAL leaves it behind, empty where it shares nothing */
}
