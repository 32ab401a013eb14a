/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv6 addresses and prefixes as numbers in host byte order, and their texts. */
#ifndef BASE_IPV6_H
#define BASE_IPV6_H

#include <stdbool.h>
#include <stdint.h>

#define IPV6_TEXT 48 /* bytes of the longest text of a prefix, with its NUL */

/** An address: its upper and lower 64 bits. Where either family may stand, one of IPv4 is mapped to
 * ::ffff:0:0/96 (RFC 4291 section 2.5.5.2), and :: is none. */
struct ipv6 {
    uint64_t upper, lower;
};

#define CPE_DELEGATED 4 /* prefixes that may be delegated to a subscriber */

/** What a subscriber has of IPv6; no two of his prefixes overlap. */
struct cpe_prefixes {
    struct ipv6 wan;                      /* of his link, or his address there */
    uint64_t delegated[CPE_DELEGATED];    /* upper halves, without bits behind the length */
    uint8_t delegated_len[CPE_DELEGATED]; /* 48..64 */
    uint8_t n_delegated;
    uint8_t wan_len; /* 64 without bits behind, 128: an address, or 0: none */
};

/** "2001:db8::1" (RFC 4291 section 2.2), without a zone. Returns 0 or -EINVAL. */
int parse_ipv6(const char *s, struct ipv6 *out);

/** "2001:db8::/32": address and prefix length 0..128; without "/n" the length is 128. Bits behind
 * the length may be set. Returns 0 or -EINVAL; the outputs are written only on success. */
int parse_prefix6(const char *s, struct ipv6 *addr, uint8_t *len);

/** One to max prefixes with blanks between. Returns how many there are, or -EINVAL. */
int parse_prefixes6(const char *s, struct ipv6 *addr, uint8_t *len, unsigned max);

/** An address as RFC 5952 writes it, into IPV6_TEXT bytes, which are returned. */
char *format_ipv6(struct ipv6 addr, char buf[IPV6_TEXT]);

/** The same with "/n" behind it. */
char *format_prefix6(struct ipv6 addr, uint8_t len, char buf[IPV6_TEXT]);

/** The text of an address of either family, as format_ipv6(): one of IPv4 is not shown as mapped.
 */
char *format_address(struct ipv6 addr, char buf[IPV6_TEXT]);

/** A subscriber's link as a key ipv6 says it: an address, a prefix, or "" where there is none. */
char *format_wan(const struct cpe_prefixes *p, char buf[IPV6_TEXT]);

/** What is delegated to a subscriber, as a key delegated says it: "" where there is nothing. */
#define DELEGATED_TEXT (CPE_DELEGATED * IPV6_TEXT)
char *format_delegated(const struct cpe_prefixes *p, char buf[DELEGATED_TEXT]);

/** Do two subscribers have the same prefixes, written in the same order? */
bool same_cpe_prefixes(const struct cpe_prefixes *a, const struct cpe_prefixes *b);

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

/** An address of IPv4 (host order), mapped. */
static inline struct ipv6 mapped6(uint32_t ipv4)
{
    return (struct ipv6){0, UINT64_C(0xffff) << 32 | ipv4};
}

/** Is this an address of IPv4, mapped? Its lower 32 bits are that then. */
static inline bool is_mapped6(struct ipv6 addr)
{
    return addr.upper == 0 && addr.lower >> 32 == 0xffff;
}

/** Is this ::, and so none? */
static inline bool is_none6(struct ipv6 addr)
{
    return (addr.upper | addr.lower) == 0;
}

/** Is this of fe80::/10, and so of one link (RFC 4291 section 2.5.6)? */
static inline bool is_link_local6(struct ipv6 addr)
{
    return addr.upper >> 54 == 0xfe80 >> 6;
}

/** The link-local address of a MAC: fe80::/64 and the modified EUI-64 (RFC 4291 appendix A). */
static inline struct ipv6 link_local6(const uint8_t *mac)
{
    uint64_t upper = (uint64_t)(mac[0] ^ 2) << 16 | (uint64_t)mac[1] << 8 | mac[2],
             lower = (uint64_t)mac[3] << 16 | (uint64_t)mac[4] << 8 | mac[5];

    return (struct ipv6){UINT64_C(0xfe80) << 48, upper << 40 | UINT64_C(0xfffe) << 24 | lower};
}

#endif
