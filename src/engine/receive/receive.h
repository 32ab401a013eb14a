/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How packets come to the receive queues of a port (config/receive.h): RSS is set up before the
 * device starts, rules (rte_flow) are made after that and taken back before it stops. All functions
 * belong to the main thread. Those that fail have said on stderr why, where the configuration asks
 * for it, and what is nearest.
 */
#ifndef ENGINE_RECEIVE_H
#define ENGINE_RECEIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

struct rte_eth_dev_info;
struct rte_flow;

/** Rules of a device that has been started. */
struct receive_rules {
    struct rte_flow **flow;
    unsigned n;
};

/** RSS as it is set up. */
struct receive_rss {
    uint64_t types; /* RTE_ETH_RSS_*; 0: none */
    const uint8_t *key;
    uint8_t key_len;
    bool inner_by_rule; /* the device hashes inner headers by a rule only */
};

/**
 * Choose RSS for port number i of the plan, whose device has more than one receive queue. Returns
 * 0, or -ENOTSUP.
 */
int receive_choose_rss(const struct plan *p, unsigned i, const struct rte_eth_dev_info *info,
                       uint16_t n_queues, struct receive_rss *out);

/** Make the rules of a port whose device dpdk_id has started. Returns 0 or -errno. */
int receive_start(const struct plan *p, unsigned i, uint16_t dpdk_id, const struct receive_rss *rss,
                  struct receive_rules *rules);

/** Take all rules back. */
void receive_stop(uint16_t dpdk_id, struct receive_rules *rules);

#endif
