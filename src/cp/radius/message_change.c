/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/radius/message.h"

#include <string.h>

#define SERVICE_FRAMED 2

static enum radius_error is_number(bool right)
{
    return right ? RADIUS_NO_ERROR : RADIUS_INVALID_VALUE;
}

static enum radius_error take_text(struct radius_octets value, struct radius_octets *text)
{
    if (value.n == 0 || text->n > 0)
        return RADIUS_INVALID_VALUE;
    *text = value;
    return RADIUS_NO_ERROR;
}

static enum radius_error take_seconds(struct radius_octets value, bool *given, uint32_t *seconds)
{
    *given = true;
    return is_number(radius_take_u32(value, seconds));
}

static enum radius_error take_service(struct radius_octets value)
{
    uint32_t service;

    if (!radius_take_u32(value, &service))
        return RADIUS_INVALID_VALUE;
    return service == SERVICE_FRAMED ? RADIUS_NO_ERROR : RADIUS_UNSUPPORTED_SERVICE;
}

static enum radius_error take_delegated(struct radius_octets value, struct cpe_prefixes *ipv6)
{
    struct ipv6 prefix;

    if (ipv6->n_delegated == CPE_DELEGATED ||
        !radius_take_prefix(value, &prefix, &ipv6->delegated_len[ipv6->n_delegated]))
        return RADIUS_INVALID_VALUE;
    ipv6->delegated[ipv6->n_delegated++] = prefix.upper;
    return RADIUS_NO_ERROR;
}

static enum radius_error check_address(struct radius_octets value,
                                       const struct radius_config *config)
{
    uint32_t addr;

    if (!radius_take_u32(value, &addr))
        return RADIUS_INVALID_VALUE;
    return addr == config->nas_ipv4 ? RADIUS_NO_ERROR : RADIUS_OTHER_NAS;
}

static enum radius_error check_identifier(struct radius_octets value,
                                          const struct radius_config *config)
{
    bool same = value.n == strlen(config->nas_identifier) &&
                memcmp(value.p, config->nas_identifier, value.n) == 0;

    return same ? RADIUS_NO_ERROR : RADIUS_OTHER_NAS;
}

/* What says which session, and what may stand in any request. */
static enum radius_error take_session(const struct radius_attribute *a,
                                      const struct radius_config *config,
                                      struct radius_change *change)
{
    switch (a->type) {
    case RADIUS_USER_NAME:
        return take_text(a->value, &change->name);
    case RADIUS_ACCT_SESSION_ID:
        return take_text(a->value, &change->session);
    case RADIUS_NAS_PORT_ID:
        return take_text(a->value, &change->line);
    case RADIUS_CALLING_STATION_ID:
        return take_text(a->value, &change->station);
    case RADIUS_FRAMED_IP_ADDRESS:
        return is_number(radius_take_u32(a->value, &change->ipv4));
    case RADIUS_FRAMED_IPV6_PREFIX:
        return is_number(radius_take_prefix(a->value, &change->ipv6.wan, &change->ipv6.wan_len));
    case RADIUS_FRAMED_IPV6_ADDRESS:
        return is_number(radius_take_ipv6(a->value, &change->address6));
    case RADIUS_DELEGATED_IPV6_PREFIX:
        return take_delegated(a->value, &change->ipv6);
    case RADIUS_NAS_IP_ADDRESS:
        return check_address(a->value, config);
    case RADIUS_NAS_IDENTIFIER:
        return check_identifier(a->value, config);
    case RADIUS_EVENT_TIMESTAMP:
    case RADIUS_MESSAGE_AUTHENTICATOR:
    case RADIUS_PROXY_STATE:
    case RADIUS_REPLY_MESSAGE:
    case RADIUS_ACCT_TERMINATE_CAUSE:
        return RADIUS_NO_ERROR;
    default:
        return RADIUS_UNSUPPORTED_ATTRIBUTE;
    }
}

/* What a session shall have from now on; of a CoA-Request alone. */
static enum radius_error take_authorization(const struct radius_attribute *a,
                                            const struct radius_config *config,
                                            struct radius_change *change)
{
    switch (a->type) {
    case RADIUS_FILTER_ID:
        return take_text(a->value, &change->profile);
    case RADIUS_SESSION_TIMEOUT:
        return take_seconds(a->value, &change->has_session_s, &change->session_s);
    case RADIUS_IDLE_TIMEOUT:
        return take_seconds(a->value, &change->has_idle_s, &change->idle_s);
    case RADIUS_ACCT_INTERIM_INTERVAL:
        return take_seconds(a->value, &change->has_interim_s, &change->interim_s);
    case RADIUS_SERVICE_TYPE:
        return take_service(a->value);
    default:
        return take_session(a, config, change);
    }
}

bool radius_names_session(const struct radius_change *change)
{
    return change->name.n > 0 || change->session.n > 0 || change->line.n > 0 ||
           change->station.n > 0 || change->ipv4 != 0 || change->ipv6.wan_len > 0 ||
           !is_none6(change->address6) || change->ipv6.n_delegated > 0;
}

enum radius_error radius_read_change(const uint8_t *packet, size_t len,
                                     const struct radius_config *config,
                                     struct radius_change *change)
{
    struct radius_reader r = radius_attributes(packet, len);
    struct radius_attribute a;
    enum radius_error error;

    memset(change, 0, sizeof(*change));
    change->disconnect = packet[0] == RADIUS_DISCONNECT_REQUEST;
    while (radius_next_attribute(&r, &a)) {
        error = change->disconnect ? take_session(&a, config, change)
                                   : take_authorization(&a, config, change);
        if (error != RADIUS_NO_ERROR)
            return error;
    }
    return radius_names_session(change) ? RADIUS_NO_ERROR : RADIUS_MISSING_ATTRIBUTE;
}
