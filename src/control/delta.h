/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The difference between the running config and another model, as requests (doc/control.md): from
 * the running config to the other for a reload, or from the configuration to the running config, to
 * show what was changed at run time and to keep it in the state file.
 */
#ifndef CONTROL_DELTA_H
#define CONTROL_DELTA_H

#include <jansson.h>

#include "control/control.h"

enum delta_what { DELTA_SUBSCRIBERS, DELTA_ROUTES, N_DELTA_WHATS };

struct delta {
    const struct control *c;
    const struct cfg_model *from, *to; /* one of them is the running config */
    const struct cfg_model *other;     /* the one that is not */
    bool reload;                       /* to is the other one */
    uint32_t port_of[CFG_MAX_PORTS];   /* number of a port of other in the running config, by name;
                                          or CFG_NONE */
    json_t *requests;                  /* in their order they make of from what to is */
    json_t *restart; /* reload only: strings, what of other the running vbng cannot become */
    struct {
        uint32_t added, removed, changed;
    } n[N_DELTA_WHATS];
    int64_t more_routes, more_routes6; /* added less removed */
    uint32_t n_rates, n_dscp;
};

/** Compare the running config with another model, from it to the other where reload is true.
 * requests and restart are new, or NULL without memory; delta_free() releases them. */
void delta_make(struct delta *d, const struct control *c, const struct cfg_model *other,
                bool reload);
void delta_free(struct delta *d);

/** printf() to restart. */
void delta_restart(struct delta *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/**
 * The changes that were made at run time, as requests. A newly started vbng with the same
 * configuration reaches the running config of this process by request_run() of each request in
 * order; only ids of subscribers may differ. After a reload, the configuration is the reloaded
 * file. Learned MACs, counters, packets and streams of generators are no changes.
 *
 * Returns a new array of objects {"cmd": ...}, each a right request of no more than the length that
 * a request may have; NULL without memory.
 */
json_t *running_changes(const struct control *c);

/** Are two subscribers, of one line, equal but for profile, MAC and name, which can be changed in
 * place? */
bool same_identity(const struct cfg_subscriber *a, const struct cfg_subscriber *b);

/* --- for the files that compare --- */

/** Put an entry into the list under key of the last request, if that is cmd and the list is not
 * full, or of a new one. */
void delta_add_entry(json_t *requests, const char *cmd, const char *key, json_t *entry);

/** The number of a model's port in the running config, or CFG_NONE. */
uint32_t delta_running_port(const struct delta *d, const struct cfg_model *m, uint32_t port);

/** Compare the routes. */
void delta_routes(struct delta *d);

/** A route of a model as add-route says it, without "cmd". */
json_t *route_json(const struct cfg_model *m, const struct cfg_route *r);

#endif
