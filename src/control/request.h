/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One request, a JSON object on a line, and its answer; doc/control.md has all of them. A command
 * is a table of keys and a function: the keys of subscribers, routes and rates are those of the
 * configuration (config/keys.h), and so are the messages about them.
 */
#ifndef CONTROL_REQUEST_H
#define CONTROL_REQUEST_H

#include <jansson.h>

#include "config/keys.h"
#include "control/control.h"
#include "control/socket/server.h"

#define REQUEST_MAX_PROFILES    10000 /* changes in one set-profiles */
#define REQUEST_MAX_SUBSCRIBERS 1000  /* rows in one answer of show-subscribers */
#define REQUEST_MAX_CHANGES     10000 /* entries of a list of subscribers or routes */

/**
 * Do what a request of len bytes asks for. Returns the answer, one line with its line end, to be
 * freed, or NULL without memory. A request that is not right is answered {"error": "..."} and has
 * changed nothing.
 */
char *request_answer(struct control *c, const char *request, size_t len);

/** The same of a request to the control socket; control: a struct control. */
char *request_serve(void *control, struct server_request *request);

/** Do what a request that is parsed asks for. Returns the answer, or NULL with the reason. */
json_t *request_run(struct control *c, const json_t *request, struct refusal *why);

/* --- for the files that run commands --- */

#define REQUEST_MAX_KEYS   16
#define REQUEST_ENTRY_NAME 32

/** A request while its command runs. */
struct request {
    const json_t *json;               /* the whole request */
    struct value v[REQUEST_MAX_KEYS]; /* parallel to the keys of its command */
    struct loader l; /* names refer to the running config; at says which entry of a list is read */
    char (*entry)[REQUEST_ENTRY_NAME]; /* "LIST[INDEX]" of each entry, or NULL */
};

/** A command. */
struct command {
    const char *name;
    const struct key *keys; /* n_keys of them, at most REQUEST_MAX_KEYS */
    unsigned n_keys;
    /** Run the command with values that are right one by one. Returns the answer (an object), or
     * NULL with the reason, as an error in r->l.d or in why. */
    json_t *(*run)(struct control *c, struct request *r, struct refusal *why);
    const char *help;
    bool changes; /* the command may change what running_changes() compares */
};

/** The commands of each file, up to an entry without a name. */
extern const struct command show_commands[], object_commands[], find_commands[], rate_commands[],
    stream_commands[], subscriber_commands[], session_commands[], name_commands[], route_commands[],
    reload_commands[], capture_commands[], explain_commands[], octets_commands[];

#define KEYS(array) (array), RTE_DIM(array)

/** The length of the list under a key, which must have 1 to max entries; what: their kind, in
 * words. Gives the entries their names. Returns 0 after an error. */
size_t want_list(struct request *r, const struct value *v, const char *key, size_t max,
                 const char *what);

/** The place of an entry of the list. */
struct loc entry_loc(const struct request *r, size_t i);

/** Read entry i of a list, an object that messages call what, by a table of n keys. Returns whether
 * there was no error. */
bool want_object(struct request *r, const struct value *list, size_t i, const char *what,
                 const struct key *keys, unsigned n, struct value *values);

/** {"ok": true, "changed": n} */
json_t *answer_changed(uint64_t n);

#endif
