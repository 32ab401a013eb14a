/* SPDX-License-Identifier: BSD-3-Clause */
/* What a relay of DHCPv6 and a server say to each other: a client's or a server's message in one of
 * theirs (RFC 8415 sections 9 and 19). */
#ifndef CP_PACKET_DHCP6_RELAY_H
#define CP_PACKET_DHCP6_RELAY_H

#include "cp/packet/dhcp6.h"

/** A RELAY-FORW of a gateway that is the first relay, or the RELAY-REPL to it. */
struct dhcp6_relayed {
    struct ipv6 link, peer;
    const void *interface; /* option 18 */
    size_t n_interface;
    const void *remote; /* option 37 (RFC 4649) behind its enterprise number; only written */
    size_t n_remote;
    bool has_port;          /* option 135 (RFC 8357); only written */
    const uint8_t *message; /* option 9 */
    size_t n;
};

/** Write a RELAY-FORW into room bytes. Returns its length, or 0 where it does not fit. */
size_t dhcp6_relay_write(const struct dhcp6_relayed *r, uint8_t *to, size_t room);

/** Read a RELAY-REPL of n bytes, into which r then points. Returns NULL, or what is wrong with it
 * in words. */
const char *dhcp6_relay_read(const uint8_t *at, size_t n, struct dhcp6_relayed *r);

/** Copy a message of n bytes, which dhcp6_read() has taken, into n bytes, without its option 12: a
 * client shall not go past the relay (RFC 8415 section 18.4). No lifetime in it is longer than so
 * many seconds, and T1 and T2 fit that; UINT32_MAX: as they are. Returns its length. */
size_t dhcp6_copy(const uint8_t *at, size_t n, uint32_t most, uint8_t *to);

/** Copy the options of a server's message, which dhcp6_read() has taken, that are neither of its
 * leases nor of this exchange, such as those of DNS. Returns their length, at most n. */
size_t dhcp6_copy_beside(const uint8_t *at, size_t n, uint8_t *to);

#endif
