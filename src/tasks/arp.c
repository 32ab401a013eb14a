/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow path: ARP, ICMP echo to the gateway, ICMP errors. Packets come from "punt" outputs. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "engine/task.h"
#include "packet/frame.h"
#include "packet/ipv4.h"
#include "packet/qinq.h"
#include "tasks/arp_impl.h"

enum { PARAM_AGE, PARAM_ARP_RATE, PARAM_ICMP_RATE, PARAM_PCP };
enum { PCP_DSCP, PCP_ZERO };

#define FIRST_TICK  (2 * ASK_GAP) /* so that 0 is long ago */
#define FLUSH_EVERY 16            /* a packet may become several: a drop and two requests */

bool arp_parse(const struct rte_mbuf *m, struct arp_frame *f)
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

void arp_pad(struct rte_mbuf *m)
{
    uint16_t missing = (uint16_t)(ETH_MIN_LEN - RTE_MIN(m->data_len, ETH_MIN_LEN));
    char *end = rte_pktmbuf_append(m, missing);

    if (end != NULL)
        memset(end, 0, missing);
}

bool arp_bucket_take(struct bucket *b)
{
    if (b->level < TICKS_PER_S)
        return false;
    b->level -= TICKS_PER_S;
    return true;
}

static void bucket_init(struct bucket *b, uint64_t per_s)
{
    b->rate = per_s;
    b->depth = per_s == 0 ? 0 : RTE_MAX(per_s * (TICKS_PER_S / 8), TICKS_PER_S);
    b->level = b->depth;
}

static void bucket_fill(struct bucket *b, uint32_t ticks)
{
    b->level = RTE_MIN(b->level + b->rate * ticks, b->depth);
}

static void for_us(struct task *t, struct rte_mbuf *m, const struct arp_frame *f)
{
    if (f->type == RTE_ETHER_TYPE_ARP)
        arp_receive(t, m, f);
    else if (f->type == RTE_ETHER_TYPE_IPV4)
        arp_echo(t, m, f);
    else
        task_drop(t, m, DROP_UNSUPPORTED);
}

/*
 * The packet is lost and its neighbour asked for: the subscriber or the next hop that the mbuf
 * names, whichever is on the packet's egress port. Where both are, the one whose MAC is not known
 * (both may be asked).
 */
static void resolve(struct task *t, struct rte_mbuf *m, const struct arp_frame *f)
{
    const struct arp *a = t->state;
    const struct subscriber_table *s = a->tables->subscribers;
    const struct route_table *r = a->tables->routes;
    uint32_t sub = meta_subscriber(m), nh = meta_nexthop(m), dst = 0;
    uint8_t port = meta_out_port(m);

    if (f->type == RTE_ETHER_TYPE_IPV4 && f->avail >= sizeof(struct rte_ipv4_hdr))
        dst = rte_be_to_cpu_32(load32(f->bytes + f->l2_len + 16));
    if (sub >= 1 && sub <= s->n && s->record[sub].port == port)
        arp_ask_subscriber(t, sub, dst);
    if (nh >= 1 && nh <= r->n_nexthops && r->nexthop[nh].port == port)
        arp_ask_nexthop(t, nh);
    task_drop(t, m, DROP_UNRESOLVED);
}

static void handle_one(struct task *t, struct rte_mbuf *m)
{
    struct arp_frame f;

    if (!arp_parse(m, &f)) {
        task_drop(t, m, DROP_BAD_FRAME);
        return;
    }
    switch (meta_punt_reason(m)) {
    case PUNT_FOR_US:
        for_us(t, m, &f);
        return;
    case PUNT_NO_MAC:
        resolve(t, m, &f);
        return;
    case PUNT_TTL_EXPIRED:
    case PUNT_TOO_BIG:
        arp_icmp_error(t, m, &f, meta_punt_reason(m));
        return;
    }
    task_drop(t, m, DROP_NOT_PUNTED);
}

static void arp_handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    for (uint16_t i = 0; i < n; i++) {
        handle_one(t, m[i]);
        if (i % FLUSH_EVERY == FLUSH_EVERY - 1)
            task_flush(t);
    }
}

/* The clock of all that is counted in ticks. */
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
    bucket_fill(&a->arp, (uint32_t)ticks);
    bucket_fill(&a->request, (uint32_t)ticks);
    bucket_fill(&a->echo, (uint32_t)ticks);
    bucket_fill(&a->error, (uint32_t)ticks);
    a->sweep_due += ticks * a->sweep_add;
}

static uint16_t arp_poll(struct task *t, uint64_t now)
{
    advance(t->state, now);
    return t->stopping ? 0 : arp_sweep(t);
}

/* Learned MACs have one writer, and a request that one instance sent would be answered to another.
 */
static int check_alone(const struct task_env *env)
{
    unsigned n = 0;

    for (unsigned i = 0; i < env->plan->n_instances; i++)
        n += env->plan->cfg->tasks[env->plan->instances[i].task].schema == env->cfg->schema;
    if (n <= 1)
        return 0;
    log_error("%s:%u: task %s: an arp task runs once in a gateway, here there are %u instances: "
              "name one arp task, and give it one CPU in the layout",
              env->cfg->loc.file, env->cfg->loc.line, env->cfg->name, n);
    return -EINVAL;
}

static int arp_init(struct task *t, const struct task_env *env)
{
    struct arp *a = t->state;
    int rc = check_alone(env);

    if (rc != 0)
        return rc;
    a->tables = env->tables;
    a->cfg = env->plan->cfg;
    a->pool = env->pool;
    a->tsc_per_tick = env->tsc_hz / TICKS_PER_S;
    a->tick = FIRST_TICK;
    a->age = (uint32_t)(env->cfg->param[PARAM_AGE].u * TICKS_PER_S / NS_PER_S);
    a->refresh = a->age - a->age / 4;
    a->pcp_from_dscp = env->cfg->param[PARAM_PCP].u == PCP_DSCP;
    bucket_init(&a->arp, env->cfg->param[PARAM_ARP_RATE].u);
    bucket_init(&a->request, env->cfg->param[PARAM_ARP_RATE].u);
    bucket_init(&a->echo, env->cfg->param[PARAM_ICMP_RATE].u);
    bucket_init(&a->error, env->cfg->param[PARAM_ICMP_RATE].u);
    rc = arp_neighbours_init(a, env->socket);
    if (rc != 0)
        log_error("task %s: no memory to remember neighbours in", env->cfg->name);
    return rc;
}

static void arp_fini(struct task *t)
{
    arp_neighbours_free(t->state);
}

enum { STAT_LEARNED, STAT_FORGOTTEN, STAT_REQUESTS, STAT_NO_MBUF, STAT_STATIC_CONFLICTS };

static const char *const stat_names[] = {[STAT_LEARNED] = "learned",
                                         [STAT_FORGOTTEN] = "forgotten",
                                         [STAT_REQUESTS] = "requests",
                                         [STAT_NO_MBUF] = "requests_no_mbuf",
                                         [STAT_STATIC_CONFLICTS] = "arp_static_conflict",
                                         NULL};

static uint64_t arp_stat(const struct task *t, unsigned i)
{
    const struct arp *a = t->state;
    const uint64_t *figure[] = {&a->learned, &a->forgotten, &a->requests, &a->no_mbuf,
                                &a->static_conflicts};

    return __atomic_load_n(figure[i], __ATOMIC_RELAXED);
}

static const char *const pcps[] = {[PCP_DSCP] = "dscp", [PCP_ZERO] = "zero", NULL};

const struct task_type task_arp =
    {
        .schema =
            {
                .type = "arp",
                .help = "the slow path: answers and asks by ARP, answers pings, sends ICMP errors",
                .kind = TASK_WORKER,
                .params =
                    {
                        [PARAM_AGE] = {.name = "age",
                                       .type = PARAM_DURATION,
                                       .def = "20min",
                                       .min = UINT64_C(1) * NS_PER_S,
                                       .max = UINT64_C(7 * 86400) * NS_PER_S,
                                       .help =
                                           "a learned MAC is asked for again at 3/4 of this, and "
                                           "forgotten at its end"},
                        [PARAM_ARP_RATE] = {.name = "arp_rate",
                                            .type = PARAM_COUNT,
                                            .def = "10000",
                                            .min = 0,
                                            .max = 1000000000,
                                            .help = "ARP packets a second that are looked at, and "
                                                    "requests that are sent"},
                        [PARAM_ICMP_RATE] = {.name = "icmp_rate",
                                             .type = PARAM_COUNT,
                                             .def = "1000",
                                             .min = 0,
                                             .max = 1000000000,
                                             .help = "ICMP errors a second, and echo replies"},
                        [PARAM_PCP] = {.name = "pcp",
                                       .type = PARAM_ENUM,
                                       .def = "dscp",
                                       .choices = pcps,
                                       .help = "priority in both tags of ICMP to a subscriber: the "
                                               "upper bits of the DSCP, or 0"},
                    },
                .outputs = {[ARP_OUT_TO] = "to", [ARP_OUT_ROUTE] = "route"},
                .drops =
                    {
                        [DROP_ARP_FOREIGN] = "arp_foreign",
                        [DROP_ARP_MALFORMED] = "arp_malformed",
                        [DROP_ARP_RATE] = "arp_rate_limited",
                        [DROP_ARP_SPOOFED] = "arp_spoofed",
                        [DROP_ARP_UNTAGGED] = "arp_untagged",
                        [DROP_BAD_FRAME] = "bad_frame",
                        [DROP_BAD_PORT] = "bad_port",
                        [DROP_ICMP_FRAGMENT] = "icmp_fragment",
                        [DROP_ICMP_MALFORMED] = "icmp_malformed",
                        [DROP_ICMP_NOT_ALLOWED] = "icmp_not_allowed",
                        [DROP_ICMP_RATE] = "icmp_rate_limited",
                        [DROP_IP_MALFORMED] = "ip_malformed",
                        [DROP_NO_GATEWAY_ADDRESS] = "no_gateway_address",
                        [DROP_NO_MTU] = "no_mtu",
                        [DROP_NO_ROOM] = "no_room",
                        [DROP_NO_ROUTE_OUTPUT] = "no_route_output",
                        [DROP_NOT_FOR_US] = "not_for_us",
                        [DROP_NOT_PUNTED] = "not_punted",
                        [DROP_UNKNOWN_SUBSCRIBER] = "unknown_subscriber",
                        [DROP_UNRESOLVED] = "unresolved",
                        [DROP_UNSUPPORTED] = "unsupported",
                    },
                /* what leaves by "to" is ready for a port and no more */
                .output_gives = {[ARP_OUT_ROUTE] = FACT_IPV4 | FACT_SUBSCRIBER},
                .egress = EGRESS_ALL_PORTS,
            },
        .state_size = sizeof(struct arp),
        .init = arp_init,
        .fini = arp_fini,
        .handle = arp_handle,
        .poll = arp_poll,
        .explain = arp_explain,
        .stat_names = stat_names,
        .stat = arp_stat,
};
