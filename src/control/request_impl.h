/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of the requests: what their files share. Nobody else includes this. */
#ifndef CONTROL_REQUEST_IMPL_H
#define CONTROL_REQUEST_IMPL_H

#include <jansson.h>

#include "control/change.h"

#define REQUEST_MAX_KEYS 12

/** A command: its keys, NULL at the end, and what does it. */
struct command {
    const char *name;
    const char *keys[REQUEST_MAX_KEYS];
    /** Returns the answer (an object), or NULL with the reason. */
    json_t *(*run)(struct control *c, const json_t *request, struct refusal *why);
};

/** NULL at the end. */
extern const struct command show_commands[], change_commands[], stream_commands[],
    subscriber_commands[], route_commands[], reload_commands[], capture_commands[],
    explain_commands[];

/** In the table of those that show; they are with what they show. */
json_t *show_routes(struct control *c, const json_t *request, struct refusal *why);
json_t *show_changes(struct control *c, const json_t *request, struct refusal *why);

/** Do what a request asks for. Returns the answer, or NULL with the reason. */
json_t *request_run(struct control *c, const json_t *request, struct refusal *why);

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

/** A port by its name: index in ports[]. */
int want_port(const struct control *c, const json_t *request, unsigned *port, struct refusal *why);
/** An address; "ADDRESS/LENGTH" without bits set behind; a MAC of one station. Each as in the
 * configuration. */
int want_host(const json_t *request, const char *key, uint32_t *addr, struct refusal *why);
int want_prefix(const json_t *request, const char *key, uint32_t *addr, uint8_t *len,
                struct refusal *why);
int want_mac(const json_t *request, const char *key, uint8_t mac[6], struct refusal *why);

/**
 * Read a list of 1 to max objects whose keys are among those (NULL at the end), each by read(). out
 * is an array of elements of that size, to be freed. Returns how many there are, or -errno.
 */
int64_t want_list(const struct control *c, const json_t *request, const char *key, size_t max,
                  const char *const *keys, size_t size, void **out,
                  int (*read)(const struct control *c, const json_t *object, void *out,
                              struct refusal *why),
                  struct refusal *why);

int want_scheduler(const struct control *c, const json_t *request, unsigned *scheduler,
                   struct refusal *why);
int want_direction(const json_t *request, enum qos_direction *direction, struct refusal *why);

#endif
