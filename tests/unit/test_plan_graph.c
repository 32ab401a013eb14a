/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs that a plan refuses or warns of: circles, egress ports that no path reaches, missing
 * facts. */
#include "common/program.h"
#include "plan_model.h"

/* --- circles --- */

static void call_circle(void)
{
    unsigned a, b, c;

    start();
    a = task("a", &pass);
    b = task("b", &pass);
    c = task("c", &pass);
    from(a, port("p", "net_null0"));
    to(a, b);
    to(b, c);
    to(c, b);
    place(0, 2, a, c);
    refused("t.cfg:2: error: circle b -> c -> b: on one core these tasks would call each other "
            "without end; cut the circle\n");
}

static void call_circle_of_one(void)
{
    unsigned a;

    start();
    a = task("a", &pass);
    from(a, port("p", "net_null0"));
    connect(a, 1, false, a);
    place(0, 1, a, a);
    refused("t.cfg:1: error: circle a -> a: on one core these tasks would call each other without "
            "end; cut the circle\n");
}

static void ring_circle(void)
{
    struct plan *p;
    unsigned a, b, c;

    start();
    a = task("a", &pass);
    b = task("b", &pass);
    c = task("c", &pass);
    from(a, port("p", "net_null0"));
    to(a, b);
    to(b, c);
    to(c, a);
    for (unsigned t = a; t <= c; t++)
        m->tasks[t].on_full = FULL_WAIT;
    place(0, 1, a, b);
    place(1, 1, c, c);
    m->tasks[a].on_full = FULL_DROP; /* the ring from c to a drops, so the circle keeps moving */
    p = make();
    CU_ASSERT_PTR_NOT_NULL(p);
    CU_ASSERT_EQUAL(diags.n, 0);
    plan_free(p);
    m->tasks[a].on_full = FULL_WAIT;
    refused("t.cfg:1: error: circle a -> b -> c -> a: every ring in it waits when it is full, so "
            "it can stand still for ever; give one of these tasks on_full = \"drop\"\n");
}

/* --- rings on the way of a packet: the steps of a grace period --- */

static void on_way(unsigned rings, unsigned want)
{
    struct plan *p = make();

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->n_rings, rings);
    CU_ASSERT_EQUAL(p->rings_on_way, want);
    finish(p);
}

/* a -> spread -> n workers b -> c -> port; c is on one core */
static unsigned make_workers(unsigned n)
{
    unsigned a, l, b, c;

    start();
    a = task("a", &pass);
    l = task("l", &lb);
    b = task("b", &pass);
    c = task("c", &pass);
    from(a, port("p", "net_null0"));
    to(a, l);
    to(l, b);
    to(b, c);
    to_port(c, port("q", "net_null1"));
    place(0, 1, a, l);
    place(1, n, b, b);
    place(1 + n, 1, c, c);
    return b;
}

static void no_rings_on_way(void)
{
    unsigned a, b;

    start();
    a = task("a", &pass);
    b = task("b", &pass);
    from(a, port("p", "net_null0"));
    to(a, b);
    to_port(b, 0);
    place(0, 1, a, b);
    on_way(0, 0);
}

/* Rings beside each other are not on one packet's way. */
static void rings_beside_each_other(void)
{
    make_workers(2);
    on_way(3, 2);
    make_workers(12);
    on_way(13, 2);
}

/* An answer of the slow path is routed again: rings of the circle count twice, others once. */
static void rings_in_a_circle(void)
{
    unsigned b = make_workers(12), slow = task("slow", &pass);

    connect(b, 1, false, slow);
    to(slow, 1); /* l, from which all workers are reached */
    place(14, 1, slow, slow);
    on_way(15, 2 * 3 + 1);
}

/* --- egress --- */

/* port 0 -> pop -> route -> (a -> port 1, lb -> b -> port 2 and 3) */
static void make_routing(unsigned *r, unsigned *b)
{
    unsigned a, l, in;

    in = task("in", &pop);
    *r = task("route0", &route);
    a = task("a", &pass);
    l = task("l", &lb);
    *b = task("b", &pass);
    m->tasks[in].param[0] = (struct param_value){.set = true, .u = 1};
    port("p0", "net_null0");
    port("p1", "net_null1");
    port("p2", "net_null2");
    port("p3", "net_null3");
    from(in, 0);
    to(in, *r);
    to(*r, a);
    to(*r, l);
    to_port(a, 1);
    to(l, *b);
    to_port(*b, 2);
    to_port(*b, 3);
    place(0, 1, in, l);
    place(1, 2, *b, *b);
}

static void egress_by_port(void)
{
    const struct plan_output *out;
    struct plan *p;
    unsigned r, b;

    start();
    make_routing(&r, &b);
    add_route(1);
    add_route(3);
    p = make();
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    out = &p->instances[1].output[0];
    CU_ASSERT_EQUAL(out->n_dests, 2);
    CU_ASSERT_EQUAL(out->by_port[0], 0xff);
    CU_ASSERT_EQUAL(out->by_port[1], 0);
    CU_ASSERT_EQUAL(out->by_port[2], 1);
    CU_ASSERT_EQUAL(out->by_port[3], 1);
    CU_ASSERT_EQUAL(out->by_port[4], 0xff);
    CU_ASSERT_EQUAL(out->by_port[255], 0xff);
    out = &p->instances[5].output[0]; /* the second worker of b */
    CU_ASSERT_EQUAL(p->instances[5].task, b);
    CU_ASSERT_EQUAL(out->by_port[1], 0xff);
    CU_ASSERT_EQUAL(out->by_port[2], 0);
    CU_ASSERT_EQUAL(out->by_port[3], 1);
    out = &p->instances[0].output[0]; /* one destination */
    CU_ASSERT_EQUAL(out->by_port[0], 0xff);
    CU_ASSERT_EQUAL(out->by_port[1], 0);
    CU_ASSERT_EQUAL(out->by_port[3], 0);
    finish(p);
}

static void egress_ambiguous(void)
{
    unsigned r, b;

    start();
    make_routing(&r, &b);
    to_port(r, 3);
    refused("t.cfg:11: error: task 'route0' sends each packet the way that leads to its egress "
            "port, but both 'l' and 'p3' lead to port 'p3'\n");
}

static void route_unreachable(void)
{
    unsigned r, b;

    start();
    make_routing(&r, &b);
    add_route(2);
    add_route(0);
    add_route(0); /* a second route by the same port is no second error */
    connect(r, 1, false, task("punted", &sink));
    to_port(task("other", &gen), 0);
    place(5, 1, b + 1, b + 2);
    refused("t.cfg:20: error: route leaves by port 'p0', but nothing leads there from task "
            "'route0'\n");
}

/* A port that is reached over the slow path only does not count as reached. */
static void punt_is_no_way(void)
{
    unsigned r, b, a;

    start();
    make_routing(&r, &b);
    a = task("arp0", &arp);
    to_port(a, 0);
    connect(r, 1, false, a);
    place(5, 1, a, a);
    add_route(0);
    refused("t.cfg:22: error: route leaves by port 'p0', but nothing leads there from task "
            "'route0'\n");
}

static void subscriber_unreachable(void)
{
    unsigned c, e;

    start();
    port("p0", "net_null0");
    port("p1", "net_null1");
    c = task("c", &classify);
    e = task("e", &encap);
    from(c, 0);
    to(c, e);
    to_port(e, 0);
    place(0, 1, c, e);
    add_subscriber(0, 1, 1, 1);
    add_subscriber(1, 1, 1, 2);
    add_subscriber(1, 1, 2, 3);
    refused("t.cfg:9: error: subscriber leaves by port 'p1', but nothing leads there from task "
            "'e'\n");
}

/* arp must reach the ports with an address, a subscriber or a next hop, and so not p4. */
static void arp_warns(void)
{
    unsigned a, c;

    start();
    for (unsigned i = 0; i < 5; i++)
        port((const char *const[]){"p0", "p1", "p2", "p3", "p4"}[i], "net_null0");
    c = task("c", &classify);
    a = task("a", &arp);
    from(c, 0);
    to(c, a);
    to_port(a, 0);
    place(0, 1, c, a);
    m->ports[0].n_addresses = 1;
    m->ports[1].n_addresses = 1;
    add_route(2);
    add_subscriber(3, 1, 1, 1);
    expect(make(), true,
           "t.cfg:7: warning: task 'a' cannot answer on port 'p1': nothing leads there from it\n"
           "t.cfg:7: warning: task 'a' cannot answer on port 'p2': nothing leads there from it\n"
           "t.cfg:7: warning: task 'a' cannot answer on port 'p3': nothing leads there from it\n");
}

/* --- facts --- */

static void fact_missing_from_port(void)
{
    unsigned d;

    start();
    d = task("d", &decap);
    from(d, port("p0", "net_null0"));
    to_port(d, 0);
    place(0, 1, d, d);
    refused("t.cfg:1: error: task 'd' (qinq_decap) needs packets with two VLAN tags and a checked "
            "IPv4 header, and those from port 'p0' are not such: put a classify before it\n");
}

/* A fact must hold on every path; the error names the task behind which it does not. */
static void fact_missing_on_one_path(void)
{
    unsigned c, d1, d2, g;

    start();
    c = task("c", &classify);
    d1 = task("d1", &decap);
    d2 = task("d2", &decap);
    g = task("g", &gen);
    from(c, port("p0", "net_null0"));
    to(c, d1);
    to(d1, d2);
    to_port(d2, 0);
    to(g, d1);
    place(0, 1, c, g);
    refused("t.cfg:2: error: task 'd1' (qinq_decap) needs packets with two VLAN tags and a checked "
            "IPv4 header, and those from task 'g' are not such: put a classify before it\n"
            "t.cfg:3: error: task 'd2' (qinq_decap) needs packets with two VLAN tags and a checked "
            "IPv4 header, and those from task 'd1' are not such: put a classify before it\n");
}

static void fact_not_behind_punt(void)
{
    unsigned c, d, s;

    start();
    c = task("c", &classify);
    d = task("d", &decap);
    s = task("s", &sink);
    from(c, port("p0", "net_null0"));
    to(c, s);
    connect(c, 1, false, d);
    to_port(d, 0);
    place(0, 1, c, s);
    refused("t.cfg:2: error: task 'd' (qinq_decap) needs packets with two VLAN tags and a checked "
            "IPv4 header, and those from task 'c' are not such: put a classify before it\n");
}

static void fact_given_by_choice(void)
{
    struct plan *p;
    unsigned a, r;

    start();
    port("p0", "net_null0");
    a = task("a", &pop);
    r = task("r", &route);
    from(a, 0);
    to(a, r);
    to_port(r, 0);
    place(0, 1, a, r);
    m->tasks[a].param[0] = (struct param_value){.set = true, .u = 1};
    p = make();
    CU_ASSERT_PTR_NOT_NULL(p);
    plan_free(p);
    m->tasks[a].param[0].u = 0;
    refused("t.cfg:3: error: task 'r' (route) needs packets without tags and with a checked IPv4 "
            "header, and those from task 'a' are not such: put a qinq_decap, gre_decap or "
            "mpls_pop before it\n");
}

/* Facts neither vanish nor appear in a circle through rings. */
static void facts_in_a_circle(void)
{
    struct plan *p;
    unsigned c, a, b;

    start();
    port("p0", "net_null0");
    c = task("c", &classify);
    a = task("a", &pass);
    b = task("b", &encap);
    from(c, 0);
    to(c, a);
    to(a, b);
    to_port(b, 0);
    connect(b, 0, false, a);
    place(0, 1, c, a);
    place(1, 1, b, b);
    p = make();
    /* b leads to p0 directly, and around the circle once more */
    CU_ASSERT_PTR_NULL(p);
    CU_ASSERT_EQUAL(diags.n_errors, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(diags.list[0].text, "both 'p0' and 'a' lead to port 'p0'"));
    finish(p);
}

static void choice_needs_egress(void)
{
    unsigned a;

    start();
    a = task("a", &pass);
    from(a, port("p0", "net_null0"));
    to_port(a, 0);
    to_port(a, port("p1", "net_null1"));
    place(0, 1, a, a);
    refused("t.cfg:3: error: output 'to' of task 'a' (forward) has 2 destinations, but its packets "
            "do not name their egress port, by which one is chosen: name one destination, or put a "
            "route or qinq_encap before it\n");
}

static const struct test tests[] = {
    {"call circle", call_circle},
    {"call circle of one", call_circle_of_one},
    {"ring circle", ring_circle},
    {"no rings on the way", no_rings_on_way},
    {"rings beside each other", rings_beside_each_other},
    {"rings in a circle", rings_in_a_circle},
    {"egress by port", egress_by_port},
    {"egress ambiguous", egress_ambiguous},
    {"route unreachable", route_unreachable},
    {"punt is no way", punt_is_no_way},
    {"subscriber unreachable", subscriber_unreachable},
    {"arp warns", arp_warns},
    {"fact missing from port", fact_missing_from_port},
    {"fact missing on one path", fact_missing_on_one_path},
    {"fact not behind punt", fact_not_behind_punt},
    {"fact given by choice", fact_given_by_choice},
    {"facts in a circle", facts_in_a_circle},
    {"choice needs egress", choice_needs_egress},
    {NULL, NULL},
};

const struct test_program test_program = {"plan graph", tests, NULL, NULL};
