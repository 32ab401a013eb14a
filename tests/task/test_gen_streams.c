/* SPDX-License-Identifier: BSD-3-Clause */
/* gen with several streams, as a configuration says them: shares, mixes of sizes, times, stamps,
 * changes, and what it reports. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "harness.h"
#include "packet/stamp.h"
#include "base/json.h"
#include "tester/gen.h"
#include "tasks/task_types.h"

#define MAX_STREAMS 4

static char dir[] = "/tmp/vbng-streams-XXXXXX";
static struct cfg_model *model;

static const char template[] = "var user 0-32767 step 1\n"
                               "ether src 02:c0:00:00:00:00 dst 02:b0:00:00:00:00\n"
                               "vlan tpid 0x88a8 id 128 + user[14:8]\nvlan id 256 + user[7:0]\n"
                               "ipv4 src 10.0.0.0 + user dst 198.18.0.1\nudp src 7 dst 2048\n";

static void put_file(const char *name, const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(text, f);
    fclose(f);
}

/* A gen with this text in its group, and a second one before it. */
static struct rig *try_streams(int *rc, const char *text)
{
    static const struct task_schema *schemas[] = {&task_gen.schema, &task_sink.schema, NULL};
    struct config_options options = {.schemas = schemas};
    struct diags diags = {0};
    char config[4096], path[128];

    put_file("t.tmpl", template);
    snprintf(config, sizeof(config),
             "ports = ( { name = \"p\"; device = \"net_null0\"; } );\n"
             "tasks = ( { name = \"other\"; type = \"gen\"; template = \"t.tmpl\"; to = \"p\"; },\n"
             "  { name = \"g\"; type = \"gen\"; to = \"p\"; template = \"t.tmpl\"; %s } );\n"
             "topology = \"1x1x1\"; layout = ( { core = \"0\"; tasks = [\"other\", \"g\"]; } );\n",
             text);
    put_file("c.cfg", config);
    snprintf(path, sizeof(path), "%s/c.cfg", dir);
    config_free(model);
    model = config_load(path, &options, &diags);
    diag_print(&diags, stderr);
    diag_free(&diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(model);
    return rig_try_task(&task_gen, model, 1, "to", rc);
}

static struct rig *open_streams(const char *text)
{
    int rc;
    struct rig *r = try_streams(&rc, text);

    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    return r;
}

static const uint8_t *data(struct rig *r, unsigned i)
{
    return rte_pktmbuf_mtod(rig_out(r, "to", 0, i), const uint8_t *);
}

static uint32_t be(const uint8_t *at, unsigned size)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < size; i++)
        v = v << 8 | at[i];
    return v;
}

/* What has come, by the frames' sizes with FCS: 60, 61 ... + i is stream i of these tests. */
struct tally {
    uint64_t packets[MAX_STREAMS], bytes;
};

static void count(struct rig *r, struct tally *to)
{
    for (unsigned i = 0; i < rig_captured(r, "to"); i++) {
        unsigned size = rig_out(r, "to", 0, i)->pkt_len + 4u;

        to->packets[size % 10 % MAX_STREAMS]++;
        to->bytes += size + 20;
    }
    rig_clear(r);
}

/* Poll for some seconds of made-up time. */
static struct tally run(struct rig *r, uint64_t *now, double seconds)
{
    uint64_t end = *now + (uint64_t)(seconds * (double)rte_get_tsc_hz());
    struct tally tally = {0};

    for (; *now < end; *now += 2000) {
        if (rig_poll(r, *now) > 0)
            count(r, &tally);
    }
    return tally;
}

/* --- rates --- */

static void weights(void)
{
    struct rig *r = open_streams("rate = \"800kpps\"; streams = ( { size = 100; },"
                                 "{ size = 101; weight = 2; }, { size = 102; weight = 5; } );");
    uint64_t now = 1;
    struct tally t = run(r, &now, 1);

    CU_ASSERT_DOUBLE_EQUAL((double)t.packets[0], 100000, 33);
    CU_ASSERT_DOUBLE_EQUAL((double)t.packets[1], 200000, 33);
    CU_ASSERT_DOUBLE_EQUAL((double)t.packets[2], 500000, 33);
    rig_close(r);
}

/* Shares are of packets, also where the rate is in bits; a rate of its own comes on top. */
static void bits(void)
{
    struct rig *r = open_streams("rate = \"1Gbit/s\"; streams = ( { size = 100; weight = 3; },"
                                 "{ size = 1501; }, { size = 102; rate = \"10kpps\"; } );");
    uint64_t now = 1;
    struct tally t = run(r, &now, 0.5);

    CU_ASSERT_DOUBLE_EQUAL((double)t.packets[0] / (double)t.packets[1], 3, 0.003);
    CU_ASSERT_DOUBLE_EQUAL((double)t.packets[2], 5000, 10);
    CU_ASSERT_DOUBLE_EQUAL((double)(t.bytes - t.packets[2] * 122) * 8, 5e8, 5e5);
    rig_close(r);
    r = open_streams("rate = \"100%\"; size = \"imix\";");
    now = 1;
    t = run(r, &now, 0.02);
    CU_ASSERT_DOUBLE_EQUAL((double)t.bytes * 8, 2e8, 2e5);
    rig_close(r);
}

static void poisson(void)
{
    struct rig *r = open_streams("rate = \"2Mpps\"; pace = \"poisson\"; streams = ("
                                 "{ size = 100; }, { size = 101; } );");
    uint64_t now = 1;
    struct tally t = run(r, &now, 1);

    CU_ASSERT_DOUBLE_EQUAL((double)t.packets[0], 1e6, 4000); /* four standard deviations */
    CU_ASSERT_DOUBLE_EQUAL((double)t.packets[1], 1e6, 4000);
    CU_ASSERT_NOT_EQUAL(t.packets[0], t.packets[1]);
    rig_close(r);
}

/* --- frames --- */

static uint16_t sum_header(const uint8_t *ip)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < 20; i += 2)
        sum += i == 10 ? 0 : be(ip + i, 2);
    sum = (sum >> 16) + (sum & 0xffff);
    return (uint16_t) ~(sum + (sum >> 16));
}

static void imix(void)
{
    static const unsigned order[] = {64, 594, 64, 64, 594, 64, 1518, 64, 594, 64, 594, 64};
    struct rig *r = open_streams("rate = \"1Mpps\"; size = \"imix\"; count = 1200;");
    uint64_t now = 1;

    for (; !rig_task(r)->finished; now += 3000)
        rig_poll(r, now);
    CU_ASSERT_EQUAL_FATAL(rig_captured(r, "to"), 1200);
    for (unsigned i = 0; i < 1200; i++) {
        unsigned size = order[i % 12], packet = size == 64 ? 28 : size - 26;
        const uint8_t *d = data(r, i);

        CU_ASSERT_EQUAL(rig_out(r, "to", 0, i)->pkt_len, size - 4);
        CU_ASSERT_EQUAL(be(d + 24, 2), packet);
        CU_ASSERT_EQUAL(be(d + 46, 2), packet - 20);
        CU_ASSERT_EQUAL(be(d + 32, 2), sum_header(d + 22));
        CU_ASSERT_EQUAL(be(d + 34, 4), 0x0a000000 + i);
    }
    rig_close(r);
}

static void stamps(void)
{
    struct rig *r = open_streams("rate = \"1Mpps\"; streams = ( { size = \"78:1,1518:2\"; stamp = "
                                 "true; }, { size = 128; name = \"b\"; stamp = true; } );");
    uint32_t seq[MAX_STREAMS] = {0}, hint = STAMP_NONE;
    uint64_t now = 1, before = rte_rdtsc(), after;

    while (rig_captured(r, "to") < 1500) {
        rig_poll(r, now);
        now += 10000;
    }
    after = rte_rdtsc();
    for (unsigned i = 0; i < rig_captured(r, "to"); i++) {
        const struct rte_mbuf *m = rig_out(r, "to", 0, i);
        const uint8_t *d = data(r, i);
        struct stamp s;

        CU_ASSERT_EQUAL_FATAL(stamp_find(d, m->pkt_len, hint), 50); /* the UDP payload */
        hint = 50;
        s = stamp_read(d + 50);
        CU_ASSERT(be(d + 24, 2) >= 28 + STAMP_LEN); /* and a gateway keeps it */
        CU_ASSERT_EQUAL(be(d + 48, 2), 0);          /* UDP: no checksum */
        CU_ASSERT_FATAL(s.stream == 2 || s.stream == 3);
        CU_ASSERT_EQUAL(s.stream == 3, m->pkt_len == 124);
        CU_ASSERT_EQUAL(s.seq, seq[s.stream]++);
        CU_ASSERT_EQUAL(s.instance, 0);
        CU_ASSERT_EQUAL(s.flags, 0);
        CU_ASSERT_EQUAL(s.user, be(d + 34, 4) - 0x0a000000);
        CU_ASSERT_EQUAL(s.user, s.seq);
        CU_ASSERT(s.tsc >= before && s.tsc <= after);
        before = s.tsc;
    }
    CU_ASSERT(seq[2] > 700 && seq[3] > 700);
    rig_close(r);
    CU_ASSERT_STRING_EQUAL(model->tasks[0].items[0].name, "other");
    CU_ASSERT_EQUAL(model->tasks[0].items[0].number, 1);
    CU_ASSERT_STRING_EQUAL(model->tasks[1].items[0].name, "g/1");
    CU_ASSERT_STRING_EQUAL(model->tasks[1].items[1].name, "g/b");
}

/* --- beginnings and ends --- */

static void phases(void)
{
    struct rig *r = open_streams("train = 1; duration = \"10ms\"; streams = ("
                                 "{ size = 100; rate = \"100kpps\"; },"
                                 "{ size = 101; rate = \"200kpps\"; start = \"20ms\"; },"
                                 "{ size = 102; rate = \"50kpps\"; start = \"25ms\"; "
                                 "duration = \"20ms\"; count = 300; } );");
    uint64_t now = 1;
    struct tally t = run(r, &now, 0.015);

    CU_ASSERT_DOUBLE_EQUAL((double)t.packets[0], 1000, 1);
    CU_ASSERT_EQUAL(t.packets[1] + t.packets[2], 0);
    t = run(r, &now, 0.010);
    CU_ASSERT_DOUBLE_EQUAL((double)t.packets[1], 1000, 1);
    CU_ASSERT_EQUAL(t.packets[0], 0);
    CU_ASSERT(!rig_task(r)->finished);
    t = run(r, &now, 0.010);
    CU_ASSERT_DOUBLE_EQUAL((double)t.packets[1], 1000, 1);
    CU_ASSERT_EQUAL(t.packets[2], 300);
    CU_ASSERT(rig_task(r)->finished);
    rig_close(r);
}

static void counts(void)
{
    struct rig *r = open_streams("rate = \"1Mpps\"; count = 1000; streams = ( { size = 100; "
                                 "count = 150; }, { size = 101; }, { size = 102; } );");
    uint64_t now = 1;
    struct tally t = run(r, &now, 0.1);

    CU_ASSERT_EQUAL(t.packets[0], 150);
    CU_ASSERT_EQUAL(t.packets[1] + t.packets[2], 850);
    CU_ASSERT(rig_task(r)->finished);
    rig_close(r);
}

/* --- changes while it runs; their time is the real one --- */

static int change(struct rig *r, enum gen_action action, unsigned stream, double pps)
{
    struct gen_change c = {.action = action, .stream = stream, .load = {LOAD_PPS, pps}};

    return gen_change(rig_task(r), &c);
}

/* Packets of each stream in a tenth of a second from now on. */
static struct tally after_change(struct rig *r)
{
    uint64_t now = rte_rdtsc();

    return run(r, &now, 0.1);
}

static void changes(void)
{
    struct rig *r = open_streams("rate = \"100kpps\"; streams = ( { size = 100; count = 10; },"
                                 "{ size = 101; rate = \"50kpps\"; } );");
    struct tally t;

    CU_ASSERT_EQUAL(change(r, GEN_STOP, 1, 0), 0);
    t = after_change(r);
    CU_ASSERT_EQUAL(t.packets[0], 10);
    CU_ASSERT_EQUAL(t.packets[1], 0);
    CU_ASSERT(!rig_task(r)->finished); /* it may go on */
    CU_ASSERT_EQUAL(change(r, GEN_START, GEN_ALL_STREAMS, 0), 0);
    t = after_change(r);
    CU_ASSERT_DOUBLE_EQUAL((double)t.packets[0], 10000, 40); /* its count is no more */
    CU_ASSERT_DOUBLE_EQUAL((double)t.packets[1], 5000, 40);
    CU_ASSERT_EQUAL(change(r, GEN_RATE, GEN_ALL_STREAMS, 300e3), 0);
    CU_ASSERT_EQUAL(change(r, GEN_STOP, GEN_ALL_STREAMS, 0), 0);
    CU_ASSERT_EQUAL(change(r, GEN_START, GEN_ALL_STREAMS, 0), 0);
    t = after_change(r);
    CU_ASSERT_DOUBLE_EQUAL((double)t.packets[0], 30000, 40);
    CU_ASSERT_DOUBLE_EQUAL((double)t.packets[1], 5000, 40);
    CU_ASSERT_EQUAL(change(r, GEN_RATE, 0, 20e3), 0); /* now it has its own */
    CU_ASSERT_EQUAL(change(r, GEN_RATE, GEN_ALL_STREAMS, 1e6), -ENOENT);
    CU_ASSERT_EQUAL(change(r, GEN_RATE, 0, 1e-4), -EINVAL);
    CU_ASSERT_EQUAL(change(r, GEN_RATE, 2, 1e6), -EINVAL);
    CU_ASSERT_EQUAL(change(r, GEN_STOP, GEN_ALL_STREAMS, 0), 0);
    CU_ASSERT_EQUAL(change(r, GEN_START, GEN_ALL_STREAMS, 0), 0);
    t = after_change(r);
    CU_ASSERT_DOUBLE_EQUAL((double)t.packets[0], 2000, 40);
    rig_close(r);
}

static void start_for_a_time(void)
{
    struct rig *r = open_streams("rate = \"100kpps\"; duration = \"1ms\";");
    struct gen_change c = {.action = GEN_START, .duration_ns = 20000000};
    uint64_t now = 1;

    run(r, &now, 0.01);
    CU_ASSERT(rig_task(r)->finished);
    CU_ASSERT_EQUAL(gen_change(rig_task(r), &c), 0);
    CU_ASSERT(!rig_task(r)->finished);
    CU_ASSERT_DOUBLE_EQUAL((double)after_change(r).packets[0], 2000, 40);
    CU_ASSERT(rig_task(r)->finished);
    rig_close(r);
}

/* --- the report --- */

/* The first number behind "key": in the report; -1: there is none. */
static double figure(struct rig *r, const char *key)
{
    const struct task *t = rig_task(r);
    json_t *measured = gen_report(&t, 1);
    char *text = json_dumps(measured, JSON_DIGITS), word[32], *at;
    double v = -1;

    json_decref(measured);
    snprintf(word, sizeof(word), "\"%s\": ", key);
    at = strstr(text, word);
    if (at != NULL) {
        at += strlen(word);
        v = at[0] == 't'   ? 1
            : at[0] == 'f' ? 0
            : at[0] == '"' ? at[1] /* the first letter */
                           : atof(at);
    }
    free(text);
    return v;
}

static void report(void)
{
    struct rig *r = open_streams("rate = \"100kpps\";");
    uint64_t now = 1;

    run(r, &now, 0.5);
    CU_ASSERT_DOUBLE_EQUAL(figure(r, "offered_pps"), 100000, 100);
    CU_ASSERT_DOUBLE_EQUAL(figure(r, "sent_pps"), 100000, 100);
    CU_ASSERT_DOUBLE_EQUAL(figure(r, "rate_pps"), 100000, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(figure(r, "seconds"), 0.5, 0.001);
    CU_ASSERT_EQUAL(figure(r, "limited"), 0);
    CU_ASSERT_EQUAL(figure(r, "stream"), 2);
    CU_ASSERT(figure(r, "ceiling_pps") > 200000); /* a core of our time makes millions */
    CU_ASSERT_EQUAL(task_gen.stat(rig_task(r), 2), 100000);
    run(r, &now, 0.5);
    now += rte_get_tsc_hz(); /* the core was away */
    run(r, &now, 0.5);
    CU_ASSERT_EQUAL(figure(r, "limited"), 1);
    CU_ASSERT_EQUAL(figure(r, "limited_by"), 'c');
    CU_ASSERT_DOUBLE_EQUAL(figure(r, "missed"), 100000 - 100, 64);
    CU_ASSERT_DOUBLE_EQUAL(figure(r, "offered_pps"), 100000, 100);
    CU_ASSERT_DOUBLE_EQUAL(figure(r, "sent_pps"), 60000, 200);
    rig_close(r);
}

/* Stopped before the core looks again: what was due in 20 ms was not sent. */
static void stopped_while_away(void)
{
    struct rig *r = open_streams("rate = \"100kpps\";");

    CU_ASSERT_EQUAL(change(r, GEN_START, GEN_ALL_STREAMS, 0), 0);
    rte_delay_us_block(20000);
    CU_ASSERT_EQUAL(change(r, GEN_STOP, GEN_ALL_STREAMS, 0), 0);
    CU_ASSERT(figure(r, "missed") >= 2000);
    CU_ASSERT_EQUAL(figure(r, "limited_by"), 'c');
    rig_close(r);
}

static void limited_by_mbufs(void)
{
    struct rte_mbuf *m[RIG_MBUFS];
    struct rig *r = open_streams("rate = \"100kpps\";");
    uint64_t now = 1;

    CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_alloc_bulk(harness_pool, m, RIG_MBUFS), 0);
    run(r, &now, 0.1);
    rte_pktmbuf_free_bulk(m, RIG_MBUFS);
    run(r, &now, 0.1);
    CU_ASSERT_EQUAL(figure(r, "limited_by"), 'm');
    CU_ASSERT_DOUBLE_EQUAL(figure(r, "no_mbuf"), 10000, 64);
    rig_close(r);
}

/* An output that takes the half of each burst. */
static void half(struct out *o, struct rte_mbuf **m, uint16_t n)
{
    o->sent += n / 2;
    o->full += n - n / 2;
    rte_pktmbuf_free_bulk(m, n);
}

static void limited_by_link(void)
{
    struct rig *r = open_streams("rate = \"100kpps\"; streams = ( { }, { } );");
    struct out *o = rig_task(r)->output[0];
    uint64_t now = 1;

    o->send = half;
    run(r, &now, 0.1);
    CU_ASSERT_EQUAL(figure(r, "limited_by"), 'l');
    CU_ASSERT_EQUAL(figure(r, "link_full"), o->full);
    CU_ASSERT_DOUBLE_EQUAL(figure(r, "sent_pps"), 50000, 500);
    CU_ASSERT_EQUAL(figure(r, "sent") * 2, o->sent); /* of each stream the same */
    o->sent += o->full;                              /* the rig's ledger knows no full outputs */
    rig_close(r);
}

/* A configuration that is right, but not for this machine or this graph. */
static void refused(void)
{
    int rc;

    CU_ASSERT_PTR_NULL(try_streams(&rc, "streams = ( { }, { rate = \"0.0001pps\"; } );"));
    CU_ASSERT_EQUAL(rc, -EINVAL);
    CU_ASSERT_PTR_NULL(try_streams(&rc, "streams = ( { rate = \"1pps\"; size = 9000; } );"));
    CU_ASSERT_EQUAL(rc, -EINVAL);
}

static int open_folder(void)
{
    return mkdtemp(dir) == NULL ? EXIT_FAILURE : harness_open();
}

static int close_folder(void)
{
    static const char *const names[] = {"t.tmpl", "c.cfg"};
    char path[128];

    config_free(model);
    for (unsigned i = 0; i < RTE_DIM(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
    return harness_close();
}

static const struct test tests[] = {
    {"weights", weights},
    {"rates in bits", bits},
    {"Poisson", poisson},
    {"the simple IMIX", imix},
    {"stamps", stamps},
    {"phases", phases},
    {"counts", counts},
    {"changes", changes},
    {"started for a time", start_for_a_time},
    {"report", report},
    {"limited by mbufs", limited_by_mbufs},
    {"stopped while its core is away", stopped_while_away},
    {"limited by the link", limited_by_link},
    {"what it cannot do", refused},
    {NULL, NULL},
};

const struct test_program test_program = {"gen_streams", tests, open_folder, close_folder};
