/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What differs between the model that holds now and another, as requests (doc/control.md): those
 * that make the other what holds now (live_changes.h), or that make what holds now the other
 * (reload.h).
 */
#ifndef CONTROL_DELTA_H
#define CONTROL_DELTA_H

#include <jansson.h>

#include "control/control.h"

enum delta_what { DELTA_SUBSCRIBERS, DELTA_ROUTES, N_DELTA_WHATS };

struct delta {
    const struct control *c;
    const struct cfg_model *other;
    bool reload;                     /* make what holds now the other */
    uint32_t port_of[CFG_MAX_PORTS]; /* of a port of the other: its number now, or CFG_NONE */
    json_t *requests;
    json_t *restart; /* strings: what of the other cannot be had while it runs; reload only */
    struct {
        uint32_t added, removed, changed;
    } n[N_DELTA_WHATS];
    uint32_t n_rates, n_dscp;
};

/** Compare. requests (and restart) are new, or NULL without memory. */
void delta_make(struct delta *d, const struct control *c, const struct cfg_model *other,
                bool reload);
void delta_free(struct delta *d);

/* --- for its parts --- */

void delta_subscribers(struct delta *d);
void delta_routes(struct delta *d);
void delta_schedulers(struct delta *d);

/** Put an entry into the list under key in the last request, or in a new one. */
void delta_list(json_t *requests, const char *cmd, const char *key, json_t *entry);

/** printf() to restart. */
void delta_restart(struct delta *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
