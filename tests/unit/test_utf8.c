/* SPDX-License-Identifier: BSD-3-Clause */
/* Names for people: what may stand in one, and how what may not is shown. The cases of forms that
 * are no UTF-8 are those of RFC 3629, section 4 and 10. */
#include <string.h>

#include "base/utf8.h"
#include "common/program.h"

#define MOST 64

static void labels(void)
{
    static const char *const right[] = {
        "a",
        "Caf\xc3\xa9 \"Zoo\", 2nd floor <b>",
        "\xe6\x9d\xb1\xe4\xba\xac",
        "\xf0\x9f\x8f\xa0",                     /* U+1F3E0 */
        "\xf4\x8f\xbf\xbd",                     /* U+10FFFD */
        "\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xae", /* a joiner within a word */
        "\\u001b[2J",                           /* only letters */
        "\xef\xbf\xbd",                         /* U+FFFD */
        NULL};
    static const char *const wrong[] = {"",
                                        " a",
                                        "a ",
                                        "a\nb",
                                        "a\tb",
                                        "\x1b[2J",
                                        "a\x7f",
                                        "\xc2\x85", /* NEL */
                                        "\xc2\x9b"
                                        "2J",           /* CSI */
                                        "\xe2\x80\xa8", /* line separator */
                                        "a\xe2\x80\xae"
                                        "cba", /* right to left from here */
                                        "\xe2\x81\xa6"
                                        "a", /* isolate */
                                        "a\xe2\x80\x8b"
                                        "b", /* zero width space */
                                        "\xef\xbb\xbf"
                                        "a",                /* byte order mark */
                                        "\xef\xbf\xbe",     /* no character */
                                        "\xf3\xa0\x81\x81", /* tag */
                                        "\xc0\xaf",         /* too long a form of / */
                                        "\xe0\x80\xaf",
                                        "\xf0\x80\x80\xaf",
                                        "\xed\xa0\x80",         /* half a pair */
                                        "\xf4\x90\x80\x80",     /* beyond U+10FFFF */
                                        "\xf8\x88\x80\x80\x80", /* five bytes */
                                        "\x80",
                                        "a\xc3", /* cut off */
                                        "\xe2\x82",
                                        "\xf0\x9f\x8f",
                                        "\xff",
                                        NULL};

    for (unsigned i = 0; right[i] != NULL; i++)
        if (!utf8_is_label(right[i], MOST)) {
            fprintf(stderr, "refused: %s\n", right[i]);
            CU_FAIL("a right one");
        }
    for (unsigned i = 0; wrong[i] != NULL; i++)
        if (utf8_is_label(wrong[i], MOST)) {
            fprintf(stderr, "taken: wrong[%u]\n", i);
            CU_FAIL("a wrong one");
        }
}

/* The bound counts characters, not bytes. */
static void bound(void)
{
    char text[4 * MOST + 8] = "";

    for (unsigned i = 0; i < MOST; i++)
        strcat(text, "\xf0\x9f\x8f\xa0");
    CU_ASSERT_TRUE(utf8_is_label(text, MOST));
    strcat(text, "x");
    CU_ASSERT_FALSE(utf8_is_label(text, MOST));
}

static void safe(void)
{
    static const char *const cases[][2] = {
        {"Caf\xc3\xa9", "Caf\xc3\xa9"},
        {"a\x1b[2Jb\x7f", "a?[2Jb?"},
        {"\xc2\x9b"
         "2J",
         "??2J"},
        {"a\xe2\x80\xae"
         "b",
         "a???b"},
        {"\xc3", "?"},
        {"\xc0\xaf.", "??."},
        {"", ""},
    };
    char text[32];

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        strcpy(text, cases[i][0]);
        utf8_make_safe(text);
        CU_ASSERT_STRING_EQUAL(text, cases[i][1]);
    }
}

static void contains(void)
{
    CU_ASSERT_TRUE(utf8_contains("Caf\xc3\xa9 Zoo", "zoo"));
    CU_ASSERT_TRUE(utf8_contains("Caf\xc3\xa9 Zoo", "F\xc3\xa9"));
    CU_ASSERT_TRUE(utf8_contains("aab", "AB"));
    CU_ASSERT_TRUE(utf8_contains("aab", ""));
    CU_ASSERT_FALSE(utf8_contains("aab", "aaab"));
    CU_ASSERT_FALSE(utf8_contains("", "a"));
}

static const struct test tests[] = {
    {"labels", labels}, {"bound", bound}, {"safe", safe}, {"contains", contains}, {NULL, NULL},
};

const struct test_program test_program = {"utf8", tests, NULL, NULL};
