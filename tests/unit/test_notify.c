/* SPDX-License-Identifier: BSD-3-Clause */
/* What a service manager hears, and levels of messages: against a socket, and a stderr, of our own.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "base/log.h"
#include "base/notify.h"
#include "common/program.h"

static const char path[] = "notify.sock";

/* A manager that listens at an address as sd_notify(3) writes it. */
static int manager_at(const char *address)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    memcpy(at.sun_path, address, strlen(address));
    if (address[0] == '@')
        at.sun_path[0] = '\0';
    CU_ASSERT_EQUAL_FATAL(
        bind(fd, (struct sockaddr *)&at,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(address))),
        0);
    setenv("NOTIFY_SOCKET", address, 1);
    return fd;
}

/* The next message; "" if there is none. */
static const char *heard(int fd)
{
    static char text[4096];
    ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

    text[n < 0 ? 0 : n] = '\0';
    return text;
}

static void hear(const char *address, const char *watchdog_usec, const char *watchdog_pid)
{
    int fd = manager_at(address);
    char text[5000];

    if (watchdog_usec != NULL)
        setenv("WATCHDOG_USEC", watchdog_usec, 1);
    if (watchdog_pid != NULL)
        setenv("WATCHDOG_PID", watchdog_pid, 1);
    notify_open();
    CU_ASSERT_PTR_NULL(getenv("NOTIFY_SOCKET"));
    CU_ASSERT_PTR_NULL(getenv("WATCHDOG_USEC"));
    CU_ASSERT_PTR_NULL(getenv("WATCHDOG_PID"));
    notify_ready("forwarding: %u ports", 4);
    CU_ASSERT_STRING_EQUAL(heard(fd), "READY=1\nSTATUS=forwarding: 4 ports");
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    notify_ready("%s", text);
    CU_ASSERT_EQUAL(strlen(heard(fd)), 511); /* cut off, and sent */
    notify_alive();
    notify_alive();
    CU_ASSERT_STRING_EQUAL(heard(fd),
                           watchdog_usec != NULL && watchdog_pid == NULL ? "WATCHDOG=1" : "");
    CU_ASSERT_STRING_EQUAL(heard(fd), ""); /* not twice at once */
    notify_stopping(1500000000);
    CU_ASSERT_STRING_EQUAL(
        heard(fd), "STOPPING=1\nSTATUS=stopping: packets leave\nEXTEND_TIMEOUT_USEC=1500000");
    notify_close();
    notify_stopping(0);
    CU_ASSERT_STRING_EQUAL(heard(fd), "");
    close(fd);
}

static void test_manager(void)
{
    char folder[] = "/tmp/vbng-notify-XXXXXX", address[64];

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(address, sizeof(address), "%s/%s", folder, path);
    hear(address, NULL, NULL);
    unlink(address);
    hear(address, "60000000", NULL);
    unlink(address);
    hear(address, "60000000", "1"); /* another process's watchdog */
    unlink(address);
    rmdir(folder);
    snprintf(address, sizeof(address), "@vbng-notify-%d", (int)getpid());
    hear(address, "60000000", NULL);
}

static void test_no_manager(void)
{
    static const char *const bad[] = {
        NULL,
        "",
        "/",
        "relative",
        "@",
        "/nobody/listens/here",
        "/a-path-that-is-longer-than-what-an-address-of-a-unix-socket-"
        "can-hold-which-is-107-bytes-and-one-more-byte-for-the-zero"};

    for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        unsetenv("NOTIFY_SOCKET");
        if (bad[i] != NULL)
            setenv("NOTIFY_SOCKET", bad[i], 1);
        notify_open();
        notify_ready("x");
        notify_alive();
        notify_stopping(1);
        notify_close();
    }
}

static void test_priority(void)
{
    char stream[64];
    struct stat s;

    CU_ASSERT_EQUAL_FATAL(fstat(STDERR_FILENO, &s), 0);
    unsetenv("JOURNAL_STREAM");
    CU_ASSERT_STRING_EQUAL(log_priority(LOG_ERR), "");
    snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)s.st_dev,
             (unsigned long long)s.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    CU_ASSERT_STRING_EQUAL(log_priority(LOG_ERR), "<3>");
    CU_ASSERT_STRING_EQUAL(log_priority(LOG_WARNING), "<4>");
    CU_ASSERT_STRING_EQUAL(log_priority(LOG_INFO), "<6>");
    setenv("JOURNAL_STREAM", "1:1", 1); /* stderr was redirected */
    CU_ASSERT_STRING_EQUAL(log_priority(LOG_ERR), "");
    unsetenv("JOURNAL_STREAM");
}

static const struct test tests[] = {
    {"a manager hears", test_manager},
    {"no manager", test_no_manager},
    {"levels for the journal", test_priority},
    {NULL, NULL},
};

const struct test_program test_program = {"notify", tests, NULL, NULL};
