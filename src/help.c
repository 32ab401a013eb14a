/* SPDX-License-Identifier: BSD-3-Clause */
#include "help.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/log.h"
#include "engine/drops.h"
#include "engine/task.h"
#include "options.h"
#include "telemetry/documents.h"

#define WIDTH     80 /* columns */
#define INDENT    18 /* columns before what is said of a name */
#define MAX_WORDS 512

/* A text at column INDENT, in as many lines as it needs, its first letter in upper case. */
static void put_text(const char *text)
{
    int at = INDENT;

    for (const char *word = text; *word != '\0'; word += strspn(word, " ")) {
        int len = (int)strcspn(word, " ");

        if (at > INDENT && at + 1 + len > WIDTH) {
            printf("\n%*s", INDENT, "");
            at = INDENT;
        }
        if (at > INDENT)
            at += printf(" ");
        at += printf("%c%.*s", word == text ? toupper((unsigned char)*word) : *word, len - 1,
                     word + 1);
        word += len;
    }
    putchar('\n');
}

/* "  name    Text", of which a long name is a line of its own. */
static void put_row(const char *name, const char *text)
{
    printf("  %-*s", INDENT - 2, name);
    if (strlen(name) > INDENT - 3)
        printf("\n%*s", INDENT, "");
    put_text(text);
}

static void put_more(const char *text)
{
    if (text == NULL)
        return;
    printf("%*s", INDENT, "");
    put_text(text);
}

/* What the configuration may say: "duration, 1s to 168h; default 20min". */
static void put_notation(const struct task_param *p, const struct task_schema *s)
{
    char bounds[80], text[400] = "";
    size_t len = 0;

    for (unsigned i = 0; p->choices != NULL && p->choices[i] != NULL; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i == 0 ? "" : " | ",
                                p->choices[i]);
    if (p->choices == NULL)
        len = (size_t)snprintf(text, sizeof(text), "%s", param_notation(p->type));
    if (param_bounds(p, bounds, sizeof(bounds))[0] != '\0')
        len += (size_t)snprintf(text + len, sizeof(text) - len, ", %s", bounds);
    if (p->required)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "; required");
    if (p->def != NULL)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "; default %s", p->def);
    if (p->scope == SCOPE_ITEM)
        snprintf(text + len, sizeof(text) - len, "; of a %s only", s->item);
    else if (p->scope != SCOPE_TASK)
        snprintf(text + len, sizeof(text) - len, "; of the task, or of a %s", s->item);
    printf("  %-*s%s\n", INDENT - 2, p->name, text);
}

/* The keys of receive, in a port, and those of its queues. */
static void put_receive(void)
{
    printf("receive: %s\nreceive = { ... }; in a port.\n\nKeys:\n", RECEIVE_HELP);
    for (unsigned i = 0; i < N_RECEIVE_KEYS; i++) {
        put_notation(&receive_params[i], NULL);
        put_more(receive_params[i].help);
        put_more(receive_params[i].more);
    }
    printf("\nOf a queue, queues = ( { ... }, ... ):\n");
    for (unsigned i = 0; i < N_RXQ_KEYS; i++) {
        put_notation(&rxq_params[i], NULL);
        put_more(rxq_params[i].help);
    }
}

static void put_params(const struct task_schema *s)
{
    if (s->n_params > 0)
        printf("\nParameters, beside those of every task (vbng.cfg(5), TASKS):\n");
    for (unsigned i = 0; i < s->n_params; i++) {
        const struct task_param *p = &s->params[i];

        put_notation(p, s);
        put_more(p->help);
        put_more(p->more);
    }
    if (s->items != NULL)
        printf("\n%s = ( { ... }, ... ); in the task gives it several %ss, each with parameters of "
               "its own.\n",
               s->items, s->item);
}

static void put_outputs(const struct task_schema *s)
{
    if (s->outputs[0].name != NULL)
        printf("\nOutputs:\n");
    for (const struct task_output *o = s->outputs; o->name != NULL; o++)
        put_row(o->name, o->help);
}

/* "  gives    packets that name their subscriber", one line for each fact. */
static void put_facts(const char *what, uint32_t facts, const char *when)
{
    for (const struct fact_words *w = fact_words; w->name != NULL; w++) {
        char text[160];

        if ((facts & w->fact) == 0)
            continue;
        snprintf(text, sizeof(text), "packets %s%s%s", w->what, when[0] != '\0' ? ", with " : "",
                 when);
        put_row(what, text);
    }
}

static void put_param_facts(const struct task_param *p)
{
    char when[80];

    put_facts("gives", p->set_gives, p->name);
    for (unsigned i = 0; p->choices != NULL && p->choices[i] != NULL; i++) {
        snprintf(when, sizeof(when), "%s = \"%s\"", p->name, p->choices[i]);
        put_facts("needs", p->choice_needs != NULL ? p->choice_needs[i] : 0, when);
        put_facts("gives", p->choice_gives != NULL ? p->choice_gives[i] : 0, when);
    }
}

static uint32_t all_facts(const struct task_schema *s)
{
    uint32_t facts = s->needs | s->gives | s->loses;

    for (unsigned i = 0; i < s->n_params; i++) {
        const struct task_param *p = &s->params[i];

        facts |= p->set_gives;
        for (unsigned k = 0; p->choices != NULL && p->choices[k] != NULL; k++)
            facts |= (p->choice_needs != NULL ? p->choice_needs[k] : 0) |
                     (p->choice_gives != NULL ? p->choice_gives[k] : 0);
    }
    return facts;
}

static void put_all_facts(const struct task_schema *s)
{
    if (all_facts(s) == 0)
        return;
    printf("\nWhat the plan checks:\n");
    put_facts("needs", s->needs, "");
    put_facts("gives", s->gives, "");
    for (unsigned i = 0; i < s->n_params; i++)
        put_param_facts(&s->params[i]);
    put_facts("loses", s->loses, "");
}

/* What to do about a drop, behind a line with its meaning. */
static void put_remedy(const struct task_drop *d)
{
    char text[400];

    snprintf(text, sizeof(text), "Remedy: %s", d->remedy);
    put_more(text);
}

static void put_drop(const struct task_drop *d)
{
    put_row(d->name, d->meaning);
    put_remedy(d);
}

static void put_task(const struct task_type *type)
{
    const struct task_schema *s = &type->schema;

    printf("%s: %s\n", s->type, s->help);
    if (s->kind != TASK_WORKER)
        printf(s->kind == TASK_SOURCE ? "A source: it makes packets and takes none.\n"
                                      : "A sink: packets end here.\n");
    if (s->more != NULL)
        printf("%s\n", s->more);
    if (s->doc != NULL)
        printf("See %s.\n", s->doc);
    put_params(s);
    put_outputs(s);
    put_all_facts(s);
    printf(s->n_drops > 0 ? "\nDrops, beside those of every task (no_path, link_full):\n"
                          : "\nDrops: only those of every task (no_path, link_full).\n");
    for (unsigned i = 0; i < s->n_drops; i++)
        put_drop(&s->drops[i]);
}

static void put_tasks(void)
{
    for (unsigned i = 0; task_types[i] != NULL; i++)
        put_row(task_types[i]->schema.type, task_types[i]->schema.help);
}

static bool same_words(const struct task_drop *a, const struct task_drop *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->meaning, b->meaning) == 0 &&
           strcmp(a->remedy, b->remedy) == 0;
}

/* A reason, and every task that has it in the same words. */
static void put_reason(const struct task_drop *d)
{
    char by[400] = "";
    size_t len = 0;

    for (unsigned i = 0; task_types[i] != NULL; i++)
        for (unsigned k = 0; k < task_types[i]->schema.n_drops; k++)
            if (same_words(&task_types[i]->schema.drops[k], d))
                len += (size_t)snprintf(by + len, sizeof(by) - len, "%s%s", len > 0 ? ", " : "",
                                        task_types[i]->schema.type);
    printf("%s (%s)\n", d->name, len > 0 ? by : "every task");
    put_more(d->meaning);
    put_remedy(d);
}

static int by_name(const void *a, const void *b)
{
    const struct task_drop *const *x = a, *const *y = b;

    int order = strcmp((*x)->name, (*y)->name);

    return order != 0 ? order : strcmp((*x)->meaning, (*y)->meaning);
}

/* All reasons, those of every task too, each in the same words once; by name. Returns how many. */
static unsigned all_reasons(const struct task_drop *all[MAX_WORDS])
{
    unsigned n = 0;

    for (unsigned i = 0; i < N_ENGINE_DROPS; i++)
        all[n++] = &engine_drops[i];
    for (unsigned i = 0; task_types[i] != NULL; i++)
        for (unsigned k = 0; k < task_types[i]->schema.n_drops && n < MAX_WORDS; k++) {
            const struct task_drop *d = &task_types[i]->schema.drops[k];
            unsigned same = 0;

            while (same < n && !same_words(all[same], d))
                same++;
            if (same == n)
                all[n++] = d;
        }
    qsort(all, n, sizeof(all[0]), by_name);
    return n;
}

/* The reasons of a name; NULL: all. Returns how many there are. */
static unsigned put_reasons(const char *name)
{
    const struct task_drop *all[MAX_WORDS];
    unsigned n = all_reasons(all), found = 0;

    for (unsigned i = 0; i < n; i++) {
        if (name != NULL && strcmp(all[i]->name, name) != 0)
            continue;
        put_reason(all[i]);
        found++;
    }
    return found;
}

static void put_losses(const char *title, const struct task_drop *words, unsigned n)
{
    printf("\n%s:\n", title);
    for (unsigned i = 0; i < n; i++)
        put_drop(&words[i]);
}

static int put_json(void)
{
    char *text = schema_json(true);

    if (text == NULL)
        return EXIT_START;
    puts(text);
    free(text);
    return EXIT_OK;
}

static int unknown_word(const char *word)
{
    const struct task_drop *reasons[MAX_WORDS];
    const char *words[2 * MAX_WORDS] = {"tasks", "drops", "receive", "json"}, *nearest;
    unsigned n_reasons = all_reasons(reasons), n = 4;

    for (unsigned i = 0; task_types[i] != NULL && n < MAX_WORDS; i++)
        words[n++] = task_types[i]->schema.type;
    for (unsigned i = 0; i < n_reasons; i++)
        words[n++] = reasons[i]->name;
    nearest = nearest_name(word, words, n);
    log_error(
        "--help %s: expected a type of task, a drop reason, tasks, drops, receive or json%s%s%s",
        word, nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
        nearest != NULL ? "'?" : "");
    return EXIT_USAGE;
}

int help_word(const char *word)
{
    if (strcmp(word, "json") == 0)
        return put_json();
    if (strcmp(word, "tasks") == 0) {
        put_tasks();
        return EXIT_OK;
    }
    if (strcmp(word, "drops") == 0) {
        put_reasons(NULL);
        put_losses("What devices lose, by port", port_drops, N_PORT_DROPS);
        put_losses("The ledger", ledger_words, N_LEDGER_WORDS);
        return EXIT_OK;
    }
    if (strcmp(word, "receive") == 0) {
        put_receive();
        return EXIT_OK;
    }
    for (unsigned i = 0; task_types[i] != NULL; i++)
        if (strcmp(task_types[i]->schema.type, word) == 0) {
            put_task(task_types[i]);
            return EXIT_OK;
        }
    return put_reasons(word) > 0 ? EXIT_OK : unknown_word(word);
}
