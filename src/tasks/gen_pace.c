/* SPDX-License-Identifier: BSD-3-Clause */
#include "tasks/gen_pace.h"

#include <errno.h>

#include "base/log.h"

#define FIXED_ONE 65536.0 /* credit of one TSC cycle */
#define CATCH_UP  1000    /* 1/CATCH_UP s of packets are made up for */
#define LEAST_PPS 0.001
#define MOST_TIME (double)(UINT64_MAX >> 18) /* cycles: their credit fits in 62 bits */

int pace_init(struct gen_pace *p, const struct gen_pace_spec *spec)
{
    double catch_up = (double)spec->tsc_hz / CATCH_UP, train_time;

    if (spec->pps < LEAST_PPS) {
        log_error("%s: %g packets per second and instance; at least %g can be kept", spec->name,
                  spec->pps, LEAST_PPS);
        return -EINVAL;
    }
    p->train = spec->train;
    if (p->train == 0) {
        double few = spec->pps / CATCH_UP;

        p->train = few >= spec->burst ? spec->burst : few > 1 ? (uint32_t)few : 1;
    }
    p->cost = (double)spec->tsc_hz / spec->pps;
    train_time = p->cost * p->train;
    if (train_time > MOST_TIME) {
        log_error("%s: %u packets back to back take too long at this rate", spec->name, p->train);
        return -EINVAL;
    }
    p->train_cost = (uint64_t)(train_time * FIXED_ONE + 0.5);
    p->longest = (uint64_t)(train_time + catch_up);
    p->credit_max = p->train_cost + (uint64_t)(catch_up * FIXED_ONE);
    return 0;
}
