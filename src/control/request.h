/* SPDX-License-Identifier: BSD-3-Clause */
/* One request, a JSON object on a line, and its answer; doc/control.md has all of them. */
#ifndef CONTROL_REQUEST_H
#define CONTROL_REQUEST_H

#include "control/control.h"

#define REQUEST_MAX_PROFILES    10000 /* changes in one set-profiles */
#define REQUEST_MAX_SUBSCRIBERS 1000  /* rows in one answer of show-subscribers */
#define REQUEST_MAX_CHANGES     10000 /* entries of a list of subscribers or routes */

/**
 * Do what a request of len bytes asks for. Returns the answer, one line with its line end, to be
 * freed, or NULL without memory. A request that is not right is answered {"error": "..."} and has
 * changed nothing.
 */
char *request_answer(struct control *c, const char *request, size_t len);

#endif
