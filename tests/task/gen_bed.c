/* SPDX-License-Identifier: BSD-3-Clause */
#include "gen_bed.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tasks/task_types.h"

char gen_path[] = "/tmp/vbng-gen-XXXXXX";

const char *with_template(const char *text, const char *rest)
{
    static char params[256];
    FILE *f = fopen(gen_path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(text, f);
    fclose(f);
    snprintf(params, sizeof(params), "template=%s %s", gen_path, rest);
    return params;
}

struct rig *open_gen(const char *text, const char *rest)
{
    harness_model.ports[0].line_rate = 10000000000;
    return rig_open(&task_gen, with_template(text, rest), "to");
}

uint32_t be(const uint8_t *at, unsigned size)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < size; i++)
        v = v << 8 | at[i];
    return v;
}

uint64_t made(struct rig *r, uint64_t time, uint64_t step)
{
    uint64_t before = rig_task(r)->created;

    for (uint64_t now = 1; now <= time; now += step) {
        if (rig_poll(r, now) > 0)
            rig_clear(r);
    }
    return rig_task(r)->created - before;
}

int gen_open(void)
{
    int fd = mkstemp(gen_path);

    return fd < 0 || close(fd) != 0 ? EXIT_FAILURE : harness_open();
}

int gen_close(void)
{
    unlink(gen_path);
    return harness_close();
}
