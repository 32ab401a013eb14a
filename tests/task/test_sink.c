/* SPDX-License-Identifier: BSD-3-Clause */
/* sink: every packet ends there, and its bytes are counted. */
#include <string.h>

#include "harness.h"
#include "tasks/task_types.h"

static void counts(void)
{
    struct rig *r = rig_open(&task_sink, "", "");
    struct rte_mbuf *m[200];
    static const uint8_t bytes[1514];
    uint64_t total = 0;

    for (unsigned i = 0; i < RTE_DIM(m); i++) {
        size_t len = i % 2 == 0 ? 60 : i == 1 ? 1 : 1514;

        m[i] = mbuf_from_bytes(bytes, len, CPE0);
        total += len;
    }
    rig_burst(r, m, RTE_DIM(m));
    CU_ASSERT_EQUAL(rig_task(r)->in, 200);
    CU_ASSERT_EQUAL(rig_task(r)->consumed, 200);
    CU_ASSERT_STRING_EQUAL(task_sink.stat_names[0], "bytes");
    CU_ASSERT_STRING_EQUAL(task_sink.stat_names[1], "unstamped");
    CU_ASSERT_EQUAL(task_sink.stat(rig_task(r), 1), 0);
    CU_ASSERT_EQUAL(task_sink.stat(rig_task(r), 0), total);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, mbuf_from_bytes(bytes, 60, CORE1)), "consumed");
    CU_ASSERT_EQUAL(task_sink.stat(rig_task(r), 0), total + 60);
    rig_close(r);
}

int main(void)
{
    static const struct harness_test tests[] = {{"counts", counts}, {NULL, NULL}};

    return harness_main("sink", tests);
}
