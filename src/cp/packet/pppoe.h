/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of PPPoE without VLAN tags as bytes and as fields: RFC 2516, tags of RFC 4638 and of
 * TR-101. Reading takes whatever a stranger sends; what is read points into his bytes.
 */
#ifndef CP_PACKET_PPPOE_H
#define CP_PACKET_PPPOE_H

#include <stdbool.h>

#include "cp/packet/ppp.h"

#define PPPOE_DISCOVERY 0x8863 /* EtherTypes */
#define PPPOE_SESSION   0x8864
#define PPPOE_ETHERNET  14 /* bytes of Ethernet's header */
#define PPPOE_HEADER    6
#define PPPOE_BEFORE    (PPPOE_ETHERNET + PPPOE_HEADER + 2) /* the protocol field included */
#define PPPOE_MRU       1492 /* bytes of a packet in a frame of 1500 bytes: RFC 2516 section 7 */
#define PPPOE_MOST      1514 /* bytes of a frame of discovery */

enum pppoe_code {
    PPPOE_DATA = 0x00,
    PPPOE_PADI = 0x09,
    PPPOE_PADO = 0x07,
    PPPOE_PADR = 0x19,
    PPPOE_PADS = 0x65,
    PPPOE_PADT = 0xa7,
};

enum pppoe_tag {
    PPPOE_END_OF_LIST = 0x0000,
    PPPOE_SERVICE_NAME = 0x0101,
    PPPOE_AC_NAME = 0x0102,
    PPPOE_HOST_UNIQ = 0x0103,
    PPPOE_AC_COOKIE = 0x0104,
    PPPOE_VENDOR = 0x0105,
    PPPOE_RELAY_SESSION_ID = 0x0110,
    PPPOE_MAX_PAYLOAD = 0x0120, /* RFC 4638 */
    PPPOE_SERVICE_NAME_ERROR = 0x0201,
    PPPOE_AC_SYSTEM_ERROR = 0x0202,
};

struct pppoe {
    const uint8_t *to_mac, *from_mac;
    uint8_t code;
    uint16_t session;
    struct ppp_bytes payload;
};

/** Tags of a frame of discovery; .at NULL: it is not there. The first one of a type counts. */
struct pppoe_tags {
    struct ppp_bytes service, host_uniq, cookie, relay;
    struct ppp_bytes circuit, remote; /* Agent Circuit ID and Remote ID: TR-101 section 3.9.2 */
    unsigned n_services;
    uint16_t max_payload; /* 0: it is not there */
};

/** Read a frame of an EtherType; padding behind it is left out. Returns NULL, or what is wrong with
 * it in words. */
const char *pppoe_read(struct ppp_bytes frame, uint16_t ethertype, struct pppoe *p);

/** Read the payload of a frame of discovery. The same. */
const char *pppoe_read_tags(struct ppp_bytes payload, struct pppoe_tags *t);

/** A frame that is being written. What is beyond its room makes it overfull. */
struct pppoe_frame {
    size_t n;
    bool overfull;
    uint8_t at[PPPOE_MOST];
};

/** Begin a frame of discovery. */
void pppoe_begin(struct pppoe_frame *f, const uint8_t to[6], const uint8_t from[6],
                 enum pppoe_code code, uint16_t session);
void pppoe_put(struct pppoe_frame *f, enum pppoe_tag tag, const void *value, size_t n);

/** Write a tag of a request as it came, if it was there. */
void pppoe_repeat(struct pppoe_frame *f, enum pppoe_tag tag, struct ppp_bytes value);

/** End it: its length is written. Returns whether it is whole. */
bool pppoe_end(struct pppoe_frame *f);

/** Write the headers of a frame of a session before n bytes of a protocol. */
void pppoe_write_session(uint8_t to[PPPOE_BEFORE], const uint8_t to_mac[6],
                         const uint8_t from_mac[6], uint16_t session, uint16_t protocol, size_t n);

#endif
