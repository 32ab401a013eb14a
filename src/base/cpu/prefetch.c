/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/cpu/prefetch.h"

#include <stdlib.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#define ERROR      0.2 /* of a measurement beside other work */
#define MAX_BURSTS 32  /* with each step */
#define WORK       12  /* dependent operations of a cycle or so, for a packet */

uint32_t prefetch_step = PREFETCH_NEAR;

uint32_t prefetch_step_for(double ratio)
{
    return ratio > 0 && ratio < 1 - ERROR ? PREFETCH_FAR : PREFETCH_NEAR;
}

#ifdef __x86_64__
static uint64_t read_line(const uint8_t *const *line, unsigned packet, unsigned i)
{
    return *(const volatile uint8_t *)line[packet * PREFETCH_LINES + i];
}

/* Always inline: gcc takes a function that only prefetches for one without effect, and leaves out
 * its calls. */
static inline __attribute__((always_inline)) void fetch(const uint8_t *const *line, unsigned packet,
                                                        unsigned i)
{
    __builtin_prefetch(line[packet * PREFETCH_LINES + i], 1, 3);
}

/* TSC cycles of a burst that goes through stages as of packet/stages.h. A packet waits for the one
 * before, as the work of all tasks on two of them is more than a processor has under way. */
static double cycles(const uint8_t *const *line, unsigned step)
{
    const unsigned ahead = 2 * step, n = PREFETCH_PACKETS;
    uint64_t begin, x = 1;

    _mm_lfence();
    begin = __rdtsc();
    for (unsigned i = 0; i < n + step + ahead; i++) {
        if (i < n) {
            fetch(line, i, 0);
            fetch(line, i, 1);
        }
        if (i < ahead)
            continue;
        if (i - ahead < n) {
            x += read_line(line, i - ahead, 0) + read_line(line, i - ahead, 1);
            fetch(line, i - ahead, 2);
        }
        if (i < ahead + step)
            continue;
        x += read_line(line, i - ahead - step, 2);
        for (unsigned k = 0; k < WORK; k++) {
            x *= 3;
            __asm__ volatile("" : "+r"(x)); /* so that it is done one by one */
        }
        _mm_lfence();
    }
    return (double)(__rdtsc() - begin);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *value, unsigned n)
{
    qsort(value, n, sizeof(*value), by_value);
    return value[n / 2];
}

double prefetch_ratio(const uint8_t *const *line, unsigned n_bursts)
{
    double near[MAX_BURSTS], far[MAX_BURSTS];
    unsigned n = 0;

    for (; n < MAX_BURSTS && 2 * n + 1 < n_bursts; n++) {
        near[n] = cycles(line, PREFETCH_NEAR);
        line += PREFETCH_PACKETS * PREFETCH_LINES;
        far[n] = cycles(line, PREFETCH_FAR);
        line += PREFETCH_PACKETS * PREFETCH_LINES;
    }
    return n > 0 ? median(far, n) / median(near, n) : 0;
}
#else
double prefetch_ratio(const uint8_t *const *line, unsigned n_bursts)
{
    (void)line;
    (void)n_bursts;
    return 0;
}
#endif
