/* SPDX-License-Identifier: BSD-3-Clause */
/* Subscribers who come and go at a full table while the cores run: no request waits for the core of
 * a scheduler, and nobody gets a number or a pipe that another may still have. The argument is the
 * configuration. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "bed.h"
#include "common/program.h"
#include "control/ids.h"

#define FULL    64 /* subscribers in the configuration, which is all that there may be */
#define RESTING 2  /* numbers and pipes more, for who was removed */

static const struct shaper *down(void)
{
    return &control->shaper[control->shaper[0].q->direction == QOS_DOWN ? 0 : 1];
}

/* Start, and keep the core of an instance. */
static void start_with(uint32_t instance)
{
    CU_ASSERT_EQUAL_FATAL(engine_start(&engine), 0);
    hold_core(instance);
}

static void *let_go_soon(void *arg)
{
    (void)arg;
    usleep(50000);
    let_core_go();
    return NULL;
}

/* Whoever is on a C-VLAN goes, and another comes there, with an id. */
static void replace(unsigned cvlan, unsigned id)
{
    char request[256], text[64];

    snprintf(request, sizeof(request),
             "{\"cmd\":\"remove-subscriber\",\"subscriber\":\"cpe0 10.%u\"}", cvlan);
    answers(request, "\"changed\":1");
    snprintf(request, sizeof(request),
             "{\"cmd\":\"add-subscriber\",\"port\":\"cpe0\",\"svlan\":10,\"cvlan\":%u,\"ipv4\":"
             "\"10.0.1.%u\",\"gre_key\":%u,\"profile\":\"fast\"}",
             cvlan, cvlan, 100 + cvlan);
    snprintf(text, sizeof(text), "\"changed\":1,\"id\":%u", id);
    answers(request, text);
}

static uint32_t pipe_of(unsigned cvlan)
{
    char circuit[32];
    uint32_t id = 0;

    snprintf(circuit, sizeof(circuit), "cpe0 10.%u", cvlan);
    CU_ASSERT_EQUAL_FATAL(subscriber_on(control, circuit, &id), 0);
    return control->model->subscribers[id - 1].pipe;
}

/* Let all that rests be freed, once no core runs. */
static void settle(void)
{
    engine_stop(&engine);
    shapers_settled(control);
    ids_poll(control);
    CU_ASSERT_EQUAL(control->ids.retired_subscribers, 0);
}

/* The core of a scheduler does nothing: requests are answered as long as there are numbers that
 * nobody had. The next one waits, and gets what has rested. */
static void held_core(void)
{
    pthread_t other;
    uint64_t begin;
    uint32_t pipe[2] = {pipe_of(1), pipe_of(2)};

    start_with(down()->instance);
    begin = rte_rdtsc();
    replace(1, FULL + 1);
    replace(2, FULL + 2);
    EXPECT(rte_rdtsc() - begin < rte_get_tsc_hz() / 2, "%u us",
           (unsigned)((rte_rdtsc() - begin) / (rte_get_tsc_hz() / 1000000)));
    CU_ASSERT(!qos_is_free(down()->q, pipe[0]) && !qos_is_free(down()->q, pipe[1]));
    usleep(11000);
    ids_poll(control);
    CU_ASSERT_EQUAL(control->ids.retired_subscribers, 2);
    answers("{\"cmd\":\"remove-subscriber\",\"subscriber\":\"cpe0 10.3\"}", "\"changed\":1");
    CU_ASSERT_EQUAL_FATAL(pthread_create(&other, NULL, let_go_soon, NULL), 0);
    answers("{\"cmd\":\"add-subscriber\",\"port\":\"cpe0\",\"svlan\":10,\"cvlan\":3,\"ipv4\":"
            "\"10.0.1.3\",\"profile\":\"fast\"}",
            "\"changed\":1,\"id\":");
    CU_ASSERT(running_has(control->model, 1) || running_has(control->model, 2) ||
              running_has(control->model, 3));
    pthread_join(other, NULL);
    start_anew();
    settle();
}

static uint32_t instance_of(const char *task)
{
    uint32_t i = 0;

    while (strcmp(engine.tasks[i]->cfg->name, task) != 0)
        i++;
    return i;
}

/* Has the pipe been closed by both schedulers, within a second? */
static bool comes_free(uint32_t pipe)
{
    for (unsigned i = 0; i < 10000; i++) {
        if (qos_is_free(control->shaper[0].q, pipe) && qos_is_free(control->shaper[1].q, pipe))
            return true;
        usleep(100);
    }
    return false;
}

/* The schedulers have closed a pipe, but a core that may have packets with its number does nothing.
 */
static void no_grace(void)
{
    uint32_t pipe = pipe_of(1);

    start_with(instance_of("route"));
    replace(1, subscriber_next_id(control->tables->subscribers));
    CU_ASSERT(comes_free(pipe));
    for (unsigned i = 0; i < 20; i++) {
        usleep(2000);
        ids_poll(control);
        CU_ASSERT_EQUAL(control->ids.retired_subscribers, 1);
    }
    let_core_go();
    for (unsigned i = 0; i < 10000 && control->ids.retired_subscribers > 0; i++) {
        usleep(100);
        ids_poll(control);
    }
    CU_ASSERT_EQUAL(control->ids.retired_subscribers, 0);
    start_anew();
    settle();
}

/* Grace periods pass at once, as no core runs; but none of the schedulers takes what it is told. */
static void not_taken(void)
{
    engine.running = true;
    answers("{\"cmd\":\"remove-subscriber\",\"subscriber\":\"cpe0 10.9\"}", "\"changed\":1");
    for (unsigned i = 0; i < 2; i++) {
        usleep(11000);
        ids_poll(control);
        CU_ASSERT_EQUAL(control->ids.retired_subscribers, 1);
        qos_take_news(engine.tasks[control->shaper[i].instance]);
    }
    ids_poll(control);
    CU_ASSERT_EQUAL(control->ids.retired_subscribers, 0);
    engine.running = false;
    start_anew();
}

/* At a full table each finds a place at once, however often; but there is room for no more. */
static void full(void)
{
    CU_ASSERT_EQUAL_FATAL(engine_start(&engine), 0);
    for (unsigned i = 0; i < 1000; i++) {
        char text[128];

        snprintf(text, sizeof(text),
                 "{\"cmd\":\"remove-subscriber\",\"subscriber\":\"cpe0 10.%u\"}", 1 + i % FULL);
        answers(text, "\"changed\":1");
        snprintf(text, sizeof(text),
                 "{\"cmd\":\"add-subscriber\",\"port\":\"cpe0\",\"svlan\":10,\"cvlan\":%u,\"ipv4\":"
                 "\"10.0.0.%u\",\"profile\":\"fast\"}",
                 1 + i % FULL, i % FULL);
        answers(text, "\"changed\":1");
        if (i % 4 == 0)
            ids_poll(control);
    }
    answers("{\"cmd\":\"add-subscriber\",\"port\":\"cpe0\",\"svlan\":10,\"cvlan\":99,\"ipv4\":"
            "\"10.0.2.1\",\"profile\":\"fast\"}",
            "there is room for 64 subscribers, and 64 are there");
    CU_ASSERT(control->model->n_subscribers <= FULL + RESTING);
    start_anew();
    settle();
}

static const struct test tests[] = {
    {"while a scheduler does nothing", held_core},
    {"before a grace period is over", no_grace},
    {"news that are not taken", not_taken},
    {"a full table", full},
    {NULL, NULL},
};

const struct test_program test_program = {"resting", tests, bed_open, bed_close};
