/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of CPUs on described machines and on a made-up sysfs. */
#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpu/cpu_list.h"
#include "common/program.h"

static struct topology topo;

/* What a list resolves to, as "5 6 7", or the error. */
static const char *resolved_max(const char *list, size_t max)
{
    static char text[512];
    char err[256] = "no message";
    uint16_t cpus[64];
    int n = cpu_list_resolve(&topo, list, cpus, max, err, sizeof(err));

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
    ": expected a logical CPU (5), a core (3s0), its SMT sibling (3s0h), one of the cores that "   \
    "this "                                                                                        \
    "process was given (c3, c3h), or a range of one form (3s0-5s0)"
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

/* Give only some CPUs of the machine to this process. */
static void give(unsigned n, const uint16_t *cpu)
{
    uint8_t set[TOPO_MAX_CPUS] = {0};

    for (unsigned i = 0; i < n; i++)
        set[cpu[i]] = 1;
    topo_give(&topo, set);
}

/* A CPU manager gives cores with both threads, or threads of different cores. */
static void given_cpus(void)
{
    CU_ASSERT_EQUAL_FATAL(topo_parse(&topo, "2x10x2"), 0);
    CU_ASSERT_STRING_EQUAL(resolved("c0-c2"), "0 1 2");
    CU_ASSERT_STRING_EQUAL(resolved("c19,c0h-c1h"), "19 20 21");
    CU_ASSERT_STRING_EQUAL(resolved("c20"),
                           "c20: this process was given 20 physical cores, CPUs 0-39");
    give(5, (const uint16_t[]){33, 13, 4, 24, 7});
    CU_ASSERT_STRING_EQUAL(resolved("c0-c2"), "4 7 13");
    CU_ASSERT_STRING_EQUAL(resolved("c0h,c2h"), "24 33");
    CU_ASSERT_STRING_EQUAL(
        resolved("c0h-c2h"),
        "c0h-c2h: core c1 has no second thread here; this process was given CPUs 4,7,13,24,33");
    CU_ASSERT_STRING_EQUAL(resolved("c3"),
                           "c3: this process was given 3 physical cores, CPUs 4,7,13,24,33");
    CU_ASSERT_STRING_EQUAL(resolved("c3h"),
                           "c3h: this process was given 3 physical cores, CPUs 4,7,13,24,33");
    CU_ASSERT_STRING_EQUAL(resolved("c0,4"), "4: CPU 4 is in this list twice");
    CU_ASSERT_STRING_EQUAL(resolved("c0-1"), "c0-1: both ends of a range must have the same form");
    CU_ASSERT_STRING_EQUAL(resolved("c0-c1h"),
                           "c0-c1h: both ends of a range must have the same form");
    give(1, (const uint16_t[]){24}); /* the sibling alone is a core's first thread here */
    CU_ASSERT_STRING_EQUAL(resolved("c0"), "24");
    CU_ASSERT_STRING_EQUAL(resolved("c0h"),
                           "c0h: core c0 has no second thread here; this process was given CPU 24");
    CU_ASSERT_STRING_EQUAL(resolved("c1"), "c1: this process was given 1 physical core, CPU 24");
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
    uint8_t ours[TOPO_MAX_CPUS];
    uint16_t cpu;
    char err[256];

    CU_ASSERT_EQUAL_FATAL(topo_read(&topo, "/sys/devices/system/cpu"), 0);
    CU_ASSERT(topo.n_cpus >= 1);
    CU_ASSERT(topo.n_sockets >= 1);
    CU_ASSERT(topo.n_cpus >= (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    for (unsigned i = 1; i < topo.n_cpus; i++)
        CU_ASSERT(topo.cpu[i].id > topo.cpu[i - 1].id);
    CU_ASSERT_EQUAL_FATAL(topo_affinity(ours), 0);
    topo_give(&topo, ours);
    CU_ASSERT_EQUAL_FATAL(cpu_list_resolve(&topo, "c0", &cpu, 1, err, sizeof(err)), 1);
    CU_ASSERT_EQUAL(ours[cpu], 1);
}

static const struct test tests[] = {
    {"described machine", described_machine},
    {"lists", lists},
    {"list errors", list_errors},
    {"given CPUs", given_cpus},
    {"sysfs", sysfs},
    {"bad sysfs", bad_sysfs},
    {"this machine", this_machine},
    {NULL, NULL},
};

const struct test_program test_program = {"topology", tests, make_root, remove_root};
