/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A test program in C: a table of tests, and how what they share is opened and closed. Its main()
 * is in program.c:
 *
 *     PROGRAM [-l] [-t TEXT] [ARGUMENT]
 *
 * -l lists the tests, -t runs only those with TEXT in their names.
 */
#ifndef TESTS_COMMON_PROGRAM_H
#define TESTS_COMMON_PROGRAM_H

#include <stdbool.h>
#include <stdio.h>

#include <CUnit/CUnit.h>

#define PROGRAM_SKIPPED 77 /* exit status that Meson shows as SKIP */

/* A failing check says what it saw. */
#define EXPECT(cond, ...)                                                                          \
    do {                                                                                           \
        bool ok_ = (cond);                                                                         \
        if (!ok_) {                                                                                \
            printf("\n    %s: ", #cond);                                                           \
            printf(__VA_ARGS__);                                                                   \
        }                                                                                          \
        CU_ASSERT(ok_);                                                                            \
    } while (0)

struct test {
    const char *name;
    void (*run)(void);
};

struct test_program {
    const char *name;
    const struct test *tests; /* up to the one without a name */

    /** Before the first test; NULL: there is nothing to open. Returns 0, or the program's exit
     * status. */
    int (*open)(void);

    /** After the last test, if open() has returned 0; NULL: there is nothing to close. Returns how
     * much is wrong. */
    int (*close)(void);
};

/** Each test program defines it. */
extern const struct test_program test_program;

/** The program's argument; NULL: none was given. */
extern const char *test_argument;

#endif
