/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of subscribers of any text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static const char *csv, *config;
static FILE *nowhere;

/* Returns whether the table was right. */
static bool load(const uint8_t *data, size_t size)
{
    struct diags d = {0};
    struct cfg_model *m;

    fuzz_write(csv, data, size);
    m = config_load(config, fuzz_config_options(), &d);
    if ((m == NULL) != (d.n_errors > 0))
        fuzz_fail("%zu errors, and %s model", d.n_errors, m == NULL ? "no" : "a");
    diag_print(&d, nowhere);
    diag_free(&d);
    config_free(m);
    return m != NULL;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char right[] = "port,svlan,cvlan,ipv4\ncpe0,1,1,10.0.0.1\n";
    char text[2048];

    csv = fuzz_path(".csv");
    config = fuzz_path(".cfg");
    nowhere = fopen("/dev/null", "w");
    snprintf(text, sizeof(text),
             "name = \"csv\"; memory = \"no-huge\"; topology = \"1x2x1\";\n"
             "pools = { default = { mbufs = \"4K\"; }; };\n"
             "ports = ( { name = \"cpe0\"; device = \"net_null0\"; },"
             " { name = \"cpe1\"; device = \"net_null1\"; } );\n"
             "qos = { profiles = { slow = { rate = \"10M\"; }; fast = { rate = \"50M\"; }; }; };\n"
             "subscribers = ( { csv = \"%s\"; } );\n"
             "tasks = ( { name = \"f\"; type = \"sink\"; from = [\"cpe0\", \"cpe1\"]; } );\n"
             "layout = ( { core = \"0\"; tasks = [\"f\"]; } );\n",
             csv);
    fuzz_write(config, (const uint8_t *)text, strlen(text));
    if (!load((const uint8_t *)right, strlen(right)))
        fuzz_fail("a right table is refused");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    load(data, size);
    return 0;
}
