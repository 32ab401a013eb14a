/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables/prefixes6.h"

#include <errno.h>
#include <string.h>

#include "tables/memory.h"

static uint32_t heads_for(uint32_t n)
{
    return n > 1 ? rte_align32pow2(n) : 1;
}

uint64_t prefixes6_bytes(uint32_t n)
{
    return sizeof(struct prefix6) * (uint64_t)n + sizeof(uint32_t) * (uint64_t)heads_for(n);
}

int prefixes6_create(struct prefixes6 *p, uint32_t n, int socket)
{
    memset(p, 0, sizeof(*p));
    p->room = n;
    p->n_heads = heads_for(n);
    p->entry = table_zalloc(sizeof(*p->entry) * (size_t)n, socket);
    p->head = table_zalloc(sizeof(*p->head) * (size_t)p->n_heads, socket);
    return p->entry != NULL && p->head != NULL ? 0 : -ENOMEM;
}

void prefixes6_free(struct prefixes6 *p)
{
    rte_free(p->entry);
    rte_free(p->head);
}

/* What leads to a prefix: the head of its chain or the next of another, of index + 1; it has 0
 * where the prefix is not there. */
static uint32_t *link_to(const struct prefixes6 *p, struct ipv6_words prefix, unsigned len)
{
    uint64_t h = (prefix.at[0] ^ len) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t *link;

    h = (h ^ h >> 32 ^ prefix.at[1]) * UINT64_C(0xff51afd7ed558ccd);
    link = &p->head[h >> 32 & (p->n_heads - 1)];
    while (*link != 0) {
        struct prefix6 *e = &p->entry[*link - 1];

        if (e->len == len && prefix6_common(e->prefix, prefix) == PREFIX6_BITS)
            break;
        link = &e->next;
    }
    return link;
}

uint32_t prefixes6_get(const struct prefixes6 *p, struct ipv6_words prefix, unsigned len)
{
    uint32_t i = *link_to(p, prefix, len);

    return i != 0 ? p->entry[i - 1].number : PREFIXES6_NONE;
}

bool prefixes6_put(struct prefixes6 *p, struct ipv6_words prefix, unsigned len, uint32_t number)
{
    uint32_t *link = link_to(p, prefix, len), i = *link;

    if (i != 0) {
        p->entry[i - 1].number = number;
        return true;
    }
    if (p->n == p->room)
        return false;
    i = p->free;
    if (i != 0)
        p->free = p->entry[i - 1].next;
    else
        i = ++p->n_touched;
    p->entry[i - 1] = (struct prefix6){.prefix = prefix, .number = number, .len = (uint8_t)len};
    *link = i;
    p->n++;
    p->of_len[len]++;
    return true;
}

uint32_t prefixes6_remove(struct prefixes6 *p, struct ipv6_words prefix, unsigned len)
{
    uint32_t *link = link_to(p, prefix, len), i = *link;

    if (i == 0)
        return PREFIXES6_NONE;
    *link = p->entry[i - 1].next;
    p->entry[i - 1].next = p->free;
    p->free = i;
    p->n--;
    p->of_len[len]--;
    return p->entry[i - 1].number;
}

uint32_t prefixes6_match(const struct prefixes6 *p, struct ipv6_words addr, unsigned most,
                         unsigned *len)
{
    for (unsigned l = most + 1; l-- > 0;) {
        uint32_t number =
            p->of_len[l] == 0 ? PREFIXES6_NONE : prefixes6_get(p, prefix6_of(addr, l), l);

        if (number == PREFIXES6_NONE)
            continue;
        *len = l;
        return number;
    }
    return PREFIXES6_NONE;
}
