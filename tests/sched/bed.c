/* SPDX-License-Identifier: BSD-3-Clause */
#include "bed.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "common/eal.h"
#include "common/qos_shapes.h"
#include "sched/stamp.h"
#include "sched/wheel/wheel.h"

#define DATA_ROOM 256 /* the scheduler reads lengths, not data */

#define STEPS_PER_SECOND 500000 /* of an injected clock */
#define TURNS_PER_SECOND 5000   /* at least, of a thread that has its CPU */
#define FIRST_SEED       20130
#define START_MASK       UINT64_C(0xffffffff) /* it starts at the same phase of everything */

struct rte_mempool *bed_pool;
static uint64_t last_time; /* of an injected clock, for stamps */
enum qos_backend bed_backend;

void bed_shape(struct bed *b, uint32_t pipes_per_subport, unsigned n_subports)
{
    memset(b, 0, sizeof(*b));
    b->real_time = bed_backend == QOS_LIBRTE_SCHED;
    b->shape = plain_scheduler(10000000000, b->subports, n_subports, pipes_per_subport);
    b->shape.backend = bed_backend;
}

uint64_t bed_burst(uint64_t rate)
{
    return 2 * 1522 + rate / 8 / 50;
}

unsigned bed_profile(struct bed *b, uint64_t rate, uint64_t burst)
{
    b->profiles[b->n_profiles].shape[QOS_UP] = plain_shape(rate, burst);
    return b->n_profiles++;
}

bool bed_create(struct bed *b)
{
    struct sched_config config = {.name = "bed",
                                  .socket = -1,
                                  .shape = &b->shape,
                                  .direction = QOS_UP,
                                  .profiles = b->profiles,
                                  .n_profiles = b->n_profiles,
                                  .max_profiles = b->n_profiles + 16};

    b->s = sched_create(&config);
    CU_ASSERT_PTR_NOT_NULL(b->s);
    if (b->s == NULL || b->real_time)
        return b->s != NULL;
    b->clock = last_time = bed_begin();
    sched_dequeue_at(b->s, b->clock, NULL, 0);
    return true;
}

uint64_t bed_begin(void)
{
    return (rte_rdtsc() | START_MASK) + START_MASK + 2;
}

struct sched *bed_shard(const struct bed *b, struct shards *all, unsigned i)
{
    struct sched_config config = {.name = "shard",
                                  .socket = -1,
                                  .shape = &b->shape,
                                  .direction = QOS_UP,
                                  .profiles = b->profiles,
                                  .n_profiles = b->n_profiles,
                                  .max_profiles = b->n_profiles,
                                  .shards = all,
                                  .shard = i};
    struct sched *s = sched_create(&config);

    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    return s;
}

/* Whatever a test has done, what the classes have counted adds up to what the scheduler says. */
static void check_classes(const struct bed *b)
{
    struct sched_drops d = sched_drops(b->s);
    uint64_t waiting = 0, tail = 0, aqm = 0;

    for (uint32_t i = 0; i < b->shape.n_subports; i++) {
        for (unsigned k = 0; k < QOS_CLASSES; k++) {
            struct sched_class c = sched_class(b->s, i, k);

            waiting += c.accepted - c.sent - c.cleared - c.late;
            tail += c.tail;
            aqm += c.aqm;
        }
    }
    EXPECT(waiting == sched_held(b->s), "%llu wait", (unsigned long long)waiting);
    EXPECT(tail == d.tail && aqm == d.red + d.pie + d.codel + d.l4s, "tail %llu, aqm %llu",
           (unsigned long long)tail, (unsigned long long)aqm);
}

void bed_free(struct bed *b)
{
    check_classes(b);
    sched_free(b->s);
    b->s = NULL;
    EXPECT(rte_mempool_avail_count(bed_pool) == BED_MBUFS, "%u of %u mbufs are back",
           rte_mempool_avail_count(bed_pool), BED_MBUFS);
}

struct rte_mbuf *bed_packet(uint32_t pipe, unsigned queue, uint32_t size)
{
    struct rte_mbuf *m = rte_pktmbuf_alloc(bed_pool);

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    m->pkt_len = size - BED_FCS;
    m->data_len = 0;
    sched_tell(m, pipe * QOS_QUEUES + queue, sched_stamp_of(last_time));
    return m;
}

void bed_fill(struct bed *b, uint32_t pipe, unsigned queue, uint32_t size, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct rte_mbuf *m = bed_packet(pipe, queue, size);
        sched_enqueue(b->s, &m, 1);
    }
}

void bed_reset(struct bed *b)
{
    memset(b->bytes, 0, sizeof(b->bytes));
    memset(b->packets, 0, sizeof(b->packets));
    memset(b->first, 0, sizeof(b->first));
    memset(b->last, 0, sizeof(b->last));
    memset(b->first_lost, 0, sizeof(b->first_lost));
    memset(b->last_lost, 0, sizeof(b->last_lost));
    b->lost = sched_lost_cycles(b->s);
    b->away = (struct absence){0};
}

static void count(struct bed *b, const struct rte_mbuf *m, uint64_t now, uint64_t lost)
{
    uint32_t q = m->hash.sched.queue_id;

    if (b->first[q] == 0) {
        b->first[q] = now;
        b->first_lost[q] = lost;
    } else {
        b->bytes[q] += m->pkt_len + BED_FCS;
    }
    b->packets[q]++;
    b->last[q] = now;
    b->last_lost[q] = lost;
}

uint64_t bed_now(const struct bed *b)
{
    return b->real_time ? rte_rdtsc() : b->clock;
}

uint32_t bed_dequeue(struct bed *b, struct rte_mbuf **m, uint32_t n)
{
    if (b->real_time)
        return sched_dequeue(b->s, m, n);
    b->clock += rte_get_tsc_hz() / STEPS_PER_SECOND;
    last_time = b->clock;
    return sched_dequeue_at(b->s, b->clock, m, n);
}

void bed_empty_in_two(struct bed *b, uint32_t pipe, unsigned queue)
{
    struct rte_mbuf *m[BED_BURST];
    uint32_t got;

    bed_fill(b, pipe, queue, 100, 12);
    got = bed_dequeue(b, m, 2);
    got += bed_dequeue(b, m + got, BED_BURST - got);
    EXPECT(got == 12 && sched_held(b->s) == 0, "%u", got);
    rte_pktmbuf_free_bulk(m, got);
}

void bed_turn(struct bed *b)
{
    struct rte_mbuf *m[BED_BURST];
    uint64_t before = bed_now(b);
    uint32_t n = bed_dequeue(b, m, BED_BURST);
    uint64_t now = b->real_time ? before : bed_now(b);
    uint64_t lost = sched_lost_cycles(b->s);

    if (b->real_time)
        absence_look(&b->away, now, rte_get_tsc_hz() / TURNS_PER_SECOND);
    for (uint32_t i = 0; i < n; i++)
        count(b, m[i], now, lost);
    for (uint32_t i = 0; i < n; i++)
        sched_tell(m[i], m[i]->hash.sched.queue_id, sched_stamp_of(now));
    sched_enqueue(b->s, m, n);
}

void bed_run(struct bed *b, double seconds)
{
    uint64_t end = bed_now(b) + (uint64_t)(seconds * rte_get_tsc_hz());

    while (bed_now(b) < end)
        bed_turn(b);
}

/* Cycles of the scheduler's time from queue p's first packet to queue q's last. */
static double between(const struct bed *b, uint32_t p, uint32_t q)
{
    return (double)(b->last[q] - b->last_lost[q]) - (double)(b->first[p] - b->first_lost[p]);
}

double bed_rate(const struct bed *b, uint32_t pipe, unsigned queue)
{
    uint32_t q = pipe * QOS_QUEUES + queue;
    double cycles = between(b, q, q);

    return cycles > 0 ? b->bytes[q] * 8.0 * rte_get_tsc_hz() / cycles : 0;
}

double bed_sum(const struct bed *b, uint32_t first_pipe, uint32_t n_pipes)
{
    uint32_t first = first_pipe * QOS_QUEUES, end = first + n_pipes * QOS_QUEUES;
    uint32_t earliest = UINT32_MAX, latest = first;
    uint64_t bytes = 0;

    for (uint32_t q = first; q < end; q++) {
        if (b->packets[q] == 0)
            continue;
        bytes += b->bytes[q];
        if (earliest == UINT32_MAX || b->first[q] < b->first[earliest])
            earliest = q;
        if (b->last[q] > b->last[latest])
            latest = q;
    }
    double cycles = earliest == UINT32_MAX ? 0 : between(b, earliest, latest);
    return cycles > 0 ? bytes * 8.0 * rte_get_tsc_hz() / cycles : 0;
}

/* After this thread was away, credits of that time leave in a burst, which does not belong into
 * what is measured next: wait until there was none for some ms. */
static void settle(struct bed *b)
{
    uint64_t ms = rte_get_tsc_hz() / 1000, start = bed_now(b), calm = start, now = start;

    while (now - calm < 3 * ms && now - start < 1000 * ms) {
        uint64_t before = now;
        bed_turn(b);
        now = bed_now(b);
        if (now - before > ms / 5)
            calm = now;
    }
}

/* This thread was kept away so long, or so often, that what came out says nothing of the rates. */
static bool kept_away(const struct bed *b, double seconds)
{
    double hz = rte_get_tsc_hz();

    return b->away.longest / hz > seconds * BED_LONGEST || b->away.sum / hz > seconds * BED_AWAY;
}

/* What has failed before still counts. */
static void not_judged(void)
{
    printf("\nSKIP every measurement was disturbed: others take the CPU of this test\n");
    exit(CU_get_number_of_failures() > 0 ? 1 : PROGRAM_SKIPPED);
}

void bed_measure(struct bed *b, double warm_up, double seconds)
{
    double spent = 0, lost = 0;
    bool away = false;

    bed_reset(b);
    bed_run(b, warm_up);
    do {
        settle(b);
        bed_reset(b);
        bed_run(b, seconds);
        spent += seconds;
        b->lost = sched_lost_cycles(b->s) - b->lost;
        lost = (double)b->lost / rte_get_tsc_hz();
        away = kept_away(b, seconds);
        if (away || b->lost != 0)
            printf(
                "\n    note: disturbed: this thread was away for %.1f ms, %.1f ms at once, and the "
                "scheduler lost %.1f ms ",
                b->away.sum * 1e3 / rte_get_tsc_hz(), b->away.longest * 1e3 / rte_get_tsc_hz(),
                1e3 * lost);
    } while ((away || b->lost != 0) && spent < BED_PATIENCE);
    if (away || lost > seconds / 2)
        not_judged();
}

unsigned bed_seed(unsigned *rounds)
{
    const char *given = getenv("SEED");
    unsigned seed = FIRST_SEED;

    if (given != NULL && strcmp(given, "any") == 0) {
        seed = (unsigned)rte_rdtsc() % 1000000;
    } else if (given != NULL) {
        seed = (unsigned)atoi(given);
        *rounds = 1;
    }
    printf(" SEED=%u ", seed);
    return seed;
}

int bed_open(void)
{
    char lcores[64];

    if (test_argument != NULL && strcmp(test_argument, "wheel") == 0) {
        bed_backend = QOS_WHEEL;
    } else if (test_argument != NULL && strcmp(test_argument, "wheel_by_pipe") == 0) {
        bed_backend = QOS_WHEEL;
        wheel_by_pipe_from = 0;
    } else if (test_argument != NULL && strcmp(test_argument, "librte_sched") == 0) {
        bed_backend = QOS_LIBRTE_SCHED;
    } else {
        fprintf(stderr, "the argument: expected wheel, wheel_by_pipe or librte_sched\n");
        return 2;
    }
    absence_avoid(); /* and on any CPU that is free: */
    snprintf(lcores, sizeof(lcores), "0@(0-%ld)", sysconf(_SC_NPROCESSORS_ONLN) - 1);
    if (test_eal_start(640, lcores) != 0)
        return 2;
    bed_pool = rte_pktmbuf_pool_create("bed", BED_MBUFS, 256, 0, DATA_ROOM, 0);
    return bed_pool != NULL ? 0 : 2;
}

int bed_close(void)
{
    test_eal_stop();
    return 0;
}
