/* SPDX-License-Identifier: BSD-3-Clause */
/* What DPDK, as it is built, has room for. plan/ is free of DPDK: src/engine/build.c holds these
 * numbers to DPDK's own. */
#ifndef PLAN_LIMITS_H
#define PLAN_LIMITS_H

#define LIMIT_DEVICES     32u   /* Ethernet devices: RTE_MAX_ETHPORTS */
#define LIMIT_WIRE_QUEUES 16u   /* transmit queues of net_ring: RTE_PMD_RING_MAX_TX_RINGS */
#define LIMIT_MEMZONES    2560u /* named pieces of memory: RTE_MAX_MEMZONE */

#endif
