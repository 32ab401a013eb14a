/* SPDX-License-Identifier: BSD-3-Clause */
/* gen: traffic from a packet template at a rate, paced by the TSC. */
#include <errno.h>

#include "base/log.h"
#include "engine/task.h"
#include "tasks/gen_frames.h"
#include "tasks/gen_pace.h"

#define TRAIN_MAX     1000000
#define DEFAULT_BURST 32

enum {
    PARAM_TEMPLATE_FILE,
    PARAM_FRAME_SIZE,
    PARAM_LOAD_RATE,
    PARAM_TOTAL,
    PARAM_TIME,
    PARAM_START,
    PARAM_TRAIN,
    PARAM_SEED
};
enum { OUT_TO };

struct gen {
    struct gen_frames frames;
    struct gen_pace pace;
    struct rte_mempool *pool;
    uint32_t left;  /* packets of the train under way */
    uint16_t burst; /* packets in one poll, at most */
    bool started;
    uint64_t delay, begin; /* TSC cycles to wait before the first packet, and when that is over */
    uint64_t time, end;    /* TSC cycles to send for, and when that is over; 0: no end */
    uint64_t total;        /* packets to make; UINT64_MAX: no end */
    uint64_t no_mbuf; /* packets not made because the pool was empty; written by its core, read by
                         others */
};

/* --- start --- */

/* The port that packets of an instance leave by, followed along first outputs; NULL: none. */
static const struct cfg_port *egress_port(const struct plan *p, unsigned instance)
{
    for (unsigned hops = 0; hops < p->n_instances; hops++) {
        const struct plan_output *o = &p->instances[instance].output[OUT_TO];

        if (o->n_dests == 0)
            return NULL;
        switch (o->dest[0].kind) {
        case DEST_PORT:
            return &p->cfg->ports[o->dest[0].index];
        case DEST_CALL:
            instance = o->dest[0].index;
            break;
        case DEST_RING:
            instance = p->rings[o->dest[0].index].consumer;
            break;
        }
    }
    return NULL;
}

static unsigned count_instances(const struct plan *p, uint16_t task)
{
    unsigned n = 0;

    for (unsigned i = 0; i < p->n_instances; i++)
        n += p->instances[i].task == task;
    return n;
}

/* Packets per second that the task as a whole shall make; 0 after an error. */
static double wanted_pps(const struct gen *g, const struct task_env *env)
{
    const struct load *load = &env->cfg->param[PARAM_LOAD_RATE].load;
    const struct cfg_port *port = egress_port(env->plan, env->instance);
    const struct gen_frames *f = &g->frames;
    uint64_t round;

    if (load->unit == LOAD_PPS)
        return load->value;
    if (load->unit == LOAD_PERCENT && port == NULL) {
        log_error("%s: a rate in %% needs an output that leads to a port; say it in pps",
                  env->cfg->name);
        return 0;
    }
    /* Frames of several lengths: the time of one round of all of them counts. */
    round = f->total_len + 24ull * f->n_frames - 20;
    if (round > UINT32_MAX) {
        log_error("%s: a rate in %% or bit/s needs a pcap below 4 GiB", env->cfg->name);
        return 0;
    }
    return load_pps(load, port != NULL ? port->line_rate : 0, (uint32_t)round) * f->n_frames;
}

static int init_limits(struct gen *g, const struct task_env *env, const struct gen_share *share)
{
    const struct param_value *param = env->cfg->param;
    uint64_t total = param[PARAM_TOTAL].u;
    struct gen_pace_spec pace = {
        .name = env->cfg->name, .pps = wanted_pps(g, env) / share->workers, .tsc_hz = env->tsc_hz};

    if (pace.pps == 0)
        return -EINVAL;
    g->burst = env->cfg->burst != 0 ? env->cfg->burst : DEFAULT_BURST;
    pace.burst = g->burst;
    if (param[PARAM_TRAIN].set)
        pace.train = (uint32_t)param[PARAM_TRAIN].u;
    g->time = (uint64_t)((double)param[PARAM_TIME].u * 1e-9 * (double)env->tsc_hz);
    g->delay = (uint64_t)((double)param[PARAM_START].u * 1e-9 * (double)env->tsc_hz);
    g->total = UINT64_MAX;
    if (total != 0)
        g->total = total / share->workers + (share->worker < total % share->workers);
    return pace_init(&g->pace, &pace);
}

/* The template as the configuration holds it, or read again in the size asked for. */
static int init_frames(struct gen *g, const struct task_env *env, const struct gen_share *share)
{
    const struct param_value *param = env->cfg->param;
    uint32_t size = (uint32_t)param[PARAM_FRAME_SIZE].u;
    struct pkt_template *t, *resized = NULL;
    int rc;

    if (!param[PARAM_TEMPLATE_FILE].set) {
        log_error("%s: template is missing", env->cfg->name);
        return -EINVAL;
    }
    t = env->plan->cfg->templates[param[PARAM_TEMPLATE_FILE].u];
    if (size != 0 && (t->n_frames != 1 || t->frames[0].len + 4u != size)) {
        struct diags d = {0};

        t = resized = template_load(t->path, size, &d);
        diag_print(&d, stderr);
        diag_free(&d);
        if (resized == NULL)
            return -EINVAL;
    }
    rc = gen_frames_init(&g->frames, t, share);
    template_free(resized);
    if (rc == 0 && rte_pktmbuf_data_room_size(env->pool) <
                       RTE_PKTMBUF_HEADROOM + (uint32_t)g->frames.max_copied) {
        log_error("%s: its frames need a pool whose data_room is %u", env->cfg->name,
                  RTE_PKTMBUF_HEADROOM + g->frames.max_copied);
        return -EINVAL;
    }
    return rc;
}

static int gen_init(struct task *t, const struct task_env *env)
{
    struct gen *g = t->state;
    struct gen_share share = {
        .worker = t->worker,
        .workers = count_instances(env->plan, env->plan->instances[env->instance].task),
        .seed = env->cfg->param[PARAM_SEED].u,
        .socket = env->socket,
    };
    int rc = init_frames(g, env, &share);

    if (rc == 0)
        rc = init_limits(g, env, &share);
    if (rc != 0) {
        gen_frames_fini(&g->frames);
        return rc;
    }
    g->pool = env->pool;
    g->frames.buf_offset =
        (uint16_t)(sizeof(struct rte_mbuf) + rte_pktmbuf_priv_size(g->pool) + RTE_PKTMBUF_HEADROOM);
    return 0;
}

static void gen_fini(struct task *t)
{
    gen_frames_fini(&((struct gen *)t->state)->frames);
}

/* --- run --- */

static void finish(struct task *t)
{
    __atomic_store_n(&t->finished, true, __ATOMIC_RELAXED);
}

static void start(struct gen *g, uint64_t now)
{
    g->started = true;
    g->begin = now + g->delay;
    pace_start(&g->pace, g->begin);
    g->end = g->time != 0 ? g->begin + g->time : 0;
}

static uint16_t gen_poll(struct task *t, uint64_t now)
{
    struct gen *g = t->state;
    struct rte_mbuf *m[BURST_MAX];
    unsigned n;

    if (unlikely(t->stopping || t->finished))
        return 0;
    if (unlikely(!g->started))
        start(g, now);
    if (unlikely(now < g->begin))
        return 0;
    if (unlikely((g->end != 0 && now >= g->end) || t->created == g->total)) {
        finish(t);
        return 0;
    }
    if (g->left == 0) {
        if (!pace_earn(&g->pace, now))
            return 0;
        g->left = g->pace.train;
    }
    n = RTE_MIN(g->left, g->burst);
    g->left -= n;
    if (unlikely(n > g->total - t->created))
        n = (unsigned)(g->total - t->created);
    if (unlikely(rte_mempool_get_bulk(g->pool, (void **)m, n) != 0)) {
        g->no_mbuf += n;
        return 0;
    }
    gen_frames_fill(&g->frames, m, n);
    t->created += n;
    task_emit_burst(t, OUT_TO, m, (uint16_t)n);
    return (uint16_t)n;
}

/* --- figures --- */

static const char *const stat_names[] = {"no_mbuf", "missed", NULL};

static uint64_t gen_stat(const struct task *t, unsigned i)
{
    const struct gen *g = t->state;

    if (i == 0)
        return __atomic_load_n(&g->no_mbuf, __ATOMIC_RELAXED);
    return pace_missed(&g->pace);
}

const struct task_type task_gen = {
    .schema =
        {
            .type = "gen",
            .help = "makes traffic from a packet template at a rate",
            .kind = TASK_SOURCE,
            .params =
                {
                    [PARAM_TEMPLATE_FILE] = {.name = "template",
                                             .type = PARAM_TEMPLATE,
                                             .required = true,
                                             .help = "what to send; required"},
                    [PARAM_FRAME_SIZE] = {.name = "size",
                                          .type = PARAM_SIZE,
                                          .def = "0",
                                          .max = TEMPLATE_MAX_FRAME + 4,
                                          .help = "bytes of a frame with FCS, 64 to 9022; 0: what "
                                                  "the template says"},
                    [PARAM_LOAD_RATE] = {.name = "rate",
                                         .type = PARAM_LOAD,
                                         .def = "100%",
                                         .help = "of all its instances together; % is of the "
                                                 "egress port's line_rate"},
                    [PARAM_TOTAL] = {.name = "count",
                                     .type = PARAM_COUNT,
                                     .def = "0",
                                     .help = "packets to send; 0: no end"},
                    [PARAM_TIME] = {.name = "duration",
                                    .type = PARAM_DURATION,
                                    .def = "0",
                                    .help = "time to send; 0: no end"},
                    [PARAM_START] = {.name = "start",
                                     .type = PARAM_DURATION,
                                     .def = "0",
                                     .max = 86400ull * 1000000000,
                                     .help = "time to wait before the first packet; duration "
                                             "counts from there"},
                    [PARAM_TRAIN] = {.name = "train",
                                     .type = PARAM_COUNT,
                                     .min = 1,
                                     .max = TRAIN_MAX,
                                     .help = "packets sent back to back; absent: a burst, but not "
                                             "more than 1 ms of the rate"},
                    [PARAM_SEED] = {.name = "seed",
                                    .type = PARAM_COUNT,
                                    .def = "1",
                                    .help = "start of the random numbers"},
                },
            .outputs = {"to"},
        },
    .state_size = sizeof(struct gen),
    .init = gen_init,
    .fini = gen_fini,
    .poll = gen_poll,
    .stat_names = stat_names,
    .stat = gen_stat,
};
