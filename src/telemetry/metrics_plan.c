/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/metrics_plan.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_telemetry.h>

#include "telemetry/metrics.h"

#define PIECE_MAX 7000 /* bytes; an answer has room for 16 KiB, and each '"' takes two */

/* Made before the command is offered; readers hold the lock of the metrics. */
static char *text;
static size_t length;

/* The document is printed for people: an answer needs neither its line ends nor what stands before
 * a line. Strings in it have no line ends. */
static size_t squeeze(char *s)
{
    char *to = s;
    bool indent = true;

    for (; *s != '\0'; s++) {
        indent = *s == '\n' || (indent && *s == ' ');
        if (!indent)
            *to++ = *s;
    }
    *to = '\0';
    return (size_t)(to - text);
}

static int piece(const char *cmd, const char *params, struct rte_tel_data *d)
{
    unsigned long first = params != NULL ? strtoul(params, NULL, 10) : 0;
    char part[PIECE_MAX + 1];

    metrics_hold();
    snprintf(part, sizeof(part), "%s", text != NULL && first < length ? text + first : "");
    metrics_release();
    return rte_tel_data_string(d, part);
}

int metrics_plan_add(const struct plan *p)
{
    FILE *f = open_memstream(&text, &length);

    if (f == NULL)
        return -errno;
    plan_print_json(p, f);
    if (fclose(f) != 0)
        return -errno;
    length = squeeze(text);
    return rte_telemetry_register_cmd(
        "/vbng/plan/json", piece,
        "The plan, a JSON document. Parameter: byte from which on; default 0. Empty: its end.");
}

void metrics_plan_close(void)
{
    metrics_hold();
    free(text);
    text = NULL;
    metrics_release();
}
