/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How packets come to receive queues: the rules of all kinds, and RSS, on made-up devices. The
 * functions of rte_flow here take the place of DPDK's: they know what the made-up device can, keep
 * the rules, and say to which queue a packet would go.
 */
#define ALLOW_EXPERIMENTAL_API /* rte_flow_conv() */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include "common/program.h"
#include "engine/receive/receive.h"
#include "engine/task.h"

const struct task_type *const task_types[] = {NULL};

/* --- a device --- */

#define MOST_RULES 4096

/* A rule that the device has; a copy, as DPDK's are. */
struct kept {
    uint8_t copy[1024];
    const struct rte_flow_conv_rule *rule;
};

static struct {
    bool ranges, masks, one_tag, ipv6, inner, none; /* what it can; none: nothing */
    unsigned room;
    unsigned n, destroyed;
    struct kept rules[MOST_RULES];
} device;

static int refuse(struct rte_flow_error *error, const char *why)
{
    error->message = why;
    rte_errno = ENOTSUP;
    return -ENOTSUP;
}

/* Are all bits of the field that a rule may compare in the mask? */
static bool is_full(const struct rte_flow_item *i)
{
    const struct rte_flow_item_vlan *vlan = i->mask;
    const struct rte_flow_item_ipv4 *ipv4 = i->mask;
    const struct rte_flow_item_ipv6 *ipv6 = i->mask;

    if (i->type == RTE_FLOW_ITEM_TYPE_VLAN)
        return vlan->tci == RTE_BE16(0xfff) || vlan->tci == RTE_BE16(0xe000);
    if (i->type == RTE_FLOW_ITEM_TYPE_IPV4)
        return ipv4->hdr.type_of_service == 0xff;
    return ipv6->hdr.vtc_flow == RTE_BE32(0x0ff00000);
}

int rte_flow_validate(uint16_t port_id, const struct rte_flow_attr *attr,
                      const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
                      struct rte_flow_error *error)
{
    unsigned tags = 0;

    (void)port_id;
    CU_ASSERT(attr->ingress == 1 && attr->egress == 0 && attr->group == 0);
    if (device.none)
        return refuse(error, "no rules");
    if (actions[0].type == RTE_FLOW_ACTION_TYPE_RSS)
        return device.inner ? 0 : refuse(error, "no RSS by rules");
    CU_ASSERT_EQUAL(actions[0].type, RTE_FLOW_ACTION_TYPE_QUEUE);
    CU_ASSERT_EQUAL(actions[1].type, RTE_FLOW_ACTION_TYPE_END);
    CU_ASSERT_EQUAL(pattern[0].type, RTE_FLOW_ITEM_TYPE_ETH);
    for (const struct rte_flow_item *i = pattern; i->type != RTE_FLOW_ITEM_TYPE_END; i++) {
        tags += i->type == RTE_FLOW_ITEM_TYPE_VLAN;
        if (i->type == RTE_FLOW_ITEM_TYPE_IPV6 && !device.ipv6)
            return refuse(error, "no IPv6");
        if (i->last != NULL && !device.ranges)
            return refuse(error, "no ranges");
        if (i->mask != NULL && !is_full(i) && !device.masks)
            return refuse(error, "no masks");
    }
    return tags == 1 && !device.one_tag ? refuse(error, "two tags or none") : 0;
}

struct rte_flow *rte_flow_create(uint16_t port_id, const struct rte_flow_attr *attr,
                                 const struct rte_flow_item pattern[],
                                 const struct rte_flow_action actions[],
                                 struct rte_flow_error *error)
{
    const struct rte_flow_conv_rule given = {
        .attr_ro = attr, .pattern_ro = pattern, .actions_ro = actions};
    struct kept *k = &device.rules[device.n];
    int size;

    CU_ASSERT_EQUAL(rte_flow_validate(port_id, attr, pattern, actions, error), 0);
    if (device.n == device.room) {
        refuse(error, "table is full");
        rte_errno = ENOSPC;
        return NULL;
    }
    size = rte_flow_conv(RTE_FLOW_CONV_OP_RULE, k->copy, sizeof(k->copy), &given, error);
    CU_ASSERT_FATAL(size > 0 && (size_t)size <= sizeof(k->copy));
    k->rule = (const struct rte_flow_conv_rule *)k->copy;
    device.n++;
    return (struct rte_flow *)k;
}

int rte_flow_destroy(uint16_t port_id, struct rte_flow *flow, struct rte_flow_error *error)
{
    (void)port_id;
    (void)error;
    CU_ASSERT_PTR_EQUAL(flow, &device.rules[device.n - 1 - device.destroyed]);
    device.destroyed++;
    return 0;
}

/* A packet, as far as rules look at it. */
struct packet {
    unsigned tags, tci, ip, tos; /* tci: of the outer tag; ip: 4, 6 or 0 */
};

/* Does value, in host order, lie in what an item compares? */
static bool in(unsigned value, unsigned spec, unsigned mask, unsigned last)
{
    return last != 0 ? (value & mask) >= spec && (value & mask) <= last : (value & mask) == spec;
}

static bool matches(const struct rte_flow_item *i, const struct packet *p)
{
    unsigned tags = 0;

    for (; i->type != RTE_FLOW_ITEM_TYPE_END; i++) {
        const struct rte_flow_item_vlan *v = i->spec, *vm = i->mask, *vl = i->last;
        const struct rte_flow_item_ipv4 *i4 = i->spec, *i4m = i->mask, *i4l = i->last;
        const struct rte_flow_item_ipv6 *i6 = i->spec, *i6m = i->mask, *i6l = i->last;
        bool compares = i->spec != NULL;

        switch (i->type) {
        case RTE_FLOW_ITEM_TYPE_ETH:
            break;
        case RTE_FLOW_ITEM_TYPE_VLAN:
            if (++tags > p->tags)
                return false;
            if (compares &&
                (tags != 1 || !in(p->tci, rte_be_to_cpu_16(v->tci), rte_be_to_cpu_16(vm->tci),
                                  vl != NULL ? rte_be_to_cpu_16(vl->tci) : 0)))
                return false;
            break;
        case RTE_FLOW_ITEM_TYPE_IPV4:
            if (p->ip != 4 || tags != p->tags ||
                !in(p->tos, i4->hdr.type_of_service, i4m->hdr.type_of_service,
                    i4l != NULL ? i4l->hdr.type_of_service : 0))
                return false;
            break;
        case RTE_FLOW_ITEM_TYPE_IPV6:
            if (p->ip != 6 || tags != p->tags ||
                !in(p->tos << 20, rte_be_to_cpu_32(i6->hdr.vtc_flow),
                    rte_be_to_cpu_32(i6m->hdr.vtc_flow),
                    i6l != NULL ? rte_be_to_cpu_32(i6l->hdr.vtc_flow) : 0))
                return false;
            break;
        default:
            CU_FAIL("an item that no rule has");
            return false;
        }
    }
    return true;
}

/* The queue to which the device sends a packet; two rules of one packet are a mistake. */
static unsigned queue_of(const struct packet *p)
{
    unsigned queue = 0, found = 0;

    for (unsigned k = 0; k < device.n; k++)
        if (matches(device.rules[k].rule->pattern, p)) {
            queue = ((const struct rte_flow_action_queue *)device.rules[k].rule->actions[0].conf)
                        ->index;
            found++;
        }
    CU_ASSERT(found <= 1);
    return queue;
}

/* --- a plan of one port --- */

static struct cfg_model model;
static struct plan plan = {.cfg = &model};
static struct cfg_queue queues[3];
static struct receive_rules rules;
static struct receive_rss rss;
static char said[2000];

static struct cfg_receive *start(enum receive_by by, unsigned n_queues)
{
    static const char *const names[] = {"a", "b", "c"};

    memset(&device, 0, sizeof(device));
    device.room = MOST_RULES;
    memset(&model, 0, sizeof(model));
    model.n_ports = 1;
    model.ports[0] = (struct cfg_port){
        .name = "p",
        .loc = {"t.cfg", 3},
        .receive = {
            .loc = {"t.cfg", 4}, .given = true, .by = by, .n_queues = n_queues, .queues = queues}};
    for (unsigned q = 0; q < 3; q++)
        queues[q] = (struct cfg_queue){.loc = {"t.cfg", 10 + q}, .name = names[q]};
    plan.subscriber_ports = UINT64_MAX;
    plan.rx_queues[0] = (uint16_t)(n_queues > 0 ? n_queues : 4);
    rules = (struct receive_rules){0};
    rss = (struct receive_rss){0};
    return &model.ports[0].receive;
}

static void add_range(unsigned queue, unsigned first, unsigned last)
{
    queues[queue].range[queues[queue].n_ranges++] =
        (struct queue_range){(uint16_t)first, (uint16_t)last};
}

/* Call fn, and keep in said[] what it writes to stderr. */
static int listen_to(int (*fn)(void))
{
    FILE *f = tmpfile();
    int before = dup(2), rc;

    fflush(stderr);
    dup2(fileno(f), 2);
    rc = fn();
    fflush(stderr);
    dup2(before, 2);
    close(before);
    rewind(f);
    said[fread(said, 1, sizeof(said) - 1, f)] = '\0';
    fclose(f);
    return rc;
}

static int make(void)
{
    return receive_start(&plan, 0, 7, &rss, &rules);
}

static void says(const char *text)
{
    EXPECT(strstr(said, text) != NULL, "'%s' in '%s'", text, said);
}

static void stop(void)
{
    receive_stop(7, &rules);
    CU_ASSERT_EQUAL(device.destroyed, device.n);
    CU_ASSERT_EQUAL(rules.n, 0);
    CU_ASSERT_PTR_NULL(rules.flow);
}

/* The queue whose ranges have a value. */
static unsigned wanted(const struct cfg_receive *r, unsigned value)
{
    for (unsigned q = 0; q < r->n_queues; q++)
        for (unsigned i = 0; i < r->queues[q].n_ranges; i++)
            if (value >= r->queues[q].range[i].first && value <= r->queues[q].range[i].last)
                return q;
    return 0;
}

/* --- rules --- */

static void check_vlans(const struct cfg_receive *r)
{
    for (unsigned vid = 0; vid < 4096; vid++) {
        struct packet p = {.tags = 2, .tci = 0xb000 | vid};

        if (queue_of(&p) != wanted(r, vid)) {
            EXPECT(false, "VLAN %u comes to %u, not to %u", vid, queue_of(&p), wanted(r, vid));
            return;
        }
    }
    CU_ASSERT_EQUAL(queue_of(&(struct packet){.tags = 0}), 0);
}

static void s_vlans(void)
{
    /* ranges, blocks, single VLANs; n: so many rules that takes */
    static const struct {
        bool ranges, masks, one_tag;
        unsigned n;
    } devices[] = {{true, true, true, 4},
                   {false, true, true, 30},
                   {false, false, true, 2602},
                   {true, true, false, 4},
                   {false, false, false, 2602}};

    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        struct cfg_receive *r = start(RECEIVE_S_VLAN, 3);

        add_range(0, 1, 1000);
        add_range(1, 1001, 2500);
        add_range(1, 3000, 3000);
        add_range(2, 3900, 4000);
        device.ranges = devices[i].ranges;
        device.masks = devices[i].masks;
        device.one_tag = devices[i].one_tag;
        CU_ASSERT_EQUAL(make(), 0);
        EXPECT(device.n == devices[i].n, "%u rules, of device %zu", device.n, i);
        check_vlans(r);
        stop();
    }
}

static void priorities(void)
{
    static const bool can[] = {true, false};

    for (unsigned k = 0; k < 2; k++) {
        struct cfg_receive *r = start(RECEIVE_PCP, 2);

        add_range(1, 5, 7);
        device.ranges = device.masks = can[k];
        device.one_tag = true;
        CU_ASSERT_EQUAL(make(), 0);
        for (unsigned tci = 0; tci < 65536; tci += 97)
            CU_ASSERT_EQUAL(queue_of(&(struct packet){.tags = 2, .tci = tci}),
                            wanted(r, tci >> 13));
        stop();
    }
}

/* Of both families, whatever ECN says, behind two tags or none. */
static void check_dscps(const struct cfg_receive *r, unsigned tags, bool ipv6)
{
    for (unsigned tos = 0; tos < 256; tos++) {
        struct packet p4 = {tags, 0, 4, tos}, p6 = {tags, 0, 6, tos}, other = {2 - tags, 0, 4, tos};

        CU_ASSERT_EQUAL(queue_of(&p4), wanted(r, tos >> 2));
        CU_ASSERT_EQUAL(queue_of(&p6), ipv6 ? wanted(r, tos >> 2) : 0);
        CU_ASSERT_EQUAL(queue_of(&other), 0);
    }
}

static void dscps(void)
{
    static struct cfg_subscriber subscriber;
    static const struct {
        bool ranges, masks;
        unsigned n; /* rules of each family */
    } devices[] = {{true, true, 3}, {false, true, 3}, {false, false, 72}};

    for (unsigned tags = 0; tags <= 2; tags += 2)
        for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
            struct cfg_receive *r = start(RECEIVE_DSCP, 3);

            model.subscribers = &subscriber;
            model.n_subscribers = tags / 2;
            add_range(1, 46, 46);
            add_range(1, 48, 63);
            add_range(2, 8, 8);
            device.ranges = devices[i].ranges;
            device.masks = devices[i].masks;
            device.ipv6 = true;
            CU_ASSERT_EQUAL(make(), 0);
            EXPECT(device.n == 2 * devices[i].n, "%u rules, of device %zu", device.n, i);
            check_dscps(r, tags, true);
            stop();
        }
}

static void no_ipv6(void)
{
    struct cfg_receive *r = start(RECEIVE_DSCP, 2);

    add_range(1, 40, 63);
    device.ranges = true;
    CU_ASSERT_EQUAL(listen_to(make), -ENOTSUP);
    says("error: t.cfg:11: port p: the device refuses rules for queue 'b' of IPv6 (nearest = true: "
         "IPv6 comes to the first queue): no IPv6; nearest: read the port on one core by a task "
         "that names a scheduler");
    CU_ASSERT_EQUAL(rules.n, 0);
    CU_ASSERT_EQUAL(device.destroyed, device.n); /* those of IPv4 */

    r = start(RECEIVE_DSCP, 2);
    add_range(1, 40, 63);
    device.ranges = r->nearest = true;
    CU_ASSERT_EQUAL(listen_to(make), 0);
    says("warning: t.cfg:11: port p: the device refuses rules for DSCPs of IPv6: no IPv6; nearest: "
         "all of IPv6 comes to queue 'a'\n");
    check_dscps(r, 0, false);
    stop();
}

static void no_rules(void)
{
    start(RECEIVE_PCP, 2);
    add_range(1, 0, 4);
    device.none = true;
    CU_ASSERT_EQUAL(listen_to(make), -ENOTSUP);
    says("error: t.cfg:11: port p: the device refuses rules for queue 'b': no rules; nearest: read "
         "the port on one core by a task that names a scheduler");
    CU_ASSERT_EQUAL(device.n, 0);
}

/* A device whose table is too small takes its rules back. */
static void no_room(void)
{
    start(RECEIVE_S_VLAN, 2);
    add_range(0, 1, 10);
    add_range(1, 11, 20);
    device.one_tag = true;
    device.room = 15;
    CU_ASSERT_EQUAL(listen_to(make), -ENOSPC);
    says("error: t.cfg:11: port p: the device refuses rules for queue 'b': table is full (it took "
         "15); nearest: read the port on one core and spread with a task of type lb\n");
    CU_ASSERT_EQUAL(device.destroyed, 15);
    CU_ASSERT_EQUAL(rules.n, 0);
}

/* --- RSS --- */

static struct rte_eth_dev_info info;

static int choose(void)
{
    return receive_choose_rss(&plan, 0, &info, 4, &rss);
}

static struct cfg_receive *start_rss(uint64_t offloads, uint8_t key_size)
{
    struct cfg_receive *r = start(RECEIVE_RSS, 0);

    info = (struct rte_eth_dev_info){.flow_type_rss_offloads = offloads, .hash_key_size = key_size};
    return r;
}

static void rss_fields(void)
{
    struct cfg_receive *r = start_rss(RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_S_VLAN, 40);

    r->fields = FIELD_IP | FIELD_S_VLAN;
    CU_ASSERT_EQUAL(listen_to(choose), 0);
    CU_ASSERT_STRING_EQUAL(said, "");
    CU_ASSERT_EQUAL(rss.types, RTE_ETH_RSS_IP | RTE_ETH_RSS_S_VLAN);
    CU_ASSERT_PTR_NULL(rss.key);
    r->fields = FIELD_L4; /* those that there are */
    CU_ASSERT_EQUAL(choose(), 0);
    CU_ASSERT_EQUAL(rss.types, RTE_ETH_RSS_UDP);

    r->fields = FIELD_S_VLAN | FIELD_C_VLAN | FIELD_L4;
    CU_ASSERT_EQUAL(listen_to(choose), -ENOTSUP);
    CU_ASSERT_STRING_EQUAL(
        said, "vbng: error: t.cfg:4: port p: the device's RSS does not know c_vlan (it knows ip, "
              "l4, s_vlan); nearest: fields = [\"l4\", \"s_vlan\"]; say so, or nearest = true, or "
              "read the port on one core and spread with a task of type lb\n");
    r->nearest = true;
    CU_ASSERT_EQUAL(listen_to(choose), 0);
    says("warning: t.cfg:4: port p: the device's RSS does not know c_vlan");
    CU_ASSERT_EQUAL(rss.types, RTE_ETH_RSS_UDP | RTE_ETH_RSS_S_VLAN);

    r->fields = FIELD_IP_SRC; /* needs a flag */
    CU_ASSERT_EQUAL(listen_to(choose), -ENOTSUP);
    says("error: t.cfg:4: port p: the device's RSS does not know ip_src (it knows ip, l4, s_vlan); "
         "nearest: fields = [\"ip\", \"l4\", \"s_vlan\"], or read the port on one core");
    info.flow_type_rss_offloads |= RTE_ETH_RSS_L3_SRC_ONLY;
    CU_ASSERT_EQUAL(choose(), 0);
    CU_ASSERT_EQUAL(rss.types, RTE_ETH_RSS_IP | RTE_ETH_RSS_L3_SRC_ONLY);
}

/* Nothing is asked for: what there is, and a warning of what subscribers' frames would need. */
static void rss_by_default(void)
{
    static struct cfg_subscriber subscriber;
    struct cfg_receive *r = start_rss(RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP, 40);

    *r = (struct cfg_receive){0};
    CU_ASSERT_EQUAL(listen_to(choose), 0);
    CU_ASSERT_STRING_EQUAL(said, "");
    CU_ASSERT_EQUAL(rss.types, RTE_ETH_RSS_IP);
    model.subscribers = &subscriber;
    model.n_subscribers = 1;
    CU_ASSERT_EQUAL(listen_to(choose), 0);
    says("warning: t.cfg:3: port p: the device's RSS knows no VLAN tags");
    info.flow_type_rss_offloads = 0;
    CU_ASSERT_EQUAL(listen_to(choose), 0);
    says("warning: t.cfg:3: port p has no RSS");
    CU_ASSERT_EQUAL(rss.types, 0);
    r->given = true;
    r->loc = (struct loc){"t.cfg", 4};
    CU_ASSERT_EQUAL(listen_to(choose), -ENOTSUP);
    says("error: t.cfg:4: port p: the device has no RSS; nearest: read the port on one core and "
         "spread with a task of type lb\n");
    info.flow_type_rss_offloads = RTE_ETH_RSS_MPLS;
    CU_ASSERT_EQUAL(listen_to(choose), -ENOTSUP);
    says("error: t.cfg:4: port p: the device's RSS does not know ip, s_vlan, c_vlan (it knows "
         "mpls); nearest: fields = [\"mpls\"], or read the port on one core");
}

/* The Toeplitz hash of Microsoft's RSS. */
static uint32_t toeplitz(const uint8_t *key, const uint8_t *data, unsigned len)
{
    uint32_t hash = 0;

    for (unsigned bit = 0; bit < len * 8; bit++) {
        uint64_t window = 0;

        for (unsigned i = 0; i < 5; i++)
            window = window << 8 | key[bit / 8 + i];
        if ((data[bit / 8] >> (7 - bit % 8) & 1) != 0)
            hash ^= (uint32_t)(window >> (8 - bit % 8));
    }
    return hash;
}

static void rss_symmetric(void)
{
    static const uint8_t there[] = {10, 0, 0, 1, 198, 18, 7, 9, 0x30, 0x39, 0, 80},
                         back[] = {198, 18, 7, 9, 10, 0, 0, 1, 0, 80, 0x30, 0x39},
                         other[] = {10, 0, 0, 2, 198, 18, 7, 9, 0x30, 0x39, 0, 80};
    struct cfg_receive *r = start_rss(RTE_ETH_RSS_IP, 52);

    r->fields = FIELD_IP;
    r->symmetric = true;
    CU_ASSERT_EQUAL(choose(), 0);
    CU_ASSERT_EQUAL(rss.key_len, 52);
    CU_ASSERT_EQUAL(toeplitz(rss.key, there, 12), toeplitz(rss.key, back, 12));
    CU_ASSERT_NOT_EQUAL(toeplitz(rss.key, there, 12), toeplitz(rss.key, other, 12));
    info.hash_key_size = 0;
    CU_ASSERT_EQUAL(listen_to(choose), -ENOTSUP);
    says("error: t.cfg:4: port p: the device's RSS takes no key, so that it cannot be symmetric; "
         "nearest: symmetric = false; ");
    r->nearest = true;
    CU_ASSERT_EQUAL(listen_to(choose), 0);
    CU_ASSERT_PTR_NULL(rss.key);
}

/* By a flag of the device, by a rule, or not at all. */
static void rss_inner(void)
{
    struct cfg_receive *r = start_rss(RTE_ETH_RSS_IP | RTE_ETH_RSS_LEVEL_MASK, 40);
    const struct rte_flow_action_rss *conf;

    r->fields = FIELD_IP;
    r->inner = true;
    CU_ASSERT_EQUAL(choose(), 0);
    CU_ASSERT_EQUAL(rss.types, RTE_ETH_RSS_IP | RTE_ETH_RSS_LEVEL_INNERMOST);
    CU_ASSERT_EQUAL(make(), 0);
    CU_ASSERT_EQUAL(device.n, 0);

    info.flow_type_rss_offloads = RTE_ETH_RSS_IP;
    device.inner = true;
    CU_ASSERT_EQUAL(choose(), 0);
    CU_ASSERT_EQUAL(rss.types, RTE_ETH_RSS_IP);
    CU_ASSERT_EQUAL(make(), 0);
    CU_ASSERT_EQUAL_FATAL(device.n, 1);
    conf = device.rules[0].rule->actions[0].conf;
    CU_ASSERT(conf->level == 2 && conf->types == RTE_ETH_RSS_IP);
    CU_ASSERT(conf->queue_num == 4 && conf->queue[0] == 0 && conf->queue[3] == 3);
    stop();

    device.inner = false;
    CU_ASSERT_EQUAL(listen_to(make), -ENOTSUP);
    says("error: t.cfg:4: port p: the device's RSS knows no inner headers: no RSS by rules; "
         "nearest: inner = false; ");
    r->nearest = true;
    CU_ASSERT_EQUAL(listen_to(make), 0);
    says("warning: t.cfg:4: port p: the device's RSS knows no inner headers: ");
}

static const struct test tests[] = {
    {"rules for S-VLANs: ranges, masks, one by one", s_vlans},
    {"rules for priorities", priorities},
    {"rules for DSCPs of both families", dscps},
    {"a device that has no rules of IPv6", no_ipv6},
    {"a device without rules", no_rules},
    {"a device without room", no_room},
    {"fields of RSS", rss_fields},
    {"RSS where nothing is said", rss_by_default},
    {"symmetric RSS", rss_symmetric},
    {"RSS of inner headers", rss_inner},
    {NULL, NULL},
};

const struct test_program test_program = {.name = "receive", .tests = tests};
