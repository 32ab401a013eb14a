/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of the task gen: its streams. */
#ifndef TESTER_GEN_STREAM_H
#define TESTER_GEN_STREAM_H

#include "tester/gen.h"
#include "tester/gen_frames.h"
#include "tester/gen_pace.h"

/** Parameters, of the task and of its streams. */
enum {
    ARG_NAME,
    ARG_TEMPLATE,
    ARG_SIZE,
    ARG_RATE,
    ARG_WEIGHT,
    ARG_PACE,
    ARG_TRAIN,
    ARG_COUNT,
    ARG_START,
    ARG_DURATION,
    ARG_STAMP,
    ARG_SEED,
    ARG_CATCH_UP,
    N_ARGS
};

#define TIMED_BURSTS 8 /* the cost of one burst in so many is measured */
#define SLOW         4 /* times the quickest: the core was away, or the burst was small */

enum stream_state { STREAM_ON, STREAM_STOPPED, STREAM_ENDED };

/** A stream of one instance. Counters are written by its core and read by others. */
struct gen_stream {
    uint64_t wake; /* TSC: there is nothing to do before */
    uint64_t end;  /* TSC: it ends; UINT64_MAX: it does not by time */
    enum stream_state state;
    struct gen_pace pace;
    uint64_t total;   /* packets to make; UINT64_MAX: no end */
    uint64_t made;    /* packets */
    uint64_t no_mbuf; /* packets not made because the pool was empty */
    uint64_t full;    /* packets made that the output did not take */
    struct gen_frames frames;
    const struct cfg_item *item;
    double size; /* mean length of a frame with FCS */
    uint32_t weight;
    bool own_rate; /* load counts, not a share of the task's */
    struct load load;
} __rte_cache_aligned;

struct gen {
    unsigned n_streams, next; /* next: who is looked at first */
    unsigned n_ended;
    unsigned bursts;
    uint16_t burst; /* packets in one poll, at most */
    bool started;
    uint64_t total; /* packets of all streams together; UINT64_MAX: no end */
    uint64_t first; /* TSC: the first stream began */
    uint64_t last;  /* TSC of the last poll before the end; written by its core, read by others */
    struct rte_mempool *pool;
    struct gen_stream *stream;
    struct load load;   /* of the streams that have none of their own; of all instances */
    uint64_t line_rate; /* of the port that it leads to, bit/s; 0: none */
    const struct cfg_task *cfg;
    unsigned worker, workers;
    uint64_t tsc_hz;
    /* what making and handing over took in the bursts that were measured and not slow; quickest is
     * in 2^-8 TSC cycles per packet; written by its core, read by others */
    uint64_t quickest, timed_cycles, timed_packets;
};

/** Refuses values that do not go together (task_schema.check). */
void gen_check(const struct cfg_model *m, const struct cfg_task *t, struct diags *d);

/** Make g->stream[], all switched off. Returns 0 or -errno and says why on stderr; call
 * gen_streams_free() in either case. */
int gen_streams_init(struct gen *g, const struct task_env *env);
void gen_streams_free(struct gen *g);

/** What a stream's pace is at its present load. */
struct gen_pace_spec gen_pace_of(const struct gen *g, const struct gen_stream *s);

/** Why the loads of all streams cannot be kept, in words; NULL: they can. *which: by whom. */
const char *gen_refusal(const struct gen *g, const struct gen_stream **which);

/** The first poll: all streams as the configuration says. */
void gen_start(struct task *t, uint64_t now);

/** Switch a stream on from a time on, for a time (TSC cycles; 0: no end), or off. */
void gen_stream_start(struct task *t, struct gen_stream *s, uint64_t begin, uint64_t time);
void gen_stream_stop(struct task *t, struct gen_stream *s, enum stream_state state);

extern const char *const gen_stat_names[];
uint64_t gen_stat(const struct task *t, unsigned i);

static inline uint64_t gen_cycles(const struct gen *g, uint64_t ns)
{
    return (uint64_t)((double)ns * 1e-9 * (double)g->tsc_hz);
}

#endif
