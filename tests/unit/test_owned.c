/* SPDX-License-Identifier: BSD-3-Clause */
/* What is whose: folders, sockets and files that lie among those of others. Cases with another user
 * need root. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/output.h"
#include "base/owned.h"
#include "common/program.h"

#define NOBODY 65534

static char top[] = "/tmp/vbng-owned-XXXXXX";

static void make(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    CU_ASSERT_FATAL(f != NULL);
    fputs(text, f);
    fclose(f);
}

static bool holds(const char *path, const char *text)
{
    char got[64] = "";
    FILE *f = fopen(path, "r");

    if (f == NULL)
        return false;
    (void)!fgets(got, sizeof(got), f);
    fclose(f);
    return strcmp(got, text) == 0;
}

/* What owned_open() says: 0, or -errno. */
static int opened(const char *name)
{
    int fd = owned_open(AT_FDCWD, name);

    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

static void folders(void)
{
    CU_ASSERT_EQUAL(opened("mine"), 0);
    CU_ASSERT_EQUAL(opened("link"), -ENOTDIR);
    CU_ASSERT_EQUAL(opened("file"), -ENOTDIR);
    CU_ASSERT_EQUAL(opened("none"), -ENOENT);
    for (unsigned mode = 0; mode < 0100; mode++) {
        chmod("mine", 0700 | mode);
        CU_ASSERT_EQUAL(opened("mine"), (mode & 022) != 0 ? -EPERM : 0);
    }
    chmod("mine", 01777); /* the sticky bit does not help: anybody may add */
    CU_ASSERT_EQUAL(opened("mine"), -EPERM);
    chmod("mine", 0700);
    if (geteuid() == 0) {
        CU_ASSERT_EQUAL(chown("mine", NOBODY, NOBODY), 0);
        CU_ASSERT_EQUAL(opened("mine"), -EPERM);
        CU_ASSERT_EQUAL(chown("mine", 0, 0), 0);
    }
}

static void removal(void)
{
    make("mine/a", "");
    CU_ASSERT_EQUAL(owned_remove(AT_FDCWD, "link"), -ENOTDIR);
    CU_ASSERT_EQUAL(access("mine/a", F_OK), 0);
    chmod("mine", 0770);
    CU_ASSERT_EQUAL(owned_remove(AT_FDCWD, "mine"), -EPERM);
    CU_ASSERT_EQUAL(access("mine/a", F_OK), 0);
    chmod("mine", 0700);
    CU_ASSERT_EQUAL(symlink("../file", "mine/l"), 0);
    mkdir("mine/within", 0700);
    CU_ASSERT_EQUAL(owned_remove(AT_FDCWD, "mine"), -ENOTEMPTY);
    CU_ASSERT_EQUAL(access("mine/a", F_OK), -1);
    CU_ASSERT_EQUAL(rmdir("mine/within"), 0);
    CU_ASSERT_EQUAL(owned_remove(AT_FDCWD, "mine"), 0);
    CU_ASSERT_EQUAL(access("mine", F_OK), -1);
    CU_ASSERT_EQUAL(access("file", F_OK), 0);
}

static int listen_at(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    strcpy(a.sun_path, path);
    CU_ASSERT_EQUAL(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    CU_ASSERT_EQUAL(listen(fd, 1), 0);
    return fd;
}

static void sockets(void)
{
    int fd = listen_at("s");

    CU_ASSERT_EQUAL(symlink("s", "to_s"), 0);
    CU_ASSERT_EQUAL(owned_clear_socket("none"), 0);
    CU_ASSERT_EQUAL(owned_clear_socket("file"), -EEXIST);
    CU_ASSERT_EQUAL(owned_clear_socket("s"), -EADDRINUSE);
    close(fd);
    CU_ASSERT_EQUAL(owned_clear_socket("to_s"), -EEXIST);
    if (geteuid() == 0) {
        CU_ASSERT_EQUAL(chown("s", NOBODY, NOBODY), 0);
        CU_ASSERT_EQUAL(owned_clear_socket("s"), -EPERM);
        CU_ASSERT_EQUAL(chown("s", 0, 0), 0);
    }
    CU_ASSERT_EQUAL(access("file", F_OK), 0);
    CU_ASSERT_EQUAL(owned_clear_socket("s"), 0);
    CU_ASSERT_EQUAL(access("s", F_OK), -1);
}

/* Can it be written? Its reason, where it cannot, is no finding. */
static bool writes(const char *path)
{
    FILE *f = output_open(path);

    if (f == NULL)
        return false;
    fputs("new", f);
    return fclose(f) == 0 && holds(path, "new");
}

static void outputs(void)
{
    mkdir("all", 0700);
    make("victim", "old");
    chmod("all", 01777);
    CU_ASSERT_EQUAL(symlink("../victim", "all/soft"), 0);
    CU_ASSERT_EQUAL(link("victim", "all/hard"), 0);
    CU_ASSERT(!writes("all/soft"));
    CU_ASSERT_EQUAL(errno, ELOOP);
    CU_ASSERT(!writes("all/hard"));
    CU_ASSERT(holds("victim", "old"));
    CU_ASSERT(writes("all/fresh"));
    CU_ASSERT(writes("all/fresh")); /* one's own, once more */
    CU_ASSERT(!writes("none/file"));
    CU_ASSERT_EQUAL(errno, ENOENT);
    if (geteuid() == 0) {
        CU_ASSERT_EQUAL(chown("all/fresh", NOBODY, NOBODY), 0);
        CU_ASSERT(!writes("all/fresh"));
        CU_ASSERT_EQUAL(chown("all", NOBODY, NOBODY), 0);
        CU_ASSERT(writes("all/fresh")); /* the folder's owner could have it anyway */
        CU_ASSERT(!writes("all/soft"));
    }
    unlink("all/hard");
    CU_ASSERT(holds("victim", "old"));
    CU_ASSERT_EQUAL(symlink("victim", "soft"), 0);
    CU_ASSERT(writes("soft")); /* in a folder that is one's alone a link is one's own */
}

static int enter(void)
{
    int fd;

    if (mkdtemp(top) == NULL || chdir(top) != 0 || (fd = creat("file", 0600)) < 0)
        return 1;
    close(fd);
    return mkdir("mine", 0700) == 0 && symlink("mine", "link") == 0 ? 0 : 1;
}

static int leave(void)
{
    static const char *const left[] = {"file",   "link",      "to_s",    "soft",
                                       "victim", "all/fresh", "all/soft"};

    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
        unlink(left[i]);
    return rmdir("all") == 0 && rmdir(top) == 0 ? 0 : 1;
}

static const struct test tests[] = {
    {"folders", folders}, {"their removal", removal}, {"sockets", sockets}, {"outputs", outputs},
    {NULL, NULL},
};

const struct test_program test_program = {"owned", tests, enter, leave};
