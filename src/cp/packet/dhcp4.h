/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of DHCPv4 as bytes and as fields: RFC 2131, options of RFC 2132, 3046 and 6842. Reading
 * takes whatever a stranger sends, and looks at each byte once.
 */
#ifndef CP_PACKET_DHCP4_H
#define CP_PACKET_DHCP4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DHCP4_SERVER_PORT 67
#define DHCP4_CLIENT_PORT 68
#define DHCP4_LEAST       300     /* bytes of a message, as BOOTP has it: RFC 1542 section 2.1 */
#define DHCP4_MAX_SERVERS 4       /* DNS servers in a reply */
#define DHCP4_BROADCAST   0x8000u /* of flags */

/** The message type of option 53. */
enum dhcp4_type {
    DHCP4_DISCOVER = 1,
    DHCP4_OFFER,
    DHCP4_REQUEST,
    DHCP4_DECLINE,
    DHCP4_ACK,
    DHCP4_NAK,
    DHCP4_RELEASE,
    DHCP4_INFORM,
};

/** The value of an option, all its parts joined as RFC 3396 says; n 0: it is not there. */
struct dhcp4_bytes {
    uint8_t n;
    uint8_t at[255];
};

/** A message that was read. Numbers and addresses are in host byte order; 0 where an option is not
 * there. */
struct dhcp4 {
    uint8_t op; /* 1: of a client, 2: of a server */
    uint8_t type;
    uint8_t hops;
    uint8_t mac[6]; /* chaddr; only Ethernet is read */
    uint16_t secs, flags;
    uint32_t xid, ciaddr, yiaddr, siaddr, giaddr;
    uint32_t requested, server; /* options 50 and 54 */
    uint32_t lease;             /* seconds, option 51 */
    uint16_t max_size;          /* option 57 */
    struct dhcp4_bytes params;  /* option 55 */
    struct dhcp4_bytes client;  /* option 61 */
    struct dhcp4_bytes relay;   /* option 82, RFC 3046 */
};

/** Read a message of n bytes. Returns NULL, or what is wrong with it in words. */
const char *dhcp4_read(const uint8_t *at, size_t n, struct dhcp4 *m);

/** The name of a message type in capitals, "?" for any other. */
const char *dhcp4_type_name(uint8_t type);

/** What a reply says beside what it repeats of the request. Zero: not said. */
struct dhcp4_reply {
    uint8_t type;
    uint32_t address; /* yiaddr */
    uint32_t server, mask, router, broadcast;
    uint32_t dns[DHCP4_MAX_SERVERS];
    unsigned n_dns;
    const char *domain; /* NULL: none */
    uint32_t lease;     /* seconds; T1 is half of it, T2 seven eighths: RFC 2131 section 4.4.5 */
    const char *text;   /* option 56, why a request was refused; NULL: none */
};

/**
 * Write the reply to a request into room bytes, 576 at least: the options that the client
 * requested, in the client's order, within the client's maximum message size, continued in file and
 * sname where the options field is too short (RFC 2132 section 9.3). Options 61 (RFC 6842) and 82
 * (RFC 3046) are repeated. Returns its length.
 */
size_t dhcp4_write(const struct dhcp4 *request, const struct dhcp4_reply *r, uint8_t *to,
                   size_t room);

#endif
