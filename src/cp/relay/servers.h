/* SPDX-License-Identifier: BSD-3-Clause */
/* The DHCP servers of a relay: messages to the servers, their answers, and which servers are
 * alive. */
#ifndef CP_RELAY_SERVERS_H
#define CP_RELAY_SERVERS_H

#include "base/hist.h"
#include "cp/cp.h"
#include "cp/packet/dhcp6.h"

#define RELAY_MESSAGE 1500 /* bytes of the longest message, so that it fits a frame */

/* Who is to answer a message, beside the index of a server. */
#define RELAY_ANYBODY UINT32_MAX       /* each server to which it is sent */
#define RELAY_UNKNOWN (UINT32_MAX - 1) /* a server that has not been heard of since the start */

struct relay;

/** What has become of a server since the start. */
struct relay_server_state {
    uint64_t messages, answers, deaths; /* sent to it; of it; times that it was taken for dead */
    uint32_t unanswered; /* messages that it should have answered, since it has said something */
    bool dead;           /* it was taken for dead, and has said nothing since */
    struct hist rtt_us;  /* from a message to the answer to it, of one client at a time */
};

/** Open the sockets of all relays of the configuration. Returns NULL; the reason is in the log. */
struct relay *relays_open(struct cp *cp);
void relays_close(struct cp *cp, struct relay *relays);

/** The one of a pool's; index: its place in the configuration. */
struct relay *relay_at(struct relay *relays, uint32_t index);
const struct relay_config *relay_config(const struct relay *r);

/** The address of a relay of DHCPv4, in host byte order. */
uint32_t relay_giaddr(const struct relay *r);

/** The server of an address of IPv4, or RELAY_ANYBODY: the configuration has none. */
uint32_t relay_server4(const struct relay *r, uint32_t address);

/** The server that calls itself so; RELAY_UNKNOWN: none has until now; RELAY_ANYBODY: n is 0. */
uint32_t relay_server6(const struct relay *r, const uint8_t *duid, size_t n);

/** What is known of the server of an index. */
const struct relay_server_state *relay_server_state(const struct relay *r, uint32_t server);

/** A server calls itself so. */
void relay_learn(struct relay *r, uint32_t server, const struct dhcp6_duid *duid);

/** Send n bytes to whom the configuration says, which is where it says "first" the one that is to
 * answer. Who does not is dead in the end; where who it is to be is unknown, all get it. */
void relay_send(struct relay *r, uint32_t who, const uint8_t *message, size_t n);

/** Send them to one alone, which answers or not. RELAY_ANYBODY, or one that would answer and is
 * dead: as relay_send(), for another one may know the lease. */
void relay_send_to(struct relay *r, uint32_t who, bool answers, const uint8_t *message, size_t n);

#endif
