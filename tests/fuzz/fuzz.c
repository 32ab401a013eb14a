/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/eal.h"
#include "provision.h"
#include "tasks/task_types.h"

#define MAX_PATHS 4

static char dir[] = "/dev/shm/vbng-fuzz-XXXXXX";
static char paths[MAX_PATHS][64];
static unsigned n_paths;

void fuzz_fail(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort(); /* libFuzzer keeps the input */
}

static void remove_files(void)
{
    while (n_paths > 0)
        unlink(paths[--n_paths]);
    rmdir(dir);
}

const char *fuzz_path(const char *suffix)
{
    if (n_paths == 0) {
        if (mkdtemp(dir) == NULL)
            fuzz_fail("%s cannot be made", dir);
        atexit(remove_files);
    }
    if (n_paths == MAX_PATHS)
        fuzz_fail("too many files");
    snprintf(paths[n_paths], sizeof(paths[0]), "%s/input%s", dir, suffix);
    return paths[n_paths++];
}

void fuzz_write(const char *path, const uint8_t *data, size_t size)
{
    FILE *f = fopen(path, "w");

    if (f == NULL || fwrite(data, 1, size, f) != size || fclose(f) != 0)
        fuzz_fail("%s cannot be written", path);
}

const struct config_options *fuzz_config_options(void)
{
    static const struct task_schema *schemas[64];
    static const struct config_options options = {
        .schemas = schemas, .topology = "1x2x1", .template_dir = FUZZ_TEMPLATES};

    for (unsigned i = 0; i < RTE_DIM(schemas) - 1 && task_types[i] != NULL; i++)
        schemas[i] = &task_types[i]->schema;
    return &options;
}

static struct gateway *open_gateway;

static void close_gateway(void)
{
    uint64_t missing = engine_free(&open_gateway->engine);

    provision_free(open_gateway->tables);
    eal_stop();
    plan_free(open_gateway->plan);
    config_free(open_gateway->model);
    if (missing > 0)
        fuzz_fail("%llu mbufs did not come back to their pools", (unsigned long long)missing);
}

void gateway_open(struct gateway *g, const char *name)
{
    struct diags d = {0};
    uint8_t mac[CFG_MAX_PORTS][6];
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", FUZZ_SOURCES, name);
    g->model = config_load(path, fuzz_config_options(), &d);
    g->plan = g->model != NULL ? plan_make(g->model, true, &d) : NULL;
    diag_print(&d, stderr);
    if (g->plan == NULL || eal_start(g->plan, false) != 0 || engine_open(&g->engine, g->plan) != 0)
        fuzz_fail("%s: the gateway does not start", path);
    for (unsigned i = 0; i < g->model->n_ports; i++)
        memcpy(mac[i], &g->engine.ports[i].mac, sizeof(mac[i]));
    g->tables = provision(g->plan, (const uint8_t(*)[6])mac);
    if (g->tables == NULL || engine_build(&g->engine, g->tables) != 0)
        fuzz_fail("%s: the gateway cannot be built", path);
    open_gateway = g;
    atexit(close_gateway);
}
