/* SPDX-License-Identifier: BSD-3-Clause */
/* forward: packets pass unchanged. */
#include "frames.h"
#include "tasks/task_types.h"

static void passes_unchanged(void)
{
    struct rig *r = rig_open(&task_forward, "", NULL);
    struct rte_mbuf *m[70];
    struct frame f = {0};

    for (unsigned i = 0; i < RTE_DIM(m); i++) {
        f.len = (uint16_t)i;
        f.b[i] = (uint8_t)i;
        m[i] = frame_mbuf(&f, CPE0);
    }
    rig_burst(r, m, RTE_DIM(m));
    CU_ASSERT_EQUAL(rig_captured(r, "to"), RTE_DIM(m));
    for (unsigned i = 0; i < RTE_DIM(m); i++)
        CU_ASSERT(mbuf_is(rig_out(r, "to", 0, i), f.b, i));
    rig_close(r);
}

/* Where it has several ways, the packet's egress port says which; without a way it is a drop. */
static void goes_by_egress_port(void)
{
    struct rig *r = rig_open(&task_forward, "", "to:4");
    struct frame f = {.len = 60};
    struct rte_mbuf *m;
    static const char *const ways[] = {"to/0", "to/1", "to/2", "to/3"};

    for (unsigned port = 0; port < 4; port++) {
        m = frame_mbuf(&f, CPE0);
        meta_set_out_port(m, (uint8_t)port);
        FATE(r, m, ways[port]);
    }
    m = frame_mbuf(&f, CPE0);
    meta_set_out_port(m, 200);
    FATE(r, m, "drop no_path");
    rig_lose_path(r, "to", CORE0);
    m = frame_mbuf(&f, CPE0);
    meta_set_out_port(m, CORE0);
    FATE(r, m, "drop no_path");
    rig_close(r);
}

static const struct test tests[] = {
    {"packets pass unchanged", passes_unchanged},
    {"several ways: by egress port", goes_by_egress_port},
    {NULL, NULL},
};

const struct test_program test_program = {"forward", tests, harness_open, harness_close};
