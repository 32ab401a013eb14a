/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Quantities with units, as a configuration writes them and as people read them. Every parser takes
 * the whole string, writes its result only on success, and returns 0, or -EINVAL (the string has
 * another form) or -ERANGE (the number does not fit).
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A count: "4096", "0x1000", "256K" (1024), "2M" (1024^2), "1G" (1024^3). */
int parse_count(const char *s, uint64_t *out);

/** A rate in bit/s: "10M", "1.5G", "64k", "10000000"; K/k, M, G, T are powers of 1000; a "bit/s" or
 * "bps" may follow. */
int parse_rate(const char *s, uint64_t *out);

/** A time in nanoseconds: "5ms", "10s", "250us", "100ns", "1.5s", "20min"; the unit is required,
 * but for "0". */
int parse_duration(const char *s, uint64_t *out);

/** A size in bytes: "2176", "2K" (1024), "64M", "1G". */
int parse_size(const char *s, uint64_t *out);

/** A range of unsigned numbers, both ends inside: "128-255" or "7"; decimal or 0x. first > last is
 * -EINVAL. */
int parse_range(const char *s, uint64_t *first, uint64_t *last);

/** An offered load: "14.88Mpps", "500 kpps", "10Gbit/s" (of frames with preamble and gap, 20 B),
 * "100%" of line rate. */
struct load {
    enum load_unit { LOAD_PPS, LOAD_BITS, LOAD_PERCENT } unit;
    double value; /* > 0; percent at most 100 */
};
int parse_load(const char *s, struct load *out);

/** Packets per second that a load is, for frames of size bytes (on average) with FCS on a line of
 * line_rate bit/s. */
double load_pps(const struct load *l, uint64_t line_rate, double size);

/** A share: "0.1%", "1/1000", or "0". Of 2^64, rounded up; 100% is UINT64_MAX. */
int parse_share(const char *s, uint64_t *out);

/** "192.0.2.1" in host byte order. */
int parse_ipv4(const char *s, uint32_t *out);

/** "192.0.2.0/24": address in host byte order and prefix length 0..32; without "/n" the length
 * is 32. */
int parse_prefix(const char *s, uint32_t *addr, uint8_t *len);

/** "128.256": S-VLAN and C-VLAN, each 0..4095, decimal. */
int parse_vlan_pair(const char *s, uint16_t *svlan, uint16_t *cvlan);

/** "02:00:00:00:00:01". */
int parse_mac(const char *s, uint8_t mac[6]);

/* The other way, for people; each returns buf. */

/** 1 500 000 bit/s -> "1.5M". */
char *format_rate(uint64_t bits_per_s, char *buf, size_t len);

/** 3 500 000 ns -> "3.5ms". */
char *format_duration(uint64_t ns, char *buf, size_t len);

/** 2 097 152 bytes -> "2 MiB". */
char *format_size(uint64_t bytes, char *buf, size_t len);

/** An address in host byte order -> "192.0.2.1". */
char *format_ipv4(uint32_t addr, char *buf, size_t len);

/** "02:00:00:00:00:01". */
char *format_mac(const uint8_t mac[6], char *buf, size_t len);

/** Take an unsigned number off the front of *s. Returns false where there is none, or one above
 * UINT16_MAX. */
bool take_uint16(const char **s, unsigned *out);

#endif
