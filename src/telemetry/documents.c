/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/documents.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_telemetry.h>

#include "telemetry/metrics.h"
#include "telemetry/schema.h"

#define PIECE_MAX 7000 /* bytes; an answer has room for 16 KiB, and each '"' takes two */

/* Texts are made before their commands are offered; readers hold the lock of the metrics. */
static struct document {
    const char *command, *help;
    char *text;
} documents[] = {
    {"/vbng/schema/json",
     "All types of task, a JSON document. Parameter: byte from which on; default 0. Empty: its "
     "end.",
     NULL},
    {"/vbng/plan/json",
     "The plan, a JSON document. Parameter: byte from which on; default 0. Empty: its end.", NULL},
};
enum { SCHEMA, PLAN };

static int answer(const char *command, const char *params, struct rte_tel_data *d)
{
    unsigned long first = params != NULL ? strtoul(params, NULL, 10) : 0;
    char piece[PIECE_MAX + 1] = "";

    metrics_hold();
    for (unsigned i = 0; i < RTE_DIM(documents); i++) {
        const struct document *doc = &documents[i];

        if (strcmp(doc->command, command) == 0 && doc->text != NULL && first < strlen(doc->text))
            snprintf(piece, sizeof(piece), "%s", doc->text + first);
    }
    metrics_release();
    return rte_tel_data_string(d, piece);
}

static int offer(struct document *doc, char *text)
{
    doc->text = text;
    return text == NULL ? -ENOMEM : rte_telemetry_register_cmd(doc->command, answer, doc->help);
}

int documents_add(const struct plan *p)
{
    int rc = offer(&documents[SCHEMA], schema_json(false));

    return rc != 0 ? rc : offer(&documents[PLAN], plan_json(p, false));
}

void documents_close(void)
{
    metrics_hold();
    for (unsigned i = 0; i < RTE_DIM(documents); i++) {
        free(documents[i].text);
        documents[i].text = NULL;
    }
    metrics_release();
}
