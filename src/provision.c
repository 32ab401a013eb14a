/* SPDX-License-Identifier: BSD-3-Clause */
#include "provision.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_malloc.h>
#include <rte_rcu_qsbr.h>

#include "base/log.h"
#include "engine/eal.h"
#include "engine/engine.h"
#include "tables/memory.h"

static_assert(DSCP_CLASSES == QOS_CLASSES && DSCP_BE == QOS_BE && DSCP_QUEUES == QOS_QUEUES,
              "tables and configuration mean the same classes");
static_assert(TABLE_COPIES >= PLAN_MAX_CORES, "each core may have a copy of the routes");
static_assert(TABLES_MAX_PORTS == CFG_MAX_PORTS, "tables know every port of a configuration");

#define MIB (UINT64_C(1) << 20)

static int add_subscriber(const struct cfg_model *m, const struct cfg_subscriber *s,
                          const uint8_t (*port_mac)[6], struct subscriber_table *t)
{
    struct subscriber_spec spec = subscriber_spec_of(m, s, port_mac[s->port]);
    int64_t id = subscriber_add(t, &spec);

    if (id > 0)
        return 0;
    log_error("%s:%u: subscriber %s.%u.%u: %s", m->files[s->file], s->line, m->ports[s->port].name,
              s->svlan, s->cvlan,
              id == -EEXIST ? "its VLAN pair, GRE key, address or prefix is another's"
                            : strerror((int)-id));
    return (int)id;
}

static int add_nexthop(const struct cfg_model *m, const struct cfg_nexthop *nh,
                       const uint8_t (*port_mac)[6], struct route_table *t)
{
    const struct cfg_port *port = &m->ports[nh->port];
    struct nexthop_spec spec = nexthop_spec_of(m, nh, port_mac[nh->port]);
    int id;

    if (nh->has_gre && (is_mapped6(nh->gre) ? port->n_addresses : port->n_addresses6) == 0) {
        log_error("%s:%u: a tunnel leaves by port %s, which has no address to be its source",
                  nh->loc.file, nh->loc.line, port->name);
        return -EINVAL;
    }
    id = route_add_nexthop(t, &spec);
    if (id < 0)
        log_error("%s:%u: next hop: %s", nh->loc.file, nh->loc.line, strerror(-id));
    return id < 0 ? id : 0;
}

static int add_set(const struct cfg_nexthop_set *set, struct route_table *t)
{
    uint32_t id[CFG_MAX_WAYS];
    int number;

    for (uint32_t i = 0; i < set->n; i++)
        id[i] = set->nexthop[i] + 1;
    number = route_add_set(t, id, set->n);
    if (number < 0)
        log_error("set of next hops: %s", strerror(-number));
    return number < 0 ? number : 0;
}

/* Sets get their numbers in their order, as next hops do from 1 on. */
static uint32_t number_of(uint32_t nexthop)
{
    return (nexthop & CFG_SET) != 0 ? nexthop : nexthop + 1;
}

static int add_routes(const struct cfg_model *m, const uint8_t (*port_mac)[6],
                      struct route_table *t)
{
    int rc = 0;

    for (uint32_t i = 0; i < m->n_nexthops && rc == 0; i++)
        rc = add_nexthop(m, &m->nexthops[i], port_mac, t);
    for (uint32_t i = 0; i < m->n_sets && rc == 0; i++)
        rc = add_set(&m->sets[i], t);
    for (uint32_t i = 0; i < m->n_routes && rc == 0; i++) {
        const struct cfg_route *r = &m->routes[i];

        rc = route_add(t, r->prefix, r->len, number_of(r->nexthop));
        if (rc != 0)
            log_error("%s:%u: route: %s", r->loc.file, r->loc.line, strerror(-rc));
    }
    for (uint32_t i = 0; i < m->n_routes6 && rc == 0; i++) {
        const struct cfg_route6 *r = &m->routes6[i];

        rc = route_add6(t, r->prefix, r->len, number_of(r->way.nexthop));
        if (rc != 0)
            log_error("%s:%u: route: %s", r->way.loc.file, r->way.loc.line, strerror(-rc));
    }
    /* last: they win over a route for the same address */
    for (unsigned i = 0; i < m->n_ports && rc == 0; i++) {
        for (unsigned k = 0; k < m->ports[i].n_addresses && rc == 0; k++)
            rc = route_add_local(t, m->ports[i].addresses[k]);
        if (rc != 0)
            log_error("%s:%u: addresses of port %s: %s", m->ports[i].loc.file, m->ports[i].loc.line,
                      m->ports[i].name, strerror(-rc));
    }
    return rc;
}

static int add_locals6(const struct cfg_model *m, struct tables *t)
{
    int rc = 0;

    for (unsigned i = 0; i < m->n_ports && rc == 0; i++)
        for (unsigned k = 0; k < m->ports[i].n_addresses6 && rc == 0; k++) {
            rc = route_add_local6(t->routes, m->ports[i].addresses6[k]);
            if (t->subscribers->v6 != NULL)
                subscriber6_suspect(t->subscribers->v6, m->ports[i].addresses6[k].upper);
        }
    if (rc != 0)
        log_error("addresses of ports: %s", strerror(-rc));
    return rc;
}

static int fill_dscp(const struct cfg_qos *q, struct tables *t, int socket)
{
    if (q->n_schedulers == 0)
        return 0;
    t->dscp = table_zalloc(q->n_schedulers * QOS_DIRECTIONS * sizeof(*t->dscp), socket);
    if (t->dscp == NULL)
        return -ENOMEM;
    for (unsigned i = 0; i < q->n_schedulers; i++)
        for (unsigned d = 0; d < QOS_DIRECTIONS; d++) {
            struct dscp_table *table = &t->dscp[i * QOS_DIRECTIONS + d];

            memcpy(table->queue, q->dscp_maps[q->schedulers[i].dscp_map[d]].queue,
                   sizeof(table->queue));
            table->non_ip = q->schedulers[i].non_ip_queue;
        }
    return 0;
}

static int fill(const struct cfg_model *m, const uint8_t (*port_mac)[6], struct tables *t)
{
    int rc = 0;

    for (unsigned i = 0; i < m->n_ports; i++)
        memcpy(t->port_mac[i], port_mac[i], sizeof(port_mac[i]));
    for (uint32_t i = 0; i < m->n_subscribers && rc == 0; i++)
        rc = add_subscriber(m, &m->subscribers[i], port_mac, t->subscribers);
    if (rc == 0)
        rc = add_routes(m, port_mac, t->routes);
    return rc != 0 ? rc : add_locals6(m, t);
}

/* Memory that says which cores may still be reading. */
static int make_readers(struct tables *t, int socket)
{
    size_t bytes = rte_rcu_qsbr_get_memsize(RTE_MAX_LCORE);

    t->readers = table_zalloc(bytes, socket);
    if (t->readers == NULL || rte_rcu_qsbr_init(t->readers, RTE_MAX_LCORE) != 0)
        return -ENOMEM;
    route_table_share(t->routes, t->readers);
    return 0;
}

/* Make the table of routes, with its copies. Returns NULL without memory. */
static struct route_table *make_routes(const struct plan *p)
{
    const struct cfg_model *m = p->cfg;
    int socket = eal_socket(p->routes_on[0]), rc = 0;
    struct route_table *t =
        route_table_create(room_nexthops(m), room_sets(m), room_routes(m), socket);

    if (t != NULL && room_routes6(m) > 0)
        rc = route_open6(t, room_routes6(m) + own_addresses6(m), socket);
    for (unsigned i = 1; t != NULL && rc == 0 && i < p->n_routes_on; i++)
        rc = route_add_copy(t, eal_socket(p->routes_on[i]));
    if (rc == 0)
        return t;
    route_table_free(t);
    return NULL;
}

/* Warn of copies of the routes that lie elsewhere than planned: their socket had no room. Ordinary
 * pages are of no socket. */
static void check_sockets(const struct plan *p, const struct route_table *t)
{
    for (unsigned i = 0; p->cfg->routes_per == ROUTES_PER_SOCKET && i < p->n_routes_on; i++) {
        int socket = eal_socket(p->routes_on[i]);

        if (rte_eal_has_hugepages() && socket != SOCKET_ID_ANY && route_copy_socket(t, i) != socket)
            log_warning("%s: socket %u has no room for its copy of the routes, %llu MiB, which "
                        "lies on another one: its cores reach it by the link between the sockets; "
                        "reserve huge pages in /sys/devices/system/node/node%u/hugepages",
                        p->cfg->path, p->routes_on[i],
                        (unsigned long long)(p->memory.routes_copy + MIB - 1) / MIB,
                        p->routes_on[i]);
    }
}

struct tables *provision(const struct plan *p, const uint8_t (*port_mac)[6])
{
    const struct cfg_model *m = p->cfg;
    int socket = eal_socket(p->cores[0].socket);
    struct tables *t = table_zalloc(sizeof(*t), socket);

    if (t != NULL) {
        t->subscribers = subscriber_table_create(subscriber_records(m), room_prefixes(m), socket);
        t->routes = make_routes(p);
    }
    if (t == NULL || t->subscribers == NULL || t->routes == NULL || make_readers(t, socket) != 0 ||
        (has_shards(&m->qos) && subscriber_table_keep_shards(t->subscribers) != 0) ||
        fill_dscp(&m->qos, t, socket) != 0) {
        log_error("no memory for the tables of %u subscribers and %u routes: give EAL more "
                  "(vbng --plan says how much)",
                  room_subscribers(m), room_routes(m) + room_routes6(m));
        provision_free(t);
        return NULL;
    }
    if (fill(m, port_mac, t) != 0) {
        provision_free(t);
        return NULL;
    }
    check_sockets(p, t->routes);
    return t;
}

void provision_free(struct tables *t)
{
    if (t == NULL)
        return;
    subscriber_table_free(t->subscribers);
    route_table_free(t->routes);
    rte_free(t->readers); /* routes have used it until now */
    rte_free(t->dscp);
    rte_free(t);
}
