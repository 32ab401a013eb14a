/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive queues of a port: receive = { by; ... }. The device spreads packets over them, by a hash
 * (RSS) or by rules (rte_flow), and each is read by one core. The tables of parameters are the
 * schema of these keys, as that of a task is: config/schema.h.
 */
#ifndef CONFIG_RECEIVE_H
#define CONFIG_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "config/schema.h"

#define CFG_MAX_QUEUES 64 /* of one port, by rules */
#define CFG_MAX_RANGES 32 /* of one queue */

/** By what the device chooses a queue. */
enum receive_by { RECEIVE_RSS, RECEIVE_S_VLAN, RECEIVE_PCP, RECEIVE_DSCP };

/** What RSS hashes: bits of cfg_receive.fields, in the order of rss_field_names[]. */
enum rss_field {
    FIELD_IP = 1 << 0,
    FIELD_IP_SRC = 1 << 1,
    FIELD_IP_DST = 1 << 2,
    FIELD_L4 = 1 << 3,
    FIELD_S_VLAN = 1 << 4,
    FIELD_C_VLAN = 1 << 5,
    FIELD_PPPOE = 1 << 6,
    FIELD_MPLS = 1 << 7,
};
#define N_RSS_FIELDS 8

/** A queue that gets what matches one of its ranges; the first gets what no queue asks for, too. */
struct cfg_queue {
    struct loc loc;
    const char *name;
    unsigned n_ranges;
    struct queue_range {
        uint16_t first, last;
    } range[CFG_MAX_RANGES];
};

struct cfg_receive {
    struct loc loc;
    bool given; /* false: by RSS of what the device has, with a warning of what it lacks */
    enum receive_by by;
    uint32_t fields; /* RECEIVE_RSS: enum rss_field; 0: of IP and tags all that the device has */
    bool symmetric, inner;
    bool nearest;      /* take the nearest that the device can, with a warning */
    unsigned n_queues; /* by rules: 2..CFG_MAX_QUEUES; by RSS 0 */
    struct cfg_queue *queues;
};

extern const char *const receive_by_names[], *const rss_field_names[];

/** The keys of receive, and those of one of its queues. */
enum {
    RECEIVE_BY,
    RECEIVE_FIELDS,
    RECEIVE_SYMMETRIC,
    RECEIVE_INNER,
    RECEIVE_NEAREST,
    RECEIVE_QUEUES,
    N_RECEIVE_KEYS
};
enum { RXQ_NAME, RXQ_S_VLAN, RXQ_PCP, RXQ_DSCP, N_RXQ_KEYS };
extern const struct task_param receive_params[N_RECEIVE_KEYS], rxq_params[N_RXQ_KEYS];
#define RECEIVE_HELP "how packets come to the receive queues of a port, each read by a core"

/** Does the device choose by rules, so that each queue has a name? */
static inline bool receive_by_rules(const struct cfg_receive *r)
{
    return r->given && r->by != RECEIVE_RSS;
}

/** "ip, s_vlan": the fields by name; buf is returned. */
char *rss_fields_text(uint32_t fields, char *buf, size_t len);

/** What does nearly the same where the device has no rules, for a message. */
const char *receive_remedy(enum receive_by by);

/** What comes to a queue, in words: "S-VLAN 1-100, 300 and the rest"; buf is returned. */
char *receive_text(const struct cfg_receive *r, unsigned queue, char *buf, size_t len);

#endif
