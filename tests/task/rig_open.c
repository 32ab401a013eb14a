/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a task as the engine does: parameters, plan, outputs, init. */
#include "rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

static void capture(struct out *o, struct rte_mbuf **m, uint16_t n)
{
    struct capture *c = (struct capture *)o->task;

    o->sent += n;
    CU_ASSERT_FATAL(c->n + n <= RIG_MBUFS);
    memcpy(&c->m[c->n], m, n * sizeof(m[0]));
    c->n += n;
}

static int parse(const struct task_param *p, const char *text, struct param_value *v)
{

    v->set = true;
    v->s = text;
    switch (p->type) {
    case PARAM_COUNT:
        return parse_count(text, &v->u);
    case PARAM_SIZE:
        return parse_size(text, &v->u);
    case PARAM_RATE:
        return parse_rate(text, &v->u);
    case PARAM_DURATION:
        return parse_duration(text, &v->u);
    case PARAM_BOOL:
        v->u = strcmp(text, "true") == 0;
        return v->u || strcmp(text, "false") == 0 ? 0 : -EINVAL;
    case PARAM_ENUM:
        for (v->u = 0; p->choices[v->u] != NULL; v->u++)
            if (strcmp(p->choices[v->u], text) == 0)
                return 0;
        return -EINVAL;
    case PARAM_IPV4: {
        uint32_t addr = 0;
        int rc = parse_ipv4(text, &addr);

        v->u = addr;
        return rc;
    }
    case PARAM_SCHEDULER: /* by number: there are no names here */
        return parse_count(text, &v->u);
    case PARAM_RANGE:
        return parse_range(text, &v->u, &v->u2);
    case PARAM_LOAD:
        return parse_load(text, &v->load);
    case PARAM_SHARE:
        return parse_share(text, &v->u);
    case PARAM_SIZES:
        return frame_sizes_parse(text, &(struct frame_sizes){0});
    case PARAM_TEMPLATE: /* load_templates() */
    case PARAM_NAME:
    case PARAM_LIST:
    case PARAM_STRING:
        return 0;
    }
    return -EINVAL;
}

static void set_params(struct rig *r, const char *params)
{
    const struct task_param *p = r->cfg.schema->params;
    char *copy = strdup(params), *save = NULL;

    for (unsigned i = 0; i < r->cfg.schema->n_params; i++)
        if (p[i].def != NULL)
            CU_ASSERT_FATAL(parse(&p[i], p[i].def, &r->cfg.param[i]) == 0);
    for (char *word = strtok_r(copy, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        unsigned i = 0;

        CU_ASSERT_FATAL(value != NULL);
        *value++ = '\0';
        while (i < r->cfg.schema->n_params && strcmp(p[i].name, word) != 0)
            i++;
        CU_ASSERT_FATAL(i < r->cfg.schema->n_params);
        CU_ASSERT_FATAL(parse(&p[i], value, &r->cfg.param[i]) == 0);
    }
    r->params = copy; /* the values point into it */
}

/* After all values: the sizes are among them. Returns false after an error. */
static bool load_template(struct rig *r, struct param_value *v)
{
    const struct task_param *p = r->cfg.schema->params;
    struct frame_sizes sizes = {0};
    struct diags d = {0};

    for (unsigned i = 0; i < r->cfg.schema->n_params; i++)
        if (p[i].type == PARAM_SIZES)
            frame_sizes_parse(r->cfg.param[i].s, &sizes);
    v->u = harness_model.n_templates;
    harness_model.templates =
        realloc(harness_model.templates, (v->u + 1) * sizeof(harness_model.templates[0]));
    harness_model.templates[v->u] = template_load(v->s, &sizes, &d);
    harness_model.n_templates += harness_model.templates[v->u] != NULL;
    diag_print(&d, stderr);
    diag_free(&d);
    return harness_model.n_templates > v->u;
}

/* What follows from the parameters together. Returns false after an error. */
static bool complete_params(struct rig *r)
{
    const struct task_schema *s = r->cfg.schema;
    struct diags d = {0};
    bool ok;

    for (unsigned i = 0; i < s->n_params; i++) {
        if (s->params[i].type == PARAM_TEMPLATE && r->cfg.param[i].set &&
            !load_template(r, &r->cfg.param[i]))
            return false;
        if (s->params[i].required && !r->cfg.param[i].set)
            return false;
    }
    if (s->items != NULL) { /* the task's own parameters are its only item */
        r->item = (struct cfg_item){.loc = r->cfg.loc, .name = r->cfg.name, .number = 1};
        for (unsigned i = 0; i < s->n_params; i++)
            if (s->params[i].scope == SCOPE_INHERIT)
                r->item.param[i] = r->cfg.param[i];
        r->cfg.items = &r->item;
        r->cfg.n_items = 1;
    }
    if (s->check != NULL)
        s->check(&harness_model, &r->cfg, &d);
    diag_print(&d, stderr);
    ok = d.n_errors == 0;
    diag_free(&d);
    return ok;
}

/* How many ways an output has: 0 where it is not in the list. */
static unsigned ways_of(const char *outputs, const char *name)
{
    size_t len = strlen(name);

    if (outputs == NULL)
        return 1;
    for (const char *p = outputs; *p != '\0';) {
        size_t word = strcspn(p, " "), end = strcspn(p, " :");

        if (end == len && strncmp(p, name, len) == 0)
            return p[end] == ':' ? (unsigned)atoi(p + end + 1) : 1;
        p += word;
        p += strspn(p, " ");
    }
    return 0;
}

static void connect_outputs(struct rig *r, const char *outputs)
{
    const struct task_output *outs = r->task->type->schema.outputs;
    struct task *t = r->task;

    t->outs = rte_zmalloc("outs", sizeof(t->outs[0]) * TASK_MAX_OUTPUTS * RIG_MAX_WAYS, 64);
    for (unsigned i = 0; i < TASK_MAX_OUTPUTS && outs[i].name != NULL; i++) {
        struct plan_output *o = &r->instance.output[i];

        o->n_dests = (uint16_t)ways_of(outputs, outs[i].name);
        o->dest = r->dest[i];
        r->cfg.output[i].n_dests = o->n_dests;
        t->n_dests[i] = o->n_dests;
        t->by_port[i] = o->by_port;
        t->output[i] = o->n_dests > 0 ? &t->outs[t->n_outs] : NULL;
        memset(o->by_port, 0xff, sizeof(o->by_port));
        for (unsigned w = 0; w < o->n_dests; w++) {
            o->dest[w].kind = DEST_PORT;
            o->dest[w].index = (uint16_t)w;
            r->cfg.output[i].dest[w].is_port = true;
            r->cfg.output[i].dest[w].index = (uint16_t)w;
            t->outs[t->n_outs].send = capture;
            t->outs[t->n_outs++].task = (struct task *)&r->way[i][w];
        }
        for (unsigned port = 0; port < N_TEST_PORTS && o->n_dests > 0; port++)
            o->by_port[port] = (uint8_t)(port % o->n_dests);
    }
}

bool rig_leads_to_shards;
bool rig_keeps_frames;
uint32_t rig_link_ups[CFG_MAX_PORTS];

static void make_plan(struct rig *r)
{
    r->plan.cfg = &harness_model;
    r->plan.n_cores = 1;
    r->plan.cores = &r->core;
    r->plan.n_instances = 1;
    r->plan.instances = &r->instance;
    r->plan.by_shard[0] = rig_leads_to_shards;
    r->plan.subscriber_ports = 1u << CPE0 | 1u << CPE1;
    r->instance.in_ring = CFG_NONE;
    r->instance.keeps_frames = rig_keeps_frames;
    harness_model.tasks = &r->cfg;
    harness_model.n_tasks = 1;
}

void rig_free(struct rig *r)
{
    rte_free(r->task->state);
    rte_free(r->task->outs);
    rte_free(r->task);
    free(r->params);
    free(r);
}

static struct rig *new_rig(const struct task_type *type)
{
    struct rig *r = calloc(1, sizeof(*r));
    struct task *t = rte_zmalloc("task", sizeof(*t), RTE_CACHE_LINE_SIZE);

    r->task = t;
    t->type = type;
    t->handle = type->handle;
    t->cfg = &r->cfg;
    t->in_port = PORT_IN_MBUF;
    if (type->state_size > 0)
        t->state = rte_zmalloc("state", type->state_size, RTE_CACHE_LINE_SIZE);
    return r;
}

/* Connect and start the task of a rig with parameters. Frees the rig after an error. */
static struct rig *start(struct rig *r, const char *outputs, int *rc)
{
    const struct task_type *type = r->task->type;
    struct task_env env = {.plan = &r->plan,
                           .cfg = &r->cfg,
                           .tables = harness_tables(),
                           .pool = harness_pool,
                           .socket = SOCKET_ID_ANY,
                           .tsc_hz = rte_get_tsc_hz(),
                           .link_ups = rig_link_ups};

    connect_outputs(r, outputs);
    *rc = type->init != NULL ? type->init(r->task, &env) : 0;
    if (*rc == 0)
        return r;
    rig_free(r);
    return NULL;
}

struct rig *rig_try(const struct task_type *type, const char *params, const char *outputs, int *rc)
{
    struct rig *r = new_rig(type);

    r->cfg.name = "test";
    r->cfg.loc = (struct loc){"test.cfg", 1};
    r->cfg.schema = &type->schema;
    r->cfg.burst = 32;
    set_params(r, params);
    make_plan(r);
    if (complete_params(r))
        return start(r, outputs, rc);
    *rc = -EINVAL;
    rig_free(r);
    return NULL;
}

struct rig *rig_try_task(const struct task_type *type, struct cfg_model *m, unsigned task,
                         const char *outputs, int *rc)
{
    struct rig *r = new_rig(type);

    r->cfg = m->tasks[task];
    make_plan(r);
    r->plan.cfg = m;
    return start(r, outputs, rc);
}

struct rig *rig_open(const struct task_type *type, const char *params, const char *outputs)
{
    int rc;
    struct rig *r = rig_try(type, params, outputs, &rc);

    CU_ASSERT_EQUAL_FATAL(rc, 0);
    return r;
}
