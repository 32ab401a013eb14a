/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of PPP's control protocols as bytes and as fields: RFC 1661 section 5, the options of a
 * negotiation of section 6, and the authentication of RFC 1334 and RFC 1994. Reading takes whatever
 * a stranger sends; what is read points into his bytes.
 */
#ifndef CP_PACKET_PPP_H
#define CP_PACKET_PPP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PPP_HEADER      4    /* bytes of a packet before its data */
#define PPP_MOST        1500 /* bytes of a packet of a control protocol */
#define PPP_CHAP_DIGEST 16   /* bytes of a response of CHAP with MD5 */

/** The protocol field (RFC 1661 section 2). */
enum ppp_number {
    PPP_IPV4 = 0x0021,
    PPP_IPV6 = 0x0057,
    PPP_IPCP = 0x8021,   /* RFC 1332 */
    PPP_IPV6CP = 0x8057, /* RFC 5072 */
    PPP_LCP = 0xc021,
    PPP_PAP = 0xc023,  /* RFC 1334 */
    PPP_CHAP = 0xc223, /* RFC 1994 */
};

/** Codes of LCP; the network control protocols have the first seven. */
enum ppp_code {
    PPP_CONFIGURE_REQUEST = 1,
    PPP_CONFIGURE_ACK,
    PPP_CONFIGURE_NAK,
    PPP_CONFIGURE_REJECT,
    PPP_TERMINATE_REQUEST,
    PPP_TERMINATE_ACK,
    PPP_CODE_REJECT,
    PPP_PROTOCOL_REJECT,
    PPP_ECHO_REQUEST,
    PPP_ECHO_REPLY,
    PPP_DISCARD_REQUEST,
};

enum ppp_pap_code { PAP_REQUEST = 1, PAP_ACK, PAP_NAK };
enum ppp_chap_code { CHAP_CHALLENGE = 1, CHAP_RESPONSE, CHAP_SUCCESS, CHAP_FAILURE };

/** Bytes that lie elsewhere. */
struct ppp_bytes {
    const uint8_t *at;
    size_t n;
};

struct ppp_packet {
    uint8_t code, id;
    struct ppp_bytes data;
};

/** Read a packet; padding behind it is left out. Returns NULL, or what is wrong with it in words.
 */
const char *ppp_read(struct ppp_bytes bytes, struct ppp_packet *p);

/** Write a packet of at most PPP_MOST bytes, whose data may lie there already, behind PPP_HEADER.
 * Data that is too long is cut, as a Reject's may be (RFC 1661 section 5.6). Returns its length. */
size_t ppp_write(const struct ppp_packet *p, uint8_t to[PPP_MOST]);

/* --- options --- */

struct ppp_option {
    uint8_t type;
    struct ppp_bytes value;
    struct ppp_bytes whole; /* with type and length */
};

/** Do these bytes consist of whole options? */
bool ppp_options_right(struct ppp_bytes options);

/** Take the next option off bytes that are right. Returns false at their end. */
bool ppp_option_next(struct ppp_bytes *options, struct ppp_option *o);

/** Options that are being written; what does not fit is left out. */
struct ppp_options {
    size_t n;
    uint8_t at[PPP_MOST - PPP_HEADER];
};

void ppp_put(struct ppp_options *to, uint8_t type, const void *value, size_t n);
void ppp_put16(struct ppp_options *to, uint8_t type, uint16_t value);
void ppp_put32(struct ppp_options *to, uint8_t type, uint32_t value);

/** Write an option as it came. */
void ppp_put_whole(struct ppp_options *to, const struct ppp_option *o);

/** An option's value as a number; ~0 where it has another length. */
uint32_t ppp_value16(const struct ppp_option *o);
uint64_t ppp_value32(const struct ppp_option *o);

/* --- authentication --- */

/** What an Authenticate-Request of PAP says. Returns whether its data is right. */
bool ppp_read_pap(const struct ppp_packet *p, struct ppp_bytes *name, struct ppp_bytes *password);

/** What a Response of CHAP says. The same; the value has PPP_CHAP_DIGEST bytes. */
bool ppp_read_chap(const struct ppp_packet *p, const uint8_t **value, struct ppp_bytes *name);

#endif
