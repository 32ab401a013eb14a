/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables/prefixes.h"

#include <errno.h>
#include <string.h>

#include "tables/memory.h"

#define NUMBER_BITS 24

static uint64_t key_of(uint32_t prefix, uint8_t len)
{
    return (uint64_t)prefix << 32 | (uint64_t)(len + 1) << NUMBER_BITS;
}

/* Where the search for a key begins: the hash scaled to the number of places. */
static uint32_t home_of(const struct prefixes *p, uint64_t entry)
{
    uint64_t h = (entry >> NUMBER_BITS) * UINT64_C(0x9e3779b97f4a7c15);

    h = (h ^ h >> 32) * UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)((h >> 32) * p->n_places >> 32);
}

static uint32_t next(const struct prefixes *p, uint32_t at)
{
    return at + 1 < p->n_places ? at + 1 : 0;
}

/* The place of a key, or else the free one where it belongs. */
static uint32_t place_of(const struct prefixes *p, uint64_t key)
{
    uint32_t at = home_of(p, key);

    while (p->place[at] != 0 && p->place[at] >> NUMBER_BITS != key >> NUMBER_BITS)
        at = next(p, at);
    return at;
}

uint32_t prefixes_get(const struct prefixes *p, uint32_t prefix, uint8_t len)
{
    uint64_t entry = p->place[place_of(p, key_of(prefix, len))];

    return entry != 0 ? (uint32_t)(entry & PREFIXES_MOST) : PREFIXES_NONE;
}

void prefixes_put(struct prefixes *p, uint32_t prefix, uint8_t len, uint32_t number)
{
    uint64_t key = key_of(prefix, len);
    uint32_t at = place_of(p, key);

    p->of_len[len] += p->place[at] == 0;
    p->place[at] = key | number;
}

/* Close the gap at a place: an entry behind it moves there, unless its search begins between. */
static void close_gap(struct prefixes *p, uint32_t gap)
{
    for (uint32_t at = next(p, gap); p->place[at] != 0; at = next(p, at)) {
        uint32_t home = home_of(p, p->place[at]);
        uint32_t way = (at >= home ? 0 : p->n_places) + at - home,
                 from_gap = (at >= gap ? 0 : p->n_places) + at - gap;

        if (way < from_gap)
            continue;
        p->place[gap] = p->place[at];
        gap = at;
    }
    p->place[gap] = 0;
}

uint32_t prefixes_remove(struct prefixes *p, uint32_t prefix, uint8_t len)
{
    uint32_t at = place_of(p, key_of(prefix, len));
    uint64_t entry = p->place[at];

    if (entry == 0)
        return PREFIXES_NONE;
    p->of_len[len]--;
    close_gap(p, at);
    return (uint32_t)(entry & PREFIXES_MOST);
}

uint32_t prefixes_match(const struct prefixes *p, uint32_t addr, uint8_t most, uint8_t *len)
{
    for (unsigned l = most + 1u; l-- > 0;) {
        uint32_t number = p->of_len[l] == 0
                              ? PREFIXES_NONE
                              : prefixes_get(p, addr & prefix_mask((uint8_t)l), (uint8_t)l);

        if (number == PREFIXES_NONE)
            continue;
        *len = (uint8_t)l;
        return number;
    }
    return PREFIXES_NONE;
}

/* --- IPv6 --- */

uint64_t prefixes6_bytes(uint32_t n)
{
    return sizeof(struct prefix6) * (uint64_t)n + sizeof(uint32_t) * (uint64_t)prefixes6_heads(n);
}

int prefixes6_create(struct prefixes6 *p, uint32_t n, int socket)
{
    memset(p, 0, sizeof(*p));
    p->room = n;
    p->n_heads = prefixes6_heads(n);
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
static uint32_t *link_to(const struct prefixes6 *p, struct ipv6 prefix, unsigned len)
{
    uint64_t h = (prefix.upper ^ len) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t *link;

    h = (h ^ h >> 32 ^ prefix.lower) * UINT64_C(0xff51afd7ed558ccd);
    link = &p->head[h >> 32 & (p->n_heads - 1)];
    while (*link != 0) {
        struct prefix6 *e = &p->entry[*link - 1];

        if (e->len == len && prefix6_common(e->prefix, prefix) == PREFIX6_BITS)
            break;
        link = &e->next;
    }
    return link;
}

uint32_t prefixes6_get(const struct prefixes6 *p, struct ipv6 prefix, unsigned len)
{
    uint32_t i = *link_to(p, prefix, len);

    return i != 0 ? p->entry[i - 1].number : PREFIXES6_NONE;
}

bool prefixes6_put(struct prefixes6 *p, struct ipv6 prefix, unsigned len, uint32_t number)
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

uint32_t prefixes6_remove(struct prefixes6 *p, struct ipv6 prefix, unsigned len)
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

uint32_t prefixes6_match(const struct prefixes6 *p, struct ipv6 addr, unsigned most, unsigned *len)
{
    for (unsigned l = most + 1; l-- > 0;) {
        uint32_t number = p->of_len[l] == 0 ? PREFIXES6_NONE : prefixes6_get(p, first6(addr, l), l);

        if (number == PREFIXES6_NONE)
            continue;
        *len = l;
        return number;
    }
    return PREFIXES6_NONE;
}
