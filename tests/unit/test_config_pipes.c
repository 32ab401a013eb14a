/* SPDX-License-Identifier: BSD-3-Clause */
/* The pipes of a scheduler: how many each subport has, and whose is which. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/program.h"
#include "qos_bed.h"

/* Subports of different sizes on two ports: each has as many pipes as it needs. */
static void pipes_of_subports(void)
{
    struct cfg_model *m = qos_load(
        "max_subscribers = 13;\n"
        "subscribers = ( { port = \"a\"; svlan = \"10-11\"; cvlan = \"1-3\"; ipv4 = "
        "\"10.0.0.0/24\"; profile = \"p\"; }, { port = \"b\"; svlan = 11; cvlan = \"1-5\"; ipv4 = "
        "\"10.0.1.0/24\"; profile = \"p\"; }, { port = \"a\"; svlan = 12; cvlan = \"1-2\"; ipv4 = "
        "\"10.0.2.0/24\"; profile = \"p\"; } );\n"
        "qos = { profiles = { p = { rate = \"10M\"; }; }; schedulers = { s = { ports = [\"a\", "
        "\"b\"]; rate = \"20G\"; subports = ( { name = \"x\"; port = \"a\"; svlan = \"1-10\"; rate "
        "= \"5G\"; }, { name = \"y\"; port = \"a\"; svlan = \"11-4094\"; rate_up = \"1G\"; }, { "
        "name = \"z\"; port = \"b\"; rate = \"2G\"; rate_down = \"3G\"; } ); }; }; };\n");
    const struct cfg_scheduler *s;
    static const uint32_t want[] = {0, 1, 2,  3,  4,  5,     /* a.10, a.11 */
                                    8, 9, 10, 11, 12, 6, 7}; /* b.11, a.12 */

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    s = &m->qos.schedulers[0];
    CU_ASSERT_EQUAL(s->pipes.n, 13);
    CU_ASSERT_EQUAL(s->pipes.places, 4 + 8 + 8);
    CU_ASSERT_EQUAL(s->subports[0].n_pipes, 3);
    CU_ASSERT_EQUAL(s->subports[1].n_pipes, 5);
    CU_ASSERT_EQUAL(s->subports[2].n_pipes, 5);
    CU_ASSERT_EQUAL(s->subports[0].rate[QOS_UP], 5000000000);
    CU_ASSERT_EQUAL(s->subports[0].rate[QOS_DOWN], 5000000000);
    CU_ASSERT_EQUAL(s->subports[1].rate[QOS_UP], 1000000000);
    CU_ASSERT_EQUAL(s->subports[1].rate[QOS_DOWN], 20000000000);
    CU_ASSERT_EQUAL(s->subports[2].rate[QOS_UP], 2000000000);
    CU_ASSERT_EQUAL(s->subports[2].rate[QOS_DOWN], 3000000000);
    CU_ASSERT_EQUAL_FATAL(m->n_subscribers, sizeof(want) / sizeof(want[0]));
    for (uint32_t i = 0; i < m->n_subscribers; i++)
        CU_ASSERT_EQUAL(m->subscribers[i].pipe, want[i]);
    config_free(m);
}

/* Three shards take the subscribers of a subport in turn, but for those of subports that are whole,
 * which go where the fewest are. All shards have the same pipes for a subport. */
static void pipes_of_shards(void)
{
    static const uint32_t want[] = {0,  10, 20, 1, 11, 21, 2, /* a.10: x, across 3 shards of 10 */
                                    3,  4,  5,  6, 7,         /* a.11: y, whole on shard 0 */
                                    18, 19};                  /* a.12: z, whole on shard 1 */
    const struct cfg_scheduler *s;
    struct cfg_model *m;

    qos_cores = "1-3";
    m = qos_load(
        "max_subscribers = 14;\n"
        "subscribers = ( { port = \"a\"; svlan = 10; cvlan = \"1-7\"; ipv4 = "
        "\"10.0.0.0/24\"; profile = \"p\"; }, { port = \"a\"; svlan = 11; cvlan = \"1-5\"; "
        "ipv4 = \"10.0.1.0/24\"; profile = \"p\"; }, { port = \"a\"; svlan = 12; cvlan = "
        "\"1-2\"; ipv4 = \"10.0.2.0/24\"; profile = \"p\"; } );\n"
        "qos = { profiles = { p = { rate = \"10M\"; }; }; schedulers = { s = { ports = "
        "\"a\"; subports = ( { name = \"x\"; svlan = 10; }, { name = \"y\"; svlan = 11; whole "
        "= true; }, { name = \"z\"; svlan = 12; whole = true; } ); }; }; };\n");
    qos_cores = "0";
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    s = &m->qos.schedulers[0];
    CU_ASSERT_EQUAL(qos_shards(s), 3);
    CU_ASSERT_EQUAL(s->pipes.n, 10);
    CU_ASSERT_EQUAL(s->subports[1].shard, 0);
    CU_ASSERT_EQUAL(s->subports[2].shard, 1);
    CU_ASSERT_EQUAL_FATAL(m->n_subscribers, sizeof(want) / sizeof(want[0]));
    for (uint32_t i = 0; i < m->n_subscribers; i++)
        CU_ASSERT_EQUAL(m->subscribers[i].pipe, want[i]);
    CU_ASSERT_EQUAL(qos_shard_of(s, 19), 1);
    CU_ASSERT_EQUAL(qos_subport_of(s, 19), 2);
    config_free(m);
}

static void check_resting(const char *top, const char *scheduler, uint32_t pipes, uint32_t records)
{
    char text[768];
    struct cfg_model *m;

    snprintf(text, sizeof(text),
             "%s subscribers = ( { port = \"a\"; svlan = \"1-16\"; cvlan = \"1-256\"; ipv4 = "
             "\"10.0.0.0/20\"; profile = \"p\"; } );\nqos = { profiles = { p = { rate = "
             "\"10M\"; }; }; schedulers = { s = { ports = \"a\"; %s }; }; };\n",
             top, scheduler);
    m = qos_load("%s", text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->qos.schedulers[0].configured.n, 4096);
    EXPECT(m->qos.schedulers[0].pipes.n == pipes, "%u pipes", m->qos.schedulers[0].pipes.n);
    CU_ASSERT_EQUAL(subscriber_records(m), records);
    config_free(m);
}

#define CLASS(c) "{ class = \"" #c "\"; queue = 64; }"
#define SEVEN    "classes = ( " SIX ", " CLASS(be) " );"
#define EIGHT    "classes = ( " SIX ", " CLASS(6) ", " CLASS(be) " );"
#define SIX      CLASS(0) ", " CLASS(1) ", " CLASS(2) ", " CLASS(3) ", " CLASS(4) ", " CLASS(5)

/* Who is announced finds a number and a pipe while those of removed subscribers rest; where nobody
 * is announced, there is room enough. Rings of many classes do not become larger for that. */
static void resting(void)
{
    check_resting("max_subscribers = 4096;", "", 4096 + 128, 4096 + 128);
    check_resting("max_subscribers = 4100;", "", 4228, 4228);
    check_resting("max_subscribers = 16384;", "", 16384 + 256, 16384 + 256);
    check_resting("max_subscribers = 4096;", "backend = \"librte_sched\";", 4096, 4096 + 128);
    check_resting("", "", 4096 + 512, 4096 + 512);
    check_resting("max_subscribers = 4096;", SEVEN, 4096 + 128, 4096 + 128);
    check_resting("max_subscribers = 4096;", EIGHT, 4096, 4096 + 128);
    check_resting("max_subscribers = 8100;", EIGHT, 8192, 8100 + 253);
}

/* Ports without a scheduler need no profile, and have no pipe. */
static void without_a_scheduler(void)
{
    struct cfg_model *m = qos_load(
        "subscribers = ( { port = \"a\"; svlan = 10; cvlan = 1; ipv4 = \"10.0.0.0/32\"; profile = "
        "\"p\"; }, { port = \"b\"; svlan = 10; cvlan = 1; ipv4 = \"10.0.0.1/32\"; } );\n"
        "qos = { profiles = { p = { rate = \"10M\"; }; }; schedulers = { s = { ports = \"a\"; }; "
        "}; };\n");

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->subscribers[0].pipe, 0);
    CU_ASSERT_EQUAL(m->subscribers[1].pipe, CFG_NONE);
    CU_ASSERT_EQUAL(m->subscribers[1].profile, CFG_NONE);
    CU_ASSERT_EQUAL(m->qos.schedulers[0].configured.n, 1);
    CU_ASSERT_EQUAL(m->qos.schedulers[0].pipes.n, 65); /* whoever comes may come to a */
    config_free(m);
}

/* A configuration of 2^20 subscribers in one of 256 subports. */
static struct cfg_model *load_unequal(const char *backend)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    struct cfg_model *m;

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fprintf(
        f,
        "subscribers = ( { port = \"a\"; svlan = \"1-256\"; cvlan = \"1-4094\"; ipv4 = "
        "\"10.0.0.0/12\"; profile = \"p\"; } );\nqos = { profiles = { p = { rate = \"10M\"; }; "
        "}; schedulers = { s = { backend = \"%s\"; ports = \"a\"; classes = ( { class = \"be\"; "
        "queue = 64; } ); subports = ( { name = \"x\"; svlan = \"1-256\"; }",
        backend);
    for (unsigned i = 257; i < 512; i++)
        fprintf(f, ", { name = \"x%u\"; svlan = %u; }", i, i);
    fputs(" ); }; }; };\n", f);
    fclose(f);
    m = qos_load("%s", text);
    free(text);
    return m;
}

/* librte_sched sizes all subports as the largest: 256 of 2^20 are more than the 2^28 pipes that a
 * path can name. */
static void more_pipes_than_numbers(void)
{
    char *text = NULL;
    size_t len, found = 0;
    FILE *f;

    CU_ASSERT_PTR_NULL(load_unequal("librte_sched"));
    f = open_memstream(&text, &len);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    diag_print(&qos_diags, f);
    fclose(f);
    found = strstr(text,
                   "scheduler 's': 256 subports of 1048576 pipes, as many as librte_sched needs "
                   "for the largest one, are more than 268435454: make the subports more alike") !=
            NULL;
    CU_ASSERT_TRUE(found);
    free(text);
}

/* In the wheel, subports together have as many pipes as they need, and some for who may come. */
static void pipes_of_unequal_subports(void)
{
    struct cfg_model *m = load_unequal("wheel");
    const struct cfg_scheduler *s;

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    s = &m->qos.schedulers[0];
    CU_ASSERT(s->pipes.n >= room_subscribers(m) && s->pipes.n < room_subscribers(m) * 1.15);
    for (unsigned k = 0; k < s->n_subports; k++) {
        const struct cfg_subport *sp = &s->subports[k];

        CU_ASSERT(sp->pipes >= sp->n_pipes && sp->pipes % s->pipes.block == 0);
        CU_ASSERT_EQUAL(qos_subport_of(s, sp->first), k);
        CU_ASSERT_EQUAL(qos_subport_of(s, sp->first + sp->pipes - 1), k);
    }
    for (uint32_t i = 0; i < m->n_subscribers; i++)
        CU_ASSERT_EQUAL_FATAL(qos_subport_of(s, m->subscribers[i].pipe), 0);
    config_free(m);
}

static const struct test tests[] = {
    {"pipes of subports", pipes_of_subports},
    {"pipes of unequal subports", pipes_of_unequal_subports},
    {"pipes of shards", pipes_of_shards},
    {"pipes of who was removed", resting},
    {"without a scheduler", without_a_scheduler},
    {"more pipes than numbers", more_pipes_than_numbers},
    {NULL, NULL},
};

const struct test_program test_program = {"pipes", tests, NULL, qos_free_diags};
