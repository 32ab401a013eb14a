/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a configuration, and the strings that are made while they are read: both live as
 * long as the model. vbng-cp reads its configuration with them, too. */
#include "config/read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/input.h"
#include "config/syntax.h"

/* The model and the strings that live as long as the model. */
struct owner {
    struct cfg_model model;
    char **strings;
    size_t n_strings;
};

static struct owner *owner_of(struct cfg_model *m)
{
    return (struct owner *)m; /* its first member */
}

/* End the program where there is no memory. */
static void *must_have(void *p)
{
    if (p == NULL) {
        fputs("vbng: error: out of memory\n", stderr);
        abort();
    }
    return p;
}

void *grow(void *p, size_t n, size_t size)
{
    return must_have(reallocarray(p, n > 0 ? n : 1, size));
}

char *read_whole(const char *path, size_t *size, const char **why)
{
    FILE *f = input_open(path, why);
    size_t room = 1 << 14, n = 0;
    char *text = NULL;

    if (f == NULL)
        return NULL;
    do {
        room *= 2;
        text = grow(text, room, 1);
        n += fread(text + n, 1, room - 1 - n, f);
    } while (n == room - 1);
    *why = ferror(f) ? strerror(errno) : NULL;
    fclose(f);
    text[n] = '\0';
    *size = n;
    if (*why == NULL)
        return text;
    free(text);
    return NULL;
}

struct cfg_model *model_open(const char *path)
{
    struct cfg_model *m = grow(NULL, 1, sizeof(struct owner));
    struct loader l = {.m = m};

    memset(m, 0, sizeof(struct owner));
    m->path = path;
    m->path = keep_file_name(&l, path);
    return m;
}

void model_close(struct cfg_model *m)
{
    struct owner *o = owner_of(m);

    free(m->files);
    for (size_t i = 0; i < o->n_strings; i++)
        free(o->strings[i]);
    free(o->strings);
    free(o);
}

/* Hand a string to the model, which frees it. */
static const char *own(struct loader *l, char *s)
{
    struct owner *o = owner_of(l->m);

    GROW_ONE(o->strings, o->n_strings);
    o->strings[o->n_strings++] = s;
    return s;
}

const char *keep_string(struct loader *l, const char *s)
{
    size_t size = strlen(s) + 1;

    return own(l, memcpy(grow(NULL, size, 1), s, size));
}

const char *keep_format(struct loader *l, const char *fmt, ...)
{
    char *s = NULL;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&s, fmt, args) < 0)
        s = NULL;
    va_end(args);
    return own(l, must_have(s));
}

unsigned keep_file(struct loader *l, const char *path)
{
    struct cfg_model *m = l->m;

    for (unsigned i = 0; i < m->n_files; i++)
        if (strcmp(m->files[i], path) == 0)
            return i;
    GROW_ONE(m->files, m->n_files);
    m->files[m->n_files] = keep_string(l, path);
    return m->n_files++;
}

const char *keep_file_name(struct loader *l, const char *path)
{
    unsigned i = keep_file(l, path); /* this call may move files[] */

    return l->m->files[i];
}

const char *beside(struct loader *l, const char *file, const char *name)
{
    const char *slash = strrchr(file, '/');

    if (slash == NULL || name[0] == '/')
        return name;
    return keep_format(l, "%.*s/%s", (int)(slash - file), file, name);
}

const char *included_file(struct loader *l, const char *top, const char *file)
{
    const char *slash = strrchr(top, '/');
    const char *folder = slash == NULL ? "." : top;
    size_t length = slash == NULL ? 1 : (size_t)(slash - top) + 1;

    if (strncmp(file, folder, length) == 0 && file[length] == '/')
        file += length + 1;
    return beside(l, top, file);
}

int parse_file(struct loader *l, const char *path, config_t *config)
{
    const char *slash = strrchr(path, '/'), *file;
    struct syntax s;

    if (syntax_read(l, path, &s) != 0)
        return -EINVAL;
    config_set_include_dir(
        config, slash == NULL ? "." : keep_format(l, "%.*s", (int)(slash - path + 1), path));
    if (config_read_file(config, path) == CONFIG_TRUE)
        return 0;
    if (s.wrong) {
        diag_error(l->d, s.loc, "syntax error: %s", s.text);
        return -EINVAL;
    }
    file = config_error_file(config);
    if (file == NULL || strcmp(file, path) == 0)
        file = path;
    else
        file = included_file(l, path, file);
    diag_error(l->d, (struct loc){file, (unsigned)config_error_line(config)}, "%s",
               config_error_text(config));
    return -EINVAL;
}
