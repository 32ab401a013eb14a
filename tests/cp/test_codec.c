/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of DHCP, and the datagrams around them: what is read of right ones, and what is said of
 * wrong ones. Scapy looks at what is written, in test_dhcp.py. */
#include "common/program.h"

#include <stdlib.h>
#include <string.h>

#include "cp/packet/bytes.h"
#include "cp/packet/dhcp4.h"
#include "cp/packet/udp4.h"

#define OPTIONS    240
#define SAME(a, b) CU_ASSERT_STRING_EQUAL((a) != NULL ? (a) : "right", (b))

static uint8_t message[OPTIONS + 1024];

/* A message with these options, in a block of its own: a sanitizer sees what is read behind it. */
static const char *read_with(const void *options, size_t n, struct dhcp4 *m)
{
    uint8_t *own = malloc(OPTIONS + n);
    const char *wrong;

    memcpy(own, message, OPTIONS);
    memcpy(own + OPTIONS, options, n);
    wrong = dhcp4_read(own, OPTIONS + n, m);
    free(own);
    return wrong;
}

#define READ(m, options) read_with(options, sizeof(options) - 1, m)

static int open_message(void)
{
    message[0] = 1;
    message[1] = 1;
    message[2] = 6;
    put32(message + 4, 0x01020304);
    put16(message + 8, 7);
    put16(message + 10, 0x8000);
    for (unsigned i = 0; i < 4; i++)
        put32(message + 12 + 4 * i, 0x0a000001 + i);
    memcpy(message + 28, "\2\0\0\0\0\x09", 6);
    put32(message + 236, 0x63825363);
    return 0;
}

static void fields(void)
{
    struct dhcp4 m;

    SAME(READ(&m, "\x35\1\3\x32\4\x0a\1\2\3\0\x36\4\x0a\4\5\6\x39\2\5\xdc\x37\2\1\3\xff\x33\1"),
         "right");
    CU_ASSERT(m.op == 1 && m.type == DHCP4_REQUEST && m.xid == 0x01020304 && m.secs == 7);
    CU_ASSERT(m.flags == DHCP4_BROADCAST && m.ciaddr == 0x0a000001 && m.yiaddr == 0x0a000002);
    CU_ASSERT(m.siaddr == 0x0a000003 && m.giaddr == 0x0a000004 && m.mac[5] == 9);
    CU_ASSERT(m.requested == 0x0a010203 && m.server == 0x0a040506 && m.max_size == 1500);
    CU_ASSERT(m.params.n == 2 && memcmp(m.params.at, "\1\3", 2) == 0);
    SAME(READ(&m, "\x35\1\1"), "right"); /* no end */
}

/* RFC 3396: parts of one option, in one field or in several. */
static void parts(void)
{
    struct dhcp4 m;

    memcpy(message + 108, "\x3d\2cd\xff", 5);
    memcpy(message + 44, "\x3d\2ef\0\xff", 6);
    SAME(READ(&m, "\x35\1\1\x34\1\3\x3d\1a\x3d\1b"), "right");
    CU_ASSERT(m.client.n == 6 && memcmp(m.client.at, "abcdef", 6) == 0);
    SAME(READ(&m, "\x35\1\1\x34\1\2\x3d\1a"), "right");
    CU_ASSERT(m.client.n == 3 && memcmp(m.client.at, "aef", 3) == 0);
    message[108 + 1] = 200;
    SAME(READ(&m, "\x35\1\1\x34\1\1"), "an option goes beyond the end of its field");
    memset(message + 44, 0, 192);
}

static void wrong_messages(void)
{
    static const char beyond[] = "an option goes beyond the end of its field",
                      length[] = "an option has another length than RFC 2132 says",
                      bootp[] = "it has no message type, as a message of BOOTP has none";
    uint8_t long_option[2 * 202 + 3];
    struct dhcp4 m;

    SAME(READ(&m, ""), bootp);
    SAME(READ(&m, "\xff\x35\1\1"), bootp);
    SAME(READ(&m, "\x35"), beyond);
    SAME(READ(&m, "\x35\1"), beyond);
    SAME(READ(&m, "\x35\1\1\x52\xff"), beyond);
    SAME(READ(&m, "\x35\2\1\1"), length);
    SAME(READ(&m, "\x35\1\1\x32\3\1\2\3"), length);
    SAME(READ(&m, "\x35\1\1\x36\0"), length);
    memcpy(long_option, "\x35\1\1", 3);
    for (unsigned i = 0; i < 2; i++)
        memcpy(memset(long_option + 3 + 202 * i, 'x', 202), "\x52\xc8", 2);
    SAME(read_with(long_option, sizeof(long_option), &m), "an option is longer than 255 bytes");
    SAME(dhcp4_read(message, OPTIONS - 1, &m), "it is shorter than its fixed fields");
    message[2] = 16;
    SAME(READ(&m, "\x35\1\1"), "its hardware address is not of Ethernet");
    message[2] = 6;
    message[236]++;
    SAME(READ(&m, "\x35\1\1"), "it has no magic cookie");
    message[236]--;
}

/* Random bytes for options: whatever is read can be answered, and the answer can be read. */
static void random_messages(void)
{
    struct dhcp4_reply r = {.type = DHCP4_ACK,
                            .address = 0x0a000009,
                            .server = 0x0a000001,
                            .mask = 0xffffff00,
                            .router = 0x0a000001,
                            .broadcast = 0x0a0000ff,
                            .dns = {1, 2, 3, 4},
                            .n_dns = 4,
                            .domain = "example.net",
                            .lease = 60};
    unsigned answered = 0;

    srand(1);
    for (unsigned round = 0; round < 200000; round++) {
        uint8_t options[300], out[1472];
        size_t n = 3, len;
        struct dhcp4 m, back;

        memcpy(options, "\x35\1\1", 3);
        while (n < 200) {
            options[n++] = (uint8_t) "\x37\x3d\x52\x34\x39\x0c\xff"[rand() % 7];
            options[n++] = (uint8_t)(rand() % 2 == 0 ? 1 + rand() % 2 : rand() % 90);
            for (uint8_t left = options[n - 1]; left > 0 && n < sizeof(options); left--)
                options[n++] = (uint8_t)(rand() % 4 == 0 ? rand() % 256 : rand() % 60);
        }
        if (read_with(options, n, &m) != NULL)
            continue;
        len = dhcp4_write(&m, &r, out, sizeof(out));
        EXPECT(dhcp4_read(out, len, &back) == NULL, "round %u", round);
        EXPECT(back.op == 2 && back.type == DHCP4_ACK && back.xid == m.xid && back.lease == 60 &&
                   back.server == r.server && len >= DHCP4_LEAST &&
                   len <= (m.max_size > 576 ? m.max_size : 576u) - 28,
               "round %u: %zu bytes", round, len);
        answered++;
    }
    CU_ASSERT(answered > 10000);
}

static void datagrams(void)
{
    struct udp4 u = {.to = 0x0a000001,
                     .from = 0x0a000002,
                     .to_port = 67,
                     .from_port = 68,
                     .data = (const uint8_t *)"hello",
                     .n = 5},
                back;
    uint8_t frame[128];
    size_t n = udp4_write(&u, frame, sizeof(frame));

    CU_ASSERT_EQUAL(n, UDP4_HEADERS + 5);
    CU_ASSERT_EQUAL(udp4_write(&u, frame, n - 1), 0);
    SAME(udp4_read(frame, n, &back), "right");
    CU_ASSERT(back.n == 5 && memcmp(back.data, "hello", 5) == 0 && back.to == u.to);
    CU_ASSERT(back.from == u.from && back.to_port == 67 && back.from_port == 68);
    SAME(udp4_read(frame, n + 20, &back), "right"); /* Ethernet's padding */
    CU_ASSERT_EQUAL(back.n, 5);
    for (size_t i = 0; i < n; i++)
        SAME(udp4_read(frame, i, &back), i < 34 ? "it is not IPv4" : "its IPv4 header is wrong");
    for (size_t i = 12; i < n; i++) { /* each bit of them is covered */
        frame[i] ^= 4;
        CU_ASSERT_PTR_NOT_NULL(udp4_read(frame, n, &back));
        frame[i] ^= 4;
    }
    put16(frame + 40, 0); /* a sender need not write a checksum */
    SAME(udp4_read(frame, n, &back), "right");
}

static const struct test tests[] = {
    {"fields", fields},
    {"parts of options", parts},
    {"wrong messages", wrong_messages},
    {"random messages", random_messages},
    {"datagrams", datagrams},
    {NULL, NULL},
};

const struct test_program test_program = {"codec", tests, open_message, NULL};
