/* SPDX-License-Identifier: BSD-3-Clause */
/* The model of a configuration as a whole. The messages for wrong configurations have suites in
 * tests/config/bad. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_bed.h"

static void defaults(void)
{
    struct cfg_model *m = bed_load(PORTS TASKS LAYOUT);

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(bed_diags.n, 0);
    CU_ASSERT_STRING_EQUAL(m->name, "vbng");
    CU_ASSERT_EQUAL(m->idle, IDLE_PAUSE);
    CU_ASSERT_EQUAL(m->drain_ns, 1000000000);
    CU_ASSERT_STRING_EQUAL(m->memory, "auto");
    CU_ASSERT_STRING_EQUAL(m->eal, "");
    CU_ASSERT_TRUE(m->topology_given);
    CU_ASSERT_EQUAL(m->topology.n_cpus, 2);
    CU_ASSERT_EQUAL_FATAL(m->n_pools, 1);
    CU_ASSERT_STRING_EQUAL(m->pools[0].name, "default");
    CU_ASSERT_EQUAL(m->pools[0].mbufs, 65536);
    CU_ASSERT_EQUAL(m->pools[0].data_room, 2176);
    CU_ASSERT_EQUAL(m->pools[0].socket, -1);
    CU_ASSERT_EQUAL(m->pools[0].per, POOL_PER_SOCKET);
    CU_ASSERT_EQUAL(m->pools[0].cache, 256);
    CU_ASSERT_EQUAL_FATAL(m->n_ports, 2);
    CU_ASSERT_EQUAL(m->ports[1].mtu, 1500);
    CU_ASSERT_EQUAL(m->ports[1].tpid, 0x88a8);
    CU_ASSERT_EQUAL(m->ports[1].rx_desc, 1024);
    CU_ASSERT_EQUAL(m->ports[1].tx_desc, 1024);
    CU_ASSERT_TRUE(m->ports[1].promiscuous);
    CU_ASSERT_FALSE(m->ports[1].mac_set);
    CU_ASSERT_EQUAL(m->ports[1].on_full, FULL_DROP);
    CU_ASSERT_EQUAL(m->ports[1].line_rate, 10000000000);
    CU_ASSERT_EQUAL(m->ports[1].n_addresses, 0);
    CU_ASSERT_EQUAL(m->tasks[0].ring, 512);
    CU_ASSERT_EQUAL(m->tasks[0].burst, 64);
    CU_ASSERT_EQUAL(m->tasks[0].on_full, FULL_DROP);
    CU_ASSERT_EQUAL(m->tasks[0].pool, 0);
    CU_ASSERT_EQUAL(m->n_subscribers, 0);
    CU_ASSERT_EQUAL(m->n_routes, 0);
    config_free(m);
}

/* A port of net_virtio_user has half of the transmit descriptors, unless it says how many. */
static void of_virtio(void)
{
    struct cfg_model *m =
        bed_load("ports = ( { name = \"a\"; device = \"net_virtio_user0,path=/a\"; },\n"
                 "          { name = \"b\"; device = \"net_virtio_user1,path=/b\"; tx_desc = 1024; "
                 "} );\n" TASKS LAYOUT);

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->ports[0].rx_desc, 1024);
    CU_ASSERT_EQUAL(m->ports[0].tx_desc, 512);
    CU_ASSERT_EQUAL(m->ports[1].tx_desc, 1024);
    config_free(m);
}

static void all_given(void)
{
    static const uint8_t mac[6] = {0x02, 0xb0, 0, 0, 1, 0};
    struct cfg_model *m = bed_load(
        "name = \"x\"; idle = \"sleep\"; drain = \"250ms\"; memory = \"no-huge\";\n"
        "eal = \"--log-level=8\";\n"
        "pools = { small = { mbufs = 100; data_room = \"1K\"; socket = 1; };\n"
        "          big = { mbufs = \"2M\"; data_room = 9344; per = \"queue\"; cache = 0; }; };\n"
        "ports = ( { name = \"a\"; device = \"net_null0,size=64\"; pool = \"big\";\n"
        "  mac = \"02:b0:00:00:01:00\"; mtu = \"9000\"; tpid = \"0x8100\"; rx_desc = 4095;\n"
        "  tx_desc = \"2K\"; addresses = (\"192.0.2.1\", \"192.0.2.5\"); promiscuous = false;\n"
        "  on_full = \"wait\"; line_rate = \"2.5G\"; } );\n"
        "tasks = ( { name = \"e\"; type = \"end\"; from = \"a\"; ring = \"1M\"; burst = 64;\n"
        "  on_full = \"wait\"; pool = \"small\"; } );\n"
        "topology = \"2x10x2\"; layout = ( { core = \"3s1h,4s1h\"; tasks = \"e\"; } );\n");

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(bed_diags.n, 0);
    CU_ASSERT_EQUAL(m->idle, IDLE_SLEEP);
    CU_ASSERT_EQUAL(m->drain_ns, 250000000);
    CU_ASSERT_STRING_EQUAL(m->eal, "--log-level=8");
    CU_ASSERT_EQUAL_FATAL(m->n_pools, 3);
    CU_ASSERT_EQUAL(m->pools[0].mbufs, 100);
    CU_ASSERT_EQUAL(m->pools[0].cache, 64); /* the default 256, halved until it fits 100 mbufs */
    CU_ASSERT_EQUAL(m->pools[0].data_room, 1024);
    CU_ASSERT_EQUAL(m->pools[0].socket, 1);
    CU_ASSERT_EQUAL(m->pools[1].mbufs, 2097152);
    CU_ASSERT_EQUAL(m->pools[1].cache, 0);
    CU_ASSERT_EQUAL(m->pools[1].per, POOL_PER_QUEUE);
    CU_ASSERT_STRING_EQUAL(m->pools[2].name, "default");
    CU_ASSERT_EQUAL(m->ports[0].pool, 1);
    CU_ASSERT_TRUE(m->ports[0].mac_set);
    CU_ASSERT_EQUAL(memcmp(m->ports[0].mac, mac, 6), 0);
    CU_ASSERT_EQUAL(m->ports[0].mtu, 9000);
    CU_ASSERT_EQUAL(m->ports[0].tpid, 0x8100);
    CU_ASSERT_EQUAL(m->ports[0].rx_desc, 4095); /* only a wire needs a power of two */
    CU_ASSERT_EQUAL(m->ports[0].tx_desc, 2048);
    CU_ASSERT_EQUAL(m->ports[0].n_addresses, 2);
    CU_ASSERT_EQUAL(m->ports[0].addresses[1], 0xc0000205);
    CU_ASSERT_FALSE(m->ports[0].promiscuous);
    CU_ASSERT_EQUAL(m->ports[0].on_full, FULL_WAIT);
    CU_ASSERT_EQUAL(m->ports[0].line_rate, 2500000000);
    CU_ASSERT_EQUAL(m->tasks[0].ring, 1048576);
    CU_ASSERT_EQUAL(m->tasks[0].burst, 64);
    CU_ASSERT_EQUAL(m->tasks[0].on_full, FULL_WAIT);
    CU_ASSERT_EQUAL(m->tasks[0].pool, 0);
    CU_ASSERT_EQUAL(m->placements[0].n_cpus, 2);
    CU_ASSERT_EQUAL(m->placements[0].cpus[0], 33);
    CU_ASSERT_EQUAL(m->placements[0].cpus[1], 34);
    config_free(m);
}

static void topologies(void)
{
    static const char *const far = PORTS TASKS "layout = ( { core = \"100\"; tasks = [\"t\"]; }, "
                                               "{ core = \"127\"; tasks = \"e\"; } );\n";
    struct cfg_model *m;

    bed_options.topology = "2x32x2";
    m = bed_load("%s", far);
    CU_ASSERT_PTR_NOT_NULL(m);
    CU_ASSERT_FALSE(m == NULL || m->topology_given);
    config_free(m);
    bed_options.topology = "1x8x1"; /* goes before the file's */
    m = bed_load("topology = \"2x32x2\"; %s", far);
    CU_ASSERT_PTR_NULL(m);
    CU_ASSERT_EQUAL(bed_diags.n_errors, 2);
    bed_options.topology = NULL;
    bed_options.share_cpus = true;
    m = bed_load("%s", far); /* a large machine stands for the right one */
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->placements[1].cpus[0], 127);
    CU_ASSERT(m->topology.n_cpus >= 128);
    config_free(m);
    m = bed_load("topology = \"1x50x1\"; %s", far); /* the file names its machine */
    CU_ASSERT_PTR_NULL(m);
    bed_options.topology = "live";
    m = bed_load("topology = \"2x64x1\"; %s", far);
    CU_ASSERT_PTR_NOT_NULL(m);
    config_free(m);
    bed_options.share_cpus = false;
    m = bed_load(PORTS TASKS
                 "topology = \"9x9\"; layout = ( { core = \"0\"; tasks = [\"t\", \"e\"]; } );");
    CU_ASSERT_PTR_NULL(m); /* wrong in the file, although the option goes before it */
    bed_options.topology = NULL;
}

static void includes(void)
{
    struct cfg_model *m;
    char sub[64], file[96];

    snprintf(sub, sizeof(sub), "%s/sub", bed_folder);
    mkdir(sub, 0700);
    bed_put_text("sub/ports.inc", "\n\n" PORTS "subscribers = ( { csv = \"s.csv\"; } );");
    bed_put_text("sub/s.csv",
                 "port,svlan,cvlan,ipv4\na,1,1,10.0.0.1\n"); /* beside the file that names it */
    m = bed_load("@include \"sub/ports.inc\"\n" TASKS LAYOUT);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->ports[0].loc.line, 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(m->ports[0].loc.file, "/sub/ports.inc"));
    CU_ASSERT_EQUAL(m->n_subscribers, 1);
    CU_ASSERT_EQUAL(access(m->ports[0].loc.file, R_OK), 0);
    CU_ASSERT_EQUAL(m->tasks[0].loc.line, 2);
    config_free(m);
    snprintf(file, sizeof(file), "%s/s.csv", sub);
    unlink(file);
    snprintf(file, sizeof(file), "%s/ports.inc", sub);
    unlink(file);
    rmdir(sub);
}

static void unreadable(void)
{
    char path[128];

    diag_free(&bed_diags);
    snprintf(path, sizeof(path), "%s/nowhere.cfg", bed_folder);
    CU_ASSERT_PTR_NULL(config_load(path, &bed_options, &bed_diags));
    CU_ASSERT_TRUE(bed_said(DIAG_ERROR, "cannot be read: No such file"));
    diag_free(&bed_diags);
    CU_ASSERT_PTR_NULL(config_load(bed_folder, &bed_options, &bed_diags));
    CU_ASSERT_TRUE(bed_said(DIAG_ERROR, "cannot be read: is a folder: expected a file"));
    CU_ASSERT_PTR_NULL(bed_load("%s", ""));
    CU_ASSERT_EQUAL(bed_diags.n_errors, 1); /* tasks are missing */
    config_free(NULL);
}

/* A value of a wrong type is an error and no crash: each value in turn is replaced by one of every
 * type. */
static void any_type(void)
{
    static const char *const values[] = {"0",
                                         "-1",
                                         "1L",
                                         "0x7fffffffffffffffL",
                                         "1.5",
                                         "1e308",
                                         "true",
                                         "\"\"",
                                         "\"x\"",
                                         "\"%s\"",
                                         "[ ]",
                                         "( )",
                                         "{ }",
                                         "[ 1, 2 ]",
                                         "( ( ), { } )",
                                         "{ a = 1; }",
                                         "( \"a\", 1 )",
                                         "[\"a\", \"t\"]",
                                         "\"4294967296\"",
                                         "\"99999999999999999999\""};
    static const char text[] =
        "name = @; idle = @; drain = @; memory = @; eal = @; topology = @;\n"
        "pools = @; ports = @; subscribers = @; routes = @; tasks = @; layout = @;\n"
        "pools = { p = @; q = { mbufs = @; data_room = @; cache = @; socket = @; per = @; }; };\n"
        "ports = ( @, { name = @; device = @; pool = @; mac = @; mtu = @; tpid = @; addresses = @;"
        " rx_desc = @; tx_desc = @; promiscuous = @; on_full = @; line_rate = @; } );\n"
        "subscribers = ( @, { port = @; svlan = @; cvlan = @; ipv4 = @; gre_key = @; mac = @; },"
        " { csv = @; } );\n"
        "routes = ( @, { prefix = @; port = @; via = @; mac = @; gre = @; mpls = @; count = @; } "
        ");\n"
        "tasks = ( @, { name = @; type = @; }, { name = @; type = \"work\"; from = @; to = @; punt "
        "= @; ring = @; on_full = @; burst = @; pool = @; count = @; size = @; rate = @; time = @; "
        "flag = @; word = @; address = @; text = @; range = @; load = @; share = @; }, { name = @; "
        "type = "
        "\"source\"; from = @; to = @; template = @; } );\n"
        "layout = ( @, { core = @; tasks = @; } );\n";
    char *copy = strdup(text), line[2048];
    unsigned loads = 0;

    /* libconfig takes each key only once, so each line is a configuration of its own */
    for (char *l = strtok(copy, "\n"); l != NULL; l = strtok(NULL, "\n")) {
        for (unsigned v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
            size_t n = 0;

            for (const char *c = l; *c != '\0'; c++)
                n += (size_t)(*c == '@' ? snprintf(line + n, sizeof(line) - n, "%s", values[v])
                                        : snprintf(line + n, sizeof(line) - n, "%c", *c));
            config_free(bed_load("%s", line));
            loads++;
        }
    }
    free(copy);
    CU_ASSERT_EQUAL(loads, 160);
}

static void too_many(void)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    fputs("ports = (", f);
    for (unsigned i = 0; i <= CFG_MAX_PORTS; i++)
        fprintf(f, "%s { name = \"p%u\"; device = \"net_null%u\"; }", i > 0 ? "," : "", i, i);
    fputs(" );\ntasks = (", f);
    for (unsigned i = 0; i <= CFG_MAX_TASKS; i++)
        fprintf(f, "%s { name = \"t%u\"; type = \"end\"; from = \"p0\"; }", i > 0 ? "," : "", i);
    fputs(" );\ntopology = \"1x1x1\"; layout = ( { core = \"0\"; tasks = \"t0\"; } );", f);
    fclose(f);
    CU_ASSERT_PTR_NULL(bed_load("%s", text));
    CU_ASSERT_TRUE(bed_said(DIAG_ERROR, "65 ports: expected at most 64"));
    CU_ASSERT_TRUE(bed_said(DIAG_ERROR, "129 tasks: expected at most 128"));
    CU_ASSERT_EQUAL(bed_diags.n, 2);
    free(text);
}

static const struct test tests[] = {
    {"defaults", defaults},     {"all given", all_given}, {"of virtio", of_virtio},
    {"topologies", topologies}, {"includes", includes},   {"unreadable", unreadable},
    {"any type", any_type},     {"too many", too_many},   {NULL, NULL},
};

const struct test_program test_program = {"config", tests, bed_open, bed_close};
