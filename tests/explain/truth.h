/* SPDX-License-Identifier: BSD-3-Clause */
/* What became of a frame: as the gateway did it, or as explain said. */
#ifndef TESTS_EXPLAIN_TRUTH_H
#define TESTS_EXPLAIN_TRUTH_H

#include "explain/explain.h"
#include "explain/spec.h"

struct fate {
    unsigned n_sent;
    struct sent {
        unsigned port;
        uint8_t *bytes;
        uint32_t len;
    } sent[64];
    /* by the configuration's task: drops by reason, and what ended where it should */
    uint64_t drops[CFG_MAX_TASKS][N_TASK_DROPS], consumed[CFG_MAX_TASKS];
};

void fate_add_sent(struct fate *f, unsigned port, const uint8_t *bytes, uint32_t len);

/** Read the counters of all tasks before and after: the difference is the fate. */
void fate_begin(struct fate *f, const struct engine *e);
void fate_end(struct fate *f, const struct engine *e);

void fate_of_walk(struct fate *f, const struct walk *w);
bool fate_equal(struct fate *a, struct fate *b);
void fate_print(const struct fate *f, FILE *to);
void fate_free(struct fate *f);

/** Add up what was seen, and print it. */
void fate_count(const struct fate *f, const struct cfg_model *m);
void fate_print_counts(FILE *to);

/** Of all that tasks count and know. */
uint64_t fate_fingerprint(const struct engine *e, const struct tables *t);

bool fate_reads(const struct plan_instance *inst, unsigned port);

#endif
