/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv6 addresses and prefixes as numbers in host byte order, and their texts. */
#ifndef BASE_IPV6_H
#define BASE_IPV6_H

#include <stdbool.h>
#include <stdint.h>

#define IPV6_TEXT 48 /* bytes of the longest text of a prefix, with its NUL */

/** An address: its upper and lower 64 bits. */
struct ipv6 {
    uint64_t upper, lower;
};

/** "2001:db8::1" (RFC 4291 section 2.2), without a zone. Returns 0 or -EINVAL. */
int parse_ipv6(const char *s, struct ipv6 *out);

/** "2001:db8::/32": address and prefix length 0..128; without "/n" the length is 128. Bits behind
 * the length may be set. Returns 0 or -EINVAL; the outputs are written only on success. */
int parse_prefix6(const char *s, struct ipv6 *addr, uint8_t *len);

/** An address as RFC 5952 writes it, into IPV6_TEXT bytes, which are returned. */
char *format_ipv6(struct ipv6 addr, char buf[IPV6_TEXT]);

/** The same with "/n" behind it. */
char *format_prefix6(struct ipv6 addr, uint8_t len, char buf[IPV6_TEXT]);

/** The mask of the first len of 64 bits, len 0..64. */
static inline uint64_t mask64(uint8_t len)
{
    return len == 0 ? 0 : UINT64_MAX << (64 - len);
}

/** The mask of a prefix of len 0..128 bits. */
static inline struct ipv6 mask6(uint8_t len)
{
    return len <= 64 ? (struct ipv6){mask64(len), 0}
                     : (struct ipv6){UINT64_MAX, mask64((uint8_t)(len - 64))};
}

/** The first address of a prefix. */
static inline struct ipv6 first6(struct ipv6 addr, uint8_t len)
{
    struct ipv6 mask = mask6(len);

    return (struct ipv6){addr.upper & mask.upper, addr.lower & mask.lower};
}

/** Are both the same address? */
static inline bool same6(struct ipv6 a, struct ipv6 b)
{
    return a.upper == b.upper && a.lower == b.lower;
}

#endif
