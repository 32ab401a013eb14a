/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/subscribers/octets.h"

#include <stdlib.h>
#include <time.h>

#include "control/request.h"
#include "tasks/account.h"
#include "tasks/task_types.h"

#define WAYS 2                    /* up, down */
#define ROW  (2 + 4 * N_FAMILIES) /* numbers that account_json() says */
#define KEPT 4096 /* who were removed last; one request of vbng-cp removes half of that at most */

/* What the tasks had counted under an id when its subscriber came. */
struct account_base {
    uint64_t since; /* us since 1970, or a little later: no two subscribers have the same */
    struct account_counter way[WAYS];
};

/* The end of one who was removed. */
struct kept {
    uint32_t line; /* subscriber_vlan_key() */
    uint64_t row[ROW];
};

struct accounts {
    struct kept kept[KEPT]; /* of these n_kept, the last one in the place n_kept - 1, modulo KEPT */
    uint64_t n_kept;
    uint64_t last; /* since of the last who came */
    uint32_t n;
    const struct task **task; /* n of type account */
    struct account_base base[];
};

static uint64_t wall_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static unsigned way_of(const struct task *t)
{
    return account_direction(t) == DIRECTION_UP ? 0 : 1;
}

static void sum(const struct accounts *a, uint32_t id, struct account_counter way[WAYS])
{
    for (uint32_t i = 0; i < a->n; i++)
        account_add(a->task[i], id, &way[way_of(a->task[i])]);
}

int accounts_open(struct control *c)
{
    const struct engine *e = c->e;
    uint32_t n = 0, capacity = c->tables->subscribers->capacity;
    struct accounts *a;

    for (unsigned i = 0; i < e->plan->n_instances; i++)
        n += e->tasks[i]->type == &task_account;
    if (n == 0)
        return 0;
    a = calloc(1, sizeof(*a) + (capacity + UINT64_C(1)) * sizeof(a->base[0]));
    c->accounts = a;
    if (a == NULL)
        return -1;
    a->task = calloc(n, sizeof(*a->task));
    if (a->task == NULL)
        return -1;
    for (unsigned i = 0; i < e->plan->n_instances; i++)
        if (e->tasks[i]->type == &task_account)
            a->task[a->n++] = e->tasks[i];
    for (uint32_t id = 1; id <= c->model->n_subscribers; id++)
        accounts_begin(c, id);
    return 0;
}

void accounts_close(struct control *c)
{
    if (c->accounts != NULL)
        free(c->accounts->task);
    free(c->accounts);
}

void accounts_begin(struct control *c, uint32_t id)
{
    struct accounts *a = c->accounts;
    uint64_t now = wall_us();

    if (a == NULL || id == 0)
        return;
    a->last = now > a->last ? now : a->last + 1;
    a->base[id] = (struct account_base){.since = a->last};
    sum(a, id, a->base[id].way);
}

uint64_t accounts_since(const struct control *c, uint32_t id)
{
    return c->accounts != NULL ? c->accounts->base[id].since : 0;
}

static void read_row(const struct accounts *a, uint32_t id, uint64_t row[ROW])
{
    const struct account_base *base = &a->base[id];
    struct account_counter now[WAYS] = {0};

    sum(a, id, now);
    *row++ = id;
    *row++ = base->since;
    for (unsigned w = 0; w < WAYS; w++)
        for (unsigned f = 0; f < N_FAMILIES; f++) {
            *row++ = now[w].packets[f] - base->way[w].packets[f];
            *row++ = now[w].octets[f] - base->way[w].octets[f];
        }
}

static json_t *row_json(const uint64_t row[ROW])
{
    json_t *list = json_array();

    for (unsigned i = 0; i < ROW; i++)
        json_array_append_new(list, json_integer((json_int_t)row[i]));
    return list;
}

json_t *account_json(const struct control *c, uint32_t id)
{
    uint64_t row[ROW];

    read_row(c->accounts, id, row);
    return row_json(row);
}

json_t *account_end(struct control *c, uint32_t id, uint32_t line)
{
    struct accounts *a = c->accounts;
    struct kept *k;

    if (a == NULL)
        return json_null();
    k = &a->kept[a->n_kept++ % KEPT];
    k->line = line;
    read_row(a, id, k->row);
    return row_json(k->row);
}

json_t *account_kept(const struct control *c, uint32_t line)
{
    const struct accounts *a = c->accounts;
    uint64_t n = a != NULL ? a->n_kept : 0;

    for (uint64_t i = n; i > 0 && n - i < KEPT; i--)
        if (a->kept[(i - 1) % KEPT].line == line)
            return row_json(a->kept[(i - 1) % KEPT].row);
    return json_null();
}

/* --- the request --- */

enum { OCTETS_FIRST, OCTETS_COUNT, OCTETS_ALL, N_OCTETS_KEYS };

static const struct key octets_keys[N_OCTETS_KEYS] = {
    [OCTETS_FIRST] = {"first", KEY_COUNT, .def = "1", .min = 1, .max = UINT32_MAX,
                      .help = "id to begin with"},
    [OCTETS_COUNT] = {"count", KEY_COUNT, .def = "1000", .min = 1, .max = REQUEST_MAX_CHANGES,
                      .help = "how many at most"},
    [OCTETS_ALL] = {"all", KEY_BOOL, .def = "false", .help = "also those of the configuration"},
};

static json_t *octets(struct control *c, struct request *r, struct refusal *why)
{
    const struct cfg_model *m = control_model(c);
    uint64_t id = r->v[OCTETS_FIRST].v.u, left = r->v[OCTETS_COUNT].v.u;
    json_t *list;

    if (c->accounts == NULL) {
        refuse(why, "nobody counts: the configuration has no task of type account");
        return NULL;
    }
    list = json_array();
    for (; id <= m->n_subscribers && left > 0; id++) {
        if (!running_has(m, (uint32_t)id) ||
            (!m->subscribers[id - 1].dynamic && r->v[OCTETS_ALL].v.u == 0))
            continue;
        json_array_append_new(list, account_json(c, (uint32_t)id));
        left--;
    }
    return json_pack("{s:b, s:o, s:o}", "ok", 1, "octets", list, "next",
                     id <= m->n_subscribers ? json_integer((json_int_t)id) : json_null());
}

const struct command octets_commands[] = {
    {"subscriber-octets", KEYS(octets_keys), octets,
     .help = "what subscribers have sent and were sent, since they were added"},
    {NULL},
};
