/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules that send packets to queues, as data: which values, which headers. */
#include <string.h>

#include "engine/receive/rules.h"

#define PCP_SHIFT    13 /* of the PCP in a TCI */
#define TCLASS_SHIFT 20 /* of the traffic class in the first word of an IPv6 header */

const struct rule_shape rule_shapes[] = {
    {"eth / vlan", RECEIVE_S_VLAN, false, 1, 0},
    {"eth / vlan / vlan", RECEIVE_S_VLAN, false, 2, 0},
    {"eth / vlan", RECEIVE_PCP, false, 1, 0},
    {"eth / vlan / vlan", RECEIVE_PCP, false, 2, 0},
    {"eth / ipv4", RECEIVE_DSCP, false, 0, 4},
    {"eth / ipv6", RECEIVE_DSCP, false, 0, 6},
    {"eth / vlan / vlan / ipv4", RECEIVE_DSCP, true, 2, 4},
    {"eth / vlan / vlan / ipv6", RECEIVE_DSCP, true, 2, 6},
    {.text = NULL},
};

/* The largest aligned block that begins at first and ends at last or before it. */
static unsigned block_from(unsigned first, unsigned last, unsigned bits)
{
    unsigned size = 1;

    while (size < 1u << bits && (first & (size * 2 - 1)) == 0 && first + size * 2 - 1 <= last)
        size *= 2;
    return size;
}

unsigned rule_values(uint16_t first, uint16_t last, unsigned bits, enum rule_style style,
                     struct rule_value *out)
{
    uint16_t all = (uint16_t)((1u << bits) - 1);
    unsigned n = 0;

    if (style == STYLE_RANGE) {
        out[0] = (struct rule_value){first, all, first == last ? 0 : last};
        return 1;
    }
    for (unsigned v = first, size; v <= last; v += size) {
        size = style == STYLE_MASK ? block_from(v, last, bits) : 1;
        out[n++] = (struct rule_value){(uint16_t)v, (uint16_t)(all & ~(size - 1)), 0};
    }
    return n;
}

/* Put a value into the field that a shape compares. */
static void put_field(union rule_header *h, const struct rule_shape *shape, uint16_t value)
{
    if (shape->ip == 4)
        h->ipv4.hdr.type_of_service = (uint8_t)value;
    else if (shape->ip == 6)
        h->ipv6.hdr.vtc_flow = rte_cpu_to_be_32((uint32_t)value << TCLASS_SHIFT);
    else
        h->vlan.tci =
            rte_cpu_to_be_16((uint16_t)(shape->by == RECEIVE_PCP ? value << PCP_SHIFT : value));
}

void rule_make(struct flow_rule *r, const struct rule_shape *shape, struct rule_value v,
               uint16_t queue)
{
    struct rte_flow_item *item = r->pattern;

    memset(r, 0, sizeof(*r));
    r->attr.ingress = 1;
    put_field(&r->spec, shape, v.value);
    put_field(&r->mask, shape, v.mask);
    put_field(&r->last, shape, v.last);
    (item++)->type = RTE_FLOW_ITEM_TYPE_ETH;
    for (unsigned i = 0; i < shape->n_vlans; i++)
        (item++)->type = RTE_FLOW_ITEM_TYPE_VLAN;
    if (shape->ip != 0)
        (item++)->type = shape->ip == 4 ? RTE_FLOW_ITEM_TYPE_IPV4 : RTE_FLOW_ITEM_TYPE_IPV6;
    item->type = RTE_FLOW_ITEM_TYPE_END;
    item = &r->pattern[shape->ip != 0 ? shape->n_vlans + 1 : 1]; /* IP, or the outer tag */
    item->spec = &r->spec;
    item->mask = &r->mask;
    item->last = v.last != 0 ? &r->last : NULL;
    r->queue.index = queue;
    r->actions[0] = (struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &r->queue};
    r->actions[1].type = RTE_FLOW_ACTION_TYPE_END;
}
