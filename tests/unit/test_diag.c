/* SPDX-License-Identifier: BSD-3-Clause */
/* Diagnostics are sorted by file and line, and names that are nearly right are found. */
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "common/program.h"

static char *printed(struct diags *d)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    diag_print(d, f);
    fclose(f);
    return text;
}

static void diag_sorted(void)
{
    struct diags d = {0};
    char *text;

    diag_error(&d, (struct loc){"b.cfg", 3}, "third %d", 1);
    diag_error(&d, (struct loc){"b.cfg", 10}, "last");
    diag_warning(&d, (struct loc){"b.cfg", 3}, "after third 1");
    diag_error(&d, (struct loc){"a.cfg", 99}, "%s", "100%");
    diag_error(&d, (struct loc){"b.cfg", 0}, "whole file");
    diag_error(&d, (struct loc){"b.cfg", 3}, "after the warning");
    CU_ASSERT_EQUAL(d.n, 6);
    CU_ASSERT_EQUAL(d.n_errors, 5);
    text = printed(&d);
    CU_ASSERT_STRING_EQUAL(text, "a.cfg:99: error: 100%\n"
                                 "b.cfg: error: whole file\n"
                                 "b.cfg:3: error: third 1\n"
                                 "b.cfg:3: warning: after third 1\n"
                                 "b.cfg:3: error: after the warning\n"
                                 "b.cfg:10: error: last\n");
    free(text);
    diag_free(&d);
    CU_ASSERT_EQUAL(d.n, 0);
    CU_ASSERT_EQUAL(d.n_errors, 0);
    text = printed(&d);
    CU_ASSERT_STRING_EQUAL(text, "");
    free(text);
}

static void diag_many(void)
{
    struct diags d = {0};
    char *text, *line;
    unsigned n = 0;

    for (unsigned i = 0; i < 5000; i++)
        diag_error(&d, (struct loc){"f", 5000 - i}, "n%u", 5000 - i);
    CU_ASSERT_EQUAL(d.n_errors, 5000);
    text = printed(&d);
    for (line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char want[64];

        n++;
        snprintf(want, sizeof(want), "f:%u: error: n%u", n, n);
        if (strcmp(line, want) != 0)
            CU_FAIL("out of order");
    }
    CU_ASSERT_EQUAL(n, 5000);
    free(text);
    diag_free(&d);
}

static const char *nearest(const char *word)
{
    static const char *const names[] = {"burst", "rate", "template", "to", "classify", "route"};
    const char *name = nearest_name(word, names, sizeof(names) / sizeof(names[0]));

    return name != NULL ? name : "-";
}

static void nearest_names(void)
{
    char longer[100];

    CU_ASSERT_STRING_EQUAL(nearest("brust"), "burst");      /* a swap is one edit */
    CU_ASSERT_STRING_EQUAL(nearest("bursts"), "burst");     /* one insertion */
    CU_ASSERT_STRING_EQUAL(nearest("clasify"), "classify"); /* one deletion */
    CU_ASSERT_STRING_EQUAL(nearest("rote"), "rate");        /* a tie with route: the first wins */
    CU_ASSERT_STRING_EQUAL(nearest("rate"), "rate");
    CU_ASSERT_STRING_EQUAL(nearest("rxte"), "rate");
    CU_ASSERT_STRING_EQUAL(nearest("rxtx"), "-");            /* 2 edits, 4 letters: bound 1 */
    CU_ASSERT_STRING_EQUAL(nearest("tempIatX"), "template"); /* 2 edits, 8 letters: bound 2 */
    CU_ASSERT_STRING_EQUAL(nearest("tempIXtX"), "-");        /* 3 edits, 8 letters */
    CU_ASSERT_STRING_EQUAL(nearest("templateXYZ"), "template");
    CU_ASSERT_STRING_EQUAL(nearest("templateWXYZ"), "-"); /* 4 edits: never above 3 */
    CU_ASSERT_STRING_EQUAL(nearest("t"), "to");
    CU_ASSERT_STRING_EQUAL(nearest(""), "-");
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    CU_ASSERT_STRING_EQUAL(nearest(longer), "-");
    CU_ASSERT_PTR_NULL(nearest_name("x", NULL, 0));
}

static const struct test tests[] = {
    {"sorted by file and line", diag_sorted},
    {"thousands", diag_many},
    {"nearest names", nearest_names},
    {NULL, NULL},
};

const struct test_program test_program = {"diagnostics", tests, NULL, NULL};
