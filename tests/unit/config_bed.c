/* SPDX-License-Identifier: BSD-3-Clause */
#include "config_bed.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const words[] = {"one", "two", NULL};
const struct task_schema bed_work = {
    .type = "work",
    .kind = TASK_WORKER,
    .params =
        (const struct task_param[]){
            {.name = "count", .type = PARAM_COUNT, .def = "4K", .min = 1, .max = 8192},
            {.name = "size", .type = PARAM_SIZE, .def = "0", .max = 9022},
            {.name = "rate", .type = PARAM_RATE},
            {.name = "time", .type = PARAM_DURATION, .def = "5ms"},
            {.name = "flag", .type = PARAM_BOOL, .def = "true"},
            {.name = "word", .type = PARAM_ENUM, .def = "two", .choices = words},
            {.name = "address", .type = PARAM_IPV4},
            {.name = "text", .type = PARAM_STRING, .def = "x"},
            {.name = "range", .type = PARAM_RANGE, .def = "3-9"},
            {.name = "load", .type = PARAM_LOAD, .def = "50%"},
            {.name = "burst", .type = PARAM_COUNT, .def = "100", .max = 1000},
            {.name = "share", .type = PARAM_SHARE, .def = "1/4"}},
    .n_params = 12,
    .outputs = {{.name = "to"}, {.name = "punt"}},
};
static const struct task_schema source = {
    .type = "source",
    .kind = TASK_SOURCE,
    .params = (const struct task_param[]){{.name = "template", .type = PARAM_TEMPLATE},
                                          {.name = "size", .type = PARAM_SIZES, .def = "0"}},
    .n_params = 2,
    .outputs = {{.name = "to"}},
};
static const struct task_schema end = {.type = "end", .kind = TASK_SINK};
static const struct task_schema *const schemas[] = {&bed_work, &source, &end, NULL};

char bed_folder[] = "/tmp/vbng-test-config-XXXXXX";
struct diags bed_diags;
struct config_options bed_options;

int bed_open(void)
{
    return mkdtemp(bed_folder) == NULL;
}

int bed_close(void)
{
    static const char *const names[] = {"test.cfg", "t.csv", "x.tmpl"};
    char path[128];

    diag_free(&bed_diags);
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", bed_folder, names[i]);
        unlink(path);
    }
    return rmdir(bed_folder);
}

void bed_put(const char *name, const char *text, size_t len)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", bed_folder, name);
    f = fopen(path, "w");
    if (f == NULL || fwrite(text, 1, len, f) != len || fclose(f) != 0)
        abort();
}

void bed_put_text(const char *name, const char *text)
{
    bed_put(name, text, strlen(text));
}

struct cfg_model *bed_load(const char *fmt, ...)
{
    char *text, path[128];
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        abort();
    va_end(args);
    bed_put_text("test.cfg", text);
    free(text);
    diag_free(&bed_diags);
    bed_options.schemas = schemas;
    snprintf(path, sizeof(path), "%s/test.cfg", bed_folder);
    return config_load(path, &bed_options, &bed_diags);
}

bool bed_said(enum diag_level level, const char *text)
{
    for (size_t i = 0; i < bed_diags.n; i++)
        if (bed_diags.list[i].level == level && strstr(bed_diags.list[i].text, text) != NULL)
            return true;
    return false;
}
