/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/slices.h"

#include <time.h>

#include <rte_cycles.h>

#define SLICE_US 30
#define PAUSE_NS 250000 /* the kernel adds its timer slack of about 50 us */

struct slices {
    int (*one)(struct task *t, uint32_t i, void *ctx);
    void *ctx;
    uint32_t next, n;
    uint64_t cycles;
};

static int slice(struct task *t, void *arg)
{
    struct slices *s = arg;
    uint64_t start = rte_rdtsc();

    while (s->next < s->n && rte_rdtsc() - start < s->cycles) {
        int rc = s->one(t, s->next, s->ctx);

        if (rc != 0)
            return rc;
        s->next++;
    }
    return 0;
}

int in_slices(struct engine *e, unsigned instance, uint32_t n,
              int (*one)(struct task *t, uint32_t i, void *ctx), void *ctx, uint32_t *done)
{
    static const struct timespec pause = {.tv_nsec = PAUSE_NS};
    struct slices s = {
        .one = one, .ctx = ctx, .n = n, .cycles = rte_get_tsc_hz() / 1000000 * SLICE_US};
    int rc = 0;

    while (rc == 0 && s.next < n) {
        rc = engine_call(e, instance, slice, &s);
        if (e->running && s.next < n)
            nanosleep(&pause, NULL);
    }
    if (done != NULL)
        *done = s.next;
    return rc;
}
