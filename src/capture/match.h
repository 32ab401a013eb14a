/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose frame is it? Asked where the mbuf does not say. */
#ifndef CAPTURE_MATCH_H
#define CAPTURE_MATCH_H

#include <rte_mbuf.h>

#include "tables/subscriber.h"

/** How the frames of a subscriber look. Host byte order. */
struct frames_of {
    uint8_t port; /* access port */
    uint16_t svlan, cvlan;
    bool has_gre_key;
    uint32_t gre_key, ipv4, ipv4_mask;
};

struct frames_of frames_of_subscriber(const struct subscriber *s);

/**
 * With two tags: they and the port are his (TAP_ANY_PORT: the one that the mbuf names, if it does).
 * GRE over IPv4, with or without MPLS: the key is his. Other IPv4: source or destination is his.
 * Anything else is nobody's. of: a struct frames_of.
 */
bool is_frame_of(const void *of, const struct rte_mbuf *m, uint16_t port);

#endif
