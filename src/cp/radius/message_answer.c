/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/radius/message.h"

#include <string.h>

#define SERVICE_FRAMED 2
#define USER_SELECTS   UINT32_C(0xffffffff) /* values of Framed-IP-Address: RFC 2865 section 5.8 */
#define NAS_SELECTS    UINT32_C(0xfffffffe)
#define INTERIM_LEAST  60 /* seconds (RFC 2869 section 5.16) */

struct reading {
    struct radius_answer *answer;
    uint8_t *classes;
};

/* --- values; each returns whether the gateway can do what it says --- */

/* Neither 0/8, loopback, multicast nor reserved. */
static bool is_host(uint32_t addr)
{
    return addr >> 24 != 0 && addr >> 24 != 127 && addr >> 28 < 14;
}

static bool take_ipv4(struct radius_octets value, uint32_t *ipv4)
{
    if (!radius_take_u32(value, ipv4))
        return false;
    if (*ipv4 == USER_SELECTS || *ipv4 == NAS_SELECTS)
        *ipv4 = 0;
    return *ipv4 == 0 || is_host(*ipv4);
}

/* An address says more than the prefix of the link. */
static bool take_link_prefix(struct radius_octets value, struct cpe_prefixes *ipv6)
{
    struct ipv6 prefix;
    uint8_t len;

    if (!radius_take_prefix(value, &prefix, &len) || len != 64)
        return false;
    if (ipv6->wan_len == 128)
        return true;
    ipv6->wan = prefix;
    ipv6->wan_len = len;
    return true;
}

static bool take_link_address(struct radius_octets value, struct cpe_prefixes *ipv6)
{
    ipv6->wan_len = 128;
    return radius_take_ipv6(value, &ipv6->wan);
}

static bool take_delegated(struct radius_octets value, struct cpe_prefixes *ipv6)
{
    struct ipv6 prefix;
    uint8_t len;

    if (ipv6->n_delegated == CPE_DELEGATED || !radius_take_prefix(value, &prefix, &len) ||
        len < 48 || len > 64)
        return false;
    ipv6->delegated[ipv6->n_delegated] = prefix.upper;
    ipv6->delegated_len[ipv6->n_delegated++] = len;
    return true;
}

/* The first of several counts. */
static bool take_text(struct radius_octets value, struct radius_octets *text)
{
    if (text->n == 0)
        *text = value;
    return true;
}

static bool take_interim(struct radius_octets value, uint32_t *seconds)
{
    if (!radius_take_u32(value, seconds))
        return false;
    if (*seconds > 0 && *seconds < INTERIM_LEAST)
        *seconds = INTERIM_LEAST;
    return true;
}

static bool take_service(struct radius_octets value)
{
    uint32_t service;

    return radius_take_u32(value, &service) && service == SERVICE_FRAMED;
}

/* With its header, as accounting sends it back. */
static bool take_class(struct radius_octets value, struct reading *r)
{
    struct radius_octets *kept = &r->answer->classes;

    if (kept->n + value.n + 2 > RADIUS_CLASSES_MAX)
        return false;
    memcpy(r->classes + kept->n, value.p - 2, value.n + 2);
    *kept = radius_octets(r->classes, kept->n + value.n + 2);
    return true;
}

/* What is not known is left out of account (RFC 2865 section 5). */
static bool take(struct reading *r, const struct radius_attribute *a)
{
    struct radius_answer *answer = r->answer;

    switch (a->type) {
    case RADIUS_SERVICE_TYPE:
        return take_service(a->value);
    case RADIUS_FRAMED_IP_ADDRESS:
        return take_ipv4(a->value, &answer->ipv4);
    case RADIUS_FRAMED_IPV6_PREFIX:
        return take_link_prefix(a->value, &answer->ipv6);
    case RADIUS_FRAMED_IPV6_ADDRESS:
        return take_link_address(a->value, &answer->ipv6);
    case RADIUS_DELEGATED_IPV6_PREFIX:
        return take_delegated(a->value, &answer->ipv6);
    case RADIUS_FRAMED_POOL:
        return take_text(a->value, &answer->pool);
    case RADIUS_FRAMED_IPV6_POOL:
        return take_text(a->value, &answer->pool6);
    case RADIUS_DELEGATED_IPV6_POOL:
        return take_text(a->value, &answer->delegated_pool);
    case RADIUS_USER_NAME:
        return take_text(a->value, &answer->user);
    case RADIUS_FILTER_ID:
        return take_text(a->value, &answer->profile);
    case RADIUS_SESSION_TIMEOUT:
        return radius_take_u32(a->value, &answer->session_s);
    case RADIUS_IDLE_TIMEOUT:
        return radius_take_u32(a->value, &answer->idle_s);
    case RADIUS_ACCT_INTERIM_INTERVAL:
        return take_interim(a->value, &answer->interim_s);
    case RADIUS_CLASS:
        return take_class(a->value, r);
    default:
        return true;
    }
}

/* --- answers --- */

static void read_accept(struct radius_reader r, struct reading *to)
{
    struct radius_attribute a;

    while (radius_next_attribute(&r, &a)) {
        if (take(to, &a))
            continue;
        to->answer->outcome = RADIUS_UNUSABLE;
        to->answer->unusable = (uint8_t)a.type;
        return;
    }
}

void radius_read_answer(const uint8_t *packet, size_t len, uint8_t classes[RADIUS_CLASSES_MAX],
                        struct radius_answer *answer)
{
    struct radius_reader r = radius_attributes(packet, len), again = r;
    struct radius_attribute a;

    memset(answer, 0, sizeof(*answer));
    while (radius_next_attribute(&r, &a))
        if (a.type == RADIUS_REPLY_MESSAGE)
            take_text(a.value, &answer->message);
    answer->outcome = packet[0] == RADIUS_ACCESS_REJECT || packet[0] == RADIUS_ACCESS_CHALLENGE
                          ? RADIUS_REJECTED
                          : RADIUS_ACCEPTED;
    if (packet[0] == RADIUS_ACCESS_ACCEPT)
        read_accept(again, &(struct reading){answer, classes});
}
