/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/ring/slots.h"

#include <stdlib.h>
#include <sys/mman.h>

#define LINE 64

/* Numbers of slots that were put and taken since the start; they wrap. Each has one writer. */
struct slots {
    uint32_t n, bytes;
    uint8_t *memory;
    uint32_t put __attribute__((aligned(LINE)));
    uint32_t taken __attribute__((aligned(LINE)));
};

struct slots *slots_create(uint32_t n, uint32_t bytes)
{
    struct slots *s = aligned_alloc(LINE, sizeof(*s));

    if (s == NULL)
        return NULL;
    bytes = (bytes + LINE - 1) / LINE * LINE;
    *s = (struct slots){.n = n, .bytes = bytes};
    /* present now: no page fault later, in the thread that must not wait */
    s->memory = mmap(NULL, (size_t)n * bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (s->memory != MAP_FAILED)
        return s;
    free(s);
    return NULL;
}

void slots_free(struct slots *s)
{
    if (s == NULL)
        return;
    munmap(s->memory, (size_t)s->n * s->bytes);
    free(s);
}

static void *slot(const struct slots *s, uint32_t number)
{
    return s->memory + (size_t)(number & (s->n - 1)) * s->bytes;
}

void *slots_room(struct slots *s, uint32_t i)
{
    uint32_t used = s->put - __atomic_load_n(&s->taken, __ATOMIC_ACQUIRE);

    return i < s->n - used ? slot(s, s->put + i) : NULL;
}

void slots_put(struct slots *s, uint32_t n)
{
    __atomic_store_n(&s->put, s->put + n, __ATOMIC_RELEASE);
}

void *slots_full(struct slots *s, uint32_t i)
{
    uint32_t there = __atomic_load_n(&s->put, __ATOMIC_ACQUIRE) - s->taken;

    return i < there ? slot(s, s->taken + i) : NULL;
}

void slots_take(struct slots *s, uint32_t n)
{
    __atomic_store_n(&s->taken, s->taken + n, __ATOMIC_RELEASE);
}
