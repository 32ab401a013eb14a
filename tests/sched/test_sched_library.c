/* SPDX-License-Identifier: BSD-3-Clause */
/* What the configuration believes of librte_sched, against the library itself: it writes the
 * numbers that it has made of a profile into its debug log. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rte_log.h>
#include <rte_sched.h>

#include "bed.h"
#include "sched/check.h"
#include "sched/librte/limits.h"

#define RATES 64

static struct bed b;

struct numbers {
    unsigned n;
    struct librte_fraction bucket[RATES];
    unsigned long long tc_period[RATES], be_credits[RATES];
};

/* Of all pipe profiles in the log. */
static void read_log(char *log, struct numbers *x)
{
    memset(x, 0, sizeof(*x));
    for (char *at = log; (at = strstr(at, "for pipe profile ")) != NULL && x->n < RATES; at++) {
        unsigned long long period, credits, c[QOS_CLASSES];
        const char *list;
        if (sscanf(strstr(at, "bucket: "), "bucket: period = %llu, credits per period = %llu",
                   &period, &credits) != 2)
            continue;
        at = strstr(at, "classes: period");
        list = strchr(at, '[');
        if (sscanf(at, "classes: period = %llu", &x->tc_period[x->n]) != 1 ||
            sscanf(list,
                   "[%llu, %llu, %llu, %llu, %llu, %llu, %llu, %llu, %llu, %llu, %llu, %llu, %llu]",
                   &c[0], &c[1], &c[2], &c[3], &c[4], &c[5], &c[6], &c[7], &c[8], &c[9], &c[10],
                   &c[11], &c[12]) != QOS_CLASSES)
            continue;
        x->be_credits[x->n] = c[QOS_BE];
        x->bucket[x->n++] = (struct librte_fraction){credits, period};
    }
}

/* Have the library convert rates (bytes/s), with no class bound; false if it refuses them. */
static bool convert(uint64_t clock, const uint64_t *rates, unsigned n, struct numbers *x)
{
    struct rte_sched_pipe_params pipe[RATES] = {0};
    struct rte_sched_subport_profile_params subport = {
        .tb_rate = clock, .tb_size = 1 << 20, .tc_period = 10};
    struct rte_sched_port_params port = {.name = "log",
                                         .rate = clock,
                                         .mtu = 1518,
                                         .n_subports_per_port = 1,
                                         .subport_profiles = &subport,
                                         .n_subport_profiles = 1,
                                         .n_max_subport_profiles = 1,
                                         .n_pipes_per_subport = 1};
    struct rte_sched_subport_params sp = {.n_pipes_per_subport_enabled = 1,
                                          .pipe_profiles = pipe,
                                          .n_pipe_profiles = n,
                                          .n_max_pipe_profiles = n};
    char *log = NULL;
    size_t len;
    FILE *stream = open_memstream(&log, &len);

    for (unsigned c = 0; c < QOS_CLASSES; c++)
        subport.tc_rate[c] = clock;
    sp.qsize[QOS_BE] = 2;
    for (unsigned i = 0; i < n; i++)
        pipe[i] = (struct rte_sched_pipe_params){.tb_rate = rates[i],
                                                 .tb_size = 2000,
                                                 .tc_rate = {[QOS_BE] = rates[i]},
                                                 .tc_period = librte_unbound_period_ms(clock),
                                                 .tc_ov_weight = 1,
                                                 .wrr_weights = {1, 1, 1, 1}};
    uint32_t level = rte_log_get_global_level();
    rte_log_set_global_level(RTE_LOG_DEBUG);
    /* A log type is found by its name, which every DPDK has: newer ones than 22.11 lack
     * RTE_LOGTYPE_SCHED. */
    rte_log_set_level_pattern("lib.sched", RTE_LOG_DEBUG);
    rte_openlog_stream(stream);
    struct rte_sched_port *p = rte_sched_port_config(&port);
    bool ok = p != NULL && rte_sched_subport_config(p, 0, &sp, 0) == 0;
    rte_openlog_stream(NULL);
    rte_log_set_level_pattern("lib.sched", RTE_LOG_WARNING);
    rte_log_set_global_level(level);
    fclose(stream);
    if (ok) {
        rte_sched_port_free(p);
        read_log(log, x);
    }
    free(log);
    return ok;
}

/* Random rates on random ports, and those next to simple fractions. */
static void fractions(void)
{
    unsigned seed = 7;

    for (unsigned round = 0; round < 40; round++) {
        uint64_t clock = (uint64_t)pow(10, 6 + rand_r(&seed) % 5000 / 1000.0), rates[RATES];
        struct numbers x;
        for (unsigned i = 0; i < RATES; i++) {
            double ratio = pow(10, -6.5 * (rand_r(&seed) % 100000) / 100000.0);
            if (i % 4 == 0)
                ratio = (1 + rand_r(&seed) % 5) / (6.0 + rand_r(&seed) % 3) + i * 1e-8;
            rates[i] = (uint64_t)(clock * ratio * 0.98) + 1;
            while (librte_fraction(clock, rates[i]).period == 0)
                rates[i] += 1 + clock / 10000000;
        }
        CU_ASSERT_FATAL(convert(clock, rates, RATES, &x));
        CU_ASSERT_EQUAL(x.n, RATES);
        for (unsigned i = 0; i < x.n; i++) {
            struct librte_fraction f = librte_fraction(clock, rates[i]);
            EXPECT(f.credits == x.bucket[i].credits && f.period == x.bucket[i].period,
                   "%llu of %llu: %llu/%llu, the library: %llu/%llu", (unsigned long long)rates[i],
                   (unsigned long long)clock, (unsigned long long)f.credits,
                   (unsigned long long)f.period, (unsigned long long)x.bucket[i].credits,
                   (unsigned long long)x.bucket[i].period);
        }
    }
}

/* The period that is to bind no class: about a minute, and credits for more. */
static void unbound(void)
{
    for (uint64_t clock = 1000000; clock < 100000000000; clock *= 3) {
        uint64_t rates[] = {clock / 2, clock / 1000000 + 1};
        struct numbers x;
        CU_ASSERT_FATAL(convert(clock, rates, 2, &x));
        CU_ASSERT_EQUAL(x.n, 2);
        for (unsigned i = 0; i < x.n; i++) {
            double seconds = (double)x.tc_period[i] / clock;
            EXPECT(seconds > 59 && seconds < 62, "%.3f s", seconds);
            EXPECT(x.be_credits[i] > 10 * seconds * rates[i], "%llu for %.0f bytes",
                   x.be_credits[i], seconds * rates[i]);
        }
    }
}

/* What the scheduler takes from the heap, against what its shape says. */
static void memory(void)
{
    static const struct {
        uint32_t pipes, subports;
        uint16_t size;
        unsigned classes;
    } c[] = {{1, 1, 1, 1},     {16, 1, 64, 13},   {1024, 3, 128, 4},
             {4096, 8, 64, 2}, {32768, 1, 64, 4}, {32768, 1, 16, 13}};

    for (unsigned i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
        bed_shape(&b, c[i].pipes, c[i].subports);
        for (unsigned k = 0; k < c[i].classes; k++)
            b.shape.class[QOS_BE - k].size = c[i].size;
        bed_profile(&b, 10000000, 20000);
        CU_ASSERT_FATAL(bed_create(&b));
        double taken = sched_bytes(b.s), said = qos_sched_bytes(&b.shape, 17);
        EXPECT(fabs(said / taken - 1) < 0.005, "%.0f bytes; taken: %.0f", said, taken);
        bed_free(&b);
    }
}

/* What would wrap, divide by zero or have the library free itself is refused before. */
static void refused(void)
{
    for (unsigned i = 0; i < 10; i++) {
        struct sched_config config = {
            .name = "bad", .socket = -1, .shape = &b.shape, .profiles = b.profiles};
        bed_shape(&b, 32768, 1);
        struct qos_shape *p = &b.profiles[bed_profile(&b, 10000000, 20000)].shape[QOS_UP];
        config.n_profiles = config.max_profiles = 1;
        switch (i) {
        case 0:
            for (unsigned c = 0; c < QOS_CLASSES; c++)
                b.shape.class[c].size = 1024;
            break;
        case 1:
            p->rate = 100;
            break;
        case 2:
            p->burst = 0;
            break;
        case 3:
            p->class_rate[QOS_BE] = 0;
            break;
        case 4:
            b.shape.class[QOS_BE].size = 0;
            break;
        case 5:
            b.shape.pipes.block = 1000;
            break;
        case 6:
            b.subports[0].rate[QOS_UP] = 0;
            break;
        case 7:
            config.n_profiles = 0;
            break;
        case 8:
            p->weight[0] = 0;
            break;
        case 9:
            b.shape.rate = 0;
            break;
        }
        struct sched *s = sched_create(&config);
        EXPECT(s == NULL, "case %u", i);
        sched_free(s);
    }
}

static const struct test tests[] = {
    {"fractions", fractions},
    {"the unbound period", unbound},
    {"memory", memory},
    {"bad configurations are refused", refused},
    {NULL, NULL},
};

const struct test_program test_program = {"sched library", tests, bed_open, bed_close};
