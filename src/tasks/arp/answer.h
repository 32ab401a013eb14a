/* SPDX-License-Identifier: BSD-3-Clause */
/* The answer that the slow path makes of a packet, in its mbuf: icmp.c has the functions, and
 * icmp6.c makes answers by them, too. */
#ifndef TASKS_ARP_ANSWER_H
#define TASKS_ARP_ANSWER_H

#include "packet/qinq.h"
#include "tasks/arp/instance.h"

#define ARP_TOS 0xc0 /* precedence 6, of ICMP errors: RFC 1812 section 4.3.2.5 */

/** The way of an answer. */
struct arp_answer {
    unsigned output;
    uint8_t port;
    uint32_t subscriber;
    uint32_t l2_len;
    uint8_t l2[QINQ_LEN];
};

/** Make the header of an answer without tags. */
void arp_set_ethernet(struct arp_answer *to, const uint8_t *dst, const uint8_t *src,
                      rte_be16_t type);

/** Make the frame of an answer: its header, then len bytes, of which the last keep bytes are those
 * from byte at of the frame on. Returns where the len bytes begin, or NULL without headroom. */
uint8_t *arp_reframe(struct rte_mbuf *m, const struct arp_answer *to, uint32_t at, uint32_t keep,
                     uint32_t len);

/**
 * The MTU that a packet of size bytes exceeds, 0: none. A packet from the core (from 0: of no
 * subscriber) can only exceed that of its subscriber's access port (to), a packet to the core that
 * of the next hop which the mbuf names; one between subscribers both, and the smaller one counts.
 */
uint32_t arp_exceeded(const struct arp *a, const struct rte_mbuf *m, uint32_t from, uint32_t to,
                      uint32_t size);

/** Send a finished answer on its way; to a subscriber with the priority of its DSCP. */
void arp_send_answer(struct task *t, struct rte_mbuf *m, const struct arp_answer *to);

#endif
