/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/documents.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_telemetry.h>

#include "base/json.h"
#include "config/model.h"
#include "engine/drops.h"
#include "engine/task.h"
#include "telemetry/metrics.h"

static json_t *facts_json(uint32_t facts)
{
    json_t *list = json_array();

    for (const struct fact_words *w = fact_words; w->name != NULL; w++)
        if ((facts & w->fact) != 0)
            list = json_with_item(list, json_string(w->name));
    return list;
}

static json_t *drop_json(const struct task_drop *d)
{
    return json_pack("{s:s, s:s, s:s}", "name", d->name, "meaning", d->meaning, "remedy",
                     d->remedy);
}

static json_t *drops_json(const struct task_drop *drops, unsigned n)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < n; i++)
        list = json_with_item(list, drop_json(&drops[i]));
    return list;
}

/* The choices of a parameter, each with the facts that it adds; null where it has none. */
static json_t *choices_json(const struct task_param *p)
{
    json_t *list;

    if (p->choices == NULL)
        return json_null();
    list = json_array();
    for (unsigned i = 0; p->choices[i] != NULL; i++)
        list = json_with_item(
            list, json_pack("{s:s, s:o, s:o}", "name", p->choices[i], "needs",
                            facts_json(p->choice_needs != NULL ? p->choice_needs[i] : 0), "gives",
                            facts_json(p->choice_gives != NULL ? p->choice_gives[i] : 0)));
    return list;
}

static json_t *param_json(const struct task_param *p)
{
    char bounds[80];

    return json_pack("{s:s, s:s, s:s*, s:s, s:o, s:b, s:s, s:s, s:s*, s:o}", "name", p->name,
                     "notation", param_notation(p->type), "default", p->def, "bounds",
                     param_bounds(p, bounds, sizeof(bounds)), "choices", choices_json(p),
                     "required", (int)p->required, "scope", param_scope_name(p->scope), "help",
                     p->help, "more", p->more, "gives", facts_json(p->set_gives));
}

static json_t *params_json(const struct task_param *params, unsigned n)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < n; i++)
        list = json_with_item(list, param_json(&params[i]));
    return list;
}

static json_t *outputs_json(const struct task_schema *s)
{
    json_t *list = json_array();

    for (const struct task_output *o = s->outputs; o->name != NULL; o++)
        list = json_with_item(list, json_pack("{s:s, s:s, s:o}", "name", o->name, "help", o->help,
                                              "gives", facts_json(o->gives)));
    return list;
}

static json_t *items_json(const struct task_schema *s)
{
    return s->items == NULL ? json_null()
                            : json_pack("{s:s, s:s, s:i}", "key", s->items, "one", s->item, "most",
                                        CFG_MAX_ITEMS);
}

static json_t *figures_json(const struct task_type *type)
{
    json_t *list = json_array();

    for (unsigned i = 0; type->stat_names != NULL && type->stat_names[i] != NULL; i++)
        list = json_with_item(list, json_string(type->stat_names[i]));
    return list;
}

static json_t *task_json(const struct task_type *type)
{
    const struct task_schema *s = &type->schema;

    return json_pack("{s:s, s:s, s:s*, s:s*, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "type", s->type, "help", s->help, "more", s->more, "doc", s->doc, "kind",
                     task_kind_name(s->kind), "spreads", (int)s->spreads, "items", items_json(s),
                     "parameters", params_json(s->params, s->n_params), "outputs", outputs_json(s),
                     "needs", facts_json(s->needs), "gives", facts_json(s->gives), "loses",
                     facts_json(s->loses), "drops", drops_json(s->drops, s->n_drops), "figures",
                     figures_json(type));
}

static json_t *tasks_json(void)
{
    json_t *list = json_array();

    for (unsigned i = 0; task_types[i] != NULL; i++)
        list = json_with_item(list, task_json(task_types[i]));
    return list;
}

static json_t *all_facts_json(void)
{
    json_t *list = json_array();

    for (const struct fact_words *w = fact_words; w->name != NULL; w++)
        list = json_with_item(list, json_pack("{s:s, s:s}", "name", w->name, "what", w->what));
    return list;
}

char *schema_json(bool indented)
{
    json_t *receive = json_pack("{s:s, s:o, s:o}", "help", RECEIVE_HELP, "parameters",
                                params_json(receive_params, N_RECEIVE_KEYS), "queue",
                                params_json(rxq_params, N_RXQ_KEYS));
    json_t *schema = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "version", VBNG_VERSION, "tasks", tasks_json(),
        "drops", drops_json(engine_drops, N_ENGINE_DROPS), "ports",
        drops_json(port_drops, N_PORT_DROPS), "ledger", drops_json(ledger_words, N_LEDGER_WORDS),
        "facts", all_facts_json(), "receive", receive);
    char *text =
        schema == NULL ? NULL : json_dumps(schema, indented ? JSON_INDENT(2) : JSON_COMPACT);

    json_decref(schema);
    return text;
}

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
