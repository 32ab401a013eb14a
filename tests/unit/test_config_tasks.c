/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks, their parameters, links and templates in the model of a configuration. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_bed.h"

#define MAKE                                                                                       \
    "tasks = ( { name = \"t\"; type = \"source\"; template = \"x.tmpl\"; %s to = \"b\"; },\n"      \
    "{ name = \"e\"; type = \"end\"; from = \"a\"; } );\n" LAYOUT

static void task_params(void)
{
    struct cfg_model *m;
    const struct param_value *p;

    m = bed_load(PORTS
                 "tasks = ( { name = \"t\"; type = \"work\"; from = \"a\"; to = \"b\"; burst = 7;"
                 " count = 8192; rate = \"1.5G\"; flag = false; word = \"one\"; range = 5; address"
                 " = \"0.0.0.0\"; load = \"1Mpps\"; },\n"
                 "{ name = \"e\"; type = \"end\"; from = \"b\"; } );\n" LAYOUT);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    p = m->tasks[0].param;
    CU_ASSERT_EQUAL(p[0].u, 8192);
    CU_ASSERT_EQUAL(p[0].loc.line, 2);
    CU_ASSERT_TRUE(p[1].set);
    CU_ASSERT_EQUAL(p[2].u, 1500000000);
    CU_ASSERT_EQUAL(p[3].u, 5000000);
    CU_ASSERT_EQUAL(p[4].u, 0);
    CU_ASSERT_EQUAL(p[5].u, 0);
    CU_ASSERT_TRUE(p[6].set);
    CU_ASSERT_STRING_EQUAL(p[7].s, "x");
    CU_ASSERT_EQUAL(p[8].u, 5);
    CU_ASSERT_EQUAL(p[8].u2, 5);
    CU_ASSERT_EQUAL(p[9].load.unit, LOAD_PPS);
    /* a parameter hides the key of all tasks that has the same name */
    CU_ASSERT_EQUAL(p[10].u, 7);
    CU_ASSERT_EQUAL(m->tasks[0].burst, 64);
    config_free(m);
    m = bed_load(PORTS TASKS LAYOUT);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    p = m->tasks[0].param;
    CU_ASSERT_EQUAL(p[0].u, 4096);
    CU_ASSERT_FALSE(p[2].set);
    CU_ASSERT_EQUAL(p[4].u, 1);
    CU_ASSERT_EQUAL(p[5].u, 1);
    CU_ASSERT_FALSE(p[6].set);
    CU_ASSERT_EQUAL(p[8].u2, 9);
    CU_ASSERT_EQUAL(p[9].load.unit, LOAD_PERCENT);
    config_free(m);
}

static void links(void)
{
    struct cfg_model *m = bed_load(
        PORTS "tasks = ( { name = \"t\"; type = \"work\"; from = [\"b\", \"a\"]; to = (\"e\", "
              "\"b\"); punt = \"u\"; },\n"
              "{ name = \"u\"; type = \"work\"; to = \"a\"; },\n"
              "{ name = \"e\"; type = \"end\"; }, { name = \"f\"; type = \"end\"; } );\n"
              "topology = \"1x2x1\"; layout = ( { core = \"1\"; tasks = [\"e\", \"t\"]; },\n"
              "{ core = \"0\"; tasks = (\"f\", \"u\"); } );\n");
    const struct cfg_task *t;

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    t = m->tasks;
    CU_ASSERT_PTR_EQUAL(t->schema, &bed_work);
    CU_ASSERT_EQUAL(t->n_from, 2);
    CU_ASSERT_EQUAL(t->from[0], 1);
    CU_ASSERT_EQUAL(t->from[1], 0);
    CU_ASSERT_EQUAL_FATAL(t->output[0].n_dests, 2);
    CU_ASSERT_FALSE(t->output[0].dest[0].is_port);
    CU_ASSERT_EQUAL(t->output[0].dest[0].index, 2);
    CU_ASSERT_TRUE(t->output[0].dest[1].is_port);
    CU_ASSERT_EQUAL(t->output[0].dest[1].index, 1);
    CU_ASSERT_EQUAL_FATAL(t->output[1].n_dests, 1);
    CU_ASSERT_EQUAL(t->output[1].dest[0].index, 1);
    CU_ASSERT_EQUAL(t[1].output[1].n_dests, 0);
    CU_ASSERT_EQUAL(m->n_placements, 2);
    CU_ASSERT_EQUAL(m->placements[0].cpus[0], 1);
    CU_ASSERT_EQUAL(m->placements[0].n_tasks, 2);
    CU_ASSERT_EQUAL(m->placements[0].tasks[0].task, 2);
    CU_ASSERT_EQUAL(m->placements[0].tasks[1].task, 0);
    CU_ASSERT_EQUAL(bed_diags.n, 1);
    CU_ASSERT_TRUE(bed_said(DIAG_WARNING, "task 'f' never gets a packet"));
    config_free(m);
    m = bed_load("ports = ( { name = \"a\"; device = \"net_null0\"; } );\n"
                 "tasks = ( { name = \"e\"; type = \"end\"; } ); topology = \"1x1x1\";\n"
                 "layout = ( { core = \"0\"; tasks = \"e\"; } );\n");
    CU_ASSERT_PTR_NOT_NULL(m);
    CU_ASSERT_TRUE(bed_said(DIAG_WARNING, "port 'a' is not used"));
    config_free(m);
}

/* Without a layout, and where it names a part of the tasks only: the others are in the order of
 * the configuration. */
static void rest(void)
{
    static const char graph[] =
        PORTS "tasks = ( { name = \"t\"; type = \"work\"; from = \"a\"; to = \"u\"; },\n"
              "{ name = \"u\"; type = \"work\"; to = \"b\"; },\n"
              "{ name = \"e\"; type = \"end\"; from = \"b\"; } );\n";
    struct cfg_model *m = bed_load("topology = \"1x4x1\"; %s", graph);

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL_FATAL(m->n_placements, 1);
    CU_ASSERT_EQUAL(m->placements[0].n_cpus, 1);
    CU_ASSERT_EQUAL(m->placements[0].cpus[0], 0);
    CU_ASSERT_EQUAL_FATAL(m->placements[0].n_tasks, 3);
    for (unsigned i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(m->placements[0].tasks[i].task, i);
    config_free(m);
    m = bed_load("topology = \"1x4x1\"; %s layout = ( { core = \"3\"; tasks = [\"u.1\", \"*\"]; "
                 "}, { core = \"1\"; tasks = \"u.0\"; } );\n",
                 graph);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL_FATAL(m->n_placements, 2);
    CU_ASSERT_EQUAL(m->placements[0].cpus[0], 3);
    CU_ASSERT_EQUAL_FATAL(m->placements[0].n_tasks, 3);
    CU_ASSERT_EQUAL(m->placements[0].tasks[0].task, 1);
    CU_ASSERT_EQUAL(m->placements[0].tasks[0].first, 1);
    CU_ASSERT_EQUAL(m->placements[0].tasks[1].task, 0);
    CU_ASSERT_EQUAL(m->placements[0].tasks[2].task, 2);
    CU_ASSERT_EQUAL(m->placements[1].n_tasks, 1);
    config_free(m);
}

static void templates(void)
{
    static const char text[] = "size 64\nether src 02:00:00:00:00:01 dst 02:00:00:00:00:02\n"
                               "ipv4 src 192.0.2.2 dst 192.0.2.1\nudp src 1 dst 2\n";
    char other[64], file[96];
    struct cfg_model *m;

    CU_ASSERT_PTR_NULL(bed_load(PORTS MAKE, ""));
    CU_ASSERT_TRUE(bed_said(DIAG_ERROR, "key 'template': value 'x.tmpl': no such template"));
    snprintf(other, sizeof(other), "%s/other", bed_folder);
    mkdir(other, 0700);
    bed_put_text("other/x.tmpl", text);
    bed_options.template_dir = other;
    m = bed_load(PORTS MAKE, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->n_templates, 1);
    CU_ASSERT_EQUAL(m->tasks[0].param[0].u, 0);
    CU_ASSERT_EQUAL(m->templates[0]->frames[0].len, 60);
    config_free(m);
    bed_put_text("x.tmpl",
                 text); /* a file beside the configuration goes before any other of its name */
    m = bed_load(PORTS MAKE, "size = 128;");
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->templates[0]->frames[0].len, 124);
    CU_ASSERT_PTR_NULL(strstr(m->templates[0]->path, "other"));
    config_free(m);
    bed_options.template_dir = NULL;
    snprintf(file, sizeof(file), "%s/x.tmpl", other);
    unlink(file);
    rmdir(other);
}

static const struct test tests[] = {
    {"task params", task_params}, {"links", links}, {"rest", rest},
    {"templates", templates},     {NULL, NULL},
};

const struct test_program test_program = {"config tasks", tests, bed_open, bed_close};
