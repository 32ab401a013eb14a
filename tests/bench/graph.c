/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the text of a configuration to tasks that can be called: loader, plan, provisioning and the
 * engine's own building, all as vbng itself does it. Only ports and pool are not the engine's: the
 * graphs share those of this program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_ring.h>

#include "base/ipv6.h"
#include "bench.h"
#include "engine/drops.h"
#include "engine/ledger.h"
#include "provision.h"

const struct plan_of_subscribers *subscribers_plan(void)
{
    static const struct plan_of_subscribers few = {256, UINT64_C(0x20010db800000000),
                                                   UINT64_C(0x20010db801000000), "2001:db8::/48",
                                                   "2001:db8:100::/40"},
                                            many = {1024, UINT64_C(0x20010db800000000),
                                                    UINT64_C(0x20010db810000000), "2001:db8::/44",
                                                    "2001:db8:1000::/36"};

    return bench_subscribers <= 65536 ? &few : &many;
}

/* The route number i (of a family); one before it ends with a comma. */
static void write_route(FILE *f, const struct graph_text *text, const char *prefix, uint32_t i,
                        bool is_first)
{
    uint32_t nh = i % N_NEXTHOPS;

    fprintf(f,
            "%s  { prefix = \"%s\"; port = \"core\"; gre = \"%s%u\"; mpls = %u; "
            "mac = \"02:c0:00:00:00:%02x\"; }",
            is_first ? "" : ",\n", prefix, text->over6 ? "2001:db8:fffe::" : "198.51.100.", 1 + nh,
            FIRST_LABEL + nh, nh);
}

static void write_config(FILE *f, const struct graph_text *text)
{
    const struct plan_of_subscribers *plan = subscribers_plan();

    fprintf(f, "name = \"%s\";\ntopology = \"1x18x1\";\nfuse = %s;\n", text->name,
            text->fuse ? "true" : "false");
    fprintf(f,
            "pools = { default = { mbufs = \"64K\"; overcommit = true; data_room = \"%u\"; }; };\n",
            DATA_ROOM);
    fprintf(f, "ports = (\n");
    fprintf(f, "  { name = \"access\"; device = \"net_null0\"; mac = \"" GATEWAY_MAC_TEXT "\";\n",
            1 + WIRE_ACCESS);
    fprintf(f, "    addresses = [\"10.255.0.1\"]; },\n");
    fprintf(f, "  { name = \"core\"; device = \"net_null1\"; mac = \"" GATEWAY_MAC_TEXT "\";\n",
            1 + WIRE_CORE);
    fprintf(f, "    addresses = [\"192.0.2.1\"%s]; } );\n",
            text->no_ipv6 ? "" : ", \"2001:db8:fff0::1\"");
    fprintf(f, "max_subscribers = %u; max_routes = %u;\n", bench_subscribers, N_ROUTES);
    fprintf(f,
            "subscribers = ( { port = \"access\"; svlan = \"%u-%u\"; cvlan = \"%u-%u\"; "
            "ipv4 = \"10.0.0.0/%d\"; gre_key = \"0-%u\"; %s",
            FIRST_SVLAN, FIRST_SVLAN + bench_subscribers / plan->cvlans - 1, FIRST_CVLAN,
            FIRST_CVLAN + plan->cvlans - 1, 32 - __builtin_ctz(bench_subscribers),
            bench_subscribers - 1, text->qos != NULL ? "profile = \"home\"; " : "");
    if (!text->no_ipv6)
        fprintf(f, "ipv6 = \"%s\"; delegated = \"%s\"; ", plan->links6_text, plan->delegated6_text);
    fprintf(f, "} );\n");
    fprintf(f, "routes = (\n");
    for (uint32_t i = 0; i < N_ROUTES; i++) {
        uint32_t prefix = ROUTED_IP + i * 16;
        char text4[32];

        snprintf(text4, sizeof(text4), "%u.%u.%u.%u/28", prefix >> 24, prefix >> 16 & 255,
                 prefix >> 8 & 255, prefix & 255);
        write_route(f, text, text4, i, i == 0);
    }
    for (uint32_t i = 0; !text->no_ipv6 && i < N_ROUTES; i++) {
        char text6[IPV6_TEXT];

        write_route(f, text,
                    format_prefix6((struct ipv6){ROUTED_IP6 + ((uint64_t)i << 16), 0}, 48, text6),
                    i, false);
    }
    fprintf(f, "\n);\n%s\ntasks = (\n%s);\nlayout = ( %s );\n", text->qos != NULL ? text->qos : "",
            text->tasks, text->layout);
}

static const struct task_schema *const *schemas(void)
{
    static const struct task_schema *list[64];

    for (unsigned i = 0; task_types[i] != NULL && i < RTE_DIM(list) - 1; i++)
        list[i] = &task_types[i]->schema;
    return list;
}

static int load(struct graph *g, const char *path)
{
    struct config_options options = {.schemas = schemas(), .template_dir = BENCH_TEMPLATES};
    struct diags diags = {0};

    g->model = config_load(path, &options, &diags);
    if (g->model != NULL)
        g->plan = plan_make(g->model, false, &diags);
    diag_print(&diags, stderr);
    diag_free(&diags);
    return g->plan != NULL ? 0 : -1;
}

static int load_text(struct graph *g, const struct graph_text *text)
{
    const char *dir = getenv("TMPDIR");
    char path[4096];
    FILE *f;
    int fd, rc;

    snprintf(path, sizeof(path), "%s/vbng-bench-XXXXXX", dir != NULL ? dir : "/tmp");
    fd = mkstemp(path);
    f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (f == NULL) {
        perror(path);
        return -1;
    }
    write_config(f, text);
    fclose(f);
    rc = load(g, path);
    unlink(path);
    return rc;
}

/* All graphs have the same ports, subscribers and routes, but for those without IPv6, with PPPoE or
 * with tunnels over IPv6: one set of tables serves them. */
static int make_tables(struct tables **tables, const struct graph *g, bool pppoe)
{
    uint8_t port_mac[N_WIRES][6];

    if (*tables != NULL)
        return 0;
    for (unsigned i = 0; i < N_WIRES; i++)
        memcpy(port_mac[i], g->model->ports[i].mac, sizeof(port_mac[i]));
    *tables = provision(g->plan, (const uint8_t(*)[6])port_mac);
    if (*tables == NULL)
        return -1;
    for (uint32_t id = 1; id <= bench_subscribers; id++) {
        uint32_t n = id - 1;
        uint8_t mac[6] = {2, CPE_MAC_KIND, 0, (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};

        subscriber_set_mac(&(*tables)->subscribers->record[id], mac);
        if (pppoe)
            (*tables)->subscribers->record[id].session =
                rte_cpu_to_be_16((uint16_t)(FIRST_SESSION + n % SESSIONS));
    }
    return 0;
}

/* The links between cores, with room for all that is on the way at once. */
static int make_rings(struct graph *g)
{
    static unsigned n_made;
    struct engine *e = &g->engine;

    for (unsigned i = 0; i < g->plan->n_rings; i++) {
        unsigned flags = RING_F_SC_DEQ | (g->plan->rings[i].n_producers == 1 ? RING_F_SP_ENQ : 0);
        char name[RTE_RING_NAMESIZE];

        snprintf(name, sizeof(name), "bench_link_%u", n_made++);
        e->rings[i] = rte_ring_create(name, CHUNK * 2, SOCKET_ID_ANY, flags);
        if (e->rings[i] == NULL)
            return -1;
    }
    return 0;
}

/* What engine_open() does, with what is there already. */
static int open_engine(struct bench *b, struct graph *g, struct tables *tables,
                       bool ports_count_bytes)
{
    struct engine *e = &g->engine;
    const struct plan *p = g->plan;

    e->plan = p;
    e->rings = calloc(p->n_rings + 1, sizeof(e->rings[0]));
    e->ring_input = calloc(p->n_rings + 1, sizeof(e->ring_input[0]));
    e->tasks = calloc(p->n_instances + 1, sizeof(e->tasks[0]));
    e->cores = calloc(p->n_cores + 1, sizeof(e->cores[0]));
    if (e->rings == NULL || e->ring_input == NULL || e->tasks == NULL || e->cores == NULL)
        return -1;
    for (unsigned i = 0; i < p->n_pools; i++)
        e->pools[i] = b->packets.pool;
    for (unsigned i = 0; i < p->cfg->n_ports; i++)
        e->ports[i] = (struct port){
            .cfg = &p->cfg->ports[i], .dpdk_id = b->wires[i].port, .is_wire = !ports_count_bytes};
    return make_rings(g) == 0 ? engine_build(e, tables) : -1;
}

struct graph *graph_make(struct bench *b, const struct graph_text *text)
{
    struct tables **tables = text->no_ipv6 ? &b->no_ipv6
                             : text->pppoe ? &b->pppoe
                             : text->over6 ? &b->over6
                                           : &b->tables;
    struct graph *g = calloc(1, sizeof(*g));

    if (g == NULL)
        return NULL;
    if (load_text(g, text) == 0 && make_tables(tables, g, text->pppoe) == 0 &&
        open_engine(b, g, *tables, text->ports_count_bytes) == 0)
        return g;
    fprintf(stderr, "bench: the configuration \"%s\" does not start\n", text->name);
    graph_free(g);
    return NULL;
}

void graph_free(struct graph *g)
{
    struct engine *e;

    if (g == NULL)
        return;
    e = &g->engine;
    if (e->plan != NULL) {
        /* pool and ports are not this engine's to close */
        memset(e->pools, 0, sizeof(e->pools));
        memset(e->ports, 0, sizeof(e->ports));
        engine_free(e);
    }
    plan_free(g->plan);
    config_free(g->model);
    free(g);
}

void tables_free(struct bench *b)
{
    provision_free(b->tables);
    provision_free(b->no_ipv6);
    provision_free(b->pppoe);
    provision_free(b->over6);
}

struct task *graph_task(const struct graph *g, const char *name)
{
    for (unsigned i = 0; i < g->plan->n_instances; i++)
        if (strcmp(g->engine.tasks[i]->cfg->name, name) == 0)
            return g->engine.tasks[i];
    return NULL;
}

void graph_print_drops(const struct graph *g, FILE *to)
{
    for (unsigned i = 0; i < g->model->n_tasks; i++) {
        struct task_stats s;

        stats_task(&g->engine, i, &s);
        for (unsigned k = 0; k < N_TASK_DROPS; k++)
            if (s.drops[k] > 0)
                fprintf(to, "bench: %s dropped %llu: %s\n", g->model->tasks[i].name,
                        (unsigned long long)s.drops[k], drop_name(g->model->tasks[i].schema, k));
        if (s.full > 0)
            fprintf(to, "bench: %s dropped %llu: full\n", g->model->tasks[i].name,
                    (unsigned long long)s.full);
    }
}
