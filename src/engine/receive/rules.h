/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules that send packets to receive queues, as data. */
#ifndef ENGINE_RECEIVE_RULES_H
#define ENGINE_RECEIVE_RULES_H

#include <rte_flow.h>

#include "config/receive.h"

/** How a range of values is written: as a range, as blocks with a mask, or value by value. Few
 * devices have the first, all that have rules the last. */
enum rule_style { STYLE_RANGE, STYLE_MASK, STYLE_EXACT, N_RULE_STYLES };

/** A value that a header's field is compared to. */
struct rule_value {
    uint16_t value, mask, last; /* last: of STYLE_RANGE, else 0 */
};

#define RULE_MAX_VALUES 4096 /* of one range */

/** Write first..last, of a field of so many bits, in a style. Returns how many values that takes.
 */
unsigned rule_values(uint16_t first, uint16_t last, unsigned bits, enum rule_style style,
                     struct rule_value *out);

/** The headers that a rule names; some devices know a frame with two tags only if both are. */
struct rule_shape {
    const char *text;
    enum receive_by by;
    bool behind_tags;     /* RECEIVE_DSCP: of frames with two tags */
    unsigned n_vlans, ip; /* ip: 4, 6, or 0 for none */
};
extern const struct rule_shape rule_shapes[]; /* text NULL at the end */

/** One rule, for rte_flow_validate() and rte_flow_create(). */
struct flow_rule {
    struct rte_flow_attr attr;
    struct rte_flow_item pattern[6];
    struct rte_flow_action actions[2];
    struct rte_flow_action_queue queue;
    union rule_header {
        struct rte_flow_item_vlan vlan;
        struct rte_flow_item_ipv4 ipv4;
        struct rte_flow_item_ipv6 ipv6;
    } spec, mask, last;
};

/** Make the rule that sends packets with a value to a queue. It points into itself. */
void rule_make(struct flow_rule *r, const struct rule_shape *shape, struct rule_value v,
               uint16_t queue);

#endif
