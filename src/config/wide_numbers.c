/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers too wide for libconfig, which makes 1410065408 of 10000000000 and -1 of 0xFFFFFFFF (1.5)
 * and reports no error. So this file searches the text of all files once more, for numbers outside
 * of strings and comments that do not fit into 32 bits.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/input.h"
#include "config/read.h"

/* May a character be part of a name in libconfig's grammar? */
static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '*';
}

/* Does libconfig read a number, len characters at s, without a loss? */
static bool fits(const char *s, size_t len)
{
    char token[64];
    bool hex, wide;
    long long v;
    char *end;

    if (len >= sizeof(token))
        return false;
    memcpy(token, s, len);
    token[len] = '\0';
    hex = len > 1 && token[0] == '0' && (token[1] == 'x' || token[1] == 'X');
    if (!hex && strpbrk(token, ".eE") != NULL)
        return true; /* a floating-point number */
    wide = len > 0 && token[len - 1] == 'L';
    errno = 0;
    v = strtoll(token, &end, hex ? 16 : 10);
    return errno == 0 && (wide || (v >= INT32_MIN && v <= INT32_MAX));
}

/* The characters of the number that begins at s. */
static size_t number_length(const char *s)
{
    size_t len = 1; /* a digit or a sign */

    while (isalnum((unsigned char)s[len]) || s[len] == '.')
        len++;
    return len;
}

static void report(struct loader *l, struct loc loc, const char *s, size_t len)
{
    diag_error(l->d, loc,
               "number %.*s: without quotes a number must fit into 32 bits: write it as a string",
               (int)len, s);
    GROW_ONE(l->wide, l->n_wide);
    l->wide[l->n_wide++] = loc;
}

/* Find the last character of a string or comment that begins at s, and count the lines up to there.
 * Returns s where none begins. */
static const char *skip_text(const char *s, unsigned *line)
{
    const char *start = s, *end = s;

    if (*s == '"') {
        for (s++; *s != '"' && *s != '\0'; s++)
            s += s[0] == '\\' && s[1] != '\0';
        end = s;
    } else if (*s == '#' || (s[0] == '/' && s[1] == '/')) {
        end = s + strcspn(s, "\n") - 1;
    } else if (s[0] == '/' && s[1] == '*') {
        end = strstr(s + 2, "*/");
        end = end != NULL ? end + 1 : s + strlen(s) - 1;
    }
    for (; start < end; start++)
        *line += *start == '\n';
    return end;
}

/* Report the wide numbers in the text of a file. */
static void search(struct loader *l, const char *file, const char *s)
{
    struct loc loc = {file, 1};

    for (; *s != '\0'; s++) {
        const char *end = skip_text(s, &loc.line);

        if (end > s) {
            s = end;
            if (*s == '\0')
                return;
        } else if (isdigit((unsigned char)*s) ||
                   ((*s == '-' || *s == '+') && isdigit((unsigned char)s[1]))) {
            size_t len = number_length(s);

            if (!fits(s, len))
                report(l, loc, s, len);
            s += len - 1;
        } else if (is_name_char(*s)) {
            while (is_name_char(s[1]))
                s++;
        }
        loc.line += *s == '\n';
    }
}

/* Add the files of a setting, and of all settings in it, to model.files[]. */
static void collect_files(struct loader *l, const config_setting_t *s)
{
    const char *file = config_setting_source_file(s);
    int length = config_setting_is_aggregate(s) ? config_setting_length(s) : 0;

    if (file != NULL && strcmp(file, l->m->path) != 0)
        keep_file(l, included_file(l, l->m->path, file));
    for (int i = 0; i < length; i++)
        collect_files(l, config_setting_get_elem(s, (unsigned)i));
}

void load_wide_numbers(struct loader *l, const config_setting_t *root)
{
    collect_files(l, root);
    for (unsigned i = 0; i < l->m->n_files; i++) {
        const char *why;
        FILE *f = input_open(l->m->files[i], &why);
        char *text = NULL;
        size_t size = 0;

        if (f == NULL)
            continue; /* removed since libconfig has read it */
        if (getdelim(&text, &size, '\0', f) > 0)
            search(l, l->m->files[i], text);
        free(text);
        fclose(f);
    }
}
