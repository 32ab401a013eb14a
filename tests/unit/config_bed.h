/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of configurations share: a folder for files, made-up types of task, and what was
 * said of the last one. */
#ifndef TESTS_CONFIG_BED_H
#define TESTS_CONFIG_BED_H

#include <stdbool.h>
#include <stddef.h>

#include "common/program.h"
#include "config/model.h"

/* Two ports, a task "t" of type work from one to the other, a task "e" of type end, and both on one
 * core. */
#define PORTS                                                                                      \
    "ports = ( { name = \"a\"; device = \"wire:w\"; addresses = \"192.0.2.1\"; }, { name = "       \
    "\"b\"; device = \"wire:w\"; } );\n"
#define TASKS                                                                                      \
    "tasks = ( { name = \"t\"; type = \"work\"; from = \"a\"; to = \"b\"; }, { name = \"e\"; "     \
    "type = \"end\"; from = \"b\"; } );\n"
#define LAYOUT "topology = \"1x2x1\"; layout = ( { core = \"0\"; tasks = [\"t\", \"e\"]; } );\n"

/** The type "work". */
extern const struct task_schema bed_work;

extern char bed_folder[];
extern struct diags bed_diags; /* of the last bed_load() */
extern struct config_options bed_options;

/** Of a test program: make the folder, remove it. */
int bed_open(void);
int bed_close(void);

/** Write a file of the folder. */
void bed_put(const char *name, const char *text, size_t len);
void bed_put_text(const char *name, const char *text);

/** Load a text as test.cfg. What was said of the one before is forgotten. */
struct cfg_model *bed_load(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** Was something with that text said of the last one? */
bool bed_said(enum diag_level level, const char *text);

#endif
