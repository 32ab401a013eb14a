/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of the slow path share: one rig, frames in hexadecimal, time in seconds. */
#ifndef TEST_TASK_ARP_RIG_H
#define TEST_TASK_ARP_RIG_H

#include <stdbool.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ip.h>

#include "harness.h"
#include "tasks/arp/arp.h"
#include "tasks/task_types.h"

#define BROADCAST  "ffffffffffff"
#define CPE0_TAGS  "88a80080 81000100"
#define NOMAC_TAGS "88a80080 81000103"
#define CPE1_TAGS  "81000081 81000101"
#define ARP_IS     "0806 0001 0800 06 04"
#define REQUEST    ARP_IS "0001"
#define REPLY      ARP_IS "0002"
#define NOBODY     "000000000000"
#define PAD18      "000000000000000000000000000000000000"
#define PAD10      "00000000000000000000"

#define ANNOUNCED 77.0 /* seconds after which the gateway has announced itself everywhere */

static struct rig *r;
static double epoch; /* seconds of the rig at which those of a test begin */

static inline void open_rig(const char *params)
{
    struct tables *t = harness_tables();

    for (unsigned i = 0; i < N_TEST_PORTS; i++)
        memcpy(t->port_mac[i], harness_model.ports[i].mac, 6);
    epoch = 0;
    r = rig_open(&task_arp, params, "to:4 route");
}

static inline void close_rig(void)
{
    rig_close(r);
    subscriber_set_mac(&harness_tables()->subscribers->record[SUB_NO_MAC], NULL);
    nexthop_set_mac(&harness_tables()->routes->nexthop[NH_NO_MAC], NULL);
}

static inline const struct subscriber *subscriber(unsigned id)
{
    return &harness_tables()->subscribers->record[id];
}

/* Time of the rig in seconds since its first poll. */
static inline uint16_t poll_at(double s)
{
    return rig_poll(r, 1 + (uint64_t)((epoch + s) * (double)rte_get_tsc_hz()));
}

/* Let the gateway announce itself, so that what it does later is seen alone. */
static inline void let_announce(void)
{
    for (double at = 0; at < ANNOUNCED; at += 0.5)
        poll_at(at);
    rig_clear(r);
    epoch = ANNOUNCED;
}

static inline struct rte_mbuf *punted(const char *hex, uint16_t port, enum punt_reason why)
{
    struct rte_mbuf *m = mbuf_from_hex(hex, port);

    meta_set_punt(m, why);
    return m;
}

static inline const char *fate(const char *hex, uint16_t port)
{
    return rig_fate(r, punted(hex, port, PUNT_FOR_US));
}

static inline bool last_is(const char *hex, uint8_t out_port)
{
    struct rte_mbuf *want = mbuf_from_hex(hex, 0), *m = rig_last(r);
    bool same = m != NULL && meta_out_port(m) == out_port &&
                mbuf_is(m, rte_pktmbuf_mtod(want, void *), want->pkt_len);

    rte_pktmbuf_free(want);
    return same;
}

/* A packet for the subscriber or next hop without MAC, as qinq_encap and route punt it. */
static inline struct rte_mbuf *unresolved(uint32_t sub, uint16_t nh, uint8_t port, const char *dst)
{
    char hex[256];
    struct rte_ipv4_hdr *ip;
    struct rte_mbuf *m;

    snprintf(hex, sizeof(hex),
             "020000000003 02c000000001 0800 4500001c00004000 4011 0000 14000001 %s "
             "0001000200080000",
             dst);
    m = punted(hex, CORE0, PUNT_NO_MAC);
    ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14);
    ip->hdr_checksum = rte_ipv4_cksum(ip);
    meta_set_subscriber(m, sub);
    meta_set_nexthop(m, nh);
    meta_set_out_port(m, port);
    meta_set_punt(m, PUNT_NO_MAC);
    return m;
}

static inline uint64_t figure(const char *name)
{
    for (unsigned i = 0; task_arp.stat_names[i] != NULL; i++)
        if (strcmp(task_arp.stat_names[i], name) == 0)
            return task_arp.stat(rig_task(r), i);
    CU_FAIL_FATAL("no such figure");
    return 0;
}

/* The neighbour that NH_NO_MAC leads to is asked for its MAC, and answers. */
static inline void teach_nexthop(void)
{
    CU_ASSERT_STRING_EQUAL(rig_fate(r, unresolved(0, NH_NO_MAC, CORE0, "18000001")),
                           "ended 2 times");
    CU_ASSERT_STRING_EQUAL(fate("020000000003 02c000000009" REPLY
                                "02c000000009 c6336409 020000000003 c6336401",
                                CORE0),
                           "consumed");
}

#endif
