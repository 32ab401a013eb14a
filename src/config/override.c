/* SPDX-License-Identifier: BSD-3-Clause */
/* --set PATH=VALUE: values of the command line in the place of those of the file. */
#include "config/read.h"

#include <stdlib.h>
#include <string.h>

#define OPTION       "--set "
#define DEFAULT_POOL "pools.default."

/* One option while it is applied. */
struct override {
    struct loader *l;
    const char *text; /* "--set PATH=VALUE", which messages name and the new setting bears */
};

static struct loc loc_of(const struct override *o)
{
    return (struct loc){o->text, 0};
}

const char *override_of(const config_setting_t *s)
{
    return config_setting_get_hook(s);
}

/* The name of a child of a group or list in a path, or NULL. A group in a list is named by its key
 * "name". */
static const char *child_name(const config_setting_t *child)
{
    const char *name = config_setting_name(child);

    if (name == NULL && config_setting_is_group(child))
        config_setting_lookup_string(child, "name", &name);
    return name;
}

static unsigned children(const config_setting_t *s)
{
    return s != NULL && config_setting_is_aggregate(s) ? (unsigned)config_setting_length(s) : 0;
}

/* The child whose name is a text of len characters, or NULL. */
static config_setting_t *find_child(const config_setting_t *s, const char *text, size_t len)
{
    for (unsigned i = 0; i < children(s); i++) {
        config_setting_t *child = config_setting_get_elem(s, i);
        const char *name = child_name(child);

        if (name != NULL && strlen(name) == len && strncmp(name, text, len) == 0)
            return child;
    }
    return NULL;
}

/* Report that no child of s has the name that a path gives. */
static void no_child(const struct override *o, const config_setting_t *s, const char *kind,
                     const char *word)
{
    const char **names = grow(NULL, children(s), sizeof(*names)), *nearest;
    size_t n = 0;

    for (unsigned i = 0; i < children(s); i++) {
        const char *name = child_name(config_setting_get_elem(s, i));

        if (name != NULL)
            names[n++] = name;
    }
    nearest = nearest_name(word, names, n);
    free(names);
    if (nearest != NULL)
        diag_error(o->l->d, loc_of(o), "no %s '%s'; did you mean '%s'?", kind, word, nearest);
    else
        diag_error(o->l->d, loc_of(o), "no %s '%s'", kind, word);
}

/* Find the setting at a path of names that begins at the root. Returns NULL after an error. */
static config_setting_t *walk(const struct override *o, config_setting_t *root, char *path)
{
    static const char *const kinds[][2] = {{"pools", "pool"}, {"ports", "port"}, {"tasks", "task"}};
    config_setting_t *s = root, *child;
    const char *kind = "section";
    char *rest = NULL;

    for (char *word = strtok_r(path, ".", &rest); word != NULL; word = strtok_r(NULL, ".", &rest)) {
        child = find_child(s, word, strlen(word));
        if (child == NULL) {
            no_child(o, s, kind, word);
            return NULL;
        }
        s = child;
        kind = "group";
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
            if (config_setting_parent(s) == root && strcmp(word, kinds[i][0]) == 0)
                kind = kinds[i][1];
    }
    return s;
}

/* The pool "default" exists even where no file names it, so that --set must be able to name it. */
static void add_default_pool(const struct override *o, config_setting_t *root)
{
    config_setting_t *pools = config_setting_get_member(root, "pools"), *pool;

    if (pools == NULL)
        pools = config_setting_add(root, "pools", CONFIG_TYPE_GROUP);
    pool = config_setting_add(pools, "default", CONFIG_TYPE_GROUP); /* NULL: there is one already */
    if (pool != NULL)
        config_setting_set_hook(pool, (void *)(uintptr_t)o->text);
}

static void set_value(const struct override *o, config_setting_t *group, const char *key,
                      const char *value)
{
    bool yes = strcmp(value, "true") == 0, is_bool = yes || strcmp(value, "false") == 0;
    config_setting_t *s = NULL;

    if (config_setting_is_group(group)) {
        config_setting_remove(group, key);
        s = config_setting_add(group, key, is_bool ? CONFIG_TYPE_BOOL : CONFIG_TYPE_STRING);
    }
    if (s == NULL) {
        diag_error(o->l->d, loc_of(o), "key '%s': expected the name of a key", key);
        return;
    }
    if (is_bool)
        config_setting_set_bool(s, yes);
    else
        config_setting_set_string(s, value);
    config_setting_set_hook(s, (void *)(uintptr_t)o->text);
}

/* Set a value at a path: TASK.KEY, KEY of the whole file, or names of sections down to a key. The
 * path is cut into pieces. */
static void apply(const struct override *o, config_setting_t *root, char *path, const char *value)
{
    const config_setting_t *tasks = config_setting_get_member(root, "tasks");
    char *dot = strrchr(path, '.');
    config_setting_t *group = root;

    if (strncmp(path, DEFAULT_POOL, strlen(DEFAULT_POOL)) == 0)
        add_default_pool(o, root);
    if (dot != NULL) {
        *dot = '\0';
        group = find_child(tasks, path, strlen(path)); /* names of tasks may have dots */
        if (group == NULL && strchr(path, '.') == NULL)
            no_child(o, tasks, "task", path);
        else if (group == NULL)
            group = walk(o, root, path);
    }
    if (group != NULL)
        set_value(o, group, dot != NULL ? dot + 1 : path, value);
}

void override_values(struct loader *l, config_setting_t *root)
{
    for (unsigned i = 0; i < l->opt->n_set; i++) {
        struct override o = {l, keep_format(l, OPTION "%s", l->opt->set[i])};
        const char *path = o.text + strlen(OPTION), *value = strchr(path, '=');
        char *copy;

        if (value == NULL || value == path) {
            diag_error(l->d, loc_of(&o), "expected TASK.PARAM=VALUE, such as gen.rate=1Mpps");
            continue;
        }
        copy = grow(NULL, strlen(path) + 1, 1);
        memcpy(copy, path, (size_t)(value - path));
        copy[value - path] = '\0';
        apply(&o, root, copy, value + 1);
        free(copy);
    }
}
