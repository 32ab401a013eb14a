/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/radius/seal.h"

#include <string.h>

#include <nettle/hmac.h>
#include <nettle/md5.h>
#include <nettle/memops.h>

#define PASSWORD_MAX 128 /* octets of a User-Password (RFC 2865 section 5.2) */

_Static_assert(MD5_DIGEST_SIZE == RADIUS_AUTHENTICATOR, "an authenticator is one digest");

static const uint8_t zeros[RADIUS_AUTHENTICATOR];

void radius_put_password(struct radius_writer *w, struct radius_octets password,
                         struct radius_octets secret,
                         const uint8_t authenticator[RADIUS_AUTHENTICATOR])
{
    uint8_t hidden[PASSWORD_MAX] = {0}, mask[MD5_DIGEST_SIZE];
    size_t n = password.n == 0 ? sizeof(mask) : (password.n + 15) / 16 * 16;
    const uint8_t *before = authenticator;
    struct md5_ctx md5;

    if (password.n > PASSWORD_MAX) {
        w->overfull = true;
        return;
    }
    if (password.n > 0)
        memcpy(hidden, password.p, password.n);
    for (size_t at = 0; at < n; at += sizeof(mask)) {
        md5_init(&md5);
        md5_update(&md5, secret.n, secret.p);
        md5_update(&md5, RADIUS_AUTHENTICATOR, before);
        md5_digest(&md5, sizeof(mask), mask);
        for (unsigned i = 0; i < sizeof(mask); i++)
            hidden[at + i] ^= mask[i];
        before = hidden + at;
    }
    radius_put(w, RADIUS_USER_PASSWORD, radius_octets(hidden, n));
}

/* MD5 over a packet, with another authenticator in its place, and the secret. */
static void digest(const uint8_t *packet, size_t len, const uint8_t *authenticator,
                   struct radius_octets secret, uint8_t out[MD5_DIGEST_SIZE])
{
    struct md5_ctx md5;

    md5_init(&md5);
    md5_update(&md5, 4, packet);
    md5_update(&md5, RADIUS_AUTHENTICATOR, authenticator);
    md5_update(&md5, len - RADIUS_HEADER, packet + RADIUS_HEADER);
    md5_update(&md5, secret.n, secret.p);
    md5_digest(&md5, MD5_DIGEST_SIZE, out);
}

/* HMAC-MD5 over a packet, with another authenticator, and zeros in the place of the value of its
 * Message-Authenticator, which begins at octet at. */
static void message_digest(const uint8_t *packet, size_t len, const uint8_t *authenticator,
                           size_t at, struct radius_octets secret, uint8_t out[MD5_DIGEST_SIZE])
{
    struct hmac_md5_ctx hmac;

    hmac_md5_set_key(&hmac, secret.n, secret.p);
    hmac_md5_update(&hmac, 4, packet);
    hmac_md5_update(&hmac, RADIUS_AUTHENTICATOR, authenticator);
    hmac_md5_update(&hmac, at - RADIUS_HEADER, packet + RADIUS_HEADER);
    hmac_md5_update(&hmac, sizeof(zeros), zeros);
    at += sizeof(zeros);
    hmac_md5_update(&hmac, len - at, packet + at);
    hmac_md5_digest(&hmac, MD5_DIGEST_SIZE, out);
}

/* --- signing --- */

static void write_len(const struct radius_writer *w)
{
    w->at[2] = (uint8_t)(w->len >> 8);
    w->at[3] = (uint8_t)w->len;
}

/* Its value stands behind the header and its own type and length. */
static void sign_message(const struct radius_writer *w, const uint8_t *authenticator,
                         struct radius_octets secret)
{
    const size_t at = RADIUS_HEADER + 2;

    message_digest(w->at, w->len, authenticator, at, secret, w->at + at);
}

size_t radius_sign_access(const struct radius_writer *w, struct radius_octets secret)
{
    write_len(w);
    sign_message(w, w->at + 4, secret);
    return w->len;
}

size_t radius_sign_request(const struct radius_writer *w, struct radius_octets secret)
{
    write_len(w);
    digest(w->at, w->len, zeros, secret, w->at + 4);
    return w->len;
}

size_t radius_sign_answer(const struct radius_writer *w,
                          const uint8_t authenticator[RADIUS_AUTHENTICATOR],
                          struct radius_octets secret)
{
    write_len(w);
    sign_message(w, authenticator, secret);
    digest(w->at, w->len, authenticator, secret, w->at + 4);
    return w->len;
}

/* --- checking --- */

static enum radius_verdict check_message(const uint8_t *packet, size_t len,
                                         const uint8_t *authenticator, struct radius_octets secret)
{
    struct radius_reader r = radius_attributes(packet, len);
    struct radius_octets found = {NULL, 0};
    struct radius_attribute a;
    uint8_t right[MD5_DIGEST_SIZE];

    while (radius_next_attribute(&r, &a)) {
        if (a.type != RADIUS_MESSAGE_AUTHENTICATOR)
            continue;
        if (found.p != NULL || a.value.n != sizeof(right))
            return RADIUS_BAD_MESSAGE_AUTHENTICATOR;
        found = a.value;
    }
    if (found.p == NULL)
        return RADIUS_NO_MESSAGE_AUTHENTICATOR;
    message_digest(packet, len, authenticator, (size_t)(found.p - packet), secret, right);
    return memeql_sec(found.p, right, sizeof(right)) ? RADIUS_GENUINE
                                                     : RADIUS_BAD_MESSAGE_AUTHENTICATOR;
}

static enum radius_verdict check(const uint8_t *packet, size_t len, const uint8_t *authenticator,
                                 struct radius_octets secret)
{
    uint8_t right[MD5_DIGEST_SIZE];

    digest(packet, len, authenticator, secret, right);
    if (!memeql_sec(packet + 4, right, sizeof(right)))
        return RADIUS_BAD_AUTHENTICATOR;
    return check_message(packet, len, authenticator, secret);
}

enum radius_verdict radius_check_answer(const uint8_t *packet, size_t len,
                                        const uint8_t authenticator[RADIUS_AUTHENTICATOR],
                                        struct radius_octets secret)
{
    return check(packet, len, authenticator, secret);
}

enum radius_verdict radius_check_request(const uint8_t *packet, size_t len,
                                         struct radius_octets secret)
{
    return check(packet, len, zeros, secret);
}
