/* SPDX-License-Identifier: BSD-3-Clause */
/* A packet template of any text, or a pcap of any bytes: the first byte says which. */
#include <stdio.h>

#include "fuzz.h"

static const char *text, *pcap;
static FILE *nowhere;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    text = fuzz_path(".tmpl");
    pcap = fuzz_path(".pcap");
    nowhere = fopen("/dev/null", "w");
    return 0;
}

static void check_frames(const struct pkt_template *t)
{
    for (unsigned k = 0; k < t->n_frames; k++)
        if (t->frames[k].len > TEMPLATE_MAX_FRAME)
            fuzz_fail("frame %u has %u bytes", k, t->frames[k].len);
    for (unsigned i = 0; i < t->n_fields; i++)
        for (unsigned k = 0; k < t->n_frames; k++)
            if (t->fields[i].offset + t->fields[i].size > t->frames[k].len ||
                t->fields[i].var >= t->n_vars)
                fuzz_fail("field %u is not in frame %u", i, k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame_sizes sizes = {0};
    struct diags d = {0};
    struct pkt_template *t;
    const char *path;

    if (size == 0)
        return -1;
    path = data[0] == 'P' ? pcap : text;
    fuzz_write(path, data + 1, size - 1);
    t = template_load(path, &sizes, &d);
    if ((t == NULL) != (d.n_errors > 0))
        fuzz_fail("%zu errors, and %s template", d.n_errors, t == NULL ? "no" : "a");
    if (t != NULL)
        check_frames(t);
    diag_print(&d, nowhere);
    diag_free(&d);
    template_free(t);
    return 0;
}
