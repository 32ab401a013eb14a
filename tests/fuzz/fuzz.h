/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzz targets share: an input as a file, and a gateway that no thread runs. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "config/model.h"
#include "plan/plan.h"
#include "engine/engine.h"
#include "tables/tables.h"

/* What libFuzzer calls. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** A file name in the folder of this process in memory, ending in suffix; removed at exit. */
const char *fuzz_path(const char *suffix);

/** Write the input there. */
void fuzz_write(const char *path, const uint8_t *data, size_t size);

/** The options with which a configuration is read: all types of task, the templates of the project.
 */
const struct config_options *fuzz_config_options(void);

/** The end of the program, with the reason. */
void fuzz_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/** A gateway built as the program does it, but for the cores, which are never started. */
struct gateway {
    struct cfg_model *model;
    struct plan *plan;
    struct engine engine;
    struct tables *tables;
};

/** Build the gateway of a configuration, beside the targets' sources; it is taken down at exit. */
void gateway_open(struct gateway *g, const char *name);

#endif
