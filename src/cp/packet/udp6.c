/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/packet/udp6.h"

#include <string.h>

#include "cp/packet/sum.h"

#define ETHERTYPE_IPV6 0x86dd
#define PROTO_UDP      17
#define HOP_LIMIT      64
#define VERSION_CS6    0x6c000000u /* version 6, DSCP CS6 as of routing: RFC 4594 section 3.2 */

enum { MAC_LEN = 6, ETHER_LEN = 14, IPV6_LEN = 40, UDP_LEN = 8, AT_FROM = 8, AT_TO = 24 };

/* The sum of a datagram with its pseudo header (RFC 8200 section 8.1); ip: the header that has the
 * addresses. */
static uint16_t udp_sum(const uint8_t *ip, const uint8_t *udp, size_t n)
{
    return sum_fold(sum_words(sum_words((uint32_t)n + PROTO_UDP, ip + AT_FROM, 32), udp, n));
}

const char *udp6_read(const uint8_t *frame, size_t n, struct udp6 *u)
{
    const uint8_t *ip = frame + ETHER_LEN, *udp = ip + IPV6_LEN;
    size_t payload, len;

    if (n < ETHER_LEN + IPV6_LEN || get16(frame + 12) != ETHERTYPE_IPV6 || ip[0] >> 4 != 6)
        return "it is not IPv6";
    payload = get16(ip + 4);
    if (payload > n - ETHER_LEN - IPV6_LEN)
        return "its IPv6 header is wrong";
    if (ip[6] != PROTO_UDP || payload < UDP_LEN)
        return "it is not UDP";
    len = get16(udp + 4);
    if (len < UDP_LEN || len > payload)
        return "its UDP length is wrong";
    if (get16(udp + 6) == 0 || udp_sum(ip, udp, len) != 0xffff) /* RFC 8200 section 8.1: needed */
        return "its UDP checksum is wrong";
    memcpy(u->to_mac, frame, MAC_LEN);
    memcpy(u->from_mac, frame + MAC_LEN, MAC_LEN);
    u->from = get_ipv6(ip + AT_FROM);
    u->to = get_ipv6(ip + AT_TO);
    u->from_port = get16(udp);
    u->to_port = get16(udp + 2);
    u->data = udp + UDP_LEN;
    u->n = len - UDP_LEN;
    return NULL;
}

size_t udp6_write(const struct udp6 *u, uint8_t *frame, size_t room)
{
    uint8_t *ip = frame + ETHER_LEN, *udp = ip + IPV6_LEN;
    size_t len = UDP_LEN + u->n;
    uint16_t sum;

    if (room < UDP6_HEADERS || u->n > room - UDP6_HEADERS)
        return 0;
    memmove(udp + UDP_LEN, u->data, u->n);
    memset(frame, 0, UDP6_HEADERS);
    memcpy(frame, u->to_mac, MAC_LEN);
    memcpy(frame + MAC_LEN, u->from_mac, MAC_LEN);
    put16(frame + 12, ETHERTYPE_IPV6);
    put32(ip, VERSION_CS6);
    put16(ip + 4, (uint16_t)len);
    ip[6] = PROTO_UDP;
    ip[7] = HOP_LIMIT;
    put_ipv6(ip + AT_FROM, u->from);
    put_ipv6(ip + AT_TO, u->to);
    put16(udp, u->from_port);
    put16(udp + 2, u->to_port);
    put16(udp + 4, (uint16_t)len);
    sum = (uint16_t)~udp_sum(ip, udp, len);
    put16(udp + 6, sum != 0 ? sum : 0xffff);
    return UDP6_HEADERS + u->n;
}

struct ipv6 link_local_of(const uint8_t mac[6])
{
    uint64_t id = (uint64_t)(mac[0] ^ 2) << 56 | (uint64_t)mac[1] << 48 | (uint64_t)mac[2] << 40 |
                  UINT64_C(0xfffe) << 24 | (uint64_t)mac[3] << 16 | (uint64_t)mac[4] << 8 | mac[5];

    return (struct ipv6){UINT64_C(0xfe80) << 48, id};
}
