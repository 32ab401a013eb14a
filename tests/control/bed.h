/* SPDX-License-Identifier: BSD-3-Clause */
/* A gateway for tests of requests: built from a configuration, not started. */
#ifndef TESTS_CONTROL_BED_H
#define TESTS_CONTROL_BED_H

#include "control/control.h"

extern struct engine engine;
extern struct tables *tables;
extern struct control *control;

/** Returns 0 or -1 with the reason on stderr. */
int bed_open(const char *config);

/** Returns how many mbufs are missing. */
unsigned bed_close(void);

/** The answer to a request must contain a text. */
void answers(const char *request, const char *text);

/** The answer to a request, to be freed. */
char *ask(const char *request);

#endif
