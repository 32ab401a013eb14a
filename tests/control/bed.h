/* SPDX-License-Identifier: BSD-3-Clause */
/* A gateway for tests of requests: built from a configuration, not started. */
#ifndef TESTS_CONTROL_BED_H
#define TESTS_CONTROL_BED_H

#include "control/control.h"

extern struct engine engine;
extern struct tables *tables;
extern struct control *control;

/** Of a test program whose argument is the configuration. Returns 0 or -1 with the reason on
 * stderr. */
int bed_open(void);

/** Returns whether mbufs are missing. */
int bed_close(void);

/** The answer to a request must contain a text. */
void answers(const char *request, const char *text);

/** An answer to the request must contain a text. */
void has(const char *request, const char *answer, const char *text);

/** The answer to a request, to be freed. */
char *ask(const char *request);

#endif
