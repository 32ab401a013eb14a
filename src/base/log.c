/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static void say(const char *level, const char *fmt, va_list args)
{
    flockfile(stderr);
    fprintf(stderr, "vbng: %s", level);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    funlockfile(stderr);
}

#define SAY(level)                                                                                 \
    va_list args;                                                                                  \
    va_start(args, fmt);                                                                           \
    say(level, fmt, args);                                                                         \
    va_end(args)

void log_error(const char *fmt, ...)
{
    SAY("error: ");
}

void log_warning(const char *fmt, ...)
{
    SAY("warning: ");
}

void log_info(const char *fmt, ...)
{
    SAY("");
}
