/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables/idmap.h"

#include <errno.h>

#include <rte_malloc.h>

#include "tables/memory.h"

#define PAGE_BYTES (IDMAP_SLOTS * sizeof(uint32_t))

struct idmap *idmap_create(int socket)
{
    struct idmap *m = table_zalloc(sizeof(*m), socket);

    if (m == NULL)
        return NULL;
    m->socket = socket;
    m->zeros = table_zalloc(PAGE_BYTES, socket);
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
    uint32_t *page;

    if (m->page[key >> 16] != m->zeros)
        return 0;
    page = table_zalloc(PAGE_BYTES, m->socket);
    if (page == NULL)
        return -ENOMEM;
    m->n_pages++;
    /* release: a reader that sees the page sees its zeros */
    __atomic_store_n(&m->page[key >> 16], page, __ATOMIC_RELEASE);
    return 0;
}

int idmap_set(struct idmap *m, uint32_t key, uint32_t id)
{
    uint32_t *slot;

    if (m->page[key >> 16] == m->zeros && id == 0)
        return 0;
    if (idmap_reserve(m, key) != 0)
        return -ENOMEM;
    slot = &m->page[key >> 16][key & 0xffff];
    if (id != 0 && *slot != 0 && *slot != id)
        return -EEXIST;
    /* release: a reader that sees the id sees its record */
    __atomic_store_n(slot, id, __ATOMIC_RELEASE);
    return 0;
}

uint64_t idmap_bytes(const struct idmap *m)
{
    return sizeof(*m) + (m->n_pages + UINT64_C(1)) * PAGE_BYTES;
}
