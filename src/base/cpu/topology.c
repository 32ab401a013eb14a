/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/cpu/topology.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

/* --- this machine --- */

/* Read the first line of ROOT/NAME, without its newline. Returns 0 or -errno. */
static int read_line(const char *root, const char *name, char *buf, size_t len)
{
    char path[PATH_MAX];
    FILE *f;
    int err = 0;

    if ((size_t)snprintf(path, sizeof(path), "%s/%s", root, name) >= sizeof(path))
        return -ENAMETOOLONG;
    f = fopen(path, "re");
    if (f == NULL)
        return -errno;
    if (fgets(buf, (int)len, f) == NULL)
        err = -EIO;
    else
        buf[strcspn(buf, "\n")] = '\0';
    fclose(f);
    return err;
}

/* Set a byte for each CPU of a kernel's list such as "0-3,5". Returns 0 or -errno. */
static int read_cpu_set(const char *root, const char *name, uint8_t set[TOPO_MAX_CPUS])
{
    char buf[4096];
    const char *s = buf;
    int err = read_line(root, name, buf, sizeof(buf));

    if (err != 0)
        return err;
    memset(set, 0, TOPO_MAX_CPUS);
    for (;; s++) {
        unsigned first, last;

        if (!take_uint16(&s, &first))
            return -EINVAL;
        last = first;
        if (*s == '-') {
            s++;
            if (!take_uint16(&s, &last))
                return -EINVAL;
        }
        if (first > last)
            return -EINVAL;
        if (last >= TOPO_MAX_CPUS)
            return -E2BIG;
        memset(set + first, 1, last - first + 1);
        if (*s == '\0')
            return 0;
        if (*s != ',')
            return -EINVAL;
    }
}

/* What sysfs says of a CPU beside struct topo_cpu, until its core has a dense number. */
struct raw_cpu {
    int core_id;
    unsigned first_sibling; /* tells cores apart whose core_id is the same, in different dies */
};

static int read_int(const char *root, const char *name, int *out)
{
    char buf[32], *end;
    int err = read_line(root, name, buf, sizeof(buf));
    long v;

    if (err != 0)
        return err;
    v = strtol(buf, &end, 10);
    if (end == buf || *end != '\0' || v > UINT16_MAX)
        return -EINVAL;
    *out = v < 0 ? 0 : (int)v; /* -1 stands for unknown in some virtual machines */
    return 0;
}

static int read_cpu(const char *root, unsigned id, const uint8_t online[TOPO_MAX_CPUS],
                    struct topo_cpu *cpu, struct raw_cpu *raw)
{
    uint8_t siblings[TOPO_MAX_CPUS];
    char name[64];
    int socket, err;

    snprintf(name, sizeof(name), "cpu%u/topology/physical_package_id", id);
    err = read_int(root, name, &socket);
    if (err != 0)
        return err;
    snprintf(name, sizeof(name), "cpu%u/topology/core_id", id);
    err = read_int(root, name, &raw->core_id);
    if (err != 0)
        return err;
    snprintf(name, sizeof(name), "cpu%u/topology/thread_siblings_list", id);
    err = read_cpu_set(root, name, siblings);
    if (err != 0)
        return err;
    siblings[id] = 1;
    *cpu = (struct topo_cpu){.id = (uint16_t)id, .socket = (uint16_t)socket};
    raw->first_sibling = id;
    for (unsigned i = 0; i < id; i++) {
        if (!siblings[i] || !online[i])
            continue;
        if (cpu->thread++ == 0)
            raw->first_sibling = i;
    }
    return 0;
}

/* Give each physical core its index within its socket: by core_id, then by its first CPU. */
static void number_cores(struct topology *t, const struct raw_cpu *raw)
{
    for (unsigned i = 0; i < t->n_cpus; i++) {
        uint16_t before = 0;

        for (unsigned j = 0; j < t->n_cpus; j++) {
            if (t->cpu[j].thread != 0 || t->cpu[j].socket != t->cpu[i].socket)
                continue;
            before +=
                raw[j].core_id < raw[i].core_id ||
                (raw[j].core_id == raw[i].core_id && raw[j].first_sibling < raw[i].first_sibling);
        }
        t->cpu[i].core = before;
    }
}

/* Is a CPU before another by socket, core and thread? */
static bool is_before(const struct topo_cpu *a, const struct topo_cpu *b)
{
    if (a->socket != b->socket)
        return a->socket < b->socket;
    return a->core != b->core ? a->core < b->core : a->thread < b->thread;
}

void topo_give(struct topology *t, const uint8_t set[TOPO_MAX_CPUS])
{
    uint16_t order[TOPO_MAX_CPUS], n = 0, core = 0, thread = 0;

    for (unsigned i = 0; i < t->n_cpus; i++) {
        uint16_t at = n;

        t->cpu[i].given_core = t->cpu[i].given_thread = TOPO_NOT_GIVEN;
        if (!set[t->cpu[i].id])
            continue;
        for (; at > 0 && is_before(&t->cpu[i], &t->cpu[order[at - 1]]); at--)
            order[at] = order[at - 1];
        order[at] = (uint16_t)i;
        n++;
    }
    for (unsigned i = 0; i < n; i++) {
        struct topo_cpu *cpu = &t->cpu[order[i]], *last = i > 0 ? &t->cpu[order[i - 1]] : cpu;
        bool same = last->socket == cpu->socket && last->core == cpu->core;

        core = (uint16_t)(core + !same);
        thread = same && i > 0 ? (uint16_t)(thread + 1) : 0;
        cpu->given_core = core;
        cpu->given_thread = thread;
    }
}

static void give_all(struct topology *t)
{
    uint8_t set[TOPO_MAX_CPUS];

    memset(set, 1, sizeof(set));
    topo_give(t, set);
}

static void count_sockets(struct topology *t)
{
    t->n_sockets = 0;
    for (unsigned i = 0; i < t->n_cpus; i++) {
        unsigned j = 0;

        while (t->cpu[j].socket != t->cpu[i].socket)
            j++;
        t->n_sockets += j == i;
    }
}

int topo_read(struct topology *t, const char *root)
{
    uint8_t online[TOPO_MAX_CPUS];
    struct raw_cpu raw[TOPO_MAX_CPUS];
    int err = read_cpu_set(root, "online", online);

    t->n_cpus = 0;
    t->n_sockets = 0;
    for (unsigned id = 0; err == 0 && id < TOPO_MAX_CPUS; id++) {
        if (!online[id])
            continue;
        err = read_cpu(root, id, online, &t->cpu[t->n_cpus], &raw[t->n_cpus]);
        t->n_cpus++;
    }
    if (err != 0) {
        t->n_cpus = 0;
        return err;
    }
    number_cores(t, raw);
    count_sockets(t);
    give_all(t);
    return 0;
}

int topo_affinity(uint8_t set[TOPO_MAX_CPUS])
{
    cpu_set_t cpus;

    static_assert(TOPO_MAX_CPUS <= CPU_SETSIZE, "a cpu_set_t has all CPUs");
    if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
        return -errno;
    for (unsigned i = 0; i < TOPO_MAX_CPUS; i++)
        set[i] = CPU_ISSET(i, &cpus) != 0;
    return 0;
}

/* --- a described machine --- */

int topo_parse(struct topology *t, const char *s)
{
    unsigned sockets, cores, threads;

    if (!take_uint16(&s, &sockets) || *s++ != 'x' || !take_uint16(&s, &cores) || *s++ != 'x' ||
        !take_uint16(&s, &threads) || *s != '\0')
        return -EINVAL;
    if (sockets == 0 || cores == 0 || threads == 0 || sockets > TOPO_MAX_CPUS ||
        cores > TOPO_MAX_CPUS || threads > TOPO_MAX_CPUS ||
        (uint64_t)sockets * cores * threads > TOPO_MAX_CPUS)
        return -EINVAL;
    t->n_sockets = sockets;
    t->n_cpus = 0;
    for (unsigned thread = 0; thread < threads; thread++)
        for (unsigned socket = 0; socket < sockets; socket++)
            for (unsigned core = 0; core < cores; core++, t->n_cpus++)
                t->cpu[t->n_cpus] = (struct topo_cpu){.id = (uint16_t)t->n_cpus,
                                                      .socket = (uint16_t)socket,
                                                      .core = (uint16_t)core,
                                                      .thread = (uint16_t)thread};
    give_all(t);
    return 0;
}

const struct topo_cpu *topo_cpu(const struct topology *t, unsigned id)
{
    for (unsigned i = 0; i < t->n_cpus; i++)
        if (t->cpu[i].id == id)
            return &t->cpu[i];
    return NULL;
}
