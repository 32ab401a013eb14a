/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables/subscriber.h"

#include <errno.h>
#include <stddef.h>

#include <rte_ether.h>
#include <rte_malloc.h>

#include "packet/bytes.h"
#include "tables/mac.h"
#include "tables/memory.h"

static_assert(offsetof(struct subscriber, l2) == 0, "the CPE's MAC begins an aligned word");

struct subscriber_table *subscriber_table_create(uint32_t capacity, uint32_t prefixes6, int socket)
{
    struct subscriber_table *t = table_zalloc(sizeof(*t), socket);

    if (t == NULL)
        return NULL;
    t->socket = socket;
    t->capacity = capacity;
    t->record = table_zalloc((capacity + UINT64_C(1)) * sizeof(t->record[0]), socket);
    t->magic = table_zalloc((capacity + UINT64_C(1)) * sizeof(t->magic[0]), socket);
    t->by_vlan = idmap_create(socket);
    t->by_gre_key = idmap_create(socket);
    t->by_ipv4 = idmap_create(socket);
    t->v6 = prefixes6 != 0 ? subscriber6_table_create(capacity, prefixes6, socket) : NULL;
    if (t->record == NULL || t->magic == NULL || t->by_vlan == NULL || t->by_gre_key == NULL ||
        t->by_ipv4 == NULL || (t->v6 == NULL && prefixes6 != 0)) {
        subscriber_table_free(t);
        return NULL;
    }
    return t;
}

int subscriber_table_keep_shards(struct subscriber_table *t)
{
    t->shard = table_zalloc(t->capacity + UINT64_C(1), t->socket);
    if (t->shard == NULL)
        return -ENOMEM;
    memset(t->shard, SUBSCRIBER_NO_SHARD, t->capacity + UINT64_C(1));
    return 0;
}

/* Hosts that know nobody. Returns NULL without memory. */
static struct hosts *take_hosts(struct subscriber_table *t)
{
    struct hosts *h = t->free_hosts;

    if (h == NULL)
        return table_zalloc(sizeof(*h), t->socket);
    t->free_hosts = h->next_free;
    return h;
}

/* Take a record's hosts from it, if there are any. */
static void put_hosts(struct subscriber_table *t, struct subscriber *r)
{
    struct hosts *h = r->hosts;

    if (h == NULL)
        return;
    __atomic_store_n(&r->hosts, NULL, __ATOMIC_RELAXED);
    h->next_free = t->free_hosts;
    t->free_hosts = h;
}

void subscriber_table_free(struct subscriber_table *t)
{
    if (t == NULL)
        return;
    for (uint32_t id = 1; t->record != NULL && id <= t->n; id++)
        put_hosts(t, &t->record[id]);
    for (struct hosts *next, *h = t->free_hosts; h != NULL; h = next) {
        next = h->next_free;
        rte_free(h);
    }
    idmap_free(t->by_vlan);
    idmap_free(t->by_gre_key);
    idmap_free(t->by_ipv4);
    subscriber6_table_free(t->v6);
    rte_free(t->record);
    rte_free(t->magic);
    rte_free(t->shard);
    rte_free(t);
}

static uint32_t mask_of(uint8_t len)
{
    return len == 0 ? 0 : UINT32_MAX << (32 - len);
}

/* Is a description within bounds? VLAN ids 0 and 4095 are not circuits (IEEE 802.1Q table 9-2). */
static bool is_valid(const struct subscriber_spec *s)
{
    return s->svlan >= 1 && s->svlan <= 4094 && s->cvlan >= 1 && s->cvlan <= 4094 &&
           (s->ipv4_len == 0 || (s->ipv4_len >= 24 && s->ipv4_len <= 32)) &&
           s->gateway_mac != NULL && (s->session == 0 || s->mac != NULL);
}

static bool has_ipv6(const struct subscriber_spec *s)
{
    return subscriber6_entries(&s->ipv6) != 0;
}

/* Is the VLAN pair, the key or an address in use? */
static bool is_taken(const struct subscriber_table *t, const struct subscriber_spec *s)
{
    uint32_t first = s->ipv4 & mask_of(s->ipv4_len), last = first | ~mask_of(s->ipv4_len);

    if (idmap_get(t->by_vlan, subscriber_vlan_key(s->port, s->svlan, s->cvlan)) != 0)
        return true;
    if (s->has_gre_key && idmap_get(t->by_gre_key, s->gre_key) != 0)
        return true;
    for (uint32_t a = first; s->ipv4_len != 0; a++) {
        if (idmap_get(t->by_ipv4, a) != 0)
            return true;
        if (a == last)
            break;
    }
    return false;
}

/* Map the addresses of a subscriber to an id. They share the first 24 bits and so a page of the
 * index: only the first one can fail. */
static int map_addresses(struct subscriber_table *t, const struct subscriber_spec *s, uint32_t id)
{
    uint32_t first = s->ipv4 & mask_of(s->ipv4_len), last = first | ~mask_of(s->ipv4_len);

    for (uint32_t a = first; s->ipv4_len != 0; a++) {
        int rc = idmap_set(t->by_ipv4, a, id);

        if (rc != 0 || a == last)
            return rc;
    }
    return 0;
}

/* Write a record that nobody reads yet. Returns 0 or -ENOMEM. */
static int fill_record(struct subscriber_table *t, struct subscriber *r,
                       const struct subscriber_spec *s)
{
    struct hosts *hosts = NULL;

    if (s->ipv4_len != 0 && s->ipv4_len < 32 && !s->routed) {
        hosts = take_hosts(t);
        if (hosts == NULL)
            return -ENOMEM;
    }
    memset(r, 0, sizeof(*r));
    memcpy(r->l2 + 6, s->gateway_mac, 6);
    store16(r->l2 + 12, net16(s->tpid));
    store16(r->l2 + 14, net16(s->svlan));
    store16(r->l2 + 16, net16(RTE_ETHER_TYPE_VLAN));
    store16(r->l2 + 18, net16(s->cvlan));
    store16(r->l2 + 20, net16(RTE_ETHER_TYPE_IPV4));
    r->port = s->port;
    r->has_ipv6 = has_ipv6(s) ? SUBSCRIBER_SECOND_LINE : 0;
    r->ipv4_host = (uint8_t)s->ipv4;
    r->ipv4_mask = rte_cpu_to_be_32(mask_of(s->ipv4_len));
    r->ipv4_net = s->ipv4_len != 0 ? rte_cpu_to_be_32(s->ipv4) & r->ipv4_mask : UINT32_MAX;
    r->gre_key = rte_cpu_to_be_32(s->gre_key);
    r->path = s->path;
    r->session = net16(s->session);
    r->mtu = s->mtu;
    r->has_gre_key = s->has_gre_key;
    __atomic_store_n(&r->hosts, hosts, __ATOMIC_RELEASE); /* the arp task looks at all records */
    if (s->mac != NULL) {
        r->mac_static = 1;
        subscriber_set_mac(r, s->mac);
    }
    return 0;
}

void subscriber_write_first_line(struct subscriber_table *t, uint32_t id)
{
    struct subscriber *r = &t->record[id];
    struct subscriber6_brief b;
    uint8_t has = SUBSCRIBER_SECOND_LINE;

    if (subscriber6_brief(t->v6, id, &b)) {
        __atomic_store_n(&r->wan6, b.wan, __ATOMIC_RELAXED);
        __atomic_store_n(&r->delegated6, b.delegated, __ATOMIC_RELAXED);
        has = (uint8_t)(SUBSCRIBER_FIRST_LINE + b.common);
    }
    __atomic_store_n(&r->has_ipv6, has, __ATOMIC_RELEASE);
}

/* Set the indices. On an error the indices set so far are unset again; the index of IPv6 has been
 * checked before and cannot fail. */
static int publish(struct subscriber_table *t, const struct subscriber_spec *s, uint32_t id)
{
    uint32_t vlan = subscriber_vlan_key(s->port, s->svlan, s->cvlan);
    int rc = idmap_set(t->by_vlan, vlan, id);

    if (rc != 0)
        return rc;
    if (s->has_gre_key)
        rc = idmap_set(t->by_gre_key, s->gre_key, id);
    if (rc == 0)
        rc = map_addresses(t, s, id);
    if (rc == 0 && has_ipv6(s))
        subscriber6_publish(t->v6, id);
    if (rc != 0) {
        idmap_set(t->by_vlan, vlan, 0);
        if (s->has_gre_key)
            idmap_set(t->by_gre_key, s->gre_key, 0);
    }
    return rc;
}

int subscriber_check(const struct subscriber_table *t, const struct subscriber_spec *spec)
{
    if (!is_valid(spec) || (spec->ipv4_len == 0 && !has_ipv6(spec)))
        return -EINVAL;
    if (is_taken(t, spec))
        return -EEXIST;
    if (!has_ipv6(spec))
        return 0;
    return t->v6 != NULL ? subscriber6_check(t->v6, &spec->ipv6) : -ENOSPC;
}

uint32_t subscriber_next_id(const struct subscriber_table *t)
{
    if (t->free != 0)
        return t->free;
    return t->n < t->capacity ? t->n + 1 : 0;
}

int64_t subscriber_add(struct subscriber_table *t, const struct subscriber_spec *spec)
{
    uint32_t id = subscriber_next_id(t), next_free = t->record[id].gre_key;
    int rc = subscriber_check(t, spec);

    if (rc != 0)
        return rc;
    if (id == 0)
        return -ENOSPC;
    t->magic[id] = spec->magic;
    rc = fill_record(t, &t->record[id], spec);
    if (rc != 0)
        return rc;
    if (has_ipv6(spec)) {
        subscriber6_fill(t->v6, id, &spec->ipv6);
        subscriber_write_first_line(t, id);
    }
    if (t->shard != NULL) /* publish() releases it */
        __atomic_store_n(&t->shard[id], spec->shard, __ATOMIC_RELAXED);
    rc = publish(t, spec, id);
    if (rc != 0) {
        put_hosts(t, &t->record[id]);
        memset(&t->record[id], 0, sizeof(t->record[id]));
        t->record[id].gre_key = next_free;
        if (has_ipv6(spec))
            subscriber6_release(t->v6, id);
        return rc;
    }
    if (id == t->free)
        t->free = next_free;
    else
        __atomic_store_n(&t->n, id, __ATOMIC_RELEASE);
    return id;
}

void subscriber_unpublish(struct subscriber_table *t, uint32_t id)
{
    const struct subscriber *r = &t->record[id];
    uint32_t first = rte_be_to_cpu_32(r->ipv4_net), last = first | ~rte_be_to_cpu_32(r->ipv4_mask);

    /* the tags of the record have no priority, so they are VLAN ids */
    idmap_set(t->by_vlan,
              subscriber_vlan_key(r->port, net16(load16(r->l2 + 14)), net16(load16(r->l2 + 18))),
              0);
    if (r->has_gre_key)
        idmap_set(t->by_gre_key, rte_be_to_cpu_32(r->gre_key), 0);
    for (uint32_t a = first; r->ipv4_mask != 0; a++) {
        idmap_set(t->by_ipv4, a, 0);
        if (a == last)
            break;
    }
    if (r->has_ipv6)
        subscriber6_unpublish(t->v6, id);
}

void subscriber_release(struct subscriber_table *t, uint32_t id)
{
    put_hosts(t, &t->record[id]);
    if (t->record[id].has_ipv6)
        subscriber6_release(t->v6, id);
    memset(&t->record[id], 0, sizeof(t->record[id]));
    t->record[id].gre_key = t->free;
    t->free = id;
}

/* --- changes of one who is there --- */

static bool has_this_ipv4(const struct subscriber *r, const struct subscriber_spec *s)
{
    return r->ipv4_mask != 0 && s->ipv4_len != 0 &&
           subscriber_ipv4(r) == rte_cpu_to_be_32(s->ipv4) &&
           r->ipv4_mask == rte_cpu_to_be_32(mask_of(s->ipv4_len));
}

int subscriber_prepare(struct subscriber_table *t, uint32_t id, const struct subscriber_spec *to)
{
    const struct subscriber *r = &t->record[id];

    if (has_ipv6(to) && t->v6 == NULL)
        return -EINVAL;
    if (has_this_ipv4(r, to))
        return 0;
    if ((r->ipv4_mask != 0 && r->ipv4_mask != UINT32_MAX) ||
        (to->ipv4_len != 0 && to->ipv4_len != 32))
        return -EINVAL;
    return to->ipv4_len != 0 ? idmap_reserve(t->by_ipv4, to->ipv4) : 0;
}

/* No address but 255.255.255.255, which is nobody's, is his under any mixture of old and new. */
static void set_ipv4(struct subscriber *r, rte_be32_t addr, rte_be32_t mask)
{
    __atomic_store_n(&r->ipv4_net, UINT32_MAX, __ATOMIC_RELEASE);
    __atomic_store_n(&r->ipv4_host, (uint8_t)rte_be_to_cpu_32(addr), __ATOMIC_RELEASE);
    __atomic_store_n(&r->ipv4_mask, mask, __ATOMIC_RELEASE);
    if (mask != 0)
        __atomic_store_n(&r->ipv4_net, addr, __ATOMIC_RELEASE);
}

bool subscriber_withdraw(struct subscriber_table *t, uint32_t id, const struct subscriber_spec *to)
{
    struct subscriber *r = &t->record[id];
    bool taken = r->has_ipv6 && subscriber6_withdraw(t->v6, id, &to->ipv6);

    if (taken || (r->has_ipv6 && !has_ipv6(to)))
        __atomic_store_n(&r->has_ipv6, has_ipv6(to) ? SUBSCRIBER_SECOND_LINE : 0, __ATOMIC_RELEASE);
    if (r->ipv4_mask != 0 && !has_this_ipv4(r, to)) {
        idmap_set(t->by_ipv4, rte_be_to_cpu_32(subscriber_ipv4(r)), 0);
        set_ipv4(r, 0, 0);
    }
    return taken;
}

void subscriber_extend(struct subscriber_table *t, uint32_t id, const struct subscriber_spec *to)
{
    struct subscriber *r = &t->record[id];

    if (r->ipv4_mask == 0 && to->ipv4_len != 0) {
        set_ipv4(r, rte_cpu_to_be_32(to->ipv4), UINT32_MAX);
        idmap_set(t->by_ipv4, to->ipv4, id);
    }
    if (!has_ipv6(to))
        return;
    if (!r->has_ipv6)
        subscriber6_fill(t->v6, id, &(struct cpe_prefixes){0});
    subscriber6_extend(t->v6, id, &to->ipv6);
    subscriber_write_first_line(t, id);
}

/* --- MACs --- */

void subscriber_set_mac(struct subscriber *s, const uint8_t *mac)
{
    record_set_mac(s->l2, &s->mac_known, mac);
}

void subscriber_set_static_mac(struct subscriber *s, const uint8_t *mac)
{
    s->mac_static = mac != NULL;
    subscriber_set_mac(s, mac);
}

uint64_t subscriber_table_bytes(const struct subscriber_table *t)
{
    return sizeof(*t) +
           (t->capacity + UINT64_C(1)) *
               (sizeof(t->record[0]) + sizeof(t->magic[0]) + (t->shard != NULL)) +
           idmap_bytes(t->by_vlan) + idmap_bytes(t->by_gre_key) + idmap_bytes(t->by_ipv4) +
           (t->v6 != NULL ? subscriber6_table_bytes(t->v6, t->capacity) : 0);
}
