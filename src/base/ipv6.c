/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/ipv6.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

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

int parse_prefixes6(const char *s, struct ipv6 *addr, uint8_t *len, unsigned max)
{
    unsigned n = 0;
    char word[IPV6_TEXT];

    for (s += strspn(s, " "); *s != '\0'; s += strspn(s, " ")) {
        size_t size = strcspn(s, " ");

        if (n == max || size >= sizeof(word))
            return -EINVAL;
        memcpy(word, s, size);
        word[size] = '\0';
        if (parse_prefix6(word, &addr[n], &len[n]) != 0)
            return -EINVAL;
        n++;
        s += size;
    }
    return n > 0 ? (int)n : -EINVAL;
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

char *format_address(struct ipv6 addr, char buf[IPV6_TEXT])
{
    if (is_mapped6(addr))
        return format_ipv4((uint32_t)addr.lower, buf, IPV6_TEXT);
    return format_ipv6(addr, buf);
}

char *format_prefix6(struct ipv6 addr, uint8_t len, char buf[IPV6_TEXT])
{
    size_t n = strlen(format_ipv6(addr, buf));

    snprintf(buf + n, IPV6_TEXT - n, "/%u", len);
    return buf;
}

char *format_wan(const struct cpe_prefixes *p, char buf[IPV6_TEXT])
{
    buf[0] = '\0';
    if (p->wan_len == 64)
        return format_prefix6(p->wan, 64, buf);
    return p->wan_len != 0 ? format_ipv6(p->wan, buf) : buf;
}

char *format_delegated(const struct cpe_prefixes *p, char buf[DELEGATED_TEXT])
{
    char text[IPV6_TEXT];
    size_t n = 0;

    buf[0] = '\0';
    for (unsigned i = 0; i < p->n_delegated; i++)
        n += (size_t)snprintf(
            buf + n, DELEGATED_TEXT - n, "%s%s", i > 0 ? " " : "",
            format_prefix6((struct ipv6){p->delegated[i], 0}, p->delegated_len[i], text));
    return buf;
}

bool same_cpe_prefixes(const struct cpe_prefixes *a, const struct cpe_prefixes *b)
{
    if (a->wan_len != b->wan_len || !same6(a->wan, b->wan) || a->n_delegated != b->n_delegated)
        return false;
    for (unsigned i = 0; i < a->n_delegated; i++)
        if (a->delegated[i] != b->delegated[i] || a->delegated_len[i] != b->delegated_len[i])
            return false;
    return true;
}
