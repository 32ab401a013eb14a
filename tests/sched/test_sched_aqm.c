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

static const struct test tests[] = {
    {"PIE holds its target", pie},
    {NULL, NULL},
};

const struct test_program test_program = {"sched aqm", tests, bed_open, bed_close};
