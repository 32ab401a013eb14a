/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/program.h"
#include "qos_bed.h"

static const char *const directions[] = {"up", "down", NULL};
static const struct task_schema classify = {
    .type = "classify",
    .outputs = {{.name = "to"}},
    .params =
        (const struct task_param[]){
            {.name = "scheduler", .type = PARAM_SCHEDULER, .set_gives = FACT_PATH}},
    .n_params = 1,
    .gives = FACT_SUBSCRIBER};
static const struct task_schema qos = {
    .type = "qos",
    .outputs = {{.name = "to"}},
    .params =
        (const struct task_param[]){
            {.name = "scheduler", .type = PARAM_SCHEDULER, .required = true},
            {.name = "direction", .type = PARAM_ENUM, .choices = directions, .required = true}},
    .n_params = 2,
    .needs = FACT_PATH};
static const struct task_schema *const schemas[] = {&classify, &qos, NULL};

struct diags qos_diags;
const char *qos_cores = "0";

#define PORTS                                                                                      \
    "ports = ( { name = \"a\"; device = \"net_null0\"; }, { name = \"b\"; device = "               \
    "\"net_null1\"; } );\n"
#define TASKS                                                                                      \
    "tasks = ( { name = \"c\"; type = \"classify\"; from = \"a\"; scheduler = \"s\"; to = "        \
    "\"q\"; }, { name = \"q\"; type = \"qos\"; scheduler = \"s\"; direction = \"up\"; to = "       \
    "\"b\"; } );\nlayout = ( { core = \"%s\"; tasks = [\"c\", \"q\"]; } );\n"
struct cfg_model *qos_load(const char *fmt, ...)
{
    char path[] = "/tmp/vbng-test-qos-XXXXXX";
    struct config_options options = {.schemas = schemas, .topology = "1x8x1"};
    FILE *f = fdopen(mkstemp(path), "w");
    struct cfg_model *m;
    va_list args;

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fprintf(f, PORTS TASKS, qos_cores);
    va_start(args, fmt);
    vfprintf(f, fmt, args);
    va_end(args);
    fclose(f);
    diag_free(&qos_diags);
    memset(&qos_diags, 0, sizeof(qos_diags));
    m = config_load(path, &options, &qos_diags);
    if (m == NULL)
        diag_print(&qos_diags, stderr);
    unlink(path);
    return m;
}

int qos_free_diags(void)
{
    diag_free(&qos_diags);
    return 0;
}
