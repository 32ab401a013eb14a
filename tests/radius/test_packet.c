/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets of RADIUS: the examples of the RFCs octet by octet, and packets cut or changed at every
 * octet. */
#include <string.h>

#include "bed.h"
#include "common/program.h"
#include "cp/radius/seal.h"

static struct radius_octets secret(void)
{
    return text("xyzzy5461"); /* of all examples */
}

/* RFC 2865 section 7.1; it has no Message-Authenticator. */
static const uint8_t request_7_1[] = {
    0x01, 0x00, 0x00, 0x38, 0x0f, 0x40, 0x3f, 0x94, 0x73, 0x97, 0x80, 0x57, 0xbd, 0x83,
    0xd5, 0xcb, 0x98, 0xf4, 0x22, 0x7a, 0x01, 0x06, 0x6e, 0x65, 0x6d, 0x6f, 0x02, 0x12,
    0x0d, 0xbe, 0x70, 0x8d, 0x93, 0xd4, 0x13, 0xce, 0x31, 0x96, 0xe4, 0x3f, 0x78, 0x2a,
    0x0a, 0xee, 0x04, 0x06, 0xc0, 0xa8, 0x01, 0x10, 0x05, 0x06, 0x00, 0x00, 0x00, 0x03};
static const uint8_t answer_7_1[] = {0x02, 0x00, 0x00, 0x26, 0x86, 0xfe, 0x22, 0x0e, 0x76, 0x24,
                                     0xba, 0x2a, 0x10, 0x05, 0xf6, 0xbf, 0x9b, 0x55, 0xe0, 0xb2,
                                     0x06, 0x06, 0x00, 0x00, 0x00, 0x01, 0x0f, 0x06, 0x00, 0x00,
                                     0x00, 0x00, 0x0e, 0x06, 0xc0, 0xa8, 0x01, 0x03};

/* RFC 5997 section 6.1, a Status-Server, signed as an Access-Request is, and its answer. */
static const uint8_t status_6_1[] = {0x0c, 0xda, 0x00, 0x26, 0x8a, 0x54, 0xf4, 0x68, 0x6f, 0xb3,
                                     0x94, 0xc5, 0x28, 0x66, 0xe3, 0x02, 0x18, 0x5d, 0x06, 0x23,
                                     0x50, 0x12, 0x5a, 0x66, 0x5e, 0x2e, 0x1e, 0x84, 0x11, 0xf3,
                                     0xe2, 0x43, 0x82, 0x20, 0x97, 0xc8, 0x4f, 0xa3};
static const uint8_t answer_6_1[] = {0x02, 0xda, 0x00, 0x14, 0xef, 0x0d, 0x55, 0x2a, 0x4b, 0xf2,
                                     0xd6, 0x93, 0xec, 0x2b, 0x6f, 0xe8, 0xb5, 0x41, 0x1d, 0x66};

static void password(void)
{
    uint8_t packet[RADIUS_PACKET_MAX];
    struct radius_writer w = radius_begin(packet, RADIUS_ACCESS_REQUEST, 0, request_7_1 + 4);

    radius_put(&w, RADIUS_USER_NAME, text("nemo"));
    radius_put_password(&w, text("arctangent"), secret(), request_7_1 + 4);
    radius_put_u32(&w, RADIUS_NAS_IP_ADDRESS, 0xc0a80110);
    radius_put_u32(&w, 5, 3);
    CU_ASSERT_EQUAL(w.len, sizeof(request_7_1));
    packet[3] = (uint8_t)w.len;
    CU_ASSERT_EQUAL(memcmp(packet, request_7_1, sizeof(request_7_1)), 0);
}

/* They are padded to whole blocks. */
static void passwords_of_all_lengths(void)
{
    uint8_t password[129], packet[RADIUS_PACKET_MAX];

    memset(password, 'x', sizeof(password));
    for (size_t n = 0; n <= sizeof(password); n++) {
        struct radius_writer w = radius_begin(packet, RADIUS_ACCESS_REQUEST, 0, request_7_1 + 4);

        radius_put_password(&w, radius_octets(password, n), secret(), request_7_1 + 4);
        CU_ASSERT_EQUAL(w.overfull, n > 128);
        if (!w.overfull)
            CU_ASSERT_EQUAL(w.len, 22 + (n == 0 ? 16 : (n + 15) / 16 * 16));
    }
}

static void example_answers(void)
{
    CU_ASSERT_EQUAL(radius_packet_len(answer_7_1, sizeof(answer_7_1)), sizeof(answer_7_1));
    CU_ASSERT_EQUAL(radius_check_answer(answer_7_1, sizeof(answer_7_1), request_7_1 + 4, secret()),
                    RADIUS_NO_MESSAGE_AUTHENTICATOR);
    CU_ASSERT_EQUAL(radius_check_answer(answer_6_1, sizeof(answer_6_1), status_6_1 + 4, secret()),
                    RADIUS_NO_MESSAGE_AUTHENTICATOR);
    CU_ASSERT_EQUAL(radius_check_answer(answer_6_1, sizeof(answer_6_1), request_7_1 + 4, secret()),
                    RADIUS_BAD_AUTHENTICATOR);
}

static void example_message_authenticator(void)
{
    uint8_t packet[RADIUS_PACKET_MAX];
    struct radius_writer w = radius_begin(packet, 12, 0xda, status_6_1 + 4);

    radius_put_message_authenticator(&w);
    CU_ASSERT_EQUAL(radius_sign_access(&w, secret()), sizeof(status_6_1));
    CU_ASSERT_EQUAL(memcmp(packet, status_6_1, sizeof(status_6_1)), 0);
}

/* --- what was signed, and then changed --- */

/* Accounting and changes: the authenticator covers all. */
static void changed_request(void)
{
    uint8_t packet[RADIUS_PACKET_MAX], none[RADIUS_AUTHENTICATOR] = {0};
    struct radius_writer w = radius_begin(packet, RADIUS_COA_REQUEST, 7, none);
    size_t len;

    radius_put(&w, RADIUS_USER_NAME, text("nemo"));
    len = radius_sign_request(&w, secret());
    CU_ASSERT_EQUAL(radius_check_request(packet, len, secret()), RADIUS_NO_MESSAGE_AUTHENTICATOR);
    CU_ASSERT_EQUAL(radius_check_request(packet, len, text("other")), RADIUS_BAD_AUTHENTICATOR);
    for (size_t i = 0; i < len; i++) {
        if (i == 2 || i == 3)
            continue; /* the length, which radius_packet_len() has judged */
        packet[i] ^= 1;
        CU_ASSERT_EQUAL(radius_check_request(packet, len, secret()), RADIUS_BAD_AUTHENTICATOR);
        packet[i] ^= 1;
    }
}

static size_t sign(uint8_t *packet, const char *with)
{
    struct radius_writer w = radius_begin(packet, RADIUS_ACCESS_ACCEPT, 7, request_7_1 + 4);

    radius_put_message_authenticator(&w);
    radius_put(&w, RADIUS_CLASS, text("class"));
    return radius_sign_answer(&w, request_7_1 + 4, text(with));
}

static void changed_answer(void)
{
    uint8_t packet[RADIUS_PACKET_MAX];
    size_t len = sign(packet, "xyzzy5461");

    CU_ASSERT_EQUAL(radius_check_answer(packet, len, request_7_1 + 4, secret()), RADIUS_GENUINE);
    CU_ASSERT_EQUAL(radius_check_answer(packet, len, status_6_1 + 4, secret()),
                    RADIUS_BAD_AUTHENTICATOR);
    for (size_t i = 0; i < len; i++) {
        if (i == 2 || i == 3)
            continue;
        packet[i] ^= 1;
        CU_ASSERT_EQUAL(radius_check_answer(packet, len, request_7_1 + 4, secret()),
                        RADIUS_BAD_AUTHENTICATOR);
        packet[i] ^= 1;
    }
}

/* Who can make an answer's authenticator but not its Message-Authenticator, as by CVE-2024-3596. */
static void forged_message_authenticator(void)
{
    uint8_t packet[RADIUS_PACKET_MAX], value[17] = {0};

    for (size_t n = 15; n <= 17; n++) {
        struct radius_writer w = radius_begin(packet, RADIUS_ACCESS_ACCEPT, 7, request_7_1 + 4);
        size_t len;

        radius_put(&w, RADIUS_CLASS, text("0123456789abcdef")); /* which signing overwrites */
        radius_put(&w, RADIUS_MESSAGE_AUTHENTICATOR, radius_octets(value, n));
        len = radius_sign_answer(&w, request_7_1 + 4, secret());
        CU_ASSERT_EQUAL(radius_check_answer(packet, len, request_7_1 + 4, secret()),
                        RADIUS_BAD_MESSAGE_AUTHENTICATOR);
    }
}

static void two_message_authenticators(void)
{
    uint8_t packet[RADIUS_PACKET_MAX];
    struct radius_writer w = radius_begin(packet, RADIUS_ACCESS_ACCEPT, 7, request_7_1 + 4);
    size_t len;

    radius_put_message_authenticator(&w);
    radius_put_message_authenticator(&w);
    len = radius_sign_answer(&w, request_7_1 + 4, secret());
    CU_ASSERT_EQUAL(radius_check_answer(packet, len, request_7_1 + 4, secret()),
                    RADIUS_BAD_MESSAGE_AUTHENTICATOR);
}

/* --- lengths --- */

static void lengths(void)
{
    uint8_t packet[RADIUS_PACKET_MAX + 8] = {0};

    memcpy(packet, request_7_1, sizeof(request_7_1));
    for (size_t n = 0; n < sizeof(packet); n++)
        CU_ASSERT_EQUAL(radius_packet_len(packet, n),
                        n < sizeof(request_7_1) ? 0 : sizeof(request_7_1));
    for (unsigned len = 0; len <= 0xffff; len++) {
        /* The attributes end at 26, 44, 50 and 56; zeros behind them are none. */
        bool right = len == 20 || len == 26 || len == 44 || len == 50 || len == 56;

        packet[2] = (uint8_t)(len >> 8);
        packet[3] = (uint8_t)len;
        CU_ASSERT_EQUAL(radius_packet_len(packet, sizeof(packet)), right ? len : 0);
    }
}

static void longest_packet(void)
{
    uint8_t packet[RADIUS_PACKET_MAX], value[RADIUS_VALUE_MAX] = {0};
    struct radius_writer w = radius_begin(packet, RADIUS_ACCESS_ACCEPT, 0, request_7_1 + 4);
    struct radius_attribute a;
    struct radius_reader r;
    unsigned n = 0;

    while (RADIUS_PACKET_MAX - w.len >= 255)
        radius_put(&w, RADIUS_CLASS, radius_octets(value, sizeof(value)));
    radius_put(&w, RADIUS_CLASS, radius_octets(value, RADIUS_PACKET_MAX - w.len - 2));
    CU_ASSERT_FALSE(w.overfull);
    CU_ASSERT_EQUAL(radius_sign_request(&w, secret()), RADIUS_PACKET_MAX);
    CU_ASSERT_EQUAL(radius_packet_len(packet, sizeof(packet)), RADIUS_PACKET_MAX);
    for (r = radius_attributes(packet, sizeof(packet)); radius_next_attribute(&r, &a);)
        n++;
    CU_ASSERT_EQUAL(n, 16);
    radius_put(&w, RADIUS_CLASS, text("x"));
    CU_ASSERT_TRUE(w.overfull);
}

/* --- values --- */

static void prefixes(void)
{
    const struct ipv6 addr = {0x20010db8fffffffe, 0x8000000000000001};
    uint8_t octets[64];
    struct radius_attribute a;
    struct ipv6 prefix;
    uint8_t len;

    for (unsigned n = 0; n <= 128; n++) {
        struct radius_writer w = {octets, sizeof(octets), 0, false};
        struct radius_reader r;

        radius_put_prefix(&w, RADIUS_FRAMED_IPV6_PREFIX, first6(addr, (uint8_t)n), (uint8_t)n);
        r = (struct radius_reader){octets, octets + w.len};
        CU_ASSERT_TRUE(radius_next_attribute(&r, &a));
        CU_ASSERT_EQUAL(a.value.n, 2 + (n + 7) / 8);
        CU_ASSERT_TRUE(radius_take_prefix(a.value, &prefix, &len));
        CU_ASSERT_EQUAL(len, n);
        CU_ASSERT_TRUE(same6(prefix, first6(addr, (uint8_t)n)));
    }
}

static void bad_prefixes(void)
{
    static const uint8_t bits_behind[] = {0, 32, 0x20, 0x01, 0x0d, 0xb8, 0x80},
                         too_long[19] = {0, 128}, beyond[18] = {0, 129},
                         few[] = {0, 33, 0x20, 0x01, 0x0d, 0xb8};
    struct ipv6 prefix;
    uint8_t len;

    CU_ASSERT_FALSE(radius_take_prefix(radius_octets(bits_behind, 7), &prefix, &len));
    CU_ASSERT_TRUE(radius_take_prefix(radius_octets(bits_behind, 6), &prefix, &len));
    CU_ASSERT_FALSE(radius_take_prefix(radius_octets(too_long, 19), &prefix, &len));
    CU_ASSERT_TRUE(radius_take_prefix(radius_octets(too_long, 18), &prefix, &len));
    CU_ASSERT_FALSE(radius_take_prefix(radius_octets(beyond, 18), &prefix, &len));
    CU_ASSERT_FALSE(radius_take_prefix(radius_octets(few, 6), &prefix, &len));
    CU_ASSERT_FALSE(radius_take_prefix(radius_octets(few, 1), &prefix, &len));
}

static const struct test tests[] = {
    {"RFC 2865's request with a password", password},
    {"passwords of all lengths", passwords_of_all_lengths},
    {"answers of RFC 2865 and RFC 5997", example_answers},
    {"RFC 5997's Message-Authenticator", example_message_authenticator},
    {"a request changed at each octet", changed_request},
    {"an answer changed at each octet", changed_answer},
    {"a forged Message-Authenticator", forged_message_authenticator},
    {"two Message-Authenticators", two_message_authenticators},
    {"lengths", lengths},
    {"the longest packet", longest_packet},
    {"prefixes of all lengths", prefixes},
    {"prefixes that are none", bad_prefixes},
    {NULL, NULL},
};

const struct test_program test_program = {"radius packets", tests, NULL, NULL};
