/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lb: load balancer: spreads packets over the workers of the next task by subscriber, so that both
 * directions of a subscriber meet on the worker of the same number. It reads only what names the
 * subscriber. Where the workers are the shards of a scheduler, the worker is the shard that has the
 * subscriber; else ids are spread by a hash. Frames that name none (ARP of a core router, an
 * unknown key, a malformed frame) go to worker 0, which checks them like all others.
 *
 * Under load, what goes to a worker is gathered over several bursts, for each enqueue into a ring
 * costs lines that the worker's core has: with 16 workers a burst of 32 would be 16 enqueues of
 * two. A burst that is not full tells that there is no load, and everything goes on at once.
 */
#include <errno.h>

#include <rte_malloc.h>

#include "base/log.h"
#include "engine/task.h"
#include "packet/frame.h"
#include "packet/gre.h"
#include "packet/ipv6.h"
#include "packet/mpls.h"
#include "packet/qinq.h"
#include "tables/tables.h"

enum { OUT_TO };
enum { BY_QINQ, BY_GRE, BY_SUBSCRIBER };
enum { ARG_BY, N_ARGS };

static const char *const by_choices[] = {
    [BY_QINQ] = "qinq", [BY_GRE] = "gre", [BY_SUBSCRIBER] = "subscriber", NULL};
static const uint32_t by_needs[] = {[BY_QINQ] = 0, [BY_GRE] = 0, [BY_SUBSCRIBER] = FACT_SUBSCRIBER};

static const struct task_param params[N_ARGS] = {
    [ARG_BY] = {.name = "by",
                .type = PARAM_ENUM,
                .def = "qinq",
                .choices = by_choices,
                .choice_needs = by_needs,
                .help = "what names the subscriber: the VLAN pair, the GRE key (behind any MPLS "
                        "labels), or the mbuf, where a task before it has found it"},
};

#define MAX_LABELS      16
#define HASH_MULTIPLIER 2654435769u /* 2^32 / golden ratio */

/* Packets that a frame is fetched ahead again. There is little to compute beside, so that a burst's
 * frames are fetched at once, of which the processor drops some (packet/stages.h). */
#define AGAIN 16

#define GATHER    32 /* packets that are sent to a worker at once */
#define GATHER_US 10 /* a gathered packet goes on after this time, or when no burst comes */

/* What has been gathered for a worker. */
struct gathered {
    uint32_t n;
    struct rte_mbuf *m[GATHER];
} __rte_cache_aligned;

struct lb {
    const struct idmap *by_vlan, *by_gre_key;
    const uint8_t *shard; /* by id: the worker, where workers are shards; NULL: they are not */
    unsigned by;
    bool fed;          /* a burst has come since the last poll */
    uint32_t held;     /* packets in all of gathered[] */
    uint32_t emptied;  /* counts how often gathered[] was; never 0 */
    uint64_t sent_at;  /* TSC when gathered[] was empty for the last time */
    uint64_t patience; /* TSC cycles: GATHER_US */
    struct gathered *gathered;
};

static const uint32_t no_subscriber; /* id 0: the slot of a frame that names no subscriber */

/* The slot of the id of a double-tagged frame's subscriber. */
static inline const uint32_t *slot_by_vlan(const struct idmap *map, const uint8_t *p, uint32_t len,
                                           uint16_t port, uint32_t *own)
{
    uint64_t tags;

    if (unlikely(len < ETH_MACS + QINQ_TAGS_LEN))
        return &no_subscriber;
    tags = qinq_tags(p);
    if (unlikely(!qinq_is_double(tags)))
        return &no_subscriber;
    return idmap_slot(map, subscriber_vlan_key((uint8_t)port, qinq_svlan(tags), qinq_cvlan(tags)),
                      own);
}

/* Offset of the IP header behind Ethernet and any labels; 0: there is none. */
static inline uint32_t ip_offset(const uint8_t *p, uint32_t len)
{
    int stack;

    if (unlikely(len < ETH_LEN))
        return 0;
    if (eth_type(p) == RTE_BE16(RTE_ETHER_TYPE_IPV4) || eth_is_ipv6(p))
        return ETH_LEN;
    if (unlikely(eth_type(p) != RTE_BE16(MPLS_TYPE)))
        return 0;
    stack = mpls_stack_len(p + ETH_LEN, len - ETH_LEN, MAX_LABELS);
    return unlikely(stack < 0) ? 0 : ETH_LEN + (uint32_t)stack;
}

/* Bytes from an outer IP header, of which 20 are there, to GRE; 0: none follows. Fragments but the
 * first have no GRE header; one behind extension headers is not looked for. */
static inline uint32_t gre_offset(const uint8_t *ip)
{
    uint32_t header = (ip[0] & 15u) * 4;

    if (unlikely(ip[0] >> 4 == 6))
        return ip[offsetof(struct ipv6_hdr, next_header)] == IPPROTO_GRE ? IPV6_LEN : 0;
    return ip[0] >> 4 == 4 && header >= sizeof(struct rte_ipv4_hdr) && ip[9] == IPPROTO_GRE &&
                   (load16(ip + 6) & RTE_BE16(RTE_IPV4_HDR_OFFSET_MASK)) == 0
               ? header
               : 0;
}

/* The slot of the id of the subscriber whose key a GRE packet has. */
static inline const uint32_t *slot_by_gre_key(const struct idmap *map, const uint8_t *p,
                                              uint32_t len, uint32_t *own)
{
    uint32_t at = ip_offset(p, len), header;
    uint16_t flags;

    if (unlikely(at == 0 || len < at + sizeof(struct rte_ipv4_hdr)))
        return &no_subscriber;
    p += at;
    len -= at;
    header = gre_offset(p);
    if (unlikely(header == 0 || len < header + GRE_KEY_LEN))
        return &no_subscriber;
    p += header;
    flags = gre_flags(p);
    if (unlikely(!gre_flags_ok(flags) || (flags & GRE_HAS_KEY) == 0 ||
                 len < header + gre_len(flags)))
        return &no_subscriber;
    return idmap_slot(map, rte_be_to_cpu_32(gre_key(p, flags)), own);
}

/* Multiplicative hashing: spreads dense ids evenly; id 0 gives worker 0. */
static inline uint16_t worker_of(uint32_t id, uint16_t n)
{
    return (uint16_t)((uint64_t)(id * HASH_MULTIPLIER) * n >> 32);
}

/* The worker of a subscriber. */
static inline uint16_t worker_for(const struct lb *lb, uint32_t id, uint16_t n)
{
    uint8_t shard =
        lb->shard != NULL ? __atomic_load_n(&lb->shard[id], __ATOMIC_RELAXED) : SUBSCRIBER_NO_SHARD;

    return shard < n ? shard : worker_of(id, n);
}

/* Give a packet to its worker; a worker's packets keep their order. */
static inline void gather(struct lb *lb, struct out *out, uint32_t worker, struct rte_mbuf *m)
{
    struct gathered *g = &lb->gathered[worker];

    g->m[g->n++] = m;
    if (g->n == GATHER) {
        g->n = 0;
        out[worker].send(&out[worker], g->m, GATHER);
        lb->held -= GATHER;
    }
}

static void send_gathered(struct task *t, struct lb *lb)
{
    struct out *out = t->output[OUT_TO];

    if (lb->held == 0)
        return;
    for (uint16_t w = 0; w < t->n_dests[OUT_TO]; w++) {
        struct gathered *g = &lb->gathered[w];
        uint16_t n = (uint16_t)g->n;

        if (n > 0) {
            g->n = 0;
            out[w].send(&out[w], g->m, n);
        }
    }
    __atomic_store_n(&lb->emptied, lb->emptied == UINT32_MAX ? 1 : lb->emptied + 1,
                     __ATOMIC_RELEASE);
    __atomic_store_n(&lb->held, 0, __ATOMIC_RELEASE);
}

/* Where a frame's subscriber is found. */
static inline const uint32_t *slot_of(const struct lb *lb, const struct rte_mbuf *m, uint16_t port,
                                      uint32_t *own)
{
    const uint8_t *p = frame_bytes(m);

    return lb->by == BY_QINQ ? slot_by_vlan(lb->by_vlan, p, m->data_len, port, own)
                             : slot_by_gre_key(lb->by_gre_key, p, m->data_len, own);
}

static inline uint32_t id_in(const uint32_t *slot)
{
    return __atomic_load_n(slot, __ATOMIC_RELAXED);
}

/* Each pass over the burst prefetches what the next pass reads: headers, slots, ids. */
static void spread(struct task *t, struct lb *lb, struct rte_mbuf **m, uint16_t n)
{
    struct out *out = t->output[OUT_TO];
    uint16_t workers = t->n_dests[OUT_TO];
    const uint32_t *slot[BURST_MAX];
    uint32_t id[BURST_MAX];

    if (lb->by == BY_SUBSCRIBER) {
        for (uint16_t i = 0; i < n; i++) {
            meta_set_in_port(m[i], task_in_port(t, m[i]));
            gather(lb, out, worker_for(lb, meta_subscriber(m[i]), workers), m[i]);
        }
        return;
    }
    burst_prefetch_fresh(m, n, 1);
    for (uint16_t i = 0; i < n; i++) {
        uint16_t port = task_in_port(t, m[i]);

        if (i + AGAIN < n)
            frame_prefetch_fresh(m[i + AGAIN], 1);
        meta_set_in_port(m[i], port);
        slot[i] = slot_of(lb, m[i], port, &id[i]);
        rte_prefetch0(slot[i]);
    }
    if (lb->shard == NULL) {
        for (uint16_t i = 0; i < n; i++)
            gather(lb, out, worker_of(id_in(slot[i]), workers), m[i]);
        return;
    }
    for (uint16_t i = 0; i < n; i++) {
        id[i] = id_in(slot[i]);
        rte_prefetch0(&lb->shard[id[i]]);
    }
    for (uint16_t i = 0; i < n; i++)
        gather(lb, out, worker_for(lb, id[i], workers), m[i]);
}

static void lb_handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    struct lb *lb = t->state;

    lb->fed = true;
    lb->held += n;
    spread(t, lb, m, n);
    if (n < t->cfg->burst)
        send_gathered(t, lb);
}

static uint16_t lb_poll(struct task *t, uint64_t now)
{
    struct lb *lb = t->state;
    uint32_t n = lb->held;
    bool load = lb->fed && now - lb->sent_at < lb->patience;

    lb->fed = false;
    if (n > 0 && load)
        return 0;
    lb->sent_at = now;
    send_gathered(t, lb);
    return (uint16_t)n;
}

static uint64_t lb_held(const struct task *t)
{
    const struct lb *lb = t->state;

    return __atomic_load_n(&lb->held, __ATOMIC_RELAXED);
}

static uint32_t lb_gathered(const struct task *t)
{
    const struct lb *lb = t->state;

    return __atomic_load_n(&lb->held, __ATOMIC_ACQUIRE) == 0
               ? 0
               : __atomic_load_n(&lb->emptied, __ATOMIC_ACQUIRE);
}

/* Dry run: the packet leaves at once. */
static void lb_explain(struct task *t, struct rte_mbuf *m, const struct task_explain *x)
{
    const struct lb *lb = t->state;
    uint16_t port = task_in_port(t, m);
    uint32_t own,
        id = lb->by == BY_SUBSCRIBER ? meta_subscriber(m) : id_in(slot_of(lb, m, port, &own));

    (void)x;
    meta_set_in_port(m, port);
    out_put(&t->output[OUT_TO][worker_for(lb, id, t->n_dests[OUT_TO])], m);
}

static int lb_init(struct task *t, const struct task_env *env)
{
    struct lb *lb = t->state;

    lb->by_vlan = env->tables->subscribers->by_vlan;
    lb->by_gre_key = env->tables->subscribers->by_gre_key;
    if (env->plan->by_shard[env->plan->instances[env->instance].task])
        lb->shard = env->tables->subscribers->shard;
    lb->by = (unsigned)env->cfg->param[ARG_BY].u;
    lb->emptied = 1;
    lb->patience = env->tsc_hz / 1000000 * GATHER_US;
    lb->gathered = rte_zmalloc_socket("lb", t->n_dests[OUT_TO] * sizeof(lb->gathered[0]),
                                      RTE_CACHE_LINE_SIZE, env->socket);
    if (lb->gathered == NULL) {
        log_error("task %s: no memory for what it gathers for %u workers", env->cfg->name,
                  t->n_dests[OUT_TO]);
        return -ENOMEM;
    }
    return 0;
}

/* What is still gathered goes back to its pool: nobody takes it any more. */
static void lb_fini(struct task *t)
{
    struct lb *lb = t->state;

    for (uint16_t w = 0; w < t->n_dests[OUT_TO]; w++)
        rte_pktmbuf_free_bulk(lb->gathered[w].m, lb->gathered[w].n);
    rte_free(lb->gathered);
}

const struct task_type task_lb = {
    .schema = {.type = "lb",
               .help = "spreads packets over the workers of the next task by subscriber",
               .more = "Under load it gathers up to 32 packets for each worker, for 10 us at most.",
               .kind = TASK_WORKER,
               .spreads = true,
               .params = params,
               .n_params = N_ARGS,
               .outputs = {[OUT_TO] = {"to", "all packets, each to its subscriber's worker"}},
               .keeps_for_each = GATHER - 1},
    .state_size = sizeof(struct lb),
    .init = lb_init,
    .fini = lb_fini,
    .handle = lb_handle,
    .poll = lb_poll,
    .explain = lb_explain,
    .held = lb_held,
    .gathered = lb_gathered,
    .sends_at_once = true,
};
