/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sink with expect: which bytes of a frame are compared, and as what a difference counts. Each test
 * takes the frame that its template describes for a user, changes it, and says the kinds.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "packet/stamp.h"
#include "tester/sink.h"
#include "tasks/task_types.h"

#define CORE                                                                                       \
    "var user 100-65535 random\nvar host 0-255 random\n"                                           \
    "ether src 02:dd:00:00:00:00 dst 02:b0:00:00:01:00\n"                                          \
    "mpls label 16 exp 5\n"                                                                        \
    "ipv4 src 203.0.113.1 dst 192.0.2.1 dscp 46\n"                                                 \
    "gre key user\n"                                                                               \
    "ipv4 src 198.18.0.0 + host dst 10.0.0.0 + user dscp 46\n"                                     \
    "udp src 2048 dst 1024\n"
#define ACCESS                                                                                     \
    "var user 0-32767 random\nvar host 0-255 random\nvar mark 0-3 random\n"                        \
    "ether src 02:b0:00:00:00:00 dst 02:c0:00:00:00:00 + user\n"                                   \
    "vlan tpid 0x88a8 id 128 + user[14:8] pcp 3\n"                                                 \
    "vlan id 256 + user[7:0]\n"                                                                    \
    "ipv4 src 198.18.0.0 dst 10.0.0.0 + user ecn mark id host\n"                                   \
    "udp src 2048 dst 1024\n"

enum {
    SUBSCRIBER = 1 << WRONG_SUBSCRIBER,
    TAGS = 1 << WRONG_TAGS,
    KEY = 1 << WRONG_KEY,
    DSCP = 1 << WRONG_DSCP,
    OTHER = 1 << WRONG_OTHER,
};

static char path[] = "/tmp/vbng-sink-XXXXXX";

static struct rig *open_with(const char *text)
{
    char params[64];
    FILE *f = fopen(path, "w");

    CU_ASSERT_FATAL(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
    snprintf(params, sizeof(params), "expect=%s", path);
    return rig_open(&task_sink, params, "");
}

/* A frame as the template describes it, and the stamp behind its headers. */
struct sample {
    uint32_t len, stamp_at;
    uint8_t b[256];
};

static void put_bits(uint8_t *at, unsigned size, uint64_t v)
{
    for (unsigned i = 0; i < size; i++)
        at[i] |= (uint8_t)(v >> (8 * (size - 1 - i)));
}

/* Fields of other variables get a number that is not their first. */
static struct sample sample(uint32_t user, uint32_t others)
{
    const struct pkt_template *t = harness_model.templates[harness_model.n_templates - 1];
    struct sample s = {.len = t->header_len + STAMP_LEN, .stamp_at = t->header_len};
    static uint32_t seq;
    struct stamp stamp = {.seq = seq++, .user = user};

    memcpy(s.b, t->frames[0].bytes, t->header_len);
    for (unsigned i = 0; i < t->n_fields; i++) {
        const struct template_field *f = &t->fields[i];
        uint64_t v = strcmp(t->vars[f->var].name, "user") == 0 ? user : others;

        put_bits(s.b + f->offset, f->size, (f->base + (v >> f->shift & f->mask)) << f->lshift);
    }
    stamp_write(s.b + s.stamp_at, &stamp);
    return s;
}

/* Bits 1 << enum wrong of what a sample counts as; each at most once. */
static unsigned judged(struct rig *r, const struct sample *s)
{
    const struct sink *sink = rig_task(r)->state;
    uint64_t before[N_WRONG] = {0};
    unsigned wrong = 0;

    if (sink->flows.n > 0)
        memcpy(before, sink->flows.flow[0].wrong, sizeof(before));
    CU_ASSERT_STRING_EQUAL(rig_fate(r, mbuf_from_bytes(s->b, s->len, CPE0)), "consumed");
    for (unsigned k = 0; k < N_WRONG; k++) {
        CU_ASSERT(sink->flows.flow[0].wrong[k] <= before[k] + 1);
        wrong |= (unsigned)(sink->flows.flow[0].wrong[k] - before[k]) << k;
    }
    return wrong;
}

/* What the change of one bit counts as, for every bit of the headers. ranges: first byte, last
 * byte, bits in them, kind; all others do not count. */
struct range {
    unsigned first, last;
    uint8_t bits;
    unsigned kind;
};

static void check_bits(struct rig *r, uint32_t user, const struct range *ranges, unsigned n)
{
    const struct sample right = sample(user, 0);

    for (unsigned bit = 0; bit < right.stamp_at * 8; bit++) {
        struct sample s = right;
        unsigned kind = 0, found;
        const uint8_t mask = (uint8_t)(0x80 >> bit % 8);

        s.b[bit / 8] ^= mask;
        for (unsigned i = 0; i < n; i++)
            if (bit / 8 >= ranges[i].first && bit / 8 <= ranges[i].last && ranges[i].bits & mask)
                kind = ranges[i].kind;
        found = judged(r, &s);
        if (found != kind) {
            printf("byte %u, bits %#x: %#x instead of %#x\n", bit / 8, mask, found, kind);
            CU_FAIL("a bit counts as something else");
        }
    }
}

static void core_bits(void)
{
    static const struct range ranges[] = {
        {12, 13, 0xff, TAGS},                              /* EtherType */
        {14, 15, 0xff, OTHER},                             /* label */
        {16, 16, 0xf1, OTHER},                             /* label, bottom of stack */
        {18, 18, 0xff, OTHER},                             /* version, header length */
        {19, 19, 0xfc, DSCP},       {27, 27, 0xff, OTHER}, /* protocol */
        {30, 37, 0xff, OTHER},                             /* tunnel */
        {38, 41, 0xff, OTHER},                             /* GRE */
        {42, 45, 0xff, KEY},        {46, 46, 0xff, OTHER}, {47, 47, 0xfc, DSCP},
        {55, 55, 0xff, OTHER},      {58, 61, 0xff, 0},     /* varies with host */
        {62, 65, 0xff, SUBSCRIBER}, {66, 69, 0xff, OTHER}, /* ports */
    };
    struct rig *r = open_with(CORE);

    for (uint32_t user = 100; user < 65536; user += 20021)
        check_bits(r, user, ranges, RTE_DIM(ranges));
    rig_close(r);
}

/* A tunnel of IPv6, whose flow label nobody foretells; that of a packet is kept. */
static void over6_bits(void)
{
    static const struct range ranges[] = {
        {12, 13, 0xff, TAGS},  {14, 14, 0xf0, OTHER},                         /* version */
        {14, 14, 0x0f, DSCP},  {15, 15, 0xc0, DSCP},   {20, 20, 0xff, OTHER}, /* next header */
        {22, 53, 0xff, OTHER},                                                /* tunnel */
        {54, 57, 0xff, OTHER}, {58, 61, 0xff, KEY},                           /* GRE */
        {62, 62, 0xf0, OTHER}, {62, 62, 0x0f, DSCP},   {63, 63, 0xc0, DSCP},
        {63, 63, 0x0f, OTHER}, {64, 65, 0xff, OTHER}, /* flow label */
        {68, 68, 0xff, OTHER}, {70, 101, 0xff, OTHER}, {102, 105, 0xff, OTHER},
    };
    struct rig *r = open_with("var user 100-65535 random\n"
                              "ether src 02:dd:00:00:00:00 dst 02:b0:00:00:01:00\n"
                              "ipv6 src 2001:db8::1 dst 2001:db8::2 dscp 46\n"
                              "gre key user\n"
                              "ipv6 src 2001:db8::3 dst 2001:db8::4 dscp 46 label 0x12345\n"
                              "udp src 2048 dst 1024\n");

    for (uint32_t user = 100; user < 65536; user += 20021)
        check_bits(r, user, ranges, RTE_DIM(ranges));
    rig_close(r);
}

static void access_bits(void)
{
    static const struct range ranges[] = {
        {2, 5, 0xff, SUBSCRIBER}, /* the destination MAC varies with user */
        {12, 13, 0xff, TAGS},     {14, 14, 0x0f, TAGS},  {15, 15, 0xff, TAGS},
        {16, 17, 0xff, TAGS},     {18, 18, 0x0f, TAGS},  {19, 19, 0xff, TAGS},
        {20, 21, 0xff, TAGS},     {22, 22, 0xff, OTHER}, {23, 23, 0xfc, DSCP},
        {31, 31, 0xff, OTHER},    {34, 37, 0xff, OTHER}, {38, 41, 0xff, SUBSCRIBER},
        {42, 45, 0xff, OTHER},
    };
    struct rig *r = open_with(ACCESS);

    for (uint32_t user = 0; user < 32768; user += 10007)
        check_bits(r, user, ranges, RTE_DIM(ranges));
    rig_close(r);
}

/* A session counts as the key that names the subscriber; the length of what is in it does not. */
static void pppoe_bits(void)
{
    static const struct range ranges[] = {
        {2, 5, 0xff, SUBSCRIBER}, {12, 13, 0xff, TAGS},       {14, 15, 0xff, OTHER},
        {16, 17, 0xff, KEY},      {20, 21, 0xff, TAGS}, /* PPP's protocol */
        {22, 22, 0xff, OTHER},    {23, 23, 0xfc, DSCP},       {31, 31, 0xff, OTHER},
        {34, 37, 0xff, OTHER},    {38, 41, 0xff, SUBSCRIBER}, {42, 45, 0xff, OTHER},
    };
    struct rig *r = open_with("var user 0-32767 random\n"
                              "ether src 02:b0:00:00:00:00 dst 02:c0:00:00:00:00 + user\n"
                              "pppoe session 1 + user\n"
                              "ipv4 src 198.18.0.0 dst 10.0.0.0 + user\nudp src 2048 dst 1024\n");

    for (uint32_t user = 0; user < 32768; user += 10007)
        check_bits(r, user, ranges, RTE_DIM(ranges));
    rig_close(r);
}

static void right_ones(void)
{
    struct rig *r = open_with(ACCESS);
    struct sample s;

    for (uint32_t user = 0; user < 32768; user += 11) {
        s = sample(user, user % 4);
        CU_ASSERT_EQUAL(judged(r, &s), 0);
    }
    rig_close(r);
    r = open_with(CORE);
    for (uint32_t user = 100; user < 65536; user += 7) {
        s = sample(user, user % 256);
        CU_ASSERT_EQUAL(judged(r, &s), 0);
    }
    rig_close(r);
}

/* A field that lies in two words, of which the second has only its last bits. */
static void across_words(void)
{
    struct rig *r = open_with("var user 0-1048575 random\n"
                              "ether src 02:dd:00:00:00:00 dst 02:b0:00:00:01:00\n"
                              "mpls label user\nmpls label 7\n"
                              "ipv4 src 10.0.0.1 dst 10.0.0.2\nudp src 1 dst 2\n");
    struct sample s;

    for (uint32_t user = 1; user < 1048576; user = user * 3 + 1) {
        s = sample(user, 0);
        CU_ASSERT_EQUAL(judged(r, &s), 0);
        s.b[16] ^= 0x10;
        CU_ASSERT_EQUAL(judged(r, &s), OTHER);
    }
    rig_close(r);
}

/* Another user's frame: all that says who he is is wrong. */
static void mixed_up(void)
{
    struct rig *r = open_with(ACCESS);
    struct sample s = sample(1000, 0), other = sample(2000, 0);

    memcpy(s.b, other.b, s.stamp_at);
    CU_ASSERT_EQUAL(judged(r, &s), SUBSCRIBER | TAGS);
    rig_close(r);
    r = open_with(CORE);
    s = sample(1000, 0);
    other = sample(2000, 0);
    memcpy(s.b, other.b, s.stamp_at);
    CU_ASSERT_EQUAL(judged(r, &s), SUBSCRIBER | KEY);
    s = sample(99, 0); /* he does not belong here, whatever the frame says */
    CU_ASSERT_EQUAL(judged(r, &s), SUBSCRIBER);
    s = sample(70000, 0);
    CU_ASSERT_EQUAL(judged(r, &s), SUBSCRIBER);
    rig_close(r);
}

/* Take n bytes away at a place, or put zeros there. */
static void move(struct sample *s, uint32_t at, int n)
{
    if (n < 0)
        memmove(s->b + at, s->b + at - n, s->len - at + (uint32_t)n);
    else
        memmove(s->b + at + n, s->b + at, s->len - at);
    if (n > 0)
        memset(s->b + at, 0, (size_t)n);
    s->len += (uint32_t)n;
}

static void other_form(void)
{
    struct rig *r = open_with(ACCESS);
    struct sample s = sample(7, 0);

    mbuf_guard(0);    /* it compares nothing behind the end */
    move(&s, 12, -4); /* without the outer tag */
    CU_ASSERT_EQUAL(judged(r, &s), TAGS);
    s = sample(7, 0);
    move(&s, 16, -4); /* without the inner one */
    CU_ASSERT_EQUAL(judged(r, &s), TAGS);
    s = sample(7, 0);
    move(&s, 12, 4); /* one more */
    s.b[12] = 0x81;
    CU_ASSERT_EQUAL(judged(r, &s), TAGS);
    s = sample(7, 0);
    move(&s, 12, -8); /* untagged */
    CU_ASSERT_EQUAL(judged(r, &s), TAGS);
    s = sample(7, 0);
    move(&s, 0, -36); /* cut off: less than the headers is left before the stamp */
    CU_ASSERT_EQUAL(judged(r, &s), TAGS);
    rig_close(r);
    r = open_with(CORE);
    s = sample(200, 0);
    move(&s, 42, -4); /* GRE without a key */
    CU_ASSERT_EQUAL(judged(r, &s), OTHER);
    s = sample(200, 0);
    move(&s, 74, 4); /* something between headers and stamp */
    CU_ASSERT_EQUAL(judged(r, &s), OTHER);
    rig_close(r);
}

/* A stamp that names no user cannot be compared with a template that needs one. */
static void no_user(void)
{
    struct rig *r = open_with(ACCESS);
    const struct sink *sink = rig_task(r)->state;
    struct sample s = sample(STAMP_NO_USER, 0);

    CU_ASSERT_EQUAL(judged(r, &s), 0);
    CU_ASSERT_EQUAL(sink->unchecked, 1);
    rig_close(r);
    r = open_with("ether src 02:b0:00:00:00:00 dst 02:c0:00:00:00:00\nvlan id 5\n"
                  "ipv4 src 10.0.0.1 dst 10.0.0.2\nudp src 1 dst 2\n");
    sink = rig_task(r)->state;
    s = sample(STAMP_NO_USER, 0);
    CU_ASSERT_EQUAL(judged(r, &s), 0);
    s.b[15] ^= 1;
    CU_ASSERT_EQUAL(judged(r, &s), TAGS);
    CU_ASSERT_EQUAL(sink->unchecked, 0);
    rig_close(r);
}

static int open_expect(void)
{
    int fd = mkstemp(path);

    return fd < 0 || close(fd) != 0 ? EXIT_FAILURE : harness_open();
}

static int close_expect(void)
{
    unlink(path);
    return harness_close();
}

static const struct test tests[] = {
    {"every bit of a core frame", core_bits},
    {"each bit of a tunnel of IPv6", over6_bits},
    {"each bit of a PPPoE session", pppoe_bits},
    {"every bit of an access frame", access_bits},
    {"right ones", right_ones},
    {"a field across words", across_words},
    {"mixed up", mixed_up},
    {"another form", other_form},
    {"no user", no_user},
    {NULL, NULL},
};

const struct test_program test_program = {"sink with expect", tests, open_expect, close_expect};
