/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/names.h"

#include <errno.h>
#include <stdlib.h>

int names_open(struct names *t, uint32_t n_buckets)
{
    t->n_buckets = n_buckets;
    t->bucket = calloc(n_buckets, sizeof(struct name *));
    return t->bucket != NULL ? 0 : -ENOMEM;
}

void names_close(struct names *t)
{
    free(t->bucket);
    *t = (struct names){0};
}

/* FNV-1a of 64 bits. */
static uint64_t hash_of(enum name_kind kind, const uint8_t *text, size_t bytes)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ kind;

    for (size_t i = 0; i < bytes; i++)
        h = (h ^ text[i]) * UINT64_C(0x100000001b3);
    return h;
}

static struct name **bucket_of(const struct names *t, uint64_t hash)
{
    return &t->bucket[(hash ^ hash >> 32) & (t->n_buckets - 1)];
}

void names_add(struct names *t, struct name *n, struct session *s, enum name_kind kind,
               const void *text, size_t bytes)
{
    struct name **bucket;

    n->session = s;
    n->hash = hash_of(kind, text, bytes);
    bucket = bucket_of(t, n->hash);
    n->next = *bucket;
    *bucket = n;
}

void names_remove(struct names *t, struct name *n)
{
    struct name **at = bucket_of(t, n->hash);

    while (*at != n)
        at = &(*at)->next;
    *at = n->next;
}

static const struct name *with_hash(const struct name *n, uint64_t hash)
{
    while (n != NULL && n->hash != hash)
        n = n->next;
    return n;
}

const struct name *names_find(const struct names *t, enum name_kind kind, const void *text,
                              size_t bytes)
{
    uint64_t hash = hash_of(kind, text, bytes);

    return with_hash(*bucket_of(t, hash), hash);
}

const struct name *names_next(const struct name *n)
{
    return with_hash(n->next, n->hash);
}
