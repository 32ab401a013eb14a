/* SPDX-License-Identifier: BSD-3-Clause */
/* EAL's options from the plan and the machine, and the run-time folder that EAL leaves behind. */
#include "engine/eal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_memory.h>
#include <rte_pdump.h>

#include "base/hugepages.h"
#include "base/log.h"
#include "base/owned.h"

#define MAX_ARGS         128
#define MIB              (1024ull * 1024)
#define EAL_OWN          (16 * MIB) /* more than EAL takes of the heap for itself: 13 MiB with 8 ports */
#define RUNTIME_PREFIX   "vbng-" /* of EAL's --file-prefix */
#define TELEMETRY_SOCKET "dpdk_telemetry.v2"

/* EAL keeps pointers into its arguments, which therefore live until eal_stop(). EAL also permutes
 * its array of arguments and writes to it: eal_argv is a copy, and args owns them. */
static char *args[MAX_ARGS + 1], *eal_argv[MAX_ARGS + 1];
static int n_args;
static unsigned first_lcore = 1;
static bool no_huge, shared;
static struct hugepages_folders folders; /* of the files of huge pages, if shared */

/* Add an argument. */
static void arg(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void arg(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    if (n_args < MAX_ARGS && vasprintf(&args[n_args], fmt, ap) >= 0)
        n_args++;
    va_end(ap);
}

/* EAL's --huge-dir in the configuration's own options, or NULL; the text is in buf. */
static const char *huge_dir(const char *options, char *buf, size_t size)
{
    static const char name[] = "--huge-dir";
    const char *found = strstr(options, name);

    if (found == NULL)
        return NULL;
    found += strlen(name);
    found += strspn(found, "= ");
    snprintf(buf, size, "%.*s", (int)strcspn(found, " "), found);
    return buf;
}

static const char *file_prefix(void)
{
    const char *slash = strrchr(rte_eal_get_runtime_dir(), '/');

    return slash != NULL ? slash + 1 : "";
}

/* Check the huge pages that a second process can map, those of the mounted sizes. Returns 0, or
 * -errno with the remedy on stderr. */
static int check_shared(const struct plan *p, uint64_t need)
{
    uint64_t have = 0, page = 0, reserve;
    struct hugepages_count count;

    for (unsigned i = 0; i < folders.n; i++) {
        const struct hugepages_folder *f = &folders.folder[i];

        have += hugepages_count(f->page).free * f->page;
        page = page == 0 || f->page < page ? f->page : page;
        if (access(f->path, W_OK | X_OK) == 0)
            continue;
        log_error(
            "%s: memory = \"shared\" puts its huge pages into files in %s, and vbng may not write "
            "there: mount one for this user (mount -t hugetlbfs -o uid=%u,mode=0700 hugetlbfs "
            "FOLDER) and say eal = \"--huge-dir FOLDER\"",
            p->cfg->path, f->path, (unsigned)geteuid());
        return -EACCES;
    }
    if (folders.n == 0) {
        log_error(
            "%s: memory = \"shared\" puts its huge pages into files of a hugetlbfs, and none is "
            "mounted%s: mkdir -p /dev/hugepages && mount -t hugetlbfs hugetlbfs "
            "/dev/hugepages",
            p->cfg->path, strstr(p->cfg->eal, "--huge-dir") ? " on what --huge-dir says" : "");
        return -ENOENT;
    }
    if (have >= need)
        return 0;
    count = hugepages_count(page);
    reserve = count.reserved + (need - have + page - 1) / page;
    log_error(
        "%s: memory = \"shared\" needs %llu MiB of free huge pages of the size of %s, %llu MiB, "
        "and there are %llu MiB; reserve them (echo %llu > "
        "/sys/kernel/mm/hugepages/hugepages-%llukB/nr_hugepages) or say memory = \"auto\"",
        p->cfg->path, (unsigned long long)(need / MIB), folders.folder[0].path,
        (unsigned long long)(page / MIB), (unsigned long long)(have / MIB),
        (unsigned long long)reserve, (unsigned long long)(page / 1024));
    return -ENOMEM;
}

static int check_hugepages(const struct plan *p, uint64_t need, uint64_t have)
{
    if (have >= need)
        return 0;
    log_error(
        "%s: memory = \"hugepages\" needs %llu MiB of free huge pages and there are %llu MiB; "
        "reserve them (echo %llu > /proc/sys/vm/nr_hugepages) or say memory = \"auto\"",
        p->cfg->path, (unsigned long long)(need / MIB), (unsigned long long)(have / MIB),
        (unsigned long long)(need / MIB / 2 + 1));
    return -ENOMEM;
}

static int memory_args(const struct plan *p)
{
    const char *mode = p->cfg->memory;
    uint64_t need = plan_dpdk_memory(p), have;
    char buf[512];
    int rc;

    hugepages_find(&folders, huge_dir(p->cfg->eal, buf, sizeof(buf)));
    hugepages_sweep(&folders, RUNTIME_PREFIX);
    have = hugepages_free_bytes();
    no_huge = strcmp(mode, "no-huge") == 0 || (strcmp(mode, "auto") == 0 && have < need);
    if (no_huge) {
        if (strcmp(mode, "auto") == 0)
            log_info("memory = \"auto\": ordinary pages, for %llu MiB of huge pages are free and "
                     "%llu MiB are needed",
                     (unsigned long long)(have / MIB), (unsigned long long)(need / MIB));
        arg("--no-huge");
        arg("-m");
        arg("%llu", (unsigned long long)((need + MIB - 1) / MIB));
        return 0;
    }
    rc = shared ? check_shared(p, need) : check_hugepages(p, need, have);
    if (rc != 0)
        return rc;
    if (!shared)
        arg("--in-memory");
    /* vhost and virtio-user pass the memory to their peer as few file descriptors as possible */
    arg("--single-file-segments");
    return 0;
}

unsigned eal_lcore(unsigned core)
{
    return first_lcore + core;
}

/* Map lcores to CPUs, "0@(0,1),1@5,2@7": housekeeping floats, each core of the plan is pinned. A
 * second process (dpdk-dumpcap) numbers its lcores as the CPUs, and the caches of a pool go by
 * lcore: two processes with the same lcore would write to the same cache. So with shared memory the
 * lcores of this process are the last ones. */
static void lcore_args(const struct plan *p)
{
    char list[8192];
    unsigned main = shared ? RTE_MAX_LCORE - 1 - p->n_cores : 0;
    size_t len = 0;
    cpu_set_t set;
    const char *sep = "";

    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    len += (size_t)snprintf(list, sizeof(list), "%u@(", main);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE && len < sizeof(list) / 2; cpu++) {
        if (CPU_ISSET(cpu, &set)) {
            len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%u", sep, cpu);
            sep = ",";
        }
    }
    len += (size_t)snprintf(list + len, sizeof(list) - len, ")");
    first_lcore = main + 1;
    for (unsigned i = 0; i < p->n_cores; i++)
        len += (size_t)snprintf(list + len, sizeof(list) - len, ",%u@%u", eal_lcore(i),
                                p->cores[i].run_on);
    arg("--lcores=%s", list);
    arg("--main-lcore=%u", main);
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

/* Populate memory of ordinary pages, which the kernel would otherwise provide at the first access:
 * packets of the first second would wait for that, and be lost. EAL's heap gives memory from its
 * end on, so the plan's bytes lie there (planned points to their number); the rest is a reserve
 * that no packet waits for, and a fifth of a start's time. Kernels before 5.14 refuse, and provide
 * at the first access. */
static int populate(const struct rte_memseg_list *list, const struct rte_memseg *first, size_t len,
                    void *planned)
{
    size_t used = RTE_MIN(len, *(const uint64_t *)planned);

    madvise((char *)first->addr + (len - used), used, MADV_POPULATE_WRITE);
    return 0;
}

/* Open the folder that holds EAL's run-time folder, if nobody but this user may write to it. name:
 * that of the run-time folder. Returns a descriptor or -errno. */
static int open_parent(char *name, size_t size)
{
    char path[PATH_MAX], *slash;

    snprintf(path, sizeof(path), "%s", rte_eal_get_runtime_dir());
    slash = strrchr(path, '/');
    if (slash == NULL)
        return -ENOENT;
    *slash = '\0';
    snprintf(name, size, "%s", slash + 1);
    return owned_open(AT_FDCWD, path);
}

/* Make the folder in which EAL will make its run-time folder, and refuse one in which another user
 * may put links, files or sockets: anybody may have made /tmp/dpdk. Returns 0, or -EPERM with the
 * reason on stderr. EAL reports any other fault of the folder. */
static int prepare_runtime(void)
{
    const char *base = getenv("RUNTIME_DIRECTORY"); /* EAL chooses in this order */
    char path[PATH_MAX];
    int fd;

    if (base == NULL)
        base = getuid() == 0 ? "/var/run" : getenv("XDG_RUNTIME_DIR");
    snprintf(path, sizeof(path), "%s/dpdk", base != NULL ? base : "/tmp");
    mkdir(path, 0700);
    fd = owned_open(AT_FDCWD, path);
    if (fd >= 0)
        close(fd);
    if (fd != -EPERM && fd != -ENOTDIR)
        return 0;
    log_error("%s, where DPDK keeps its sockets and locks, must be a folder of this user's (%u) "
              "that nobody else may write to: mend that, or set RUNTIME_DIRECTORY or, not as root, "
              "XDG_RUNTIME_DIR to a folder of your own",
              path, (unsigned)geteuid());
    return -EPERM;
}

/* Remove the run-time folder of this process, which EAL leaves behind. */
static void remove_runtime(void)
{
    char name[NAME_MAX + 1];
    int parent = open_parent(name, sizeof(name));

    if (parent < 0)
        return;
    if (strncmp(name, RUNTIME_PREFIX, strlen(RUNTIME_PREFIX)) == 0)
        owned_remove(parent, name);
    close(parent);
}

/* Does no process listen on the telemetry socket of a run-time folder? */
static bool nobody_listens(int folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    bool refused;
    int fd;

    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" TELEMETRY_SOCKET,
             folder);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    refused =
        connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 && errno == ECONNREFUSED;
    close(fd);
    return refused;
}

/* Does no process use a run-time folder? EAL locks the file config from its start to its end; with
 * --in-memory there is no such file, and the telemetry socket tells. */
static bool is_abandoned(int folder)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = openat(folder, "config", O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool free;

    if (fd < 0)
        return errno == ENOENT && nobody_listens(folder);
    free = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
    close(fd);
    return free;
}

/* Remove a run-time folder that no process uses. owned_open() refuses another user's folder, and a
 * symbolic link. */
static void sweep_runtime(int parent, const char *name)
{
    int folder = owned_open(parent, name);
    bool abandoned = folder >= 0 && is_abandoned(folder);

    if (folder >= 0)
        close(folder);
    if (abandoned)
        owned_remove(parent, name);
}

/* Remove the run-time folders of vbngs that were killed: their process does not exist, and no
 * process (of another container, where numbers mean nothing) uses the folder. */
static void sweep_runtimes(void)
{
    char own[NAME_MAX + 1];
    int parent = open_parent(own, sizeof(own));
    DIR *d = parent >= 0 ? fdopendir(parent) : NULL;
    struct dirent *entry;

    if (d == NULL) {
        if (parent >= 0)
            close(parent);
        return;
    }
    while ((entry = readdir(d)) != NULL) {
        const char *rest = owned_dead_suffix(entry->d_name, RUNTIME_PREFIX);

        if (rest != NULL && *rest == '\0')
            sweep_runtime(parent, entry->d_name);
    }
    closedir(d);
}

int eal_start(const struct plan *p, bool verbose)
{
    char *copy, *word, *save;
    int rc;

    shared = strcmp(p->cfg->memory, "shared") == 0;
    arg("vbng");
    lcore_args(p);
    device_args(p->cfg);
    arg("--file-prefix=" RUNTIME_PREFIX "%d", getpid());
    if (!verbose) {
        /* the last option counts for log types that are registered already, the first for later
         * ones */
        arg("--log-level=lib.telemetry:error");
        arg("--log-level=pmd.net.virtio.driver:critical"); /* link_state.c says when a peer has gone
                                                            */
        arg("--log-level=*:warning");
        arg("--log-level=lib.eal:error");
    }
    rc = prepare_runtime();
    if (rc == 0)
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
        if (shared)
            hugepages_remove(&folders, file_prefix());
        remove_runtime();
        log_error("DPDK's environment did not start: %s; start with --verbose to see why",
                  rte_strerror(rte_errno));
        return rc != 0 ? rc : -EINVAL;
    }
    sweep_runtimes();
    if (no_huge) {
        uint64_t planned = RTE_ALIGN_CEIL(p->memory.total - p->memory.sparse + EAL_OWN, 4096);

        rte_memseg_contig_walk(populate, &planned);
    }
    if (shared && rte_pdump_init() != 0)
        log_warning("dpdk-dumpcap cannot capture here: %s", rte_strerror(rte_errno));
    return 0;
}

int eal_socket(unsigned socket)
{
    for (unsigned i = 0; i < rte_socket_count(); i++)
        if (rte_socket_id_by_idx(i) == (int)socket)
            return (int)socket;
    return SOCKET_ID_ANY;
}

void eal_stop(void)
{
    if (shared)
        rte_pdump_uninit();
    rte_eal_cleanup();
    if (shared)
        hugepages_remove(&folders, file_prefix()); /* EAL leaves them, and what they hold */
    remove_runtime();
    while (n_args > 0)
        free(args[--n_args]);
}

const char *eal_memory_name(void)
{
    return no_huge ? "no-huge" : shared ? "shared" : "hugepages";
}
