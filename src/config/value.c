/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "config/read.h"

/* Notations: from the text of one value to a number, and what a key takes, in words. */

bool ipv4_is_host(uint32_t addr)
{
    uint32_t first = addr >> 24;

    return first != 0 && first != 127 && first < 224;
}

bool ipv6_is_host(struct ipv6 addr)
{
    return addr.upper >> 56 != 0 && !is_link_local6(addr) && addr.upper >> 56 != 0xff;
}

void mac_from_u64(uint64_t v, uint8_t mac[6])
{
    for (int i = 5; i >= 0; i--, v >>= 8)
        mac[i] = (uint8_t)v;
}

uint64_t mac_to_u64(const uint8_t mac[6])
{
    uint64_t v = 0;

    for (unsigned i = 0; i < 6; i++)
        v = v << 8 | mac[i];
    return v;
}

static int parse_mac_number(const char *text, uint64_t *out)
{
    uint8_t mac[6];

    if (parse_mac(text, mac) != 0)
        return -EINVAL;
    if (mac_to_u64(mac) == 0 || (mac[0] & 1) != 0)
        return -ERANGE;
    *out = mac_to_u64(mac);
    return 0;
}

static int parse_address(enum key_type type, const char *text, struct param_value *v)
{
    bool prefix = type == KEY_PREFIX || type == KEY_HOSTS,
         hosts = type == KEY_HOST || type == KEY_HOSTS;
    uint32_t addr;
    uint8_t len = 32;

    if (prefix ? parse_prefix(text, &addr, &len) : parse_ipv4(text, &addr))
        return -EINVAL;
    if ((hosts && !ipv4_is_host(addr)) || (type == KEY_HOSTS && len < 24))
        return -ERANGE;
    v->u = addr;
    v->u2 = len;
    return 0;
}

/* One address or prefix, or several. Who uses it parses the text once more. */
static int parse_ipv6_value(enum key_type type, const char *text)
{
    bool many = type == KEY_DELEGATED || type == KEY_POOLS6;
    unsigned least = type == KEY_DELEGATED ? 48
                     : type == KEY_HOST6   ? 64
                                           : 16,
             most = many                  ? 64
                    : type == KEY_PREFIX6 ? 127
                                          : 128;
    struct ipv6 addr[CPE_DELEGATED];
    uint8_t len[CPE_DELEGATED];
    int n = parse_prefixes6(text, addr, len, many ? CPE_DELEGATED : 1);

    for (int i = 0; i < n; i++)
        if (len[i] < least || len[i] > most ||
            (type == KEY_HOST6 && len[i] != 64 && len[i] != 128) || !ipv6_is_host(addr[i]))
            return -ERANGE;
    return n > 0 ? 0 : n;
}

/* A prefix of either family: only IPv6 has a colon. */
static int parse_route(const char *text, struct param_value *v)
{
    struct ipv6 addr;
    uint8_t len;

    if (strchr(text, ':') == NULL)
        return parse_address(KEY_PREFIX, text, v);
    if (parse_prefix6(text, &addr, &len) != 0)
        return -EINVAL;
    v->u2 = len;
    return 0;
}

/* An address of either family. Within a link a link-local one is an address, too. */
static int parse_any_address(enum key_type type, const char *text, struct param_value *v)
{
    struct ipv6 addr;

    if (strchr(text, ':') == NULL)
        return parse_address(KEY_HOST, text, v);
    if (parse_ipv6(text, &addr) != 0)
        return -EINVAL;
    return ipv6_is_host(addr) || (type == KEY_NEIGHBOUR && is_link_local6(addr)) ? 0 : -ERANGE;
}

static int parse_choice(const char *const *choices, const char *text, uint64_t *out)
{
    for (unsigned i = 0; choices[i] != NULL; i++) {
        if (strcmp(choices[i], text) == 0) {
            *out = i;
            return 0;
        }
    }
    return -EINVAL;
}

static int parse_bool(const char *text, uint64_t *out)
{
    static const char *const words[] = {"false", "true", NULL};

    return parse_choice(words, text, out);
}

static int parse_name(const char *text)
{
    size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");

    return len > 0 && len <= CFG_MAX_NAME && text[len] == '\0' ? 0 : -EINVAL;
}

/* An id, or "PORT SVLAN.CVLAN". */
static int parse_subscriber(const char *text, struct param_value *v)
{
    const char *vlans = strchr(text, ' ');
    uint16_t svlan, cvlan;

    if (vlans == NULL)
        return parse_count(text, &v->u);
    if (vlans == text || parse_vlan_pair(vlans + strspn(vlans, " "), &svlan, &cvlan) != 0)
        return -EINVAL;
    v->u = svlan;
    v->u2 = cvlan;
    return 0;
}

/* A number in its notation, still without bounds. v->u2 is its last number where it is no range. */
static int parse_number(const struct key *k, const char *text, struct param_value *v)
{
    int err;

    switch (k->type) {
    case KEY_COUNT:
        err = parse_count(text, &v->u);
        break;
    case KEY_SIZE:
        err = parse_size(text, &v->u);
        break;
    case KEY_RATE:
        err = parse_rate(text, &v->u);
        break;
    case KEY_DURATION:
        err = parse_duration(text, &v->u);
        break;
    default:
        return parse_range(text, &v->u, &v->u2);
    }
    v->u2 = v->u;
    return err;
}

static int parse_bounded(const struct key *k, const char *text, struct param_value *v)
{
    struct param_value n = {0};
    int err = parse_number(k, text, &n);

    if (err != 0)
        return err;
    if (n.u < k->min || (k->max != 0 && n.u2 > k->max))
        return -ERANGE;
    if (k->power_of_two && (n.u & (n.u - 1)) != 0)
        return -ERANGE;
    v->u = n.u;
    v->u2 = n.u2;
    return 0;
}

int key_parse(const struct key *k, const char *text, struct param_value *v)
{
    switch (k->type) {
    case KEY_BOOL:
        return parse_bool(text, &v->u);
    case KEY_ENUM:
        return parse_choice(k->choices, text, &v->u);
    case KEY_NAME:
        return parse_name(text);
    case KEY_STRING:
    case KEY_SCHEDULER:
    case KEY_PORT:
    case KEY_PROFILE:
    case KEY_LIST:
    case KEY_OTHER:
        return 0;
    case KEY_SIZES:
        return frame_sizes_parse(text, &(struct frame_sizes){0});
    case KEY_TEMPLATE:
        return text[0] != '\0' ? 0 : -EINVAL;
    case KEY_IPV4:
    case KEY_HOST:
    case KEY_PREFIX:
    case KEY_HOSTS:
        return parse_address(k->type, text, v);
    case KEY_ADDRESS:
    case KEY_NEIGHBOUR:
        return parse_any_address(k->type, text, v);
    case KEY_ROUTE:
        return parse_route(text, v);
    case KEY_HOST6:
    case KEY_PREFIX6:
    case KEY_DELEGATED:
    case KEY_POOLS6:
        return parse_ipv6_value(k->type, text);
    case KEY_LABEL:
        return utf8_is_label(text, CFG_MAX_LABEL) ? 0 : -EINVAL;
    case KEY_MAC:
        return parse_mac_number(text, &v->u);
    case KEY_SUBSCRIBER:
        return parse_subscriber(text, v);
    case KEY_LOAD:
        return parse_load(text, &v->load);
    case KEY_SHARE:
        return parse_share(text, &v->u);
    case KEY_COUNT:
    case KEY_SIZE:
    case KEY_RATE:
    case KEY_DURATION:
    case KEY_RANGE:
        break;
    }
    return parse_bounded(k, text, v);
}

/* 'a', 'b' or 'c' */
static void choices_text(const char *const *choices, char *buf, size_t len)
{
    size_t used = 0;

    buf[0] = '\0';
    for (unsigned i = 0; choices[i] != NULL && used < len; i++) {
        const char *sep = i == 0 ? "" : choices[i + 1] == NULL ? " or " : ", ";

        used += (size_t)snprintf(buf + used, len - used, "%s'%s'", sep, choices[i]);
    }
}

/* ", 1ms..10s" for numbers that are written with units, "68..9198" for others */
static void bounds_text(const struct key *k, char *buf, size_t len)
{
    char first[32], last[32];

    buf[0] = '\0';
    if (k->max == 0)
        return;
    if (k->type == KEY_RATE)
        snprintf(buf, len, ", %s..%s", format_rate(k->min, first, sizeof(first)),
                 format_rate(k->max, last, sizeof(last)));
    else if (k->type == KEY_DURATION)
        snprintf(buf, len, ", %s..%s", format_duration(k->min, first, sizeof(first)),
                 format_duration(k->max, last, sizeof(last)));
    else
        snprintf(buf, len, "%" PRIu64 "..%" PRIu64, k->min, k->max);
}

#define NO_HOST6 "outside of ::/8, fe80::/10 and ff00::/8" /* as ipv6_is_host() has it */

static const char *notation_text(enum key_type type)
{
    static const char *const notations[] = {
        [KEY_COUNT] = "a number, such as 4096 or \"64K\"",
        [KEY_SIZE] = "a number of bytes, such as \"2K\"",
        [KEY_RATE] = "a rate in bit/s, such as \"10M\"",
        [KEY_DURATION] = "a time with its unit, such as \"5ms\"",
        [KEY_BOOL] = "true or false",
        [KEY_IPV4] = "an IPv4 address, such as \"192.0.2.1\"",
        [KEY_STRING] = "a string",
        [KEY_LOAD] = "a load, such as \"1Mpps\", \"10Gbit/s\" or \"100%\"",
        [KEY_SHARE] = "a share, such as \"0.1%\" or \"1/1000\"",
        [KEY_SCHEDULER] = "the name of a scheduler",
        [KEY_TEMPLATE] = "the path of a packet template",
        [KEY_SIZES] = "bytes of a frame with FCS, 64 to 9022, \"imix\", or sizes with their shares "
                      "of the packets, such as \"64:7,594:4,1518:1\"",
        [KEY_NAME] = "a name of at most 24 letters, digits, '_', '-' and '.'",
        [KEY_HOST] = "the IPv4 address of a host, such as \"192.0.2.1\"",
        [KEY_ADDRESS] = "the IPv4 or IPv6 address of a host, such as \"192.0.2.1\" or "
                        "\"2001:db8::1\"",
        [KEY_NEIGHBOUR] = "the IPv4 or IPv6 address of a neighbour, such as \"192.0.2.1\", "
                          "\"2001:db8::1\" or \"fe80::1\"",
        [KEY_PREFIX] = "an IPv4 prefix, such as \"192.0.2.0/24\"",
        [KEY_ROUTE] = "an IPv4 or IPv6 prefix, such as \"192.0.2.0/24\" or \"2001:db8::/32\"",
        [KEY_HOSTS] = "the IPv4 address of a host, or a prefix of length 24..32",
        [KEY_HOST6] = "the IPv6 address of a host, or an IPv6 prefix of length 64, " NO_HOST6,
        [KEY_PREFIX6] = "an IPv6 prefix, such as \"2001:db8::/48\", " NO_HOST6,
        [KEY_DELEGATED] = "1 to 4 IPv6 prefixes of length 48..64, with blanks between, " NO_HOST6,
        [KEY_POOLS6] = "1 to 4 IPv6 prefixes of length 16..64, with blanks between, " NO_HOST6,
        [KEY_PORT] = "the name of a port",
        [KEY_PROFILE] = "the name of a profile",
        [KEY_SUBSCRIBER] = "an id or \"PORT SVLAN.CVLAN\"",
        [KEY_LABEL] = "a text of 1 to 64 characters in UTF-8, all of which can be seen, without a "
                      "space at either end",
        [KEY_LIST] = "a list",
        [KEY_OTHER] = "a value",
        [KEY_MAC] = "the MAC address of a host, such as \"02:00:00:00:00:01\"",
    };

    return notations[type];
}

void key_expected(const struct key *k, char *buf, size_t len)
{
    char bounds[80];

    bounds_text(k, bounds, sizeof(bounds));
    if (k->type == KEY_ENUM)
        choices_text(k->choices, buf, len);
    else if (k->type == KEY_RANGE)
        snprintf(buf, len, "a number or a range such as \"128-255\"%s%s",
                 bounds[0] != '\0' ? ", within " : "", bounds);
    else if ((k->type == KEY_COUNT || k->type == KEY_SIZE) && k->max != 0)
        snprintf(buf, len, "%s%s", k->power_of_two ? "a power of two, " : "", bounds);
    else if (k->type == KEY_RATE || k->type == KEY_DURATION)
        snprintf(buf, len, "%s%s", notation_text(k->type), bounds);
    else
        snprintf(buf, len, "%s", notation_text(k->type));
}
