/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a shared secret does to packets: passwords are hidden, requests and answers are signed and
 * checked, by MD5 as the protocol has it. A packet is as packet.h has built or accepted it.
 */
#ifndef CP_RADIUS_SEAL_H
#define CP_RADIUS_SEAL_H

#include "cp/radius/packet.h"

/** User-Password, hidden by secret and authenticator (RFC 2865 section 5.2): at most 128 octets. */
void radius_put_password(struct radius_writer *w, struct radius_octets password,
                         struct radius_octets secret,
                         const uint8_t authenticator[RADIUS_AUTHENTICATOR]);

/* --- signing: the length of the packet is written, too, and returned --- */

/** An Access-Request, whose authenticator is random: fills in its Message-Authenticator
 * (RFC 3579 section 3.2). */
size_t radius_sign_access(const struct radius_writer *w, struct radius_octets secret);

/** A request whose authenticator is a digest over it (RFC 2866 section 3, RFC 5176 section 2.3). */
size_t radius_sign_request(const struct radius_writer *w, struct radius_octets secret);

/** The answer to a request with this authenticator: its Message-Authenticator and its own
 * authenticator. */
size_t radius_sign_answer(const struct radius_writer *w,
                          const uint8_t authenticator[RADIUS_AUTHENTICATOR],
                          struct radius_octets secret);

/* --- checking --- */

enum radius_verdict {
    RADIUS_GENUINE,
    RADIUS_BAD_AUTHENTICATOR,
    RADIUS_BAD_MESSAGE_AUTHENTICATOR, /* wrong, of another length, or there twice */
    RADIUS_NO_MESSAGE_AUTHENTICATOR,  /* whether it is needed is for the caller to say */
};

/** Was an answer of so many octets made by who knows the secret, for the request with this
 * authenticator? */
enum radius_verdict radius_check_answer(const uint8_t *packet, size_t len,
                                        const uint8_t authenticator[RADIUS_AUTHENTICATOR],
                                        struct radius_octets secret);

/** The same of a request whose authenticator is a digest over it. */
enum radius_verdict radius_check_request(const uint8_t *packet, size_t len,
                                         struct radius_octets secret);

#endif
