/* SPDX-License-Identifier: BSD-3-Clause */
/* A datagram of UDP in IPv4 in an Ethernet frame without VLAN tags: RFC 768, 791. */
#ifndef CP_PACKET_UDP4_H
#define CP_PACKET_UDP4_H

#include <stddef.h>
#include <stdint.h>

#define UDP4_HEADERS 42 /* bytes before the data that udp4_write() makes */

struct udp4 {
    uint8_t to_mac[6], from_mac[6];
    uint32_t to, from; /* host byte order */
    uint16_t to_port, from_port;
    const uint8_t *data;
    size_t n;
};

/** Read a frame of n bytes, whose data then points into it. Returns NULL, or what is wrong with it
 * in words. */
const char *udp4_read(const uint8_t *frame, size_t n, struct udp4 *u);

/** Write a frame into room bytes; its data may lie there already, behind UDP4_HEADERS. Returns its
 * length, or 0 where it does not fit. */
size_t udp4_write(const struct udp4 *u, uint8_t *frame, size_t room);

#endif
