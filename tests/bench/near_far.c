/* SPDX-License-Identifier: BSD-3-Clause */
#include "near_far.h"

#include <math.h>
#include <stdlib.h>

#include "base/cpu/core_latency.h"

double core_ns(unsigned a, unsigned b)
{
    struct core_latency l;

    return core_latency(a, b, &l) == 0 ? l.median : 0;
}

double core_ns_of_round(double before, double after)
{
    return before < ALIKE * after && after < ALIKE * before ? before : 0;
}

double nearest_ns(const double *ns, unsigned n)
{
    double nearest = INFINITY;

    for (unsigned i = 0; i < n; i++)
        if (ns[i] > 0)
            nearest = fmin(nearest, ns[i]);
    return nearest;
}

bool is_far(double ns, double nearest)
{
    return ns >= ALIKE * nearest;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double median(double *v, unsigned n)
{
    qsort(v, n, sizeof(*v), by_size);
    return v[n / 2];
}
