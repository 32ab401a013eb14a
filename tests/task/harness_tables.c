/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration's ports and the tables, as harness.h lists them. */
#include "harness.h"

#include <stdio.h>
#include <string.h>

#define PORT(NAME, NUMBER, TPID, ADDRESS)                                                          \
    [NUMBER] = {.loc = {"test.cfg", 1},                                                            \
                .name = (NAME),                                                                    \
                .device = "none",                                                                  \
                .mac = {2, 0, 0, 0, 0, (NUMBER) + 1},                                              \
                .mac_set = true,                                                                   \
                .mtu = 1500,                                                                       \
                .tpid = (TPID),                                                                    \
                .n_addresses = 1,                                                                  \
                .addresses = {ADDRESS},                                                            \
                .line_rate = 10000000000u}

struct cfg_model harness_model = {
    .name = "test",
    .path = "test.cfg",
    .n_pools = 1,
    .pools = {{.name = "default", .mbufs = RIG_MBUFS, .data_room = RTE_MBUF_DEFAULT_BUF_SIZE}},
    .n_ports = N_TEST_PORTS,
    .ports = {PORT("cpe0", CPE0, 0x88a8, ADDR_CPE0), PORT("cpe1", CPE1, 0x8100, ADDR_CPE1),
              PORT("core0", CORE0, 0x88a8, ADDR_CORE0), PORT("core1", CORE1, 0x88a8, ADDR_CORE1)},
};

static const struct {
    uint8_t port;
    uint16_t svlan, cvlan;
    uint32_t ipv4;
    uint8_t ipv4_len;
    bool has_key, has_mac;
    uint32_t key;
} subscribers[N_TEST_SUBSCRIBERS + 1] = {
    [SUB_CPE0] = {CPE0, 128, 256, 0x0a000001, 32, true, true, 0x1001},
    [SUB_CPE1] = {CPE1, 129, 257, 0x0a000100, 24, true, true, 0x1002},
    [SUB_NO_KEY] = {CPE0, 128, 258, 0x0a000003, 32, false, true, 0},
    [SUB_NO_MAC] = {CPE0, 128, 259, 0x0a000004, 32, true, false, 0x1004},
    [SUB_PPPOE] = {CPE0, 128, 260, 0x0a000005, 32, true, true, 0x1015},
};

static const struct {
    uint8_t port;
    bool gre, mpls, has_mac;
} nexthops[] = {
    [NH_GRE_MPLS] = {CORE0, true, true, true}, [NH_GRE] = {CORE1, true, false, true},
    [NH_MPLS] = {CORE0, false, true, true},    [NH_PLAIN] = {CORE1, false, false, true},
    [NH_NO_MAC] = {CORE0, true, true, false},
};

static int add_subscribers(struct subscriber_table *t)
{
    for (unsigned i = 1; i <= N_TEST_SUBSCRIBERS; i++) {
        const uint8_t mac[6] = {2, 0xce, 0, 0, 0, (uint8_t)i};
        const struct cfg_port *port = &harness_model.ports[subscribers[i].port];
        struct subscriber_spec spec = {.port = subscribers[i].port,
                                       .svlan = subscribers[i].svlan,
                                       .cvlan = subscribers[i].cvlan,
                                       .tpid = port->tpid,
                                       .ipv4 = subscribers[i].ipv4,
                                       .ipv4_len = subscribers[i].ipv4_len,
                                       .has_gre_key = subscribers[i].has_key,
                                       .gre_key = subscribers[i].key,
                                       .gateway_mac = port->mac,
                                       .mac = subscribers[i].has_mac ? mac : NULL,
                                       .session = i == SUB_PPPOE ? TEST_SESSION : 0,
                                       .mtu = i == SUB_PPPOE ? 1492 : port->mtu};

        if (subscriber_add(t, &spec) != (int64_t)i)
            return -1;
    }
    return 0;
}

static int add_routes(struct route_table *t)
{
    for (unsigned i = 1; i < RTE_DIM(nexthops); i++) {
        const uint8_t mac[6] = {2, 0xc0, 0, 0, 0, (uint8_t)i};
        const struct cfg_port *port = &harness_model.ports[nexthops[i].port];
        struct nexthop_spec spec = {.port = nexthops[i].port,
                                    .mtu = port->mtu,
                                    .gateway_mac = port->mac,
                                    .mac = nexthops[i].has_mac ? mac : NULL,
                                    .via = nexthops[i].has_mac ? (struct ipv6){0, 0}
                                                               : mapped6(0xc6336409),
                                    .has_gre = nexthops[i].gre,
                                    .has_mpls = nexthops[i].mpls,
                                    .gre_source = mapped6(port->addresses[0]),
                                    .gre_destination = mapped6(0xc0000200 + i),
                                    .label = 16 + i};

        struct ipv6 prefix = {UINT64_C(0x20010db800000000) | (uint64_t)i << 16, 0};

        if (route_add_nexthop(t, &spec) != (int)i || route_add(t, (19 + i) << 24, 8, i) != 0 ||
            route_add6(t, prefix, 48, i) != 0)
            return -1;
    }
    for (unsigned i = 0; i < N_TEST_PORTS; i++)
        if (route_add_local(t, harness_model.ports[i].addresses[0]) != 0)
            return -1;
    return 0;
}

void harness_set_mtu(unsigned port, uint16_t mtu)
{
    struct subscriber *s = harness_tables()->subscribers->record;

    harness_model.ports[port].mtu = mtu;
    for (unsigned i = 1; i <= N_TEST_SUBSCRIBERS; i++)
        if (s[i].port == port && s[i].session == 0)
            s[i].mtu = mtu;
}

struct tables *harness_tables(void)
{
    static struct tables t;

    if (t.routes != NULL)
        return &t;
    t.subscribers = subscriber_table_create(N_TEST_SUBSCRIBERS, 0, SOCKET_ID_ANY);
    t.routes = route_table_create(16, 4, 64, SOCKET_ID_ANY);
    if (t.subscribers == NULL || t.routes == NULL ||
        route_open6(t.routes, 64, SOCKET_ID_ANY) != 0 || add_subscribers(t.subscribers) != 0 ||
        add_routes(t.routes) != 0) {
        fprintf(stderr, "harness: no tables\n");
        return NULL;
    }
    for (unsigned i = 0; i < N_TEST_PORTS; i++)
        memcpy(t.port_mac[i], harness_model.ports[i].mac, sizeof(harness_model.ports[i].mac));
    return &t;
}
