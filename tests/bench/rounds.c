/* SPDX-License-Identifier: BSD-3-Clause */
/* Repetitions in rounds: each round runs everything once, so that what else the machine does hits
 * all alike, and ratios are taken within a round. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static int find(const char *name)
{
    for (unsigned i = 0; i < n_bench_cases; i++)
        if (strcmp(bench_cases[i].name, name) == 0)
            return (int)i;
    return -1;
}

bool case_chosen(const struct options *o, const struct bench_case *c)
{
    return o->only == NULL || strstr(c->name, o->only) != NULL;
}

/* Those that --only names, and what they are compared with. */
static void choose(const struct options *o, struct result *results)
{
    for (unsigned i = 0; i < n_bench_cases; i++) {
        const struct bench_case *c = &bench_cases[i];

        if (!case_chosen(o, c))
            continue;
        results[i].measured = true;
        if (c->mean != NULL)
            results[find(c->mean)].measured = true;
        for (; c->versus != NULL; c = &bench_cases[find(c->versus)])
            results[find(c->versus)].measured = true;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static struct spread spread(double *v, unsigned n)
{
    qsort(v, n, sizeof(v[0]), by_value);
    return (struct spread){
        .median = n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2,
        .min = v[0],
        .max = v[n - 1],
    };
}

/* cycles[case * rounds + round] */
static void summarise(unsigned rounds, double *cycles, struct result *results)
{
    double ratio[MAX_ROUNDS];

    for (unsigned i = 0; i < n_bench_cases; i++) {
        const double *base, *other;

        if (!results[i].measured || bench_cases[i].versus == NULL)
            continue;
        base = cycles + (unsigned)find(bench_cases[i].versus) * rounds;
        other = bench_cases[i].mean != NULL ? cycles + (unsigned)find(bench_cases[i].mean) * rounds
                                            : base;
        for (unsigned r = 0; r < rounds; r++)
            ratio[r] = cycles[i * rounds + r] / ((base[r] + other[r]) / 2);
        results[i].ratio = spread(ratio, rounds);
    }
    for (unsigned i = 0; i < n_bench_cases; i++)
        if (results[i].measured)
            results[i].cycles = spread(cycles + i * rounds, rounds);
    for (unsigned i = 0; i < n_bench_cases; i++) {
        const struct result *base, *other;

        if (!results[i].measured || bench_cases[i].versus == NULL)
            continue;
        base = &results[find(bench_cases[i].versus)];
        other = bench_cases[i].mean != NULL ? &results[find(bench_cases[i].mean)] : base;
        results[i].least = results[i].cycles.min / ((base->cycles.min + other->cycles.min) / 2);
    }
}

/* Run a case behind a pass of its own that is not counted: tables that the cases before it use,
 * too, would be nearer in the caches than tables of its own. */
static double run_warm(struct bench *b, const struct bench_case *c)
{
    double value = c->run(b, c);

    return value < 0 || b->options.quick ? value : c->run(b, c);
}

int rounds_run(struct bench *b, struct result *results)
{
    unsigned rounds = b->options.rounds;
    double *cycles = calloc((size_t)n_bench_cases * rounds, sizeof(cycles[0]));
    int rc = 0;

    choose(&b->options, results);
    /* round 0 warms up and is not counted */
    for (unsigned r = 0; rc == 0 && r <= rounds; r++) {
        for (unsigned i = 0; rc == 0 && i < n_bench_cases; i++) {
            double value;

            if (!results[i].measured)
                continue;
            value = run_warm(b, &bench_cases[i]);
            if (value < 0)
                rc = -1;
            else if (r > 0)
                cycles[i * rounds + r - 1] = value;
        }
    }
    if (rc == 0)
        summarise(rounds, cycles, results);
    free(cycles);
    return rc;
}
