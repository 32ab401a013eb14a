/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages on stderr for the person who started the program: not for the hot path. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

/** What begins a message of a level of syslog(3), such as LOG_ERR: "<3>" where stderr is systemd's
 * journal, which takes the level from there (sd-daemon(3)), "" elsewhere. */
const char *log_priority(int level);

/** Let messages begin with another name than "vbng", which stays where it is. */
void log_as(const char *program);

/** Print "vbng: error: text". The text says what is wrong and what to do. */
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** Print "vbng: warning: text". */
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** Print "vbng: text". */
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
