/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does explain tell the truth? Each frame is explained, and then really given to the gateway, whose
 * cores are run here round by round. What left by which port, byte for byte, what was dropped by
 * which task and why, and what ended where it should must be the same. And to be asked must have
 * changed nothing in any task.
 *
 * usage: truth CONFIG FRAMES [CONFIG FRAMES ...]; a frame is its port (1 byte, 1 not used), its
 * length (2 bytes, little-endian, 2 not used), and its bytes.
 */
#include "truth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_dev.h>

#include "engine/eal.h"
#include "explain/explain.h"
#include "provision.h"
#include "tasks/task_types.h"

#define LEAST_MEMORY (UINT64_C(320) << 20) /* for any of the configurations */
#define MAX_ROUNDS   100000
#define SHOWN        5 /* differences of a configuration */

/** A gateway whose ports keep what is sent. */
struct gateway {
    struct cfg_model *model;
    struct plan *plan;
    struct engine engine;
    struct tables *tables;
    struct explain *explain;
    struct fate real; /* of the frame under way */
    bool shapes;      /* it has a scheduler, which needs a clock that goes on */
};

static struct gateway *now_running;

static void fail(const char *path, const char *what) __attribute__((noreturn));

static void fail(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    exit(2);
}

/* Instead of the device: the port's number stands where DPDK's did. */
static void keep(struct out *o, struct rte_mbuf **m, uint16_t n)
{
    for (uint16_t i = 0; i < n; i++)
        fate_add_sent(&now_running->real, o->tx.port, rte_pktmbuf_mtod(m[i], uint8_t *),
                      m[i]->data_len);
    rte_pktmbuf_free_bulk(m, n);
}

static void replace_devices(struct gateway *g)
{
    for (unsigned i = 0; i < g->plan->n_instances; i++) {
        const struct plan_instance *inst = &g->plan->instances[i];
        struct out *out = g->engine.tasks[i]->outs;

        g->shapes |= g->engine.tasks[i]->type == &task_qos;
        for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
            for (uint16_t k = 0; k < inst->output[o].n_dests; k++, out++) {
                if (inst->output[o].dest[k].kind != DEST_PORT)
                    continue;
                out->send = keep;
                out->tx.port = inst->output[o].dest[k].index;
            }
    }
}

static struct gateway *gateway_open(const char *path)
{
    static const struct task_schema *schemas[64];
    struct config_options options = {.schemas = schemas, .share_cpus = true};
    static struct gateway g;
    static bool has_eal;
    uint8_t mac[CFG_MAX_PORTS][6];
    struct diags d = {0};

    for (unsigned i = 0; task_types[i] != NULL; i++)
        schemas[i] = &task_types[i]->schema;
    g = (struct gateway){.model = config_load(path, &options, &d)};
    g.plan = g.model != NULL ? plan_make(g.model, true, &d) : NULL;
    diag_print(&d, stderr);
    diag_free(&d);
    if (g.plan == NULL)
        fail(path, "wrong");
    offline_prepare(g.model, g.plan);
    g.plan->memory.total = RTE_MAX(g.plan->memory.total, LEAST_MEMORY);
    if (!has_eal && eal_start(g.plan, false) != 0)
        fail(path, "no EAL");
    /* so that no port has the same number in the configuration and in DPDK */
    if (!has_eal && rte_dev_probe("net_null99,no-rx=1") != 0)
        fail(path, "no further device");
    has_eal = true;
    if (engine_open(&g.engine, g.plan) != 0)
        fail(path, "does not start");
    for (unsigned i = 0; i < g.model->n_ports; i++)
        memcpy(mac[i], &g.engine.ports[i].mac, sizeof(mac[i]));
    g.tables = provision(g.plan, (const uint8_t(*)[6])mac);
    if (g.tables == NULL || engine_build(&g.engine, g.tables) != 0)
        fail(path, "cannot be built");
    memset(&g.engine.punt_rates, 0, sizeof(g.engine.punt_rates)); /* which explain leaves out */
    g.explain = explain_open(&g.engine, g.tables, NULL, NULL);
    replace_devices(&g);
    g.engine.phase = PHASE_NO_SOURCES; /* what generators make would be taken for the frame's */
    for (unsigned i = 0; i < g.plan->n_instances; i++)
        g.engine.tasks[i]->stopping = true; /* also of what comes before the first round */
    now_running = &g;
    return &g;
}

static void gateway_close(struct gateway *g)
{
    struct rte_mempool *looked = rte_mempool_lookup("explain_0");
    uint64_t missing;

    if (looked != NULL && rte_mempool_in_use_count(looked) > 0)
        fail(g->model->path, "explain has not given back its packets");
    explain_free(g->explain);
    missing = engine_free(&g->engine);
    if (missing > 0)
        fail(g->model->path, "mbufs are missing");
    provision_free(g->tables);
    plan_free(g->plan);
    config_free(g->model);
}

static uint64_t held(const struct engine *e)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < e->plan->n_instances; i++)
        if (e->tasks[i]->type->held != NULL)
            sum += e->tasks[i]->type->held(e->tasks[i]);
    for (unsigned i = 0; i < e->plan->n_rings; i++)
        sum += rte_ring_count(e->rings[i]);
    return sum;
}

/* As net_pcap receives it: what does not fit goes on in further segments. */
static struct rte_mbuf *packet(struct gateway *g, unsigned port, const uint8_t *frame, uint32_t len)
{
    struct rte_mempool *pool = g->engine.pools[plan_queue_pool(g->plan, port, 0)];
    struct rte_mbuf *whole = rte_pktmbuf_alloc(pool), *last = whole;

    while (last != NULL) {
        uint16_t n = (uint16_t)RTE_MIN(len, (uint32_t)rte_pktmbuf_tailroom(last));

        memcpy(rte_pktmbuf_append(last, n), frame, n);
        frame += n;
        len -= n;
        if (last != whole && rte_pktmbuf_chain(whole, last) != 0)
            break;
        if (len == 0) {
            whole->port = g->engine.ports[port].dpdk_id;
            return whole;
        }
        last = rte_pktmbuf_alloc(pool);
    }
    fail(g->model->path, "out of mbufs");
}

/* As a port brings it to its core. The slow path's clock stands still, so that its limits are the
 * same for who asks and for the packet. */
static void really(struct gateway *g, unsigned port, const uint8_t *frame, uint32_t len)
{
    struct rte_mbuf *m = packet(g, port, frame, len);
    unsigned reader = 0, rounds = 0;
    struct task *t;

    while (g->plan->instances[reader].n_rx == 0 || !fate_reads(&g->plan->instances[reader], port))
        reader++;
    t = g->engine.tasks[reader];
    fate_begin(&g->real, &g->engine);
    t->in_port = (uint16_t)port;
    task_run(t, &m, 1);
    t->in_port = PORT_IN_MBUF;
    do {
        for (unsigned i = 0; i < g->plan->n_cores; i++)
            core_round(g->engine.cores[i], g->shapes ? rte_rdtsc() : 1);
    } while (held(&g->engine) > 0 && ++rounds < MAX_ROUNDS);
    fate_end(&g->real, &g->engine);
}

/* Returns whether explain was right. */
static bool try_frame(struct gateway *g, unsigned number, unsigned port, const uint8_t *frame,
                      uint32_t len, bool show)
{
    uint64_t before = fate_fingerprint(&g->engine, g->tables), after;
    char err[256];
    struct walk *w = explain_frame(g->explain, port, frame, len, err, sizeof(err));
    struct fate said = {0};
    bool right;

    after = fate_fingerprint(&g->engine, g->tables);
    if (w == NULL) {
        fprintf(stderr, "frame %u: %s\n", number, err);
        return false;
    }
    fate_of_walk(&said, w);
    really(g, port, frame, len);
    right = fate_equal(&said, &g->real) && before == after;
    if (!right && show) {
        printf("frame %u: explain says otherwise%s\n", number,
               before != after ? ", and has changed the gateway" : "");
        walk_print(w, stdout);
        fate_print(&g->real, stdout);
    }
    fate_count(&g->real, g->model);
    fate_free(&said);
    fate_free(&g->real);
    walk_free(w);
    return right;
}

static unsigned try_all(struct gateway *g, const char *path, unsigned *n)
{
    FILE *f = fopen(path, "rb");
    uint8_t head[6], frame[SPEC_MAX_FRAME];
    unsigned wrong = 0;

    if (f == NULL)
        fail(path, strerror(errno));
    for (*n = 0; fread(head, sizeof(head), 1, f) == 1; ++*n) {
        uint32_t len = head[2] | (uint32_t)head[3] << 8;

        if (head[0] >= g->model->n_ports || len > sizeof(frame) || fread(frame, 1, len, f) != len)
            fail(path, "not of the form");
        wrong += !try_frame(g, *n, head[0], frame, len, wrong < SHOWN);
    }
    fclose(f);
    return wrong;
}

int main(int argc, char **argv)
{
    unsigned all = 0, wrong = 0;

    for (int i = 1; i + 1 < argc; i += 2) {
        struct gateway *g = gateway_open(argv[i]);
        unsigned n, bad = try_all(g, argv[i + 1], &n);

        if (bad > 0)
            printf("FAIL %s: %u of %u frames\n", argv[i], bad, n);
        all += n;
        wrong += bad;
        gateway_close(g);
    }
    eal_stop();
    fate_print_counts(stdout);
    printf("%u frames, explain was wrong about %u\n", all, wrong);
    return wrong > 0 || all == 0;
}
