/* SPDX-License-Identifier: BSD-3-Clause */
/* Next hops that are new, and those to which no route leads any more, while the cores run: no
 * change of a route waits for the core of the task arp. The argument is the configuration. */
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>

#include "bed.h"
#include "common/program.h"
#include "control/ids.h"
#include "tasks/arp/arp.h"

#define CORE0 2 /* port */

static const uint8_t mac[6] = {2, 0xdd, 0, 0, 0, 2};

static void route(const char *cmd, const char *via, unsigned label)
{
    char request[256];

    snprintf(request, sizeof(request),
             "{\"cmd\":\"%s\",\"prefix\":\"198.19.1.0/24\",\"port\":\"core0\",\"via\":\"%s\","
             "\"mpls\":%u}",
             cmd, via, label);
    answers(request, "\"changed\":1");
}

static void remove_route(void)
{
    answers("{\"cmd\":\"remove-route\",\"prefix\":\"198.19.1.0/24\"}", "\"changed\":1");
}

static const struct nexthop *way(void)
{
    return &tables->routes->nexthop[number4(198u << 24 | 19u << 16 | 1 << 8 | 1)];
}

/* The neighbour of 0.0.0.0/0 is known before the cores run. */
static void start(void)
{
    struct arp_learned learned = {.address = 192u << 24 | 2 << 8 | 2};

    memcpy(learned.mac, mac, sizeof(mac));
    CU_ASSERT_EQUAL(arp_give_neighbour(engine.tasks[arp_instance(control)], CORE0, &learned), 0);
    CU_ASSERT_EQUAL_FATAL(engine_start(&engine), 0);
}

/* While the core of arp does nothing, routes lead to new next hops, which have the MAC of their
 * neighbour from the first packet on; and it knows of all when it goes on. */
static void held_core(void)
{
    start();
    hold_core(arp_instance(control));
    route("add-route", "192.0.2.2", 100);
    CU_ASSERT(way()->mac_known && memcmp(way()->eth, mac, sizeof(mac)) == 0);
    route("change-route", "192.0.2.2", 101);
    CU_ASSERT(way()->mac_known && memcmp(way()->eth, mac, sizeof(mac)) == 0);
    route("change-route", "192.0.2.7", 102);
    CU_ASSERT_FALSE(way()->mac_known);
    let_core_go();
    answers("{\"cmd\":\"show-arp\",\"first\":1,\"count\":9}",
            "\"ipv4\":\"192.0.2.7\",\"ipv6\":null,\"mac\":null");
    remove_route();
}

/* Poll once. Returns whether numbers were freed since *last, be it by a request before. */
static bool is_freed(uint64_t *last)
{
    uint64_t before = *last;

    ids_poll(control);
    *last = control->ids.freed;
    return *last != before;
}

/* What nobody waits for takes one core call for many, or in 10 ms. So it is with three numbers, as
 * there is room for some more: no request waits for one. */
static void freed_together(void)
{
    uint64_t hz = rte_get_tsc_hz(), begin = rte_rdtsc(), last = control->ids.freed, ms;
    unsigned times = 0;

    for (unsigned i = 0; i < 30; i++) {
        route("add-route", "192.0.2.2", 200 + i);
        remove_route();
        times += is_freed(&last);
        while (i % 3 == 2 && control->ids.n > 0 && rte_rdtsc() - begin < 10 * hz)
            times += is_freed(&last);
    }
    ms = (rte_rdtsc() - begin) / (hz / 1000);
    CU_ASSERT_EQUAL(control->ids.n, 0);
    EXPECT(times > 0 && times <= ms / 10 + 1, "%u times in %u ms", times, (unsigned)ms);
    start_anew();
    engine_stop(&engine);
}

static const struct test tests[] = {
    {"while arp does nothing", held_core},
    {"freed together", freed_together},
    {NULL, NULL},
};

const struct test_program test_program = {"new next hops", tests, bed_open, bed_close};
