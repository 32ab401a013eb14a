/* SPDX-License-Identifier: BSD-3-Clause */
/* bench: cycles per packet of every task and of the whole paths. See doc/bench.md. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cpu/prefetch.h"
#include "bench.h"
#include "engine/pools/prefetch.h"

#define ROUNDS       15
#define ROUNDS_QUICK 3
#define QUICK_SLACK                                                                                \
    2.0 /* --quick runs beside other work: only twice the bar fails, by the fewest cycles */

enum exit_status { EXIT_GOOD, EXIT_MISSED, EXIT_USAGE, EXIT_BROKEN };

static void usage(FILE *to)
{
    fprintf(to,
            "usage: bench [options]\n"
            "Print cycles per packet of every task and of the whole paths.\n"
            "\n"
            "  --quick       few repetitions; fail only beyond twice a bar, by the fewest cycles\n"
            "  --rounds N    repetitions (default %u)\n"
            "  --only TEXT   only what has TEXT in its name, and what that is compared with\n"
            "  --json FILE   write the results to FILE as well (- is the standard output)\n"
            "  --huge        insist on huge pages of 2 MiB (default: if enough are free)\n"
            "  --no-huge     use ordinary pages\n"
            "  --cpu N       run on CPU N (default: the last one)\n"
            "  --step N      packets from stage to stage (default: those of this processor)\n"
            "  --help        print this\n"
            "\n"
            "exit status: 0 every bar is met, 1 one is not, 2 usage, 3 something does not work\n",
            ROUNDS);
}

/* Returns -1 to go on, or the exit status. */
static int parse_options(int argc, char **argv, struct options *o)
{
    enum {
        OPT_QUICK = 256,
        OPT_ROUNDS,
        OPT_ONLY,
        OPT_JSON,
        OPT_HUGE,
        OPT_NO_HUGE,
        OPT_CPU,
        OPT_STEP
    };
    static const struct option longs[] = {
        {"quick", no_argument, NULL, OPT_QUICK},
        {"rounds", required_argument, NULL, OPT_ROUNDS},
        {"only", required_argument, NULL, OPT_ONLY},
        {"json", required_argument, NULL, OPT_JSON},
        {"huge", no_argument, NULL, OPT_HUGE},
        {"no-huge", no_argument, NULL, OPT_NO_HUGE},
        {"cpu", required_argument, NULL, OPT_CPU},
        {"step", required_argument, NULL, OPT_STEP},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    long n;
    int c;

    while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        switch (c) {
        case OPT_QUICK:
            o->quick = true;
            o->rounds = ROUNDS_QUICK;
            break;
        case OPT_ROUNDS:
            n = strtol(optarg, NULL, 10);
            if (n < 1 || n > (long)MAX_ROUNDS) {
                fprintf(stderr, "bench: --rounds %s: expected 1 to %u\n", optarg, MAX_ROUNDS);
                return EXIT_USAGE;
            }
            o->rounds = (unsigned)n;
            break;
        case OPT_ONLY:
            o->only = optarg;
            break;
        case OPT_JSON:
            o->json = optarg;
            break;
        case OPT_HUGE:
            o->memory = MEMORY_HUGE;
            break;
        case OPT_NO_HUGE:
            o->memory = MEMORY_NO_HUGE;
            break;
        case OPT_CPU:
            o->cpu = atoi(optarg);
            break;
        case OPT_STEP:
            n = strtol(optarg, NULL, 10);
            if (n < 1 || n > (long)BURST_MAX) {
                fprintf(stderr, "bench: --step %s: expected 1 to %u\n", optarg, BURST_MAX);
                return EXIT_USAGE;
            }
            o->step = (uint32_t)n;
            break;
        case 'h':
            usage(stdout);
            return EXIT_GOOD;
        default:
            usage(stderr);
            return EXIT_USAGE;
        }
    }
    if (optind == argc)
        return -1;
    usage(stderr);
    return EXIT_USAGE;
}

static void choose_prefetch(struct bench *b)
{
    if (b->options.step == 0)
        prefetch_measure(b->packets.pool);
    else
        prefetch_step = b->options.step;
}

static int measure(struct bench *b)
{
    struct result *results = calloc(n_bench_cases, sizeof(results[0]));
    int status = EXIT_BROKEN;

    if (results != NULL && rounds_run(b, results) == 0) {
        report_table(b, results, stdout);
        unsigned failed =
            b->options.quick ? report_collapsed(results, QUICK_SLACK) : report_missed(results);

        status = failed > 0 ? EXIT_MISSED : EXIT_GOOD;
        if (b->options.json != NULL && report_json(b, results, b->options.json) != 0)
            status = EXIT_BROKEN;
    }
    free(results);
    return status;
}

int main(int argc, char **argv)
{
    static struct bench b;
    int status;

    b.options = (struct options){.rounds = ROUNDS, .cpu = -1};
    status = parse_options(argc, argv, &b.options);
    if (status >= 0)
        return status;
    if (bench_eal_start(&b) != 0)
        return EXIT_BROKEN;
    status = EXIT_BROKEN;
    if (packets_make(&b.packets) == 0 && wires_make(&b) == 0 && cases_open(&b) == 0) {
        choose_prefetch(&b);
        status = measure(&b);
    }
    cases_close(&b);
    wires_free(&b);
    packets_free(&b.packets);
    bench_eal_stop();
    return status;
}
