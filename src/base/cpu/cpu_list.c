/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/cpu/cpu_list.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

/* One end of an item: a logical CPU, a hardware thread of a physical core, or of one of those that
 * this process was given. */
struct cpu_name {
    enum { BY_NUMBER, BY_CORE, BY_GIVEN_CORE } form;
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

/* Report a core or thread that this process was not given, and which CPUs it was. Returns -EINVAL.
 */
static int not_given(struct resolver *r, const struct cpu_name *c)
{
    uint8_t set[TOPO_MAX_CPUS] = {0};
    char have[128];
    unsigned n_cpus = 0, n_cores = 0;

    for (unsigned i = 0; i < r->t->n_cpus; i++) {
        const struct topo_cpu *cpu = &r->t->cpu[i];

        set[cpu->id] = cpu->given_core != TOPO_NOT_GIVEN;
        n_cpus += set[cpu->id];
        n_cores += cpu->given_thread == 0;
    }
    list_set(set, have, sizeof(have));
    if (c->number < n_cores)
        return wrong(r, "core c%u has no second thread here; this process was given CPU%s %s",
                     c->number, n_cpus == 1 ? "" : "s", have);
    return wrong(r, "this process was given %u physical core%s, CPU%s %s", n_cores,
                 n_cores == 1 ? "" : "s", n_cpus == 1 ? "" : "s", have);
}

/* Is a CPU the one of a name? */
static bool is_named(const struct topo_cpu *cpu, const struct cpu_name *c)
{
    switch (c->form) {
    case BY_CORE:
        return cpu->socket == c->socket && cpu->core == c->number && cpu->thread == c->thread;
    case BY_GIVEN_CORE:
        return cpu->given_core == c->number && cpu->given_thread == c->thread;
    default:
        return cpu->id == c->number;
    }
}

/* Append a CPU to the result. Returns 0 or -EINVAL. */
static int add_cpu(struct resolver *r, const struct cpu_name *c)
{
    const struct topo_cpu *cpu = NULL;

    for (unsigned i = 0; i < r->t->n_cpus && cpu == NULL; i++)
        if (is_named(&r->t->cpu[i], c))
            cpu = &r->t->cpu[i];
    if (cpu == NULL)
        return c->form == BY_CORE         ? no_core(r, c)
               : c->form == BY_GIVEN_CORE ? not_given(r, c)
                                          : no_cpu(r, c->number);
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
    *c = (struct cpu_name){.form = **s == 'c' ? BY_GIVEN_CORE : BY_NUMBER};
    if (c->form == BY_GIVEN_CORE)
        (*s)++;
    if (!take_uint16(s, &c->number))
        return false;
    if (c->form == BY_NUMBER) {
        if (**s != 's')
            return true;
        (*s)++;
        c->form = BY_CORE;
        if (!take_uint16(s, &c->socket))
            return false;
    }
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
        return wrong(r,
                     "expected a logical CPU (5), a core (3s0), its SMT sibling (3s0h), one of the "
                     "cores that this process was given (c3, c3h), or a range of one form "
                     "(3s0-5s0)");
    if (first.form != last.form || first.thread != last.thread)
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

int cpu_list_resolve(const struct topology *t, const char *list, uint16_t *cpus, size_t max,
                     char *err, size_t err_len)
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
