/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/packet/udp4.h"

#include <string.h>

#include "cp/packet/sum.h"

#define ETHERTYPE_IPV4 0x0800
#define PROTO_UDP      17
#define TTL            64
#define DSCP_CS6       0xc0 /* as of routing, RFC 4594 section 3.2 */

enum { MAC_LEN = 6, ETHER_LEN = 14, IPV4_LEN = 20, UDP_LEN = 8 };

/* The sum of a datagram with its pseudo header; ip: the header that has the addresses. */
static uint16_t udp_sum(const uint8_t *ip, const uint8_t *udp, size_t n)
{
    return sum_fold(sum_words(sum_words((uint32_t)n + PROTO_UDP, ip + 12, 8), udp, n));
}

static const char *read_udp(const uint8_t *ip, const uint8_t *udp, size_t n, struct udp4 *u)
{
    size_t len;

    if (n < UDP_LEN)
        return "it is too short for UDP";
    len = get16(udp + 4);
    if (len < UDP_LEN || len > n)
        return "its UDP length is wrong";
    if (get16(udp + 6) != 0 && udp_sum(ip, udp, len) != 0xffff)
        return "its UDP checksum is wrong";
    u->from_port = get16(udp);
    u->to_port = get16(udp + 2);
    u->data = udp + UDP_LEN;
    u->n = len - UDP_LEN;
    return NULL;
}

const char *udp4_read(const uint8_t *frame, size_t n, struct udp4 *u)
{
    const uint8_t *ip = frame + ETHER_LEN;
    size_t header, total;

    if (n < ETHER_LEN + IPV4_LEN || get16(frame + 12) != ETHERTYPE_IPV4)
        return "it is not IPv4";
    header = (ip[0] & 15u) * 4;
    total = get16(ip + 2);
    if (ip[0] >> 4 != 4 || header < IPV4_LEN || total < header || total > n - ETHER_LEN)
        return "its IPv4 header is wrong";
    if (sum_fold(sum_words(0, ip, header)) != 0xffff)
        return "its IPv4 checksum is wrong";
    if ((get16(ip + 6) & 0x3fff) != 0)
        return "it is a fragment";
    if (ip[9] != PROTO_UDP)
        return "it is not UDP";
    memcpy(u->to_mac, frame, MAC_LEN);
    memcpy(u->from_mac, frame + MAC_LEN, MAC_LEN);
    u->from = get32(ip + 12);
    u->to = get32(ip + 16);
    return read_udp(ip, ip + header, total - header, u);
}

size_t udp4_write(const struct udp4 *u, uint8_t *frame, size_t room)
{
    uint8_t *ip = frame + ETHER_LEN, *udp = ip + IPV4_LEN;
    size_t len = UDP_LEN + u->n;
    uint16_t sum;

    if (room < UDP4_HEADERS || u->n > room - UDP4_HEADERS)
        return 0;
    memmove(udp + UDP_LEN, u->data, u->n);
    memset(frame, 0, UDP4_HEADERS);
    memcpy(frame, u->to_mac, MAC_LEN);
    memcpy(frame + MAC_LEN, u->from_mac, MAC_LEN);
    put16(frame + 12, ETHERTYPE_IPV4);
    ip[0] = 0x45;
    ip[1] = DSCP_CS6;
    put16(ip + 2, (uint16_t)(IPV4_LEN + len));
    ip[8] = TTL;
    ip[9] = PROTO_UDP;
    put32(ip + 12, u->from);
    put32(ip + 16, u->to);
    put16(ip + 10, (uint16_t)~sum_fold(sum_words(0, ip, IPV4_LEN)));
    put16(udp, u->from_port);
    put16(udp + 2, u->to_port);
    put16(udp + 4, (uint16_t)len);
    sum = (uint16_t)~udp_sum(ip, udp, len);
    put16(udp + 6, sum != 0 ? sum : 0xffff);
    return UDP4_HEADERS + u->n;
}
