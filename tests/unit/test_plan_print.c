/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan printed for people, as text, and for programs, as JSON. */
#include <jansson.h>

#include "common/program.h"
#include "plan_model.h"

static struct plan *make_bng(void)
{
    unsigned c, l, d, r, f;

    start();
    m->name = "a \"quoted\\name\"\n";
    c = task("classify", &classify);
    l = task("lb_up", &lb);
    d = task("decap", &decap);
    r = task("route", &route);
    f = task("tx", &pass);
    port("cpe0", "net_null0");
    port("core0", "net_null1");
    port("core1", "net_null2");
    from(c, 0);
    to(c, l);
    to(l, d);
    to(d, r);
    to(r, f);
    to_port(f, 1);
    to_port(f, 2);
    place(1, 1, c, l);
    place(2, 2, d, r);
    place(4, 1, f, f);
    add_route(1);
    add_route(2);
    return make();
}

static char *printed(const struct plan *p)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    plan_print_text(p, f);
    fclose(f);
    return text;
}

static void has(const char *text, const char *part)
{
    CU_ASSERT_PTR_NOT_NULL(strstr(text, part));
    if (strstr(text, part) == NULL)
        fprintf(stderr, "\nno: %s\nin: %s", part, text);
}

static void text_picture(void)
{
    struct plan *p = make_bng();
    char *text;

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    text = printed(p);
    has(text, "5 tasks in 7 instances on 4 cores");
    has(text, "\ncore 0 (CPU 1)\n"
              "  cpe0 rx 0 ──▶ classify ──▶ lb_up ══[ring 512 SP]═▶ decap ×2 (cores 1-2)\n");
    has(text, "\ncores 1-2 (CPU 2-3)\n"
              "  ══[ring 512 SP]═▶ decap ──▶ route ══[ring 512 MP]═▶ tx (core 3)\n");
    has(text, "\ncore 3 (CPU 4)\n"
              "  ══[ring 512 MP]═▶ tx ─┬──▶ core0 tx 0\n"
              "                        └──▶ core1 tx 0\n");
    has(text, "  1     2    0       decap.0, route.0\n");
    has(text, "  lb_up     decap.1          ring  512   SP         drop\n");
    has(text, "  core1  net_null2  0 x 1024   1 x 512    default\n");
    free(text);
    finish(p);
}

/* Two workers with a slow path on their core, which lead to a wire. */
static struct plan *make_side_path(void)
{
    unsigned c, s, f, end;

    start();
    c = task("c", &classify);
    s = task("s", &sink);
    f = task("f", &pass);
    end = task("end", &sink);
    port("p0", "net_null0");
    port("w0", "wire:x");
    port("w1", "wire:x");
    from(c, 0);
    to(c, f);
    connect(c, 1, false, s);
    to_port(f, 1);
    from(end, 2);
    place(0, 2, c, s);
    place(2, 2, f, f);
    place(4, 1, end, end);
    return make();
}

static void side_path(void)
{
    struct plan *p = make_side_path();
    char *text;

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    text = printed(p);
    has(text, "\ncores 0-1 (CPU 0-1)\n"
              "  p0 rx 0-1 ──▶ c ─┬══[ring 512 SP]═▶ f ×2 (cores 2-3, one each)\n"
              "                   └─punt─▶ s …\n"
              "  … ─▶ s\n");
    has(text, "\ncores 2-3 (CPU 2-3)\n"
              "  ══[ring 512 SP]═▶ f ──▶ w0 tx 0-1\n");
    has(text, "2 between cores, 2 in wires\n");
    free(text);
    finish(p);
}

/* A balancer that shares a core with one of its three workers; the others are behind rings. */
static void instances_named(void)
{
    unsigned l, r, e;
    struct plan *p;
    char *text;

    start();
    l = task("lb", &lb);
    r = task("pass", &pass);
    e = task("end", &pass);
    port("in", "net_null0");
    port("out", "net_null1");
    from(l, 0);
    to(l, r);
    to(r, e);
    to_port(e, 1);
    place(1, 1, l, r); /* the instance 0 of pass */
    place_instances(2, 2, r, 1);
    place_instances(4, 2, e, 0);
    place_instances(6, 1, e, 2);
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    text = printed(p);
    has(text, "\ncore 0 (CPU 1)\n"
              "  in rx 0 ──▶ lb ─┬──▶ pass.0 ══[ring 512 SP]═▶ end.0 (core 3)\n"
              "                  └══[ring 512 SP]═▶ pass.1-2 (cores 1-2)\n");
    has(text, "\ncores 1-2 (CPU 2-3)\n"
              "  ══[ring 512 SP]═▶ pass.1-2 ══[ring 512 SP]═▶ end.1-2 (cores 4-5, one each)\n");
    has(text, "\ncores 3-4 (CPU 4-5)\n"
              "  ══[ring 512 SP]═▶ end.0-1 ──▶ out tx 0-1\n");
    has(text, "\ncore 5 (CPU 6)\n"
              "  ══[ring 512 SP]═▶ end.2 ──▶ out tx 2\n");
    has(text, "  0     1    0       lb, pass.0\n");
    free(text);
    finish(p);
}

/* A program reads the same plan from indented JSON and from JSON without spaces. */
static json_t *parsed(const struct plan *p, bool indented)
{
    json_error_t error;
    char *text = plan_json(p, indented);
    json_t *json;

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_EQUAL(strchr(text, '\n') != NULL, indented);
    json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    free(text);
    return json;
}

static const json_t *item(const json_t *json, const char *array, size_t i)
{
    return json_array_get(json_object_get(json, array), i);
}

static const char *word(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value != NULL ? value : "";
}

static json_int_t figure(const json_t *object, const char *key)
{
    return json_is_integer(json_object_get(object, key))
               ? json_integer_value(json_object_get(object, key))
               : -1;
}

static void json(void)
{
    struct plan *p = make_bng();
    json_t *plan, *compact, *ways;

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    plan = parsed(p, true);
    compact = parsed(p, false);
    CU_ASSERT_TRUE(json_equal(plan, compact));
    CU_ASSERT_STRING_EQUAL(word(plan, "name"), "a \"quoted\\name\"\n");
    CU_ASSERT_STRING_EQUAL(word(item(plan, "instances", 4), "instance"), "decap.1");
    CU_ASSERT_STRING_EQUAL(word(item(plan, "instances", 4), "kind"), "worker");
    CU_ASSERT_EQUAL(figure(item(plan, "rings", 2), "producing_cores"), 2);
    ways = json_object_get(item(item(plan, "instances", 6), "outputs", 0), "by_port");
    CU_ASSERT_EQUAL(figure(ways, "core0"), 0);
    CU_ASSERT_EQUAL(figure(ways, "core1"), 1);
    CU_ASSERT_PTR_NULL(json_object_get(ways, "cpe0")); /* no destination leads to cpe0 */
    CU_ASSERT_EQUAL(figure(item(item(plan, "ports", 1), "nexthops", 0), "nexthops"), 1);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(item(plan, "ports", 0), "nexthops")), 0);
    json_decref(plan);
    json_decref(compact);
    finish(p);
}

static void json_wires(void)
{
    struct plan *p = make_side_path();
    json_t *plan;

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    plan = parsed(p, true);
    CU_ASSERT_STRING_EQUAL(word(item(plan, "ports", 1), "kind"), "wire");
    CU_ASSERT_STRING_EQUAL(word(item(plan, "ports", 1), "peer"), "w1");
    CU_ASSERT_STRING_EQUAL(word(item(plan, "ports", 2), "peer"), "w0");
    CU_ASSERT_STRING_EQUAL(word(item(plan, "ports", 0), "kind"), "vdev");
    CU_ASSERT_PTR_NULL(json_object_get(item(plan, "ports", 0), "peer"));
    json_decref(plan);
    finish(p);
}

/* A path may have any bytes, but JSON must be UTF-8. */
static void json_of_foreign_bytes(void)
{
    struct plan *p;
    json_t *plan;

    p = make_bng();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    m->name = "caf\xe9 1";
    m->path = "caf\xc3\xa9.cfg";
    plan = parsed(p, true);
    CU_ASSERT_STRING_EQUAL(word(plan, "name"), "caf? 1");
    CU_ASSERT_STRING_EQUAL(word(plan, "configuration"), "caf\xc3\xa9.cfg");
    json_decref(plan);
    finish(p);
}

static const struct test tests[] = {
    {"text picture", text_picture},
    {"side path", side_path},
    {"instances named", instances_named},
    {"json", json},
    {"json: wires", json_wires},
    {"json: foreign bytes", json_of_foreign_bytes},
    {NULL, NULL},
};

const struct test_program test_program = {"plan print", tests, NULL, NULL};
