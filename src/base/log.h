/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages for the person who started the program, on stderr. Never on the hot path. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

/** "vbng: text". Say what is wrong and what to do. */
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
