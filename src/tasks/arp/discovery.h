/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of an arp task call of each other for neighbour discovery and for router
 * advertisements (RFC 4861). */
#ifndef TASKS_ARP_DISCOVERY_H
#define TASKS_ARP_DISCOVERY_H

#include "tasks/arp/instance.h"

/* nd.c */

/** Handle a message of neighbour discovery, whose IPv6 header is right. */
void arp_nd_receive(struct task *t, struct rte_mbuf *m, const struct arp_frame *f);

/** Advertise the gateway's address that a solicitation asks for, in its mbuf: to who asks, or,
 * where that one has no address yet, to all nodes (RFC 4861 section 7.2.4). l2: the Ethernet header
 * and tags of a subscriber; NULL: those of the frame. */
void arp_nd_advertise(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                      const struct nd *nd, const uint8_t *l2);

/** Send a neighbour solicitation from the port's link-local address: by multicast (to NULL), or by
 * unicast to a neighbour whose MAC grows old. l2: Ethernet header and tags of l2_len bytes, with
 * the port's MAC. Returns false where the rate of requests or the pool is exhausted. */
bool arp_nd_solicit(struct task *t, const uint8_t *to, const uint8_t *l2, uint32_t l2_len,
                    uint8_t port, struct ipv6 target);

/** Is an address on a subscriber's link, and not behind his router? */
bool arp_is_on_link(const struct arp *a, uint32_t id, struct ipv6 addr);

/** Is an address one that a subscriber may have on his link, and not the gateway's there? */
bool arp_is_his(const struct arp *a, uint32_t id, const uint8_t *addr);

/** Can a CPE's MAC have been learned from an address of IPv6: of the link, and the subscriber's? */
bool arp_may_speak(const struct arp *a, uint32_t id, struct ipv6 addr);

/** Solicit the MAC of a CPE for a packet to one of the subscriber's addresses, as
 * arp_ask_subscriber() does: for that address where it is on the link, and for the one that the CPE
 * has spoken from; by ARP where there is neither. */
void arp_ask_subscriber6(struct task *t, uint32_t id, struct ipv6 addr);

/** Ask a CPE with a MAC that grows old whether it still has the address that it was heard of.
 * Returns false where nothing was sent. */
bool arp_poll_subscriber6(struct task *t, uint32_t id, const uint8_t *mac);

/* nd_core.c */

/** Handle a message on a core port, which nd_parse() has found right. */
void arp_nd_from_core(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                      const struct nd *nd);

/* ra.c */

/** Begin to advertise on every link once in so many ticks; 0: never. At first the gateway is
 * announced there. */
void arp_advertise_init(struct arp *a, uint32_t interval);

/** Answer a subscriber's router solicitation, in its mbuf. */
void arp_advertise(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                   const struct nd *nd, uint32_t id);

/** Announce the gateway on ports whose links have come up again. */
void arp_look_at_links(struct arp *a);

/** Advertise and announce on the links whose turn it is: a few at most. Returns how many frames
 * that took. */
uint16_t arp_advertise_all(struct task *t);

#endif
