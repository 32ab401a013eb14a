/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes.h"

#include <string.h>

#include "rig.h"

struct lane lane_open(const struct step *steps, const char *outputs)
{
    struct lane l = {0};

    for (; steps[l.n].type != NULL; l.n++)
        l.rig[l.n] = rig_open(steps[l.n].type, steps[l.n].params,
                              steps[l.n + 1].type == NULL    ? outputs
                              : strchr(outputs, ' ') != NULL ? NULL
                                                             : "to");
    for (unsigned i = 0; i + 1 < l.n; i++)
        link_to_task(rig_task(l.rig[i])->output[0], rig_task(l.rig[i + 1]));
    return l;
}

void lane_clear(struct lane *l)
{
    for (unsigned i = 0; i < l->n; i++)
        rig_clear(l->rig[i]);
}

void lane_close(struct lane *l)
{
    lane_clear(l);
    for (unsigned i = 0; i < l->n; i++)
        rig_close(l->rig[i]);
}

void lane_run(struct lane *l, struct rte_mbuf **m, unsigned n, uint16_t port)
{
    rig_task(l->rig[0])->in_port = port;
    rig_burst(l->rig[0], m, n);
    rig_task(l->rig[0])->in_port = PORT_IN_MBUF;
}

uint64_t lane_drops(const struct lane *l)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < l->n; i++)
        for (unsigned d = 0; d < N_TASK_DROPS; d++)
            sum += rig_task(l->rig[i])->drops[d];
    return sum;
}

static void same_traffic(const struct task *a, const struct task *b)
{
    CU_ASSERT_EQUAL(a->direction, b->direction);
    CU_ASSERT_EQUAL(memcmp(a->traffic, b->traffic, sizeof(a->traffic)), 0);
}

static bool same_packet(const struct rte_mbuf *a, const struct rte_mbuf *b)
{
    return a->data_off == b->data_off && a->nb_segs == b->nb_segs && a->port == b->port &&
           meta_subscriber(a) == meta_subscriber(b) && meta_nexthop(a) == meta_nexthop(b) &&
           a->vlan_tci_outer == b->vlan_tci_outer && meta_path(a) == meta_path(b) &&
           a->pkt_len == b->pkt_len && a->data_len == b->data_len &&
           mbuf_is(b, rte_pktmbuf_mtod(a, void *), a->data_len);
}

static void compare_way(const struct capture *a, const struct capture *b)
{
    CU_ASSERT_EQUAL_FATAL(a->n, b->n);
    for (unsigned i = 0; i < a->n; i++)
        if (!same_packet(a->m[i], b->m[i]))
            CU_FAIL("another packet");
}

static void compare_task(const struct rig *a, const struct rig *b)
{
    CU_ASSERT_EQUAL(a->task->in, b->task->in);
    CU_ASSERT_EQUAL(a->task->created, b->task->created);
    CU_ASSERT_EQUAL(a->task->consumed, b->task->consumed);
    CU_ASSERT_EQUAL(memcmp(a->task->drops, b->task->drops, sizeof(a->task->drops)), 0);
    for (unsigned i = 0; i < a->task->n_outs; i++)
        CU_ASSERT_EQUAL(a->task->outs[i].sent, b->task->outs[i].sent);
    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
        for (unsigned w = 0; w < RIG_MAX_WAYS; w++)
            compare_way(&a->way[o][w], &b->way[o][w]);
}

void lanes_compare(struct lane *a, struct lane *b)
{
    for (unsigned i = 0; i < a->n; i++) {
        compare_task(a->rig[i], b->rig[i]);
        same_traffic(rig_task(a->rig[i]), rig_task(b->rig[i]));
    }
    lane_clear(a);
    lane_clear(b);
}
