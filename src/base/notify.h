/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a service manager wants to hear, by the protocol of sd_notify(3): datagrams of lines
 * KEY=VALUE to the socket that NOTIFY_SOCKET names. Without that variable all functions do nothing.
 * They belong to the main thread.
 */
#ifndef BASE_NOTIFY_H
#define BASE_NOTIFY_H

#include <stdint.h>

/** Connect to the manager's socket, and take the variables of the protocol out of the environment.
 * A manager that cannot be told anything is a warning. */
void notify_open(void);

/** Say that the service runs (READY=1). status: a line for "systemctl status", in the form of
 * printf. */
void notify_ready(const char *status, ...) __attribute__((format(printf, 1, 2)));

/** Say that the service is well (WATCHDOG=1), twice in the time after which the manager would
 * restart it, however often this is called. */
void notify_alive(void);

/** Say that the service stops (STOPPING=1), and the longest time that this takes. */
void notify_stopping(uint64_t longest_ns);

/** Close the socket. */
void notify_close(void);

#endif
