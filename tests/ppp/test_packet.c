/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets of PPP and frames of PPPoE: what is read of right ones, and that wrong ones, cut or
 * changed at any byte, are refused or read within their bounds. */
#include "common/program.h"

#include <stdlib.h>
#include <string.h>

#include "cp/packet/bytes.h"
#include "cp/packet/pppoe.h"

#define SAME(a, b)        CU_ASSERT_STRING_EQUAL((a) != NULL ? (a) : "right", (b))
#define TEXT(bytes, text) ((bytes).n == strlen(text) && memcmp((bytes).at, text, strlen(text)) == 0)

static const char padr[] = "\x02\xb0\0\0\0\0\x02\0\0\0\0\x01\x88\x63\x11\x19\0\0\0\x5a"
                           "\x01\x01\0\x04home"
                           "\x01\x03\0\x04\xde\xad\xbe\xef"
                           "\x01\x04\0\x03key"
                           "\x01\x10\0\x02rs"
                           "\x01\x20\0\x02\x05\xdc"
                           "\x77\x77\0\x01x"
                           "\x01\x05\0\x2a\0\0\x0d\xe9\x01\x10"
                           "access 1/1/128.9"
                           "\x02\x0e"
                           "customer 47110"
                           "\x81\x02zz"
                           "\0\0\0\0";

static const struct ppp_bytes whole = {(const uint8_t *)padr, sizeof(padr) - 1};

/* A copy in a block of its own: a sanitizer sees what is read behind it. */
static const char *read_copy(struct ppp_bytes b, struct pppoe_tags *t)
{
    uint8_t *own = malloc(b.n > 0 ? b.n : 1);
    struct pppoe p;
    const char *wrong;

    memcpy(own, b.at, b.n);
    wrong = pppoe_read((struct ppp_bytes){own, b.n}, PPPOE_DISCOVERY, &p);
    if (wrong == NULL)
        wrong = pppoe_read_tags(p.payload, t);
    free(own);
    return wrong;
}

static void discovery(void)
{
    struct pppoe_tags t;
    struct pppoe p;

    SAME(pppoe_read(whole, PPPOE_DISCOVERY, &p), "right");
    CU_ASSERT(p.code == PPPOE_PADR && p.session == 0 && p.from_mac[5] == 1 && p.to_mac[1] == 0xb0);
    SAME(pppoe_read_tags(p.payload, &t), "right");
    CU_ASSERT(TEXT(t.service, "home") && t.n_services == 1 && TEXT(t.cookie, "key"));
    CU_ASSERT(TEXT(t.host_uniq, "\xde\xad\xbe\xef") && TEXT(t.relay, "rs"));
    CU_ASSERT(TEXT(t.circuit, "access 1/1/128.9") && TEXT(t.remote, "customer 47110"));
    CU_ASSERT_EQUAL(t.max_payload, 1500);
}

static void wrong_discovery(void)
{
    uint8_t changed[sizeof(padr)];
    struct pppoe_tags t;

    for (size_t n = 0; n < whole.n; n++)
        SAME(read_copy((struct ppp_bytes){whole.at, n}, &t),
             n < 20 ? "it is shorter than its headers" : "its payload goes beyond its end");
    for (size_t i = 12; i < whole.n; i++) {
        memcpy(changed, padr, whole.n);
        changed[i] = 0xff;
        read_copy((struct ppp_bytes){changed, whole.n}, &t);
    }
    memcpy(changed, padr, whole.n);
    changed[14] = 0x21;
    SAME(read_copy((struct ppp_bytes){changed, whole.n}, &t), "its version or type is not 1");
    memcpy(changed, padr, whole.n);
    changed[23] = 0xff;
    SAME(read_copy((struct ppp_bytes){changed, whole.n}, &t), "a tag goes beyond its end");
}

static void written_discovery(void)
{
    static const uint8_t to[6] = {2, 0, 0, 0, 0, 1}, from[6] = {2, 0xb0};
    uint8_t big[1500] = {0};
    struct pppoe_frame f;
    struct pppoe_tags t;
    struct pppoe p;

    pppoe_begin(&f, to, from, PPPOE_PADS, 0x1234);
    pppoe_put(&f, PPPOE_SERVICE_NAME, "home", 4);
    pppoe_repeat(&f, PPPOE_RELAY_SESSION_ID, (struct ppp_bytes){NULL, 0});
    pppoe_repeat(&f, PPPOE_HOST_UNIQ, (struct ppp_bytes){whole.at, 0});
    CU_ASSERT_TRUE(pppoe_end(&f));
    CU_ASSERT_EQUAL(f.n, 20 + 8 + 4);
    SAME(pppoe_read((struct ppp_bytes){f.at, f.n}, PPPOE_DISCOVERY, &p), "right");
    SAME(pppoe_read_tags(p.payload, &t), "right");
    CU_ASSERT(p.code == PPPOE_PADS && p.session == 0x1234 && TEXT(t.service, "home"));
    CU_ASSERT(t.host_uniq.at != NULL && t.host_uniq.n == 0 && t.relay.at == NULL);
    pppoe_put(&f, PPPOE_AC_COOKIE, big, PPPOE_MOST - f.n - 4);
    CU_ASSERT_TRUE(pppoe_end(&f) && f.n == PPPOE_MOST);
    pppoe_put(&f, PPPOE_AC_NAME, "", 0);
    CU_ASSERT_FALSE(pppoe_end(&f));
}

static void packets(void)
{
    static const uint8_t bytes[] = {1, 7, 0, 10, 1, 4, 5, 0xd4, 9, 2, 0, 0};
    struct ppp_packet p;
    struct ppp_option o;
    uint8_t again[PPP_MOST];

    SAME(ppp_read((struct ppp_bytes){bytes, 12}, &p), "right"); /* with padding */
    CU_ASSERT(p.code == PPP_CONFIGURE_REQUEST && p.id == 7 && p.data.n == 6);
    CU_ASSERT_TRUE(ppp_options_right(p.data));
    CU_ASSERT_EQUAL(ppp_write(&p, again), 10);
    CU_ASSERT_EQUAL(memcmp(again, bytes, 10), 0);
    CU_ASSERT_TRUE(ppp_option_next(&p.data, &o) && o.type == 1 && ppp_value16(&o) == 1492);
    CU_ASSERT_EQUAL(ppp_value32(&o), UINT64_MAX);
    CU_ASSERT_TRUE(ppp_option_next(&p.data, &o) && o.type == 9 && o.value.n == 0);
    CU_ASSERT_FALSE(ppp_option_next(&p.data, &o));
    for (size_t n = 0; n < 10; n++)
        SAME(ppp_read((struct ppp_bytes){bytes, n}, &p),
             n < 4 ? "it is shorter than its header" : "its length is not that of its data");
    SAME(ppp_read((struct ppp_bytes){(const uint8_t *)"\1\1\0\3", 4}, &p),
         "its length is not that of its data");
    for (size_t n = 1; n < 6; n++)
        CU_ASSERT_EQUAL(ppp_options_right((struct ppp_bytes){bytes + 4, n}), n == 4);
    CU_ASSERT_FALSE(ppp_options_right((struct ppp_bytes){(const uint8_t *)"\1\1\0", 3}));
    CU_ASSERT_FALSE(ppp_options_right((struct ppp_bytes){(const uint8_t *)"\1\0\0", 3}));
}

static void proofs(void)
{
    static const uint8_t pap[] = "\4user\3key", chap[] = "\x10"
                                                         "0123456789abcdef"
                                                         "user";
    struct ppp_packet p = {.data = {pap, sizeof(pap) - 1}};
    struct ppp_bytes name, password;
    const uint8_t *value;

    CU_ASSERT_TRUE(ppp_read_pap(&p, &name, &password) && TEXT(name, "user") &&
                   TEXT(password, "key"));
    for (size_t n = 0; n < sizeof(pap) - 1; n++) {
        p.data.n = n;
        CU_ASSERT_FALSE(ppp_read_pap(&p, &name, &password));
    }
    p.data = (struct ppp_bytes){chap, sizeof(chap) - 1};
    CU_ASSERT_TRUE(ppp_read_chap(&p, &value, &name) && TEXT(name, "user") && value == chap + 1);
    for (size_t n = 0; n < 17; n++) {
        p.data.n = n;
        CU_ASSERT_FALSE(ppp_read_chap(&p, &value, &name));
    }
}

static const struct test tests[] = {
    {"discovery", discovery},
    {"wrong discovery", wrong_discovery},
    {"written discovery", written_discovery},
    {"packets", packets},
    {"proofs", proofs},
    {NULL, NULL},
};

const struct test_program test_program = {"packet", tests, NULL, NULL};
