/* SPDX-License-Identifier: BSD-3-Clause */
/* The same objects and the same mistakes in a file, in a table in CSV and in a request. */
#ifndef UNIT_KEYS_BED_H
#define UNIT_KEYS_BED_H

#include "config/qos_profiles.h"
#include "config/routes.h"
#include "config/subscribers.h"

extern struct cfg_model *there; /* the running config that requests refer to */
extern struct diags diags;      /* of what was read last */

int open_folder(void);
int close_folder(void);

/** Write a file beside the configuration. */
void put(const char *name, const char *text);

/** The only error of what was read last, or what else there was in parentheses. */
const char *message(void);

/** message() of a configuration with these sections; maps: entries of its DSCP map. */
const char *message_of_file(const char *subscribers, const char *routes, const char *subport,
                            const char *maps);

/** What reads a request, or its entry at. */
struct loader request(const char *at);

/** Read a request's object by a table; v has room for its values. Returns whether it is right. */
bool read_request(struct loader *l, const char *text, const char *what, const struct key *keys,
                  unsigned n, struct value *v);

/** message() of a request with a subscriber or a route. */
const char *of_subscriber(const char *text);
const char *of_route(const char *text);

/** Fails where two messages about a value are not the same. */
void same(const char *where, const char *value, const char *text, const char *as);

/* Right objects, a NULL key at the end; and how they are written with another value of a key. */

struct pair {
    const char *key, *value;
};

extern const struct pair subscriber[], route[], route_with_mac[], entry[];

const char *group(const struct pair *p, const char *key, const char *value);
const char *object(const struct pair *p, const char *key, const char *value);
void put_row(const struct pair *p, const char *key, const char *value);

#endif
