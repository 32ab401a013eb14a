/* SPDX-License-Identifier: BSD-3-Clause */
/* What a plan looks like: text, JSON, Graphviz. */
#include "plan_model.h"

/* --- printing --- */

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

static char *printed(const struct plan *p, void (*print)(const struct plan *p, FILE *to))
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    print(p, f);
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
    text = printed(p, plan_print_text);
    has(text, "5 tasks in 7 instances on 4 cores");
    has(text, "\ncore 1 (CPU 1)\n"
              "  cpe0 rx 0 ──▶ classify ──▶ lb_up ══[ring 512 SP]═▶ decap ×2 (cores 2-3)\n");
    has(text, "\ncores 2-3 (CPU 2-3)\n"
              "  ══[ring 512 SP]═▶ decap ──▶ route ══[ring 512 MP]═▶ tx (core 4)\n");
    has(text, "\ncore 4 (CPU 4)\n"
              "  ══[ring 512 MP]═▶ tx ─┬──▶ core0 tx 0\n"
              "                        └──▶ core1 tx 0\n");
    has(text, "  2     2    0       decap.0, route.0\n");
    has(text, "  lb_up     decap.1          ring  512   SP         drop\n");
    has(text, "  core1  net_null2  0 x 1024   1 x 512    default\n");
    free(text);
    finish(p);
}

/* Two workers, a slow path on their core, and a wire behind. */
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
    text = printed(p, plan_print_text);
    has(text, "\ncores 1-2 (CPU 0-1)\n"
              "  p0 rx 0-1 ──▶ c ─┬══[ring 512 SP]═▶ f ×2 (cores 3-4, one each)\n"
              "                   └─punt─▶ s …\n"
              "  … ─▶ s\n");
    has(text, "\ncores 3-4 (CPU 2-3)\n"
              "  ══[ring 512 SP]═▶ f ──▶ w0 tx 0-1\n");
    has(text, "2 between cores, 2 in wires\n");
    free(text);
    text = printed(p, plan_print_dot);
    has(text, "rx0 -> i2 [label=\"queue 1\", weight=4]");
    has(text, "i2 -> i3 [label=\"punt\", color=gray55");
    has(text, "i5 -> tx1 [label=\"queue 1\", weight=4]");
    has(text, "tx1 -> rx2 [style=dotted");
    CU_ASSERT_PTR_NULL(strstr(text, "tx2 -> "));
    free(text);
    finish(p);
}

/* Braces and brackets close in order, outside strings; strings hold no raw control character. */
static bool json_closes(const char *s)
{
    char open[64];
    unsigned depth = 0;

    for (bool in = false; *s != '\0'; s++) {
        if (in && (unsigned char)*s < 0x20)
            return false;
        if (in && *s == '\\')
            s++;
        else if (*s == '"')
            in = !in;
        else if (!in && (*s == '{' || *s == '[') && depth < sizeof(open))
            open[depth++] = *s == '{' ? '}' : ']';
        else if (!in && (*s == '}' || *s == ']') && (depth == 0 || open[--depth] != *s))
            return false;
    }
    return depth == 0;
}

static void json(void)
{
    struct plan *p = make_bng();
    char *text;

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    text = printed(p, plan_print_json);
    CU_ASSERT_TRUE(json_closes(text));
    CU_ASSERT_PTR_NULL(strstr(text, ",\n}"));
    CU_ASSERT_PTR_NULL(strstr(text, "{,"));
    has(text, "{\n  \"name\": \"a \\\"quoted\\\\name\\\"\\u000a\",\n");
    has(text, "\"instance\": \"decap.1\"");
    has(text, "\"producing_cores\": 2");
    has(text, "\"core0\": 0");
    has(text, "\"core1\": 1");
    CU_ASSERT_PTR_NULL(strstr(text, "\"cpe0\": ")); /* nothing leads there */
    free(text);
    finish(p);
}

static void dot(void)
{
    struct plan *p = make_bng();
    char *text;

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    text = printed(p, plan_print_dot);
    has(text, "subgraph cluster_core3");
    has(text, "rx0 -> i0 [label=\"\", weight=4]");
    has(text, "i0 -> i1 [label=\"\", weight=4]");
    has(text, "i1 -> i2 [label=\"ring 512 SP\", style=\"bold,dashed\", weight=4]");
    has(text, "i6 -> tx2 [label=\"\", weight=4]");
    has(text, "a \\\"quoted\\\\name\\\"");
    free(text);
    finish(p);
}

int main(void)
{
    CU_TestInfo tests[] = {
        TEST(text_picture), TEST(side_path), TEST(json), TEST(dot), CU_TEST_INFO_NULL,
    };

    return run_tests("plan print", tests);
}
