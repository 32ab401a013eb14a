/* SPDX-License-Identifier: BSD-3-Clause */
/* account: what it counts of which frame. */
#include "tasks/account.h"
#include "engine/meta.h"
#include "frames.h"
#include "tasks/task_types.h"

#define LEN 200 /* of each frame: what is behind its packet is padding */

/* A frame of a line, its type, and what stands behind that. */
static struct rte_mbuf *frame_of(uint32_t subscriber, uint16_t type, const uint8_t *head, size_t n)
{
    struct frame f = {0};
    struct rte_mbuf *m;

    put_qinq(&f, GATEWAY_MAC(CPE0), CPE_MAC(1), 0x88a8, 128, 256, type);
    memcpy(f.b + f.len, head, n);
    f.len = LEN;
    m = frame_mbuf(&f, CPE0);
    meta_set_subscriber(m, subscriber);
    return m;
}

static struct account_counter counted(struct rig *r, uint32_t id)
{
    struct account_counter c = {0};

    account_add(rig_task(r), id, &c);
    return c;
}

static const struct {
    uint16_t type;
    uint8_t head[16];
    struct account_counter count; /* packets and octets of IPv4, then of IPv6 */
} kinds[] = {
    {0x0800, {0x45, 0, 0, 100}, {{1, 0}, {100, 0}}},
    {0x0800, {0x45, 0, 0xff, 0xff}, {{1, 0}, {65535, 0}}},
    {0x86dd, {0x60, 0, 0, 0, 0, 100}, {{0, 1}, {0, 140}}}, /* 40 octets are the header */
    {0x8864, {0x11, 0, 0, 7, 0, 102, 0x00, 0x21, 0x45, 0, 0, 100}, {{1, 0}, {100, 0}}},
    {0x8864, {0x11, 0, 0, 7, 0, 142, 0x00, 0x57, 0x60, 0, 0, 0, 0, 100}, {{0, 1}, {0, 140}}},
    {0x8864, {0x11, 0, 0, 7, 0, 10, 0xc0, 0x21, 9, 1, 0, 8}, {{0, 0}, {0, 0}}}, /* LCP */
    {0x0806, {0, 1, 8, 0}, {{0, 0}, {0, 0}}},
};

static void kinds_of_frames(void)
{
    for (unsigned i = 0; i < RTE_DIM(kinds); i++) {
        struct rig *r = rig_open(&task_account, "direction=up", NULL);
        struct account_counter c;

        FATE(r, frame_of(SUB_CPE1, kinds[i].type, kinds[i].head, sizeof(kinds[i].head)), "to");
        c = counted(r, SUB_CPE1);
        CU_ASSERT_EQUAL(memcmp(&c, &kinds[i].count, sizeof(c)), 0);
        rig_close(r);
    }
}

/* Each has counters of his own, beyond 32 bits. */
static void subscribers(void)
{
    static const uint8_t head[4] = {0x45, 0, 0, 100};
    struct rig *r = rig_open(&task_account, "direction=down", NULL);
    struct rte_mbuf *m[60];

    CU_ASSERT_EQUAL(account_direction(rig_task(r)), DIRECTION_DOWN);
    for (unsigned i = 0; i < RTE_DIM(m); i++)
        m[i] = frame_of(1 + i % 3, 0x0800, head, sizeof(head));
    rig_burst(r, m, RTE_DIM(m));
    CU_ASSERT_EQUAL(rig_captured(r, "to"), RTE_DIM(m));
    for (uint32_t id = 1; id <= 3; id++) {
        CU_ASSERT_EQUAL(counted(r, id).packets[FAMILY_IPV4], 20);
        CU_ASSERT_EQUAL(counted(r, id).octets[FAMILY_IPV4], 2000);
    }
    CU_ASSERT_EQUAL(counted(r, 4).packets[FAMILY_IPV4], 0);
    rig_close(r);
}

static const struct test tests[] = {
    {"kinds of frames", kinds_of_frames},
    {"each subscriber", subscribers},
    {NULL, NULL},
};

const struct test_program test_program = {"account", tests, harness_open, harness_close};
