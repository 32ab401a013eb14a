/* SPDX-License-Identifier: BSD-3-Clause */
/* A qos task of four subscribers in two subports, and packets for its queues. */
#ifndef TEST_TASK_QOS_RIG_H
#define TEST_TASK_QOS_RIG_H

#include <string.h>

#include <rte_cycles.h>

#include "harness.h"
#include "tasks/qos.h"
#include "tasks/task_types.h"

enum { PROFILE_1M, PROFILE_10M, PROFILE_50M, PROFILE_100M, N_PROFILES };
enum { PIPES = 4, PIPES_PER_SUBPORT = 2 };

#define MBIT UINT64_C(1000000)

static struct cfg_profile qos_profiles[N_PROFILES];
static struct cfg_subport qos_subports[] = {
    {.name = "s0", .port = CPE0, .svlan_first = 1, .svlan_last = 1},
    {.name = "s1", .port = CPE0, .svlan_first = 2, .svlan_last = 2}};
static struct cfg_scheduler qos_shape;
static struct cfg_subscriber qos_subscribers[PIPES];

/* Everything as the configuration has it by default: 1 Gbit/s, classes 0 and best effort. */
static inline void qos_model(void)
{
    static const uint64_t rates[N_PROFILES] = {1 * MBIT, 10 * MBIT, 50 * MBIT, 100 * MBIT};
    static const char *const names[N_PROFILES] = {"1M", "10M", "50M", "100M"};

    for (unsigned i = 0; i < N_PROFILES; i++) {
        struct qos_shape s = {.rate = rates[i],
                              .burst = 4000,
                              .tc_period_ms = 40,
                              .weight = {1, 1, 1, 1},
                              .oversubscription_weight = 1};

        for (unsigned c = 0; c < QOS_CLASSES; c++)
            s.class_rate[c] = rates[i];
        qos_profiles[i] = (struct cfg_profile){.name = names[i], .shape = {s, s}};
    }
    qos_shape = (struct cfg_scheduler){.name = "acc",
                                       .rate = 1000 * MBIT,
                                       .overhead = 4,
                                       .mtu = 1522,
                                       .n_subports = RTE_DIM(qos_subports),
                                       .subports = qos_subports,
                                       .pipes_per_subport = PIPES_PER_SUBPORT};
    qos_shape.class[0].size = qos_shape.class[QOS_BE].size = 64;
    for (unsigned i = 0; i < RTE_DIM(qos_subports); i++) {
        qos_subports[i].rate[QOS_UP] = qos_subports[i].rate[QOS_DOWN] = qos_shape.rate;
        qos_subports[i].n_pipes = PIPES_PER_SUBPORT;
        for (unsigned c = 0; c < QOS_CLASSES; c++)
            qos_subports[i].class_rate[c] = qos_shape.rate;
    }
    for (uint32_t i = 0; i < PIPES; i++)
        qos_subscribers[i] =
            (struct cfg_subscriber){.port = CPE0, .profile = PROFILE_10M, .pipe = i};
    harness_model.qos = (struct cfg_qos){.n_profiles = N_PROFILES,
                                         .n_schedulers = 1,
                                         .profiles = qos_profiles,
                                         .schedulers = &qos_shape};
    harness_model.subscribers = qos_subscribers;
    harness_model.n_subscribers = PIPES;
}

/* A packet of size bytes on the line, with its number in the payload, for a path. */
static inline struct rte_mbuf *numbered(uint32_t path, uint32_t number, uint16_t size)
{
    uint8_t bytes[1600] = {0};
    struct rte_mbuf *m;

    memcpy(bytes + 14, &number, sizeof(number));
    m = mbuf_from_bytes(bytes, size - 4u, CPE0);
    meta_set_path(m, path);
    return m;
}

static inline uint32_t number_of(const struct rte_mbuf *m)
{
    uint32_t number;

    memcpy(&number, rte_pktmbuf_mtod_offset(m, uint8_t *, 14), sizeof(number));
    return number;
}

/* n packets, numbered from first on; one burst after the other, without a poll. */
static inline void put_numbered(struct rig *r, uint32_t path, uint32_t first, unsigned n,
                                uint16_t size)
{
    for (unsigned i = 0; i < n; i++) {
        struct rte_mbuf *m = numbered(path, first + i, size);

        rig_burst(r, &m, 1);
    }
}

static inline uint64_t rig_held(struct rig *r)
{
    return rig_task(r)->type->held(rig_task(r));
}

static inline const struct qos *rig_qos(struct rig *r)
{
    return qos_state(rig_task(r));
}

/* Poll until nothing waits, at most 10 s. */
static inline void drain(struct rig *r)
{
    uint64_t start = rte_rdtsc();

    while (rig_held(r) > 0 && rte_rdtsc() - start < 10 * rte_get_tsc_hz())
        rig_poll(r, rte_rdtsc());
    CU_ASSERT_EQUAL(rig_held(r), 0);
}

static inline struct rig *qos_open(void)
{
    return rig_open(&task_qos, "scheduler=0 direction=up", NULL);
}

#endif
