/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a device with fast free counts on, of each mbuf that leaves by each transmit queue: only
 * pools that the plan says; and where the plan allows fast free, one of them, the packet in one
 * direct mbuf, with one reference. Taps are at all points, as of a capture of everything.
 */
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "bed.h"
#include "common/program.h"
#include "engine/tap.h"
#include "plan/facts.h"

#define MILLISECONDS 300
#define MOST_QUEUES  16

/** What has left by a transmit queue. */
struct left {
    unsigned port, queue;
    uint64_t pools, packets, wrong;
};

static struct left queues[MOST_QUEUES];
static unsigned n_queues;

static unsigned number_of(const struct rte_mempool *pool)
{
    for (unsigned i = 0; i < engine.plan->n_pools; i++)
        if (engine.pools[i] == pool)
            return i;
    return PLAN_MAX_POOLS;
}

static uint16_t look(uint16_t dpdk_port, uint16_t queue, struct rte_mbuf **m, uint16_t n, void *arg)
{
    struct left *q = arg;

    (void)dpdk_port;
    (void)queue;
    for (uint16_t i = 0; i < n; i++) {
        q->pools |= UINT64_C(1) << number_of(m[i]->pool);
        q->wrong += rte_mbuf_refcnt_read(m[i]) != 1 || m[i]->nb_segs != 1 || m[i]->next != NULL ||
                    !RTE_MBUF_DIRECT(m[i]);
    }
    q->packets += n;
    return n;
}

static void look_at_queues(void)
{
    for (unsigned i = 0; i < engine.plan->cfg->n_ports; i++)
        for (uint16_t q = 0; q < engine.plan->tx_queues[i]; q++) {
            CU_ASSERT_FATAL(n_queues < MOST_QUEUES);
            queues[n_queues] = (struct left){.port = i, .queue = q};
            CU_ASSERT_PTR_NOT_NULL(
                rte_eth_add_tx_callback(engine.ports[i].dpdk_id, q, look, &queues[n_queues]));
            n_queues++;
        }
}

static struct tap_wants wants = {.snaplen = 64, .every = 1, .rx = UINT64_MAX, .tx = UINT64_MAX};

static void tap_everything(struct tap_set *taps)
{
    unsigned n = engine.plan->n_instances;

    wants.before = malloc(n * sizeof(bool));
    wants.after = malloc(n * sizeof(bool));
    wants.reasons = malloc(n * sizeof(uint64_t));
    memset(wants.before, true, n * sizeof(bool));
    memset(wants.after, true, n * sizeof(bool));
    memset(wants.reasons, 0xff, n * sizeof(uint64_t));
    plan_facts(engine.plan->cfg, wants.facts);
    CU_ASSERT_EQUAL_FATAL(tap_create(&engine, taps, &wants, 0), 0);
    CU_ASSERT_EQUAL_FATAL(tap_install(&engine, taps), 0);
}

static void run(void)
{
    uint64_t end = rte_rdtsc() + rte_get_tsc_hz() / 1000 * MILLISECONDS;

    while (rte_rdtsc() < end)
        for (unsigned c = 0; c < engine.plan->n_cores; c++)
            core_round(engine.cores[c], rte_rdtsc());
}

/* The packets that instances of a type of task have made. */
static uint64_t created(const char *type)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < engine.plan->n_instances; i++)
        if (strcmp(engine.tasks[i]->type->schema.type, type) == 0)
            sum += engine.tasks[i]->created;
    return sum;
}

/* The packets that schedulers have dropped while a tap looked, which takes second references. */
static uint64_t dropped(void)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < engine.plan->n_instances; i++)
        for (unsigned r = 0; engine.tasks[i]->type->drops_itself && r < N_TASK_DROPS; r++)
            sum += engine.tasks[i]->drops[r];
    return sum;
}

static void all_that_leaves(void)
{
    const struct plan *p = engine.plan;
    unsigned fast = 0, mixed = 0;
    struct tap_set taps;

    look_at_queues();
    tap_everything(&taps);
    run();
    CU_ASSERT_EQUAL(tap_remove(&engine), 0);
    tap_free(&engine, &taps);
    run();
    for (unsigned i = 0; i < n_queues; i++) {
        const struct left *q = &queues[i];
        const char *port = p->cfg->ports[q->port].name;
        uint64_t said = p->tx[q->port][q->queue].mbufs;

        EXPECT(q->packets > 0, "%s tx %u sent nothing", port, q->queue);
        EXPECT((q->pools & ~said) == 0, "%s tx %u: pools %llx, not only %llx", port, q->queue,
               (unsigned long long)q->pools, (unsigned long long)said);
        if (plan_fast_free(p, q->port, q->queue, NULL, 0)) {
            EXPECT(q->wrong == 0, "%s tx %u: %llu mbufs", port, q->queue,
                   (unsigned long long)q->wrong);
            fast++;
        } else {
            mixed += (q->pools & (q->pools - 1)) != 0;
        }
    }
    CU_ASSERT(fast > 0 && mixed > 0);
    CU_ASSERT(created("arp") > 0 && created("fragment") > 0 && created("impair") > 0);
    CU_ASSERT(dropped() > 0);
    free(wants.before);
    free(wants.after);
    free(wants.reasons);
}

static const struct test tests[] = {
    {"all that leaves", all_that_leaves},
    {NULL, NULL},
};

const struct test_program test_program = {"fast free", tests, bed_open, bed_close};
