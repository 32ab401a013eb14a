/* SPDX-License-Identifier: BSD-3-Clause */
#include "program.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <CUnit/Basic.h>

const char *test_argument;

static void list_tests(void)
{
    for (const struct test *t = test_program.tests; t->name != NULL; t++)
        puts(t->name);
}

/* Registers the tests with the text in their names. Returns how many there are. */
static unsigned add_tests(const char *text)
{
    CU_pSuite suite = CU_add_suite(test_program.name, NULL, NULL);
    unsigned n = 0;

    for (const struct test *t = test_program.tests; suite != NULL && t->name != NULL; t++)
        if (strstr(t->name, text) != NULL && CU_add_test(suite, t->name, t->run) != NULL)
            n++;
    return n;
}

/* Runs what is registered between open() and close(). Returns the exit status. */
static int run(void)
{
    int status = test_program.open != NULL ? test_program.open() : 0;
    unsigned failed;

    if (status != 0)
        return status;
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    failed = CU_get_number_of_tests_failed();
    if (test_program.close != NULL && test_program.close() != 0) {
        printf("FAIL %s: something is wrong behind the last test\n", test_program.name);
        failed++;
    }
    printf("%u passed, %u failed\n", CU_get_number_of_tests_run() - CU_get_number_of_tests_failed(),
           failed);
    return failed > 0 || CU_get_number_of_failure_records() > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int usage(const char *program)
{
    fprintf(stderr, "usage: %s [-l] [-t TEXT] [ARGUMENT]\n", program);
    return 2;
}

int main(int argc, char **argv)
{
    const char *text = "";
    int option, status;

    setvbuf(stdout, NULL, _IOLBF, 0); /* in the right order with what is said on stderr */
    while ((option = getopt(argc, argv, "+lt:")) != -1) {
        if (option == 'l') {
            list_tests();
            return EXIT_SUCCESS;
        }
        if (option != 't')
            return usage(argv[0]);
        text = optarg;
    }
    if (argc > optind + 1)
        return usage(argv[0]);
    test_argument = argv[optind];
    if (CU_initialize_registry() != CUE_SUCCESS)
        return EXIT_FAILURE;
    if (add_tests(text) > 0) {
        status = run();
    } else {
        fprintf(stderr, "%s: no test has '%s' in its name; -l lists them\n", argv[0], text);
        status = 2;
    }
    CU_cleanup_registry();
    return status;
}
