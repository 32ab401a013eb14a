/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes of a dry run: what a task has found out about a packet, derived from the mbuf's metadata
 * and the chosen output. */
#include <inttypes.h>

#include <rte_ip.h>

#include "base/units.h"
#include "explain/walker.h"
#include "packet/bytes.h"
#include "packet/ipv6.h"
#include "packet/qinq.h"
#include "tasks/qos/qos.h"

#define DESTINATION_AT  30 /* of the IPv4 packet in an untagged frame */
#define DESTINATION6_AT 38 /* of the IPv6 packet */

static const char *queue_name(unsigned queue)
{
    static const char *const names[QOS_QUEUES] = {"class 0",
                                                  "class 1",
                                                  "class 2",
                                                  "class 3",
                                                  "class 4",
                                                  "class 5",
                                                  "class 6",
                                                  "class 7",
                                                  "class 8",
                                                  "class 9",
                                                  "class 10",
                                                  "class 11",
                                                  "best effort, queue 0",
                                                  "best effort, queue 1",
                                                  "best effort, queue 2",
                                                  "best effort, queue 3"};

    return names[queue % QOS_QUEUES];
}

/* Count the leading ones of a mask. */
static unsigned prefix_len(rte_be32_t mask)
{
    return (unsigned)__builtin_popcount(mask);
}

static void print_hosts(const struct subscriber *s, FILE *to)
{
    char address[32], text[32];
    uint32_t first = net32(s->ipv4_net);
    unsigned known = 0;
    uint8_t mac[6];

    for (uint32_t i = 0; i <= ~net32(s->ipv4_mask); i++)
        if (hosts_find(s->hosts, net32(first + i), mac))
            fprintf(to, "%s %s of %s", known++ == 0 ? ", MAC" : ",",
                    format_mac(mac, text, sizeof(text)),
                    format_ipv4(first + i, address, sizeof(address)));
    fputs(known == 0 ? ", no host's MAC known\n" : "\n", to);
}

/* Write the prefix of a subscriber's link, or his address there, and what is delegated to him. */
static void print_prefixes(const struct subscriber6 *s, FILE *to)
{
    char text[IPV6_TEXT];

    if (s->wan_len == 64)
        fprintf(to, ", %s", format_prefix6((struct ipv6){s->wan_upper, 0}, 64, text));
    else if (s->wan_len != 0)
        fprintf(to, ", %s", format_ipv6((struct ipv6){s->wan_upper, s->wan_lower}, text));
    for (unsigned i = 0; i < s->n_delegated; i++)
        fprintf(to, ", delegated %s",
                format_prefix6((struct ipv6){s->delegated[i] << s->shift[i], 0},
                               (uint8_t)(64 - s->shift[i]), text));
}

static void print_subscriber(const struct explain *x, uint32_t id, FILE *to)
{
    const struct subscriber *s = &x->tables->subscribers->record[id];
    uint64_t tags = qinq_tags(s->l2);
    char address[32], mac[32];

    fprintf(to, "subscriber %" PRIu32 ": %s %u.%u", id, x->e->plan->cfg->ports[s->port].name,
            qinq_svlan(tags), qinq_cvlan(tags));
    if (s->ipv4_mask != 0)
        fprintf(to, ", %s/%u", format_ipv4(net32(subscriber_ipv4(s)), address, sizeof(address)),
                prefix_len(s->ipv4_mask));
    if (s->has_ipv6)
        print_prefixes(&x->tables->subscribers->v6->record[id], to);
    if (s->has_gre_key)
        fprintf(to, ", GRE key %" PRIu32, net32(s->gre_key));
    if (s->mac_known)
        fprintf(to, ", MAC %s\n", format_mac(s->l2, mac, sizeof(mac)));
    else if (s->hosts != NULL)
        print_hosts(s, to);
    else
        fputs(", MAC not known\n", to);
}

static void print_path(uint32_t path, FILE *to)
{
    if (path >= SUBSCRIBER_NO_PATH)
        fputs("no scheduler shapes this subscriber\n", to);
    else
        fprintf(to, "%s of pipe %" PRIu32 "\n", queue_name(path), path / QOS_QUEUES);
}

/* Find the longest prefix of an address, if its route leads to this next hop. */
static void print_prefix(const struct route_table *r, uint32_t address, uint32_t id, FILE *to)
{
    uint8_t len = 0;
    uint32_t number = prefixes_match(&r->fib.routes, address, 32, &len), n = 1;
    char text[32];

    if (number != PREFIXES_NONE && (number & ROUTE_SET) != 0) {
        const struct nexthop_set *set = &r->set[number & ~ROUTE_SET];

        n = nexthop_set_size(set);
        for (uint32_t i = 0; i < n && number != id; i++)
            number = set->id[i];
    }
    if (number != id)
        return;
    fprintf(to, "route %s/%u: ", format_ipv4(address & prefix_mask(len), text, sizeof(text)), len);
    if (n > 1)
        fprintf(to, "one of %" PRIu32 " for this flow: ", n);
}

static void print_prefix6(const struct route_table *r, const uint8_t *address, uint32_t id,
                          FILE *to)
{
    struct ipv6 addr = ipv6_of(address);
    char text[IPV6_TEXT];
    unsigned len;

    if (route_has6(r) && prefixes6_match(&r->fib6.routes, addr, 128, &len) == id)
        fprintf(to, "route %s: ", format_prefix6(first6(addr, (uint8_t)len), (uint8_t)len, text));
}

static void print_nexthop(const struct explain *x, uint32_t id, const struct walk_frame *frame,
                          FILE *to)
{
    const struct route_table *r = x->tables->routes;
    const struct nexthop *nh = &r->nexthop[id];
    struct tunnel_ends ends = nexthop_ends(nh);
    char text[IPV6_TEXT], from[IPV6_TEXT];

    if (frame->len >= DESTINATION6_AT + 16 && eth_is_ipv6(frame->bytes))
        print_prefix6(r, frame->bytes + DESTINATION6_AT, id, to);
    else if (frame->len >= DESTINATION_AT + 4)
        print_prefix(r, net32(load32(frame->bytes + DESTINATION_AT)), id, to);
    if (nh->local) {
        fputs("an address of the gateway itself\n", to);
        return;
    }
    fprintf(to, "next hop %" PRIu32 " by %s", id, x->e->plan->cfg->ports[nh->port].name);
    if (nh->mac_known)
        fprintf(to, ", MAC %s", format_mac(nh->eth, text, sizeof(text)));
    else
        fprintf(to, ", MAC of %s not known", format_address(r->via[id], text));
    if (nh->has_gre)
        fprintf(to, ", GRE %s -> %s", format_address(ends.ours, from),
                format_address(ends.far, text));
    if (nh->has_mpls)
        fprintf(to, ", label %" PRIu32, net32(nh->mpls) >> 12);
    fputc('\n', to);
}

/* Write the subscriber's rate, and how full the queue of the packet is. */
static void print_shaping(const struct explain *x, unsigned instance, uint32_t path, FILE *to)
{
    const struct qos *q = qos_state(x->e->tasks[instance]);
    uint32_t pipe = qos_place(q, path / QOS_QUEUES), profile;
    unsigned queue = path % QOS_QUEUES;
    const struct cfg_class *class = &q->shape->class[qos_class_of(queue)];
    char text[32];
    int depth;

    if (pipe == CFG_NONE)
        return;
    profile = __atomic_load_n(&q->pipe[pipe].profile, __ATOMIC_RELAXED);
    if (profile == CFG_NONE)
        return;
    format_rate(q->cfg->profiles[profile].shape[q->direction].rate, text, sizeof(text));
    fprintf(to, "profile %s: %sbit/s %s\n", q->cfg->profiles[profile].name, text,
            q->direction == QOS_UP ? "up" : "down");
    depth = x->depth != NULL ? x->depth(x->ctx, instance, path) : -1;
    if (depth >= 0)
        fprintf(to, "%s holds %d of %u packets%s%s%s\n", queue_name(queue), depth, class->size,
                (unsigned)depth >= class->size ? ": full" : "",
                class->hold_ns != 0 ? ", and of no more than leave in " : "",
                class->hold_ns != 0 ? format_duration(class->hold_ns, text, sizeof(text)) : "");
}

static const char *punt_text(enum punt_reason why)
{
    static const char *const texts[] = {
        [PUNT_FOR_US] = "it is for the gateway itself",
        [PUNT_NO_MAC] = "the MAC that it goes to is not known",
        [PUNT_TTL_EXPIRED] = "its TTL ends here",
        [PUNT_TOO_BIG] = "it is too big and must not be fragmented",
        [PUNT_NO_ROUTE] = "no route leads where it goes",
        [PUNT_LINE] = "the control plane answers it",
    };

    return (unsigned)why < RTE_DIM(texts) ? texts[why] : "no reason";
}

void notes_print(const struct explain *x, const struct walk_step *step, const struct meta *before,
                 const struct meta *after, const struct walk_frame *frame, FILE *to)
{
    const struct plan_instance *inst = &x->e->plan->instances[step->instance];
    const struct task *t = x->e->tasks[step->instance];

    if (after->subscriber != before->subscriber && after->subscriber != 0)
        print_subscriber(x, after->subscriber, to);
    if (after->path != before->path)
        print_path(after->path, to);
    if (t->type->schema.egress == EGRESS_NEXTHOPS && x->e->plan->n_routes_on > 1)
        fprintf(to, "looks in the routes of socket %u\n",
                x->e->plan->routes_on[x->e->plan->cores[inst->core].routes]);
    if (after->nexthop != before->nexthop && after->nexthop != 0)
        print_nexthop(x, after->nexthop, frame, to);
    if (qos_state(t) != NULL)
        print_shaping(x, step->instance, after->path, to);
    for (unsigned i = 0; i < step->n_ends; i++) {
        const struct walk_end *end = &step->end[i];

        if (end->kind != END_OUTPUT)
            continue;
        if (end->punted)
            fprintf(to, "to the slow path: %s\n", punt_text(after->punt));
        if (t->type->schema.spreads && inst->output[0].n_dests > 1)
            fprintf(to, "worker %u of %u\n", end->way, inst->output[0].n_dests);
    }
}
