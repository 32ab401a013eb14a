/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of the requests: what their files share. Nobody else includes this. */
#ifndef CONTROL_REQUEST_IMPL_H
#define CONTROL_REQUEST_IMPL_H

#include <jansson.h>

#include "control/change.h"

#define REQUEST_MAX_KEYS 6

/** A command: its keys, NULL at the end, and what does it. */
struct command {
    const char *name;
    const char *keys[REQUEST_MAX_KEYS];
    /** Returns the answer (an object), or NULL with the reason. */
    json_t *(*run)(struct control *c, const json_t *request, struct refusal *why);
};

/** NULL at the end. */
extern const struct command show_commands[], change_commands[], stream_commands[];

/* Each reads a key. Returns 0 or -EINVAL, with the key and what was expected in why. */
int want_integer(const json_t *request, const char *key, uint64_t first, uint64_t last,
                 uint64_t *out, struct refusal *why);
int want_name(const json_t *request, const char *key, const char **out, struct refusal *why);

/** An integer, the id, or "PORT SVLAN.CVLAN". *id is from 1. */
int subscriber_value(const struct control *c, const json_t *value, uint32_t *id,
                     struct refusal *why);

/** An index in qos.profiles[]. */
int profile_value(const struct control *c, const json_t *value, uint32_t *profile,
                  struct refusal *why);

int want_scheduler(const struct control *c, const json_t *request, unsigned *scheduler,
                   struct refusal *why);
int want_direction(const json_t *request, enum qos_direction *direction, struct refusal *why);

#endif
