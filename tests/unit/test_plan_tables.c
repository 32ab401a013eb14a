/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of the routes: on which sockets, which of them each core looks in, and what they take. */
#include <jansson.h>

#include "common/program.h"
#include "plan_model.h"

#define KIB 1024ull
#define MIB (1024 * KIB)

static const struct task_schema way = {
    .type = "route", .outputs = {{.name = "to"}}, .egress = EGRESS_NEXTHOPS};

/* A core that looks no route up, on socket 0; then one on each of n sockets that does. */
static struct plan *with_routes(enum routes_per per, const unsigned *socket, unsigned n)
{
    static const char *const names[] = {"a", "b", "c"};
    struct plan *p;
    unsigned t;
    char *text;

    start();
    m->routes_per = per;
    t = task("other", &pass);
    from(t, port("p0", "net_null0"));
    to_port(t, 0);
    place(cpu_on(0, 0), 1, t, t);
    for (unsigned i = 0; i < n; i++) {
        t = task(names[i], &way);
        from(t, port(names[i], i == 0 ? "net_null1" : i == 1 ? "net_null2" : "net_null3"));
        to_port(t, 0);
        place(cpu_on(socket[i], 1 + i), 1, t, t);
    }
    p = make();
    text = all_diags();
    EXPECT(p != NULL, "%s", text);
    free(text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    return p;
}

static void one_copy(void)
{
    static const unsigned sockets[] = {1, 0};
    struct plan *p = with_routes(ROUTES_PER_GATEWAY, sockets, 2);

    CU_ASSERT(p->n_routes_on == 1 && p->routes_on[0] == 0);
    CU_ASSERT_EQUAL(p->cores[0].routes, PLAN_NONE);
    CU_ASSERT(p->cores[1].routes == 0 && p->cores[2].routes == 0);
    finish(p);
}

/* The order is that of the cores; socket 0 has none before a core there looks routes up. */
static void copy_of_each_socket(void)
{
    static const unsigned sockets[] = {1, 0, 1};
    struct plan *p = with_routes(ROUTES_PER_SOCKET, sockets, 3);

    CU_ASSERT(p->n_routes_on == 2 && p->routes_on[0] == 1 && p->routes_on[1] == 0);
    CU_ASSERT_EQUAL(p->cores[0].routes, PLAN_NONE);
    CU_ASSERT(p->cores[1].routes == 0 && p->cores[2].routes == 1 && p->cores[3].routes == 0);
    finish(p);
}

static void copy_of_the_far_socket(void)
{
    static const unsigned sockets[] = {1};
    struct plan *p = with_routes(ROUTES_PER_SOCKET, sockets, 1);

    CU_ASSERT(p->n_routes_on == 1 && p->routes_on[0] == 1 && p->cores[1].routes == 0);
    finish(p);
}

static void nobody_looks(void)
{
    struct plan *p = with_routes(ROUTES_PER_SOCKET, NULL, 0);

    CU_ASSERT(p->n_routes_on == 1 && p->routes_on[0] == 0 && p->cores[0].routes == PLAN_NONE);
    finish(p);
}

/* Each copy beside the first has what is looked up, and nothing of what control alone has. */
static void memory(void)
{
    static const unsigned sockets[] = {0, 1};
    struct plan *p = with_routes(ROUTES_PER_GATEWAY, sockets, 2);
    uint64_t one = p->memory.routes, spare = p->memory.spare, total = p->memory.total,
             four = 64 * MIB + (2 * (513 + 64) + 1024) * 64;

    finish(p);
    p = with_routes(ROUTES_PER_SOCKET, sockets, 2);
    CU_ASSERT_EQUAL(p->memory.routes_copy, four);
    CU_ASSERT_EQUAL(p->memory.routes - one, four);
    CU_ASSERT_EQUAL(p->memory.sparse, 2 * 64 * MIB);
    CU_ASSERT_EQUAL(p->memory.spare - spare, 64 * 2 * 64);
    CU_ASSERT_EQUAL(p->memory.total - total, four);
    plan_free(p);
    m->max_routes6 = 600;
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->memory.routes_copy,
                    four + 16 + 256 * 8 + 4 * MIB + 256 * KIB + (2 * 600 + 1024) * 128);
    finish(p);
}

static void has(const char *text, const char *part)
{
    EXPECT(strstr(text, part) != NULL, "no '%s' in:\n%s", part, text);
}

static void said(void)
{
    static const unsigned sockets[] = {1, 0};
    struct plan *p = with_routes(ROUTES_PER_SOCKET, sockets, 2);
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    json_t *json, *memory, *list;

    plan_print_text(p, f);
    fclose(f);
    has(text, "socket  tasks  routes\n");
    has(text, "0       other\n");
    has(text, "1       a      of socket 1\n");
    has(text, "0       b      of socket 0\n");
    has(text, "; a copy on each of the sockets 1, 0\n");
    free(text);
    text = plan_json(p, false);
    json = json_loads(text, 0, NULL);
    memory = json_object_get(json, "memory");
    list = json_object_get(memory, "routes_on");
    CU_ASSERT_EQUAL(json_array_size(list), 2);
    CU_ASSERT_EQUAL(json_integer_value(json_array_get(list, 0)), 1);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(memory, "routes_copy_bytes")),
                    (json_int_t)p->memory.routes_copy);
    list = json_object_get(json, "cores");
    CU_ASSERT_PTR_NULL(json_object_get(json_array_get(list, 0), "routes_of"));
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(list, 1), "routes_of")), 1);
    json_decref(json);
    free(text);
    finish(p);
    p = with_routes(ROUTES_PER_GATEWAY, sockets, 2);
    f = open_memstream(&text, &len);
    plan_print_text(p, f);
    fclose(f);
    has(text, "socket  tasks\n");
    EXPECT(strstr(text, "copy on") == NULL, "%s", text);
    free(text);
    finish(p);
}

static const struct test tests[] = {
    {"one copy", one_copy},
    {"a copy of each socket", copy_of_each_socket},
    {"the far socket", copy_of_the_far_socket},
    {"nobody looks routes up", nobody_looks},
    {"memory", memory},
    {"what is said", said},
    {NULL, NULL},
};

const struct test_program test_program = {"plan tables", tests, NULL, NULL};
