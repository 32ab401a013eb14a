/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/pppoe/cookie.h"

#include <string.h>

#include <nettle/hmac.h>
#include <nettle/memops.h>

#include "cp/packet/bytes.h"

#define TIME 4 /* bytes, before those of the digest */

static void digest(const uint8_t key[COOKIE_KEY], const struct session *line, const uint8_t mac[6],
                   const uint8_t time[TIME], uint8_t out[COOKIE - TIME])
{
    char text[SESSION_LINE_TEXT];
    struct hmac_sha256_ctx hmac;

    session_line(line, text);
    hmac_sha256_set_key(&hmac, COOKIE_KEY, key);
    hmac_sha256_update(&hmac, TIME, time);
    hmac_sha256_update(&hmac, 6, mac);
    hmac_sha256_update(&hmac, strlen(text), (const uint8_t *)text);
    hmac_sha256_digest(&hmac, COOKIE - TIME, out);
}

void cookie_make(const uint8_t key[COOKIE_KEY], const struct session *line, const uint8_t mac[6],
                 uint32_t now, uint8_t cookie[COOKIE])
{
    put32(cookie, now);
    digest(key, line, mac, cookie, cookie + TIME);
}

bool cookie_right(const uint8_t key[COOKIE_KEY], const struct session *line, const uint8_t mac[6],
                  uint32_t now, struct ppp_bytes cookie)
{
    uint8_t right[COOKIE - TIME];

    if (cookie.n != COOKIE)
        return false;
    digest(key, line, mac, cookie.at, right);
    return memeql_sec(right, cookie.at + TIME, sizeof(right)) &&
           now - get32(cookie.at) <= COOKIE_SECONDS;
}
