/* SPDX-License-Identifier: BSD-3-Clause */
/* A datagram of UDP in IPv6, without extension headers, in an Ethernet frame without VLAN tags: RFC
 * 768, 8200. */
#ifndef CP_PACKET_UDP6_H
#define CP_PACKET_UDP6_H

#include <stddef.h>
#include <stdint.h>

#include "base/ipv6.h"

#define UDP6_HEADERS 62 /* bytes before the data that udp6_write() makes */

struct udp6 {
    uint8_t to_mac[6], from_mac[6];
    struct ipv6 to, from;
    uint16_t to_port, from_port;
    const uint8_t *data;
    size_t n;
};

/** Read a frame of n bytes, whose data then points into it. Returns NULL, or what is wrong with it
 * in words. */
const char *udp6_read(const uint8_t *frame, size_t n, struct udp6 *u);

/** Write a frame into room bytes; its data may lie there already, behind UDP6_HEADERS. Returns its
 * length, or 0 where it does not fit. */
size_t udp6_write(const struct udp6 *u, uint8_t *frame, size_t room);

/** The link-local address of a MAC: modified EUI-64, RFC 4291 appendix A. */
struct ipv6 link_local_of(const uint8_t mac[6]);

#endif
