/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/ipv6.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int parse_ipv6(const char *s, struct ipv6 *out)
{
    struct in6_addr a;
    struct ipv6 v = {0, 0};

    if (inet_pton(AF_INET6, s, &a) != 1)
        return -EINVAL;
    for (unsigned i = 0; i < 8; i++) {
        v.upper = v.upper << 8 | a.s6_addr[i];
        v.lower = v.lower << 8 | a.s6_addr[8 + i];
    }
    *out = v;
    return 0;
}

int parse_prefix6(const char *s, struct ipv6 *addr, uint8_t *len)
{
    const char *slash = strchr(s, '/');
    size_t n = slash != NULL ? (size_t)(slash - s) : strlen(s);
    unsigned long bits = 128;
    char text[IPV6_TEXT];

    if (n >= sizeof(text))
        return -EINVAL;
    memcpy(text, s, n);
    text[n] = '\0';
    if (slash != NULL) {
        size_t digits = strspn(slash + 1, "0123456789");

        if (digits == 0 || digits > 3 || (digits > 1 && slash[1] == '0') ||
            slash[1 + digits] != '\0')
            return -EINVAL;
        bits = strtoul(slash + 1, NULL, 10);
    }
    if (bits > 128 || parse_ipv6(text, addr) != 0)
        return -EINVAL;
    *len = (uint8_t)bits;
    return 0;
}

char *format_ipv6(struct ipv6 addr, char buf[IPV6_TEXT])
{
    struct in6_addr a;

    for (unsigned i = 0; i < 8; i++) {
        a.s6_addr[i] = (uint8_t)(addr.upper >> (56 - 8 * i));
        a.s6_addr[8 + i] = (uint8_t)(addr.lower >> (56 - 8 * i));
    }
    inet_ntop(AF_INET6, &a, buf, IPV6_TEXT - 1);
    return buf;
}

char *format_prefix6(struct ipv6 addr, uint8_t len, char buf[IPV6_TEXT])
{
    size_t n = strlen(format_ipv6(addr, buf));

    snprintf(buf + n, IPV6_TEXT - n, "/%u", len);
    return buf;
}
