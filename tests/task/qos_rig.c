/* SPDX-License-Identifier: BSD-3-Clause */
#include "qos_rig.h"

#include <string.h>

#include <rte_cycles.h>

struct absence qos_away;
struct cfg_profile qos_profiles[N_PROFILES];
struct cfg_subport qos_subports[SUBPORTS] = {
    {.name = "s0", .port = CPE0, .svlan_first = 1, .svlan_last = 1},
    {.name = "s1", .port = CPE0, .svlan_first = 2, .svlan_last = 2}};
struct cfg_scheduler qos_shape;
struct cfg_subscriber qos_subscribers[PIPES];

void qos_model(void)
{
    static const uint64_t rates[N_PROFILES] = {1 * MBIT, 10 * MBIT, 50 * MBIT, 100 * MBIT};
    static const char *const names[N_PROFILES] = {"1M", "10M", "50M", "100M"};

    for (unsigned i = 0; i < N_PROFILES; i++) {
        struct qos_shape s = plain_shape(rates[i], 4000);

        qos_profiles[i] = (struct cfg_profile){.name = names[i], .shape = {s, s}};
    }
    qos_shape =
        plain_scheduler(1000 * MBIT, qos_subports, RTE_DIM(qos_subports), PIPES_PER_SUBPORT);
    qos_shape.name = "acc";
    qos_shape.mtu = 1522;
    qos_shape.class[0].size = 64;
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

struct rte_mbuf *numbered(uint32_t path, uint32_t number, uint16_t size)
{
    uint8_t bytes[1600] = {0};
    struct rte_mbuf *m;

    memcpy(bytes + 14, &number, sizeof(number));
    m = mbuf_from_bytes(bytes, size - 4u, CPE0);
    meta_set_path(m, path);
    return m;
}

uint32_t number_of(const struct rte_mbuf *m)
{
    uint32_t number;

    memcpy(&number, rte_pktmbuf_mtod_offset(m, uint8_t *, 14), sizeof(number));
    return number;
}

void put_numbered(struct rig *r, uint32_t path, uint32_t first, unsigned n, uint16_t size)
{
    for (unsigned i = 0; i < n; i++) {
        struct rte_mbuf *m = numbered(path, first + i, size);

        rig_burst(r, &m, 1);
    }
}

uint64_t rig_held(struct rig *r)
{
    return rig_task(r)->type->held(rig_task(r));
}

const struct qos *rig_qos(struct rig *r)
{
    return qos_state(rig_task(r));
}

void drain(struct rig *r)
{
    uint64_t start = rte_rdtsc();

    while (rig_held(r) > 0 && rte_rdtsc() - start < 10 * rte_get_tsc_hz())
        rig_poll(r, rte_rdtsc());
    CU_ASSERT_EQUAL(rig_held(r), 0);
}

struct rig *qos_open(void)
{
    return rig_open(&task_qos, "scheduler=0 direction=up", NULL);
}

const struct sched_pipe_counters *sent_of(struct rig *r, uint32_t pipe)
{
    return sched_pipe_counters(rig_qos(r)->sched, pipe);
}

uint64_t delivered(struct rig *r, double seconds, double *took)
{
    uint64_t now = rte_rdtsc(), end = now + (uint64_t)(seconds * (double)rte_get_tsc_hz()),
             start = rig_qos(r)->asked, before = sent_of(r, 0)->bytes;

    qos_away = (struct absence){.looked = now};
    while (rte_rdtsc() < end) {
        absence_look(&qos_away, rte_rdtsc(), rte_get_tsc_hz() / 1000);
        if (rig_held(r) < 40)
            put_numbered(r, path_of(0, BE_QUEUE), 0, 20, 1000);
        rig_poll(r, rte_rdtsc());
        rig_clear(r);
    }
    absence_look(&qos_away, rte_rdtsc(), rte_get_tsc_hz() / 1000); /* in the last turn, too */
    *took = (double)(rig_qos(r)->asked - start) / (double)rte_get_tsc_hz();
    return sent_of(r, 0)->bytes - before;
}
