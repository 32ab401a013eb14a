/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables/fib/fib.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <rte_malloc.h>

#include "tables/memory.h"

#define SECOND_LEN (FIB_FIRST_BITS + FIB_LINE_BITS) /* the longest prefix of the second level */
#define LEVELS     2u                               /* lines that a prefix may need */
#define LEN_AT     24

static uint32_t n_lines(uint32_t n)
{
    return LEVELS * n + FIB_SPARE;
}

uint64_t fib_copy_bytes(uint32_t n)
{
    return FIB_FIRST_BYTES + sizeof(struct fib_line) * (uint64_t)n_lines(n);
}

uint64_t fib_bytes(uint32_t n)
{
    return fib_copy_bytes(n) + sizeof(uint32_t) * (uint64_t)n_lines(n) +
           sizeof(uint64_t) * (uint64_t)prefixes_places(n);
}

/* Returns 0, or -ENOMEM. */
static int create_copy(struct fib_copy *c, uint32_t lines, int socket)
{
    c->first = table_zalloc_sparse(FIB_FIRST_BYTES, socket);
    c->line = table_zalloc(sizeof(*c->line) * (size_t)lines, socket);
    return c->first != NULL && c->line != NULL ? 0 : -ENOMEM;
}

int fib_create(struct fib *f, uint32_t n, int socket)
{
    int rc;

    memset(f, 0, sizeof(*f));
    f->lines.n = n_lines(n);
    f->routes.n_places = prefixes_places(n);
    rc = create_copy(&f->own, f->lines.n, socket);
    f->lines.next = table_zalloc(sizeof(*f->lines.next) * (size_t)f->lines.n, socket);
    f->routes.place = table_zalloc(sizeof(*f->routes.place) * (size_t)f->routes.n_places, socket);
    return rc == 0 && f->lines.next != NULL && f->routes.place != NULL ? 0 : -ENOMEM;
}

int fib_add_copy(struct fib *f, int socket)
{
    struct fib_copy *c = &f->more[f->n_more];

    if (f->n_more == RTE_DIM(f->more) || create_copy(c, f->lines.n, socket) != 0)
        return -ENOMEM;
    /* where nothing is written, the pages of memory wait for their use: table_zalloc_sparse() */
    for (uint32_t i = 0; i < 1u << FIB_FIRST_BITS; i++)
        if (f->own.first[i] != 0)
            c->first[i] = f->own.first[i];
    memcpy(c->line, f->own.line, sizeof(*c->line) * (size_t)f->lines.n_touched);
    f->n_more++;
    return 0;
}

static void free_copy(struct fib_copy *c)
{
    table_free_sparse(c->first, FIB_FIRST_BYTES);
    rte_free(c->line);
}

void fib_free(struct fib *f)
{
    free_copy(&f->own);
    for (unsigned i = 0; i < RTE_DIM(f->more); i++)
        free_copy(&f->more[i]);
    rte_free(f->lines.next);
    rte_free(f->routes.place);
}

/* --- entries --- */

/* The entry of another copy that is where an entry of the first one is. */
static uint32_t *same_entry(const struct fib *f, const struct fib_copy *c, const uint32_t *entry)
{
    uintptr_t at = (uintptr_t)entry - (uintptr_t)f->own.first;

    if (at < FIB_FIRST_BYTES)
        return c->first + at / sizeof(*entry);
    return (uint32_t *)c->line + ((uintptr_t)entry - (uintptr_t)f->own.line) / sizeof(*entry);
}

/* Store an entry of the first copy, and those of the others: nothing else writes entries. */
static void store(const struct fib *f, uint32_t *entry, uint32_t value)
{
    __atomic_store_n(entry, value, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < f->n_more; i++)
        __atomic_store_n(same_entry(f, &f->more[i], entry), value, __ATOMIC_RELEASE);
}

static uint32_t entry_of(uint8_t len, uint32_t number)
{
    return (uint32_t)len << LEN_AT | number;
}

static uint32_t len_in(uint32_t entry)
{
    return entry >> LEN_AT;
}

/* The line behind an entry; one that is new says what the entry has said. */
static struct fib_line *line_behind(struct fib *f, uint32_t *entry)
{
    uint32_t was = *entry, line;

    if ((was & FIB_MORE) != 0)
        return &f->own.line[was & ~FIB_MORE];
    line = lines_take(&f->lines);
    for (unsigned i = 0; i < FIB_LINE; i++)
        store(f, &f->own.line[line].entry[i], was);
    store(f, entry, FIB_MORE | line);
    return &f->own.line[line];
}

/* Store a value in n entries, and in the lines behind them, but not over prefixes longer than most
 * bits. */
static void paint(struct fib *f, uint32_t *entry, uint32_t n, uint32_t most, uint32_t value)
{
    for (uint32_t i = 0; i < n; i++)
        if ((entry[i] & FIB_MORE) != 0)
            paint(f, f->own.line[entry[i] & ~FIB_MORE].entry, FIB_LINE, most, value);
        else if (len_in(entry[i]) <= most)
            store(f, &entry[i], value);
}

/* The entries of a prefix, in the level where it ends, with lines that lead there. */
struct range {
    uint32_t *entry;
    uint32_t n;
    uint32_t *above[LEVELS]; /* the entries that lead to its line, the nearest one first */
    unsigned n_above;
};

static struct range range_of(struct fib *f, uint32_t prefix, uint8_t len)
{
    struct range r = {.entry = &f->own.first[prefix >> (32 - FIB_FIRST_BITS)]};
    uint32_t *second;

    if (len <= FIB_FIRST_BITS) {
        r.n = UINT32_C(1) << (FIB_FIRST_BITS - len);
        return r;
    }
    second = &line_behind(f, r.entry)->entry[prefix >> FIB_LINE_BITS & (FIB_LINE - 1)];
    if (len <= SECOND_LEN) {
        r.above[r.n_above++] = r.entry;
        r.entry = second;
        r.n = UINT32_C(1) << (SECOND_LEN - len);
        return r;
    }
    r.above[r.n_above++] = second;
    r.above[r.n_above++] = r.entry;
    r.entry = &line_behind(f, second)->entry[prefix & (FIB_LINE - 1)];
    r.n = UINT32_C(1) << (32 - len);
    return r;
}

/* Take a line away that says the same everywhere, which its own entry can say: a prefix of most
 * bits at the longest. Returns whether the line is gone. */
static bool fold(struct fib *f, uint32_t *above, uint32_t most)
{
    uint32_t line = *above & ~FIB_MORE, value = f->own.line[line].entry[0];

    if ((value & FIB_MORE) != 0 || len_in(value) > most)
        return false;
    for (unsigned i = 1; i < FIB_LINE; i++)
        if (f->own.line[line].entry[i] != value)
            return false;
    store(f, above, value);
    lines_give(&f->lines, line);
    return true;
}

int fib_add(struct fib *f, uint32_t prefix, uint8_t len, uint32_t number)
{
    struct range r;

    if (len > FIB_FIRST_BITS && prefixes_get(&f->routes, prefix, len) == PREFIXES_NONE &&
        lines_want(&f->lines, LEVELS) != 0)
        return -ENOSPC;
    prefixes_put(&f->routes, prefix, len, number);
    r = range_of(f, prefix, len);
    paint(f, r.entry, r.n, len, entry_of(len, number));
    return 0;
}

int fib_remove(struct fib *f, uint32_t prefix, uint8_t len)
{
    uint8_t shorter = 0;
    uint32_t number, most = len > SECOND_LEN ? SECOND_LEN : FIB_FIRST_BITS;
    struct range r;

    if (prefixes_remove(&f->routes, prefix, len) == PREFIXES_NONE)
        return -ENOENT;
    number =
        len > 0 ? prefixes_match(&f->routes, prefix, (uint8_t)(len - 1), &shorter) : PREFIXES_NONE;
    number = number != PREFIXES_NONE ? number : 0;
    r = range_of(f, prefix, len);
    paint(f, r.entry, r.n, len, entry_of(shorter, number));
    for (unsigned i = 0; i < r.n_above && fold(f, r.above[i], most); i++)
        most = FIB_FIRST_BITS;
    return 0;
}
