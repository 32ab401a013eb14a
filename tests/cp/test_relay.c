/* SPDX-License-Identifier: BSD-3-Clause */
/* What a relay makes of messages of DHCPv4 and DHCPv6, where a line is in option 82, and what is
 * kept of a lease that a server behind has given. */
#include "common/program.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cp/packet/bytes.h"
#include "cp/packet/dhcp4_copy.h"
#include "cp/packet/dhcp6_relay.h"
#include "cp/relay/option82.h"
#include "cp/relay/servers.h"
#include "cp/relay/state4.h"

#define OPTIONS 240
#define FILE_AT 108
#define ROOM    1500

#define ADDRESS16 "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1"

static uint8_t message[ROOM], out[ROOM];

static int open_message(void)
{
    memset(message, 0, sizeof(message));
    memcpy(message, "\1\1\6", 3);
    put32(message + 4, 0x01020304);
    memcpy(message + 28, "\2\0\0\0\0\x09", 6);
    put32(message + 236, 0x63825363);
    return 0;
}

/* Copy a message with these options. Returns its length. */
static size_t copy(const void *options, size_t n, const struct dhcp4_change *c, size_t room)
{
    uint8_t *own = malloc(OPTIONS + n);
    struct dhcp4 m;
    size_t len;

    memcpy(own, message, OPTIONS);
    memcpy(own + OPTIONS, options, n);
    CU_ASSERT_PTR_NULL(dhcp4_read(own, OPTIONS + n, &m));
    len = dhcp4_copy(own, OPTIONS + n, c, out, room);
    free(own);
    return len;
}

#define COPY(options, c) copy(options, sizeof(options) - 1, c, ROOM)
#define STARTS(options)  CU_ASSERT(memcmp(out + OPTIONS, options, sizeof(options) - 1) == 0)

static void changes(void)
{
    struct dhcp4_bytes relay = {4, "\1\2ab"};
    struct dhcp4_change c = {
        .hops = 3, .giaddr = 0x7f000002, .server = 0x0a000001, .relay = &relay};

    CU_ASSERT_EQUAL(COPY("\x35\1\1\0\x36\4\1\2\3\4\x52\2\1\0\x0c\1x\x50\0\xff\x0c\1y", &c),
                    DHCP4_LEAST);
    STARTS("\x35\1\1\x0c\1x\x50\0\x36\4\x0a\0\0\1\x52\4\1\2ab\xff\0\0");
    CU_ASSERT(out[3] == 3 && get32(out + 24) == 0x7f000002 && get32(out + 4) == 0x01020304);
    c = (struct dhcp4_change){.lease = 80};
    COPY("\x35\1\5\x33\4\0\0\2\x58\x3a\4\0\0\1\0\x3b\4\0\0\1\1\x36\4\1\2\3\4", &c); /* no end */
    STARTS("\x35\1\5\x33\4\0\0\0\x50\x3a\4\0\0\0\x28\x3b\4\0\0\0\x46\xff");
    CU_ASSERT_EQUAL(get32(out + 24), 0);
}

/* Options in the field file are those of the message, too. */
static void overload(void)
{
    struct dhcp4_change c = {.server = 0x0a000001};

    memcpy(message + FILE_AT, "\x52\2\1\0\x0c\1x\x36\4\1\2\3\4\xff", 14);
    COPY("\x34\1\1\x35\1\1", &c);
    CU_ASSERT(memcmp(out + FILE_AT, "\0\0\0\0\x0c\1x\0\0\0\0\0\0\xff", 14) == 0);
    STARTS("\x34\1\1\x35\1\1\x36\4\x0a\0\0\1\xff");
    COPY("\x35\1\1", &c); /* a file is a file */
    CU_ASSERT(memcmp(out + FILE_AT, "\x52\2\1\0", 4) == 0);
    open_message();
}

static void room(void)
{
    static uint8_t options[700] = "\x35\1\1";
    struct dhcp4_bytes relay = {100, {1, 98}};
    struct dhcp4_change c = {.relay = &relay};
    size_t n;

    memset(options + 3, 0, sizeof(options) - 3);
    options[3] = options[260] = 43;
    options[4] = options[261] = 200;
    n = copy(options, sizeof(options), &c, ROOM);
    CU_ASSERT_EQUAL(n, OPTIONS + 3 + 2 * 202 + 102 + 1);
    CU_ASSERT_EQUAL(copy(options, sizeof(options), &c, n), n);
    for (size_t i = DHCP4_LEAST - 1; i < n; i++)
        CU_ASSERT_EQUAL(copy(options, sizeof(options), &c, i), 0);
}

/* What can be read can be copied, and says the same. */
static void random_messages(void)
{
    static const uint8_t codes[] = {0, 12, 43, 50, 51, 52, 54, 58, 61, 82, 255};
    struct dhcp4_bytes relay = {3, {1, 1, 'a'}};
    struct dhcp4_change c = {.server = 9, .lease = 60, .relay = &relay};
    unsigned copied = 0;

    srand(1);
    for (unsigned round = 0; round < 50000; round++) {
        size_t n = OPTIONS;
        struct dhcp4 m, back;

        memcpy(message + n, "\x35\1\3", 3);
        for (n += 3; n < OPTIONS + 40; n += 2 + message[n + 1]) {
            message[n] = codes[rand() % sizeof(codes)];
            message[n + 1] = (uint8_t)(rand() % 3 == 0 ? 1 : 4);
            put32(message + n + 2, (uint32_t)rand());
        }
        put32(message + FILE_AT, 0x36040000u + (uint32_t)rand() % 3);
        if (dhcp4_read(message, n, &m) != NULL)
            continue;
        n = dhcp4_copy(message, n, &c, out, sizeof(out));
        EXPECT(n >= DHCP4_LEAST && dhcp4_read(out, n, &back) == NULL, "round %u", round);
        EXPECT(back.type == m.type && back.server == 9 && back.lease == 60 &&
                   back.requested == m.requested && back.client.n == m.client.n &&
                   memcmp(&back.relay, &relay, 4) == 0,
               "round %u", round);
        copied++;
    }
    CU_ASSERT(copied > 10000);
    open_message();
}

static void own_messages(void)
{
    struct dhcp4_bytes client = {2, "ab"}, relay = {3, {1, 1, 'a'}};
    struct dhcp4_own own = {.type = DHCP4_RELEASE,
                            .mac = {2, 0, 0, 0, 0, 7},
                            .xid = 5,
                            .ciaddr = 0x0a000009,
                            .giaddr = 0x7f000002,
                            .server = 0x0a000001,
                            .client = &client,
                            .relay = &relay};
    size_t n = dhcp4_write_own(&own, out, sizeof(out));
    struct dhcp4 m;

    CU_ASSERT_PTR_NULL(dhcp4_read(out, n, &m));
    CU_ASSERT(m.op == 1 && m.type == DHCP4_RELEASE && m.xid == 5 && m.mac[5] == 7);
    CU_ASSERT(m.ciaddr == own.ciaddr && m.giaddr == own.giaddr && m.server == own.server);
    CU_ASSERT(m.client.n == 2 && m.relay.n == 3 && m.hops == 1);
    CU_ASSERT_EQUAL(dhcp4_write_own(&own, out, DHCP4_LEAST - 1), 0);
}

/* --- lines --- */

static struct cp_config config = {
    .n_access = 1,
    .access = {{.port = "cpe0", .svlan_first = 100, .svlan_last = 199, .cvlan_last = 4095}}};
static struct cp cp = {.config = &config};

static const struct relay_config *relay_of(uint16_t port)
{
    static struct relay_config relay = {.node = "bng1"};

    relay.own.ipv4.sin_port = htons(port);
    return &relay;
}

static void lines(void)
{
    struct dhcp4_bytes o;
    struct session *s;

    sessions_open(&cp.sessions, 4);
    s = session_get(&cp.sessions, &config.access[0], 100, 7);
    option82_write(relay_of(67), s, 0x0a000001, true, &o);
    CU_ASSERT_EQUAL(o.n, 2 + 19 + 2 + 10 + 6 + 3);
    CU_ASSERT(memcmp(o.at,
                     "\1\x13"
                     "bng1 eth cpe0:100.7\2\x0a"
                     "cpe0 100.7\5\4\x0a\0\0\1\x0a\1\x80",
                     o.n) == 0);
    CU_ASSERT_PTR_EQUAL(option82_line(&cp, relay_of(67), &o), s);
    option82_write(relay_of(1067), s, 0x0a000001, false, &o);
    CU_ASSERT(memcmp(o.at + o.n - 5, "\x0a\1\0\x13\0", 5) == 0); /* RFC 8357 */
    CU_ASSERT_PTR_EQUAL(option82_line(&cp, relay_of(67), &o), s);
    for (unsigned i = 0; i < o.n;
         i++) { /* of each length, and with each bit of the circuit wrong */
        struct dhcp4_bytes wrong = o;

        wrong.n = (uint8_t)i;
        CU_ASSERT(option82_line(&cp, relay_of(67), &wrong) == (i < 21 ? NULL : s));
        wrong.n = o.n;
        wrong.at[i] ^= 64;
        CU_ASSERT(i >= 21 || option82_line(&cp, relay_of(67), &wrong) == NULL);
    }
    sessions_close(&cp.sessions);
}

static void texts(void)
{
    struct relay4 r = {.server = 0x0a000001, .from = 0x0a000002, .expires = 77},
                  back = {.server = 0};
    char *text;

    octets_set(&r.client, "\1abc", 4);
    text = state4_text(&r);
    CU_ASSERT(state4_parse(text, &back));
    CU_ASSERT(back.server == r.server && back.from == r.from && back.expires == 77);
    CU_ASSERT(back.client->n == 4 && memcmp(back.client->at, "\1abc", 4) == 0);
    CU_ASSERT(!state4_parse("{}", &back) && !state4_parse("x", &back));
    free(text);
    free(r.client);
    free(back.client);
}

/* --- DHCPv6 --- */

static const uint8_t solicit[] = {1, 0, 0, 7, 0, 1, 0, 3, 'a', 'b', 'c'};

static void forwards(void)
{
    struct dhcp6_relayed r = {.link = {UINT64_C(0x20010db800000000), 0},
                              .peer = {UINT64_C(0xfe80000000000000), 9},
                              .interface = "line",
                              .n_interface = 4,
                              .remote = "ab",
                              .n_remote = 2,
                              .message = solicit,
                              .n = sizeof(solicit)};
    static const uint8_t behind[] = "\0\x12\0\4line\0\x25\0\6\0\0\x0d\xe9"
                                    "ab\0\x87\0\2\0\0\0\x09\0\x0b\1\0\0\7\0\1\0\3"
                                    "abc";
    size_t n = dhcp6_relay_write(&r, out, sizeof(out));

    CU_ASSERT_EQUAL(n, 34 + 8 + 10 + 4 + sizeof(solicit));
    CU_ASSERT(memcmp(out, "\x0c\0\x20\1\x0d\xb8", 6) == 0 && out[33] == 9);
    r.has_port = true;
    CU_ASSERT_EQUAL(dhcp6_relay_write(&r, out, sizeof(out)), n + 6);
    CU_ASSERT(memcmp(out + 34, behind, sizeof(behind) - 1) == 0);
    for (size_t i = 0; i < n + 6; i++)
        CU_ASSERT_EQUAL(dhcp6_relay_write(&r, out, i), 0);
}

static void replies(void)
{
    struct dhcp6_relayed r = {.interface = "line",
                              .n_interface = 4,
                              .remote = "",
                              .message = solicit,
                              .n = sizeof(solicit)},
                         back;
    size_t n = dhcp6_relay_write(&r, out, sizeof(out));

    CU_ASSERT_PTR_NOT_NULL(dhcp6_relay_read(out, n, &back)); /* a RELAY-FORW */
    out[0] = DHCP6_RELAY_REPL;
    CU_ASSERT_PTR_NULL(dhcp6_relay_read(out, n, &back));
    CU_ASSERT(back.n == sizeof(solicit) && memcmp(back.message, solicit, back.n) == 0);
    CU_ASSERT(back.n_interface == 4 && memcmp(back.interface, "line", 4) == 0);
    for (size_t i = 0; i < n; i++) {
        uint8_t *own = malloc(i > 0 ? i : 1);

        memcpy(own, out, i);
        CU_ASSERT_PTR_NOT_NULL(dhcp6_relay_read(own, i, &back));
        free(own);
    }
    out[1] = 1;
    CU_ASSERT_PTR_NOT_NULL(dhcp6_relay_read(out, n, &back)); /* through another relay */
}

static void without_unicast(void)
{
    static const uint8_t from[] = "\7\0\0\7\0\1\0\3"
                                  "abc\0\x0c\0\2xx\0\x0d\0\2\0\0";
    struct dhcp6 m;
    size_t n = dhcp6_copy(from, sizeof(from) - 1, UINT32_MAX, out);

    CU_ASSERT_EQUAL(n, sizeof(from) - 1 - 6);
    CU_ASSERT(dhcp6_read(out, n, &m) == NULL && m.has_status && m.client.n == 3);
}

/* No lifetime is longer than is said; what is in the wrong identity association is left alone. */
static void capped(void)
{
    static const uint8_t from[] =
        "\7\0\0\7\0\1\0\3"
        "abc"
        "\0\3\0\x2c\0\0\0\1\0\0\0\0\0\0\1\0" /* T1 0, T2 256 */
        "\0\5\0\x18" ADDRESS16 "\xff\xff\xff\xff\0\0\0\x09"
        "\0\x1a\0\0"
        "\0\x19\0\x29\0\0\0\2\0\0\0\x63\0\0\0\x63"
        "\0\x1a\0\x19\0\0\0\x64\0\0\0\x65\x38" ADDRESS16 "\0\x17\0\x10" ADDRESS16;
    const size_t n = sizeof(from) - 1;
    struct dhcp6 m;

    CU_ASSERT_EQUAL(dhcp6_copy(from, n, UINT32_MAX, out), n);
    CU_ASSERT(memcmp(from, out, n) == 0);
    CU_ASSERT(dhcp6_copy(from, n, 100, out) == n && dhcp6_read(out, n, &m) == NULL);
    CU_ASSERT(m.n_ia == 2 && m.ia[0].t1 == 0 && m.ia[0].t2 == 80 && m.ia[1].t1 == 50);
    CU_ASSERT(m.n_lease == 2 && m.lease[0].preferred == 100 && m.lease[0].valid == 9);
    CU_ASSERT(m.lease[1].preferred == 100 && m.lease[1].valid == 100);
    CU_ASSERT_EQUAL(dhcp6_copy_beside(from, n, out), 20);
    CU_ASSERT(memcmp(out, from + n - 20, 20) == 0);
}

/* --- servers --- */

/* A socket on ::1, and its address. */
static int socket_at(union relay_address *a)
{
    socklen_t len = sizeof(a->ipv6);
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0);

    *a = (union relay_address){.ipv6 = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback}};
    CU_ASSERT_FATAL(fd >= 0 && bind(fd, &a->any, len) == 0);
    CU_ASSERT_EQUAL_FATAL(getsockname(fd, &a->any, &len), 0);
    return fd;
}

static bool has_heard(int fd)
{
    char byte;

    return recv(fd, &byte, 1, 0) == 1;
}

/* A message that names a server goes to that one, where one is asked, and nobody else is to answer
 * it; who is not known yet is among all. */
static void servers(void)
{
    static const struct dhcp6_duid known = {3, "abc"};
    struct cp_config own = {.relays = {.n = 1}};
    struct relay_config *c = &own.relays.relay[0];
    struct cp plane = {.config = &own};
    int fd[2] = {socket_at(&c->server[0]), socket_at(&c->server[1])};
    struct relay *r;

    *c = (struct relay_config){.name = "r",
                               .own = {.ipv6 = {.sin6_family = AF_INET6}},
                               .n_servers = 2,
                               .server = {c->server[0], c->server[1]},
                               .server_name = {"first", "second"},
                               .dead_ns = UINT64_MAX / 2};
    r = relays_open(&plane);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    relay_learn(r, 1, &known);
    CU_ASSERT_EQUAL(relay_server6(r, known.at, 3), 1);
    CU_ASSERT_EQUAL(relay_server6(r, known.at, 0), RELAY_ANYBODY);
    CU_ASSERT_EQUAL(relay_server6(r, known.at, 2), RELAY_UNKNOWN);
    for (unsigned i = 0; i < 2; i++) {
        relay_send(r, 1, message, 1);
        CU_ASSERT(!has_heard(fd[0]) && has_heard(fd[1]));
        relay_send(r, RELAY_UNKNOWN, message, 1);
        CU_ASSERT(has_heard(fd[0]) && has_heard(fd[1]));
        relay_send_to(r, 0, false, message, 1);
        CU_ASSERT(has_heard(fd[0]) && !has_heard(fd[1]));
    }
    for (unsigned i = 0; i < 4; i++) { /* of which the fourth finds the first one dead */
        relay_send(r, RELAY_ANYBODY, message, 1);
        CU_ASSERT(has_heard(fd[i / 3]) && !has_heard(fd[1 - i / 3]));
    }
    relays_close(&plane, r);
    close(fd[0]);
    close(fd[1]);
}

static const struct test tests[] = {
    {"changes", changes},
    {"overload", overload},
    {"room", room},
    {"random messages", random_messages},
    {"own messages", own_messages},
    {"lines", lines},
    {"texts", texts},
    {"forwards", forwards},
    {"replies", replies},
    {"without unicast", without_unicast},
    {"capped", capped},
    {"servers", servers},
    {NULL, NULL},
};

const struct test_program test_program = {"relay", tests, open_message, NULL};
