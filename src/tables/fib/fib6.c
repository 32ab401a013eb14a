/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables/fib/fib6.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "tables/memory.h"

#define N_FIRST   (1u << FIB6_FIRST_BITS)
#define NEW_NODES 2u /* that a prefix may need: where it leaves another, and where it ends */
#define LEN_AT    23
#define FEW       (FIB6_DENSE / 2) /* routes with which a region loses its page */
#define MOST_WAY  (1u + (PREFIX6_BITS - FIB6_FIRST_BITS) / FIB6_NODE_BITS)

static uint32_t n_nodes(uint32_t n)
{
    return NEW_NODES * n + FIB6_SPARE;
}

/* Enough for all regions that have one, up to FIB6_PAGES. */
static uint32_t n_pages(uint32_t n)
{
    return RTE_MIN(n / FEW, FIB6_PAGES);
}

/* With those of so many pages. */
static uint64_t first_entries(uint32_t pages)
{
    return N_FIRST + (uint64_t)FIB6_PAGE * pages;
}

static uint64_t first_bytes(uint32_t n)
{
    return sizeof(uint32_t) * first_entries(n_pages(n));
}

uint64_t fib6_copy_bytes(uint32_t n)
{
    return sizeof(struct fib6_copy) + first_bytes(n) +
           sizeof(struct fib6_node) * (uint64_t)n_nodes(n);
}

uint64_t fib6_bytes(uint32_t n)
{
    return fib6_copy_bytes(n) - sizeof(struct fib6_copy) + sizeof(uint32_t) * (uint64_t)n_nodes(n) +
           sizeof(uint32_t) * (n_pages(n) + 1) + 2 * prefixes6_bytes(n);
}

/* Of a region whose slot it is not. */
static uint64_t free_slot(uint32_t slot)
{
    return (uint64_t)(slot == fib6_slot(0)) << (64 - FIB6_REGION);
}

/* Returns 0, or -ENOMEM. */
static int create_copy(struct fib6_copy *c, const struct fib6 *f, int socket)
{
    c->first = table_zalloc(sizeof(*c->first) * first_entries(f->pages.n), socket);
    c->node = table_zalloc(sizeof(*c->node) * (size_t)f->nodes.n, socket);
    return c->first != NULL && c->node != NULL ? 0 : -ENOMEM;
}

int fib6_create(struct fib6 *f, uint32_t n, int socket)
{
    int rc;

    memset(f, 0, sizeof(*f));
    if (n > FIB6_MOST)
        return -ENOMEM;
    f->nodes.n = n_nodes(n);
    f->pages.n = n_pages(n);
    rc = prefixes6_create(&f->routes, n, socket) | prefixes6_create(&f->regions, n, socket);
    rc |= create_copy(&f->own, f, socket);
    f->nodes.next = table_zalloc(sizeof(*f->nodes.next) * (size_t)f->nodes.n, socket);
    f->pages.next = table_zalloc(sizeof(*f->pages.next) * (f->pages.n + 1), socket);
    for (unsigned i = 0; i < FIB6_SLOTS; i++)
        f->own.slot[i] = free_slot(i);
    return rc == 0 && f->nodes.next != NULL && f->pages.next != NULL ? 0 : -ENOMEM;
}

int fib6_add_copy(struct fib6 *f, int socket)
{
    struct fib6_copy *c;

    if (f->n_more == RTE_DIM(f->more))
        return -ENOMEM;
    c = f->more[f->n_more] = table_zalloc(sizeof(*c), socket);
    if (c == NULL || create_copy(c, f, socket) != 0)
        return -ENOMEM;
    for (uint64_t i = 0; i < first_entries(f->pages.n); i++)
        if (f->own.first[i] != 0)
            c->first[i] = f->own.first[i];
    memcpy(c->node, f->own.node, sizeof(*c->node) * (size_t)f->nodes.n_touched);
    memcpy(c->slot, f->own.slot, sizeof(c->slot));
    f->n_more++;
    return 0;
}

void fib6_set_readers(struct fib6 *f, struct rte_rcu_qsbr *readers)
{
    f->nodes.readers = f->pages.readers = readers;
}

static void free_copy(struct fib6_copy *c)
{
    rte_free(c->first);
    rte_free(c->node);
}

void fib6_free(struct fib6 *f)
{
    free_copy(&f->own);
    for (unsigned i = 0; i < RTE_DIM(f->more) && f->more[i] != NULL; i++) {
        free_copy(f->more[i]);
        rte_free(f->more[i]);
    }
    rte_free(f->nodes.next);
    rte_free(f->pages.next);
    prefixes6_free(&f->routes);
    prefixes6_free(&f->regions);
}

/* The entry of another copy that is where an entry of the first one is. */
static uint32_t *same_entry(const struct fib6 *f, const struct fib6_copy *c, const uint32_t *entry)
{
    uintptr_t at = (uintptr_t)entry - (uintptr_t)f->own.first;

    if (at < sizeof(*entry) * first_entries(f->pages.n))
        return c->first + at / sizeof(*entry);
    return (uint32_t *)c->node + ((uintptr_t)entry - (uintptr_t)f->own.node) / sizeof(*entry);
}

/* Store an entry of the first copy, and those of the others: nothing else writes entries, but for
 * those of a new node. */
static void store(const struct fib6 *f, uint32_t *entry, uint32_t value)
{
    __atomic_store_n(entry, value, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < f->n_more; i++)
        __atomic_store_n(same_entry(f, f->more[i], entry), value, __ATOMIC_RELEASE);
}

/* The same of a slot. */
static void store_slot(struct fib6 *f, uint32_t slot, uint64_t value)
{
    __atomic_store_n(&f->own.slot[slot], value, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < f->n_more; i++)
        __atomic_store_n(&f->more[i]->slot[slot], value, __ATOMIC_RELEASE);
}

static uint32_t entry_of(unsigned len, uint32_t number)
{
    return (uint32_t)len << LEN_AT | number;
}

static uint32_t len_in(uint32_t entry)
{
    return entry >> LEN_AT;
}

static bool is_node(uint32_t entry)
{
    return (entry & FIB6_MORE) != 0;
}

static struct fib6_node *node_of(const struct fib6 *f, uint32_t entry)
{
    return &f->own.node[entry & FIB6_INDEX];
}

/* An entry that leads to a node, at a place where from bits have been looked at. */
static uint32_t entry_to(const struct fib6 *f, uint32_t index, unsigned from)
{
    unsigned depth = f->own.node[index].depth;

    return FIB6_MORE | (depth == from ? FIB6_NEXT : 0) | depth / FIB6_NODE_BITS << FIB6_DEPTH_AT |
           index;
}

/* The entry of a node that an address leads to. */
static uint32_t *entry_in(struct fib6_node *node, struct ipv6 addr)
{
    return &node->entry[fib6_place(node->depth / FIB6_NODE_BITS << FIB6_DEPTH_AT, addr)];
}

/* A node at a depth of a prefix, which says everywhere what addresses have that do not go there.
 * Returns its index. */
static uint32_t new_node(struct fib6 *f, struct ipv6 prefix, unsigned depth, uint32_t miss)
{
    uint32_t index = lines_take(&f->nodes);
    struct fib6_node *node = &f->own.node[index];

    node->prefix = first6(prefix, depth);
    node->mask = mask6(depth);
    node->miss = miss;
    node->depth = (uint8_t)depth;
    for (unsigned i = 0; i < FIB6_NODE; i++)
        node->entry[i] = miss;
    for (unsigned i = 0; i < f->n_more; i++)
        f->more[i]->node[index] = *node;
    return index;
}

/* Let an entry, before which are from bits, lead to a new node before the node that it leads to, at
 * the depth where a prefix leaves that one or ends. */
static struct fib6_node *split(struct fib6 *f, uint32_t *entry, unsigned from, struct ipv6 prefix,
                               unsigned depth)
{
    struct fib6_node *old = node_of(f, *entry), *node;
    uint32_t made = new_node(f, prefix, depth, old->miss);

    node = &f->own.node[made];
    store(f, entry_in(node, old->prefix), entry_to(f, *entry & FIB6_INDEX, depth + FIB6_NODE_BITS));
    store(f, entry, entry_to(f, made, from));
    return node;
}

/* The entries of a prefix in the node where it ends, and the entries that lead there. */
struct range {
    uint32_t *entry;
    uint32_t n;
    uint32_t *way[MOST_WAY]; /* from the first table on */
    unsigned n_way;
};

static struct range range_of(struct fib6 *f, struct ipv6 prefix, unsigned len)
{
    uint32_t *entry = &f->own.first[prefix.upper >> (64 - FIB6_FIRST_BITS)];
    unsigned depth = (len - 1) & ~(FIB6_NODE_BITS - 1); /* of the node where it ends */
    unsigned from = FIB6_FIRST_BITS;
    struct range r = {.entry = entry};
    struct fib6_node *node;

    if (len <= FIB6_FIRST_BITS) {
        r.n = 1u << (FIB6_FIRST_BITS - len);
        return r;
    }
    for (;;) {
        r.way[r.n_way++] = entry;
        if (!is_node(*entry))
            store(f, entry, entry_to(f, new_node(f, prefix, depth, *entry), from));
        node = node_of(f, *entry);
        if (node->depth > depth || prefix6_common(prefix, node->prefix) < node->depth) {
            unsigned common = prefix6_common(prefix, node->prefix) & ~(FIB6_NODE_BITS - 1);

            node = split(f, entry, from, prefix, RTE_MIN(common, depth));
        }
        entry = entry_in(node, prefix);
        from = node->depth + FIB6_NODE_BITS;
        if (node->depth == depth)
            break;
    }
    r.entry = entry;
    r.n = 1u << (depth + FIB6_NODE_BITS - len);
    return r;
}

/* Store a value in n entries, and in the nodes behind them, but not over prefixes longer than most
 * bits. */
static void paint(struct fib6 *f, uint32_t *entry, uint32_t n, unsigned most, uint32_t value)
{
    for (uint32_t i = 0; i < n; i++) {
        if (is_node(entry[i])) {
            struct fib6_node *node = node_of(f, entry[i]);

            if (len_in(node->miss) <= most)
                store(f, &node->miss, value);
            paint(f, node->entry, FIB6_NODE, most, value);
        } else if (len_in(entry[i]) <= most) {
            store(f, &entry[i], value);
        }
    }
}

/* Take a node away at which no prefix ends and which leads to one other node at most; the bits of
 * that do not follow those of the entry above then. Returns whether it is gone. */
static bool fold(struct fib6 *f, uint32_t *above)
{
    const struct fib6_node *node = node_of(f, *above);
    uint32_t value = node->miss, index = *above & FIB6_INDEX;

    for (unsigned i = 0; i < FIB6_NODE; i++) {
        if (node->entry[i] == node->miss)
            continue;
        if (!is_node(node->entry[i]) || is_node(value) ||
            node_of(f, node->entry[i])->miss != node->miss)
            return false;
        value = node->entry[i] & ~FIB6_NEXT;
    }
    store(f, above, value);
    lines_give(&f->nodes, index);
    return true;
}

/* --- pages --- */

static uint32_t region_of(struct ipv6 prefix)
{
    return (uint32_t)(prefix.upper >> (64 - FIB6_REGION));
}

static bool has_page(uint64_t slot)
{
    return (uint32_t)slot != 0;
}

static uint32_t *page_in(const struct fib6 *f, uint64_t slot)
{
    return &f->own.first[(uint32_t)slot];
}

/* What an address has behind the bits of a page: a number, or a node whose bits are all further
 * on and begin as the address. */
static uint32_t behind_page(const struct fib6 *f, struct ipv6 addr)
{
    uint32_t entry = f->own.first[addr.upper >> (64 - FIB6_FIRST_BITS)];

    while (is_node(entry)) {
        struct fib6_node *node = node_of(f, entry);

        if (prefix6_common(addr, node->prefix) < RTE_MIN(node->depth, FIB6_PAGE_END))
            return node->miss;
        if (node->depth >= FIB6_PAGE_END)
            return entry_to(f, entry & FIB6_INDEX, FIB6_PAGE_END);
        entry = *entry_in(node, addr);
    }
    return entry;
}

static struct ipv6 address_in(uint32_t region, uint32_t i)
{
    return (struct ipv6){
        (uint64_t)region << (64 - FIB6_REGION) | (uint64_t)i << (64 - FIB6_PAGE_END), 0};
}

/* Make the page of a region, if there is room. */
static void open_page(struct fib6 *f, uint32_t region)
{
    uint32_t slot = fib6_slot(region), at;

    if (has_page(f->own.slot[slot]) || !lines_have(&f->pages, 1))
        return;
    at = N_FIRST + FIB6_PAGE * lines_take(&f->pages);
    for (uint32_t i = 0; i < FIB6_PAGE; i++)
        store(f, &f->own.first[at + i], behind_page(f, address_in(region, i)));
    store_slot(f, slot, (uint64_t)region << 32 | at);
}

/* Take the page of a region away, if it has one. */
static void close_page(struct fib6 *f, uint32_t region)
{
    uint32_t slot = fib6_slot(region);
    uint64_t was = f->own.slot[slot];

    if (!has_page(was) || was >> 32 != region)
        return;
    store_slot(f, slot, free_slot(slot));
    lines_give(&f->pages, ((uint32_t)was - N_FIRST) / FIB6_PAGE);
}

/* Count a route of a region, or one less. */
static void count(struct fib6 *f, struct ipv6 prefix, unsigned len, bool more)
{
    struct ipv6 region = first6(prefix, FIB6_REGION);
    uint32_t n;

    if (len <= FIB6_REGION)
        return;
    n = prefixes6_get(&f->regions, region, FIB6_REGION);
    n = (n != PREFIXES6_NONE ? n : 0) + (more ? 1 : UINT32_MAX);
    if (n == 0)
        prefixes6_remove(&f->regions, region, FIB6_REGION);
    else
        prefixes6_put(&f->regions, region, FIB6_REGION, n);
    if (more && n >= FIB6_DENSE)
        open_page(f, region_of(prefix));
    else if (n < FEW)
        close_page(f, region_of(prefix));
}

/* Store in the pages what has been stored for a prefix in the nodes. */
static void paint_pages(struct fib6 *f, struct ipv6 prefix, unsigned len, uint32_t value)
{
    uint64_t slot = f->own.slot[fib6_slot(region_of(prefix))];
    uint32_t i = (uint32_t)prefix.upper >> (64 - FIB6_PAGE_END);

    for (unsigned k = 0; len <= FIB6_REGION && k < FIB6_SLOTS; k++)
        if (has_page(f->own.slot[k]) &&
            prefix6_common(address_in((uint32_t)(f->own.slot[k] >> 32), 0), prefix) >= len)
            paint(f, page_in(f, f->own.slot[k]), FIB6_PAGE, len, value);
    if (len <= FIB6_REGION || slot >> 32 != region_of(prefix) || !has_page(slot))
        return;
    if (len <= FIB6_PAGE_END)
        paint(f, page_in(f, slot) + i, 1u << (FIB6_PAGE_END - len), len, value);
    else
        store(f, page_in(f, slot) + i, behind_page(f, prefix));
}

int fib6_add(struct fib6 *f, struct ipv6 prefix, unsigned len, uint32_t number)
{
    bool is_new = prefixes6_get(&f->routes, prefix, len) == PREFIXES6_NONE;
    struct range r;

    if (len > FIB6_FIRST_BITS && is_new && lines_want(&f->nodes, NEW_NODES) != 0)
        return -ENOSPC;
    if (!prefixes6_put(&f->routes, prefix, len, number))
        return -ENOSPC;
    r = range_of(f, prefix, len);
    paint(f, r.entry, r.n, len, entry_of(len, number));
    paint_pages(f, prefix, len, entry_of(len, number));
    if (is_new)
        count(f, prefix, len, true);
    return 0;
}

int fib6_remove(struct fib6 *f, struct ipv6 prefix, unsigned len)
{
    unsigned shorter = 0;
    uint32_t number;
    struct range r;

    if (prefixes6_remove(&f->routes, prefix, len) == PREFIXES6_NONE)
        return -ENOENT;
    number = len > 0 ? prefixes6_match(&f->routes, prefix, len - 1, &shorter) : PREFIXES6_NONE;
    number = number != PREFIXES6_NONE ? number : 0;
    r = range_of(f, prefix, len);
    paint(f, r.entry, r.n, len, entry_of(shorter, number));
    while (r.n_way > 0 && fold(f, r.way[r.n_way - 1]))
        r.n_way--;
    paint_pages(f, prefix, len, entry_of(shorter, number));
    count(f, prefix, len, false);
    return 0;
}
