/* SPDX-License-Identifier: BSD-3-Clause */
/* First the watchdog, which looks at cores, then the health check of pools and ports. */
#include "engine/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include <rte_launch.h>
#include <rte_mempool.h>

#include "base/log.h"
#include "engine/eal.h"
#include "engine/engine.h"
#include "engine/ledger.h"

#define READ(x)      __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define BLIND_NS     (WATCHDOG_STALL_NS / 2) /* between two looks: the main thread was not running */
#define HEALTH_EVERY 25                      /* calls of health_look() for one check */
#define LOW_SHARE    64 /* a pool is low with less than this part of its mbufs free, */
#define ENOUGH_SHARE 16 /* and has enough again with this part */

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The state of the core's thread, R, S, D, T, t ..., see proc(5); '?' where /proc does not tell. */
static char thread_state(const struct core *c)
{
    char path[64], state = '?';
    FILE *f;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", READ(c->tid));
    f = fopen(path, "r");
    if (f == NULL)
        return state;
    if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        state = '?';
    fclose(f);
    return state;
}

/* What the core's thread does instead of rounds, for the report. NULL: the thread waits for a CPU
 * that it shares with other cores, which is no fault. */
static const char *thread_activity(const struct engine *e, unsigned core, uint64_t stalled)
{
    const struct core *c = e->cores[core];

    switch (thread_state(c)) {
    case 'T':
    case 't':
        return "its thread is stopped, by a debugger or a signal";
    case 'D':
        return "its thread waits in the kernel (state D)";
    case 'S':
        return "its thread sleeps in the kernel";
    }
    if (core_cpu_time(c) - e->watchdog[core].cpu_ns >= stalled / 4)
        return "it runs, and does not come back from a task";
    return e->plan->share_cpus ? NULL : "it does not get its CPU, which something else has taken";
}

/* The task instance of the core that has taken most packets without an end so far: the one that is
 * being run, or NULL. */
static const struct task *task_with_packets(const struct engine *e, unsigned core, int64_t *packets)
{
    const struct task *worst = NULL;

    *packets = 0;
    for (unsigned i = 0; i < e->plan->n_instances; i++) {
        const struct task *t = e->tasks[i];
        int64_t n;

        if (t->core != core)
            continue;
        n = (int64_t)(READ(t->in) + READ(t->created) - READ(t->consumed) - task_dropped(t) -
                      task_held(t));
        for (uint16_t k = 0; k < t->n_outs; k++)
            n -= (int64_t)READ(t->outs[k].sent);
        if (n > *packets) {
            *packets = n;
            worst = t;
        }
    }
    return worst;
}

/* Write the core and its tasks: "core 1 (CPU 3: classify, qos_up)". */
static void describe(const struct engine *e, unsigned core, char *text, size_t size)
{
    const struct plan_core *pc = &e->plan->cores[core];
    size_t len = (size_t)snprintf(text, size, "core %u (CPU %u", core, pc->run_on);

    for (uint16_t i = 0; i < pc->n_instances && len < size; i++)
        len += (size_t)snprintf(text + len, size - len, "%s%s", i == 0 ? ": " : ", ",
                                e->tasks[pc->instances[i]]->cfg->name);
    if (len < size)
        snprintf(text + len, size - len, ")");
}

static void report_stall(struct engine *e, unsigned core, uint64_t stalled)
{
    const char *why = thread_activity(e, core, stalled);
    char which[256], hands[128] = "";
    const struct task *t;
    int64_t packets;

    if (why == NULL)
        return;
    describe(e, core, which, sizeof(which));
    t = task_with_packets(e, core, &packets);
    if (t != NULL)
        snprintf(hands, sizeof(hands), "; task %s.%u has %" PRId64 " packets in its hands",
                 t->cfg->name, t->worker, packets);
    log_warning("%s has stalled: no round for %.1f s; %s%s", which,
                (double)stalled / (double)NS_PER_S, why, hands);
    e->watchdog[core].reported = true;
}

static void count_stall(struct engine *e, unsigned core, uint64_t now)
{
    struct watchdog *w = &e->watchdog[core];
    uint64_t stalled = now - w->moved_ns;

    if (stalled < WATCHDOG_STALL_NS)
        return;
    if (w->counted == 0) {
        __atomic_store_n(&w->stalls, w->stalls + 1, __ATOMIC_RELAXED);
        w->report_ns = WATCHDOG_STALL_NS;
    }
    __atomic_store_n(&w->stalled_ns, w->stalled_ns + stalled - w->counted, __ATOMIC_RELAXED);
    w->counted = stalled;
    if (stalled >= w->report_ns) {
        report_stall(e, core, stalled);
        while (w->report_ns <= stalled)
            w->report_ns *= 2;
    }
}

/* The core has made rounds since the last look, or this is the first look. */
static void note_rounds(struct engine *e, unsigned core, uint64_t rounds, uint64_t now)
{
    struct watchdog *w = &e->watchdog[core];
    char which[256];

    if (w->reported) {
        describe(e, core, which, sizeof(which));
        log_warning("%s goes on after %.1f s", which, (double)w->counted / (double)NS_PER_S);
    }
    w->rounds = rounds;
    w->moved_ns = now;
    w->cpu_ns = core_cpu_time(e->cores[core]);
    w->counted = 0;
    w->reported = false;
}

/* Has any core had a CPU for more than a small part of that time? Each may have run for some
 * milliseconds before the main thread did. */
static bool any_ran(const struct engine *e, uint64_t ns)
{
    for (unsigned i = 0; i < e->plan->n_cores; i++)
        if (core_cpu_time(e->cores[i]) - e->watchdog[i].cpu_ns > ns / 16)
            return true;
    return false;
}

bool watchdog_all_move(const struct engine *e)
{
    for (unsigned i = 0; i < e->plan->n_cores; i++)
        if (e->watchdog[i].counted != 0)
            return false;
    return true;
}

void watchdog_look(struct engine *e)
{
    uint64_t now = now_ns(), before = e->watched_ns;

    e->watched_ns = now;
    /* A main thread that did not run cannot tell how long the cores did not: the next look can. */
    if (before != 0 && now - before > BLIND_NS) {
        if (!any_ran(e, now - before))
            log_warning("nothing ran for %.1f s: the process was stopped (SIGSTOP, a suspended "
                        "machine), or had no CPU",
                        (double)(now - before) / (double)NS_PER_S);
        return;
    }
    for (unsigned i = 0; i < e->plan->n_cores; i++) {
        uint64_t rounds = READ(e->cores[i]->rounds);

        if (rte_eal_get_lcore_state(eal_lcore(i)) != RUNNING)
            continue;
        if (rounds != e->watchdog[i].rounds || e->watchdog[i].moved_ns == 0)
            note_rounds(e, i, rounds, now);
        else
            count_stall(e, i, now);
    }
}

/* Free mbufs without those in the cores' caches, which other cores cannot take. */
static unsigned free_mbufs(const struct rte_mempool *p)
{
    unsigned all = rte_mempool_avail_count(p), cached = 0;

    for (unsigned i = 0; p->cache_size > 0 && i < RTE_MAX_LCORE; i++)
        cached += p->local_cache[i].len;
    return all > cached ? all - cached : 0;
}

static void check_pool(struct engine *e, unsigned i)
{
    const struct rte_mempool *p = e->pools[i];
    const char *name = e->plan->pools[i].name;
    unsigned free = free_mbufs(p);
    bool *low = &e->health.pool_low[i];

    if (!*low && free < p->size / LOW_SHARE) {
        *low = true;
        log_warning("pool %s is nearly empty: %u of %u mbufs are free, but for those in the cores' "
                    "caches; what finds none is lost and counted; give it more if this stays",
                    name, free, p->size);
    } else if (*low && free >= p->size / ENOUGH_SHARE) {
        *low = false;
        log_warning("pool %s has enough mbufs again: %u of %u are free", name, free, p->size);
    }
}

static void check_link(struct engine *e, unsigned i)
{
    const struct port *p = &e->ports[i];
    bool *down = &e->health.link_down[i], is_down;

    if (p->is_wire || p->peer.reconnect != PEER_NONE)
        return;
    is_down = !port_link_up(p);
    if (*down && !is_down)
        engine_link_is_up(e, i);
    if (is_down != *down)
        log_warning("port %s: its link is %s", p->cfg->name, is_down ? "down" : "up again");
    *down = is_down;
}

static void check_errors(struct engine *e, unsigned i)
{
    const struct port *p = &e->ports[i];
    bool *failing = &e->health.failing[i], fails;
    struct port_counters c;

    port_read(p, &c);
    fails = c.tx_errors > e->health.tx_errors[i];
    if (fails && !*failing)
        log_warning("port %s: its device fails to send: is its interface down? %" PRIu64
                    " packets so far (tx_errors)",
                    p->cfg->name, c.tx_errors);
    else if (!fails && *failing)
        log_warning("port %s: its device has not failed to send for half a second; %" PRIu64
                    " packets in all (tx_errors)",
                    p->cfg->name, c.tx_errors);
    *failing = fails;
    e->health.tx_errors[i] = c.tx_errors;
}

void health_look(struct engine *e)
{
    if (e->health.calls++ % HEALTH_EVERY != 0)
        return;
    for (unsigned i = 0; i < e->plan->n_pools; i++)
        check_pool(e, i);
    for (unsigned i = 0; i < e->plan->cfg->n_ports; i++) {
        check_link(e, i);
        check_errors(e, i);
    }
}
