/* SPDX-License-Identifier: BSD-3-Clause */
/* Adding and changing subscribers, for the requests that do. */
#ifndef CONTROL_SUBSCRIBERS_ADD_H
#define CONTROL_SUBSCRIBERS_ADD_H

#include "control/request.h"

/**
 * Add n subscribers, which are entries of r's list: all, or none. Packets find a subscriber with
 * all that belongs to him, or not at all. Returns 0 with the ids in id[]; or -errno, with the
 * reason as an error in r->l.d at its entry, or in why, where it is none of one subscriber alone.
 */
int add_subscribers(struct control *c, struct request *r, struct cfg_subscriber *list, uint32_t n,
                    uint32_t *id, struct refusal *why);

/** Can a subscriber become another without being removed: have another profile, name and MAC, other
 * prefixes of IPv6, another single address of IPv4? */
bool can_change(const struct cfg_subscriber *from, const struct cfg_subscriber *to);

/**
 * Make of n subscribers, who can_change() and whose ids are in id[], what the list says: all, or
 * none. Packets find each by the addresses that he keeps all the time; his id, pipes and counters
 * stay. Returns 0, or -errno as add_subscribers() does; only where a core does not answer some may
 * be changed.
 */
int change_subscribers(struct control *c, struct request *r, struct cfg_subscriber *list,
                       uint32_t n, const uint32_t *id, struct refusal *why);

/** Give a subscriber a static MAC; NULL: the arp task learns it. Returns 0 or -errno with the
 * reason. */
int change_mac(struct control *c, uint32_t id, const uint8_t *mac, struct refusal *why);

/** Read all entries of r's list of subscribers. Returns false after an error. */
bool read_subscribers(struct request *r, struct cfg_subscriber *list, size_t n);

/** Read entry i of it. The same. */
bool read_subscriber(struct request *r, struct cfg_subscriber *s, size_t i);

#endif
