/* SPDX-License-Identifier: BSD-3-Clause */
/* What requests and answers of RADIUS say. */
#include <stdlib.h>

#include "bed.h"
#include "common/program.h"
#include "cp/radius/message.h"

static const struct radius_config config = {.nas_identifier = "bng1", .nas_ipv4 = 0xc0000201};

static uint8_t packet[RADIUS_PACKET_MAX]; /* that is written or read */

static struct radius_writer begin(enum radius_code code)
{
    static const uint8_t none[RADIUS_AUTHENTICATOR];

    return radius_begin(packet, code, 0, none);
}

/* --- answers --- */

static uint8_t classes[RADIUS_CLASSES_MAX];

static struct radius_answer read_answer(const struct radius_writer *w)
{
    struct radius_answer answer;

    radius_read_answer(packet, w->len, classes, &answer);
    return answer;
}

static void accept_with_all(void)
{
    struct radius_writer w = begin(RADIUS_ACCESS_ACCEPT);
    struct radius_answer a;

    radius_put_u32(&w, RADIUS_SERVICE_TYPE, 2);
    radius_put_u32(&w, RADIUS_FRAMED_IP_ADDRESS, 0x0a000001);
    radius_put(&w, RADIUS_FRAMED_POOL, text("pool"));
    radius_put(&w, RADIUS_FRAMED_IPV6_POOL, text("pool6"));
    radius_put(&w, RADIUS_DELEGATED_IPV6_POOL, text("homes"));
    radius_put_prefix(&w, RADIUS_FRAMED_IPV6_PREFIX, (struct ipv6){0x20010db800010000, 0}, 64);
    radius_put_prefix(&w, RADIUS_DELEGATED_IPV6_PREFIX, (struct ipv6){0x20010db8aa000000, 0}, 56);
    radius_put(&w, RADIUS_FILTER_ID, text("gold"));
    radius_put(&w, RADIUS_FILTER_ID, text("second"));
    radius_put(&w, RADIUS_REPLY_MESSAGE, text("welcome"));
    radius_put(&w, RADIUS_CLASS, text("one"));
    radius_put_u32(&w, RADIUS_SESSION_TIMEOUT, 3600);
    radius_put(&w, RADIUS_CLASS, text("two"));
    radius_put_u32(&w, RADIUS_IDLE_TIMEOUT, 600);
    radius_put_u32(&w, RADIUS_ACCT_INTERIM_INTERVAL, 300);
    radius_put(&w, 254, text("nobody knows what this is"));
    a = read_answer(&w);
    CU_ASSERT_EQUAL(a.outcome, RADIUS_ACCEPTED);
    CU_ASSERT_EQUAL(a.ipv4, 0x0a000001);
    CU_ASSERT(is_text(a.pool, "pool") && is_text(a.pool6, "pool6"));
    CU_ASSERT(is_text(a.delegated_pool, "homes"));
    CU_ASSERT(a.ipv6.wan_len == 64 && a.ipv6.wan.upper == 0x20010db800010000);
    CU_ASSERT(a.ipv6.n_delegated == 1 && a.ipv6.delegated_len[0] == 56);
    CU_ASSERT_EQUAL(a.ipv6.delegated[0], 0x20010db8aa000000);
    CU_ASSERT(is_text(a.profile, "gold") && is_text(a.message, "welcome"));
    CU_ASSERT(is_text(a.classes, "\x19\x05one\x19\x05two"));
    CU_ASSERT(a.session_s == 3600 && a.idle_s == 600 && a.interim_s == 300);
}

static void accept_of_an_address6(void)
{
    struct radius_writer w = begin(RADIUS_ACCESS_ACCEPT);
    const struct ipv6 addr = {0x20010db800010000, 1};
    struct radius_answer a;

    radius_put_ipv6(&w, RADIUS_FRAMED_IPV6_ADDRESS, addr);
    radius_put_prefix(&w, RADIUS_FRAMED_IPV6_PREFIX, (struct ipv6){0x20010db800010000, 0}, 64);
    a = read_answer(&w);
    CU_ASSERT(a.outcome == RADIUS_ACCEPTED && a.ipv6.wan_len == 128 && same6(a.ipv6.wan, addr));
}

/* An accept with one number, and what comes of it. */
static struct radius_answer accept_number(enum radius_type type, uint32_t value)
{
    struct radius_writer w = begin(RADIUS_ACCESS_ACCEPT);

    radius_put_u32(&w, type, value);
    return read_answer(&w);
}

static void addresses(void)
{
    static const uint32_t none[] = {0xffffffff, 0xfffffffe},
                          bad[] = {0x00000001, 0x7f000001, 0xe0000001, 0xf0000000};

    for (unsigned i = 0; i < 2; i++) {
        struct radius_answer a = accept_number(RADIUS_FRAMED_IP_ADDRESS, none[i]);

        CU_ASSERT(a.outcome == RADIUS_ACCEPTED && a.ipv4 == 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        struct radius_answer a = accept_number(RADIUS_FRAMED_IP_ADDRESS, bad[i]);

        CU_ASSERT(a.outcome == RADIUS_UNUSABLE && a.unusable == RADIUS_FRAMED_IP_ADDRESS);
    }
}

static void services(void)
{
    for (uint32_t service = 0; service < 20; service++)
        CU_ASSERT_EQUAL(accept_number(RADIUS_SERVICE_TYPE, service).outcome,
                        service == 2 ? RADIUS_ACCEPTED : RADIUS_UNUSABLE);
}

static void interim_intervals(void)
{
    CU_ASSERT_EQUAL(accept_number(RADIUS_ACCT_INTERIM_INTERVAL, 0).interim_s, 0);
    CU_ASSERT_EQUAL(accept_number(RADIUS_ACCT_INTERIM_INTERVAL, 1).interim_s, 60);
    CU_ASSERT_EQUAL(accept_number(RADIUS_ACCT_INTERIM_INTERVAL, 61).interim_s, 61);
}

/* Each value that has a form, in every other length: never taken for right, never read beyond. */
static void wrong_lengths(void)
{
    static const struct {
        enum radius_type type;
        size_t right;
    } form[] = {{RADIUS_SERVICE_TYPE, 4},         {RADIUS_FRAMED_IP_ADDRESS, 4},
                {RADIUS_SESSION_TIMEOUT, 4},      {RADIUS_IDLE_TIMEOUT, 4},
                {RADIUS_FRAMED_IPV6_ADDRESS, 16}, {RADIUS_ACCT_INTERIM_INTERVAL, 4}};
    static const uint8_t value[32];

    for (unsigned i = 0; i < sizeof(form) / sizeof(*form); i++) {
        for (size_t n = 1; n <= sizeof(value); n++) {
            struct radius_writer w = begin(RADIUS_ACCESS_ACCEPT);

            radius_put(&w, form[i].type, radius_octets(value, n));
            if (n != form[i].right)
                CU_ASSERT_EQUAL(read_answer(&w).outcome, RADIUS_UNUSABLE);
        }
    }
}

static void prefixes_that_cannot_be(void)
{
    for (unsigned len = 0; len <= 128; len++) {
        struct radius_writer w = begin(RADIUS_ACCESS_ACCEPT);

        radius_put_prefix(&w, RADIUS_DELEGATED_IPV6_PREFIX, (struct ipv6){0, 0}, (uint8_t)len);
        CU_ASSERT_EQUAL(read_answer(&w).outcome,
                        len >= 48 && len <= 64 ? RADIUS_ACCEPTED : RADIUS_UNUSABLE);
        w = begin(RADIUS_ACCESS_ACCEPT);
        radius_put_prefix(&w, RADIUS_FRAMED_IPV6_PREFIX, (struct ipv6){0, 0}, (uint8_t)len);
        CU_ASSERT_EQUAL(read_answer(&w).outcome, len == 64 ? RADIUS_ACCEPTED : RADIUS_UNUSABLE);
    }
}

static void more_than_there_is_room_for(void)
{
    static const uint8_t value[RADIUS_VALUE_MAX];
    struct radius_writer w = begin(RADIUS_ACCESS_ACCEPT);

    radius_put(&w, RADIUS_CLASS, radius_octets(value, 253));
    radius_put(&w, RADIUS_CLASS, radius_octets(value, 253));
    CU_ASSERT_EQUAL(read_answer(&w).outcome, RADIUS_ACCEPTED);
    CU_ASSERT_EQUAL(read_answer(&w).classes.n, RADIUS_CLASSES_MAX);
    radius_put(&w, RADIUS_CLASS, text("x"));
    CU_ASSERT_EQUAL(read_answer(&w).outcome, RADIUS_UNUSABLE);
    w = begin(RADIUS_ACCESS_ACCEPT);
    for (unsigned i = 0; i <= CPE_DELEGATED; i++) {
        CU_ASSERT_EQUAL(read_answer(&w).outcome, RADIUS_ACCEPTED);
        radius_put_prefix(&w, RADIUS_DELEGATED_IPV6_PREFIX, (struct ipv6){i, 0}, 64);
    }
    CU_ASSERT_EQUAL(read_answer(&w).outcome, RADIUS_UNUSABLE);
}

static void rejects(void)
{
    struct radius_writer w = begin(RADIUS_ACCESS_REJECT);

    radius_put_u32(&w, RADIUS_FRAMED_IP_ADDRESS, 0x0a000001);
    radius_put(&w, RADIUS_REPLY_MESSAGE, text("no"));
    CU_ASSERT_EQUAL(read_answer(&w).outcome, RADIUS_REJECTED);
    CU_ASSERT_EQUAL(read_answer(&w).ipv4, 0);
    CU_ASSERT(is_text(read_answer(&w).message, "no"));
    packet[0] = RADIUS_ACCESS_CHALLENGE;
    CU_ASSERT_EQUAL(read_answer(&w).outcome, RADIUS_REJECTED);
}

/* --- requests --- */

static const struct radius_user user = {.port_type = RADIUS_PORT_ETHERNET};

static void counters(void)
{
    struct radius_record record = {
        .status = RADIUS_STOP,
        .time_s = 1700000000,
        .session_s = 90,
        .ipv4 = {0x0000000200000003, 0xfffffffe00000001, 5, 6},
        .ipv6 = {0x00000001fffffffe, 0x00000000ffffffff, 7, 8},
        .cause = RADIUS_CAUSE_USER_REQUEST,
    };
    struct radius_writer w = begin(RADIUS_ACCOUNTING_REQUEST);

    radius_write_record(&w, &config, &user, &record);
    CU_ASSERT_EQUAL(number(packet, w.len, RADIUS_ACCT_INPUT_GIGAWORDS), 4);
    CU_ASSERT_EQUAL(number(packet, w.len, RADIUS_ACCT_INPUT_OCTETS), 1);
    CU_ASSERT_EQUAL(number(packet, w.len, RADIUS_ACCT_OUTPUT_GIGAWORDS), 0xffffffff);
    CU_ASSERT_EQUAL(number(packet, w.len, RADIUS_ACCT_OUTPUT_OCTETS), 0);
    CU_ASSERT_EQUAL(number(packet, w.len, RADIUS_ACCT_INPUT_PACKETS), 12);
    CU_ASSERT_EQUAL(number(packet, w.len, RADIUS_ACCT_OUTPUT_PACKETS), 14);
    CU_ASSERT_EQUAL(number(packet, w.len, RADIUS_ACCT_SESSION_TIME), 90);
    CU_ASSERT_EQUAL(number(packet, w.len, RADIUS_ACCT_TERMINATE_CAUSE), 1);
    CU_ASSERT_EQUAL(number(packet, w.len, RADIUS_EVENT_TIMESTAMP), 1700000000);
    CU_ASSERT_EQUAL(number(packet, w.len, RADIUS_NAS_IP_ADDRESS), 0xc0000201);
    CU_ASSERT(is_text(attribute(packet, w.len, RADIUS_NAS_IDENTIFIER), "bng1"));
}

/* A value that is too long is never cut: the request cannot be made. */
static void values_too_long(void)
{
    struct radius_user long_name = user;
    const struct radius_credentials none = {.kind = RADIUS_PAP};
    uint8_t name[RADIUS_VALUE_MAX + 1];

    memset(name, 'x', sizeof(name));
    for (size_t n = RADIUS_VALUE_MAX; n <= sizeof(name); n++) {
        struct radius_writer w = begin(RADIUS_ACCESS_REQUEST);

        long_name.name = radius_octets(name, n);
        radius_write_access(&w, &config, &long_name, &none, 0);
        CU_ASSERT_EQUAL(w.overfull, n > RADIUS_VALUE_MAX);
    }
    long_name = user;
    for (size_t n = RADIUS_VALUE_MAX - 6; n <= RADIUS_VALUE_MAX - 5; n++) {
        struct radius_writer w = begin(RADIUS_ACCESS_REQUEST);

        long_name.circuit = radius_octets(name, n); /* in an attribute of a vendor: 6 octets less */
        radius_write_access(&w, &config, &long_name, &none, 0);
        CU_ASSERT_EQUAL(w.overfull, n > RADIUS_VALUE_MAX - 6);
    }
}

/* --- changes --- */

static enum radius_error read_change(const struct radius_writer *w, struct radius_change *change)
{
    return radius_read_change(packet, w->len, &config, change);
}

static void change_with_all(void)
{
    struct radius_writer w = begin(RADIUS_COA_REQUEST);
    struct radius_change c;

    radius_put(&w, RADIUS_USER_NAME, text("user"));
    radius_put(&w, RADIUS_ACCT_SESSION_ID, text("17"));
    radius_put(&w, RADIUS_NAS_IDENTIFIER, text("bng1"));
    radius_put_u32(&w, RADIUS_NAS_IP_ADDRESS, config.nas_ipv4);
    radius_put(&w, RADIUS_CALLING_STATION_ID, text("02:00:00:00:00:01"));
    radius_put_u32(&w, RADIUS_FRAMED_IP_ADDRESS, 0x0a000001);
    radius_put_prefix(&w, RADIUS_DELEGATED_IPV6_PREFIX, (struct ipv6){0x20010db800000000, 0}, 56);
    radius_put_u32(&w, RADIUS_EVENT_TIMESTAMP, 1);
    radius_put(&w, RADIUS_PROXY_STATE, text("proxy"));
    radius_put(&w, RADIUS_FILTER_ID, text("gold"));
    radius_put_u32(&w, RADIUS_SESSION_TIMEOUT, 0);
    CU_ASSERT_EQUAL(read_change(&w, &c), RADIUS_NO_ERROR);
    CU_ASSERT(!c.disconnect && is_text(c.name, "user") && is_text(c.session, "17"));
    CU_ASSERT(is_text(c.station, "02:00:00:00:00:01") && c.ipv4 == 0x0a000001);
    CU_ASSERT(c.ipv6.n_delegated == 1 && c.ipv6.delegated_len[0] == 56);
    CU_ASSERT(is_text(c.profile, "gold") && c.has_session_s && c.session_s == 0 && !c.has_idle_s);
}

/* A request of a session with one thing more, and what is said to it. */
static enum radius_error said_to(enum radius_code code, enum radius_type type,
                                 struct radius_octets value)
{
    struct radius_writer w = begin(code);
    struct radius_change c;

    radius_put(&w, RADIUS_ACCT_SESSION_ID, text("17"));
    radius_put(&w, type, value);
    return read_change(&w, &c);
}

static void changes_that_cannot_be(void)
{
    struct radius_writer w = begin(RADIUS_COA_REQUEST);
    struct radius_change c;

    radius_put(&w, RADIUS_FILTER_ID, text("gold"));
    CU_ASSERT_EQUAL(read_change(&w, &c), RADIUS_MISSING_ATTRIBUTE);
    CU_ASSERT_EQUAL(said_to(RADIUS_COA_REQUEST, RADIUS_NAS_IDENTIFIER, text("bng2")),
                    RADIUS_OTHER_NAS);
    CU_ASSERT_EQUAL(said_to(RADIUS_COA_REQUEST, RADIUS_NAS_IP_ADDRESS, text("\1\2\3\4")),
                    RADIUS_OTHER_NAS);
    CU_ASSERT_EQUAL(said_to(RADIUS_COA_REQUEST, RADIUS_NAS_IP_ADDRESS, text("\1\2\3")),
                    RADIUS_INVALID_VALUE);
    CU_ASSERT_EQUAL(said_to(RADIUS_COA_REQUEST, RADIUS_SESSION_TIMEOUT, text("\1\2\3")),
                    RADIUS_INVALID_VALUE);
    CU_ASSERT_EQUAL(said_to(RADIUS_COA_REQUEST, RADIUS_ACCT_SESSION_ID, text("18")),
                    RADIUS_INVALID_VALUE);
    CU_ASSERT_EQUAL(said_to(RADIUS_COA_REQUEST, RADIUS_VENDOR_SPECIFIC, text("anything")),
                    RADIUS_UNSUPPORTED_ATTRIBUTE);
    CU_ASSERT_EQUAL(
        said_to(RADIUS_COA_REQUEST, RADIUS_SERVICE_TYPE, radius_octets("\0\0\0\x11", 4)),
        RADIUS_UNSUPPORTED_SERVICE); /* Authorize Only */
    CU_ASSERT_EQUAL(said_to(RADIUS_COA_REQUEST, RADIUS_FILTER_ID, text("gold")), RADIUS_NO_ERROR);
    CU_ASSERT_EQUAL(said_to(RADIUS_DISCONNECT_REQUEST, RADIUS_FILTER_ID, text("gold")),
                    RADIUS_UNSUPPORTED_ATTRIBUTE);
}

static const struct test tests[] = {
    {"an accept with all", accept_with_all},
    {"an IPv6 address and its prefix", accept_of_an_address6},
    {"addresses of hosts, and others", addresses},
    {"services", services},
    {"interim intervals", interim_intervals},
    {"values of wrong lengths", wrong_lengths},
    {"prefixes that cannot be", prefixes_that_cannot_be},
    {"more than there is room for", more_than_there_is_room_for},
    {"rejects", rejects},
    {"counters beyond 32 bits", counters},
    {"values that are too long", values_too_long},
    {"a change with all", change_with_all},
    {"changes that cannot be", changes_that_cannot_be},
    {NULL, NULL},
};

const struct test_program test_program = {"what RADIUS says", tests, NULL, NULL};
