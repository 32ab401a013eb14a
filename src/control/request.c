/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/request.h"

#include <stdlib.h>
#include <string.h>

#include "control/request_impl.h"

#define MAX_COMMANDS 64

static const struct command *const tables[] = {
    show_commands,       change_commands, stream_commands, capture_commands,
    subscriber_commands, route_commands,  reload_commands, explain_commands};

#define N_TABLES (sizeof(tables) / sizeof(tables[0]))

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < N_TABLES; i++)
        for (const struct command *k = tables[i]; k->name != NULL; k++)
            if (strcmp(k->name, name) == 0)
                return k;
    return NULL;
}

static void unknown_command(const char *name, struct refusal *why)
{
    const char *all[MAX_COMMANDS];
    size_t n = 0;

    for (size_t i = 0; i < N_TABLES; i++)
        for (const struct command *k = tables[i]; k->name != NULL && n < MAX_COMMANDS; k++)
            all[n++] = k->name;
    const char *near = nearest_name(name, all, n);

    if (near != NULL) {
        refuse(why, "unknown command '%.40s': did you mean '%s'?", name, near);
        return;
    }
    refuse(why, "unknown command '%.40s': expected ", name);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(why->text);

        snprintf(why->text + len, sizeof(why->text) - len, "%s%s", i > 0 ? ", " : "", all[i]);
    }
}

/* What live_changes() tells of. */
static bool changes_something(const struct command *command)
{
    static const struct command *const changing[] = {change_commands, subscriber_commands,
                                                     route_commands, reload_commands};

    for (size_t i = 0; i < RTE_DIM(changing); i++)
        for (const struct command *k = changing[i]; k->name != NULL; k++)
            if (k == command)
                return true;
    return false;
}

static int check_keys(const struct command *command, const json_t *request, struct refusal *why)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)request, key, value)
    {
        bool known = strcmp(key, "cmd") == 0;

        for (unsigned i = 0; !known && i < REQUEST_MAX_KEYS && command->keys[i] != NULL; i++)
            known = strcmp(key, command->keys[i]) == 0;
        if (!known)
            return refuse(why, "unknown key '%.40s' in %s", key, command->name);
    }
    return 0;
}

json_t *request_run(struct control *c, const json_t *request, struct refusal *why)
{
    const struct command *command;
    const char *name;

    if (!json_is_object(request)) {
        refuse(why, "expected an object, {\"cmd\": ...}");
        return NULL;
    }
    if (want_name(request, "cmd", &name, why) != 0)
        return NULL;
    command = find_command(name);
    if (command == NULL) {
        unknown_command(name, why);
        return NULL;
    }
    if (check_keys(command, request, why) != 0)
        return NULL;
    c->changes += changes_something(command);
    return command->run(c, request, why);
}

char *request_answer(struct control *c, const char *request, size_t len)
{
    struct refusal why = {"no memory"};
    json_error_t error;
    json_t *parsed = json_loadb(request, len, JSON_REJECT_DUPLICATES, &error), *answer = NULL;
    char *text, *line;

    if (parsed == NULL)
        refuse(&why, "not JSON: %.150s, column %d; expected one object on one line", error.text,
               error.column);
    else
        answer = request_run(c, parsed, &why);
    json_decref(parsed);
    if (answer == NULL)
        answer = json_pack("{s:s}", "error", why.text);
    if (answer == NULL) /* cut in the middle of a character */
        answer = json_pack("{s:s}", "error", "the request is not right");
    text = json_dumps(answer, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(answer);
    if (text == NULL)
        return NULL;
    len = strlen(text);
    line = realloc(text, len + 2);
    if (line == NULL) {
        free(text);
        return NULL;
    }
    memcpy(line + len, "\n", 2);
    return line;
}
