/* SPDX-License-Identifier: BSD-3-Clause */
/* Cookies, session ids and users of PPPoE. What is said on the wire, test_pppoe.py looks at. */
#include "common/program.h"

#include <stdlib.h>
#include <string.h>

#include "cp/pppoe/config.h"
#include "cp/pppoe/cookie.h"
#include "cp/pppoe/ids.h"

static const uint8_t key[COOKIE_KEY] = {1, 2, 3}, other_key[COOKIE_KEY] = {1, 2, 4};
static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1}, other_mac[6] = {2, 0, 0, 0, 0, 2};

static void cookies(void)
{
    struct cp_access access = {.port = "cpe0"}, another = {.port = "cpe1"};
    struct session line = {.access = &access, .svlan = 100, .cvlan = 7}, cvlan = line, port = line;
    uint8_t cookie[COOKIE];
    struct ppp_bytes c = {cookie, COOKIE};

    cvlan.cvlan = 8;
    port.access = &another;
    cookie_make(key, &line, mac, 1000, cookie);
    CU_ASSERT_TRUE(cookie_right(key, &line, mac, 1000, c));
    CU_ASSERT_TRUE(cookie_right(key, &line, mac, 1000 + COOKIE_SECONDS, c));
    CU_ASSERT_FALSE(cookie_right(key, &line, mac, 1001 + COOKIE_SECONDS, c));
    CU_ASSERT_FALSE(cookie_right(key, &line, mac, 999, c)); /* of the future */
    CU_ASSERT_FALSE(cookie_right(other_key, &line, mac, 1000, c));
    CU_ASSERT_FALSE(cookie_right(key, &line, other_mac, 1000, c));
    CU_ASSERT_FALSE(cookie_right(key, &cvlan, mac, 1000, c));
    CU_ASSERT_FALSE(cookie_right(key, &port, mac, 1000, c));
    for (size_t n = 0; n < COOKIE; n++) {
        CU_ASSERT_FALSE(cookie_right(key, &line, mac, 1000, (struct ppp_bytes){cookie, n}));
        cookie[n] ^= 1;
        CU_ASSERT_FALSE(cookie_right(key, &line, mac, 1000, c));
        cookie[n] ^= 1;
    }
    CU_ASSERT_TRUE(cookie_right(key, &line, mac, 1000, c));
}

/* Each id is given once before any is given again, and none that is taken. */
static void ids(void)
{
    struct pppoe_ids *all = calloc(1, sizeof(*all));
    uint8_t *seen = calloc(1, UINT16_MAX + 1);
    unsigned twice = 0;

    all->last = 0xff00;
    CU_ASSERT_TRUE(pppoe_id_take(all, 9) && !pppoe_id_take(all, 9));
    CU_ASSERT_FALSE(pppoe_id_take(all, 0) || pppoe_id_take(all, UINT16_MAX));
    CU_ASSERT_EQUAL(pppoe_id_take_any(all), 0xff01);
    pppoe_id_give(all, 0xff01);
    for (unsigned i = 0; i < PPPOE_LAST_ID - 2; i++) {
        uint16_t id = pppoe_id_take_any(all);

        twice += seen[id];
        seen[id] = 1;
    }
    CU_ASSERT(twice == 0 && !seen[0] && !seen[9] && !seen[0xff01] && !seen[UINT16_MAX]);
    CU_ASSERT_EQUAL(pppoe_id_take_any(all), 0xff01);
    CU_ASSERT_EQUAL(pppoe_id_take_any(all), 0);
    pppoe_id_give(all, 17);
    CU_ASSERT_EQUAL(pppoe_id_take_any(all), 17);
    free(all);
    free(seen);
}

#define BYTES(text) ((struct ppp_bytes){(const uint8_t *)(text), strlen(text)})

static void users(void)
{
    static struct pppoe_config c = {.n_users = 2,
                                    .users = {{"alice", "secret", {0}}, {"bob", "x", {0}}}};
    struct ppp_proof p = {.method = PPP_PAP, .name = BYTES("alice"), .password = BYTES("secret")};
    /* the digest of "\7" "secret" "0123456789abcdef", by md5sum(1) */
    uint8_t response[PPP_CHAP_DIGEST] = {0x96, 0xdb, 0x2d, 0x8f, 0x96, 0xc2, 0x91, 0xa6,
                                         0x69, 0x9a, 0x97, 0x3c, 0xe5, 0xc1, 0x68, 0xa8};

    CU_ASSERT_TRUE(pppoe_user_proves(&c, &p));
    p.password = BYTES("secre");
    CU_ASSERT_FALSE(pppoe_user_proves(&c, &p));
    p.password = BYTES("secreT");
    CU_ASSERT_FALSE(pppoe_user_proves(&c, &p));
    p.password = BYTES("");
    CU_ASSERT_FALSE(pppoe_user_proves(&c, &p));
    p = (struct ppp_proof){PPP_CHAP, BYTES("alice"), BYTES(""), 7, BYTES("0123456789abcdef"),
                           response};
    CU_ASSERT_TRUE(pppoe_user_proves(&c, &p));
    p.name = BYTES("bob");
    CU_ASSERT_FALSE(pppoe_user_proves(&c, &p));
    p.name = BYTES("alic");
    CU_ASSERT_FALSE(pppoe_user_proves(&c, &p));
    p.name = BYTES("alice");
    p.id = 8;
    CU_ASSERT_FALSE(pppoe_user_proves(&c, &p));
    p.id = 7;
    response[15] ^= 1;
    CU_ASSERT_FALSE(pppoe_user_proves(&c, &p));
}

static const struct test tests[] = {
    {"cookies", cookies},
    {"ids", ids},
    {"users", users},
    {NULL, NULL},
};

const struct test_program test_program = {"pppoe", tests, NULL, NULL};
