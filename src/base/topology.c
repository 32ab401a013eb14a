/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/topology.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Take an unsigned number off the front of *s. Returns false where there is none, or one larger
 * than any machine has. */
static bool take_number(const char **s, unsigned *out)
{
    char *end;
    unsigned long v;

    if (**s < '0' || **s > '9')
        return false;
    v = strtoul(*s, &end, 10);
    *s = end;
    *out = (unsigned)v;
    return v <= UINT16_MAX;
}

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

        if (!take_number(&s, &first))
            return -EINVAL;
        last = first;
        if (*s == '-') {
            s++;
            if (!take_number(&s, &last))
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
    return 0;
}

/* --- a described machine --- */

int topo_parse(struct topology *t, const char *s)
{
    unsigned sockets, cores, threads;

    if (!take_number(&s, &sockets) || *s++ != 'x' || !take_number(&s, &cores) || *s++ != 'x' ||
        !take_number(&s, &threads) || *s != '\0')
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
    return 0;
}

/* --- CPU lists --- */

const struct topo_cpu *topo_cpu(const struct topology *t, unsigned id)
{
    for (unsigned i = 0; i < t->n_cpus; i++)
        if (t->cpu[i].id == id)
            return &t->cpu[i];
    return NULL;
}

/* One end of an item: a logical CPU, or a hardware thread of a physical core. */
struct cpu_name {
    bool by_core;
    unsigned number; /* logical CPU, or core */
    unsigned socket, thread;
};

/* A list that is being resolved. */
struct resolver {
    const struct topology *t;
    const char *item; /* as written */
    int item_len;
    uint16_t *cpus;
    size_t n, max;
    char *err;
    size_t err_len;
};

/* Write "ITEM: text" into err. Returns -EINVAL. */
static int __attribute__((format(printf, 2, 3))) wrong(struct resolver *r, const char *fmt, ...)
{
    char text[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    snprintf(r->err, r->err_len, "%.*s: %s", r->item_len, r->item, text);
    return -EINVAL;
}

/* Write the numbers of a set as "0-3,5", ending in "..." where they do not fit. Returns buf. */
static const char *list_set(const uint8_t set[TOPO_MAX_CPUS], char *buf, size_t len)
{
    size_t at = 0;

    buf[0] = '\0';
    for (unsigned i = 0; i < TOPO_MAX_CPUS; i++) {
        unsigned last = i;

        if (!set[i])
            continue;
        while (last + 1 < TOPO_MAX_CPUS && set[last + 1])
            last++;
        if (at + 16 > len) {
            snprintf(buf + at, len - at, ",...");
            break;
        }
        at += (size_t)snprintf(buf + at, len - at, at == 0 ? "%u" : ",%u", i);
        if (last > i)
            at += (size_t)snprintf(buf + at, len - at, "-%u", last);
        i = last;
    }
    return buf;
}

/* Report a logical CPU that is missing, and which there are instead. Returns -EINVAL. */
static int no_cpu(struct resolver *r, unsigned id)
{
    uint8_t set[TOPO_MAX_CPUS] = {0};
    char have[128];

    for (unsigned i = 0; i < r->t->n_cpus; i++)
        set[r->t->cpu[i].id] = 1;
    return wrong(r, "there is no CPU %u; this machine has CPU%s %s", id,
                 r->t->n_cpus == 1 ? "" : "s", list_set(set, have, sizeof(have)));
}

/* Report a socket, core or SMT sibling that is missing, and which there are instead. Returns
 * -EINVAL. */
static int no_core(struct resolver *r, const struct cpu_name *c)
{
    uint8_t sockets[TOPO_MAX_CPUS] = {0}, cores[TOPO_MAX_CPUS] = {0};
    char have[128];
    unsigned n_cores = 0;

    for (unsigned i = 0; i < r->t->n_cpus; i++) {
        const struct topo_cpu *cpu = &r->t->cpu[i];

        if (cpu->socket < TOPO_MAX_CPUS)
            sockets[cpu->socket] = 1;
        if (cpu->socket == c->socket && !cores[cpu->core]) {
            cores[cpu->core] = 1;
            n_cores++;
        }
    }
    if (n_cores == 0)
        return wrong(r, "there is no socket %u; this machine has socket%s %s", c->socket,
                     r->t->n_sockets == 1 ? "" : "s", list_set(sockets, have, sizeof(have)));
    if (c->number < TOPO_MAX_CPUS && cores[c->number])
        return wrong(r, "core %u of socket %u has no SMT sibling", c->number, c->socket);
    return wrong(r, "socket %u has core%s %s", c->socket, n_cores == 1 ? "" : "s",
                 list_set(cores, have, sizeof(have)));
}

/* Append a CPU to the result. Returns 0 or -EINVAL. */
static int add_cpu(struct resolver *r, const struct cpu_name *c)
{
    const struct topo_cpu *cpu = NULL;

    if (c->by_core) {
        for (unsigned i = 0; i < r->t->n_cpus && cpu == NULL; i++)
            if (r->t->cpu[i].socket == c->socket && r->t->cpu[i].core == c->number &&
                r->t->cpu[i].thread == c->thread)
                cpu = &r->t->cpu[i];
        if (cpu == NULL)
            return no_core(r, c);
    } else {
        cpu = topo_cpu(r->t, c->number);
        if (cpu == NULL)
            return no_cpu(r, c->number);
    }
    for (size_t i = 0; i < r->n; i++)
        if (r->cpus[i] == cpu->id)
            return wrong(r, "CPU %u is in this list twice", cpu->id);
    if (r->n == r->max)
        return wrong(r, "more than %zu CPUs", r->max);
    r->cpus[r->n++] = cpu->id;
    return 0;
}

/* Take one end of an item off the front of *s. */
static bool take_cpu_name(const char **s, struct cpu_name *c)
{
    *c = (struct cpu_name){0};
    if (!take_number(s, &c->number))
        return false;
    if (**s != 's')
        return true;
    (*s)++;
    c->by_core = true;
    if (!take_number(s, &c->socket))
        return false;
    if (**s == 'h') {
        (*s)++;
        c->thread = 1;
    }
    return true;
}

/* Append the CPUs of one item. Returns 0 or -EINVAL. */
static int resolve_item(struct resolver *r)
{
    const char *s = r->item, *end = r->item + r->item_len;
    struct cpu_name first, last;
    bool ok = take_cpu_name(&s, &first);

    last = first;
    if (ok && *s == '-' && s < end) {
        s++;
        ok = take_cpu_name(&s, &last);
    }
    if (!ok || s != end)
        return wrong(r, "expected a logical CPU (5), a core (3s0), its SMT sibling (3s0h), or a "
                        "range of one form (3s0-5s0)");
    if (first.by_core != last.by_core || first.thread != last.thread)
        return wrong(r, "both ends of a range must have the same form");
    if (first.socket != last.socket)
        return wrong(r, "both ends of a range must be on the same socket");
    if (first.number > last.number)
        return wrong(r, "the range runs backwards");
    for (; first.number <= last.number; first.number++) {
        int err = add_cpu(r, &first);

        if (err != 0)
            return err;
    }
    return 0;
}

int topo_resolve(const struct topology *t, const char *list, uint16_t *cpus, size_t max, char *err,
                 size_t err_len)
{
    struct resolver r = {.t = t, .cpus = cpus, .max = max, .err = err, .err_len = err_len};

    if (list[strspn(list, " ")] == '\0') {
        snprintf(err, err_len, "the list of CPUs is empty");
        return -EINVAL;
    }
    for (const char *s = list;; s++) {
        const char *end = strchrnul(s, ',');
        int bad;

        s += strspn(s, " ");
        r.item = s;
        r.item_len = (int)(end - s);
        while (r.item_len > 0 && s[r.item_len - 1] == ' ')
            r.item_len--;
        if (r.item_len <= 0) {
            snprintf(err, err_len, "%s: nothing before or after a comma", list);
            return -EINVAL;
        }
        bad = resolve_item(&r);
        if (bad != 0)
            return bad;
        s = end;
        if (*s == '\0')
            return (int)r.n;
    }
}
