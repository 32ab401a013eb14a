/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One task on a bench: EAL without hugepages, tables with a few entries, outputs that capture what
 * is sent. A test opens a rig, gives it frames, looks at the fate of each and closes it; closing
 * checks the ledger (in + created = captured + dropped + consumed + held) and that no mbuf is lost.
 */
#ifndef TEST_TASK_HARNESS_H
#define TEST_TASK_HARNESS_H

#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "common/program.h"
#include "engine/task.h"
#include "tables/tables.h"

#define RIG_MBUFS    2047
#define RIG_MAX_WAYS 4

/** Ports of the configuration: MAC 02:00:00:00:00:0N with N the number + 1, MTU 1500; outer TPID
 * 0x88a8, on cpe1 0x8100. Tests may change harness_model.ports[] before they open a rig. */
enum { CPE0, CPE1, CORE0, CORE1, N_TEST_PORTS };

extern struct cfg_model harness_model;
extern struct rte_mempool *harness_pool;

/**
 * Subscribers: S-VLAN, C-VLAN, addresses, GRE key. All have the static MAC 02:ce:00:00:00:ID, but
 * SUB_NO_MAC.
 */
enum {
    SUB_CPE0 = 1, /* cpe0 128.256 10.0.0.1/32, key 0x1001 */
    SUB_CPE1,     /* cpe1 129.257 10.0.1.0/24, key 0x1002 */
    SUB_NO_KEY,   /* cpe0 128.258 10.0.0.3/32, no key */
    SUB_NO_MAC,   /* cpe0 128.259 10.0.0.4/32, key 0x1004 */
    SUB_PPPOE,    /* cpe0 128.260 10.0.0.5/32, key 0x1015, PPPoE session 0x1234, MTU 1492 */
    N_TEST_SUBSCRIBERS = SUB_PPPOE,
};

#define TEST_SESSION 0x1234

/** Next hops, and the routes that lead to each: that below, and 2001:db8:ID::/48. Static MAC
 * 02:c0:00:00:00:ID, but NH_NO_MAC. Tunnels go from the egress port's address to 192.0.2.ID; the
 * label is 16 + ID. */
enum {
    NH_GRE_MPLS = 1, /* 20.0.0.0/8, core0 */
    NH_GRE,          /* 21.0.0.0/8, core1 */
    NH_MPLS,         /* 22.0.0.0/8, core0 */
    NH_PLAIN,        /* 23.0.0.0/8, core1 */
    NH_NO_MAC,       /* 24.0.0.0/8, core0, GRE and MPLS, by ARP of 198.51.100.9 */
};

/** The gateway's own addresses, host order. */
#define ADDR_CPE0  0x0a0000feu /* 10.0.0.254 */
#define ADDR_CPE1  0x0a0001feu /* 10.0.1.254 */
#define ADDR_CORE0 0xc6336401u /* 198.51.100.1 */
#define ADDR_CORE1 0xc6336501u /* 198.51.101.1 */

/** The tables of all rigs of this program; what a test changes, it puts back. */
struct tables *harness_tables(void);

/** Change the MTU of an access port, and so of its subscribers but for SUB_PPPOE. */
void harness_set_mtu(unsigned port, uint16_t mtu);

struct rig;

/** Do the workers behind rigs that are opened stand for shards (plan.by_shard)? */
extern bool rig_leads_to_shards;
/** Does the plan say of rigs that are opened that nobody writes into their frames? */
extern bool rig_keeps_frames;
/** What the engine tells tasks of ports: how often each link has come up again. */
extern uint32_t rig_link_ups[CFG_MAX_PORTS];

/**
 * A task with parameters "name=value name=value" in the configuration's notation ("" : defaults)
 * and connected outputs, "to punt" (NULL: all of them). "to:4" has four ways: port P leads to way P
 * % 4; where the task spreads they are workers. Fails the test when the task does not start.
 */
struct rig *rig_open(const struct task_type *type, const char *params, const char *outputs);
/** The same, and returns init's error (0 or -errno) in *rc instead; NULL on an error. */
struct rig *rig_try(const struct task_type *type, const char *params, const char *outputs, int *rc);
/** The same of a task of a configuration that was loaded; it must outlive the rig. */
struct rig *rig_try_task(const struct task_type *type, struct cfg_model *m, unsigned task,
                         const char *outputs, int *rc);
/** Free what was captured, check ledger and mbufs. */
void rig_close(struct rig *r);

struct task *rig_task(struct rig *r);
/** Let no way of that output lead to a port. */
void rig_lose_path(struct rig *r, const char *output, uint8_t port);

/** Run a burst of any size (in bursts of BURST_MAX) through the task. */
void rig_burst(struct rig *r, struct rte_mbuf **m, unsigned n);
/** One call of poll(), and flush. Returns what poll() returned. */
uint16_t rig_poll(struct rig *r, uint64_t now);

/**
 * Run one packet and say what became of it: the name of an output ("to", or "to/1" for the second
 * of several ways), "drop REASON", "consumed", "held" (nothing yet), or "ended N times".
 */
const char *rig_fate(struct rig *r, struct rte_mbuf *m);
/** The packet that was captured last, or NULL. It belongs to the rig. */
struct rte_mbuf *rig_last(struct rig *r);

/** Packets captured on an output, over all its ways, and the i-th of one way (NULL: none). */
unsigned rig_captured(struct rig *r, const char *output);
unsigned rig_captured_way(struct rig *r, const char *output, unsigned way);
struct rte_mbuf *rig_out(struct rig *r, const char *output, unsigned way, unsigned i);
/** Free what was captured; the ledger still counts it. */
void rig_clear(struct rig *r);
/** Packets dropped for a reason of the schema, or for "no_path". */
uint64_t rig_drops(struct rig *r, const char *reason);

/** A packet with the default headroom; its in_port is port. */
struct rte_mbuf *mbuf_from_bytes(const void *bytes, size_t len, uint16_t port);
/** "0200 0000 01.." : blanks and line ends are ignored. */
struct rte_mbuf *mbuf_from_hex(const char *hex, uint16_t port);
/**
 * From now on, what lies behind a new packet's end is out of bounds for AddressSanitizer, but for
 * the bytes up to a frame length of at least spare (for tasks that pad). rig_close() ends it.
 */
void mbuf_guard(size_t spare);
void mbuf_unguard(void);

/** Has the packet exactly these bytes? Prints both where not. */
int mbuf_is(const struct rte_mbuf *m, const void *bytes, size_t len);

/** Of a test program: EAL, the pool and the tables. */
int harness_open(void);
int harness_close(void);

#endif
