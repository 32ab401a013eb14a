/* SPDX-License-Identifier: BSD-3-Clause */
#include "eal.h"

#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>

/* One lcore on any CPU that the process may use: tests run side by side. */
static void any_cpu(char *buf, size_t len)
{
    size_t n = (size_t)snprintf(buf, len, "0@(");
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

int test_eal_start(unsigned mib, const char *lcores)
{
    /* EAL keeps pointers to them */
    static char any[4096], cores[sizeof(any) + 16], prefix[64], memory[16];
    char *args[] = {"test",
                    cores,
                    prefix,
                    "-m",
                    memory,
                    "--no-huge",
                    "--no-shconf",
                    "--no-pci",
                    "--no-telemetry",
                    "--log-level=*:warning",
                    NULL};

    any_cpu(any, sizeof(any));
    snprintf(cores, sizeof(cores), "--lcores=%s", lcores != NULL ? lcores : any);
    snprintf(prefix, sizeof(prefix), "--file-prefix=vbng-test-%d", getpid());
    snprintf(memory, sizeof(memory), "%u", mib);
    return rte_eal_init((int)RTE_DIM(args) - 1, args) < 0 ? -1 : 0;
}

void test_eal_stop(void)
{
    char folder[512];

    snprintf(folder, sizeof(folder), "%s", rte_eal_get_runtime_dir());
    rte_eal_cleanup();
    rmdir(folder); /* EAL leaves it behind, empty where it shares nothing */
}
