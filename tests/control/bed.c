/* SPDX-License-Identifier: BSD-3-Clause */
#include "bed.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/program.h"
#include "control/request.h"
#include "engine/eal.h"
#include "provision.h"

struct engine engine;
struct tables *tables;
struct control *control;

static struct cfg_model *model;
static struct plan *plan;
static const struct task_schema *schemas[64];
static struct config_options options = {.schemas = schemas, .share_cpus = true};

static int load(const char *path)
{
    struct diags d = {0};

    for (unsigned i = 0; task_types[i] != NULL; i++)
        schemas[i] = &task_types[i]->schema;
    model = config_load(path, &options, &d);
    if (model != NULL)
        plan = plan_make(model, true, &d);
    diag_print(&d, stderr);
    diag_free(&d);
    return plan != NULL ? 0 : -1;
}

int bed_open(void)
{
    static uint8_t mac[CFG_MAX_PORTS][6]; /* 0: a port whose configuration says none */

    if (test_argument == NULL || load(test_argument) != 0 || eal_start(plan, false) != 0 ||
        engine_open(&engine, plan) != 0)
        return -1;
    for (unsigned i = 0; i < plan->cfg->n_ports; i++)
        memcpy(mac[i], plan->cfg->ports[i].mac, sizeof(mac[i]));
    tables = provision(plan, mac);
    if (tables == NULL || engine_build(&engine, tables) != 0)
        return -1;
    control = control_open(&engine, tables);
    if (control == NULL)
        return -1;
    control->options = &options;
    return 0;
}

int bed_close(void)
{
    uint64_t missing;

    control_free(control);
    missing = engine_free(&engine);
    provision_free(tables);
    eal_stop();
    plan_free(plan);
    config_free(model);
    return missing != 0;
}

char *ask(const char *request)
{
    char *answer = request_answer(control, request, strlen(request));

    CU_ASSERT_PTR_NOT_NULL_FATAL(answer);
    return answer;
}

void has(const char *request, const char *answer, const char *text)
{
    if (strstr(answer, text) != NULL)
        return;
    fprintf(stderr, "\n%s\n  answered %s  not      %s\n", request, answer, text);
    CU_FAIL("the answer");
}

void answers(const char *request, const char *text)
{
    char *answer = ask(request);
    size_t len = strlen(answer);

    CU_ASSERT(len > 0 && answer[len - 1] == '\n' && memchr(answer, '\n', len - 1) == NULL);
    has(request, answer, text);
    free(answer);
}

void reload_with(const char *from, const char *to, const char *keys, const char *text)
{
    char path[256], request[512], *all = NULL, *at;
    size_t size = 0;
    FILE *f = fopen(test_argument, "r"), *g;

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_FATAL(getdelim(&all, &size, '\0', f) > 0);
    fclose(f);
    at = strstr(all, from);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    snprintf(path, sizeof(path), "/tmp/vbng-reload-%d.cfg", getpid());
    g = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(g);
    fprintf(g, "%.*s%s%s", (int)(at - all), all, to, at + strlen(from));
    fclose(g);
    snprintf(request, sizeof(request), "{\"cmd\":\"reload\",\"file\":\"%s\"%s}", path, keys);
    answers(request, text);
    unlink(path);
    free(all);
}

char *state(void)
{
    char *subscribers = ask("{\"cmd\":\"show-subscribers\",\"first\":1,\"count\":1000}"),
         *routes = ask("{\"cmd\":\"show-routes\",\"first\":1,\"count\":1000}"),
         *changes = ask("{\"cmd\":\"show-changes\"}"), *all = NULL;

    CU_ASSERT_FATAL(asprintf(&all, "%s%s%s", subscribers, routes, changes) > 0);
    free(subscribers);
    free(routes);
    free(changes);
    return all;
}

void refuses(const char *request, const char *text)
{
    char *before = state(), *answer = ask(request), *after;

    has(request, answer, "\"error\"");
    has(request, answer, text);
    after = state();
    CU_ASSERT_STRING_EQUAL(before, after);
    free(before);
    free(answer);
    free(after);
}

void start_anew(void)
{
    char path[512], request[640];

    CU_ASSERT_PTR_NOT_NULL_FATAL(realpath(test_argument, path));
    snprintf(request, sizeof(request), "{\"cmd\":\"reload\",\"file\":\"%s\"}", path);
    answers(request, "\"ok\":true");
    answers("{\"cmd\":\"show-changes\"}", "\"requests\":[]");
}

/* What the copies of the routes on both sockets say is the same. */
static uint32_t in_all_copies(uint32_t number, uint32_t other)
{
    CU_ASSERT_EQUAL(number, other);
    return number;
}

uint32_t number4(uint32_t addr)
{
    return in_all_copies(fib_lookup(fib_copy(&tables->routes->fib, 0), addr),
                         fib_lookup(fib_copy(&tables->routes->fib, 1), addr));
}

uint32_t number6(const char *text)
{
    struct ipv6 addr;

    CU_ASSERT_EQUAL_FATAL(parse_ipv6(text, &addr), 0);
    return in_all_copies(fib6_lookup(fib6_copy(&tables->routes->fib6, 0), addr),
                         fib6_lookup(fib6_copy(&tables->routes->fib6, 1), addr));
}

static struct {
    pthread_t thread;
    uint32_t instance;
    unsigned is_held, goes_on;
} core;

/* A core call that keeps the core until it may go on. */
static int keep(struct task *t, void *arg)
{
    (void)t;
    (void)arg;
    __atomic_store_n(&core.is_held, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&core.goes_on, __ATOMIC_ACQUIRE))
        rte_pause();
    return 0;
}

static void *call_core(void *arg)
{
    (void)arg;
    engine_call(&engine, core.instance, keep, NULL);
    return NULL;
}

void hold_core(uint32_t instance)
{
    core.instance = instance;
    core.is_held = core.goes_on = 0;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&core.thread, NULL, call_core, NULL), 0);
    while (!__atomic_load_n(&core.is_held, __ATOMIC_ACQUIRE))
        usleep(100);
}

void let_core_go(void)
{
    __atomic_store_n(&core.goes_on, 1, __ATOMIC_RELEASE);
    pthread_join(core.thread, NULL);
}
