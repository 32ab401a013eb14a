/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue management in simulated time, under senders that respond to it. */
#include <math.h>
#include <string.h>

#include "bed.h"
#include "flow.h"

#define WARM_UP 8.0 /* s */
#define SECONDS 20.0

static struct bed b;
static struct flow f[16];

static void build(struct cfg_class class, uint64_t rate)
{
    bed_shape(&b, 2, 1);
    b.shape.class[QOS_BE] = class;
    bed_profile(&b, rate, 2 * 1522);
    CU_ASSERT_FATAL(bed_create(&b));
    CU_ASSERT_EQUAL(sched_set_profile(b.s, 0, 0), 0);
    memset(f, 0, sizeof(f));
    for (unsigned i = 0; i < 16; i++)
        f[i] = (struct flow){
            .queue = QOS_BE, .port = (uint16_t)(1024 + 7 * i), .size = 1522, .rtt = 20e-3};
}

static void run(unsigned n)
{
    flows_start(&b, f, n);
    flows_run(&b, f, n, WARM_UP);
    flows_reset(f, n);
    flows_run(&b, f, n, SECONDS);
}

/* PIE holds its target under one and more senders, at slow and fast rates: the queue's size does
 * not matter. */
static void pie(void)
{
    static const struct {
        uint64_t rate;
        unsigned flows;
        uint16_t size, target_ms;
    } c[] = {{10000000, 1, 512, 15},
             {10000000, 4, 4096, 15},
             {100000000, 4, 4096, 15},
             {2000000, 1, 512, 30},
             {50000000, 8, 8192, 10}};

    for (unsigned i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
        build((struct cfg_class){.size = c[i].size,
                                 .aqm = AQM_PIE,
                                 .pie_target_ms = c[i].target_ms,
                                 .pie_update_ms = 15,
                                 .pie_max_burst_ms = 150,
                                 .pie_tail = c[i].size},
              c[i].rate);
        run(c[i].flows);
        double delay = 0, rate = flows_rate(f, c[i].flows, SECONDS), packets = 0;
        for (unsigned k = 0; k < c[i].flows; k++) {
            delay += f[k].waited;
            packets += (double)f[k].packets;
        }
        delay /= packets;
        printf("\n    %llu bit/s, %u flows: %.1f ms of %u, %.3f of the rate ",
               (unsigned long long)c[i].rate, c[i].flows, 1e3 * delay, c[i].target_ms,
               rate / (double)c[i].rate);
        double target = c[i].target_ms * 1e-3;
        EXPECT(delay > 0.4 * target && delay < 1.3 * target, "%.1f ms", 1e3 * delay);
        EXPECT(rate > 0.9 * (double)c[i].rate, "%.0f bit/s", rate);
        EXPECT(sched_drops(b.s).tail == 0, "the queue is full");
        bed_free(&b);
    }
}

static struct cfg_class red_class(bool ecn)
{
    return (struct cfg_class){.size = 4096,
                              .aqm = AQM_RED,
                              .red_min = 10,
                              .red_max = 200,
                              .red_inverse_probability = 10,
                              .red_weight_log2 = 9,
                              .ecn = ecn};
}

static struct cfg_class pie_class(bool ecn)
{
    return (struct cfg_class){.size = 4096,
                              .aqm = AQM_PIE,
                              .pie_target_ms = 15,
                              .pie_update_ms = 15,
                              .pie_max_burst_ms = 150,
                              .pie_tail = 4096,
                              .ecn = ecn};
}

/* Who knows ECN loses nothing and is marked, of either family; who does not, beside them, is not. A
 * class may do without. */
static void marks(struct cfg_class class)
{
    const uint64_t rate = 50000000; /* so much that few packets need a mark */

    build(class, rate);
    f[0].ecn = true;
    f[1].ecn = f[1].is_ipv6 = true;
    run(3);
    struct sched_class c = sched_class(b.s, 0, QOS_BE);
    printf(" %llu marked, %llu dropped ", (unsigned long long)c.marked, (unsigned long long)c.aqm);
    for (unsigned i = 0; i < 3; i++) {
        bool marked = class.ecn && i < 2;

        EXPECT((f[i].marked > 0) == marked, "flow %u: %llu marked", i,
               (unsigned long long)f[i].marked);
        EXPECT((f[i].lost > 0) == !marked, "flow %u: %llu lost", i, (unsigned long long)f[i].lost);
    }
    EXPECT((c.marked > 0) == class.ecn, "%llu marked", (unsigned long long)c.marked);
    EXPECT(flows_rate(f, 3, SECONDS) > 0.9 * (double)rate, "%.0f bit/s", flows_rate(f, 3, SECONDS));
    EXPECT(sched_drops(b.s).tail == 0, "the queue is full");
    bed_free(&b);
}

static void marking(void)
{
    for (unsigned ecn = 0; ecn < 2; ecn++) {
        marks(red_class(ecn != 0));
        marks(pie_class(ecn != 0));
    }
}

/* Marks alone would not stop who does not respond to them: he is dropped, and the queue is not
 * full. */
static void unresponsive(struct cfg_class class)
{
    build(class, 10000000);
    f[0].ecn = f[0].is_ipv6 = true;
    f[0].pace = 15e6;
    run(1);
    printf(" %.3f lost, %.0f ms ", (double)f[0].lost / (double)(f[0].lost + f[0].packets),
           1e3 * flow_delay(&f[0]));
    EXPECT(f[0].lost > 0 && sched_drops(b.s).tail == 0, "%llu lost", (unsigned long long)f[0].lost);
    bed_free(&b);
}

static void overload(void)
{
    unresponsive(red_class(true));
    unresponsive(pie_class(true));
}

static const struct test tests[] = {
    {"PIE holds its target", pie},
    {"marks instead of drops", marking},
    {"no marks for who does not respond", overload},
    {NULL, NULL},
};

const struct test_program test_program = {"sched aqm", tests, bed_open, bed_close};
