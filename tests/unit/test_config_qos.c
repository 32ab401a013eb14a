/* SPDX-License-Identifier: BSD-3-Clause */
/* The QoS part of the model of a configuration: defaults, directions, classes, queues by time,
 * DSCP maps. The messages for wrong configurations have suites
 * in tests/config/bad. */
#include <string.h>

#include "common/program.h"
#include "qos_bed.h"

#define SUBSCRIBERS(profile)                                                                       \
    "subscribers = ( { port = \"a\"; svlan = 100; cvlan = \"1-64\"; ipv4 = \"10.0.0.0/26\"; "      \
    "profile = \"" profile "\"; } );\n"

static struct cfg_model *load_good(const char *profile, const char *scheduler)
{
    struct cfg_model *m =
        qos_load(SUBSCRIBERS("p") "qos = { profiles = { p = { %s }; }; schedulers = "
                                  "{ s = { ports = \"a\"; %s }; }; };\n",
                 profile, scheduler);

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

/* A profile with nothing but a rate, as in the paper, has defaults for all else. */
static void defaults(void)
{
    struct cfg_model *m = load_good("rate = \"10M\";", "");
    const struct qos_shape *up = &m->qos.profiles[0].shape[QOS_UP];
    const struct cfg_scheduler *s = &m->qos.schedulers[0];

    CU_ASSERT_EQUAL(qos_diags.n_errors, 0);
    CU_ASSERT_EQUAL(up->rate, 10000000);
    CU_ASSERT_EQUAL(up->burst, 6250); /* 5 ms */
    CU_ASSERT_EQUAL(up->tc_period_ms, 0);
    CU_ASSERT_EQUAL(up->oversubscription_weight, 1);
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        CU_ASSERT_EQUAL(up->class_rate[c], up->rate);
    for (unsigned q = 0; q < QOS_BE_QUEUES; q++)
        CU_ASSERT_EQUAL(up->weight[q], 1);
    CU_ASSERT_EQUAL(memcmp(up, &m->qos.profiles[0].shape[QOS_DOWN], sizeof(*up)), 0);
    CU_ASSERT_EQUAL(s->rate, 10000000000);
    CU_ASSERT_EQUAL(s->overhead, 4);
    CU_ASSERT_EQUAL(s->mtu, 1522);
    CU_ASSERT_FALSE(s->oversubscription);
    CU_ASSERT_EQUAL(s->n_subports, 1);
    CU_ASSERT_STRING_EQUAL(s->subports[0].name, "a");
    CU_ASSERT_EQUAL(s->subports[0].rate[QOS_DOWN], s->rate);
    CU_ASSERT_EQUAL(s->subports[0].n_pipes, 64);
    CU_ASSERT_EQUAL(s->configured.n, 64);
    CU_ASSERT_EQUAL(s->pipes.n, 128); /* 64 more may be added */
    CU_ASSERT_EQUAL(s->non_ip_queue, QOS_BE);
    for (unsigned c = 0; c < QOS_BE; c++)
        CU_ASSERT_EQUAL(s->class[c].size, 0);
    CU_ASSERT_EQUAL(s->class[QOS_BE].aqm, AQM_CODEL);
    CU_ASSERT_EQUAL(s->class[QOS_BE].codel_target_us, 5000);
    CU_ASSERT_EQUAL(s->class[QOS_BE].hold_ns, 200000000);
    CU_ASSERT_EQUAL(s->class[QOS_BE].size, 256); /* 250000 bytes in frames of 1526 */
    for (unsigned d = 0; d < QOS_DIRECTIONS; d++)
        for (unsigned dscp = 0; dscp < 64; dscp++)
            CU_ASSERT_EQUAL(m->qos.dscp_maps[s->dscp_map[d]].queue[dscp], QOS_BE);
    config_free(m);
}

static void bursts(void)
{
    static const struct {
        const char *text;
        uint64_t up, down;
    } cases[] = {
        {"rate = \"1M\";", 3044, 3044}, /* never less than two frames */
        {"rate = \"10M\"; burst = \"16K\";", 16384, 16384},
        {"rate = \"10M\"; burst = \"20ms\";", 25000, 25000},
        /* a burst in time is bytes at the direction's own rate */
        {"rate = \"10M\"; burst = \"20ms\"; down = { rate = \"100M\"; };", 25000, 250000},
        {"rate = \"10M\"; burst = \"16K\"; down = { rate = \"100M\"; };", 16384, 16384},
        {"rate = \"10M\"; burst = \"16K\"; down = { burst = \"32K\"; };", 16384, 32768},
        {"rate = \"10M\"; down = { rate = \"100M\"; };", 6250, 62500},
        {"up = { rate = \"10M\"; }; down = { rate = \"100M\"; };", 6250, 62500},
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cfg_model *m = load_good(cases[i].text, "");

        CU_ASSERT_EQUAL(m->qos.profiles[0].shape[QOS_UP].burst, cases[i].up);
        CU_ASSERT_EQUAL(m->qos.profiles[0].shape[QOS_DOWN].burst, cases[i].down);
        config_free(m);
    }
}

/* A direction takes from the profile, caps included, what the direction itself does not give. */
static void directions_of_a_profile(void)
{
    struct cfg_model *m = load_good(
        "rate = \"100M\"; class_rates = ( { class = \"0\"; rate = \"20M\"; }, "
        "{ class = \"1\"; rate = \"50M\"; } ); tc_period = \"200ms\"; weights = [1, 2, 3, 4]; "
        "up = { rate = \"30M\"; }; "
        "down = { rate = \"200M\"; class_rates = ( { class = \"be\"; rate = \"150M\"; } ); "
        "weights = [4, 3, 2, 1]; oversubscription_weight = 7; };",
        "classes = ( { class = \"0\"; queue = 64; }, { class = \"1\"; queue = 64; } );");
    const struct qos_shape *up = &m->qos.profiles[0].shape[QOS_UP],
                           *down = &m->qos.profiles[0].shape[QOS_DOWN];

    CU_ASSERT_EQUAL(up->rate, 30000000);
    CU_ASSERT_EQUAL(up->class_rate[0], 20000000);
    CU_ASSERT_EQUAL(up->class_rate[1], 30000000); /* 50M of 30M is no cap */
    CU_ASSERT_EQUAL(up->class_rate[2], 30000000);
    CU_ASSERT_EQUAL(up->tc_period_ms, 200);
    CU_ASSERT_EQUAL(up->weight[3], 4);
    CU_ASSERT_EQUAL(up->oversubscription_weight, 1);
    CU_ASSERT_EQUAL(down->rate, 200000000);
    CU_ASSERT_EQUAL(down->class_rate[0], 20000000);
    CU_ASSERT_EQUAL(down->class_rate[2], 200000000);
    CU_ASSERT_EQUAL(down->class_rate[QOS_BE], 150000000);
    CU_ASSERT_EQUAL(down->tc_period_ms, 200); /* the profile's, not the default of 40 */
    CU_ASSERT_EQUAL(down->weight[0], 4);
    CU_ASSERT_EQUAL(down->oversubscription_weight, 7);
    config_free(m);
}

/* A queue's time is kept for the rate of each subscriber; the most packets are those of 64 bytes at
 * the fastest rate of the class, rounded up to a power of two, or of two of the largest frames. */
static void queues_by_time(void)
{
    static const struct {
        const char *profile, *queue;
        unsigned size;
        uint64_t hold_ns;
    } cases[] = {
        {"rate = \"10M\";", "\"5ms\"", 128, 5000000},
        {"rate = \"10M\";", "\"3276800ns\"", 64, 3276800}, /* exactly 64 packets */
        {"rate = \"10M\";", "\"3276801ns\"", 128, 3276801},
        {"rate = \"10M\"; down = { rate = \"100M\"; };", "\"5ms\"", 1024, 5000000},
        {"rate = \"100M\"; class_rates = ( { class = \"0\"; rate = \"1M\"; } ); tc_period = "
         "\"2s\";",
         "\"5ms\"", 64, 5000000},
        {"rate = \"8k\";", "\"1ms\"", 64, 1000000},
        {"rate = \"10M\";", "64", 64, 0},
        {"rate = \"10M\";", "\"1K\"", 1024, 0},
        {"rate = \"10M\";", "1", 1, 0},
        {"rate = \"10M\";", "32768", 32768, 0},
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char scheduler[128];
        struct cfg_model *m;

        snprintf(scheduler, sizeof(scheduler), "classes = ( { class = \"0\"; queue = %s; } );",
                 cases[i].queue);
        m = load_good(cases[i].profile, scheduler);
        CU_ASSERT_EQUAL(m->qos.schedulers[0].class[0].size, cases[i].size);
        CU_ASSERT_EQUAL(m->qos.schedulers[0].class[0].hold_ns, cases[i].hold_ns);
        if (m->qos.schedulers[0].class[0].size != cases[i].size)
            fprintf(stderr, "%s %s: %u\n", cases[i].profile, cases[i].queue,
                    m->qos.schedulers[0].class[0].size);
        config_free(m);
    }
}

static void queue_management(void)
{
    struct cfg_model *m = load_good(
        "rate = \"10M\";",
        "classes = ( { class = \"0\"; queue = 64; red = { min = 16; max = 48; }; }, { class = "
        "\"be\"; queue = 128; red = { min = 1; max = 1023; inverse_probability = 255; "
        "weight_log2 = 12; ecn = false; }; } );");
    const struct cfg_class *c = m->qos.schedulers[0].class;

    CU_ASSERT_EQUAL(c[0].aqm, AQM_RED);
    CU_ASSERT_EQUAL(c[0].red_min, 16);
    CU_ASSERT_EQUAL(c[0].red_max, 48);
    CU_ASSERT_EQUAL(c[0].red_inverse_probability, 10);
    CU_ASSERT_EQUAL(c[0].red_weight_log2, 9);
    CU_ASSERT_EQUAL(c[QOS_BE].red_inverse_probability, 255);
    CU_ASSERT_EQUAL(c[QOS_BE].red_weight_log2, 12);
    CU_ASSERT(c[0].ecn);
    CU_ASSERT_FALSE(c[QOS_BE].ecn);
    CU_ASSERT_EQUAL(c[1].aqm, AQM_TAIL);
    config_free(m);
    m = load_good("rate = \"10M\";",
                  "classes = ( { class = \"0\"; queue = 64; pie = { }; }, { class = \"be\"; queue "
                  "= 128; pie = { target = \"20ms\"; update = \"30ms\"; max_burst = \"40ms\"; "
                  "tail = 100; ecn = false; }; } );");
    c = m->qos.schedulers[0].class;
    CU_ASSERT_EQUAL(c[0].aqm, AQM_PIE);
    CU_ASSERT_EQUAL(c[0].pie_target_ms, 15);
    CU_ASSERT_EQUAL(c[0].pie_update_ms, 15);
    CU_ASSERT_EQUAL(c[0].pie_max_burst_ms, 150);
    CU_ASSERT_EQUAL(c[0].pie_tail, 64);
    CU_ASSERT_EQUAL(c[QOS_BE].pie_target_ms, 20);
    CU_ASSERT_EQUAL(c[QOS_BE].pie_update_ms, 30);
    CU_ASSERT_EQUAL(c[QOS_BE].pie_max_burst_ms, 40);
    CU_ASSERT_EQUAL(c[QOS_BE].pie_tail, 100);
    CU_ASSERT(c[0].ecn);
    CU_ASSERT_FALSE(c[QOS_BE].ecn);
    config_free(m);
    /* librte_sched marks nothing */
    m = load_good(
        "rate = \"10M\";",
        "backend = \"librte_sched\"; classes = ( { class = \"0\"; queue = 64; red = { min = "
        "16; max = 48; }; }, { class = \"be\"; queue = 64; red = { min = 16; max = 48; ecn "
        "= false; }; } );");
    c = m->qos.schedulers[0].class;
    CU_ASSERT_FALSE(c[0].ecn || c[QOS_BE].ecn);
    config_free(m);
    m = load_good(
        "rate = \"10M\";",
        "classes = ( { class = \"0\"; codel = { target = \"2ms\"; interval = \"40ms\"; ecn = "
        "false; active = 16; }; }, { class = \"be\"; queue = 512; codel = { }; } );");
    c = m->qos.schedulers[0].class;
    CU_ASSERT_EQUAL(c[0].aqm, AQM_CODEL);
    CU_ASSERT_EQUAL(c[0].codel_target_us, 2000);
    CU_ASSERT_EQUAL(c[0].codel_interval_us, 40000);
    CU_ASSERT_FALSE(c[0].ecn);
    CU_ASSERT_EQUAL(c[0].codel_active, 16);
    CU_ASSERT_EQUAL(c[0].hold_ns, 200000000);
    CU_ASSERT_EQUAL(c[QOS_BE].size, 512);
    CU_ASSERT_EQUAL(c[QOS_BE].codel_target_us, 5000);
    CU_ASSERT_EQUAL(c[QOS_BE].codel_interval_us, 100000);
    CU_ASSERT(c[QOS_BE].ecn);
    CU_ASSERT_EQUAL(c[QOS_BE].codel_active, 4096);
    config_free(m);
    m = load_good("rate = \"10M\";",
                  "classes = ( { class = \"0\"; l4s = { target = \"20ms\"; step = "
                  "\"2ms\"; coupling = 3; }; }, "
                  "{ class = \"1\"; aqm = \"l4s\"; }, "
                  "{ class = \"2\"; aqm = \"pie\"; pie = { target = "
                  "\"20ms\"; }; }, { class = \"3\"; aqm = \"none\"; }, "
                  "{ class = \"be\"; aqm = \"codel\"; } );");
    c = m->qos.schedulers[0].class;
    CU_ASSERT_EQUAL(c[0].aqm, AQM_L4S);
    CU_ASSERT_EQUAL(c[0].l4s_target_us, 20000);
    CU_ASSERT_EQUAL(c[0].l4s_step_us, 2000);
    CU_ASSERT_EQUAL(c[0].l4s_coupling, 3);
    CU_ASSERT_EQUAL(c[1].aqm, AQM_L4S);
    CU_ASSERT_EQUAL(c[1].l4s_target_us, 15000);
    CU_ASSERT_EQUAL(c[1].l4s_step_us, 1000);
    CU_ASSERT_EQUAL(c[1].l4s_coupling, 2);
    CU_ASSERT_EQUAL(c[2].aqm, AQM_PIE);
    CU_ASSERT_EQUAL(c[2].pie_target_ms, 20);
    CU_ASSERT_EQUAL(c[3].aqm, AQM_TAIL);
    CU_ASSERT_EQUAL(c[QOS_BE].aqm, AQM_CODEL);
    CU_ASSERT_EQUAL(c[QOS_BE].codel_target_us, 5000);
    config_free(m);
}

/* Best effort has FQ-CoDel unless it says something else; a strict class and librte_sched have tail
 * drop. */
static void managed(void)
{
    static const struct {
        const char *scheduler;
        enum qos_aqm aqm;
        uint64_t hold_ns;
    } cases[] = {
        {"classes = ( { class = \"0\"; } );", AQM_CODEL, 200000000},
        {"classes = ( { class = \"be\"; } );", AQM_CODEL, 200000000},
        {"classes = ( { class = \"be\"; queue = \"5ms\"; } );", AQM_CODEL, 5000000},
        {"classes = ( { class = \"be\"; queue = 64; } );", AQM_CODEL, 0},
        {"classes = ( { class = \"be\"; aqm = \"none\"; } );", AQM_TAIL, 5000000},
        {"classes = ( { class = \"be\"; aqm = \"pie\"; } );", AQM_PIE, 5000000},
        {"classes = ( { class = \"be\"; aqm = \"l4s\"; } );", AQM_L4S, 200000000},
        {"backend = \"librte_sched\";", AQM_TAIL, 5000000},
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cfg_model *m = load_good("rate = \"10M\";", cases[i].scheduler);
        const struct cfg_class *c = m->qos.schedulers[0].class;

        EXPECT(c[QOS_BE].aqm == cases[i].aqm && c[QOS_BE].hold_ns == cases[i].hold_ns, "%s",
               cases[i].scheduler);
        EXPECT(c[0].aqm == AQM_TAIL, "%s", cases[i].scheduler);
        config_free(m);
    }
}

/* A DSCP map has a table for each direction; a DSCP that no entry names goes to the default queue.
 */
static void maps(void)
{
    struct cfg_model *m = qos_load(SUBSCRIBERS(
        "p") "qos = { profiles = { p = { rate = \"10M\"; }; }; dscp_maps = { "
             "one = { queues = ( { dscp = 46; class = \"0\"; }, { dscp = "
             "\"8-15\"; class = \"be\"; queue = 3; } ); default = { class = "
             "\"be\"; queue = 1; }; }; two = { default = { class = \"11\"; }; }; "
             "}; schedulers = { s = { ports = \"a\"; dscp_map = \"one\"; "
             "dscp_map_down = \"two\"; non_ip = { class = \"1\"; }; "
             "classes = ( { class = \"0\"; }, { class = \"1\"; }, { class = \"11\"; } ); "
             "}; }; };\n");
    const struct cfg_scheduler *s;
    const uint8_t *up, *down;

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    s = &m->qos.schedulers[0];
    up = m->qos.dscp_maps[s->dscp_map[QOS_UP]].queue;
    down = m->qos.dscp_maps[s->dscp_map[QOS_DOWN]].queue;
    for (unsigned dscp = 0; dscp < 64; dscp++) {
        unsigned want = dscp == 46 ? 0 : dscp >= 8 && dscp <= 15 ? QOS_BE + 3 : QOS_BE + 1;

        CU_ASSERT_EQUAL(up[dscp], want);
        CU_ASSERT_EQUAL(down[dscp], 11);
    }
    CU_ASSERT_EQUAL(s->non_ip_queue, 1);
    config_free(m);
}

static const struct test tests[] = {
    {"defaults", defaults},
    {"bursts", bursts},
    {"directions of a profile", directions_of_a_profile},
    {"queues by time", queues_by_time},
    {"queue management", queue_management},
    {"queue management that nobody said", managed},
    {"maps", maps},
    {NULL, NULL},
};

const struct test_program test_program = {"QoS model", tests, NULL, qos_free_diags};
