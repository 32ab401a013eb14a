/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/units.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRACTION_DIGITS 12 /* more than any unit can use */
#define LINE_OVERHEAD   20 /* bytes of preamble, start delimiter and gap around a frame */

/* --- parts of a string --- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Take an unsigned number, decimal or (hex) 0x, off the front of *s. */
static int take_number(const char **s, bool hex, uint64_t *out)
{
    const char *p = *s;
    unsigned base = 10;
    uint64_t v = 0;
    bool overflow = false;

    if (hex && p[0] == '0' && p[1] == 'x') {
        base = 16;
        p += 2;
    }
    *s = p;
    for (int digit; (digit = hex_digit(*p)) >= 0 && (unsigned)digit < base; p++)
        overflow |=
            __builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, (uint64_t)digit, &v);
    if (p == *s)
        return -EINVAL;
    *s = p;
    *out = v;
    return overflow ? -ERANGE : 0;
}

/* A decimal with or without a fraction: whole + fraction / 10^FRACTION_DIGITS. */
struct decimal {
    uint64_t whole, fraction;
};

static const uint64_t FRACTION_ONE = 1000000000000; /* 10^FRACTION_DIGITS */

/* Take a decimal and one space behind it off the front of *s. */
static int take_decimal(const char **s, struct decimal *d)
{
    int err = take_number(s, false, &d->whole);

    if (err == -EINVAL)
        return err;
    d->fraction = 0;
    if (**s == '.') {
        uint64_t worth = FRACTION_ONE;
        const char *p = *s + 1;

        if (!is_digit(*p))
            return -EINVAL;
        for (; is_digit(*p); p++) {
            worth /= 10;
            if (worth == 0)
                return -EINVAL;
            d->fraction += worth * (unsigned)(*p - '0');
        }
        *s = p;
    }
    if ((*s)[0] == ' ' && (*s)[1] != '\0')
        (*s)++;
    return err;
}

__extension__ typedef unsigned __int128 wide;

/* Multiply a decimal by a unit. Returns 0, -EINVAL where the product is no whole number, or
 * -ERANGE.
 */
static int scale(const struct decimal *d, uint64_t unit, uint64_t *out)
{
    wide part = (wide)d->fraction * unit;
    uint64_t v;

    if (part % FRACTION_ONE != 0)
        return -EINVAL;
    if (__builtin_mul_overflow(d->whole, unit, &v) ||
        __builtin_add_overflow(v, (uint64_t)(part / FRACTION_ONE), &v))
        return -ERANGE;
    *out = v;
    return 0;
}

/* Take a decimal prefix (K or k, M, G, T) off the front of *s. Returns its factor, 1 without one.
 */
static uint64_t take_prefix(const char **s)
{
    uint64_t factor;

    switch (**s) {
    case 'K':
    case 'k':
        factor = 1000;
        break;
    case 'M':
        factor = 1000000;
        break;
    case 'G':
        factor = 1000000000;
        break;
    case 'T':
        factor = 1000000000000;
        break;
    default:
        return 1;
    }
    (*s)++;
    return factor;
}

/* --- whole strings --- */

/* Parse a whole number; a decimal one may have a binary unit. */
static int parse_binary(const char *s, bool hex, uint64_t *out)
{
    bool decimal = !(s[0] == '0' && s[1] == 'x');
    uint64_t v;
    unsigned shift = 0;
    int err = take_number(&s, hex, &v);

    if (err == -EINVAL)
        return err;
    if (decimal && *s != '\0') {
        shift = *s == 'K' ? 10 : *s == 'M' ? 20 : *s == 'G' ? 30 : 0;
        s += shift != 0;
    }
    if (*s != '\0')
        return -EINVAL;
    if (err != 0 || v > UINT64_MAX >> shift)
        return -ERANGE;
    *out = v << shift;
    return 0;
}

int parse_count(const char *s, uint64_t *out)
{
    return parse_binary(s, true, out);
}

int parse_size(const char *s, uint64_t *out)
{
    return parse_binary(s, false, out);
}

int parse_rate(const char *s, uint64_t *out)
{
    struct decimal d;
    uint64_t unit;
    int err = take_decimal(&s, &d);

    if (err == -EINVAL)
        return err;
    unit = take_prefix(&s);
    if (*s != '\0' && strcmp(s, "bit/s") != 0 && strcmp(s, "bps") != 0)
        return -EINVAL;
    return err != 0 ? err : scale(&d, unit, out);
}

int parse_duration(const char *s, uint64_t *out)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1},         {"us", 1000},         {"ms", 1000000},
                 {"s", 1000000000}, {"min", 60000000000}, {"h", 3600000000000}};
    struct decimal d;
    int err = take_decimal(&s, &d);

    if (err == -EINVAL)
        return err;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(s, units[i].name) == 0)
            return err != 0 ? err : scale(&d, units[i].ns, out);
    if (*s != '\0' || err != 0 || d.whole != 0 || d.fraction != 0)
        return -EINVAL;
    *out = 0;
    return 0;
}

int parse_range(const char *s, uint64_t *first, uint64_t *last)
{
    uint64_t a, b;
    int err = take_number(&s, true, &a), err2 = 0;

    if (err == -EINVAL)
        return err;
    b = a;
    if (*s == '-') {
        s++;
        err2 = take_number(&s, true, &b);
        if (err2 == -EINVAL)
            return err2;
    }
    if (*s != '\0')
        return -EINVAL;
    if (err != 0 || err2 != 0)
        return -ERANGE;
    if (a > b)
        return -EINVAL;
    *first = a;
    *last = b;
    return 0;
}

int parse_load(const char *s, struct load *out)
{
    struct decimal d;
    struct load l;
    double unit;
    int err = take_decimal(&s, &d);

    if (err == -EINVAL)
        return err;
    unit = (double)take_prefix(&s);
    if (strcmp(s, "pps") == 0)
        l.unit = LOAD_PPS;
    else if (strcmp(s, "bit/s") == 0 || strcmp(s, "bps") == 0)
        l.unit = LOAD_BITS;
    else if (strcmp(s, "%") == 0 && unit == 1)
        l.unit = LOAD_PERCENT;
    else
        return -EINVAL;
    l.value = ((double)d.whole + (double)d.fraction / (double)FRACTION_ONE) * unit;
    if (err != 0 || l.value <= 0 || (l.unit == LOAD_PERCENT && l.value > 100))
        return -ERANGE;
    *out = l;
    return 0;
}

/* The share part / whole of 2^64, rounded up. */
static uint64_t share_of(uint64_t part, uint64_t whole)
{
    return part == whole ? UINT64_MAX : (uint64_t)((((wide)part << 64) + whole - 1) / whole);
}

int parse_share(const char *s, uint64_t *out)
{
    const uint64_t all = 100 * FRACTION_ONE;
    uint64_t part, whole = all;
    struct decimal d;
    int err, err2 = 0;

    if (strchr(s, '/') != NULL) {
        err = take_number(&s, false, &part);
        if (err == -EINVAL || *s++ != '/')
            return -EINVAL;
        err2 = take_number(&s, false, &whole);
        if (err2 == -EINVAL || *s != '\0')
            return -EINVAL;
    } else {
        err = take_decimal(&s, &d);
        if (err == -EINVAL || (strcmp(s, "%") != 0 && (*s != '\0' || d.whole + d.fraction != 0)))
            return -EINVAL;
        part = d.whole > 100 ? UINT64_MAX : d.whole * FRACTION_ONE + d.fraction;
    }
    if (err != 0 || err2 != 0 || part > whole || whole == 0)
        return -ERANGE;
    *out = share_of(part, whole);
    return 0;
}

double load_pps(const struct load *l, uint64_t line_rate, double size)
{
    double bits = (size + LINE_OVERHEAD) * 8;

    switch (l->unit) {
    case LOAD_BITS:
        return l->value / bits;
    case LOAD_PERCENT:
        return l->value / 100 * (double)line_rate / bits;
    case LOAD_PPS:
        break;
    }
    return l->value;
}

int parse_ipv4(const char *s, uint32_t *out)
{
    struct in_addr a;

    if (inet_pton(AF_INET, s, &a) != 1)
        return -EINVAL;
    *out = ntohl(a.s_addr);
    return 0;
}

int parse_vlan_pair(const char *s, uint16_t *svlan, uint16_t *cvlan)
{
    uint64_t outer, inner;
    int err = take_number(&s, false, &outer);

    if (err == 0 && *s == '.') {
        s++;
        err = take_number(&s, false, &inner);
    } else if (err == 0) {
        err = -EINVAL;
    }
    if (err != 0 || *s != '\0')
        return err != 0 ? err : -EINVAL;
    if (outer > 4095 || inner > 4095)
        return -ERANGE;
    *svlan = (uint16_t)outer;
    *cvlan = (uint16_t)inner;
    return 0;
}

int parse_prefix(const char *s, uint32_t *addr, uint8_t *len)
{
    char text[INET_ADDRSTRLEN];
    const char *slash = strchrnul(s, '/');
    uint64_t bits = 32;
    uint32_t a;
    int err;

    if ((size_t)(slash - s) >= sizeof(text))
        return -EINVAL;
    memcpy(text, s, (size_t)(slash - s));
    text[slash - s] = '\0';
    err = parse_ipv4(text, &a);
    if (err == 0 && *slash == '/') {
        s = slash + 1;
        err = take_number(&s, false, &bits);
        if (*s != '\0')
            err = -EINVAL;
        else if (err == 0 && bits > 32)
            err = -ERANGE;
    }
    if (err != 0)
        return err;
    *addr = a;
    *len = (uint8_t)bits;
    return 0;
}

int parse_mac(const char *s, uint8_t mac[6])
{
    uint8_t m[6];

    for (unsigned i = 0; i < 6; i++) {
        int hi = hex_digit(s[0]), lo = hi < 0 ? -1 : hex_digit(s[1]);

        if (lo < 0 || s[2] != (i < 5 ? ':' : '\0'))
            return -EINVAL;
        m[i] = (uint8_t)(hi << 4 | lo);
        s += 3;
    }
    memcpy(mac, m, sizeof(m));
    return 0;
}

/* --- the other way --- */

/* Write v in the largest of the units that it reaches, with up to three decimals and no trailing
 * zeros. Each unit is worth base of the one before. */
static char *format_scaled(uint64_t v, double base, const char *const *units, unsigned n_units,
                           char *buf, size_t len)
{
    double x = (double)v;
    unsigned u = 0;
    char number[32];
    size_t end;

    /* 999.9995 would print as 1000.000: it belongs to the next unit already. */
    for (; u + 1 < n_units && x >= base - (u == 0 ? 0 : 0.0005); u++)
        x /= base;
    snprintf(number, sizeof(number), "%.3f", x);
    end = strlen(number);
    while (number[end - 1] == '0')
        end--;
    end -= number[end - 1] == '.';
    snprintf(buf, len, "%.*s%s", (int)end, number, units[u]);
    return buf;
}

#define FORMAT(v, base, ...)                                                                       \
    static const char *const units[] = {__VA_ARGS__};                                              \
    return format_scaled(v, base, units, sizeof(units) / sizeof(units[0]), buf, len)

char *format_rate(uint64_t bits_per_s, char *buf, size_t len)
{
    FORMAT(bits_per_s, 1000, "", "k", "M", "G", "T");
}

char *format_duration(uint64_t ns, char *buf, size_t len)
{
    FORMAT(ns, 1000, "ns", "us", "ms", "s");
}

char *format_size(uint64_t bytes, char *buf, size_t len)
{
    FORMAT(bytes, 1024, " B", " KiB", " MiB", " GiB", " TiB");
}

char *format_ipv4(uint32_t addr, char *buf, size_t len)
{
    snprintf(buf, len, "%u.%u.%u.%u", addr >> 24, addr >> 16 & 0xff, addr >> 8 & 0xff, addr & 0xff);
    return buf;
}

char *format_mac(const uint8_t mac[6], char *buf, size_t len)
{
    snprintf(buf, len, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
             mac[5]);
    return buf;
}

bool take_uint16(const char **s, unsigned *out)
{
    char *end;
    unsigned long v;

    if (**s < '0' || **s > '9')
        return false;
    v = strtoul(*s, &end, 10);
    *s = end;
    *out = (unsigned)v;
    return v <= UINT16_MAX;
}
