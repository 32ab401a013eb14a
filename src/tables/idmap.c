/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables/idmap.h"

#include <errno.h>
#include <stdbool.h>

#include <rte_malloc.h>

#include "tables/memory.h"

struct idmap *idmap_create(int socket)
{
    struct idmap *m = table_zalloc(sizeof(*m), socket);

    if (m == NULL)
        return NULL;
    m->socket = socket;
    m->zeros = table_zalloc(sizeof(struct idmap_page), socket);
    if (m->zeros == NULL) {
        rte_free(m);
        return NULL;
    }
    for (unsigned i = 0; i < IDMAP_SLOTS; i++)
        m->page[i] = m->zeros;
    return m;
}

void idmap_free(struct idmap *m)
{
    if (m == NULL)
        return;
    for (unsigned i = 0; i < IDMAP_SLOTS; i++)
        if (m->page[i] != m->zeros)
            rte_free(m->page[i]);
    rte_free(m->zeros);
    rte_free(m);
}

int idmap_reserve(struct idmap *m, uint32_t key)
{
    struct idmap_page *page;

    if (m->page[key >> 16] != m->zeros)
        return 0;
    page = table_zalloc(sizeof(struct idmap_page), m->socket);
    if (page == NULL)
        return -ENOMEM;
    m->n_pages++;
    /* release: a reader that sees the page sees its zeros */
    __atomic_store_n(&m->page[key >> 16], page, __ATOMIC_RELEASE);
    return 0;
}

static uint64_t *run_of(struct idmap_page *p, uint32_t key)
{
    return &p->run[key % IDMAP_SLOTS / IDMAP_BLOCK];
}

/* Set a block's run. Release: a reader that sees an id by its run sees its record. */
static void set_run(struct idmap *m, uint64_t *word, struct idmap_run r)
{
    const bool was_long = idmap_run_of(*word).n >= IDMAP_LONG, is_long = r.n >= IDMAP_LONG;

    if (is_long != was_long)
        __atomic_store_n(&m->n_long, m->n_long + is_long - was_long, __ATOMIC_RELAXED);
    __atomic_store_n(word, r.n == 0 ? 0 : idmap_run_word(r), __ATOMIC_RELEASE);
}

/* Have a run begin with a key that has got its id, where its block has none, or let the block's run
 * go on over the key and over those behind it. */
static void lengthen(struct idmap *m, struct idmap_page *p, uint32_t key)
{
    uint64_t *word = run_of(p, key);
    struct idmap_run r = idmap_run_of(*word);
    const uint32_t at = key % IDMAP_BLOCK, *id = &p->id[key % IDMAP_SLOTS - at];

    if (r.n == 0)
        r = (struct idmap_run){at, 1, id[at]};
    while (r.from > 0 && id[r.from - 1] != 0 && id[r.from - 1] == r.id - 1)
        r = (struct idmap_run){r.from - 1, r.n + 1, r.id - 1};
    while (r.from + r.n < IDMAP_BLOCK && id[r.from + r.n] != 0 && id[r.from + r.n] == r.id + r.n)
        r.n++;
    set_run(m, word, r);
}

/* Take a key out of its block's run, of which the longer part stays. */
static void shorten(struct idmap *m, struct idmap_page *p, uint32_t key)
{
    uint64_t *word = run_of(p, key);
    struct idmap_run r = idmap_run_of(*word);
    const uint32_t nth = key % IDMAP_BLOCK - r.from;

    if (nth >= r.n)
        return;
    if (nth >= r.n / 2)
        r.n = nth;
    else
        r = (struct idmap_run){r.from + nth + 1, r.n - nth - 1, r.id + nth + 1};
    set_run(m, word, r);
}

int idmap_set(struct idmap *m, uint32_t key, uint32_t id)
{
    struct idmap_page *page;
    uint32_t *slot;

    if (m->page[key >> 16] == m->zeros && id == 0)
        return 0;
    if (idmap_reserve(m, key) != 0)
        return -ENOMEM;
    page = m->page[key >> 16];
    slot = &page->id[key % IDMAP_SLOTS];
    if (id != 0 && *slot != 0 && *slot != id)
        return -EEXIST;
    if (id == 0)
        shorten(m, page, key);
    /* release: a reader that sees the id sees its record */
    __atomic_store_n(slot, id, __ATOMIC_RELEASE);
    if (id != 0)
        lengthen(m, page, key);
    return 0;
}

uint64_t idmap_bytes(const struct idmap *m)
{
    return sizeof(*m) + (m->n_pages + UINT64_C(1)) * sizeof(struct idmap_page);
}
