/* SPDX-License-Identifier: BSD-3-Clause */
/* arp: the slow path: ARP, neighbour discovery, ICMP echo to the gateway, ICMP errors. Packets come
 * from "punt" outputs. */
#include "tasks/arp/arp.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "engine/task.h"
#include "packet/frame.h"
#include "packet/ipv4.h"
#include "packet/qinq.h"
#include "tasks/arp/instance.h"

#define FIRST_TICK  (2 * TICKS_PER_S + 2) /* ASK_GAP and more, so that tick 0 is long ago */
#define FLUSH_EVERY 4   /* packets: one may become a reply, two requests and ARP_KEEP others */
#define PORT_BURST  128 /* punted at once from a core port: a part of a ring */

enum { PCP_DSCP, PCP_ZERO };
enum { ARG_AGE, ARG_ARP_RATE, ARG_ICMP_RATE, ARG_SUBSCRIBER_RATE, ARG_KEEP, ARG_PCP, N_ARGS };

static const char *const pcps[] = {[PCP_DSCP] = "dscp", [PCP_ZERO] = "zero", NULL};

static const struct task_param params[N_ARGS] = {
    [ARG_AGE] = {.name = "age",
                 .type = PARAM_DURATION,
                 .def = "20min",
                 .min = UINT64_C(1) * NS_PER_S,
                 .max = UINT64_C(7 * 86400) * NS_PER_S,
                 .help = "a learned MAC is asked for again at 3/4 of this, and forgotten at its "
                         "end"},
    [ARG_ARP_RATE] = {.name = "arp_rate",
                      .type = PARAM_COUNT,
                      .def = "10000",
                      .max = 1000000000,
                      .help = "ARP packets a second that are looked at, and requests that are "
                              "sent",
                      .more = "Subscribers and core each have so many, and so have requests for "
                              "MACs that are needed and for those that grow old. Neighbour "
                              "discovery of IPv6 has as many of its own, and asks out of the "
                              "same."},
    [ARG_ICMP_RATE] = {.name = "icmp_rate",
                       .type = PARAM_COUNT,
                       .def = "1000",
                       .max = 1000000000,
                       .help = "ICMP errors a second, and echo replies",
                       .more = "Subscribers and core each have so many of both."},
    [ARG_SUBSCRIBER_RATE] = {.name = "subscriber_rate",
                             .type = PARAM_COUNT,
                             .def = "20",
                             .min = 1,
                             .max = 1000000000,
                             .help = "packets a second that one subscriber may have looked at by "
                                     "the slow path, and at once",
                             .more = "Of each kind: ARP with neighbour discovery and pings to the "
                                     "gateway, packets whose TTL "
                                     "ends, those that are too big, and those for an unknown MAC. "
                                     "Others are dropped where they are found (punt_limited), "
                                     "before they cost anybody else anything."},
    [ARG_KEEP] = {.name = "keep",
                  .type = PARAM_COUNT,
                  .def = "3",
                  .max = ARP_KEEP,
                  .help = "packets that are kept of each neighbour whose MAC is asked for",
                  .more =
                      "The latest; for 32 neighbours at a time, and for three seconds. Those to "
                      "the core need the output route."},
    [ARG_PCP] = {.name = "pcp",
                 .type = PARAM_ENUM,
                 .def = "dscp",
                 .choices = pcps,
                 .help = "priority in both tags of ICMP to a subscriber: the upper bits of the "
                         "DSCP, or 0"},
};

#define RATE "Normal when somebody scans or floods; else raise "

static const struct task_drop drops[N_DROPS] = {
    [DROP_ARP_FOREIGN] = {"arp_foreign", "ARP that asks for an address which is not ours",
                          "None, or give the port that address."},
    [DROP_ARP_MALFORMED] = {"arp_malformed", "ARP that breaks RFC 826",
                            "Find who sends it: a broken device."},
    [DROP_ARP_OWN_MAC] = {"arp_own_mac",
                          "ARP or neighbour discovery from a sender that claims a MAC of the "
                          "gateway's",
                          "Look for a loop in the network behind the port, or stop the sender."},
    [DROP_ARP_RATE] = {"arp_rate_limited",
                       "More ARP a second from all subscribers, or from the core, than arp_rate",
                       RATE "arp_rate."},
    [DROP_ARP_SPOOFED] = {"arp_spoofed",
                          "ARP from an address that is not the sender's, or is the gateway's",
                          "Correct the subscriber's ipv4, or stop it."},
    [DROP_ARP_UNSOLICITED] =
        {"arp_unsolicited",
         "ARP that tells the MAC of a next hop, which nobody had asked for: it "
         "is asked for then",
         "Normal when a next hop is replaced; else find who claims its "
         "address."},
    [DROP_ARP_UNTAGGED] = {"arp_untagged",
                           "ARP or neighbour discovery without the VLAN pair of a subscriber",
                           "Correct the tags of the access network."},
    [DROP_BAD_FRAME] = {"bad_frame", "A frame that the slow path cannot read",
                        "Find who sends it: a broken device, or a link with another encapsulation "
                        "than configured."},
    [DROP_BAD_PORT] = {"bad_port", "Came from a port that the gateway does not have",
                       "Correct the links to the task."},
    [DROP_ICMP_FRAGMENT] = {"icmp_fragment", "ICMP to the gateway in fragments", "None."},
    [DROP_ICMP_MALFORMED] = {"icmp_malformed", "ICMP to the gateway that breaks RFC 792",
                             "Find who sends it: a broken device."},
    [DROP_ICMP_NOT_ALLOWED] = {"icmp_not_allowed",
                               "A packet that must not be answered: RFC 1812 section 4.3.2.7, RFC "
                               "1122 section 3.2.1.3",
                               "None."},
    [DROP_ICMP_RATE] = {"icmp_rate_limited",
                        "More ICMP a second for all subscribers, or for the core, than icmp_rate",
                        RATE "icmp_rate."},
    [DROP_IP_MALFORMED] = {"ip_malformed",
                           "IPv4 to the gateway that breaks RFC 791, or IPv6 that breaks RFC 8200",
                           "Find who sends it: a broken device."},
    [DROP_ND_FOREIGN] = {"nd_foreign",
                         "A neighbour solicitation for an address that is not the gateway's",
                         "None: a host looks for others that have its address, or for another host "
                         "of its link."},
    [DROP_ND_MALFORMED] =
        {"nd_malformed",
         "Neighbour discovery that breaks RFC 4861: hop limit, checksum, length, options, or a MAC "
         "that is no host's",
         "Find who sends it: a broken device, or somebody who is not on the link."},
    [DROP_ND_RATE] = {"nd_rate_limited",
                      "More neighbour discovery a second from all subscribers than arp_rate",
                      RATE "arp_rate."},
    [DROP_ND_SPOOFED] = {"nd_spoofed",
                         "Neighbour discovery from or about an address that is not the sender's, "
                         "or is the gateway's",
                         "Correct the subscriber's ipv6, or stop it."},
    [DROP_NO_ANSWER] = {"no_answer",
                        "It was kept while a MAC was asked for, no answer came in 3 seconds, and "
                        "its sender is not told: that is limited, and some must not be told",
                        "Is the neighbour up?"},
    [DROP_NO_GATEWAY_ADDRESS] = {"no_gateway_address", "The port has no address to answer from",
                                 "Give the port addresses."},
    [DROP_NO_MTU] = {"no_mtu", "The packet was too big for its way, but no MTU on that is known",
                     "Correct the next hop's port."},
    [DROP_NO_ROOM] = {"no_room", "No room before the packet for the headers of the answer",
                      "Larger data_room of the pool that the packet came in."},
    [DROP_NO_ROUTE_OUTPUT] = {"no_route_output",
                              "An answer that needs a route, and no task to look for it",
                              "Connect the output route."},
    [DROP_NO_TUNNEL] =
        {"no_tunnel",
         "ICMP \"fragmentation needed\" about a packet that no tunnel of the gateway "
         "has sent",
         "Find who forges it, if there are many."},
    [DROP_NOT_FOR_US] = {"not_for_us", "For an address that is not the gateway's",
                         "Correct the links to the task."},
    [DROP_NOT_PUNTED] = {"not_punted", "Came to the slow path without a reason",
                         "Connect only outputs punt to the task."},
    [DROP_TOO_MANY_HOSTS] = {"too_many_hosts",
                             "ARP of a host in a subscriber's prefix of whose hosts 8 are known",
                             "Say routed = true of the subscriber where one CPE has the prefix; "
                             "else such a network needs a router."},
    [DROP_UNKNOWN_SUBSCRIBER] = {"unknown_subscriber",
                                 "No subscriber has the VLAN pair or the address",
                                 "Add the subscriber, or correct its VLAN pair or address."},
    [DROP_UNRESOLVED] = {"unresolved",
                         "The MAC on the way is not known: it is asked for by ARP or neighbour "
                         "discovery, and a later packet is kept, or as many as are kept",
                         "Normal for a few packets; else: is the neighbour up?"},
    [DROP_UNSUPPORTED] = {"unsupported", "A packet to the gateway that nobody answers", "None."},
};

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

static void bucket_init(struct arp_bucket *b, uint64_t per_s)
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
        bucket_init(&a->bucket[side][CLASS_ARP], arp_rate);
        bucket_init(&a->bucket[side][CLASS_ND], arp_rate);
        bucket_init(&a->bucket[side][CLASS_ECHO], icmp_rate);
        bucket_init(&a->bucket[side][CLASS_ERROR], icmp_rate);
    }
    for (unsigned i = 0; i < N_ASKINGS; i++)
        bucket_init(&a->ask[i], arp_rate);
}

static void buckets_fill(struct arp *a, uint32_t ticks)
{
    for (unsigned side = 0; side < N_SIDES; side++)
        for (unsigned class = 0; class < N_CLASSES; class ++)
            bucket_fill(&a->bucket[side][class], ticks);
    for (unsigned i = 0; i < N_ASKINGS; i++)
        bucket_fill(&a->ask[i], ticks);
}

/* Tell those who punt what share of the slow path each of their sources has. What comes from the
 * core is no subscriber's: each of its ports has what all buckets here can take. */
static void share_out(const struct task_env *env)
{
    uint64_t most = RTE_MAX(env->cfg->param[ARG_ARP_RATE].u, env->cfg->param[ARG_ICMP_RATE].u);
    uint64_t each = env->cfg->param[ARG_SUBSCRIBER_RATE].u;

    if (env->punt_rates == NULL)
        return;
    env->punt_rates->subscriber = source_rate_of(env->tsc_hz, each, each);
    env->punt_rates->port = source_rate_of(env->tsc_hz, most, PORT_BURST);
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
    case N_PUNTS:
        break;
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
    a->sweep_due += ticks * a->sweep_add;
    a->members_due = (uint32_t)RTE_MIN(a->members_due + ticks * (a->n_neighbours / TICKS_PER_S + 1),
                                       (uint64_t)a->n_neighbours);
}

static uint16_t arp_poll(struct task *t, uint64_t now)
{
    uint16_t moved;

    advance(t->state, now);
    arp_paths_age(t->state);
    moved = arp_wait_on(t);
    task_flush(t);
    return t->stopping ? moved : (uint16_t)(moved + arp_sweep(t) + arp_ask_members(t));
}

static uint64_t arp_held(const struct task *t)
{
    return __atomic_load_n(&((const struct arp *)t->state)->kept, __ATOMIC_RELAXED);
}

static int arp_init(struct task *t, const struct task_env *env)
{
    struct arp *a = t->state;
    int rc;

    a->tables = env->tables;
    a->cfg = env->plan->cfg;
    a->pool = env->pool;
    a->tsc_per_tick = env->tsc_hz / TICKS_PER_S;
    a->tick = FIRST_TICK;
    a->age = (uint32_t)(env->cfg->param[ARG_AGE].u * TICKS_PER_S / NS_PER_S);
    a->refresh = a->age - a->age / 4;
    a->keep = (uint32_t)env->cfg->param[ARG_KEEP].u;
    a->pcp_from_dscp = env->cfg->param[ARG_PCP].u == PCP_DSCP;
    buckets_init(a, env->cfg->param[ARG_ARP_RATE].u, env->cfg->param[ARG_ICMP_RATE].u);
    share_out(env);
    rc = arp_neighbours_init(a, env->socket);
    if (rc != 0)
        log_error("task %s: no memory to remember neighbours in", env->cfg->name);
    return rc;
}

static void arp_fini(struct task *t)
{
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
    STAT_HOST_UNREACHABLE
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
                                         NULL};

static uint64_t arp_stat(const struct task *t, unsigned i)
{
    const struct arp *a = t->state;
    const uint64_t *figure[] = {&a->learned,     &a->forgotten,        &a->requests,
                                &a->no_mbuf,     &a->static_conflicts, &a->n_paths,
                                &a->cpe_changes, &a->n_changes,        &a->unreachables};

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
               .alone = true,
               .params = params,
               .n_params = N_ARGS,
               /* what leaves by "to" is ready for a port and no more */
               .outputs = {[ARP_OUT_TO] = {"to", "answers and requests that are ready for their "
                                                 "port"},
                           [ARP_OUT_ROUTE] = {"route",
                                              "ICMP errors towards the core, which need a "
                                              "route, and packets that were kept",
                                              .gives = FACT_IPV4 | FACT_SUBSCRIBER}},
               .drops = drops,
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
