/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

/* JOURNAL_STREAM names the journal's stream; a stderr that was redirected since is another one. */
static bool is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    char own[64];
    struct stat s;

    if (stream == NULL || fstat(STDERR_FILENO, &s) != 0)
        return false;
    snprintf(own, sizeof(own), "%llu:%llu", (unsigned long long)s.st_dev,
             (unsigned long long)s.st_ino);
    return strcmp(stream, own) == 0;
}

const char *log_priority(int level)
{
    static const char *const prefix[] = {"<0>", "<1>", "<2>", "<3>", "<4>", "<5>", "<6>", "<7>"};

    return is_journal() ? prefix[LOG_PRI(level)] : "";
}

static const char *name = "vbng";

void log_as(const char *program)
{
    name = program;
}

static void say(int priority, const char *level, const char *fmt, va_list args)
{
    flockfile(stderr);
    fprintf(stderr, "%s%s: %s", log_priority(priority), name, level);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    funlockfile(stderr);
}

#define SAY(priority, level)                                                                       \
    va_list args;                                                                                  \
    va_start(args, fmt);                                                                           \
    say(priority, level, fmt, args);                                                               \
    va_end(args)

void log_error(const char *fmt, ...)
{
    SAY(LOG_ERR, "error: ");
}

void log_warning(const char *fmt, ...)
{
    SAY(LOG_WARNING, "warning: ");
}

void log_info(const char *fmt, ...)
{
    SAY(LOG_INFO, "");
}
