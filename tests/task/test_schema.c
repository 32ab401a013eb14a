/* SPDX-License-Identifier: BSD-3-Clause */
/* The schemas of all types of task: each number of a parameter, an output or a drop has its row,
 * with words. */
#include "common/program.h"

#include <stdio.h>
#include <string.h>

#include <CUnit/Basic.h>

#include "engine/drops.h"
#include "engine/task.h"

static const struct task_schema *schema; /* that is looked at */

/* A row that must be there. */
static void has(bool is_there, const char *what, unsigned i)
{
    if (!is_there)
        fprintf(stderr, "%s: no %s of number %u, or no words for it\n", schema->type, what, i);
    CU_ASSERT(is_there);
}

static bool is_drop(const struct task_drop *d)
{
    return d->name != NULL && d->meaning != NULL && d->remedy != NULL;
}

static void look_at_schema(void)
{
    unsigned n_outputs = 0;

    has(schema->help != NULL, "help", 0);
    CU_ASSERT(schema->n_params <= TASK_MAX_PARAMS);
    for (unsigned i = 0; i < schema->n_params; i++)
        has(schema->params[i].name != NULL && schema->params[i].help != NULL, "parameter", i);
    for (; n_outputs <= TASK_MAX_OUTPUTS && schema->outputs[n_outputs].name != NULL; n_outputs++)
        has(schema->outputs[n_outputs].help != NULL, "output", n_outputs);
    CU_ASSERT(n_outputs <= TASK_MAX_OUTPUTS);
    CU_ASSERT_EQUAL(n_outputs == 0, schema->kind == TASK_SINK);
    for (unsigned i = n_outputs; i <= TASK_MAX_OUTPUTS; i++)
        has(schema->outputs[i].name == NULL, "row before the output", i);
    CU_ASSERT(schema->n_drops <= TASK_MAX_DROPS);
    for (unsigned i = 0; i < schema->n_drops; i++)
        has(is_drop(&schema->drops[i]), "drop", i);
}

static void every_number_has_its_row(void)
{
    for (unsigned i = 0; task_types[i] != NULL; i++) {
        schema = &task_types[i]->schema;
        look_at_schema();
    }
}

static void bounds_and_choices_are_of_their_type(void)
{
    for (unsigned i = 0; task_types[i] != NULL; i++) {
        schema = &task_types[i]->schema;
        for (unsigned k = 0; k < schema->n_params; k++) {
            const struct task_param *p = &schema->params[k];

            has((p->type == PARAM_ENUM) == (p->choices != NULL), "choices", k);
            has(p->max == 0 || p->min <= p->max, "bounds", k);
            has(param_notation(p->type) != NULL, "notation", k);
            has(p->scope == SCOPE_TASK || schema->items != NULL, "list of items for parameter", k);
        }
    }
}

static void reasons_of_the_engine_have_words(void)
{
    static const struct task_schema none = {.type = "none"};

    for (unsigned i = 0; i < N_ENGINE_DROPS; i++)
        CU_ASSERT(is_drop(&engine_drops[i]));
    for (unsigned i = 0; i < N_PORT_DROPS; i++)
        CU_ASSERT(is_drop(&port_drops[i]));
    for (unsigned i = 0; i < N_LEDGER_WORDS; i++)
        CU_ASSERT(is_drop(&ledger_words[i]));
    CU_ASSERT_STRING_EQUAL(drop_name(&none, DROP_NO_PATH), "no_path");
    CU_ASSERT_STRING_EQUAL(drop_name(&none, DROP_LINK_FULL), "link_full");
    CU_ASSERT_PTR_NULL(drop_of(&none, 0));
}

static void bounds_are_in_the_notation_of_the_configuration(void)
{
    static const struct {
        struct task_param param;
        const char *text;
    } cases[] = {
        {{.type = PARAM_COUNT}, ""},
        {{.type = PARAM_COUNT, .max = 8192}, "at most 8192"},
        {{.type = PARAM_COUNT, .min = 1, .max = 64}, "1 to 64"},
        {{.type = PARAM_RANGE, .max = 1048575}, "within 0 to 1048575"},
        {{.type = PARAM_DURATION, .min = 10000, .max = 1000000000}, "10us to 1s"},
        {{.type = PARAM_DURATION, .min = 1000000000, .max = UINT64_C(604800000000000)},
         "1s to 168h"},
        {{.type = PARAM_RATE, .min = 8000, .max = UINT64_C(1000000000000)}, "8k to 1T"},
    };
    char text[80];

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CU_ASSERT_STRING_EQUAL(param_bounds(&cases[i].param, text, sizeof(text)), cases[i].text);
}

static const struct test tests[] = {
    {"every number has its row", every_number_has_its_row},
    {"bounds and choices are of their type", bounds_and_choices_are_of_their_type},
    {"reasons of the engine have words", reasons_of_the_engine_have_words},
    {"bounds are in the notation of the configuration",
     bounds_are_in_the_notation_of_the_configuration},
    {NULL, NULL},
};

const struct test_program test_program = {"schema", tests, NULL, NULL};
