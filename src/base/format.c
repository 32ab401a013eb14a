/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantities as people read them: the way back of units.c. */
#include "base/units.h"

#include <stdio.h>
#include <string.h>

/* v in the largest of the units that it reaches, with up to three decimals and no trailing zeros.
 * Each unit is worth base of the one before. */
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
