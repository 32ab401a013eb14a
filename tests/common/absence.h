/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a thread that polls was kept away from its CPU. What a test measures in real time while
 * its thread was away for long says nothing of what is tested: it is not judged, and the test says
 * so.
 */
#ifndef TESTS_COMMON_ABSENCE_H
#define TESTS_COMMON_ABSENCE_H

#include <stdint.h>

/** In TSC cycles; all zero before the first look. */
struct absence {
    uint64_t looked;  /* the last look */
    uint64_t longest; /* between two looks */
    uint64_t sum;     /* of all that counted */
};

/** Look at the clock, in each turn of the thread. Counts what is longer than least. */
static inline void absence_look(struct absence *a, uint64_t now, uint64_t least)
{
    uint64_t gap = now - a->looked;

    if (a->looked != 0 && gap > least) {
        a->sum += gap;
        a->longest = gap > a->longest ? gap : a->longest;
    }
    a->looked = now;
}

/** Raise this process's priority if it may, and say so if not. */
void absence_avoid(void);

#endif
