/* SPDX-License-Identifier: BSD-3-Clause */
/* What a session is called, by RADIUS most of all: a table of hashes of texts, so that a change
 * among 65,536 sessions looks at a few. Who looks a text up compares the session's own, which the
 * table does not have. */
#ifndef CP_NAMES_H
#define CP_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct session;

enum name_kind {
    NAME_ID,
    NAME_USER,
    NAME_STATION,
    N_NAMES,             /* of a session that RADIUS has let in */
    NAME_HOST = N_NAMES, /* the address of IPv6 that a server behind this gateway has given */
};

/** A text of a session; a member of what it belongs to. */
struct name {
    struct name *next; /* in its bucket */
    struct session *session;
    uint64_t hash;
};

struct names {
    struct name **bucket;
    uint32_t n_buckets; /* a power of two */
};

/** So many buckets, a power of two. Returns 0 or -ENOMEM. */
int names_open(struct names *t, uint32_t n_buckets);
void names_close(struct names *t);

void names_add(struct names *t, struct name *n, struct session *s, enum name_kind kind,
               const void *text, size_t bytes);
void names_remove(struct names *t, struct name *n);

/** The first that may have such a text, and the next one; or NULL. */
const struct name *names_find(const struct names *t, enum name_kind kind, const void *text,
                              size_t bytes);
const struct name *names_next(const struct name *n);

#endif
