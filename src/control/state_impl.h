/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of the state file: what its parts share. Nobody else includes this. */
#ifndef CONTROL_STATE_IMPL_H
#define CONTROL_STATE_IMPL_H

#include <stddef.h>
#include <stdint.h>

#include "control/control.h"

#define STATE_FORMAT 1

/* Notation of the lines that are many, for printf and scanf. */
#define STATE_CPE "{\"cpe\":\"%s %u.%u\",\"mac\":\"%s\",\"ip\":\"%s\",\"age\":%u}\n"
#define STATE_CPE_SCAN                                                                             \
    "{\"cpe\":\"%63s %u.%u\",\"mac\":\"%17[^\"]\",\"ip\":\"%15[^\"]\",\"age\":%u}"
#define STATE_NEXTHOP "{\"nexthop\":\"%s\",\"mac\":\"%s\",\"ip\":\"%s\",\"age\":%u}\n"
#define STATE_NEXTHOP_SCAN                                                                         \
    "{\"nexthop\":\"%63[^\"]\",\"mac\":\"%17[^\"]\",\"ip\":\"%15[^\"]\",\"age\":%u}"
#define STATE_END      "{\"end\":%u,\"sum\":\"%016llx\"}\n"
#define STATE_END_SCAN "{\"end\":%u,\"sum\":\"%16llx\"}"

/** The instance that learns MACs, or NULL. */
struct task *state_arp(const struct control *c);

/** FNV-1a. */
uint64_t state_sum(const char *text, size_t len);

/** All of it as text of *len bytes, to be freed; NULL without memory. */
char *state_text(const struct control *c, size_t *len);

/** What a file of text says; text is cut into lines. */
struct state_loaded {
    unsigned changes, macs; /* that have come back */
    unsigned refused, old;  /* that have not: no longer right; MACs too old or of nobody */
    char first[256];        /* of the refused: why */
    long long saved;        /* when it was written, seconds since 1970 */
    char problem[256];      /* why it cannot be used */
};

/** Returns 0; -ENOMSG: it is no state file at all; -EBADMSG: it is, and cannot be used: problem
 * says why. Then nothing was changed. */
int state_load(struct control *c, char *text, size_t len, struct state_loaded *out);

/** Write text to path, by way of path with ".tmp" behind it. Returns 0 or -errno. */
int state_write_file(const char *path, const char *text, size_t len);

/** Returns 0 with the text (to be freed, a '\0' behind it) or -errno. */
int state_read_file(const char *path, char **text, size_t *len);

#endif
