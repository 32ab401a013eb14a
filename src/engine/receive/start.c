/* SPDX-License-Identifier: BSD-3-Clause */
/* Making the rules of a port, in the style and with the headers that its device knows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

#include "base/log.h"
#include "engine/receive/receive.h"
#include "engine/receive/rules.h"

#define VLAN_BITS 12
#define PCP_BITS  3
#define TOS_BITS  8 /* DSCP and ECN */
#define ECN_BITS  2

/* Rules that are being made of a port. */
struct making {
    const struct cfg_port *cfg;
    uint16_t dpdk_id;
    struct receive_rules *rules;
    const struct cfg_queue *refused; /* the queue of the rule that the device refused last */
    char why[160];
};

static void keep_reason(struct making *mk, const struct rte_flow_error *error)
{
    snprintf(mk->why, sizeof(mk->why), "%s",
             error->message != NULL ? error->message : rte_strerror(rte_errno));
}

/* Returns 0, or -errno with the device's own words in mk->why. */
static int check_rule(struct making *mk, const struct flow_rule *r)
{
    struct rte_flow_error error = {0};
    int rc = rte_flow_validate(mk->dpdk_id, &r->attr, r->pattern, r->actions, &error);

    if (rc != 0)
        keep_reason(mk, &error);
    return rc;
}

static int make_rule(struct making *mk, const struct flow_rule *r)
{
    struct receive_rules *rules = mk->rules;
    struct rte_flow_error error = {0};
    struct rte_flow **grown, *flow;

    grown = reallocarray(rules->flow, rules->n + 1, sizeof(rules->flow[0]));
    if (grown == NULL)
        return -ENOMEM;
    rules->flow = grown;
    flow = rte_flow_create(mk->dpdk_id, &r->attr, r->pattern, r->actions, &error);
    if (flow == NULL) {
        int rc = rte_errno != 0 ? -rte_errno : -EIO;
        size_t len;

        keep_reason(mk, &error);
        len = strlen(mk->why);
        snprintf(mk->why + len, sizeof(mk->why) - len, " (it took %u)", rules->n);
        return rc;
    }
    rules->flow[rules->n++] = flow;
    return 0;
}

static unsigned bits_of(enum receive_by by)
{
    return by == RECEIVE_S_VLAN ? VLAN_BITS : by == RECEIVE_PCP ? PCP_BITS : TOS_BITS;
}

/* Check, or make, the rules of one range of a queue. */
static int each_value(struct making *mk, const struct rule_shape *shape, enum rule_style style,
                      uint16_t queue, struct queue_range range,
                      int (*fn)(struct making *mk, const struct flow_rule *r))
{
    static struct rule_value values[RULE_MAX_VALUES]; /* of the main thread */
    unsigned n;
    int rc = 0;

    if (shape->by == RECEIVE_DSCP) /* ECN may be anything */
        range = (struct queue_range){(uint16_t)(range.first << ECN_BITS),
                                     (uint16_t)((range.last + 1) << ECN_BITS) - 1};
    n = rule_values(range.first, range.last, bits_of(shape->by), style, values);
    for (unsigned i = 0; rc == 0 && i < n; i++) {
        struct flow_rule rule;

        rule_make(&rule, shape, values[i], queue);
        rc = fn(mk, &rule);
    }
    return rc;
}

/* Check, or make, the rules of all queues. */
static int each_queue(struct making *mk, const struct rule_shape *shape, enum rule_style style,
                      int (*fn)(struct making *mk, const struct flow_rule *r))
{
    const struct cfg_receive *receive = &mk->cfg->receive;
    int rc = 0;

    for (unsigned q = 0; rc == 0 && q < receive->n_queues; q++)
        for (unsigned i = 0; rc == 0 && i < receive->queues[q].n_ranges; i++) {
            mk->refused = &receive->queues[q];
            rc = each_value(mk, shape, style, (uint16_t)q, receive->queues[q].range[i], fn);
        }
    return rc;
}

/* Make rules of the first of the shapes, in the first style, that the device takes all of. ip: 4 or
 * 6 of DSCP, else 0. Returns 0, or -errno with a reason in mk. */
static int make_rules(struct making *mk, bool behind_tags, unsigned ip)
{
    enum receive_by by = mk->cfg->receive.by;
    int rc = -ENOTSUP;

    for (const struct rule_shape *s = rule_shapes; s->text != NULL; s++)
        for (unsigned style = 0; style < N_RULE_STYLES; style++) {
            if (s->by != by || s->ip != ip || (ip != 0 && s->behind_tags != behind_tags))
                continue;
            rc = each_queue(mk, s, style, check_rule);
            if (rc == 0)
                return each_queue(mk, s, style, make_rule);
        }
    return rc;
}

static void refuse(const struct making *mk, const char *what)
{
    log_error("%s:%u: port %s: the device refuses rules for queue '%s'%s: %s; nearest: %s",
              mk->refused->loc.file, mk->refused->loc.line, mk->cfg->name, mk->refused->name, what,
              mk->why, receive_remedy(mk->cfg->receive.by));
}

/* IPv6 may lack a rule that IPv4 has, and then come to the first queue. */
static int refuse_ipv6(const struct making *mk, int rc)
{
    const struct cfg_receive *r = &mk->cfg->receive;

    if (!r->nearest) {
        refuse(mk, " of IPv6 (nearest = true: IPv6 comes to the first queue)");
        return rc;
    }
    log_warning("%s:%u: port %s: the device refuses rules for DSCPs of IPv6: %s; nearest: all of "
                "IPv6 comes to queue '%s'",
                mk->refused->loc.file, mk->refused->loc.line, mk->cfg->name, mk->why,
                r->queues[0].name);
    return 0;
}

static int start_rules(struct making *mk, bool tags)
{
    bool dscp = mk->cfg->receive.by == RECEIVE_DSCP;
    unsigned before;
    int rc = make_rules(mk, tags, dscp ? 4 : 0);

    if (rc != 0)
        refuse(mk, "");
    if (rc != 0 || !dscp)
        return rc;
    before = mk->rules->n;
    rc = make_rules(mk, tags, 6);
    return rc != 0 && mk->rules->n == before ? refuse_ipv6(mk, rc) : rc;
}

/* RSS of inner headers, for all packets. */
static int start_inner(struct making *mk, const struct receive_rss *rss, uint16_t n_queues)
{
    const struct cfg_receive *r = &mk->cfg->receive;
    uint16_t queues[RTE_MAX_QUEUES_PER_PORT];
    struct rte_flow_action_rss conf = {.level = 2,
                                       .types = rss->types,
                                       .key = rss->key,
                                       .key_len = rss->key_len,
                                       .queue = queues,
                                       .queue_num = n_queues};
    struct flow_rule rule = {
        .attr = {.ingress = 1},
        .pattern = {{.type = RTE_FLOW_ITEM_TYPE_ETH}, {.type = RTE_FLOW_ITEM_TYPE_END}},
        .actions = {{.type = RTE_FLOW_ACTION_TYPE_RSS, .conf = &conf},
                    {.type = RTE_FLOW_ACTION_TYPE_END}}};
    int rc;

    for (uint16_t q = 0; q < n_queues; q++)
        queues[q] = q;
    rc = check_rule(mk, &rule);
    if (rc == 0)
        rc = make_rule(mk, &rule);
    if (rc == 0)
        return 0;
    if (r->nearest) {
        log_warning("%s:%u: port %s: the device's RSS knows no inner headers: %s; nearest: inner = "
                    "false",
                    r->loc.file, r->loc.line, mk->cfg->name, mk->why);
        return 0;
    }
    log_error("%s:%u: port %s: the device's RSS knows no inner headers: %s; nearest: inner = "
              "false; say so, or nearest = true, or %s",
              r->loc.file, r->loc.line, mk->cfg->name, mk->why, receive_remedy(r->by));
    return rc;
}

int receive_start(const struct plan *p, unsigned i, uint16_t dpdk_id, const struct receive_rss *rss,
                  struct receive_rules *rules)
{
    struct making mk = {.cfg = &p->cfg->ports[i], .dpdk_id = dpdk_id, .rules = rules};
    int rc = 0;

    if (receive_by_rules(&mk.cfg->receive))
        rc = start_rules(&mk, plan_port_has_tags(p, i));
    else if (rss->inner_by_rule)
        rc = start_inner(&mk, rss, p->rx_queues[i]);
    if (rc != 0)
        receive_stop(dpdk_id, rules);
    return rc;
}

void receive_stop(uint16_t dpdk_id, struct receive_rules *rules)
{
    struct rte_flow_error error;

    while (rules->n > 0)
        rte_flow_destroy(dpdk_id, rules->flow[--rules->n], &error);
    free(rules->flow);
    *rules = (struct receive_rules){0};
}
