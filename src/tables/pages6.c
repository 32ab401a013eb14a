/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables/pages6.h"

#include "tables/memory.h"

bool pages6_create(struct pages6 *p, uint32_t prefixes, int socket)
{
    *p = (struct pages6){.room = prefixes / (PAGES6_PAGE / 2)};
    p->is_off = p->room == 0;
    p->slot = table_zalloc(pages6_slots(p->room) * sizeof(p->slot[0]), socket);
    if (p->room > 0)
        p->page = table_zalloc(p->room * sizeof(p->page[0]), socket);
    return p->slot != NULL && (p->room == 0 || p->page != NULL);
}

void pages6_free(struct pages6 *p)
{
    rte_free(p->slot);
    rte_free(p->page);
}

uint64_t pages6_bytes(const struct pages6 *p)
{
    return pages6_slots(p->room) * (uint64_t)sizeof(p->slot[0]) +
           p->room * (uint64_t)sizeof(p->page[0]);
}

/* Give a region a page, if there is one. */
static struct pages6_slot *take_page(struct pages6 *p, uint64_t key, uint32_t prefixes)
{
    uint32_t i = pages6_home(p, key);

    if (p->n == p->room) {
        if (prefixes / PAGES6_FEW < p->room)
            __atomic_store_n(&p->is_off, true, __ATOMIC_RELAXED);
        return NULL;
    }
    while (p->slot[i].key != 0)
        i = i + 1 < pages6_slots(p->room) ? i + 1 : 0;
    p->slot[i].page = p->n++;
    __atomic_store_n(&p->slot[i].key, key, __ATOMIC_RELEASE);
    return &p->slot[i];
}

static bool follows(const uint32_t *id, uint32_t n)
{
    return n > 0 && n < PAGES6_PAGE && id[n] == id[n - 1] + 1;
}

void pages6_set(struct pages6 *p, uint64_t upper, uint32_t bit, uint32_t id, uint32_t prefixes)
{
    struct pages6_slot *s = pages6_slot_of(p, upper, bit);
    uint32_t n = pages6_number(upper, bit), before;
    struct pages6_page *page;

    if (s == NULL && id != 0)
        s = take_page(p, pages6_key(upper, bit), prefixes);
    if (s == NULL)
        return;
    page = &p->page[s->page];
    __atomic_store_n(&s->first, 0, __ATOMIC_RELEASE); /* readers go to the page before it changes */
    before = follows(page->id, n) + follows(page->id, n + 1);
    __atomic_store_n(&page->id[n], id, __ATOMIC_RELEASE);
    page->n_following += follows(page->id, n) + follows(page->id, n + 1) - before;
    if (page->n_following == PAGES6_PAGE - 1) /* 0 where the first one is nobody's */
        __atomic_store_n(&s->first, page->id[0], __ATOMIC_RELEASE);
}
