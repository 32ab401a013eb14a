/* SPDX-License-Identifier: BSD-3-Clause */
#include "tester/impair.h"

#include <errno.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "engine/task.h"

/*
 * impair: a line that loses, duplicates, reorders, delays and limits, by known amounts: to test
 * what measures, and to test what the line leads to.
 *
 * Each packet suffers one impairment at most: loss, else duplication, else reordering behind
 * "displacement" later packets. So the counters say exactly what a receiver must find. What goes on
 * takes its way through the line (impair_line.h).
 */

#define MAX_SECONDS   10ull
#define MAX_ASIDE     1024 /* packets set aside at once, a power of two; of more, none is */
#define MAX_DISPLACED 1000

enum { OUT_TO };
enum { PATTERN_RANDOM, PATTERN_REGULAR };
enum {
    ARG_LOSS,
    ARG_DUPLICATE,
    ARG_REORDER,
    ARG_DISPLACEMENT,
    ARG_PATTERN,
    ARG_DELAY,
    ARG_JITTER,
    ARG_RATE,
    ARG_QUEUE,
    ARG_ROOM,
    ARG_SEED,
    N_ARGS
};
enum { DROP_LOSS, DROP_RATE, DROP_FULL, N_DROPS };

static const char *const patterns[] = {
    [PATTERN_RANDOM] = "random", [PATTERN_REGULAR] = "regular", NULL};

static const struct task_param params[N_ARGS] = {
    [ARG_LOSS] = {.name = "loss",
                  .type = PARAM_SHARE,
                  .def = "0",
                  .help = "share of the packets that is lost"},
    [ARG_DUPLICATE] = {.name = "duplicate",
                       .type = PARAM_SHARE,
                       .def = "0",
                       .help = "share of the others that is sent twice"},
    [ARG_REORDER] = {.name = "reorder",
                     .type = PARAM_SHARE,
                     .def = "0",
                     .help = "share of the rest that others overtake"},
    [ARG_DISPLACEMENT] = {.name = "displacement",
                          .type = PARAM_COUNT,
                          .def = "3",
                          .min = 1,
                          .max = MAX_DISPLACED,
                          .help = "how many packets overtake it"},
    [ARG_PATTERN] = {.name = "pattern",
                     .type = PARAM_ENUM,
                     .def = "random",
                     .choices = patterns,
                     .help = "regular: of a share of 1/n, every n-th packet"},
    [ARG_DELAY] = {.name = "delay",
                   .type = PARAM_DURATION,
                   .def = "0",
                   .max = MAX_SECONDS * NS_PER_S,
                   .help = "time that each packet is under way"},
    [ARG_JITTER] = {.name = "jitter",
                    .type = PARAM_DURATION,
                    .def = "0",
                    .max = MAX_SECONDS * NS_PER_S,
                    .help = "up to this time more, at random; the order stays"},
    [ARG_RATE] = {.name = "rate",
                  .type = PARAM_LOAD,
                  .help = "what the line can carry, in pps or bit/s; absent: no limit"},
    [ARG_QUEUE] = {.name = "queue",
                   .type = PARAM_DURATION,
                   .def = "1ms",
                   .max = MAX_SECONDS * NS_PER_S,
                   .help = "what would wait longer for its turn is dropped (rate)"},
    [ARG_ROOM] = {.name = "room",
                  .type = PARAM_COUNT,
                  .def = "16K",
                  .min = 64,
                  .max = 4 << 20,
                  .help = "packets that it holds, rounded up to a power of two; more are dropped "
                          "(full)"},
    [ARG_SEED] = {.name = "seed",
                  .type = PARAM_COUNT,
                  .def = "1",
                  .help = "start of the random numbers"},
};

#define AS_TOLD "None: the task is told to."

static const struct task_drop drops[N_DROPS] = {
    [DROP_LOSS] = {"loss", "Lost on purpose", AS_TOLD},
    [DROP_RATE] = {"rate", "Would have waited longer than queue for the line", AS_TOLD},
    [DROP_FULL] = {"full", "The line held as many packets as room", AS_TOLD},
};

/** How often something happens: with a probability, or at every n-th packet. */
struct chance {
    uint64_t share; /* of 2^64 */
    uint64_t sum;   /* PATTERN_REGULAR: it happens when this goes round */
};

struct aside {
    struct rte_mbuf *m;
    uint64_t since; /* impair.passed at that time */
};

/** Counters are written by the instance's core and read by others. */
struct impair {
    bool regular;
    struct chance loss, duplicate, reorder;
    uint64_t random;
    uint64_t passed; /* packets that went on without being set aside */
    uint32_t displacement;
    uint32_t aside_in, aside_out; /* of all packets ever: set aside, and gone on */
    struct aside aside[MAX_ASIDE];
    struct line line;
    struct rte_mempool *pool;
    uint32_t copy_room; /* longest frame that an mbuf of the pool holds */
    uint64_t duplicated, reordered, no_mbuf;
};

/* --- start --- */

static uint64_t cycles(const struct task_env *env, unsigned param)
{
    return (uint64_t)((double)env->cfg->param[param].u * 1e-9 * (double)env->tsc_hz);
}

static void impair_check(const struct cfg_model *m, const struct cfg_task *t, struct diags *d)
{
    const struct param_value *rate = &t->param[ARG_RATE];

    if (rate->set && rate->load.unit == LOAD_PERCENT)
        diag_error(d, rate->loc,
                   "key 'rate': value '%s': this line has no line_rate: expected a load in pps or "
                   "bit/s",
                   rate->s);
}

static void set_rate(struct line_spec *spec, const struct task_env *env)
{
    const struct param_value *rate = &env->cfg->param[ARG_RATE];

    if (!rate->set)
        return;
    if (rate->load.unit == LOAD_PPS)
        spec->packet_cost = (double)env->tsc_hz / rate->load.value;
    else
        spec->byte_cost = 8 * (double)env->tsc_hz / rate->load.value;
}

static int impair_init(struct task *t, const struct task_env *env)
{
    const struct param_value *param = env->cfg->param;
    struct impair *s = t->state;
    struct line_spec spec = {
        .room = rte_align32pow2((uint32_t)param[ARG_ROOM].u),
        .delay = cycles(env, ARG_DELAY),
        .jitter = cycles(env, ARG_JITTER),
        .queue = cycles(env, ARG_QUEUE),
        .socket = env->socket,
    };

    set_rate(&spec, env);
    s->loss.share = param[ARG_LOSS].u;
    s->duplicate.share = param[ARG_DUPLICATE].u;
    s->reorder.share = param[ARG_REORDER].u;
    s->displacement = (uint32_t)param[ARG_DISPLACEMENT].u;
    s->regular = param[ARG_PATTERN].u == PATTERN_REGULAR;
    s->random = param[ARG_SEED].u;
    for (unsigned i = 0; i <= t->worker; i++) /* each instance has numbers of its own */
        s->random = spec.seed = random64(&s->random);
    s->pool = env->pool;
    s->copy_room = rte_pktmbuf_data_room_size(env->pool) - RTE_PKTMBUF_HEADROOM;
    return line_init(&s->line, &spec);
}

static void impair_fini(struct task *t)
{
    struct impair *s = t->state;

    for (; s->aside_out != s->aside_in; s->aside_out++)
        rte_pktmbuf_free(s->aside[s->aside_out % MAX_ASIDE].m);
    line_fini(&s->line);
}

/* --- run --- */

static bool happens(struct impair *s, struct chance *c)
{
    if (c->share == 0 || c->share == UINT64_MAX)
        return c->share != 0;
    if (!s->regular)
        return random64(&s->random) < c->share;
    c->sum += c->share;
    return c->sum < c->share;
}

static bool enter_line(struct task *t, struct impair *s, struct rte_mbuf *m, uint64_t now)
{
    switch (line_ask(&s->line, now)) {
    case LINE_TAKES:
        line_put(&s->line, m, now);
        return true;
    case LINE_TOO_SLOW:
        task_drop_now(t, m, DROP_RATE);
        break;
    case LINE_FULL:
        task_drop_now(t, m, DROP_FULL);
        break;
    }
    return false;
}

static uint32_t held_aside(const struct impair *s)
{
    uint32_t out = __atomic_load_n(&s->aside_out, __ATOMIC_RELAXED);

    return __atomic_load_n(&s->aside_in, __ATOMIC_RELAXED) - out;
}

/* Let go on what was set aside before others passed it; all: whatever has passed. */
static void release_aside(struct task *t, struct impair *s, uint64_t now, bool all)
{
    while (s->aside_out != s->aside_in) {
        struct aside a = s->aside[s->aside_out % MAX_ASIDE];

        if (!all && s->passed - a.since < s->displacement)
            break;
        __atomic_store_n(&s->aside_out, s->aside_out + 1, __ATOMIC_RELAXED);
        s->reordered += enter_line(t, s, a.m, now) && s->passed != a.since;
    }
}

static void set_aside(struct impair *s, struct rte_mbuf *m)
{
    s->aside[s->aside_in % MAX_ASIDE] = (struct aside){m, s->passed};
    __atomic_store_n(&s->aside_in, s->aside_in + 1, __ATOMIC_RELAXED);
}

static bool pass_on(struct task *t, struct impair *s, struct rte_mbuf *m, uint64_t now)
{
    bool ok = enter_line(t, s, m, now);

    s->passed += ok;
    release_aside(t, s, now, false);
    return ok;
}

static void pass_twice(struct task *t, struct impair *s, struct rte_mbuf *m, uint64_t now)
{
    struct rte_mbuf *copy = NULL;
    bool first;

    if (m->pkt_len <= s->copy_room)
        copy = rte_pktmbuf_copy(m, s->pool, 0, UINT32_MAX);
    if (copy == NULL) {
        s->no_mbuf++;
        pass_on(t, s, m, now);
        return;
    }
    t->created++;
    first = pass_on(t, s, m, now);
    s->duplicated += pass_on(t, s, copy, now) && first;
}

static void impair_handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    struct impair *s = t->state;
    uint64_t now = rte_rdtsc();

    for (uint16_t i = 0; i < n; i++) {
        if (t->in_port != PORT_IN_MBUF)
            meta_set_in_port(m[i], t->in_port);
        if (happens(s, &s->loss))
            task_drop_now(t, m[i], DROP_LOSS);
        else if (happens(s, &s->duplicate))
            pass_twice(t, s, m[i], now);
        else if (happens(s, &s->reorder) && held_aside(s) < MAX_ASIDE)
            set_aside(s, m[i]);
        else
            pass_on(t, s, m[i], now);
    }
}

/* Faults come by chance: a packet that has none. */
static void impair_explain(struct task *t, struct rte_mbuf *m, const struct task_explain *x)
{
    fputs("its faults, delay and rate are left out\n", x->notes);
    if (t->in_port != PORT_IN_MBUF)
        meta_set_in_port(m, t->in_port);
    task_emit(t, 0, m);
}

static uint16_t impair_poll(struct task *t, uint64_t now)
{
    struct impair *s = t->state;
    struct rte_mbuf *m[BURST_MAX];
    uint16_t n;

    if (unlikely(t->stopping))
        release_aside(t, s, now, true);
    n = line_take(&s->line, m, BURST_MAX, now);
    if (n > 0)
        task_emit_burst(t, OUT_TO, m, n);
    return n;
}

static uint64_t impair_held(const struct task *t)
{
    const struct impair *s = t->state;

    return (uint64_t)held_aside(s) + line_held(&s->line);
}

/* --- figures --- */

static const char *const stat_names[] = {"duplicated", "reordered", "no_mbuf", NULL};

static uint64_t impair_stat(const struct task *t, unsigned i)
{
    const struct impair *s = t->state;
    const uint64_t *const figure[] = {&s->duplicated, &s->reordered, &s->no_mbuf};

    return __atomic_load_n(figure[i], __ATOMIC_RELAXED);
}

const struct task_type task_impair = {
    .schema = {.type = "impair",
               .help =
                   "a line that loses, duplicates, reorders, delays and limits by known amounts",
               .doc = "doc/sink.md",
               .kind = TASK_WORKER,
               .makes = true,
               .check = impair_check,
               .params = params,
               .n_params = N_ARGS,
               .outputs = {[OUT_TO] = {"to", "what the line has carried"}},
               .drops = drops,
               .n_drops = N_DROPS},
    .state_size = sizeof(struct impair),
    .init = impair_init,
    .fini = impair_fini,
    .handle = impair_handle,
    .poll = impair_poll,
    .explain = impair_explain,
    .held = impair_held,
    .stat_names = stat_names,
    .stat = impair_stat,
};

#define FIXED_ONE 65536.0
#define ON_WIRE   24 /* FCS, preamble and gap of a frame */

int line_init(struct line *l, const struct line_spec *spec)
{
    l->slot = rte_zmalloc_socket("impair", spec->room * sizeof(l->slot[0]), 0, spec->socket);
    if (l->slot == NULL)
        return -ENOMEM;
    l->mask = spec->room - 1;
    l->delay = spec->delay;
    l->jitter = spec->jitter;
    l->queue = spec->queue;
    l->packet_cost = (uint64_t)(spec->packet_cost * FIXED_ONE + 0.5);
    l->byte_cost = (uint64_t)(spec->byte_cost * FIXED_ONE + 0.5);
    l->random = spec->seed;
    return 0;
}

void line_fini(struct line *l)
{
    for (; l->out != l->in; l->out++)
        rte_pktmbuf_free(l->slot[l->out & l->mask].m);
    rte_free(l->slot);
}

enum line_answer line_ask(const struct line *l, uint64_t now)
{
    if (l->in - l->out > l->mask)
        return LINE_FULL;
    return l->free > now && l->free - now > l->queue ? LINE_TOO_SLOW : LINE_TAKES;
}

/* When a packet has been sent. */
static uint64_t send(struct line *l, const struct rte_mbuf *m, uint64_t now)
{
    uint64_t cost = l->packet_cost + l->byte_cost * (m->pkt_len + ON_WIRE);

    if (l->free < now) {
        l->free = now;
        l->free_part = 0;
    }
    cost += l->free_part;
    l->free += cost >> 16;
    l->free_part = (uint16_t)cost;
    return l->free;
}

void line_put(struct line *l, struct rte_mbuf *m, uint64_t now)
{
    uint64_t due = send(l, m, now) + l->delay;

    if (l->jitter > 0)
        due += (uint64_t)((unsigned __int128)random64(&l->random) * l->jitter >> 64);
    l->slot[l->in & l->mask] = (struct line_slot){m, due};
    __atomic_store_n(&l->in, l->in + 1, __ATOMIC_RELAXED);
}

uint16_t line_take(struct line *l, struct rte_mbuf **m, uint16_t n, uint64_t now)
{
    uint16_t k = 0;

    while (k < n && l->out + k != l->in && l->slot[(l->out + k) & l->mask].due <= now) {
        m[k] = l->slot[(l->out + k) & l->mask].m;
        k++;
    }
    __atomic_store_n(&l->out, l->out + k, __ATOMIC_RELAXED);
    return k;
}
