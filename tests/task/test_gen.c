/* SPDX-License-Identifier: BSD-3-Clause */
/* gen: every byte of what it makes, and the ranges of its variables. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "gen_bed.h"
#include "tasks/task_types.h"

/* Poll until there are at least n packets; time moves on as fast as needed. */
static void make(struct rig *r, unsigned n)
{
    static uint64_t now;

    for (unsigned i = 0; rig_captured(r, "to") < n; i++) {
        CU_ASSERT_FATAL(i < 1000000);
        now += rte_get_tsc_hz() / 10000;
        rig_poll(r, now);
    }
}

static const uint8_t *data(struct rig *r, unsigned i)
{
    return rte_pktmbuf_mtod(rig_out(r, "to", 0, i), const uint8_t *);
}

static void put(uint8_t *at, unsigned size, uint32_t v)
{
    for (unsigned i = size; i-- > 0; v >>= 8)
        at[i] = (uint8_t)v;
}

/* The header's checksum, slowly (RFC 1071). */
static uint16_t sum_header(const uint8_t *ip)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < 20; i += 2)
        sum += i == 10 ? 0 : be(ip + i, 2);
    sum = (sum >> 16) + (sum & 0xffff);
    return (uint16_t) ~(sum + (sum >> 16));
}

static const char upstream[] = "var user 0-32767 step 1\n"
                               "var dest 0-131071 step 16\n"
                               "ether src 02:c0:00:00:00:00 + user dst 02:b0:00:00:00:00\n"
                               "vlan tpid 0x88a8 id 128 + user[14:8] pcp 5\n"
                               "vlan id 256 + user[7:0]\n"
                               "ipv4 src 10.0.0.0 + user dst 198.18.0.0 + dest dscp 46\n"
                               "udp src 1024 dst 2048\n";

static void bytes_upstream(void)
{
    struct rig *r = open_gen(upstream, "");
    uint8_t want[60] = {0x02, 0xb0, 0,  0, 0, 0, 0x02, 0xc0, 0, 0,  0, 0, 0x88, 0xa8, 0xa0, 0x80,
                        0x81, 0,    1,  0, 8, 0, 0x45, 0xb8, 0, 28, 0, 0, 0,    0,    64,   17,
                        0xaa, 0x07, 10, 0, 0, 0, 198,  18,   0, 0,  4, 0, 8,    0,    0,    8};
    unsigned total = 0;

    for (unsigned round = 0; round < 40; round++) {
        unsigned n;

        make(r, 1000);
        n = rig_captured(r, "to");
        for (unsigned i = 0; i < n; i++) {
            unsigned user = (total + i) % 32768, dest = (total + i) % 8192 * 16;

            put(want + 8, 4, user);
            put(want + 14, 2, 0xa000 | (128 + user / 256));
            put(want + 18, 2, 256 + user % 256);
            put(want + 34, 4, 0x0a000000 + user);
            put(want + 38, 4, 0xc6120000 + dest);
            if (total + i > 0) /* the first against the literal checksum above */
                put(want + 32, 2, sum_header(want + 22));
            if (!mbuf_is(rig_out(r, "to", 0, i), want, sizeof(want)))
                CU_FAIL_FATAL("wrong frame");
        }
        total += n;
        rig_clear(r);
    }
    rig_close(r);
}

/* One field of each kind and place: what it must hold when every variable is v. */
static const struct {
    const char *layer, *field;
    unsigned offset, size, lshift, width;
} places[] = {
    {"mpls", "label", 14, 4, 12, 20},    {"mpls", "exp", 16, 1, 1, 3},
    {"mpls", "ttl", 17, 1, 0, 8},        {"outer", "dscp", 19, 1, 2, 6},
    {"outer", "ecn", 19, 1, 0, 2},       {"outer", "id", 22, 2, 0, 16},
    {"outer", "ttl", 26, 1, 0, 8},       {"outer", "df", 24, 2, 14, 1},
    {"outer", "src", 30, 4, 0, 32},      {"gre", "key", 42, 4, 0, 32},
    {"inner", "fragment", 52, 2, 0, 13}, {"inner", "proto", 55, 1, 0, 8},
    {"inner", "dst", 62, 4, 0, 32},      {"udp", "src", 66, 2, 0, 16},

};

static void all_places(void)
{
    struct rig *r =
        open_gen("var a 0-1 step 1\nvar v 0-4294967295 random\n"
                 "ether src 02:00:00:00:00:00 + v dst 02:00:00:00:00:00\n"
                 "mpls exp v[2:0] ttl v[7:0] label v[19:0]\n"
                 "ipv4 ecn v[1:0] dscp v[5:0] id v[15:0] ttl v[7:0] df v[0:0] src v dst 9.9.9.9\n"
                 "gre key v\n"
                 "ipv4 fragment v[12:0] proto v[7:0] dst v src 1.2.3.4 + a\n"
                 "udp src v[15:0] dst 2\n",
                 "");
    unsigned n;

    make(r, 1000);
    n = rig_captured(r, "to");
    for (unsigned i = 0; i < n; i++) {
        const uint8_t *d = data(r, i);
        uint32_t v = be(d + 8, 4);

        CU_ASSERT_EQUAL(rig_out(r, "to", 0, i)->data_len, 74);
        for (unsigned k = 0; k < RTE_DIM(places); k++) {
            uint64_t mask = (1ull << places[k].width) - 1;

            if ((be(d + places[k].offset, places[k].size) >> places[k].lshift & mask) !=
                (v & mask)) {
                printf("\n    %s %s is wrong\n", places[k].layer, places[k].field);
                CU_FAIL_FATAL("wrong field");
            }
        }
        CU_ASSERT_EQUAL(be(d, 6 - 2), 0x02000000);
        CU_ASSERT_EQUAL(be(d + 16, 1) & 1, 1);              /* bottom of stack */
        CU_ASSERT_EQUAL(be(d + 20, 2), 56);                 /* lengths are as they were */
        CU_ASSERT_EQUAL(be(d + 58, 4), 0x01020304 + i % 2); /* the inner source */
        CU_ASSERT_EQUAL(be(d + 28, 2), sum_header(d + 18));
        CU_ASSERT_EQUAL(be(d + 56, 2), sum_header(d + 46));
    }
    rig_close(r);
}

/* --- variables --- */

static void random_range(void)
{
    struct rig *r = open_gen("var a 100-227 random\nvar b 100-227 random\n"
                             "ether src 02:00:00:00:00:01 dst 02:00:00:00:00:02\n"
                             "ipv4 src 0.0.0.0 + a dst 0.0.0.0 + b\nudp src 1 dst 2\n",
                             "");
    unsigned seen[2][256] = {0}, n = 0, equal = 0;

    while (n < 128 * 200) {
        make(r, 1000);
        for (unsigned i = 0; i < rig_captured(r, "to"); i++, n++) {
            uint32_t a = be(data(r, i) + 26, 4), b = be(data(r, i) + 30, 4);

            CU_ASSERT_FATAL(a >= 100 && a <= 227 && b >= 100 && b <= 227);
            seen[0][a]++;
            seen[1][b]++;
            equal += a == b;
        }
        rig_clear(r);
    }
    /* 200 expected of each, standard deviation 14; and the two are independent. */
    for (unsigned v = 100; v <= 227; v++)
        CU_ASSERT(seen[0][v] > 120 && seen[0][v] < 280 && seen[1][v] > 120 && seen[1][v] < 280);
    CU_ASSERT(equal > 100 && equal < 300);
    rig_close(r);
}

static void seeds(void)
{
    static const char text[] =
        "var v 0-4294967295 random\n" ETHER "ipv4 src v dst 1.1.1.1\nudp src 1 dst 2\n";
    static const char *const params[] = {"seed=1", "", "seed=2"};
    uint32_t first[3];

    for (unsigned i = 0; i < 3; i++) {
        struct rig *r = open_gen(text, params[i]);

        make(r, 2);
        first[i] = be(data(r, 1) + 26, 4);
        rig_close(r);
    }
    CU_ASSERT_EQUAL(first[0], first[1]);
    CU_ASSERT_NOT_EQUAL(first[0], first[2]);
}

static void steps_go_round(void)
{
    struct rig *r = open_gen("var a 5-11 step 3\nvar b 0-4294967295 step 4294967295\n"
                             "var c 9 step 1\n"
                             "ether src 02:00:00:00:00:01 dst 02:00:00:00:00:02\n"
                             "ipv4 src 0.0.0.0 + a dst 0.0.0.0 + b\nudp src c dst 2\n",
                             "");

    make(r, 100);
    for (unsigned i = 0; i < 100; i++) {
        CU_ASSERT_EQUAL(be(data(r, i) + 26, 4), 5 + 3 * i % 7);
        CU_ASSERT_EQUAL(be(data(r, i) + 30, 4), 0u - i);
        CU_ASSERT_EQUAL(be(data(r, i) + 34, 2), 9);
    }
    rig_close(r);
}

/* --- mbufs --- */

/* Whatever the last user left in an mbuf is gone. */
static void stale_mbufs(void)
{
    struct rte_mbuf *m[RIG_MBUFS];
    struct rig *r;

    CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_alloc_bulk(harness_pool, m, RIG_MBUFS), 0);
    for (unsigned i = 0; i < RIG_MBUFS; i++) {
        m[i]->data_off = (uint16_t)(i % 1000);
        m[i]->ol_flags = RTE_MBUF_F_TX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
        m[i]->packet_type = 77;
        m[i]->vlan_tci = 77;
        m[i]->vlan_tci_outer = 77;
        m[i]->port = 77;
        memset(m[i]->buf_addr, 0xee, m[i]->buf_len);
    }
    for (unsigned i = 0; i + 1 < RIG_MBUFS; i += 2)
        rte_pktmbuf_chain(m[i], m[i + 1]);
    for (unsigned i = 0; i < RIG_MBUFS; i += 2)
        rte_pktmbuf_free(m[i]);
    r = open_gen(PLAIN, "");
    make(r, 1900);
    for (unsigned i = 0; i < rig_captured(r, "to"); i++) {
        const struct rte_mbuf *o = rig_out(r, "to", 0, i);

        CU_ASSERT_EQUAL(o->data_off, RTE_PKTMBUF_HEADROOM);
        CU_ASSERT_EQUAL(o->data_len, 60);
        CU_ASSERT_EQUAL(o->pkt_len, 60);
        CU_ASSERT_EQUAL(o->nb_segs, 1);
        CU_ASSERT_PTR_NULL(o->next);
        CU_ASSERT_EQUAL(rte_mbuf_refcnt_read(o), 1);
        CU_ASSERT_EQUAL(o->ol_flags, 0);
        CU_ASSERT_EQUAL(meta_subscriber(o), 0);
        CU_ASSERT_EQUAL(meta_nexthop(o), 0);
        CU_ASSERT_EQUAL(meta_out_port(o), 0);
        CU_ASSERT_EQUAL(o->port, 0);
        CU_ASSERT_EQUAL(be(data(r, i) + 56, 4), 0); /* padding is zero */
    }
    rig_close(r);
}

static void empty_pool(void)
{
    struct rte_mbuf *m[RIG_MBUFS];
    struct rig *r = open_gen(PLAIN, "rate=1Mpps count=100");
    uint64_t hz = rte_get_tsc_hz(), now = 1;

    CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_alloc_bulk(harness_pool, m, RIG_MBUFS), 0);
    for (unsigned i = 0; i < 1000; i++, now += hz / 1000000)
        CU_ASSERT_EQUAL(rig_poll(r, now), 0);
    CU_ASSERT_EQUAL(rig_task(r)->created, 0);
    CU_ASSERT(!rig_task(r)->finished);
    CU_ASSERT_STRING_EQUAL(task_gen.stat_names[0], "no_mbuf");
    CU_ASSERT(task_gen.stat(rig_task(r), 0) >= 960 && task_gen.stat(rig_task(r), 0) <= 1056);
    rte_pktmbuf_free_bulk(m, RIG_MBUFS);
    for (unsigned i = 0; i < 1000; i++, now += hz / 1000000)
        rig_poll(r, now);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 100);
    CU_ASSERT(rig_task(r)->finished);
    rig_close(r);
}

/* --- frames that are still there --- */

/* Overwrite what all mbufs bear; as_new: what they say of it, too. */
static void fill_pool(uint8_t byte, bool as_new)
{
    struct rte_mbuf *m[RIG_MBUFS];

    CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_alloc_bulk(harness_pool, m, RIG_MBUFS), 0);
    for (unsigned i = 0; i < RIG_MBUFS; i++)
        memset(rte_pktmbuf_mtod(m[i], void *), byte, 1600);
    for (unsigned i = 0; as_new && i < RIG_MBUFS; i++)
        memset(&m[i]->hash, 0, sizeof(m[i]->hash));
    rte_pktmbuf_free_bulk(m, RIG_MBUFS);
}

/* The first `n` packets, one after the other. */
static void make_and_copy(struct rig *r, unsigned n, uint8_t (*copy)[1600], uint16_t *len)
{
    for (unsigned done = 0; done < n;) {
        make(r, 1);
        for (unsigned i = 0; i < rig_captured(r, "to") && done < n; i++, done++) {
            len[done] = rig_out(r, "to", 0, i)->data_len;
            memcpy(copy[done], data(r, i), len[done]);
        }
        rig_clear(r);
    }
}

/* Of frames that stay in their mbufs all bytes are those that are made where none does: several
 * sizes, fields, checksums and stamps. */
static void kept_frames(void)
{
    enum { N = 8192 };
    static uint8_t want[N][1600], got[N][1600];
    static uint16_t want_len[N], got_len[N];
    static const char *const texts[] = {upstream, PLAIN "payload a1 b2 c3\n"};
    static const char *const rest[] = {"rate=1Mpps", "rate=1Mpps size=1024", "rate=1Mpps size=imix",
                                       "rate=1Mpps size=512 stamp=true"};

    for (unsigned k = 0; k < RTE_DIM(texts) * RTE_DIM(rest); k++) {
        const char *text = texts[k % 2], *more = rest[k / 2];
        const unsigned stamp = k / 2 == 3 ? (k % 2 == 0 ? 50 : 42) + 16 : 0; /* its TSC */
        struct rig *r;

        rig_keeps_frames = false;
        r = open_gen(text, more);
        make_and_copy(r, N, want, want_len);
        rig_close(r);
        fill_pool(0x77, true);
        rig_keeps_frames = true;
        r = open_gen(text, more);
        make_and_copy(r, N, got, got_len);
        rig_close(r);
        rig_keeps_frames = false;
        for (unsigned i = 0; i < N; i++) {
            if (stamp != 0)
                memcpy(got[i] + stamp, want[i] + stamp, 8);
            if (got_len[i] != want_len[i] || memcmp(got[i], want[i], want_len[i]) != 0)
                CU_FAIL_FATAL("wrong frame");
        }
    }
}

/* How many bytes of a frame are left as they were when all of it has been overwritten behind the
 * back of the gen. */
static unsigned left_of(bool keeps)
{
    unsigned left = 0;
    struct rig *r;

    rig_keeps_frames = keeps;
    r = open_gen("var v 0-255 random\n" ETHER
                 "ipv4 src 1.1.1.1 dst 2.2.2.0 + v\nudp src 1 dst 2\npayload a1\n",
                 "rate=1Mpps size=1024");
    for (unsigned i = 0; i < 3 * RIG_MBUFS; i++) {
        make(r, 1);
        rig_clear(r);
    }
    fill_pool(0x77, false);
    make(r, 1);
    for (unsigned i = 0; i < 1020; i++)
        left += data(r, 0)[i] == 0x77;
    rig_close(r);
    rig_keeps_frames = false;
    return left;
}

/* Where others may have written into a frame all of it is written, else only what varies. */
static void rewritten_bytes(void)
{
    CU_ASSERT_EQUAL(left_of(false), 0);
    CU_ASSERT(left_of(true) >= 1020 - 4 - 2 && left_of(true) <= 1020 - 4 - 2 + 2);
}

/* --- templates --- */

/* 1000 frames as a pcap of this machine's byte order: lengths 1 to 1000, all bytes alike. */
static void write_pcap(unsigned frames)
{
    uint32_t head[6] = {0xa1b2c3d4, 4u << 16 | 2, 0, 0, 65535, 1}, each[4] = {0};
    uint8_t bytes[2048];
    FILE *f = fopen(gen_path, "wb");

    fwrite(head, sizeof(head), 1, f);
    for (unsigned len = 1; len <= frames; len++) {
        memset(bytes, (int)(len & 0xff), len);
        each[2] = each[3] = len;
        fwrite(each, sizeof(each), 1, f);
        fwrite(bytes, len, 1, f);
    }
    fclose(f);
}

static void pcap_in_turn(void)
{
    char params[128];
    struct rig *r;

    write_pcap(500);
    snprintf(params, sizeof(params), "template=%s rate=1Mpps", gen_path);
    r = rig_open(&task_gen, params, "to");
    make(r, 1200);
    for (unsigned i = 0; i < 1200; i++) {
        const struct rte_mbuf *m = rig_out(r, "to", 0, i);
        unsigned len = i % 500 + 1;

        CU_ASSERT_EQUAL(m->data_len, len);
        CU_ASSERT_EQUAL(data(r, i)[0], len & 0xff);
        CU_ASSERT_EQUAL(data(r, i)[len - 1], len & 0xff);
    }
    rig_close(r);
    /* 100% of 10 Gbit/s: the mean frame has 250.5 bytes, and 24 more on the line */
    snprintf(params, sizeof(params), "template=%s", gen_path);
    r = rig_open(&task_gen, params, "to");
    CU_ASSERT_DOUBLE_EQUAL((double)made(r, rte_get_tsc_hz() / 100, 700), 45537, 64);
    rig_close(r);
}

static void sizes(void)
{
    static const unsigned size[] = {64, 65, 128, 260, 261, 512, 1518, 1982};

    for (unsigned i = 0; i < RTE_DIM(size); i++) {
        char params[64];
        struct rig *r;

        snprintf(params, sizeof(params), "size=%u", size[i]);
        r = open_gen("size 256\n" PLAIN "payload a1 b2 c3\n", params);
        make(r, 64);
        for (unsigned k = 0; k < 64; k++) {
            const uint8_t *d = data(r, k);
            static const uint8_t pattern[3] = {0xa1, 0xb2, 0xc3};

            CU_ASSERT_EQUAL(rig_out(r, "to", 0, k)->data_len, size[i] - 4);
            for (unsigned b = 42; b < size[i] - 4; b++)
                if (d[b] != (size[i] == 64 ? 0 : pattern[(b - 42) % 3]))
                    CU_FAIL_FATAL("wrong payload");
        }
        rig_close(r);
    }
}

static void init_errors(void)
{
    int rc;

    CU_ASSERT_PTR_NULL(rig_try(&task_gen, "rate=1pps", "to", &rc));
    CU_ASSERT_EQUAL(rc, -EINVAL);
    /* to no port */
    CU_ASSERT_PTR_NULL(rig_try(&task_gen, with_template(PLAIN, "rate=10%"), "", &rc));
    CU_ASSERT_EQUAL(rc, -EINVAL);
    CU_ASSERT_PTR_NULL(rig_try(&task_gen, with_template(PLAIN, "rate=0.0001pps"), "to", &rc));
    CU_ASSERT_EQUAL(rc, -EINVAL);
    CU_ASSERT_PTR_NULL(
        rig_try(&task_gen, with_template(PLAIN, "rate=0.01pps train=1000000"), "to", &rc));
    CU_ASSERT_EQUAL(rc, -EINVAL);
    /* too small for the layers; a frame that no mbuf holds */
    CU_ASSERT_PTR_NULL(rig_try(
        &task_gen,
        with_template(ETHER "ipv4 src 1.1.1.1 dst 1.1.1.1\ngre\nipv4 src 1.1.1.1 dst 1.1.1.1\n"
                            "udp src 1 dst 2\n",
                      "rate=1pps size=64"),
        "to", &rc));
    CU_ASSERT_EQUAL(rc, -EINVAL);
    CU_ASSERT_PTR_NULL(rig_try(&task_gen, with_template(PLAIN, "rate=1pps size=9000"), "to", &rc));
    CU_ASSERT_EQUAL(rc, -EINVAL);
}

static const struct test tests[] = {
    {"bytes of an upstream stream", bytes_upstream},
    {"fields in all places", all_places},
    {"random ranges", random_range},
    {"seeds", seeds},
    {"steps go round", steps_go_round},
    {"stale mbufs", stale_mbufs},
    {"empty pool", empty_pool},
    {"frames that are still there", kept_frames},
    {"bytes that are written again", rewritten_bytes},
    {"pcap in turn", pcap_in_turn},
    {"sizes", sizes},
    {"what it cannot do", init_errors},
    {NULL, NULL},
};

const struct test_program test_program = {"gen", tests, gen_open, gen_close};
