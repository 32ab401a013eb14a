/* SPDX-License-Identifier: BSD-3-Clause */
/* The writer's loop: records of all rings in the order of the TSC, until a bound is reached. */
#include "capture/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "engine/drops.h"

#define NS_IN_S     UINT64_C(1000000000)
#define AT_ONCE     4096 /* records between two looks at the clock */
#define FLUSH_EVERY 10   /* the file is flushed that often in a second */
#define PATIENCE    10   /* s: as long as a busy machine may keep a core off its CPU */
#define NICE        10   /* where the writer shares a CPU with a core, the core goes first */
#define READ(x)     __atomic_load_n(&(x), __ATOMIC_RELAXED)

static const struct timespec nap = {.tv_nsec = 1000000}; /* when there is nothing to write */

const char *capture_reason(const struct cfg_task *t, unsigned reason)
{
    return drop_name(t->schema, reason);
}

struct tap_count capture_count(const struct capture *c, unsigned interface)
{
    struct tap_count sum = {0};

    for (unsigned i = 0; c->taps.rings != NULL && i < c->e->plan->n_cores; i++)
        for (unsigned k = 0; k < TAP_KINDS; k++) {
            const struct tap_count *count = &c->taps.rings[i].count[interface * TAP_KINDS + k];

            sum.matched += READ(count->matched);
            sum.taken += READ(count->taken);
            sum.lost += READ(count->lost);
        }
    return sum;
}

static uint64_t ns_of(const struct capture *c, uint64_t tsc)
{
    uint64_t cycles = tsc - c->start_tsc;

    return c->start_ns + cycles / c->tsc_hz * NS_IN_S + cycles % c->tsc_hz * NS_IN_S / c->tsc_hz;
}

/* Write the comment of a packet: "dropped: qos_up queue_full; subscriber 17". */
static void comment_on(const struct capture *c, const struct tap_record *r, char *text, size_t size)
{
    unsigned interface = r->point / TAP_KINDS, n_ports = c->e->plan->cfg->n_ports;
    const struct cfg_task *t;
    const char *sep = "";
    size_t len = 0;

    text[0] = '\0';
    if (r->point % TAP_KINDS == TAP_DROP) {
        t = c->e->tasks[interface - n_ports]->cfg;
        len += (size_t)snprintf(text, size, "dropped: %s ", t->name);
        for (unsigned i = 0; i <= DROP_LINK_FULL && len < size; i++)
            if ((r->reasons >> i & 1) != 0) {
                len += (size_t)snprintf(text + len, size - len, "%s%s", sep, capture_reason(t, i));
                sep = " or ";
            }
        sep = "; ";
    }
    if (r->subscriber != 0 && len < size)
        snprintf(text + len, size - len, "%ssubscriber %" PRIu32, sep, r->subscriber);
}

/* Returns 0 or -EFBIG. */
static int write_record(struct capture *c, const struct tap_record *r)
{
    struct interface *interface = &c->interface[r->point / TAP_KINDS];
    static const enum pcapng_direction directions[TAP_KINDS] = {[TAP_INTO] = PCAPNG_INBOUND,
                                                                [TAP_FROM] = PCAPNG_OUTBOUND,
                                                                [TAP_DROP] = PCAPNG_NO_DIRECTION};
    char comment[PCAPNG_COMMENT_MAX];
    struct pcapng_packet p = {
        .interface = interface->number,
        .ns = ns_of(c, r->tsc),
        .length = r->length,
        .kept = r->kept,
        .data = r + 1,
        .direction = directions[r->point % TAP_KINDS],
    };

    comment_on(c, r, comment, sizeof(comment));
    if (comment[0] != '\0')
        p.comment = comment;
    if (pcapng_packet(c->file, &p) != 0)
        return -EFBIG;
    __atomic_store_n(&interface->packets, interface->packets + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&c->packets, c->packets + 1, __ATOMIC_RELAXED);
    return 0;
}

/* Find the ring with the oldest record of all, if it is older than the horizon. Returns NULL
 * without one. */
static struct tap_ring *next_ring(const struct capture *c, uint64_t horizon)
{
    struct tap_ring *first = NULL;

    for (unsigned i = 0; i < c->e->plan->n_cores; i++) {
        const struct tap_record *r = tap_ring_peek(&c->taps.rings[i]);

        if (r != NULL && r->tsc < horizon) {
            first = &c->taps.rings[i];
            horizon = r->tsc;
        }
    }
    return first;
}

/* Find the horizon: a TSC before which no core writes a record any more. */
static uint64_t horizon_of_all(const struct capture *c)
{
    uint64_t horizon = UINT64_MAX;

    for (unsigned i = 0; i < c->e->plan->n_cores; i++)
        horizon = RTE_MIN(horizon, tap_ring_horizon(&c->taps.rings[i]));
    return horizon;
}

/* Write records older than the horizon, AT_ONCE at most. Returns their number; sets c->end at a
 * bound. */
static unsigned drain(struct capture *c, uint64_t horizon)
{
    unsigned n = 0;

    for (; n < AT_ONCE && c->end == CAPTURE_RUNS; n++) {
        struct tap_ring *ring = next_ring(c, horizon);
        const struct tap_record *r;

        if (ring == NULL)
            break;
        r = tap_ring_peek(ring);
        if (r->point != TAP_VOID) {
            if (c->packets == c->spec.packets)
                c->end = CAPTURE_BY_PACKETS;
            else if (write_record(c, r) != 0)
                c->end = CAPTURE_BY_BYTES;
        }
        tap_ring_next(ring);
    }
    if (c->end == CAPTURE_RUNS && c->packets == c->spec.packets)
        c->end = CAPTURE_BY_PACKETS;
    __atomic_store_n(&c->bytes, c->file->size, __ATOMIC_RELAXED);
    return n;
}

static void stop_rings(const struct capture *c)
{
    for (unsigned i = 0; i < c->e->plan->n_cores; i++)
        tap_ring_stop(&c->taps.rings[i]);
}

static bool are_done(const struct capture *c)
{
    for (unsigned i = 0; i < c->e->plan->n_cores; i++)
        if (!tap_ring_is_done(&c->taps.rings[i]))
            return false;
    return true;
}

/* Write all records that the cores have made until their rings were stopped, as far as the bounds
 * allow, and wait until no core writes and all counters stand still. A core that stands in the
 * middle of a burst is awaited for PATIENCE at most, which begins when all others' records are
 * written: that may take longer. A burst that takes longer still is in neither count. */
static void drain_rest(struct capture *c)
{
    uint64_t deadline = 0;
    bool last;

    do {
        last = are_done(c) || (deadline != 0 && rte_rdtsc() > deadline);
        while (c->end == CAPTURE_RUNS && drain(c, last ? UINT64_MAX : horizon_of_all(c)) > 0)
            ;
        if (deadline == 0)
            deadline = rte_rdtsc() + PATIENCE * c->tsc_hz;
        if (!last)
            nanosleep(&nap, NULL);
    } while (!last);
}

static void write_statistics(struct capture *c)
{
    struct pcapng_statistics s = {.start_ns = c->start_ns,
                                  .end_ns = ns_of(c, c->start_tsc + c->cycles)};

    for (unsigned i = 0; i < c->n_interfaces; i++) {
        struct tap_count count = capture_count(c, i);

        if (c->interface[i].name[0] == '\0')
            continue;
        s.received = count.matched;
        s.accepted = count.taken;
        s.dropped = count.lost;
        s.delivered = c->interface[i].packets;
        pcapng_statistics(c->file, c->interface[i].number, &s);
    }
}

/* Leave the CPUs of the cores, if this process may use others, and the signals to the main thread.
 */
static void step_aside(const struct capture *c)
{
    cpu_set_t set;
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    if (pthread_getaffinity_np(pthread_self(), sizeof(set), &set) == 0) {
        for (unsigned i = 0; i < c->e->plan->n_cores; i++)
            CPU_CLR(c->e->plan->cores[i].run_on, &set);
        if (CPU_COUNT(&set) > 0)
            pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
    }
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    pthread_setname_np(pthread_self(), "vbng-capture");
}

/* Has who reads a stream gone, or said that nothing more is wanted? */
static bool has_no_reader(const struct pcapng *f)
{
    struct pollfd p = {.fd = f->fd, .events = POLLRDHUP};

    return f->stream &&
           (f->error == EPIPE || f->error == ECONNRESET || (poll(&p, 1, 0) > 0 && p.revents != 0));
}

/* The reason for the end of the capture, or CAPTURE_RUNS. */
static enum capture_end check_bounds(const struct capture *c, uint64_t now)
{
    if (c->end != CAPTURE_RUNS)
        return c->end;
    if (has_no_reader(c->file))
        return CAPTURE_BY_READER;
    if (c->file->error != 0)
        return CAPTURE_FAILED;
    if (__atomic_load_n(&c->stop, __ATOMIC_RELAXED))
        return CAPTURE_STOPPED;
    return now - c->start_tsc >= c->spec.seconds * c->tsc_hz ? CAPTURE_BY_TIME : CAPTURE_RUNS;
}

void *capture_writer(void *arg)
{
    struct capture *c = arg;
    uint64_t now = rte_rdtsc(), flushed = now;
    enum capture_end end;

    step_aside(c);
    while ((end = check_bounds(c, now)) == CAPTURE_RUNS) {
        if (drain(c, horizon_of_all(c)) == 0)
            nanosleep(&nap, NULL);
        now = rte_rdtsc();
        if (now - flushed > c->tsc_hz / FLUSH_EVERY) {
            pcapng_flush(c->file);
            flushed = now;
        }
    }
    stop_rings(c);
    __atomic_store_n(&c->cycles, rte_rdtsc() - c->start_tsc, __ATOMIC_RELAXED);
    drain_rest(c);
    write_statistics(c);
    c->error = -pcapng_flush(c->file);
    if (end == CAPTURE_BY_READER && has_no_reader(c->file))
        c->error = 0; /* there is nobody for the rest */
    c->bytes = c->file->size;
    c->end = c->error != 0 ? CAPTURE_FAILED : c->end != CAPTURE_RUNS ? c->end : end;
    __atomic_store_n(&c->ended, true, __ATOMIC_RELEASE);
    return NULL;
}
