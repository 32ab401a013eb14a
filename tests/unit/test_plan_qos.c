/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedulers in the graph of a plan and in its memory: graphs that a plan accepts, and those that
 * it warns of. The errors have suites in tests/config/bad. */
#include "plan_model.h"

#include "common/program.h"
#include "common/qos_shapes.h"
#include "sched/check.h"

static const char *const directions[] = {"up", "down", NULL};
static const struct task_schema classify_q = {
    .type = "classify",
    .outputs = {{.name = "to"}, {.name = "punt"}},
    .params =
        (const struct task_param[]){
            {.name = "scheduler", .type = PARAM_SCHEDULER, .set_gives = FACT_PATH},
            {.name = "shed", .type = PARAM_COUNT}},
    .n_params = 2,
    .gives = FACT_SUBSCRIBER};
static const struct task_schema gre_q = {
    .type = "gre_decap",
    .outputs = {{.name = "to"}, {.name = "punt"}},
    .params =
        (const struct task_param[]){
            {.name = "scheduler", .type = PARAM_SCHEDULER, .set_gives = FACT_PATH}},
    .n_params = 1,
    .gives = FACT_SUBSCRIBER};
static const struct task_schema pop_q = {
    .type = "mpls_pop",
    .outputs = {{.name = "to"}, {.name = "punt"}},
    .params = (const struct task_param[]){{.name = "scheduler", .type = PARAM_SCHEDULER},
                                          {.name = "shed", .type = PARAM_COUNT}},
    .n_params = 2};
static const struct task_schema qos_q = {
    .type = "qos",
    .outputs = {{.name = "to"}},
    .params =
        (const struct task_param[]){
            {.name = "scheduler", .type = PARAM_SCHEDULER},
            {.name = "direction", .type = PARAM_ENUM, .choices = directions}},
    .n_params = 2,
    .needs = FACT_PATH};

static struct cfg_scheduler schedulers[2];
static struct cfg_subport subports[2];

/* Ports cpe0, cpe1 with a scheduler and two subscribers each, and core. */
static void start_qos(void)
{
    start();
    port("cpe0", "net_null0");
    port("cpe1", "net_null1");
    port("core", "net_null2");
    for (unsigned i = 0; i < 3; i++)
        m->ports[i].on_full = FULL_WAIT;
    for (unsigned i = 0; i < 2; i++) {
        schedulers[i] = (struct cfg_scheduler){.loc = {"t.cfg", 90 + i},
                                               .name = i == 0 ? "s0" : "s1",
                                               .rate = 10000000000,
                                               .n_subports = 1,
                                               .subports = &subports[i]};
        schedulers[i].class[QOS_BE].size = 64;
        subports[i] = (struct cfg_subport){.name = "x", .port = i, .n_pipes = 2};
        plain_pipes(&schedulers[i], 2);
        schedulers[i].configured = schedulers[i].pipes;
        add_subscriber(i, 10, 1, 0x0a000000 + 2 * i);
        add_subscriber(i, 10, 2, 0x0a000001 + 2 * i);
    }
    m->qos.n_schedulers = 2;
    m->max_subscribers = 1; /* no more than are configured */
    m->qos.schedulers = schedulers;
    m->qos.n_profiles = 1;
}

static unsigned task_q(const char *name, const struct task_schema *schema, unsigned scheduler,
                       enum qos_direction direction)
{
    unsigned t = task(name, schema);

    m->tasks[t].param[0] = (struct param_value){.set = true, .u = scheduler};
    if (schema == &qos_q)
        m->tasks[t].param[1] = (struct param_value){.set = true, .u = direction};
    return t;
}

/* Each access port has a scheduler; downstream an output sends each packet to that of its egress
 * port. */
static unsigned two_schedulers(void)
{
    unsigned c0 = task_q("c0", &classify_q, 0, QOS_UP), c1 = task_q("c1", &classify_q, 1, QOS_UP);
    unsigned u0 = task_q("u0", &qos_q, 0, QOS_UP), u1 = task_q("u1", &qos_q, 1, QOS_UP);
    unsigned g = task_q("g", &gre_q, 0, QOS_DOWN), e = task("e", &encap);
    unsigned d0 = task_q("d0", &qos_q, 0, QOS_DOWN), d1 = task_q("d1", &qos_q, 1, QOS_DOWN);

    from(c0, 0);
    from(c1, 1);
    from(g, 2);
    to(c0, u0);
    to(c1, u1);
    to_port(u0, 2);
    to_port(u1, 2);
    to(g, e);
    to(e, d0);
    to(e, d1);
    to_port(d0, 0);
    to_port(d1, 1);
    place(0, 1, c0, d1);
    return g;
}

static void parted_by_egress(void)
{
    start_qos();
    two_schedulers();
    expect(make(), true, "");
}

/* The same graph is refused where the schedulers have different DSCP maps, as gre_decap uses only
 * one. */
static void parted_with_another_map(void)
{
    start_qos();
    two_schedulers();
    schedulers[1].dscp_map[QOS_DOWN] = 1;
    refused("t.cfg:15: error: task 'd1' shapes downstream by scheduler 's1', but 'g' chooses its "
            "queues by another DSCP map, that of 's0' downstream\n");
}

/* A graph is refused in which packets for cpe1 would get to the scheduler of cpe0. */
static void not_parted(void)
{
    unsigned g, d;

    start_qos();
    g = task_q("g", &gre_q, 0, QOS_DOWN);
    d = task_q("d", &qos_q, 0, QOS_DOWN);
    from(g, 2);
    to(g, d);
    to_port(d, 0);
    place(0, 1, g, d);
    refused("t.cfg:9: error: task 'd' gets packets of the subscribers on port 'cpe1', which "
            "scheduler 's0' does not have: add the port to it, or part the packets before, by an "
            "output with a destination for each access port\n"
            "t.cfg:91: warning: scheduler 's1' shapes nothing: no task of type qos names it\n");
}

/* A plan warns of drops behind a scheduler, and of a writer and a scheduler without a qos task. */
static void warnings(void)
{
    unsigned c, q, w, tx;

    start_qos();
    c = task_q("c", &classify_q, 0, QOS_UP);
    q = task_q("q", &qos_q, 0, QOS_UP);
    tx = task("tx", &pass);
    w = task_q("w", &classify_q, 1, QOS_UP);
    from(c, 0);
    from(w, 1);
    to(c, q);
    to(q, tx);
    to_port(tx, 2);
    to_port(w, 2);
    m->ports[2].on_full = FULL_DROP;
    place(0, 1, c, q);
    place(1, 1, tx, w);
    expect(make(), true,
           "t.cfg:3: warning: port 'core' drops packets that scheduling in 'q' has let pass: say "
           "on_full = \"wait\" there\n"
           "t.cfg:10: warning: the ring into 'tx' drops packets that scheduling in 'q' has let "
           "pass: say on_full = \"wait\" there\n"
           "t.cfg:11: warning: task 'w' chooses queues of scheduler 's1', but no task qos follows\n"
           "t.cfg:91: warning: scheduler 's1' shapes nothing: no task of type qos names it\n");
}

/* A graph is refused in which the first scheduler would read a path of the second. */
static void writers_end_the_way(void)
{
    unsigned c0, c1, q;

    start_qos();
    c0 = task_q("c0", &classify_q, 1, QOS_UP);
    c1 = task_q("c1", &classify_q, 0, QOS_UP);
    q = task_q("q", &qos_q, 0, QOS_UP);
    from(c0, 0);
    to(c0, c1);
    to(c1, q);
    to_port(q, 2);
    place(0, 1, c0, q);
    expect(make(), true,
           "t.cfg:8: warning: task 'c0' chooses queues of scheduler 's1', but no task qos follows\n"
           "t.cfg:91: warning: scheduler 's1' shapes nothing: no task of type qos names it\n");
}

static void memory_of_schedulers(void)
{
    uint64_t each, queued = 2 * 4 * 64, need;
    struct plan *p;
    unsigned g;

    start_qos();
    g = two_schedulers();
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    each = qos_sched_bytes(&schedulers[0], QOS_MAX_PROFILES) + 2 * 64;
    CU_ASSERT_EQUAL(p->memory.sched, 4 * each);
    CU_ASSERT_EQUAL(p->memory.task_sched[g], 0);
    CU_ASSERT_EQUAL(p->memory.task_sched[g + 2], each);
    CU_ASSERT_EQUAL(p->memory.task_queued[g + 2], queued);
    CU_ASSERT_EQUAL(p->memory.pool_queued[0], 4 * queued);
    CU_ASSERT_EQUAL(p->memory.total,
                    p->memory.mbufs_total + p->memory.tables + p->memory.routes + 4 * each);
    need = p->memory.pool_need[0];
    plan_free(p);
    m->pools[0].overcommit = true;
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->memory.pool_need[0], need - 4 * queued);
    CU_ASSERT_EQUAL(p->memory.pool_queued[0], 4 * queued);
    plan_free(p);
    /* exactly enough mbufs, then one too few */
    m->pools[0].mbufs = (uint32_t)(need - 4 * queued);
    p = make();
    CU_ASSERT_PTR_NOT_NULL(p);
    plan_free(p);
    m->pools[0].mbufs--;
    CU_ASSERT_PTR_NULL(make());
    m->pools[0].overcommit = false;
    m->pools[0].mbufs = (uint32_t)need;
    diag_free(&diags);
    memset(&diags, 0, sizeof(diags));
    p = make();
    CU_ASSERT_PTR_NOT_NULL(p);
    plan_free(p);
    m->pools[0].mbufs--;
    CU_ASSERT_PTR_NULL(make());
    finish(NULL);
}

/* A pool must have mbufs for the packets that a reader of a port holds back under overload. */
static void memory_of_backlogs(void)
{
    struct plan *p;
    uint32_t need;
    unsigned c;

    start_qos();
    two_schedulers();
    m->pools[0].overcommit = true;
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    need = p->memory.pool_need[0];
    plan_free(p);
    c = 0; /* task c0 */
    m->tasks[c].param[1] = (struct param_value){.set = true, .u = 1024};
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->memory.pool_need[0], need + 1024);
    plan_free(p);
    finish(NULL);
}

/* mpls_pop | gre_decap - qinq_encap | qos: tasks on cores of their own. */
static unsigned downstream(unsigned scheduler)
{
    unsigned first = task_q("pop", &pop_q, scheduler, QOS_DOWN),
             g = task_q("g", &gre_q, 0, QOS_DOWN);
    unsigned e = task("e", &encap), d = task_q("d", &qos_q, 0, QOS_DOWN);

    m->n_subscribers = 2; /* of cpe0 alone */
    m->qos.n_schedulers = 1 + scheduler;
    m->tasks[first].param[1] = (struct param_value){.set = true, .u = 64};
    from(first, 2);
    to(first, g);
    to(g, e);
    to(e, d);
    to_port(d, 0);
    place(0, 1, first, first);
    place(1, 1, g, e);
    place(2, 1, d, d);
    return first;
}

/* A plan warns of a ring before the scheduler that drops, because the port's reader should choose.
 */
static void rings_before_a_scheduler(void)
{
    static const char at_d[] = "t.cfg:11: warning: the ring into 'd' drops packets of any class "
                               "when it is full: say on_full = \"wait\" there, and 'pop' drops the "
                               "lowest classes instead\n";
    char both[1024];
    unsigned first;

    start_qos();
    first = downstream(0);
    snprintf(both, sizeof(both), "%s%s",
             "t.cfg:9: warning: the ring into 'g' drops packets of any class when it is full: say "
             "on_full = \"wait\" there, and 'pop' drops the lowest classes instead\n",
             at_d);
    expect(make(), true, both);
    start_qos();
    first = downstream(0);
    m->tasks[first + 1].on_full = FULL_WAIT;
    expect(make(), true, at_d);
    start_qos();
    first = downstream(0);
    m->tasks[first].param[1].u = 0; /* a reader that does not shed needs no waiting rings */
    expect(make(), true, "");
}

/* A task that sheds must use the DSCP map of the schedulers that follow. */
static void sheds_by_another_map(void)
{
    unsigned first;

    start_qos();
    schedulers[1].dscp_map[QOS_DOWN] = 1;
    first = downstream(1);
    m->tasks[first + 1].on_full = m->tasks[first + 3].on_full = FULL_WAIT;
    expect(make(), false,
           "t.cfg:8: error: task 'pop' drops by the classes of scheduler 's1' when there is too "
           "much, but its packets go to 'd', which runs scheduler 's0' with another DSCP map: name "
           "that one\n"
           "t.cfg:91: warning: scheduler 's1' shapes nothing: no task of type qos names it\n");
    start_qos();
    first = task_q("pop", &pop_q, 0, QOS_DOWN);
    from(first, 2);
    to_port(first, 0);
    place(0, 1, first, first);
    m->qos.n_schedulers = 1;
    expect(make(), true,
           "t.cfg:8: warning: task 'pop' drops by the classes of scheduler 's0' when there is too "
           "much, but no task qos follows\n"
           "t.cfg:90: warning: scheduler 's0' shapes nothing: no task of type qos names it\n");
}

/* Two cores are one scheduler behind an lb, which is told; the memory is that of both shards. */
static void shards(void)
{
    static const char *const by[] = {"qinq", "gre", "subscriber", NULL};
    static const struct task_param lb_params[] = {
        {.name = "by", .type = PARAM_ENUM, .choices = by}};
    static const struct task_schema lb_q = {.type = "lb",
                                            .outputs = {{.name = "to"}},
                                            .params = lb_params,
                                            .n_params = 1,
                                            .spreads = true};
    uint64_t one, both;
    unsigned spreader, c, q;
    struct plan *p;

    start_qos();
    m->qos.n_schedulers = 1;
    schedulers[0].n_shards = 2;
    spreader = task("lb", &lb_q);
    c = task_q("c", &classify_q, 0, QOS_UP);
    q = task_q("q", &qos_q, 0, QOS_UP);
    m->tasks[spreader].param[0] = (struct param_value){.set = true, .u = 0};
    m->tasks[c].on_full = FULL_WAIT;
    from(spreader, 0);
    to(spreader, c);
    to(c, q);
    to_port(q, 2);
    place(0, 1, spreader, spreader);
    place(1, 2, c, q);
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT(p->by_shard[spreader]);
    CU_ASSERT(!p->by_shard[c]);
    one = qos_sched_bytes(&schedulers[0], 256);
    both = p->memory.task_sched[q];
    CU_ASSERT(both > 2 * one && both < 2 * one + 32768);
    CU_ASSERT_EQUAL(both, qos_shards_bytes(&schedulers[0], 256) + 2 * 2 * PLAN_QOS_PIPE);
    expect(p, true, "");
}

static const struct test tests[] = {
    {"shards", shards},
    {"parted by egress", parted_by_egress},
    {"parted with another map", parted_with_another_map},
    {"not parted", not_parted},
    {"warnings", warnings},
    {"writers end the way", writers_end_the_way},
    {"memory of schedulers", memory_of_schedulers},
    {"memory of backlogs", memory_of_backlogs},
    {"rings before a scheduler", rings_before_a_scheduler},
    {"sheds by another map", sheds_by_another_map},
    {NULL, NULL},
};

const struct test_program test_program = {"plan QoS", tests, NULL, NULL};
