/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory: the bytes that pools, tables, rings and schedulers of a plan take, as DPDK lays them out,
 * and the fewest mbufs with which every queue, ring and cache can be full at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sched/check.h"
#include "plan/limits.h"
#include "plan/make.h"

#define CACHE_LINE     64u
#define KIB            1024ull
#define PAGE_2M        (2048 * KIB)
#define PAGE_1G        (1024 * 1024 * KIB)
#define MBUF_STRUCT    128u          /* struct rte_mbuf */
#define OBJ_HEADER     64u           /* a mempool's header before each object, padded */
#define RING_HEADER    384u          /* struct rte_ring: three parts of two cache lines each */
#define IDMAP_TOP      (512 * KIB)   /* page pointers */
#define IDMAP_PAGE     (256 * KIB)   /* 65536 ids; one more such page holds zeros */
#define MAGIC_BYTES    4u            /* of LCP, by subscriber */
#define HOSTS_BYTES    384u          /* struct hosts, and what the allocator adds */
#define SPARE_PER_PAGE 4096u         /* subscribers added later that share a page of an index */
#define BUCKET_WAYS    4u            /* tables/subscriber6.h: prefixes in a line of their index, */
#define BLOCKS_BYTES   (4096u * 4u)  /* which lengths there are by block, */
#define COMMON_BYTES   (254u * 8u)   /* what prefixes of subscribers have in common, */
#define PAGE6_PREFIXES 2048u         /* tables/pages6.h: and a page for so many of them, */
#define PAGE6_BYTES    (257u * 64u)  /* with an id for each of its region, and a count */
#define PAGE6_SLOT     16u           /* where it is: four for each, and one more */
#define FIB_FIRST      (65536 * KIB) /* tables/fib/fib.c: 2^24 entries */
#define FIB_LINES      2u            /* that a prefix longer than /28 needs where it is alone */
#define FIB6_FIRST     (4096 * KIB)  /* tables/fib/fib6.c: 2^20 entries */
#define FIB6_NODES     2u            /* that a prefix may need: where it parts, and where it ends */
#define FIB6_NODE      132u          /* two cache lines, and the number of another node */
#define FIB6_COPY      2064u         /* of each further copy: where its parts and pages are */
#define FIB6_PREFIX    32u           /* in the table of prefixes, and in that of regions */
#define FIB6_PAGE      (256 * KIB)   /* 2^16 entries of a region with many routes, */
#define FIB6_FEW       512u          /* one for so many, */
#define FIB6_PAGES     64u           /* up to so many */
#define FIB_SPARE      1024u         /* lines more, until readers have left those of old routes */
#define FIB_LINE       68u           /* 16 entries, and the number of another line */
#define FIB_OWN        513u          /* the gateway's own addresses, and 169.254/16 */
#define FIB_PREFIX     8u            /* in the hash table of prefixes, of which a third is free */
#define FAR_END        12u           /* tables/far_ends.c: a pair of addresses, and its uses, */
#define FAR_END6       44u           /* and one of IPv6 */
#define FAR_ENDS_LEAST 8u
#define PER_INSTANCE   64u           /* mbufs of the burst that an instance works on */
#define GROWN_POOL     (256u * 1024) /* mbufs up to which a pool grows that does not say mbufs */
#define POOL_STEP      1024u         /* in such steps */
#define DPDK_OWN       (64ull << 20) /* bytes that DPDK takes beside what the plan counts */

static uint64_t round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

static uint64_t pages(uint64_t n, uint64_t page)
{
    return (n + page - 1) / page;
}

static uint64_t mbuf_bytes(const struct cfg_pool *pool)
{
    return OBJ_HEADER + round_up(MBUF_STRUCT + (uint64_t)pool->data_room, CACHE_LINE);
}

static uint64_t ring_bytes(uint64_t size)
{
    return round_up(RING_HEADER + 8 * size, CACHE_LINE);
}

/* --- tables --- */

/* The pages of an idmap that hold a key; 65536 keys share one. */
struct touched_pages {
    uint8_t page[65536];
    uint32_t n;
};

static void touch(struct touched_pages *t, uint32_t key)
{
    t->n += t->page[key >> 16] == 0;
    t->page[key >> 16] = 1;
}

/* Records and index of IPv6: tables/subscriber6.h. */
static uint64_t ipv6_bytes(uint64_t subscribers, uint64_t prefixes)
{
    uint64_t buckets = prefixes / BUCKET_WAYS + prefixes / (2 * BUCKET_WAYS) + 8;
    uint64_t pages6 = prefixes / PAGE6_PREFIXES;

    if (prefixes == 0)
        return 0;
    return CACHE_LINE * (subscribers + 1 + buckets) + BLOCKS_BYTES + COMMON_BYTES +
           pages6 * PAGE6_BYTES + (4 * pages6 + 1) * PAGE6_SLOT;
}

/* Three indices over the subscribers: by VLAN pair, by GRE key, by IPv4 address (a subscriber's
 * prefix stays within one page). */
static int measure_subscribers(struct plan_build *b)
{
    const struct cfg_model *m = b->m;
    struct touched_pages *index = calloc(3, sizeof(index[0]));
    uint32_t room = room_subscribers(m) - m->n_subscribers, records = subscriber_records(m),
             spare = records - m->n_subscribers;
    /* a byte says where the subscriber is */
    uint64_t record = CACHE_LINE + MAGIC_BYTES + has_shards(&m->qos);
    uint64_t hosts = 0, n_pages, spare_pages = 3 * pages(room, SPARE_PER_PAGE);
    uint64_t ipv6 = ipv6_bytes(records, room_prefixes(m));

    if (index == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < m->n_subscribers; i++) {
        const struct cfg_subscriber *s = &m->subscribers[i];

        touch(&index[0], s->port << 24 | (uint32_t)s->svlan << 12 | s->cvlan);
        if (s->has_gre_key)
            touch(&index[1], s->gre_key);
        if (s->ipv4_len == 0)
            continue;
        touch(&index[2], s->ipv4);
        hosts += s->ipv4_len < 32 && !s->routed;
    }
    n_pages = (uint64_t)index[0].n + index[1].n + index[2].n + spare_pages;
    hosts = hosts != 0 ? hosts + spare : 0; /* those who come may be like them */
    b->p->memory.spare += (uint64_t)spare * record + spare_pages * IDMAP_PAGE + ipv6 -
                          ipv6_bytes(m->n_subscribers, m->n_prefixes);
    b->p->memory.tables = record * (records + UINT64_C(1)) + 3 * (IDMAP_TOP + IDMAP_PAGE) +
                          n_pages * IDMAP_PAGE + hosts * HOSTS_BYTES + ipv6;
    free(index);
    return 0;
}

/* Places of pairs: a power of two, at least twice the next hops. */
static uint64_t n_far_ends(uint64_t nexthops)
{
    uint64_t n = FAR_ENDS_LEAST;

    while (n < 2 * nexthops)
        n *= 2;
    return n;
}

/* tables/fib/fib.c reserves memory for the worst case, in which every route is longer than /28 and
 * alone in its /24. */
static uint64_t route_bytes(uint64_t routes, uint64_t nexthops, uint64_t sets)
{
    uint64_t prefixes = routes + FIB_OWN;

    return FIB_FIRST + (FIB_LINES * prefixes + FIB_SPARE) * FIB_LINE +
           (prefixes + prefixes / 2 + 8) * FIB_PREFIX + CACHE_LINE * (nexthops + 2 + sets + 1) +
           sizeof(struct ipv6) * (nexthops + 1) + FAR_END * n_far_ends(nexthops);
}

/* Pages of regions with many routes. */
static uint64_t n_pages6(uint64_t routes)
{
    return routes / FIB6_FEW < FIB6_PAGES ? routes / FIB6_FEW : FIB6_PAGES;
}

/* tables/fib/fib6.c reserves two nodes for each route, and room to count it. */
static uint64_t route6_bytes(uint64_t routes, uint64_t nexthops)
{
    uint64_t heads = 1, in_pages = n_pages6(routes);

    while (heads < routes)
        heads *= 2;
    return routes == 0
               ? 0
               : FIB6_FIRST + (FIB6_NODES * routes + FIB_SPARE) * FIB6_NODE +
                     2 * (routes * FIB6_PREFIX + heads * sizeof(uint32_t)) + in_pages * FIB6_PAGE +
                     (in_pages + 1) * sizeof(uint32_t) + FAR_END6 * n_far_ends(nexthops);
}

/* What is looked up of so many routes of either family, which a further copy has: all but what the
 * control thread alone reads. */
static uint64_t copy_bytes(uint64_t routes, uint64_t routes6)
{
    uint64_t lines = FIB_LINES * (routes + FIB_OWN) + FIB_SPARE,
             nodes = FIB6_NODES * routes6 + FIB_SPARE;

    return FIB_FIRST + lines * CACHE_LINE +
           (routes6 == 0
                ? 0
                : FIB6_COPY + FIB6_FIRST + nodes * 2 * CACHE_LINE + n_pages6(routes6) * FIB6_PAGE);
}

static void measure_routes(struct plan_build *b)
{
    const struct cfg_model *m = b->m;
    struct plan_memory *mem = &b->p->memory;
    uint32_t room6 = room_routes6(m), own6 = room6 != 0 ? own_addresses6(m) : 0;
    unsigned more = b->p->n_routes_on - 1u;

    mem->sparse = b->p->n_routes_on * FIB_FIRST;
    mem->routes_copy = copy_bytes(room_routes(m), room6 + own6);
    mem->routes = route_bytes(room_routes(m), room_nexthops(m), room_sets(m)) +
                  route6_bytes(room6 + own6, room_nexthops(m)) + more * mem->routes_copy;
    mem->spare += mem->routes - route_bytes(m->n_routes, m->n_nexthops, m->n_sets) -
                  route6_bytes(m->n_routes6 + own6, m->n_nexthops) -
                  more * copy_bytes(m->n_routes, m->n_routes6 + own6);
}

/* --- schedulers --- */

/* The most subscribers that a scheduler can have when so many are added. */
static uint64_t most_subscribers(const struct cfg_scheduler *s, uint32_t added)
{
    uint64_t pipes = (uint64_t)qos_shards(s) * s->pipes.n,
             most = (uint64_t)scheduler_subscribers(s) + added;

    return most < pipes ? most : pipes;
}

/* Packets in the queues of a scheduler when the queues of so many subscribers are full. */
static uint64_t queued(const struct cfg_scheduler *s, uint64_t subscribers)
{
    uint64_t packets = 0;

    for (unsigned c = 0; c < QOS_CLASSES; c++)
        packets += (uint64_t)s->class[c].size * (c == QOS_BE ? QOS_BE_QUEUES : 1);
    return packets * subscribers;
}

/* Bytes of a scheduler's qos task with so many pipes, and places for profiles. */
static uint64_t scheduler_bytes(const struct cfg_scheduler *s, const struct cfg_pipes *pipes,
                                unsigned profiles)
{
    struct cfg_scheduler sized = *s;

    sized.pipes = *pipes;
    return qos_shards_bytes(&sized, profiles) + (uint64_t)qos_shards(s) * pipes->n * PLAN_QOS_PIPE;
}

static void measure_schedulers(struct plan *p)
{
    const struct cfg_qos *q = &p->cfg->qos;

    for (unsigned i = 0; i < p->cfg->n_tasks; i++) {
        uint32_t scheduler = task_shapes(&p->cfg->tasks[i]);
        const struct cfg_scheduler *s;

        if (scheduler == CFG_NONE)
            continue;
        s = &q->schedulers[scheduler];
        p->memory.task_queued[i] =
            queued(s, most_subscribers(s, backed_subscribers(p->cfg) - p->cfg->n_subscribers));
        p->memory.task_sched[i] = scheduler_bytes(s, &s->pipes, room_profiles(q));
        p->memory.sched += p->memory.task_sched[i];
        p->memory.spare +=
            p->memory.task_sched[i] - scheduler_bytes(s, &s->configured, q->n_profiles);
    }
}

/* --- pools --- */

/* Mbufs of a pool in the receive and transmit queues of port i. */
static uint64_t port_need(const struct plan *p, const struct mbuf_flow *f, unsigned i,
                          unsigned pool)
{
    const struct cfg_port *port = &p->cfg->ports[i];
    uint64_t need = 0;

    if (port_is_wire(port))
        return f->sent[i] >> pool & 1 ? p->cfg->ports[wire_peer(p->cfg, i)].rx_desc : 0;
    for (unsigned q = 0; q == 0 || q < p->rx_queues[i]; q++)
        need += plan_queue_pool(p, i, q) == pool ? port->rx_desc : 0;
    for (unsigned q = 0; q < p->tx_queues[i]; q++)
        need += p->tx[i][q].mbufs >> pool & 1 ? port->tx_desc : 0;
    return need;
}

/* Mbufs of a pool that wait in schedulers when all their queues are full. */
static uint64_t pool_queued(const struct plan *p, const struct mbuf_flow *f, unsigned pool)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < p->cfg->n_tasks; i++)
        if (f->task[i] >> pool & 1)
            n += p->memory.task_queued[i];
    return n;
}

/* Fewest mbufs of a pool with which all queues, rings and caches can be full, without schedulers.
 */
static uint64_t pool_need(const struct plan *p, const struct mbuf_flow *f, unsigned pool)
{
    const struct cfg_pool *cfg = &p->cfg->pools[p->pools[pool].cfg];
    uint64_t need = 0, bursts = 0;

    for (unsigned i = 0; i < p->cfg->n_ports; i++)
        need += port_need(p, f, i, pool);
    for (unsigned i = 0; i < p->n_instances; i++) {
        const struct plan_instance *inst = &p->instances[i];
        const struct task_schema *schema = p->cfg->tasks[inst->task].schema;

        if ((f->instance[i] >> pool & 1) == 0)
            continue;
        bursts += PER_INSTANCE;
        if ((f->arrives[i] >> pool & 1) == 0)
            continue;
        need += (uint64_t)inst->n_rx * task_holds(&p->cfg->tasks[inst->task]) + schema->keeps +
                schema->keeps_for_each * inst->output[0].n_dests;
        if (inst->in_ring != CFG_NONE)
            need += p->rings[inst->in_ring].size;
    }
    if (need == 0 && bursts == 0)
        return 0;
    /* A core's cache gives mbufs back to the pool only above 1.5 times the cache's size. */
    return need + bursts + (uint64_t)cfg->cache * p->n_cores * 3 / 2;
}

/* Mbufs of a pool in queues of subscribers who may be added, as far as pool_queued() has not
 * counted them. */
static uint64_t pool_spare(const struct plan *p, const struct mbuf_flow *f, unsigned pool)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < p->cfg->n_tasks; i++) {
        uint32_t scheduler = task_shapes(&p->cfg->tasks[i]);
        const struct cfg_scheduler *s;

        if ((f->task[i] >> pool & 1) == 0 || scheduler == CFG_NONE)
            continue;
        s = &p->cfg->qos.schedulers[scheduler];
        n += queued(s, most_subscribers(s, room_subscribers(p->cfg) - p->cfg->n_subscribers)) -
             p->memory.task_queued[i];
    }
    return n;
}

/* The mbufs of a pool: as configured. Without a configured number, a pool grows to what the plan
 * needs, and further, for subscribers added at run time, up to GROWN_POOL. */
static uint32_t size_pool(const struct cfg_pool *cfg, uint64_t need, uint64_t spare)
{
    uint64_t grown = round_up(need + spare, POOL_STEP);

    if (!cfg->grows || grown <= cfg->mbufs || need > GROWN_POOL)
        return cfg->mbufs;
    return grown < GROWN_POOL ? (uint32_t)grown : GROWN_POOL;
}

static void check_pool(struct plan_build *b, const struct mbuf_flow *f, unsigned pool)
{
    const struct cfg_pool *cfg = &b->m->pools[b->p->pools[pool].cfg];
    const char *name = b->p->pools[pool].name;
    uint64_t need = pool_need(b->p, f, pool), waiting = pool_queued(b->p, f, pool);
    struct plan_memory *mem = &b->p->memory;

    mem->pool_queued[pool] = waiting;
    if (!cfg->overcommit) {
        need += waiting;
        mem->pool_spare[pool] = pool_spare(b->p, f, pool);
    }
    mem->pool_need[pool] = need < UINT32_MAX ? (uint32_t)need : UINT32_MAX;
    mem->pool_mbufs[pool] = size_pool(cfg, need, mem->pool_spare[pool]);
    mem->mbufs[pool] = mem->pool_mbufs[pool] * mbuf_bytes(cfg);
    mem->mbufs_total += mem->mbufs[pool];
    if (mem->pool_mbufs[pool] >= need)
        return;
    if (waiting > 0 && !cfg->overcommit)
        diag_error(b->d, cfg->loc,
                   "pool '%s' has %u mbufs, but what takes from it holds %llu, of them %llu in "
                   "queues of schedulers: give it at least that many, make queues smaller, or say "
                   "overcommit = true if reception may stop for want of mbufs when they are full",
                   name, cfg->mbufs, (unsigned long long)need, (unsigned long long)waiting);
    else
        diag_error(b->d, cfg->loc,
                   "pool '%s' has %u mbufs, but the queues, rings and caches that take from it "
                   "hold %llu: give it at least that many, or make rings and queues smaller",
                   name, cfg->mbufs, (unsigned long long)need);
}

/* Raise core_pages_* to the huge pages under the mbufs that a core can touch: one more for each
 * pool, because a pool seldom starts where a page does. */
static void measure_core(struct plan *p, const struct mbuf_flow *f, unsigned core)
{
    const struct plan_core *c = &p->cores[core];
    struct plan_memory *mem = &p->memory;
    uint64_t n_2m = 0, n_1g = 0, set = 0;

    for (uint16_t i = 0; i < c->n_instances; i++)
        set |= f->instance[c->instances[i]];
    for (unsigned k = 0; k < p->n_pools; k++) {
        if ((set >> k & 1) == 0)
            continue;
        n_2m += pages(mem->mbufs[k], PAGE_2M) + 1;
        n_1g += pages(mem->mbufs[k], PAGE_1G) + 1;
    }
    if (n_2m > mem->core_pages_2m)
        mem->core_pages_2m = (uint32_t)n_2m;
    if (n_1g > mem->core_pages_1g)
        mem->core_pages_1g = (uint32_t)n_1g;
}

static void measure_rings(struct plan *p)
{
    for (unsigned i = 0; i < p->n_rings; i++)
        p->memory.rings += ring_bytes(p->rings[i].size);
    for (unsigned i = 0; i < p->cfg->n_ports; i++)
        if (port_is_wire(&p->cfg->ports[i]))
            p->memory.rings += ring_bytes(p->cfg->ports[i].rx_desc);
}

/* What instances have for each subscriber beside the tables. */
static void measure_for_each(struct plan *p)
{
    uint64_t records = subscriber_records(p->cfg);

    for (unsigned i = 0; i < p->n_instances; i++) {
        uint64_t each = p->cfg->tasks[p->instances[i].task].schema->per_subscriber;

        p->memory.tables += each > 0 ? each * (records + 1) : 0;
        p->memory.spare += each * (records - p->cfg->n_subscribers);
    }
}

int plan_measure_memory(struct plan_build *b)
{
    struct plan_memory *mem = &b->p->memory;

    if (measure_subscribers(b) != 0)
        return -ENOMEM;
    measure_routes(b);
    measure_rings(b->p);
    measure_schedulers(b->p);
    measure_for_each(b->p);
    for (unsigned i = 0; i < b->p->n_pools; i++)
        check_pool(b, &b->flow, i);
    for (unsigned i = 0; i < b->p->n_cores; i++)
        measure_core(b->p, &b->flow, i);
    mem->total = mem->mbufs_total + mem->tables + mem->routes + mem->rings + mem->sched;
    mem->pages_2m = (uint32_t)pages(mem->total, PAGE_2M);
    mem->pages_1g = (uint32_t)pages(mem->total, PAGE_1G);
    return 0;
}

uint64_t plan_dpdk_memory(const struct plan *p)
{
    return p->memory.total + p->memory.total / 8 + DPDK_OWN;
}
