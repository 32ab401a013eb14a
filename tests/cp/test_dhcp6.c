/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv6: messages of DHCPv6, the datagrams around them, pools, what is answered, and the store's
 * text. Scapy looks at what is written, in test_dhcp6.py. */
#include "common/program.h"

#include <stdlib.h>
#include <string.h>

#include "cp/dhcp6/answer.h"
#include "cp/dhcp6/pool6.h"
#include "cp/packet/bytes.h"
#include "cp/packet/udp6.h"

#define SAME(a, b) CU_ASSERT_STRING_EQUAL((a) != NULL ? (a) : "right", (b))
#define DUID       "\0\1\0\7\0\3\0\1\2\0\0"
#define HINT       "\0\5\0\x18\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\x9\0\0\0\1\0\0\0\2"
#define NA         "\0\3\0\x28\0\0\0\7\0\0\0\1\0\0\0\2" HINT
#define PD         "\0\x19\0\x29\0\0\0\x8\0\0\0\0\0\0\0\0" PREFIX
#define PREFIX     "\0\x1a\0\x19\0\0\0\0\0\0\0\0\x38\x20\1\xd\xb8\0\0\x77\x99\0\0\0\0\0\0\0\0"

/* A message with these options, in a block of its own: a sanitizer sees what is read behind it. */
static const char *read_with(uint8_t type, const void *options, size_t n, struct dhcp6 *m)
{
    uint8_t *own = malloc(4 + n);
    const char *wrong;

    put32(own, (uint32_t)type << 24 | 0x123456);
    memcpy(own + 4, options, n);
    wrong = dhcp6_read(own, 4 + n, m);
    free(own);
    return wrong;
}

#define READ(m, options) read_with(DHCP6_SOLICIT, options, sizeof(options) - 1, m)

static void fields(void)
{
    struct dhcp6 m;

    SAME(READ(&m, DUID NA PD "\0\6\0\6\0\x17\0\x18\0\x20\0\x0e\0\0\0\x63\0\1\1"), "right");
    CU_ASSERT(m.type == DHCP6_SOLICIT && m.xid == 0x123456 && m.client.n == 7 && m.server.n == 0);
    CU_ASSERT(m.rapid && m.wants_dns && m.wants_domain && m.wants_refresh);
    CU_ASSERT(m.n_ia == 2 && m.ia[0].kind == DHCP6_IA_NA && m.ia[0].iaid == 7 && m.ia[0].t2 == 2);
    CU_ASSERT(m.ia[1].kind == DHCP6_IA_PD && m.ia[1].iaid == 8 && m.n_lease == 2);
    CU_ASSERT(m.lease[0].len == 128 && m.lease[0].address.lower == 9 && m.lease[0].valid == 2);
    CU_ASSERT(m.lease[1].ia == 1 && m.lease[1].len == 56);
    CU_ASSERT(m.lease[1].address.upper == UINT64_C(0x20010db800007700)); /* no bits behind */
}

static void wrong_messages(void)
{
    static const char beyond[] = "an option goes beyond the end of what it is in",
                      small[] = "an option is shorter than its fixed fields",
                      many[] = "it has more identity associations or leases than are read",
                      duid[] = "a DUID has not 3 to 130 bytes";
    uint8_t options[9 * 44], long_duid[4 + 131] = {0, 1, 0, 131};
    struct dhcp6 m;

    SAME(dhcp6_read((const uint8_t *)"\1\0", 2, &m), "it is shorter than its header");
    SAME(read_with(DHCP6_RELAY_FORW, "", 0, &m), "it comes from a relay");
    SAME(READ(&m, "\0\1\0"), beyond);
    SAME(READ(&m, "\0\1\0\4abc"), beyond);
    SAME(READ(&m, "\0\1\0\2ab"), duid);
    SAME(read_with(DHCP6_SOLICIT, long_duid, sizeof(long_duid), &m), duid);
    SAME(READ(&m, DUID DUID), "an option that may be there once is there twice");
    SAME(READ(&m, "\0\6\0\3abc"), "the list of options that are asked for has an odd length");
    SAME(READ(&m, "\0\3\0\xb\0\0\0\1\0\0\0\0\0\0\0"), small);
    SAME(READ(&m, "\0\x0d\0\1\0"), small);
    SAME(READ(&m, "\0\3\0\x10\0\0\0\1\0\0\0\0\0\0\0\0\0\5\0\1"), beyond);
    SAME(READ(&m, "\0\3\0\x11\0\0\0\1\0\0\0\0\0\0\0\0\0\5\0\1a"), small);
    SAME(READ(&m, "\0\x19\0\x29\0\0\0\x8\0\0\0\0\0\0\0\0\0\x1a\0\x19\0\0\0\0\0\0\0\0\x81"
                  "0123456789abcdef"),
         "a prefix is longer than 128 bits");
    for (unsigned i = 0; i < 9; i++)
        memcpy(options + (size_t)44 * i, NA, 44);
    SAME(read_with(DHCP6_SOLICIT, options, (size_t)8 * 44, &m), "right");
    SAME(read_with(DHCP6_SOLICIT, options, (size_t)9 * 44, &m), many);
}

/* Each part of a message up to any byte is read without reading on. */
static void truncated(void)
{
    static const char whole[] = DUID NA PD "\0\6\0\4\0\x17\0\x18";
    unsigned right = 0;
    struct dhcp6 m;

    for (size_t n = 0; n < sizeof(whole); n++)
        right += read_with(DHCP6_SOLICIT, whole, n, &m) == NULL;
    CU_ASSERT_EQUAL(right, 5); /* nothing, and behind each of the four */
}

static struct octets bound_client = {7, {0, 3, 0, 1, 2, 0, 0}};

/* A line that has or had all of it. */
static struct session6 bound = {.state = LEASE_UP,
                                .has_wan = true,
                                .wan_len = 64,
                                .has_delegated = true,
                                .delegated_len = 56,
                                .na = {true, 7},
                                .pd = {true, 8},
                                .wan = {UINT64_C(0x20010db800000000), 9},
                                .delegated = UINT64_C(0x20010db800007700),
                                .expires = 1234567890123,
                                .duid = &bound_client};

/* Random bytes for options: whatever is read can be answered, and the answer can be read, and names
 * what was asked about. */
static void random_messages(void)
{
    static const struct ipv6 dns[DHCP6_MAX_SERVERS];
    const struct dhcp6_network network = {dns, DHCP6_MAX_SERVERS, "example.net", 600};
    const struct dhcp6_duid server = {4, "vbng"};
    struct session lines[2] = {{.v6 = NULL}, {.v6 = &bound}};
    unsigned answered = 0;

    srand(1);
    for (unsigned round = 0; round < 200000; round++) {
        static const char *const parts[] = {DUID, NA, PD, "\0\4\0\4\0\0\0\1", "\0\6\0\2\0\x17"};
        static const size_t lengths[] = {11, 44, 45, 8, 6};
        uint8_t options[11 * 45], out[1472];
        struct dhcp6 m, answer, back;
        size_t n = 0, len;

        for (unsigned i = 0, k = (unsigned)rand() % 11; i < k; i++) {
            unsigned part = (unsigned)rand() % 5;

            memcpy(options + n, parts[part], lengths[part]);
            n += lengths[part];
        }
        if (n > 0 && rand() % 2 == 0)
            options[(unsigned)rand() % n] = (uint8_t)(rand() % 4 == 0 ? rand() : rand() % 32);
        if (read_with((uint8_t)(1 + rand() % 11), options, n, &m) != NULL)
            continue;
        answer6_make(&lines[rand() % 2], &m, DHCP6_REPLY, &server, 3600, &answer);
        len = dhcp6_write(&answer, &network, out, sizeof(out));
        EXPECT(len > 0 && dhcp6_read(out, len, &back) == NULL, "round %u", round);
        EXPECT(back.xid == m.xid && back.n_ia == answer.n_ia && back.n_ia <= m.n_ia &&
                   dhcp6_same_duid(&back.client, &m.client) &&
                   dhcp6_same_duid(&back.server, &server),
               "round %u", round);
        answered++;
    }
    CU_ASSERT(answered > 10000);
}

/* Eight that are the same: one gets the lease, and what is told does not go beyond its room. */
static void twins(void)
{
    const struct dhcp6_duid server = {4, "vbng"};
    struct session line = {.v6 = &bound};
    struct dhcp6 q = {.type = DHCP6_REBIND, .client = session6_client(&bound)}, a, back;
    uint8_t out[1472];

    for (unsigned i = 0; i < DHCP6_MAX_IAS; i++) {
        q.ia[q.n_ia++] = (struct dhcp6_ia){.kind = DHCP6_IA_NA, .iaid = 7};
        q.lease[q.n_lease++] = (struct dhcp6_lease){.ia = (uint8_t)i, .len = 128};
    }
    answer6_make(&line, &q, DHCP6_REPLY, &server, 10, &a);
    CU_ASSERT(a.n_ia == DHCP6_MAX_IAS && a.n_lease == DHCP6_MAX_LEASES + 1);
    CU_ASSERT(a.lease[0].valid == 10 && a.lease[0].address.lower == 9 && a.lease[1].valid == 0);
    SAME(dhcp6_read(out, dhcp6_write(&a, NULL, out, sizeof(out)), &back), "right");
    CU_ASSERT_EQUAL(back.n_lease, a.n_lease);
    CU_ASSERT(a.ia[0].t1 == 5 && a.ia[0].t2 == 8 && a.ia[1].t1 == 0);
}

static void domains(void)
{
    char label[65];

    memset(label, 'a', 64);
    label[64] = '\0';
    CU_ASSERT(dhcp6_is_domain("example.net") && dhcp6_is_domain("a") && dhcp6_is_domain(label + 1));
    CU_ASSERT(!dhcp6_is_domain("") && !dhcp6_is_domain(".a") && !dhcp6_is_domain("a..b"));
    CU_ASSERT(!dhcp6_is_domain("a.") && !dhcp6_is_domain(label));
}

static void datagrams(void)
{
    static const uint8_t mac[6] = {0x02, 0xb0, 0, 0, 0, 1};
    struct udp6 u = {.to = {1, 2},
                     .from = link_local_of(mac),
                     .to_port = 546,
                     .from_port = 547,
                     .data = (const uint8_t *)"hello",
                     .n = 5},
                back;
    uint8_t frame[128];
    size_t n = udp6_write(&u, frame, sizeof(frame));

    CU_ASSERT(u.from.upper == UINT64_C(0xfe80) << 48 && u.from.lower == UINT64_C(0xb000fffe000001));
    CU_ASSERT_EQUAL(n, UDP6_HEADERS + 5);
    CU_ASSERT_EQUAL(udp6_write(&u, frame, n - 1), 0);
    SAME(udp6_read(frame, n, &back), "right");
    CU_ASSERT(back.n == 5 && memcmp(back.data, "hello", 5) == 0 && same6(back.to, u.to));
    CU_ASSERT(same6(back.from, u.from) && back.to_port == 546 && back.from_port == 547);
    SAME(udp6_read(frame, n + 20, &back), "right"); /* Ethernet's padding */
    CU_ASSERT_EQUAL(back.n, 5);
    for (size_t i = 0; i < n; i++)
        SAME(udp6_read(frame, i, &back), i < 54 ? "it is not IPv6" : "its IPv6 header is wrong");
    for (size_t i = 22; i < n; i++) { /* each bit of them is covered */
        frame[i] ^= 4;
        CU_ASSERT_PTR_NOT_NULL(udp6_read(frame, n, &back));
        frame[i] ^= 4;
    }
    put16(frame + 60, 0); /* RFC 8200 section 8.1: never without a checksum */
    SAME(udp6_read(frame, n, &back), "its UDP checksum is wrong");
}

static struct session *nth(uintptr_t n)
{
    return (struct session *)(n * 64);
}

static void pools(void)
{
    const struct cp_blocks blocks = {UINT64_C(0x20010db800000000), 54, 56};
    const uint64_t first = blocks.prefix, step = 256;
    struct pool6 p, none;
    uint64_t block;

    CU_ASSERT_EQUAL(pool6_open(&p, &blocks), 0);
    CU_ASSERT(pool6_has(&p, first) && pool6_has(&p, first + 3 * step));
    CU_ASSERT(!pool6_has(&p, first + 4 * step) && !pool6_has(&p, first - step));
    CU_ASSERT(!pool6_has(&p, first + 1) && !pool6_has(&p, 0)); /* none is within a block */
    CU_ASSERT(pool6_take(&p, first + step, nth(1)) && !pool6_take(&p, first + step, nth(2)));
    CU_ASSERT(pool6_take_any(&p, nth(2), &block) && block == first);
    CU_ASSERT(pool6_take_any(&p, nth(3), &block) && block == first + 2 * step);
    CU_ASSERT(pool6_take_any(&p, nth(4), &block) && block == first + 3 * step);
    CU_ASSERT(!pool6_take_any(&p, nth(5), &block));
    CU_ASSERT(pool6_owner(&p, first + 2 * step) == nth(3) && pool6_owner(&p, 7) == NULL);
    pool6_give(&p, first + step);
    CU_ASSERT(pool6_take_any(&p, nth(5), &block) && block == first + step);
    pool6_close(&p);
    CU_ASSERT_EQUAL(pool6_open(&none, &(struct cp_blocks){.len = 0}), 0);
    CU_ASSERT(!pool6_has(&none, 0) && !pool6_take(&none, 0, nth(1)));
    CU_ASSERT(!pool6_take_any(&none, nth(1), &block));
    pool6_close(&none);
}

/* What the store gives back is what it was given, and what is none is not taken for one. */
static void texts(void)
{
    static const char *const wrong[] = {"",
                                        "{}",
                                        "{\"duid\":\"0\"}",
                                        "{\"duid\":\"xy\"}",
                                        "{\"duid\":\"000102\",\"na\":1}",
                                        "{\"duid\":\"000102\",\"delegated\":\"2001:db8::/56\"}"};
    static const struct session6_giver server = {77, {4, "vbng"}};
    struct session6 back = {.expires = 0};
    char *text = session6_text(&bound, &server);
    struct session6_giver by = {.expires = 0};
    struct dhcp6_duid client;
    char blocks[SESSION6_TEXT];

    CU_ASSERT(session6_parse(text, &back, &by));
    CU_ASSERT(back.na.held && back.na.iaid == 7 && back.pd.held && back.pd.iaid == 8);
    CU_ASSERT(same6(back.wan, bound.wan) && back.delegated == bound.delegated);
    CU_ASSERT(back.delegated_len == 56 && back.expires == bound.expires);
    client = session6_client(&bound);
    CU_ASSERT(session6_is_client(&back, &client) && dhcp6_same_duid(&by.duid, &server.duid));
    CU_ASSERT_EQUAL(by.expires, server.expires);
    CU_ASSERT_STRING_EQUAL(session6_blocks(&back, blocks), "2001:db8::/64 2001:db8:0:7700::/56");
    free(text);
    free(back.duid);
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct session6 none = {.expires = 0};

        EXPECT(!session6_parse(wrong[i], &none, &by), "%s", wrong[i]);
    }
}

static const struct test tests[] = {
    {"fields", fields},
    {"wrong messages", wrong_messages},
    {"truncated messages", truncated},
    {"random messages", random_messages},
    {"twins", twins},
    {"domains", domains},
    {"datagrams", datagrams},
    {"pools", pools},
    {"texts", texts},
    {NULL, NULL},
};

const struct test_program test_program = {"dhcp6", tests, NULL, NULL};
