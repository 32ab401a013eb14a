/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/eal.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_memory.h>

#include "base/log.h"
#include "engine/runtime.h"

#define MAX_ARGS 128
#define MIB      (1024ull * 1024)

/* EAL keeps pointers into its arguments, so they live as long as EAL does. It also permutes the
 * array that it is given and writes into it: that is a copy of the one that owns them. */
static char *args[MAX_ARGS + 1], *eal_argv[MAX_ARGS + 1];
static int n_args;
static bool no_huge;

static void arg(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void arg(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    if (n_args < MAX_ARGS && vasprintf(&args[n_args], fmt, ap) >= 0)
        n_args++;
    va_end(ap);
}

/* Bytes of free huge pages of all sizes. */
static uint64_t free_hugepage_bytes(void)
{
    static const char root[] = "/sys/kernel/mm/hugepages";
    DIR *dir = opendir(root);
    struct dirent *entry;
    uint64_t bytes = 0;

    if (dir == NULL)
        return 0;
    while ((entry = readdir(dir)) != NULL) {
        unsigned long long kib, pages;
        char path[512];
        FILE *f;

        if (sscanf(entry->d_name, "hugepages-%llukB", &kib) != 1)
            continue;
        snprintf(path, sizeof(path), "%s/%s/free_hugepages", root, entry->d_name);
        f = fopen(path, "r");
        if (f == NULL)
            continue;
        if (fscanf(f, "%llu", &pages) == 1)
            bytes += pages * kib * 1024;
        fclose(f);
    }
    closedir(dir);
    return bytes;
}

static int memory_args(const struct plan *p)
{
    const char *mode = p->cfg->memory;
    uint64_t need = plan_dpdk_memory(p), have = free_hugepage_bytes();

    no_huge = strcmp(mode, "no-huge") == 0 || (strcmp(mode, "auto") == 0 && have < need);
    if (no_huge) {
        arg("--no-huge");
        arg("-m");
        arg("%llu", (unsigned long long)((need + MIB - 1) / MIB));
        return 0;
    }
    if (have < need) {
        log_error(
            "%s: memory = \"hugepages\" needs %llu MiB of free huge pages and there are %llu MiB; "
            "reserve them (echo %llu > /proc/sys/vm/nr_hugepages) or say memory = \"auto\"",
            p->cfg->path, (unsigned long long)(need / MIB), (unsigned long long)(have / MIB),
            (unsigned long long)(need / MIB / 2 + 1));
        return -ENOMEM;
    }
    /* vhost and virtio-user pass the memory to their peer as few file descriptors as possible */
    arg("--in-memory");
    arg("--single-file-segments");
    return 0;
}

/* "0@(0,1),1@5,2@7": housekeeping floats, each core of the plan is pinned. */
static void lcore_args(const struct plan *p)
{
    char list[8192];
    size_t len = 0;
    cpu_set_t set;
    const char *sep = "";

    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    len += (size_t)snprintf(list, sizeof(list), "0@(");
    for (unsigned cpu = 0; cpu < CPU_SETSIZE && len < sizeof(list) / 2; cpu++) {
        if (CPU_ISSET(cpu, &set)) {
            len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%u", sep, cpu);
            sep = ",";
        }
    }
    len += (size_t)snprintf(list + len, sizeof(list) - len, ")");
    for (unsigned i = 0; i < p->n_cores; i++)
        len +=
            (size_t)snprintf(list + len, sizeof(list) - len, ",%u@%u", i + 1, p->cores[i].run_on);
    arg("--lcores=%s", list);
    arg("--main-lcore=0");
}

static void device_args(const struct cfg_model *m)
{
    bool pci = false;

    for (unsigned i = 0; i < m->n_ports; i++) {
        if (plan_port_is_pci(&m->ports[i])) {
            arg("-a");
            arg("%s", m->ports[i].device);
            pci = true;
        }
    }
    if (!pci)
        arg("--no-pci");
}

/* Without huge pages the kernel would give memory page by page at its first touch: the packets of
 * the first second would wait for that, and be lost. Kernels before 5.14 refuse, and it stays so.
 */
static int populate(const struct rte_memseg_list *list, const struct rte_memseg *first, size_t len,
                    void *arg)
{
    madvise(first->addr, len, MADV_POPULATE_WRITE);
    return 0;
}

int eal_start(const struct plan *p, bool verbose)
{
    char *copy, *word, *save;
    int rc;

    arg("vbng");
    lcore_args(p);
    device_args(p->cfg);
    arg("--file-prefix=" RUNTIME_PREFIX "%d", getpid());
    if (!verbose) {
        /* of what is registered already the last word counts, of what comes later the first */
        arg("--log-level=lib.telemetry:error");
        arg("--log-level=pmd.net.virtio.driver:critical"); /* away.c says when a peer has gone */
        arg("--log-level=*:warning");
        arg("--log-level=lib.eal:error");
    }
    rc = memory_args(p);
    if (rc != 0)
        return rc;
    copy = strdup(p->cfg->eal);
    for (word = strtok_r(copy, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save))
        arg("%s", word);
    free(copy);
    memcpy(eal_argv, args, sizeof(args));
    if (rte_eal_init(n_args, eal_argv) < 0) {
        rc = -rte_errno;
        runtime_remove();
        log_error("DPDK's environment did not start: %s; start with --verbose to see why",
                  rte_strerror(rte_errno));
        return rc != 0 ? rc : -EINVAL;
    }
    runtime_sweep();
    if (no_huge)
        rte_memseg_contig_walk(populate, NULL);
    return 0;
}

void eal_stop(void)
{
    rte_eal_cleanup();
    runtime_remove();
    while (n_args > 0)
        free(args[--n_args]);
}

const char *eal_memory_name(void)
{
    return no_huge ? "no-huge" : "hugepages";
}
