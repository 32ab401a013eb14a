/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A frame in words, as an engineer would say it: "cpe0 128.256 10.0.0.1 -> 8.8.8.8 dscp 46". Free
 * of DPDK. doc/explain.md has the notation.
 */
#ifndef EXPLAIN_SPEC_H
#define EXPLAIN_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ipv6.h"

#define SPEC_MAX_FRAME  9728 /* bytes without FCS */
#define SPEC_MAX_TEXT   (4 * SPEC_MAX_FRAME)
#define SPEC_MAX_LABELS 16
#define SPEC_FCS        4 /* sizes count it, as everywhere */

enum spec_kind { SPEC_IP, SPEC_ARP_REQUEST, SPEC_ARP_REPLY, SPEC_BYTES };

/** A description; addresses are in host order, and a field without a word is 0 or has its default.
 */
struct frame_spec {
    enum spec_kind kind;
    char port[64];

    bool tagged;
    uint16_t svlan, cvlan;
    uint8_t pcp; /* in both tags */

    unsigned n_labels;
    uint32_t label[SPEC_MAX_LABELS];
    uint8_t label_ttl; /* of all of them; default 64 */

    bool has_gre, has_key, has_tunnel;
    uint32_t key;
    struct ipv6 tunnel_source, tunnel_destination; /* of one family */

    bool has_addresses;
    uint32_t source, destination; /* of ARP: sender and target protocol address */
    bool is_ipv6;                 /* the addresses are these: */
    struct ipv6 source6, destination6;
    uint8_t dscp, ttl; /* ttl: default 64; the hop limit of IPv6 */
    bool dont_fragment;
    uint8_t protocol; /* default UDP; of ICMPv6 that of ICMP */
    uint16_t source_port, destination_port;
    uint32_t size; /* of the frame with FCS; 0: the least that holds the headers */

    bool has_from, has_to;
    uint8_t from[6], to[6];

    uint32_t n_bytes; /* SPEC_BYTES */
    uint8_t bytes[SPEC_MAX_FRAME];
};

/** Parse a description. Returns 0, or -EINVAL with the word and what was expected in err. */
int spec_parse(const char *text, struct frame_spec *s, char *err, size_t len);

#endif
