/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RADIUS packets as octets (RFC 2865 section 3): built attribute by attribute, and read in
 * place. Pure functions; nothing here knows a secret, a socket or a clock.
 */
#ifndef CP_RADIUS_PACKET_H
#define CP_RADIUS_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ipv6.h"

#define RADIUS_HEADER        20   /* octets before the attributes */
#define RADIUS_PACKET_MAX    4096 /* octets of a packet */
#define RADIUS_VALUE_MAX     253  /* octets of an attribute's value */
#define RADIUS_AUTHENTICATOR 16   /* octets of an authenticator, at octet 4 of a packet */

enum radius_code {
    RADIUS_ACCESS_REQUEST = 1,
    RADIUS_ACCESS_ACCEPT = 2,
    RADIUS_ACCESS_REJECT = 3,
    RADIUS_ACCOUNTING_REQUEST = 4,
    RADIUS_ACCOUNTING_RESPONSE = 5,
    RADIUS_ACCESS_CHALLENGE = 11,
    RADIUS_DISCONNECT_REQUEST = 40, /* RFC 5176; ACK and NAK are the next two */
    RADIUS_DISCONNECT_ACK = 41,
    RADIUS_DISCONNECT_NAK = 42,
    RADIUS_COA_REQUEST = 43,
    RADIUS_COA_ACK = 44,
    RADIUS_COA_NAK = 45,
};

/** Types of attributes, by the names of their RFCs. */
enum radius_type {
    RADIUS_USER_NAME = 1,
    RADIUS_USER_PASSWORD = 2,
    RADIUS_CHAP_PASSWORD = 3,
    RADIUS_NAS_IP_ADDRESS = 4,
    RADIUS_SERVICE_TYPE = 6,
    RADIUS_FRAMED_PROTOCOL = 7,
    RADIUS_FRAMED_IP_ADDRESS = 8,
    RADIUS_FILTER_ID = 11,
    RADIUS_REPLY_MESSAGE = 18,
    RADIUS_STATE = 24,
    RADIUS_CLASS = 25,
    RADIUS_VENDOR_SPECIFIC = 26,
    RADIUS_SESSION_TIMEOUT = 27,
    RADIUS_IDLE_TIMEOUT = 28,
    RADIUS_CALLED_STATION_ID = 30,
    RADIUS_CALLING_STATION_ID = 31,
    RADIUS_NAS_IDENTIFIER = 32,
    RADIUS_PROXY_STATE = 33,
    RADIUS_ACCT_STATUS_TYPE = 40, /* 40 to 49: RFC 2866 */
    RADIUS_ACCT_INPUT_OCTETS = 42,
    RADIUS_ACCT_OUTPUT_OCTETS = 43,
    RADIUS_ACCT_SESSION_ID = 44,
    RADIUS_ACCT_AUTHENTIC = 45,
    RADIUS_ACCT_SESSION_TIME = 46,
    RADIUS_ACCT_INPUT_PACKETS = 47,
    RADIUS_ACCT_OUTPUT_PACKETS = 48,
    RADIUS_ACCT_TERMINATE_CAUSE = 49,
    RADIUS_ACCT_INPUT_GIGAWORDS = 52, /* to 55: RFC 2869 */
    RADIUS_ACCT_OUTPUT_GIGAWORDS = 53,
    RADIUS_EVENT_TIMESTAMP = 55,
    RADIUS_CHAP_CHALLENGE = 60,
    RADIUS_NAS_PORT_TYPE = 61,
    RADIUS_MESSAGE_AUTHENTICATOR = 80,
    RADIUS_ACCT_INTERIM_INTERVAL = 85,
    RADIUS_NAS_PORT_ID = 87,
    RADIUS_FRAMED_POOL = 88,
    RADIUS_FRAMED_IPV6_PREFIX = 97, /* RFC 3162 */
    RADIUS_FRAMED_IPV6_POOL = 100,
    RADIUS_ERROR_CAUSE = 101,           /* RFC 5176 */
    RADIUS_DELEGATED_IPV6_PREFIX = 123, /* RFC 4818 */
    RADIUS_FRAMED_IPV6_ADDRESS = 168,   /* RFC 6911 */
    RADIUS_DELEGATED_IPV6_POOL = 171,
};

/** Octets that lie elsewhere; n 0: there are none. */
struct radius_octets {
    const uint8_t *p;
    size_t n;
};

static inline struct radius_octets radius_octets(const void *p, size_t n)
{
    return (struct radius_octets){p, n};
}

/* --- building --- */

/** Attributes, or a packet, while they are written one behind the other. */
struct radius_writer {
    uint8_t *at;
    size_t room, len;
    bool overfull; /* something did not fit, and was left out: the whole is not to be sent */
};

/** Begin a packet in RADIUS_PACKET_MAX octets. */
struct radius_writer radius_begin(uint8_t *packet, enum radius_code code, uint8_t id,
                                  const uint8_t authenticator[RADIUS_AUTHENTICATOR]);

/** Write octets as they are: attributes that were written elsewhere. */
void radius_put_raw(struct radius_writer *w, struct radius_octets attributes);

/** Write an attribute; an empty value is left out (RFC 2865 section 5). */
void radius_put(struct radius_writer *w, enum radius_type type, struct radius_octets value);
void radius_put_u32(struct radius_writer *w, enum radius_type type, uint32_t value);

void radius_put_ipv6(struct radius_writer *w, enum radius_type type, struct ipv6 addr);

/** A prefix as RFC 3162 section 2.3 and RFC 4818 section 3 write it. */
void radius_put_prefix(struct radius_writer *w, enum radius_type type, struct ipv6 prefix,
                       uint8_t len);

/** An attribute of a vendor, one in a Vendor-Specific (RFC 2865 section 5.26). */
void radius_put_vendor(struct radius_writer *w, uint32_t vendor, uint8_t type,
                       struct radius_octets value);
void radius_put_vendor_u32(struct radius_writer *w, uint32_t vendor, uint8_t type, uint32_t value);

/** Room for a Message-Authenticator, which signing fills in (seal.h). It is the first attribute:
 * nothing that a stranger may choose stands before it (CVE-2024-3596). */
void radius_put_message_authenticator(struct radius_writer *w);

/* --- reading --- */

/** The length that a packet's header says, of n octets that were received; those behind it are
 * padding (RFC 2865 section 3). 0: not a packet, or one whose attributes do not fill it. */
size_t radius_packet_len(const uint8_t *packet, size_t n);

struct radius_attribute {
    enum radius_type type;
    struct radius_octets value;
};

/** The attributes of a packet that radius_packet_len() has accepted, or of a part of one. */
struct radius_reader {
    const uint8_t *at, *end;
};

static inline struct radius_reader radius_attributes(const uint8_t *packet, size_t len)
{
    return (struct radius_reader){packet + RADIUS_HEADER, packet + len};
}

/** Take the next attribute. Returns false behind the last one. */
bool radius_next_attribute(struct radius_reader *r, struct radius_attribute *a);

/** A number of 4 octets, or an IPv6 address. Returns false where the value has another length. */
bool radius_take_u32(struct radius_octets value, uint32_t *out);
bool radius_take_ipv6(struct radius_octets value, struct ipv6 *out);

/** A value that is a prefix. Returns false where it is none (RFC 3162 section 2.3: a length above
 * 128, one that the octets do not hold, or bits behind it). */
bool radius_take_prefix(struct radius_octets value, struct ipv6 *prefix, uint8_t *len);

#endif
