/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/json_write.h"

void json_put_string(FILE *to, const char *s)
{
    fputc('"', to);
    for (; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\')
            fprintf(to, "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            fprintf(to, "\\u%04x", (unsigned)*s);
        else
            fputc(*s, to);
    }
    fputc('"', to);
}

void json_next(struct json *j, const char *key)
{
    if (j->comma)
        fputc(',', j->to);
    fprintf(j->to, "\n%*s", (int)j->depth * 2, "");
    if (key != NULL)
        fprintf(j->to, "\"%s\": ", key);
    j->comma = true;
}

void json_begin(struct json *j, const char *key, char bracket)
{
    json_next(j, key);
    fputc(bracket, j->to);
    j->depth++;
    j->comma = false;
}

void json_end(struct json *j, char bracket)
{
    j->depth--;
    if (j->comma)
        fprintf(j->to, "\n%*s", (int)j->depth * 2, "");
    fputc(bracket, j->to);
    j->comma = true;
}

void json_add_number(struct json *j, const char *key, uint64_t n)
{
    json_next(j, key);
    fprintf(j->to, "%llu", (unsigned long long)n);
}

void json_add_string(struct json *j, const char *key, const char *s)
{
    json_next(j, key);
    json_put_string(j->to, s);
}

void json_add_bool(struct json *j, const char *key, bool b)
{
    json_next(j, key);
    fputs(b ? "true" : "false", j->to);
}

void json_add_null(struct json *j, const char *key)
{
    json_next(j, key);
    fputs("null", j->to);
}
