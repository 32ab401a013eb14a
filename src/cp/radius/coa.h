/* SPDX-License-Identifier: BSD-3-Clause */
/* The server of changes (RFC 5176): takes requests from configured clients, each once, and answers
 * them; the same request again has the same answer. */
#ifndef CP_RADIUS_COA_H
#define CP_RADIUS_COA_H

#include "cp/radius/radius.h"

struct coa_server;

/** Open its socket, which an epoll descriptor watches with a NULL pointer. Returns NULL with
 * errno. */
struct coa_server *coa_open(const struct radius_config *config, int epoll);

/** Close it. Changes that are under way may still be answered until then, not later. */
void coa_close(struct coa_server *s);

void coa_on_change(struct coa_server *s, radius_changed *changed, void *ctx);

/** Take what has come. now: of CLOCK_MONOTONIC; requests bear the time of day. */
void coa_receive(struct coa_server *s, uint64_t now);

struct radius_coa_counts coa_counts(const struct coa_server *s);

#endif
