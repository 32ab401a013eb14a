/* SPDX-License-Identifier: BSD-3-Clause */
/* A configuration of any text: errors, or a plan that can be shown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static const char *path;
static FILE *nowhere;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    path = fuzz_path(".cfg");
    nowhere = fopen("/dev/null", "w");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diags d = {0};
    struct cfg_model *m;
    struct plan *p = NULL;
    char *text;

    if (memmem(data, size, "@include", 8) != NULL)
        return -1; /* it would read any file of the machine, or wait for one */
    fuzz_write(path, data, size);
    m = config_load(path, fuzz_config_options(), &d);
    if ((m == NULL) != (d.n_errors > 0))
        fuzz_fail("%zu errors, and %s model", d.n_errors, m == NULL ? "no" : "a");
    if (m != NULL)
        p = plan_make(m, true, &d);
    if ((p == NULL) != (d.n_errors > 0))
        fuzz_fail("%zu errors, and %s plan", d.n_errors, p == NULL ? "no" : "a");
    if (p != NULL) {
        plan_print_text(p, nowhere);
        text = plan_json(p, false);
        if (text == NULL)
            fuzz_fail("a plan that is no JSON");
        free(text);
    }
    diag_print(&d, nowhere);
    diag_free(&d);
    plan_free(p);
    config_free(m);
    return 0;
}
