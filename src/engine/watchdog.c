/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/watchdog.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include <rte_launch.h>

#include "base/log.h"
#include "engine/eal.h"
#include "engine/ledger.h"

#define READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define AWAY_NS (WATCHDOG_STALL_NS / 2) /* between two looks: the main thread itself was away */

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* R, S, D, T, t ... of the core's thread, see proc(5); '?' where it cannot be read. */
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

/* What the thread does instead of rounds; NULL: it waits for a CPU that it shares, as it must. */
static const char *doing(const struct engine *e, unsigned core, uint64_t stalled)
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

/* The task instance of the core that has taken most packets and not passed them on, or NULL. A task
 * that is not being run has none. */
static const struct task *in_hand(const struct engine *e, unsigned core, int64_t *packets)
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

/* "core 1 (CPU 3: classify, qos_up)" */
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

static void say_stall(struct engine *e, unsigned core, uint64_t stalled)
{
    const char *why = doing(e, core, stalled);
    char which[256], hands[128] = "";
    const struct task *t;
    int64_t packets;

    if (why == NULL)
        return;
    describe(e, core, which, sizeof(which));
    t = in_hand(e, core, &packets);
    if (t != NULL)
        snprintf(hands, sizeof(hands), "; task %s[%u] has %" PRId64 " packets in its hands",
                 t->cfg->name, t->worker, packets);
    log_warning("%s has stalled: no round for %.1f s; %s%s", which,
                (double)stalled / (double)NS_PER_S, why, hands);
    e->watchdog[core].said = true;
}

static void count_stall(struct engine *e, unsigned core, uint64_t now)
{
    struct watchdog *w = &e->watchdog[core];
    uint64_t stalled = now - w->moved_ns;

    if (stalled < WATCHDOG_STALL_NS)
        return;
    if (w->counted == 0) {
        __atomic_store_n(&w->stalls, w->stalls + 1, __ATOMIC_RELAXED);
        w->say_ns = WATCHDOG_STALL_NS;
    }
    __atomic_store_n(&w->stalled_ns, w->stalled_ns + stalled - w->counted, __ATOMIC_RELAXED);
    w->counted = stalled;
    if (stalled >= w->say_ns) {
        say_stall(e, core, stalled);
        while (w->say_ns <= stalled)
            w->say_ns *= 2;
    }
}

/* The core goes on, or has not been looked at before. */
static void moved(struct engine *e, unsigned core, uint64_t rounds, uint64_t now)
{
    struct watchdog *w = &e->watchdog[core];
    char which[256];

    if (w->said) {
        describe(e, core, which, sizeof(which));
        log_warning("%s goes on after %.1f s", which, (double)w->counted / (double)NS_PER_S);
    }
    w->rounds = rounds;
    w->moved_ns = now;
    w->cpu_ns = core_cpu_time(e->cores[core]);
    w->counted = 0;
    w->said = false;
}

/* Has any core had a CPU for a part of that time that is worth the name? Since it came to an end
 * they may all have had one for some milliseconds. */
static bool any_ran(const struct engine *e, uint64_t ns)
{
    for (unsigned i = 0; i < e->plan->n_cores; i++)
        if (core_cpu_time(e->cores[i]) - e->watchdog[i].cpu_ns > ns / 16)
            return true;
    return false;
}

void watchdog_look(struct engine *e)
{
    uint64_t now = now_ns(), before = e->watched_ns;

    e->watched_ns = now;
    /* Who was away cannot know for how long the others were: they are looked at next time. */
    if (before != 0 && now - before > AWAY_NS) {
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
            moved(e, i, rounds, now);
        else
            count_stall(e, i, now);
    }
}
