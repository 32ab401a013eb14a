/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is meant by a text: an id or GRE key, an address or a prefix, a MAC, a VLAN pair, the name of
 * a profile, or a part of a circuit or of the name that people have given.
 */
#ifndef CONTROL_SHOW_FIND_H
#define CONTROL_SHOW_FIND_H

#include "control/control.h"

#define SEARCH_TEXT_MAX 256    /* bytes */
#define SEARCH_AT_ONCE  200000 /* subscribers that one search_run() looks at, some 20 ms */

/** A text that is looked for, and what it may be. */
struct search {
    const char *text;
    uint32_t on_circuit; /* the id of who is on the circuit that is the text, or 0 */
    bool is_number, is_addresses, is_prefix, is_mac, is_vlans;
    uint64_t number;
    uint32_t first, last; /* addresses, host order */
    struct ipv6 prefix;
    uint8_t prefix_len;
    uint8_t mac[6];
    uint16_t svlan, cvlan;
};

/** Begin to look for a text, which must live as long as s. Returns false where it is empty or too
 * long. By the main thread, or between metrics_hold() and metrics_release(). */
bool search_begin(const struct control *c, struct search *s, const char *text);

/**
 * Find at most room ids (more than 0) from id first on, in ascending order, among SEARCH_AT_ONCE
 * subscribers. Returns the id to go on from, or 0 where all have been looked at; *n is the number
 * of ids found. By the main thread, or between metrics_hold() and metrics_release().
 */
uint32_t search_run(const struct control *c, const struct search *s, uint32_t first, uint32_t *id,
                    unsigned room, unsigned *n);

#endif
