/* SPDX-License-Identifier: BSD-3-Clause */
/* arp: the slow path: ARP, neighbour discovery, ICMP echo to the gateway, ICMP errors. Packets come
 * from "punt" outputs. */
#include "tasks/arp/arp.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "engine/task.h"
#include "packet/frame.h"
#include "packet/ipv4.h"
#include "packet/qinq.h"
#include "tasks/arp/discovery.h"
#include "tasks/arp/lines.h"

#define FIRST_TICK  (2 * TICKS_PER_S + 2) /* ASK_GAP and more, so that tick 0 is long ago */
#define FLUSH_EVERY 4 /* packets: one may become a reply, two requests and ARP_KEEP others */
#define RA_QUIET    (16 * TICKS_PER_S) /* at first those who have come up with the gateway solicit */
#define PORT_BURST  128                /* punted at once from a core port: a part of a ring */

/* Find the Ethernet header, the tags and the type of a frame. Returns false where it is neither
 * untagged nor double-tagged. */
static bool parse(const struct rte_mbuf *m, struct arp_frame *f)
{
    uint32_t len = m->data_len;
    uint64_t tags;

    f->bytes = frame_bytes(m);
    f->svlan = 0;
    f->cvlan = 0;
    if (len < ETH_LEN)
        return false;
    f->type = rte_be_to_cpu_16(eth_type(f->bytes));
    f->l2_len = ETH_LEN;
    if (f->type == TPID_S || f->type == TPID_C) {
        if (len < QINQ_LEN || !qinq_is_double(tags = qinq_tags(f->bytes)))
            return false;
        f->type = rte_be_to_cpu_16(qinq_type(f->bytes));
        f->l2_len = QINQ_LEN;
        f->svlan = qinq_svlan(tags);
        f->cvlan = qinq_cvlan(tags);
    }
    f->avail = len - f->l2_len;
    return true;
}

bool arp_bucket_take(struct arp_bucket *b)
{
    if (b->level < TICKS_PER_S)
        return false;
    b->level -= TICKS_PER_S;
    return true;
}

void arp_bucket_init(struct arp_bucket *b, uint64_t per_s)
{
    b->rate = per_s;
    b->depth = per_s == 0 ? 0 : RTE_MAX(per_s * (TICKS_PER_S / 8), TICKS_PER_S);
    b->level = b->depth;
}

static void bucket_fill(struct arp_bucket *b, uint32_t ticks)
{
    b->level = RTE_MIN(b->level + b->rate * ticks, b->depth);
}

static void buckets_init(struct arp *a, uint64_t arp_rate, uint64_t icmp_rate)
{
    for (unsigned side = 0; side < N_SIDES; side++) {
        arp_bucket_init(&a->bucket[side][CLASS_ARP], arp_rate);
        arp_bucket_init(&a->bucket[side][CLASS_ND], arp_rate);
        arp_bucket_init(&a->bucket[side][CLASS_ECHO], icmp_rate);
        arp_bucket_init(&a->bucket[side][CLASS_ERROR], icmp_rate);
    }
    for (unsigned i = 0; i < N_ASKINGS; i++)
        arp_bucket_init(&a->ask[i], arp_rate);
}

static void buckets_fill(struct arp *a, uint32_t ticks)
{
    for (unsigned side = 0; side < N_SIDES; side++)
        for (unsigned class = 0; class < N_CLASSES; class ++)
            bucket_fill(&a->bucket[side][class], ticks);
    for (unsigned i = 0; i < N_ASKINGS; i++)
        bucket_fill(&a->ask[i], ticks);
    for (unsigned i = 0; i < RTE_DIM(a->of_lines); i++)
        bucket_fill(&a->of_lines[i], ticks);
}

/* How many frames for the control plane all lines may punt at once: as many as this task takes of
 * them (arp_control_init()), but of the ring that leads here, if there is one, half at most: the
 * other half is for what else subscribers and the core have for it. */
static uint64_t lines_burst(const struct task_env *env)
{
    const struct plan *p = env->plan;
    uint64_t burst = env->cfg->param[ARG_PUNT_RATE].u / 8;
    uint32_t ring = p->instances[env->instance].in_ring;

    if (ring != CFG_NONE)
        burst = RTE_MIN(burst, p->rings[ring].size / 2);
    return RTE_MAX(burst, (uint64_t)PORT_BURST);
}

/* Tell the tasks that punt the share of the slow path of each source. Packets from the core belong
 * to no subscriber: each core port may use what all buckets here can take. */
static void share_out(const struct task_env *env)
{
    uint64_t most = RTE_MAX(env->cfg->param[ARG_ARP_RATE].u, env->cfg->param[ARG_ICMP_RATE].u);
    uint64_t each = env->cfg->param[ARG_SUBSCRIBER_RATE].u;

    if (env->punt_rates == NULL)
        return;
    env->punt_rates->subscriber = source_rate_of(env->tsc_hz, each, each);
    env->punt_rates->port = source_rate_of(env->tsc_hz, most, PORT_BURST);
    env->punt_rates->line = arp_line_rate(env);
    env->punt_rates->lines =
        source_rate_of(env->tsc_hz, env->cfg->param[ARG_PUNT_RATE].u, lines_burst(env));
}

enum arp_side arp_side_of(const struct arp *a, const struct rte_mbuf *m, uint32_t src)
{
    const struct subscriber_table *s = a->tables->subscribers;
    uint32_t id = idmap_get(s->by_ipv4, src);

    return id != 0 && s->record[id].port == meta_in_port(m) ? SIDE_SUBSCRIBERS : SIDE_CORE;
}

static void for_us(struct task *t, struct rte_mbuf *m, const struct arp_frame *f)
{
    if (f->type == RTE_ETHER_TYPE_ARP)
        arp_receive(t, m, f);
    else if (f->type == RTE_ETHER_TYPE_IPV4)
        arp_ip_to_us(t, m, f);
    else if (f->type == RTE_ETHER_TYPE_IPV6)
        arp_ip6_to_us(t, m, f);
    else
        task_drop(t, m, DROP_UNSUPPORTED);
}

static void handle_one(struct task *t, struct rte_mbuf *m)
{
    struct arp_frame f;

    if (!parse(m, &f)) {
        task_drop(t, m, DROP_BAD_FRAME);
        return;
    }
    switch (meta_punt_reason(m)) {
    case PUNT_FOR_US:
        for_us(t, m, &f);
        return;
    case PUNT_NO_MAC:
        arp_resolve(t, m, &f);
        return;
    case PUNT_TTL_EXPIRED:
    case PUNT_TOO_BIG:
    case PUNT_NO_ROUTE:
        arp_icmp_error(t, m, &f, meta_punt_reason(m));
        return;
    case PUNT_LINE:
        arp_line_receive(t, m, &f);
        return;
    case N_PUNTS:
        break;
    }
    task_drop(t, m, DROP_NOT_PUNTED);
}

static void arp_handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    if (((const struct arp *)t->state)->notes == NULL) /* a copy leaves them to the core */
        arp_take_news(t);
    for (uint16_t i = 0; i < n; i++) {
        handle_one(t, m[i]);
        if (i % FLUSH_EVERY == FLUSH_EVERY - 1)
            task_flush(t);
    }
}

/* Advance the time of all that is counted in ticks to a TSC. */
static void advance(struct arp *a, uint64_t now)
{
    uint64_t ticks;

    if (a->last_tsc == 0 || now < a->last_tsc) {
        a->last_tsc = now;
        return;
    }
    if (now - a->last_tsc < a->tsc_per_tick)
        return;
    ticks = RTE_MIN((now - a->last_tsc) / a->tsc_per_tick, (uint64_t)INT32_MAX);
    a->last_tsc += ticks * a->tsc_per_tick;
    a->tick += (uint32_t)ticks;
    buckets_fill(a, (uint32_t)ticks);
    arp_walk_tick(&a->sweep, ticks);
    arp_look_at_links(a);
    if (a->tick - FIRST_TICK >= RA_QUIET)
        arp_walk_tick(&a->advertisements, ticks);
    arp_walk_tick(&a->echoes, ticks);
    a->members_due = (uint32_t)RTE_MIN(a->members_due + ticks * (a->n_neighbours / TICKS_PER_S + 1),
                                       (uint64_t)a->n_neighbours);
}

static uint16_t arp_poll(struct task *t, uint64_t now)
{
    uint16_t moved;

    arp_take_news(t);
    advance(t->state, now);
    arp_paths_age(t->state);
    moved = arp_wait_on(t);
    task_flush(t);
    moved = (uint16_t)(moved + arp_control_poll(t));
    task_flush(t);
    if (t->stopping)
        return moved;
    moved = (uint16_t)(moved + arp_advertise_all(t));
    task_flush(t);
    moved = (uint16_t)(moved + arp_echo_all(t));
    task_flush(t);
    return (uint16_t)(moved + arp_sweep(t) + arp_ask_members(t));
}

static uint64_t arp_held(const struct task *t)
{
    return __atomic_load_n(&((const struct arp *)t->state)->kept, __ATOMIC_RELAXED);
}

static uint32_t seconds(const struct task_env *env, unsigned arg)
{
    return (uint32_t)(env->cfg->param[arg].u / NS_PER_S);
}

static void routers_init(struct arp *a, const struct task_env *env)
{
    a->answers_routers = env->cfg->param[ARG_RA].u != 0;
    a->is_silent = env->cfg->param[ARG_ANNOUNCE].u == 0;
    a->router = (struct nd_router){
        .flags = (uint8_t)((env->cfg->param[ARG_RA_MANAGED].u != 0 ? ND_FLAG_MANAGED : 0) |
                           (env->cfg->param[ARG_RA_OTHER].u != 0 ? ND_FLAG_OTHER : 0)),
        .lifetime = (uint16_t)seconds(env, ARG_RA_LIFETIME),
        .valid = seconds(env, ARG_RA_VALID),
        .preferred = seconds(env, ARG_RA_PREFERRED),
    };
    arp_advertise_init(a, a->answers_routers ? seconds(env, ARG_RA_INTERVAL) * TICKS_PER_S : 0);
}

static int arp_init(struct task *t, const struct task_env *env)
{
    struct arp *a = t->state;
    int rc;

    a->tables = env->tables;
    a->cfg = env->plan->cfg;
    a->pool = env->pool;
    a->link_ups = env->link_ups;
    a->tsc_per_tick = env->tsc_hz / TICKS_PER_S;
    a->tick = FIRST_TICK;
    a->age = (uint32_t)(env->cfg->param[ARG_AGE].u * TICKS_PER_S / NS_PER_S);
    a->refresh = a->age - a->age / 4;
    a->keep = (uint32_t)env->cfg->param[ARG_KEEP].u;
    a->pcp_from_dscp = env->cfg->param[ARG_PCP].u == PCP_DSCP;
    buckets_init(a, env->cfg->param[ARG_ARP_RATE].u, env->cfg->param[ARG_ICMP_RATE].u);
    share_out(env);
    routers_init(a, env);
    rc = arp_control_init(a, env);
    if (rc == 0)
        rc = arp_echo_init(a, seconds(env, ARG_ECHO) * TICKS_PER_S, env->socket);
    if (rc == 0)
        rc = arp_neighbours_init(a, env->socket);
    if (rc == 0)
        return 0;
    arp_echo_free(a);
    arp_control_free(a);
    log_error("task %s: no memory to remember neighbours in", env->cfg->name);
    return rc;
}

static void arp_fini(struct task *t)
{
    arp_echo_free(t->state);
    arp_control_free(t->state);
    arp_neighbours_free(t->state);
}

enum {
    STAT_LEARNED,
    STAT_FORGOTTEN,
    STAT_REQUESTS,
    STAT_NO_MBUF,
    STAT_STATIC_CONFLICTS,
    STAT_NARROW_TUNNELS,
    STAT_CPE_CHANGES,
    STAT_NEXTHOP_CHANGES,
    STAT_HOST_UNREACHABLE,
    STAT_ROUTER_ADVERTS,
    STAT_ANNOUNCED,
    STAT_TO_CONTROL,
    STAT_FROM_CONTROL,
    STAT_CONTROL_LOST,
    STAT_ECHO_REQUESTS,
    STAT_ECHO_ANSWERED,
    STAT_ECHO_UNANSWERED
};

static const char *const stat_names[] = {[STAT_LEARNED] = "learned",
                                         [STAT_FORGOTTEN] = "forgotten",
                                         [STAT_REQUESTS] = "requests",
                                         [STAT_NO_MBUF] = "requests_no_mbuf",
                                         [STAT_STATIC_CONFLICTS] = "arp_static_conflict",
                                         [STAT_NARROW_TUNNELS] = "narrow_tunnels",
                                         [STAT_CPE_CHANGES] = "cpe_mac_changes",
                                         [STAT_NEXTHOP_CHANGES] = "nexthop_mac_changes",
                                         [STAT_HOST_UNREACHABLE] = "host_unreachable",
                                         [STAT_ROUTER_ADVERTS] = "router_advertisements",
                                         [STAT_ANNOUNCED] = "announcements",
                                         [STAT_TO_CONTROL] = "to_control_plane",
                                         [STAT_FROM_CONTROL] = "from_control_plane",
                                         [STAT_CONTROL_LOST] = "control_plane_lost",
                                         [STAT_ECHO_REQUESTS] = "ppp_echo_requests",
                                         [STAT_ECHO_ANSWERED] = "ppp_echo_answered",
                                         [STAT_ECHO_UNANSWERED] = "ppp_echo_unanswered",
                                         NULL};

static uint64_t arp_stat(const struct task *t, unsigned i)
{
    const struct arp *a = t->state;
    static const uint64_t none;
    const uint64_t *figure[] = {
        &a->learned,          &a->forgotten,
        &a->requests,         &a->no_mbuf,
        &a->static_conflicts, &a->n_paths,
        &a->cpe_changes,      &a->n_changes,
        &a->unreachables,     &a->adverts,
        &a->announced,        &a->to_control,
        &a->from_control,     a->control != NULL ? &a->control->lost : &none,
        &a->echo_requests,    &a->echoes_answered,
        &a->echoes_unanswered};

    return __atomic_load_n(figure[i], __ATOMIC_RELAXED);
}

/*
 * Dry run: the packet is handled on a copy of the state that learns nothing and remembers no
 * request. Answers and requests leave by the outputs of the dry run.
 */

typedef uint64_t __attribute__((may_alias)) word;

static_assert(sizeof(struct arp) % sizeof(word) == 0, "copied by words");

/* Copy the state word by word, so that each word is whole while the core writes it. */
static void copy_state(struct arp *to, const struct arp *from)
{
    const word *in = (const word *)(const void *)from;
    word *out = (word *)(void *)to;

    for (size_t i = 0; i < sizeof(*to) / sizeof(word); i++)
        out[i] = __atomic_load_n(&in[i], __ATOMIC_RELAXED);
}

static void arp_explain(struct task *t, struct rte_mbuf *m, const struct task_explain *x)
{
    struct arp *state = t->state, copy;

    copy_state(&copy, state);
    copy.pool = x->pool;
    copy.notes = x->notes;
    t->state = &copy;
    t->handle(t, &m, 1);
    task_flush(t);
    t->state = state;
}

const struct task_type task_arp = {
    .schema = {.type = "arp",
               .help = "the slow path: answers and asks by ARP and neighbour discovery, answers "
                       "pings, sends ICMP errors",
               .more = "A gateway has one, on one core.",
               .kind = TASK_WORKER,
               .makes = true,
               .alone = true,
               .check = arp_check,
               .params = arp_params,
               .n_params = N_ARP_ARGS,
               /* what leaves by "to" is ready for a port and no more */
               .outputs = {[ARP_OUT_TO] = {"to", "answers and requests that are ready for their "
                                                 "port"},
                           [ARP_OUT_ROUTE] = {"route",
                                              "ICMP errors towards the core, which need a "
                                              "route, and packets that were kept",
                                              .gives = FACT_IPV4 | FACT_SUBSCRIBER}},
               .drops = arp_drops,
               .n_drops = N_DROPS,
               .egress = EGRESS_ALL_PORTS,
               .keeps = ARP_WAITS * ARP_KEEP},
    .state_size = sizeof(struct arp),
    .init = arp_init,
    .fini = arp_fini,
    .handle = arp_handle,
    .poll = arp_poll,
    .explain = arp_explain,
    .held = arp_held,
    .sends_at_once = true,
    .stat_names = stat_names,
    .stat = arp_stat,
};
