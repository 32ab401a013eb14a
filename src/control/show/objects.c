/* SPDX-License-Identifier: BSD-3-Clause */
/* What the gateway is made of: its version, ports and tasks, and the MACs of its neighbours. */
#include <stdlib.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_version.h>

#include "base/json.h"
#include "control/request.h"
#include "control/view.h"
#include "engine/eal.h"
#include "engine/ledger.h"
#include "tasks/arp/arp.h"
#include "telemetry/report.h"

static json_t *ok_with(const char *key, json_t *value)
{
    return json_with_key(json_pack("{s:b}", "ok", 1), key, value);
}

json_t *show_copies_json(const struct control *c)
{
    const struct route_table *t = c->tables->routes;
    json_t *list = json_array();

    for (unsigned i = 0; i < route_copies(t); i++) {
        int socket = route_copy_socket(t, i);

        list = json_with_item(
            list, json_pack("{s:o}", "socket",
                            socket != SOCKET_ID_ANY ? json_integer(socket) : json_null()));
    }
    return list;
}

static json_t *show_version(struct control *c, struct request *r, struct refusal *why)
{
    (void)r;
    (void)why;
    return ok_with(
        "version",
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:o}", "vbng", VBNG_VERSION, "dpdk",
                  rte_version(), "name", control_model(c)->name, "file", c->configured->path,
                  "memory", eal_memory_name(), "pid", (int)getpid(), "seconds",
                  json_rounded((double)(rte_rdtsc() - c->opened) / (double)rte_get_tsc_hz(), 1)));
}

/* --- ports and tasks: the figures of the report of a run, and the configuration of each --- */

static json_t *addresses_json(const struct cfg_port *p)
{
    json_t *list = json_array();
    char text[IPV6_TEXT];

    for (unsigned i = 0; i < p->n_addresses; i++)
        list = json_with_item(list, json_string(format_ipv4(p->addresses[i], text, sizeof(text))));
    for (unsigned i = 0; i < p->n_addresses6; i++)
        list = json_with_item(list, json_string(format_ipv6(p->addresses6[i], text)));
    return list;
}

/* Each receive queue, with what its core has taken from it. */
static json_t *queues_json(const struct engine *e, unsigned port)
{
    const struct cfg_receive *r = &e->plan->cfg->ports[port].receive;
    json_t *list = json_array();

    for (unsigned q = 0; q < e->plan->rx_queues[port]; q++) {
        const struct input *in = engine_input(e, port, q);
        json_t *queue =
            json_pack("{s:i, s:i, s:o}", "queue", (int)q, "core",
                      (int)e->plan->instances[plan_queue_reader(e->plan, port, q)].core,
                      "rx_packets", json_count(__atomic_load_n(&in->polled, __ATOMIC_RELAXED)));

        if (receive_by_rules(r))
            queue = json_with_key(queue, "name", json_string(r->queues[q].name));
        list = json_with_item(list, queue);
    }
    return list;
}

/* Each transmit queue, and whether the device puts its mbufs back without a look at each. */
static json_t *transmit_json(const struct engine *e, unsigned port)
{
    const char *no = e->ports[port].no_fast_free;
    json_t *list = json_array();
    char why[256];

    for (unsigned q = 0; q < e->plan->tx_queues[port]; q++) {
        bool fast = plan_fast_free(e->plan, port, q, why, sizeof(why));

        list = json_with_item(list, json_pack("{s:i, s:i, s:b, s:s}", "queue", (int)q, "core",
                                              (int)e->plan->tx[port][q].core, "fast_free",
                                              (int)(fast && no == NULL), "why",
                                              fast && no != NULL ? no : why));
    }
    return list;
}

static json_t *with_port(json_t *o, const struct engine *e, unsigned i)
{
    const struct cfg_port *cfg = &e->plan->cfg->ports[i];
    char mac[24];

    o = json_with_key(o, "device", json_string(cfg->device));
    o = json_with_key(o, "up", json_boolean(port_link_up(&e->ports[i])));
    o = json_with_key(o, "mac",
                      json_string(format_mac(e->ports[i].mac.addr_bytes, mac, sizeof(mac))));
    o = json_with_key(o, "mtu", json_integer(cfg->mtu));
    o = json_with_key(o, "addresses", addresses_json(cfg));
    o = json_with_key(o, "rx_queues", json_integer(e->plan->rx_queues[i]));
    o = json_with_key(o, "queues", queues_json(e, i));
    o = json_with_key(o, "transmit", transmit_json(e, i));
    return json_with_key(o, "tx_queues", json_integer(e->plan->tx_queues[i]));
}

static json_t *show_ports(struct control *c, struct request *r, struct refusal *why)
{
    struct ledger l = ledger_read(c->e, NULL);
    json_t *ports = report_ports_json(c->e, &l), *port;
    size_t i;

    (void)r;
    (void)why;
    json_array_foreach(ports, i, port)
    {
        with_port(port, c->e, (unsigned)i);
    }
    return ok_with("ports", ports);
}

/* The CPUs on which a task runs, in the order of its instances. */
static json_t *cpus_json(const struct plan *p, unsigned task)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < p->n_instances; i++)
        if (p->instances[i].task == task)
            list = json_with_item(list, json_integer(p->cores[p->instances[i].core].run_on));
    return list;
}

static json_t *show_directions(struct control *c, struct request *r, struct refusal *why)
{
    (void)r;
    (void)why;
    return ok_with("directions", report_directions_json(c->e));
}

static json_t *show_tasks(struct control *c, struct request *r, struct refusal *why)
{
    json_t *tasks = report_tasks_json(c->e, false), *task;
    size_t i;

    (void)r;
    (void)why;
    json_array_foreach(tasks, i, task)
    {
        json_with_key(task, "cpus", cpus_json(c->e->plan, (unsigned)i));
    }
    return ok_with("tasks", tasks);
}

/* --- MACs: first of neighbours towards the core, then of subscribers --- */

/* address 0: there is none; ipv6: the text of one, or NULL. */
static json_t *mac_entry(const char *kind, const char *port, uint32_t address, const char *ipv6,
                         const char *state, const struct arp_learned *l)
{
    bool known = strcmp(state, "unknown") != 0, learned = strcmp(state, "learned") == 0;
    char ip[32], mac[24];

    return json_pack("{s:s, s:s, s:s?, s:s?, s:s?, s:s, s:o}", "kind", kind, "port", port, "ipv4",
                     address != 0 ? format_ipv4(address, ip, sizeof(ip)) : NULL, "ipv6", ipv6,
                     "mac", known ? format_mac(l->mac, mac, sizeof(mac)) : NULL, "state", state,
                     "age", learned ? json_integer(l->age) : json_null());
}

/* Add a neighbour, where there is one in that place. */
static json_t *with_neighbour(json_t *entries, const struct control *c, const struct task *arp,
                              uint32_t i)
{
    struct arp_learned l;
    char text[IPV6_TEXT];
    uint8_t port;
    bool known = arp_of_neighbour(arp, i, &port, &l), is_ipv6 = !is_none6(l.address6);

    if (l.address == 0 && !is_ipv6)
        return entries;
    return json_with_item(entries,
                          mac_entry("nexthop", control_model(c)->ports[port].name, l.address,
                                    is_ipv6 ? format_ipv6(l.address6, text) : NULL,
                                    known ? "learned" : "unknown", &l));
}

static json_t *subscriber_entry(const struct control *c, uint32_t id, enum mac_kind kind,
                                const struct arp_learned *l)
{
    static const char *const states[] = {
        [MAC_UNKNOWN] = "unknown", [MAC_CONFIGURED] = "configured", [MAC_LEARNED] = "learned"};
    const struct cfg_subscriber *s = &control_model(c)->subscribers[id - 1];
    char wan[IPV6_TEXT];
    json_t *o;

    if (kind == MAC_LEARNED && l->address == 0)
        format_ipv6(l->address6, wan);
    else if (kind != MAC_LEARNED && s->ipv4_len == 0)
        format_wan(&s->ipv6, wan);
    else
        wan[0] = '\0';
    o = mac_entry("subscriber", control_model(c)->ports[s->port].name,
                  kind == MAC_LEARNED ? l->address : s->ipv4, wan[0] != '\0' ? wan : NULL,
                  states[kind], l);
    o = json_with_key(o, "id", json_integer(id));
    o = json_with_key(o, "svlan", json_integer(s->svlan));
    o = json_with_key(o, "cvlan", json_integer(s->cvlan));
    return json_with_key(o, "name", s->name != NULL ? json_string(s->name) : json_null());
}

/* Add a subscriber: an entry for each host that is known, or one. */
static json_t *with_subscriber(json_t *entries, const struct control *c, const struct task *arp,
                               uint32_t id)
{
    struct arp_learned first = {0}, l;
    enum mac_kind kind = subscriber_mac(c, id, &first);

    entries = json_with_item(entries, subscriber_entry(c, id, kind, &first));
    for (unsigned i = 0; kind == MAC_LEARNED && i < arp_n_of_subscriber(arp, id); i++)
        if (arp_of_subscriber(arp, id, i, &l) && l.address != first.address)
            entries = json_with_item(entries, subscriber_entry(c, id, kind, &l));
    return entries;
}

static const struct key arp_keys[] = {
    {"first", KEY_COUNT, .def = "1", .min = 1, .max = UINT32_MAX, .help = "where to begin"},
    {"count", KEY_COUNT, .def = "1000", .min = 1, .max = REQUEST_MAX_SUBSCRIBERS,
     .help = "how many at most"},
};

static json_t *show_arp(struct control *c, struct request *r, struct refusal *why)
{
    uint32_t subscribers = control_model(c)->n_subscribers;
    const struct task *arp = arp_settled(c);
    uint32_t neighbours = arp != NULL ? arp_n_neighbours(arp) : 0;
    uint64_t total = (uint64_t)neighbours + subscribers, end = r->v[0].v.u - 1 + r->v[1].v.u;
    json_t *entries = json_array();

    (void)why;
    for (uint64_t i = r->v[0].v.u - 1; i < total && i < end; i++) {
        if (i < neighbours)
            entries = with_neighbour(entries, c, arp, (uint32_t)i);
        else if (running_has(control_model(c), (uint32_t)(i - neighbours + 1)))
            entries = with_subscriber(entries, c, arp, (uint32_t)(i - neighbours + 1));
    }
    return json_with_key(ok_with("total", json_count(total)), "entries", entries);
}

const struct command object_commands[] = {
    {"show-version", NULL, 0, show_version, .help = "which vbng runs, for how long"},
    {"show-ports", NULL, 0, show_ports, .help = "ports, with their counters"},
    {"show-directions", NULL, 0, show_directions,
     .help = "what subscribers sent and are sent, by family"},
    {"show-tasks", NULL, 0, show_tasks, .help = "tasks, with their counters and drops"},
    {"show-arp", KEYS(arp_keys), show_arp, .help = "MACs of next hops and subscribers"},
    {NULL},
};
