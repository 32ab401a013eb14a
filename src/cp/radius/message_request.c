/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/radius/message.h"

#include <string.h>

/* Attributes of the DSL Forum (RFC 4679). */
#define DSL_FORUM     3561
#define AGENT_CIRCUIT 1
#define AGENT_REMOTE  2

/* No RFC has counters per family. Those of Unisphere, later Juniper, are in FreeRADIUS' dictionary
 * "erx": IPv6's share of what the counters of RFC 2866 say of both. */
#define UNISPHERE             4874
#define IPV6_INPUT_OCTETS     151
#define IPV6_OUTPUT_OCTETS    152
#define IPV6_INPUT_PACKETS    153
#define IPV6_OUTPUT_PACKETS   154
#define IPV6_INPUT_GIGAWORDS  155
#define IPV6_OUTPUT_GIGAWORDS 156

#define SERVICE_FRAMED      2
#define PROTOCOL_PPP        1
#define AUTHENTIC_BY_RADIUS 1

static void write_nas(struct radius_writer *w, const struct radius_config *config)
{
    radius_put(w, RADIUS_NAS_IDENTIFIER,
               radius_octets(config->nas_identifier, strlen(config->nas_identifier)));
    if (config->nas_ipv4 != 0)
        radius_put_u32(w, RADIUS_NAS_IP_ADDRESS, config->nas_ipv4);
}

static void write_ipv6(struct radius_writer *w, const struct cpe_prefixes *ipv6)
{
    if (ipv6->wan_len == 128)
        radius_put_ipv6(w, RADIUS_FRAMED_IPV6_ADDRESS, ipv6->wan);
    else if (ipv6->wan_len > 0)
        radius_put_prefix(w, RADIUS_FRAMED_IPV6_PREFIX, ipv6->wan, ipv6->wan_len);
    for (unsigned i = 0; i < ipv6->n_delegated; i++)
        radius_put_prefix(w, RADIUS_DELEGATED_IPV6_PREFIX, (struct ipv6){ipv6->delegated[i], 0},
                          ipv6->delegated_len[i]);
}

static void write_user(struct radius_writer *w, const struct radius_user *user)
{
    radius_put(w, RADIUS_USER_NAME, user->name);
    radius_put_u32(w, RADIUS_SERVICE_TYPE, SERVICE_FRAMED);
    if (user->port_type == RADIUS_PORT_PPPOE_QINQ)
        radius_put_u32(w, RADIUS_FRAMED_PROTOCOL, PROTOCOL_PPP);
    radius_put_u32(w, RADIUS_NAS_PORT_TYPE, user->port_type);
    radius_put(w, RADIUS_NAS_PORT_ID, user->line);
    radius_put(w, RADIUS_CALLING_STATION_ID, user->station);
    radius_put(w, RADIUS_CALLED_STATION_ID, user->called);
    radius_put(w, RADIUS_ACCT_SESSION_ID, user->session);
    radius_put_vendor(w, DSL_FORUM, AGENT_CIRCUIT, user->circuit);
    radius_put_vendor(w, DSL_FORUM, AGENT_REMOTE, user->remote);
    if (user->ipv4 != 0)
        radius_put_u32(w, RADIUS_FRAMED_IP_ADDRESS, user->ipv4);
    write_ipv6(w, &user->ipv6);
}

/* CHAP-Password is the identifier and the response (RFC 2865 section 5.3). */
static void write_chap(struct radius_writer *w, const struct radius_credentials *credentials)
{
    uint8_t chap[1 + sizeof(credentials->response)] = {credentials->chap_id};

    memcpy(chap + 1, credentials->response, sizeof(credentials->response));
    radius_put(w, RADIUS_CHAP_PASSWORD, radius_octets(chap, sizeof(chap)));
    radius_put(w, RADIUS_CHAP_CHALLENGE, credentials->challenge);
}

void radius_write_access(struct radius_writer *w, const struct radius_config *config,
                         const struct radius_user *user,
                         const struct radius_credentials *credentials, uint64_t now_s)
{
    write_nas(w, config);
    write_user(w, user);
    radius_put_u32(w, RADIUS_EVENT_TIMESTAMP, (uint32_t)now_s);
    if (credentials->kind == RADIUS_CHAP)
        write_chap(w, credentials);
}

/* A counter in two halves (RFC 2869 sections 5.1 and 5.2). */
static void put_u64(struct radius_writer *w, enum radius_type low, enum radius_type high,
                    uint64_t value)
{
    radius_put_u32(w, low, (uint32_t)value);
    radius_put_u32(w, high, (uint32_t)(value >> 32));
}

static void put_ipv6_u64(struct radius_writer *w, uint8_t low, uint8_t high, uint64_t value)
{
    radius_put_vendor_u32(w, UNISPHERE, low, (uint32_t)value);
    radius_put_vendor_u32(w, UNISPHERE, high, (uint32_t)(value >> 32));
}

static void write_volumes(struct radius_writer *w, const struct radius_volume *ipv4,
                          const struct radius_volume *ipv6)
{
    put_u64(w, RADIUS_ACCT_INPUT_OCTETS, RADIUS_ACCT_INPUT_GIGAWORDS,
            ipv4->octets_in + ipv6->octets_in);
    put_u64(w, RADIUS_ACCT_OUTPUT_OCTETS, RADIUS_ACCT_OUTPUT_GIGAWORDS,
            ipv4->octets_out + ipv6->octets_out);
    radius_put_u32(w, RADIUS_ACCT_INPUT_PACKETS, (uint32_t)(ipv4->packets_in + ipv6->packets_in));
    radius_put_u32(w, RADIUS_ACCT_OUTPUT_PACKETS,
                   (uint32_t)(ipv4->packets_out + ipv6->packets_out));
    put_ipv6_u64(w, IPV6_INPUT_OCTETS, IPV6_INPUT_GIGAWORDS, ipv6->octets_in);
    put_ipv6_u64(w, IPV6_OUTPUT_OCTETS, IPV6_OUTPUT_GIGAWORDS, ipv6->octets_out);
    radius_put_vendor_u32(w, UNISPHERE, IPV6_INPUT_PACKETS, (uint32_t)ipv6->packets_in);
    radius_put_vendor_u32(w, UNISPHERE, IPV6_OUTPUT_PACKETS, (uint32_t)ipv6->packets_out);
}

void radius_write_record(struct radius_writer *w, const struct radius_config *config,
                         const struct radius_user *user, const struct radius_record *record)
{
    radius_put_u32(w, RADIUS_ACCT_STATUS_TYPE, record->status);
    write_nas(w, config);
    radius_put_u32(w, RADIUS_EVENT_TIMESTAMP, (uint32_t)record->time_s);
    if (user == NULL)
        return;
    write_user(w, user);
    radius_put_u32(w, RADIUS_ACCT_AUTHENTIC, AUTHENTIC_BY_RADIUS);
    radius_put_raw(w, record->classes);
    if (record->status == RADIUS_START)
        return;
    radius_put_u32(w, RADIUS_ACCT_SESSION_TIME, record->session_s);
    write_volumes(w, &record->ipv4, &record->ipv6);
    if (record->cause != RADIUS_CAUSE_NONE)
        radius_put_u32(w, RADIUS_ACCT_TERMINATE_CAUSE, record->cause);
}
