/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers to requests, as lines of JSON. */
#ifndef CONTROL_SOCKET_ANSWER_H
#define CONTROL_SOCKET_ANSWER_H

#include <jansson.h>

/** The line of an answer with its end, to be freed, or NULL without memory. Takes the reference. */
char *answer_line(json_t *answer);

/** The answer {"error": why}. */
char *answer_refused(const char *why);

#endif
