/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop of one core. core_main() is the thread: it makes rounds until the run stops.
 *
 * core_round() is one round: each input is polled once, in order, for at most one burst. What a
 * poll brings runs to completion before the next input is polled: task_run() gives the burst to the
 * task's handle(), and task_flush() then sends what handle() put into the outputs: by a direct call
 * into the next task on this core (run-to-completion), into the ring of a link to another core, or
 * into a transmit queue (link.c).
 *
 * Three things change what a round does:
 *   back-pressure  an input whose burst may reach an output without room is left out (blocked());
 *   overload       a port that keeps bringing full bursts is read through a backlog, which chooses
 *                  the packets to lose (poll_backlog());
 *   a stop         sources make nothing more, then ports receive nothing more (enum run_phase).
 *
 * Between two rounds the core runs the function of a core call, if there is one, and reports a
 * quiescent state: it holds no pointer into the tables then (quiesce.h).
 */
#include "engine/core.h"

#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_pause.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>

#include "engine/backlog.h"
#include "engine/link.h"
#include "engine/tap.h"

#define LAG_BURSTS         4     /* full bursts in a row of a port after which the core lags */
#define POLLS_MAX          4     /* calls of a task's poll() in a round: reception must go on */
#define SLEEP_AFTER_ROUNDS 64    /* empty rounds before a core sleeps, with idle = "sleep" */
#define SLEEP_NS           20000 /* the kernel adds its timer slack of about 50 us */

/* Does an output that a burst of this input may reach lack room? */
static bool blocked(struct input *in)
{
    for (uint16_t i = 0; i < in->n_gates; i++)
        if (link_blocked(in->gates[i]))
            return true;
    return false;
}

static void run_from_port(struct input *in, struct rte_mbuf **m, uint16_t n)
{
    in->task->in_port = in->in_port;
    task_run(in->task, m, n);
    in->task->in_port = PORT_IN_MBUF;
}

/*
 * Poll a port that has more packets than the core can handle. Its receive queue would overflow and
 * lose packets of any class, so the backlog takes more than a burst, a bounded number, and chooses
 * which to drop. stalled: back-pressure, nothing is handed to the task.
 */
static unsigned poll_backlog(struct input *in, bool receive, bool stalled)
{
    struct rte_mbuf **m;
    uint16_t n;

    if (receive && !in->peer_gone) {
        in->task->in_port = in->in_port;
        in->polled += backlog_fill(in->backlog, in->dpdk_port, in->queue, stalled);
        in->task->in_port = PORT_IN_MBUF;
    }
    n = stalled ? 0 : backlog_take(in->backlog, in->burst, &m);
    if (n > 0)
        run_from_port(in, m, n);
    in->lags = backlog_count(in->backlog) > 0;
    return n;
}

static unsigned poll_port(struct input *in)
{
    struct rte_mbuf *m[BURST_MAX];
    uint16_t n = rte_eth_rx_burst(in->dpdk_port, in->queue, m, in->burst);

    if (n < in->burst)
        in->full_bursts = 0;
    else if (++in->full_bursts >= LAG_BURSTS) {
        in->full_bursts = 0;
        in->lags = in->backlog != NULL;
    }
    if (n == 0)
        return 0;
    in->polled += n;
    if (unlikely(in->task->tapped & TAPPED_RX))
        tap_rx(in->task, in->in_port, m, n);
    run_from_port(in, m, n);
    return n;
}

static unsigned poll_ring(struct input *in)
{
    struct rte_mbuf *m[BURST_MAX];
    unsigned left;
    uint16_t n = (uint16_t)rte_ring_sc_dequeue_burst(in->ring, (void **)m, in->burst, &left);

    if (n == 0)
        return 0;
    if (unlikely(n + left > in->high_water))
        in->high_water = n + left;
    /* the mbufs are in the cache of the producer's core, and the task will write to them */
    for (uint16_t i = 0; i < n; i++)
        __builtin_prefetch(m[i], 1, 3);
    in->polled += n;
    task_run(in->task, m, n);
    return n;
}

static unsigned poll_task(struct input *in, uint64_t now)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < POLLS_MAX; i++) {
        in->task->again = false;
        sum += in->task->type->poll(in->task, now);
        task_flush(in->task);
        if (likely(!in->task->again) || blocked(in))
            break;
    }
    return sum;
}

unsigned core_round(struct core *c, uint64_t now)
{
    enum run_phase phase = __atomic_load_n(c->phase, __ATOMIC_RELAXED);
    unsigned moved = 0;

    for (unsigned i = 0; i < c->n_inputs; i++) {
        struct input *in = &c->inputs[i];

        if (unlikely(in->n_gates > 0) && blocked(in)) {
            in->stalled++;
            if (in->backlog != NULL)
                poll_backlog(in, phase < PHASE_NO_PORTS, true);
            continue;
        }
        switch (in->kind) {
        case INPUT_PORT:
            if (unlikely(in->lags))
                moved += poll_backlog(in, phase < PHASE_NO_PORTS, false);
            else if (likely(phase < PHASE_NO_PORTS && !in->peer_gone))
                moved += poll_port(in);
            break;
        case INPUT_RING:
            moved += poll_ring(in);
            break;
        case INPUT_POLL:
            in->task->stopping = phase != PHASE_RUN;
            moved += poll_task(in, now);
            break;
        }
    }
    return moved;
}

/* Pass the time after an empty round as the configuration says. empty: empty rounds in a row. */
static void be_idle(const struct core *c, unsigned empty)
{
    static const struct timespec nap = {.tv_nsec = SLEEP_NS};

    if (c->idle == IDLE_PAUSE)
        rte_pause();
    else if (c->idle == IDLE_SLEEP && empty >= SLEEP_AFTER_ROUNDS)
        nanosleep(&nap, NULL);
}

/* Run the core call. The main thread may have taken it back meanwhile. */
static void take_call(struct core *c)
{
    struct core_call *call = __atomic_exchange_n(&c->call, NULL, __ATOMIC_ACQUIRE);

    if (call == NULL)
        return;
    call->result = call->fn(call->task, call->arg);
    __atomic_store_n(&call->done, 1, __ATOMIC_RELEASE);
}

int core_main(void *arg)
{
    struct core *c = arg;
    uint64_t last = rte_rdtsc(), now;
    unsigned empty = 0, moved = 0;

    c->thread = pthread_self();
    if (c->readers != NULL)
        rte_rcu_qsbr_thread_online(c->readers, c->index);
    c->tid = gettid();
    __atomic_store_n(&c->started, 1, __ATOMIC_RELEASE);
    while (likely(__atomic_load_n(c->phase, __ATOMIC_RELAXED) != PHASE_STOP)) {
        if (unlikely(__atomic_load_n(&c->call, __ATOMIC_RELAXED) != NULL))
            take_call(c);
        moved = core_round(c, last);
        if (c->readers != NULL)
            rte_rcu_qsbr_quiescent(c->readers, c->index);
        c->rounds++;
        if (moved == 0) {
            c->empty_rounds++;
            be_idle(c, ++empty);
        } else {
            empty = 0;
        }
        now = rte_rdtsc();
        if (moved == 0)
            c->idle_cycles += now - last;
        else
            c->busy += now - last;
        last = now;
    }
    if (c->readers != NULL)
        rte_rcu_qsbr_thread_offline(c->readers, c->index);
    return 0;
}

uint64_t core_cpu_time(const struct core *c)
{
    struct timespec ts;
    clockid_t clock;

    if (!__atomic_load_n(&c->started, __ATOMIC_ACQUIRE) ||
        pthread_getcpuclockid(c->thread, &clock) != 0 || clock_gettime(clock, &ts) != 0)
        return 0;
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
