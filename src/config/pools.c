/* SPDX-License-Identifier: BSD-3-Clause */
/* pools = { NAME = { mbufs; data_room; socket; per; cache; overcommit; }; }: sets of packet
 * buffers. */
#include <string.h>

#include "config/keys.h"

enum {
    POOL_MBUFS,
    POOL_DATA_ROOM,
    POOL_SOCKET,
    POOL_PER,
    POOL_CACHE,
    POOL_OVERCOMMIT,
    N_POOL_KEYS
};

const char *const pool_per_names[] = {"socket", "queue", "gateway", NULL};

/* cache: at most DPDK's RTE_MEMPOOL_CACHE_MAX_SIZE */
static const struct key pool_keys[N_POOL_KEYS] = {
    [POOL_MBUFS] = {"mbufs", KEY_COUNT, .def = "64K", .min = 64, .max = 1 << 26},
    [POOL_DATA_ROOM] = {"data_room", KEY_SIZE, .def = "2176", .min = 256, .max = UINT16_MAX},
    [POOL_SOCKET] = {"socket", KEY_COUNT, .max = 63},
    [POOL_PER] = {"per", KEY_ENUM, .def = "socket", .choices = pool_per_names},
    [POOL_CACHE] = {"cache", KEY_COUNT, .def = "256", .max = 512},
    [POOL_OVERCOMMIT] = {"overcommit", KEY_BOOL, .def = "false"},
};

/* The index of a pool by name, or CFG_NONE. */
static uint32_t find_pool(const struct loader *l, const char *name)
{
    for (unsigned i = 0; i < l->m->n_pools; i++)
        if (strcmp(l->m->pools[i].name, name) == 0)
            return i;
    return CFG_NONE;
}

uint32_t resolve_pool(struct loader *l, const struct value *v)
{
    const char *names[CFG_MAX_POOLS];
    uint32_t pool = find_pool(l, v->v.s);

    if (pool != CFG_NONE || l->pool_nameless)
        return pool;
    for (unsigned i = 0; i < l->m->n_pools; i++)
        names[i] = l->m->pools[i].name;
    unknown_name(l, v->setting, "pool", "pool", nearest_name(v->v.s, names, l->m->n_pools));
    return CFG_NONE;
}

/* A pool that lies on one socket is not of each. */
static void check_per(struct loader *l, const struct value *v)
{
    if (v[POOL_SOCKET].set && v[POOL_PER].setting != NULL && v[POOL_PER].v.u == POOL_PER_SOCKET)
        key_error(l, v[POOL_PER].setting, "per",
                  "the pool is on socket %u alone, as its key 'socket' says: expected \"queue\" or "
                  "\"gateway\", or no key 'socket'",
                  (unsigned)v[POOL_SOCKET].v.u);
}

static void add_pool(struct loader *l, const char *name, struct loc loc, const struct value *v)
{
    uint16_t cache = (uint16_t)v[POOL_CACHE].v.u;

    /* DPDK refuses a mempool with fewer mbufs than 1.5 times its cache. Where the cache is not
     * given, it is made small enough. */
    if (v[POOL_CACHE].setting == NULL)
        while (cache + cache / 2u > v[POOL_MBUFS].v.u)
            cache /= 2;
    else if (v[POOL_MBUFS].set && cache + cache / 2u > v[POOL_MBUFS].v.u)
        key_error(l, v[POOL_CACHE].setting, "cache", "expected at most two thirds of mbufs (%u)",
                  (unsigned)v[POOL_MBUFS].v.u);
    check_per(l, v);
    l->m->pools[l->m->n_pools++] = (struct cfg_pool){
        .loc = loc,
        .name = name,
        .per = (enum pool_per)v[POOL_PER].v.u,
        .mbufs = (uint32_t)v[POOL_MBUFS].v.u,
        .grows = v[POOL_MBUFS].setting == NULL,
        .data_room = (uint16_t)v[POOL_DATA_ROOM].v.u,
        .socket = v[POOL_SOCKET].set ? (int16_t)v[POOL_SOCKET].v.u : (int16_t)-1,
        .cache = cache,
        .overcommit = v[POOL_OVERCOMMIT].v.u != 0,
    };
}

static void load_pool(struct loader *l, const config_setting_t *pool)
{
    const char *name = config_setting_name(pool);
    const struct key name_key = {.name = "name", .type = KEY_NAME};
    struct param_value unused;
    struct value v[N_POOL_KEYS];

    if (!config_setting_is_group(pool)) {
        l->pool_nameless |= key_parse(&name_key, name, &unused) != 0;
        key_error(l, pool, name, "expected a group: { mbufs = \"64K\"; ... }");
        /* A pool of that name with defaults is added, so that its users are not further errors. */
        memset(v, 0, sizeof(v));
    } else if (key_parse(&name_key, name, &unused) != 0) {
        l->pool_nameless = true;
        key_error(l, pool, name, "the name of a pool has at most %d letters, digits, '_' and '-'",
                  CFG_MAX_NAME);
        read_group(l, pool, "pool", pool_keys, N_POOL_KEYS, v);
    } else {
        read_group(l, pool, "pool", pool_keys, N_POOL_KEYS, v);
    }
    add_pool(l, keep_string(l, name), setting_loc(l, pool), v);
}

void load_pools(struct loader *l, const config_setting_t *pools)
{
    struct value v[N_POOL_KEYS] = {0};
    unsigned n = 0;

    if (pools != NULL && !config_setting_is_group(pools)) {
        key_error(l, pools, "pools", "expected a group of pools: { NAME = { ... }; }");
        l->pool_nameless = true;
    } else if (pools != NULL) {
        n = (unsigned)config_setting_length(pools);
    }
    /* One place in pools[] is left for the pool "default", which is added where it is not given. */
    if (n > CFG_MAX_POOLS - 1) {
        key_error(l, pools, "pools", "%u pools: expected at most %d", n, CFG_MAX_POOLS - 1);
        l->pool_nameless = true;
        n = 0;
    }
    for (unsigned i = 0; i < n; i++)
        load_pool(l, config_setting_get_elem(pools, i));
    if (find_pool(l, "default") != CFG_NONE)
        return;
    for (unsigned k = 0; k < N_POOL_KEYS; k++)
        v[k].set =
            pool_keys[k].def != NULL && key_parse(&pool_keys[k], pool_keys[k].def, &v[k].v) == 0;
    add_pool(l, "default", (struct loc){l->m->path, 0}, v);
}
