/* SPDX-License-Identifier: BSD-3-Clause */
/* The model that comes out of a configuration, with made-up types of task. The messages for wrong
 * ones are in tests/config/bad/. */
#include "config/model.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <CUnit/Basic.h>

static const char *const words[] = {"one", "two", NULL};
static const struct task_schema work = {
    .type = "work",
    .kind = TASK_WORKER,
    .params = {{.name = "count", .type = PARAM_COUNT, .def = "4K", .min = 1, .max = 8192},
               {.name = "size", .type = PARAM_SIZE, .def = "0", .max = 9022},
               {.name = "rate", .type = PARAM_RATE},
               {.name = "time", .type = PARAM_DURATION, .def = "5ms"},
               {.name = "flag", .type = PARAM_BOOL, .def = "true"},
               {.name = "word", .type = PARAM_ENUM, .def = "two", .choices = words},
               {.name = "address", .type = PARAM_IPV4},
               {.name = "text", .type = PARAM_STRING, .def = "x"},
               {.name = "range", .type = PARAM_RANGE, .def = "3-9"},
               {.name = "load", .type = PARAM_LOAD, .def = "50%"},
               {.name = "burst", .type = PARAM_COUNT, .def = "100", .max = 1000},
               {.name = "share", .type = PARAM_SHARE, .def = "1/4"}},
    .outputs = {"to", "punt"},
};
static const struct task_schema source = {
    .type = "source",
    .kind = TASK_SOURCE,
    .params = {{.name = "template", .type = PARAM_TEMPLATE},
               {.name = "size", .type = PARAM_SIZES, .def = "0"}},
    .outputs = {"to"},
};
static const struct task_schema end = {.type = "end", .kind = TASK_SINK};
static const struct task_schema *const schemas[] = {&work, &source, &end, NULL};

static char dir[] = "/tmp/vbng-test-config-XXXXXX";
static struct diags diags;
static struct config_options options;

static void put(const char *name, const char *text, size_t len)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    if (f == NULL || fwrite(text, 1, len, f) != len || fclose(f) != 0)
        abort();
}

static void put_text(const char *name, const char *text)
{
    put(name, text, strlen(text));
}

/* Load a text as test.cfg. What was said of the one before is forgotten. */
static struct cfg_model *load(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static struct cfg_model *load(const char *fmt, ...)
{
    char *text, path[128];
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        abort();
    va_end(args);
    put_text("test.cfg", text);
    free(text);
    diag_free(&diags);
    options.schemas = schemas;
    snprintf(path, sizeof(path), "%s/test.cfg", dir);
    return config_load(path, &options, &diags);
}

static bool said(enum diag_level level, const char *text)
{
    for (size_t i = 0; i < diags.n; i++)
        if (diags.list[i].level == level && strstr(diags.list[i].text, text) != NULL)
            return true;
    return false;
}

#define PORTS                                                                                      \
    "ports = ( { name = \"a\"; device = \"wire:w\"; addresses = \"192.0.2.1\"; }, { name = "       \
    "\"b\"; device = \"wire:w\"; } );\n"
#define TASKS                                                                                      \
    "tasks = ( { name = \"t\"; type = \"work\"; from = \"a\"; to = \"b\"; }, { name = \"e\"; "     \
    "type = \"end\"; from = \"b\"; } );\n"
#define LAYOUT "topology = \"1x2x1\"; layout = ( { core = \"0\"; tasks = [\"t\", \"e\"]; } );\n"

static void defaults(void)
{
    struct cfg_model *m = load(PORTS TASKS LAYOUT);

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(diags.n, 0);
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
    CU_ASSERT_EQUAL(m->tasks[0].burst, 32);
    CU_ASSERT_EQUAL(m->tasks[0].on_full, FULL_DROP);
    CU_ASSERT_EQUAL(m->tasks[0].pool, 0);
    CU_ASSERT_EQUAL(m->n_subscribers, 0);
    CU_ASSERT_EQUAL(m->n_routes, 0);
    config_free(m);
}

static void all_given(void)
{
    static const uint8_t mac[6] = {0x02, 0xb0, 0, 0, 1, 0};
    struct cfg_model *m = load(
        "name = \"x\"; idle = \"sleep\"; drain = \"250ms\"; memory = \"no-huge\";\n"
        "eal = \"--log-level=8\";\n"
        "pools = { small = { mbufs = 100; data_room = \"1K\"; socket = 1; };\n"
        "          big = { mbufs = \"2M\"; data_room = 9344; cache = 0; }; };\n"
        "ports = ( { name = \"a\"; device = \"net_null0,size=64\"; pool = \"big\";\n"
        "  mac = \"02:b0:00:00:01:00\"; mtu = \"9000\"; tpid = \"0x8100\"; rx_desc = 4095;\n"
        "  tx_desc = \"2K\"; addresses = (\"192.0.2.1\", \"192.0.2.5\"); promiscuous = false;\n"
        "  on_full = \"wait\"; line_rate = \"2.5G\"; } );\n"
        "tasks = ( { name = \"e\"; type = \"end\"; from = \"a\"; ring = \"1M\"; burst = 64;\n"
        "  on_full = \"wait\"; pool = \"small\"; } );\n"
        "topology = \"2x10x2\"; layout = ( { core = \"3s1h,4s1h\"; tasks = \"e\"; } );\n");

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(diags.n, 0);
    CU_ASSERT_EQUAL(m->idle, IDLE_SLEEP);
    CU_ASSERT_EQUAL(m->drain_ns, 250000000);
    CU_ASSERT_STRING_EQUAL(m->eal, "--log-level=8");
    CU_ASSERT_EQUAL_FATAL(m->n_pools, 3);
    CU_ASSERT_EQUAL(m->pools[0].mbufs, 100);
    CU_ASSERT_EQUAL(m->pools[0].cache, 64); /* the default, as far as 100 mbufs allow it */
    CU_ASSERT_EQUAL(m->pools[0].data_room, 1024);
    CU_ASSERT_EQUAL(m->pools[0].socket, 1);
    CU_ASSERT_EQUAL(m->pools[1].mbufs, 2097152);
    CU_ASSERT_EQUAL(m->pools[1].cache, 0);
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

static void ranges(void)
{
    struct cfg_model *m =
        load(PORTS TASKS LAYOUT
             "subscribers = ( { port = \"a\"; svlan = \"128-255\"; cvlan = \"256-511\";\n"
             "  ipv4 = \"10.0.0.0/17\"; gre_key = \"0-32767\"; mac = \"02:c0:00:00:00:00\"; },\n"
             " { port = \"b\"; svlan = 4094; cvlan = \"1-2\"; ipv4 = \"10.1.0.0/24\"; } );\n");
    const struct cfg_subscriber *s;

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL_FATAL(m->n_subscribers, 32770);
    s = &m->subscribers[0x1234];
    CU_ASSERT_EQUAL(s->port, 0);
    CU_ASSERT_EQUAL(s->svlan, 128 + 0x12);
    CU_ASSERT_EQUAL(s->cvlan, 256 + 0x34);
    CU_ASSERT_EQUAL(s->ipv4, 0x0a001234);
    CU_ASSERT_EQUAL(s->ipv4_len, 32);
    CU_ASSERT_TRUE(s->has_gre_key);
    CU_ASSERT_EQUAL(s->gre_key, 0x1234);
    CU_ASSERT_TRUE(s->has_mac);
    CU_ASSERT_EQUAL(s->mac[0], 0x02);
    CU_ASSERT_EQUAL(s->mac[1], 0xc0);
    CU_ASSERT_EQUAL(s->mac[4], 0x12);
    CU_ASSERT_EQUAL(s->mac[5], 0x34);
    CU_ASSERT_EQUAL(s->line, 4);
    CU_ASSERT_STRING_EQUAL(m->files[s->file], m->path);
    s = &m->subscribers[32769];
    CU_ASSERT_EQUAL(s->port, 1);
    CU_ASSERT_EQUAL(s->svlan, 4094);
    CU_ASSERT_EQUAL(s->cvlan, 2);
    CU_ASSERT_EQUAL(s->ipv4, 0x0a010001);
    CU_ASSERT_FALSE(s->has_gre_key);
    CU_ASSERT_FALSE(s->has_mac);
    config_free(m);
}

#define TABLE "subscribers = ( { csv = \"t.csv\"; } );\n"

static void csv(void)
{
    struct cfg_model *m;
    const struct cfg_subscriber *s;

    put_text("t.csv", "\xef\xbb\xbf# a byte order mark, CRLF, quotes, spaces, any order\r\n\r\n"
                      "ipv4, cvlan ,svlan,mac,\"port\"\r\n"
                      "\"10.0.0.9/29\",1,4094,,b\r\n"
                      "  # a comment\r\n"
                      "10.0.0.1 , 0x10,\t7,02:00:00:00:00:07,\"a\"");
    m = load(PORTS TASKS LAYOUT TABLE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL_FATAL(m->n_subscribers, 2);
    s = m->subscribers;
    CU_ASSERT_EQUAL(s[0].ipv4, 0x0a000009);
    CU_ASSERT_EQUAL(s[0].ipv4_len, 29);
    CU_ASSERT_EQUAL(s[0].cvlan, 1);
    CU_ASSERT_EQUAL(s[0].svlan, 4094);
    CU_ASSERT_FALSE(s[0].has_mac);
    CU_ASSERT_FALSE(s[0].has_gre_key);
    CU_ASSERT_EQUAL(s[0].port, 1);
    CU_ASSERT_EQUAL(s[0].line, 4);
    CU_ASSERT_NOT_EQUAL(strstr(m->files[s[0].file], "/t.csv"), NULL);
    CU_ASSERT_EQUAL(s[1].cvlan, 16);
    CU_ASSERT_EQUAL(s[1].mac[5], 7);
    CU_ASSERT_TRUE(s[1].has_mac);
    CU_ASSERT_EQUAL(s[1].line, 6);
    config_free(m);
    put_text("t.csv", "port,svlan,cvlan,ipv4,gre_key\na,1,1,10.0.0.1,4294967295\n");
    m = load(PORTS TASKS LAYOUT TABLE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->subscribers[0].gre_key, UINT32_MAX);
    CU_ASSERT_TRUE(m->subscribers[0].has_gre_key);
    config_free(m);
}

/* Rows in the reverse order of everything, so that all must be sorted; then all of them wrong. */
static void csv_many(void)
{
    struct cfg_model *m;
    struct timespec a, b;
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    fputs("port,svlan,cvlan,ipv4,gre_key\n", f);
    for (unsigned i = 262144; i-- > 0;)
        fprintf(f, "%s,%u,%u,10.%u.%u.%u,%u\n", i & 1 ? "a" : "b", 1 + (i >> 9), 1 + (i >> 1 & 255),
                i >> 16, i >> 8 & 255, i & 255, i);
    fclose(f);
    put("t.csv", text, len);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    m = load(PORTS TASKS LAYOUT TABLE);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->n_subscribers, 262144);
    config_free(m);
    /* four times the subscribers of the paper; the bar leaves room for sanitizers */
    CU_ASSERT(b.tv_sec - a.tv_sec < 4);
    for (size_t i = strlen("port,svlan,cvlan,ipv4,gre_key\n"); i < len; i++)
        if (text[i] == ',' && (text[i - 1] == 'a' || text[i - 1] == 'b'))
            text[i - 1] = 'c';
    put("t.csv", text, len);
    free(text);
    m = load(PORTS TASKS LAYOUT TABLE);
    CU_ASSERT_PTR_NULL(m);
    CU_ASSERT_EQUAL(diags.n, 21);
    CU_ASSERT_TRUE(said(DIAG_ERROR, "262124 more rows with a wrong port"));
}

static void routes(void)
{
    struct cfg_model *m = load(
        PORTS TASKS LAYOUT
        "routes = ( { prefix = \"198.18.0.0/28\"; count = \"4096\"; port = \"a\"; via = "
        "\"192.0.2.2\"; gre = \"203.0.113.1\"; mpls = 16; },\n"
        "{ prefix = \"10.0.0.0/8\"; port = \"a\"; via = \"192.0.2.2\"; gre = \"203.0.113.1\";\n"
        "  mpls = \"16\"; },\n"
        "{ prefix = \"0.0.0.0/0\"; port = \"b\"; mac = \"02:dd:00:00:00:01\"; mpls = 1048575; },\n"
        "{ prefix = \"255.255.255.255\"; port = \"b\"; mac = \"02:dd:00:00:00:01\"; } );\n");

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL_FATAL(m->n_routes, 4099);
    CU_ASSERT_EQUAL_FATAL(m->n_nexthops, 3);
    CU_ASSERT_EQUAL(m->routes[4095].prefix, 0xc612fff0);
    CU_ASSERT_EQUAL(m->routes[4095].len, 28);
    CU_ASSERT_EQUAL(m->routes[4095].nexthop, 0);
    CU_ASSERT_EQUAL(m->routes[4096].nexthop, 0); /* the same way to leave */
    CU_ASSERT_EQUAL(m->routes[4097].nexthop, 1);
    CU_ASSERT_EQUAL(m->routes[4097].len, 0);
    CU_ASSERT_EQUAL(m->routes[4098].nexthop, 2);
    CU_ASSERT_EQUAL(m->routes[4098].len, 32);
    CU_ASSERT_EQUAL(m->nexthops[0].via, 0xc0000202);
    CU_ASSERT_FALSE(m->nexthops[0].mac_set);
    CU_ASSERT_EQUAL(m->nexthops[0].gre, 0xcb007101);
    CU_ASSERT_TRUE(m->nexthops[0].has_gre);
    CU_ASSERT_EQUAL(m->nexthops[0].mpls, 16);
    CU_ASSERT_EQUAL(m->nexthops[1].mpls, 1048575);
    CU_ASSERT_TRUE(m->nexthops[1].mac_set);
    CU_ASSERT_EQUAL(m->nexthops[1].mac[5], 1);
    CU_ASSERT_FALSE(m->nexthops[1].has_gre);
    CU_ASSERT_FALSE(m->nexthops[2].has_mpls);
    config_free(m);
}

static void task_params(void)
{
    struct cfg_model *m;
    const struct param_value *p;

    m = load(PORTS
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
    /* a parameter that is named as a key of all tasks stands in its place */
    CU_ASSERT_EQUAL(p[10].u, 7);
    CU_ASSERT_EQUAL(m->tasks[0].burst, 32);
    config_free(m);
    m = load(PORTS TASKS LAYOUT);
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
    struct cfg_model *m =
        load(PORTS "tasks = ( { name = \"t\"; type = \"work\"; from = [\"b\", \"a\"]; to = (\"e\", "
                   "\"b\"); punt = \"u\"; },\n"
                   "{ name = \"u\"; type = \"work\"; to = \"a\"; },\n"
                   "{ name = \"e\"; type = \"end\"; }, { name = \"f\"; type = \"end\"; } );\n"
                   "topology = \"1x2x1\"; layout = ( { core = \"1\"; tasks = [\"e\", \"t\"]; },\n"
                   "{ core = \"0\"; tasks = (\"f\", \"u\"); } );\n");
    const struct cfg_task *t;

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    t = m->tasks;
    CU_ASSERT_PTR_EQUAL(t->schema, &work);
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
    CU_ASSERT_EQUAL(m->placements[0].tasks[0], 2);
    CU_ASSERT_EQUAL(m->placements[0].tasks[1], 0);
    CU_ASSERT_EQUAL(diags.n, 1);
    CU_ASSERT_TRUE(said(DIAG_WARNING, "task 'f' never gets a packet"));
    config_free(m);
    m = load("ports = ( { name = \"a\"; device = \"net_null0\"; } );\n"
             "tasks = ( { name = \"e\"; type = \"end\"; } ); topology = \"1x1x1\";\n"
             "layout = ( { core = \"0\"; tasks = \"e\"; } );\n");
    CU_ASSERT_PTR_NOT_NULL(m);
    CU_ASSERT_TRUE(said(DIAG_WARNING, "port 'a' is not used"));
    config_free(m);
}

static void topologies(void)
{
    static const char *const far = PORTS TASKS "layout = ( { core = \"100\"; tasks = [\"t\"]; }, "
                                               "{ core = \"127\"; tasks = \"e\"; } );\n";
    struct cfg_model *m;

    options.topology = "2x32x2";
    m = load("%s", far);
    CU_ASSERT_PTR_NOT_NULL(m);
    CU_ASSERT_FALSE(m == NULL || m->topology_given);
    config_free(m);
    options.topology = "1x8x1"; /* overrides the file's */
    m = load("topology = \"2x32x2\"; %s", far);
    CU_ASSERT_PTR_NULL(m);
    CU_ASSERT_EQUAL(diags.n_errors, 2);
    options.topology = NULL;
    options.share_cpus = true;
    m = load("%s", far); /* a machine is invented that has enough */
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->placements[1].cpus[0], 127);
    CU_ASSERT(m->topology.n_cpus >= 128);
    config_free(m);
    m = load("topology = \"1x50x1\"; %s", far); /* the file knows better */
    CU_ASSERT_PTR_NULL(m);
    options.topology = "live";
    m = load("topology = \"2x64x1\"; %s", far);
    CU_ASSERT_PTR_NOT_NULL(m);
    config_free(m);
    options.share_cpus = false;
    m = load(PORTS TASKS
             "topology = \"9x9\"; layout = ( { core = \"0\"; tasks = [\"t\", \"e\"]; } );");
    CU_ASSERT_PTR_NULL(m); /* wrong, even where another is taken */
    options.topology = NULL;
}

#define MAKE                                                                                       \
    "tasks = ( { name = \"t\"; type = \"source\"; template = \"x.tmpl\"; %s to = \"b\"; },\n"      \
    "{ name = \"e\"; type = \"end\"; from = \"a\"; } );\n" LAYOUT

static void templates(void)
{
    static const char text[] = "size 64\nether src 02:00:00:00:00:01 dst 02:00:00:00:00:02\n"
                               "ipv4 src 192.0.2.2 dst 192.0.2.1\nudp src 1 dst 2\n";
    char other[64], file[96];
    struct cfg_model *m;

    CU_ASSERT_PTR_NULL(load(PORTS MAKE, ""));
    CU_ASSERT_TRUE(said(DIAG_ERROR, "key 'template': value 'x.tmpl': no such template"));
    snprintf(other, sizeof(other), "%s/other", dir);
    mkdir(other, 0700);
    put_text("other/x.tmpl", text);
    options.template_dir = other;
    m = load(PORTS MAKE, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->n_templates, 1);
    CU_ASSERT_EQUAL(m->tasks[0].param[0].u, 0);
    CU_ASSERT_EQUAL(m->templates[0]->frames[0].len, 60);
    config_free(m);
    put_text("x.tmpl", text); /* next to the configuration: before any other */
    m = load(PORTS MAKE, "size = 128;");
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->templates[0]->frames[0].len, 124);
    CU_ASSERT_PTR_NULL(strstr(m->templates[0]->path, "other"));
    config_free(m);
    options.template_dir = NULL;
    snprintf(file, sizeof(file), "%s/x.tmpl", other);
    unlink(file);
    rmdir(other);
}

static void includes(void)
{
    struct cfg_model *m;
    char sub[64], file[96];

    snprintf(sub, sizeof(sub), "%s/sub", dir);
    mkdir(sub, 0700);
    put_text("sub/ports.inc", "\n\n" PORTS "subscribers = ( { csv = \"s.csv\"; } );");
    put_text("sub/s.csv", "port,svlan,cvlan,ipv4\na,1,1,10.0.0.1\n"); /* beside who names it */
    m = load("@include \"sub/ports.inc\"\n" TASKS LAYOUT);
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

    diag_free(&diags);
    snprintf(path, sizeof(path), "%s/nowhere.cfg", dir);
    CU_ASSERT_PTR_NULL(config_load(path, &options, &diags));
    CU_ASSERT_TRUE(said(DIAG_ERROR, "cannot be read: No such file"));
    diag_free(&diags);
    CU_ASSERT_PTR_NULL(config_load(dir, &options, &diags));
    CU_ASSERT_TRUE(said(DIAG_ERROR, "cannot be read: Is a directory"));
    CU_ASSERT_PTR_NULL(load("%s", ""));
    CU_ASSERT_EQUAL(diags.n_errors, 2); /* tasks and layout are missing */
    config_free(NULL);
}

/* Every value in turn is replaced by one of every type: no crash, at most a message. */
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
        "pools = { p = @; q = { mbufs = @; data_room = @; cache = @; socket = @; }; };\n"
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

    /* libconfig takes each key once, so the lines are tried one by one */
    for (char *l = strtok(copy, "\n"); l != NULL; l = strtok(NULL, "\n")) {
        for (unsigned v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
            size_t n = 0;

            for (const char *c = l; *c != '\0'; c++)
                n += (size_t)(*c == '@' ? snprintf(line + n, sizeof(line) - n, "%s", values[v])
                                        : snprintf(line + n, sizeof(line) - n, "%c", *c));
            config_free(load("%s", line));
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
    CU_ASSERT_PTR_NULL(load("%s", text));
    CU_ASSERT_TRUE(said(DIAG_ERROR, "65 ports: expected at most 64"));
    CU_ASSERT_TRUE(said(DIAG_ERROR, "129 tasks: expected at most 128"));
    CU_ASSERT_EQUAL(diags.n, 2);
    free(text);
}

static int remove_files(void)
{
    static const char *const names[] = {"test.cfg", "t.csv", "x.tmpl"};
    char path[128];

    diag_free(&diags);
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
    return rmdir(dir);
}

int main(void)
{
    unsigned failed = 1;
    CU_pSuite s;

    if (mkdtemp(dir) == NULL || CU_initialize_registry() != CUE_SUCCESS)
        return 1;
    s = CU_add_suite("config", NULL, remove_files);
    if (CU_ADD_TEST(s, defaults) && CU_ADD_TEST(s, all_given) && CU_ADD_TEST(s, ranges) &&
        CU_ADD_TEST(s, csv) && CU_ADD_TEST(s, csv_many) && CU_ADD_TEST(s, routes) &&
        CU_ADD_TEST(s, task_params) && CU_ADD_TEST(s, links) && CU_ADD_TEST(s, topologies) &&
        CU_ADD_TEST(s, templates) && CU_ADD_TEST(s, includes) && CU_ADD_TEST(s, unreadable) &&
        CU_ADD_TEST(s, any_type) && CU_ADD_TEST(s, too_many)) {
        CU_basic_set_mode(CU_BRM_VERBOSE);
        CU_basic_run_tests();
        failed = CU_get_number_of_failures();
    }
    CU_cleanup_registry();
    return failed != 0;
}
