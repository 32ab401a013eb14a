/* SPDX-License-Identifier: BSD-3-Clause */
/* Matching frames with a subscriber, at points where the mbuf does not name its subscriber, and
 * with a family. */
#ifndef CAPTURE_MATCH_H
#define CAPTURE_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "tables/subscriber.h"

/** What the frames of a subscriber have in common, in host byte order. */
struct frames_of {
    uint8_t port; /* access port */
    uint16_t svlan, cvlan;
    bool has_gre_key;
    uint32_t gre_key, ipv4_net, ipv4_mask;
    bool has_ipv6;
    uint8_t ipv6[sizeof(struct subscriber6)]; /* its bytes: what holds this need not be aligned */
};

struct frames_of frames_of_subscriber(const struct subscriber_table *t, uint32_t id);

/**
 * Tell whether a frame belongs to the subscriber: a frame with two tags by tags and port, GRE over
 * IPv4 (with or without MPLS) by its key, other IPv4 or IPv6 by source or destination; no other
 * frame does.
 * of: a struct frames_of. port: the configuration's number, or TAP_ANY_PORT for the one that the
 * mbuf names.
 */
bool is_frame_of(const void *of, const struct rte_mbuf *m, uint16_t port);

/**
 * Is a frame of a family, IPv4 (ARP is of it) or IPv6? Behind VLAN tags, PPPoE or labels the IP
 * packet says it; without tags, as on a core side, what is in its GRE tunnel does.
 */
bool is_frame_of_ipv4(const struct rte_mbuf *m);
bool is_frame_of_ipv6(const struct rte_mbuf *m);

#endif
