/* SPDX-License-Identifier: BSD-3-Clause */
/* Diagnostics, nearest names, and CPU lists on described machines and on a made-up sysfs. */
#include "base/diag.h"
#include "base/topology.h"

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CUnit/Basic.h>

/* --- diagnostics --- */

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

/* --- CPU lists --- */

static struct topology topo;

/* What a list resolves to, as "5 6 7", or the error. */
static const char *resolved_max(const char *list, size_t max)
{
    static char text[512];
    char err[256] = "no message";
    uint16_t cpus[64];
    int n = topo_resolve(&topo, list, cpus, max, err, sizeof(err));

    text[0] = '\0';
    if (n < 0) {
        snprintf(text, sizeof(text), "%s%s", n == -EINVAL ? "" : "wrong errno ", err);
        return text;
    }
    for (int i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), i == 0 ? "%u" : " %u", cpus[i]);
    return text;
}

static const char *resolved(const char *list)
{
    return resolved_max(list, 64);
}

static void described_machine(void)
{
    static const char *const bad[] = {"",        "2",        "2x10",           "2x10x",
                                      "x10x2",   "0x10x2",   "2x0x2",          "2x10x0",
                                      "2x10x2x", " 2x10x2",  "2X10X2",         "-2x10x2",
                                      "2x10x2 ", "1x1025x1", "1024x1024x1024", "99999999x1x1"};

    CU_ASSERT_EQUAL_FATAL(topo_parse(&topo, "2x10x2"), 0);
    CU_ASSERT_EQUAL(topo.n_cpus, 40);
    CU_ASSERT_EQUAL(topo.n_sockets, 2);
    CU_ASSERT_EQUAL(topo.cpu[13].socket, 1);
    CU_ASSERT_EQUAL(topo.cpu[13].core, 3);
    CU_ASSERT_EQUAL(topo.cpu[13].thread, 0);
    CU_ASSERT_EQUAL(topo.cpu[33].id, 33);
    CU_ASSERT_EQUAL(topo.cpu[33].socket, 1);
    CU_ASSERT_EQUAL(topo.cpu[33].core, 3);
    CU_ASSERT_EQUAL(topo.cpu[33].thread, 1);
    CU_ASSERT_PTR_EQUAL(topo_cpu(&topo, 39), &topo.cpu[39]);
    CU_ASSERT_PTR_NULL(topo_cpu(&topo, 40));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct topology t;

        CU_ASSERT_EQUAL(topo_parse(&t, bad[i]), -EINVAL);
    }
    CU_ASSERT_EQUAL(topo_parse(&topo, "1x1024x1"), 0);
    CU_ASSERT_EQUAL(topo.n_cpus, 1024);
}

static void lists(void)
{
    CU_ASSERT_EQUAL_FATAL(topo_parse(&topo, "2x10x2"), 0);
    CU_ASSERT_STRING_EQUAL(resolved("5"), "5");
    CU_ASSERT_STRING_EQUAL(resolved("39"), "39");
    CU_ASSERT_STRING_EQUAL(resolved("5-7"), "5 6 7");
    CU_ASSERT_STRING_EQUAL(resolved("7,5,6"), "7 5 6");
    CU_ASSERT_STRING_EQUAL(resolved("0s0"), "0");
    CU_ASSERT_STRING_EQUAL(resolved("3s0"), "3");
    CU_ASSERT_STRING_EQUAL(resolved("3s0h"), "23");
    CU_ASSERT_STRING_EQUAL(resolved("3s1"), "13");
    CU_ASSERT_STRING_EQUAL(resolved("3s1h"), "33");
    CU_ASSERT_STRING_EQUAL(resolved("7s0-9s0,7s0h-9s0h"), "7 8 9 27 28 29");
    CU_ASSERT_STRING_EQUAL(resolved("9s0-9s0"), "9");
    CU_ASSERT_STRING_EQUAL(resolved(" 1s0 , 0s0 "), "1 0");
    CU_ASSERT_STRING_EQUAL(resolved_max("0-3", 4), "0 1 2 3");
}

static void list_errors(void)
{
#define FORM                                                                                       \
    ": expected a logical CPU (5), a core (3s0), its SMT sibling (3s0h), or a range of one form "  \
    "(3s0-5s0)"
    CU_ASSERT_EQUAL_FATAL(topo_parse(&topo, "2x10x2"), 0);
    CU_ASSERT_STRING_EQUAL(resolved("12s0"), "12s0: socket 0 has cores 0-9");
    CU_ASSERT_STRING_EQUAL(resolved("0,8s0-10s0"), "8s0-10s0: socket 0 has cores 0-9");
    CU_ASSERT_STRING_EQUAL(resolved("12s0h"), "12s0h: socket 0 has cores 0-9");
    CU_ASSERT_STRING_EQUAL(resolved("3s2"),
                           "3s2: there is no socket 2; this machine has sockets 0-1");
    CU_ASSERT_STRING_EQUAL(resolved("40"), "40: there is no CPU 40; this machine has CPUs 0-39");
    CU_ASSERT_STRING_EQUAL(resolved("3s0,0s0,3"), "3: CPU 3 is in this list twice");
    CU_ASSERT_STRING_EQUAL(resolved("9s0-7s0"), "9s0-7s0: the range runs backwards");
    CU_ASSERT_STRING_EQUAL(resolved("7s0-9s1"),
                           "7s0-9s1: both ends of a range must be on the same socket");
    CU_ASSERT_STRING_EQUAL(resolved("7s0-9s0h"),
                           "7s0-9s0h: both ends of a range must have the same form");
    CU_ASSERT_STRING_EQUAL(resolved("7-9s0"),
                           "7-9s0: both ends of a range must have the same form");
    CU_ASSERT_STRING_EQUAL(resolved(""), "the list of CPUs is empty");
    CU_ASSERT_STRING_EQUAL(resolved("  "), "the list of CPUs is empty");
    CU_ASSERT_STRING_EQUAL(resolved("1,"), "1,: nothing before or after a comma");
    CU_ASSERT_STRING_EQUAL(resolved(",1"), ",1: nothing before or after a comma");
    CU_ASSERT_STRING_EQUAL(resolved("1,,2"), "1,,2: nothing before or after a comma");
    CU_ASSERT_STRING_EQUAL(resolved("3s"), "3s" FORM);
    CU_ASSERT_STRING_EQUAL(resolved("s0"), "s0" FORM);
    CU_ASSERT_STRING_EQUAL(resolved("3h"), "3h" FORM);
    CU_ASSERT_STRING_EQUAL(resolved("3s0hh"), "3s0hh" FORM);
    CU_ASSERT_STRING_EQUAL(resolved("3S0"), "3S0" FORM);
    CU_ASSERT_STRING_EQUAL(resolved("0,-3"), "-3" FORM);
    CU_ASSERT_STRING_EQUAL(resolved("3-"), "3-" FORM);
    CU_ASSERT_STRING_EQUAL(resolved("1-2-3"), "1-2-3" FORM);
    CU_ASSERT_STRING_EQUAL(resolved("1 2"), "1 2" FORM);
    CU_ASSERT_STRING_EQUAL(resolved("4294967296"), "4294967296" FORM);
    CU_ASSERT_STRING_EQUAL(resolved("99999999999999999999"), "99999999999999999999" FORM);
    CU_ASSERT_STRING_EQUAL(resolved_max("0-4", 4), "0-4: more than 4 CPUs");
    CU_ASSERT_EQUAL_FATAL(topo_parse(&topo, "1x4x1"), 0);
    CU_ASSERT_STRING_EQUAL(resolved("3s0h"), "3s0h: core 3 of socket 0 has no SMT sibling");
    CU_ASSERT_STRING_EQUAL(resolved("0s1"), "0s1: there is no socket 1; this machine has socket 0");
    CU_ASSERT_EQUAL_FATAL(topo_parse(&topo, "1x1x1"), 0);
    CU_ASSERT_STRING_EQUAL(resolved("1s0"), "1s0: socket 0 has core 0");
    CU_ASSERT_STRING_EQUAL(resolved("7"), "7: there is no CPU 7; this machine has CPU 0");
#undef FORM
}

/* --- a made-up sysfs --- */

static char root[64];

static void put(const char *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Write a file below root, with the folders that it needs. */
static void put(const char *text, const char *fmt, ...)
{
    char path[256];
    size_t at = (size_t)snprintf(path, sizeof(path), "%s/", root);
    va_list args;
    FILE *f;

    va_start(args, fmt);
    vsnprintf(path + at, sizeof(path) - at, fmt, args);
    va_end(args);
    for (char *p = path + at; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        mkdir(path, 0700);
        *p = '/';
    }
    f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fprintf(f, "%s\n", text);
    fclose(f);
}

static void put_cpu(unsigned id, const char *package, const char *core, const char *siblings)
{
    put(package, "cpu%u/topology/physical_package_id", id);
    put(core, "cpu%u/topology/core_id", id);
    put(siblings, "cpu%u/topology/thread_siblings_list", id);
}

static int make_root(void)
{
    strcpy(root, "/tmp/vbng-sysfs-XXXXXX");
    return mkdtemp(root) == NULL;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    return remove(path);
}

static int remove_root(void)
{
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Two sockets with holes in core_id, siblings next to each other, CPU 5 offline; CPU 2 has the same
 * core_id as CPU 0 in another die. */
static void sysfs(void)
{
    put("0-4,6-7", "online");
    put_cpu(0, "0", "0", "0-1");
    put_cpu(1, "0", "0", "0-1");
    put_cpu(2, "0", "0", "2,3");
    put_cpu(3, "0", "0", "2,3");
    put_cpu(4, "1", "9", "4-5");
    put_cpu(5, "1", "9", "4-5");
    put_cpu(6, "1", "4", "6-7");
    put_cpu(7, "1", "4", "6-7");
    CU_ASSERT_EQUAL_FATAL(topo_read(&topo, root), 0);
    CU_ASSERT_EQUAL(topo.n_cpus, 7);
    CU_ASSERT_EQUAL(topo.n_sockets, 2);
    CU_ASSERT_STRING_EQUAL(resolved("0s0,0s0h,1s0,1s0h"), "0 1 2 3");
    CU_ASSERT_STRING_EQUAL(resolved("0s1,0s1h,1s1"), "6 7 4"); /* by core_id */
    CU_ASSERT_STRING_EQUAL(resolved("1s1h"), "1s1h: core 1 of socket 1 has no SMT sibling");
    CU_ASSERT_STRING_EQUAL(resolved("5"), "5: there is no CPU 5; this machine has CPUs 0-4,6-7");
    CU_ASSERT_STRING_EQUAL(resolved("4-6"),
                           "4-6: there is no CPU 5; this machine has CPUs 0-4,6-7");
    /* The first sibling offline: the second becomes the core's first thread. */
    put("1-4,6-7", "online");
    CU_ASSERT_EQUAL_FATAL(topo_read(&topo, root), 0);
    CU_ASSERT_STRING_EQUAL(resolved("0s0,1s0"), "1 2");
    /* A virtual machine that does not know its package. */
    put_cpu(1, "-1", "0", "1");
    CU_ASSERT_EQUAL(topo_read(&topo, root), 0);
    CU_ASSERT_EQUAL(topo.cpu[0].socket, 0);
}

static void bad_sysfs(void)
{
    put("0", "online");
    put_cpu(0, "x", "0", "0");
    CU_ASSERT_EQUAL(topo_read(&topo, root), -EINVAL);
    CU_ASSERT_EQUAL(topo.n_cpus, 0);
    put_cpu(0, "0", "", "0");
    CU_ASSERT_EQUAL(topo_read(&topo, root), -EINVAL);
    put_cpu(0, "0", "0", "0-");
    CU_ASSERT_EQUAL(topo_read(&topo, root), -EINVAL);
    put_cpu(0, "0", "0", "0");
    CU_ASSERT_EQUAL(topo_read(&topo, root), 0);
    put("0-12345678", "online");
    CU_ASSERT_EQUAL(topo_read(&topo, root), -EINVAL);
    put("0-1024", "online");
    CU_ASSERT_EQUAL(topo_read(&topo, root), -E2BIG);
    put("0-3000", "online");
    CU_ASSERT_EQUAL(topo_read(&topo, root), -E2BIG);
    put("0,40", "online");
    CU_ASSERT_EQUAL(topo_read(&topo, root), -ENOENT);
    put("", "online");
    CU_ASSERT_EQUAL(topo_read(&topo, root), -EINVAL);
    CU_ASSERT_EQUAL(topo_read(&topo, "/nonexistent"), -ENOENT);
}

static void this_machine(void)
{
    CU_ASSERT_EQUAL_FATAL(topo_read(&topo, "/sys/devices/system/cpu"), 0);
    CU_ASSERT(topo.n_cpus >= 1);
    CU_ASSERT(topo.n_sockets >= 1);
    CU_ASSERT(topo.n_cpus >= (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    for (unsigned i = 1; i < topo.n_cpus; i++)
        CU_ASSERT(topo.cpu[i].id > topo.cpu[i - 1].id);
}

int main(void)
{
    CU_pSuite s;
    unsigned failures;

    CU_initialize_registry();
    s = CU_add_suite("diagnostics", NULL, NULL);
    CU_add_test(s, "sorted by file and line", diag_sorted);
    CU_add_test(s, "thousands", diag_many);
    CU_add_test(s, "nearest names", nearest_names);
    s = CU_add_suite("topology", make_root, remove_root);
    CU_add_test(s, "described machine", described_machine);
    CU_add_test(s, "lists", lists);
    CU_add_test(s, "list errors", list_errors);
    CU_add_test(s, "sysfs", sysfs);
    CU_add_test(s, "bad sysfs", bad_sysfs);
    CU_add_test(s, "this machine", this_machine);
    CU_basic_run_tests();
    failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failures != 0;
}
