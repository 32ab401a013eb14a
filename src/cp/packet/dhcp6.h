/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of DHCPv6 as bytes and as fields: RFC 8415, options of RFC 3646 as well. Reading takes
 * whatever a stranger sends, and looks at each byte a bounded number of times.
 */
#ifndef CP_PACKET_DHCP6_H
#define CP_PACKET_DHCP6_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ipv6.h"

#define DHCP6_SERVER_PORT 547
#define DHCP6_CLIENT_PORT 546
#define DHCP6_XID         0xffffff /* all transactions */
#define DHCP6_MAX_DUID    130      /* bytes: RFC 8415 section 11.1 */
#define DHCP6_MAX_IAS     8        /* identity associations in a message that is read */
#define DHCP6_MAX_LEASES  8        /* addresses and prefixes in all of them, of a client */
#define DHCP6_ROOM_LEASES (DHCP6_MAX_LEASES + 2) /* of a message of a server */
#define DHCP6_MAX_SERVERS 4                      /* DNS servers in a reply */

/** Message types: RFC 8415 section 7.3. */
enum dhcp6_type {
    DHCP6_SOLICIT = 1,
    DHCP6_ADVERTISE,
    DHCP6_REQUEST,
    DHCP6_CONFIRM,
    DHCP6_RENEW,
    DHCP6_REBIND,
    DHCP6_REPLY,
    DHCP6_RELEASE,
    DHCP6_DECLINE,
    DHCP6_RECONFIGURE,
    DHCP6_INFORMATION_REQUEST,
    DHCP6_RELAY_FORW,
    DHCP6_RELAY_REPL,
};

/** Status codes: RFC 8415 section 21.13. */
enum dhcp6_status {
    DHCP6_SUCCESS,
    DHCP6_UNSPEC_FAIL,
    DHCP6_NO_ADDRS_AVAIL,
    DHCP6_NO_BINDING,
    DHCP6_NOT_ON_LINK,
    DHCP6_USE_MULTICAST,
    DHCP6_NO_PREFIX_AVAIL,
};

/** What an identity association is of; the values are the options' codes. */
enum dhcp6_kind { DHCP6_IA_NA = 3, DHCP6_IA_TA = 4, DHCP6_IA_PD = 25 };

/** A name of a client or server; n 0: it is not there. */
struct dhcp6_duid {
    uint8_t n;
    uint8_t at[DHCP6_MAX_DUID];
};

/** An identity association. t1 and t2 are seconds, 0 of one of temporary addresses. */
struct dhcp6_ia {
    uint8_t kind;     /* enum dhcp6_kind */
    uint16_t status;  /* enum dhcp6_status */
    const char *text; /* of a status that is written; NULL: without one, where it is a success */
    uint32_t iaid, t1, t2;
};

/** An address (len 128), or a prefix that is delegated. */
struct dhcp6_lease {
    uint8_t ia; /* place of its identity association in the message */
    uint8_t len;
    uint32_t preferred, valid; /* seconds */
    struct ipv6 address;
};

/** A message. */
struct dhcp6 {
    uint8_t type;
    uint32_t xid; /* 24 bits */
    struct dhcp6_duid client, server;
    bool rapid;         /* option 14 */
    bool wants_dns;     /* option 23 is among those that are asked for */
    bool wants_domain;  /* 24 */
    bool wants_refresh; /* 32 */
    bool begins;        /* option 8, of 0, is written: a client's first message of its kind */
    bool has_status;    /* option 13 outside of identity associations */
    uint16_t status;    /* enum dhcp6_status */
    const char *text;   /* of a status that is written */
    uint8_t n_ia, n_lease;
    struct dhcp6_ia ia[DHCP6_MAX_IAS];
    struct dhcp6_lease lease[DHCP6_ROOM_LEASES];
};

/** What a server tells its clients beside their leases. */
struct dhcp6_network {
    const struct ipv6 *dns;
    unsigned n_dns;
    const char *domain; /* NULL: none */
    uint32_t refresh_s; /* option 32; 0: not sent */
};

/** Read a message of n bytes. Returns NULL, or what is wrong with it in words. */
const char *dhcp6_read(const uint8_t *at, size_t n, struct dhcp6 *m);

/** Write a message, and of a network what m->wants_* say, into room bytes. Returns its length, or 0
 * where it does not fit or a domain is none. */
size_t dhcp6_write(const struct dhcp6 *m, const struct dhcp6_network *network, uint8_t *to,
                   size_t room);

/** Can a text be written as a domain name: labels of 1 to 63 characters, 253 in all? */
bool dhcp6_is_domain(const char *text);

/** The name of a message type in capitals, "?" for any other. */
const char *dhcp6_type_name(uint8_t type);

/** Are both the same name? */
bool dhcp6_same_duid(const struct dhcp6_duid *a, const struct dhcp6_duid *b);

#endif
