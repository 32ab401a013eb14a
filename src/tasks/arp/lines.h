/* SPDX-License-Identifier: BSD-3-Clause */
/* What the slow path has with the control plane, and for it: frames of lines, and echoes of their
 * PPPoE sessions. */
#ifndef TASKS_ARP_LINES_H
#define TASKS_ARP_LINES_H

#include "base/source_limit.h"
#include "tasks/arp/instance.h"

/* control.c */

/** The share that each line has of the control plane. */
struct source_rate arp_line_rate(const struct task_env *env);

/** Make and release what is shared with the control plane, where there is one. arp_control_init()
 * returns 0 or -ENOMEM. */
int arp_control_init(struct arp *a, const struct task_env *env);
void arp_control_free(struct arp *a);

/** Handle a frame from a line that the control plane answers. */
void arp_line_receive(struct task *t, struct rte_mbuf *m, const struct arp_frame *f);

/** Give the control plane a frame of PPP that was sent to a subscriber. */
void arp_give_ppp(struct task *t, struct rte_mbuf *m, uint32_t id);

/** Is a valid packet to one of the gateway's addresses a subscriber's DHCP renewal (RFC 2131
 * section 4.4.5), and is a control plane connected? arp_renew() gives it the packet. */
bool arp_is_renewal(const struct arp *a, const struct rte_mbuf *m, const struct rte_ipv4_hdr *ip);
void arp_renew(struct task *t, struct rte_mbuf *m, const struct arp_frame *f);

/** Send frames that come from the control plane: some at most. Returns how many came. */
uint16_t arp_control_poll(struct task *t);

/* echo.c */

/** Begin to ask CPEs once in so many ticks; 0: never. arp_echo_init() returns 0 or -ENOMEM. */
int arp_echo_init(struct arp *a, uint32_t interval, int socket);
void arp_echo_free(struct arp *a);

/** Handle a frame of PPP from a subscriber's line. Returns false where it is no echo of his
 * session, and the caller's. */
bool arp_echo_receive(struct task *t, struct rte_mbuf *m, const struct arp_frame *f, uint32_t id);

/** Ask the CPEs whose turn it is: a few at most. Returns how many frames that took. */
uint16_t arp_echo_all(struct task *t);

/** Forget what a subscriber, who is gone, has left unanswered. */
void arp_echo_forget(struct arp *a, uint32_t id);

#endif
