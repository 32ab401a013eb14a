/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

#define MESSAGE_MAX 512 /* bytes */

/* A process has one manager. */
static int manager = -1;
static uint64_t watchdog_ns; /* after so long without WATCHDOG=1 we are restarted; 0: never */
static uint64_t alive_ns;    /* when that was sent last, by CLOCK_MONOTONIC; 0: not yet */

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The watchdog's time (sd_watchdog_enabled(3)); 0 where WATCHDOG_PID names another process. */
static uint64_t watchdog_time(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

    if (usec == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
        return 0;
    return strtoull(usec, NULL, 10) * 1000;
}

/* A path, or '@' and a name of the abstract namespace, unix(7). Returns 0, or a negative errno. */
static int connect_to(const char *address)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t length = strlen(address);
    int err;

    if ((address[0] != '/' && address[0] != '@') || length < 2)
        return -EINVAL;
    if (length >= sizeof(to.sun_path))
        return -ENAMETOOLONG;
    memcpy(to.sun_path, address, length);
    if (address[0] == '@')
        to.sun_path[0] = '\0';
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (manager < 0)
        return -errno;
    if (connect(manager, (const struct sockaddr *)&to,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) == 0)
        return 0;
    err = errno;
    notify_close();
    return -err;
}

void notify_open(void)
{
    const char *address = getenv("NOTIFY_SOCKET");
    int rc;

    if (address == NULL)
        return;
    rc = connect_to(address);
    if (rc != 0)
        log_warning("NOTIFY_SOCKET %s: %s; the service manager does not hear of us", address,
                    strerror(-rc));
    watchdog_ns = rc == 0 ? watchdog_time() : 0;
    alive_ns = 0;
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

/* Send a message; one that the manager has no room for is lost, since the main thread has packets'
 * health to look after. */
static void send_text(const char *text)
{
    if (manager >= 0)
        (void)send(manager, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void notify_ready(const char *status, ...)
{
    char text[MESSAGE_MAX];
    int length = snprintf(text, sizeof(text), "READY=1\nSTATUS=");
    va_list args;

    va_start(args, status);
    vsnprintf(text + length, sizeof(text) - (size_t)length, status, args);
    va_end(args);
    send_text(text);
}

void notify_alive(void)
{
    uint64_t now = now_ns();

    if (watchdog_ns == 0 || (alive_ns != 0 && now - alive_ns < watchdog_ns / 2))
        return;
    alive_ns = now;
    send_text("WATCHDOG=1");
}

void notify_stopping(uint64_t longest_ns)
{
    char text[MESSAGE_MAX];

    snprintf(text, sizeof(text),
             "STOPPING=1\nSTATUS=stopping: packets leave\nEXTEND_TIMEOUT_USEC=%llu",
             (unsigned long long)(longest_ns / 1000));
    send_text(text);
}

void notify_close(void)
{
    if (manager >= 0)
        close(manager);
    manager = -1;
    watchdog_ns = 0;
}
