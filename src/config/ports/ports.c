/* SPDX-License-Identifier: BSD-3-Clause */
/* ports = ( { name; device; ... }, ... ): where packets enter and leave. */
#include <string.h>

#include "config/keys.h"

#define HEADROOM  128                    /* of an mbuf: RTE_PKTMBUF_HEADROOM */
#define L2_MAX    22                     /* Ethernet header and two tags, beside the MTU */
#define WIRE_NAME (sizeof(CFG_WIRE) - 1) /* where the name of a wire begins */
#define DESC_MIN  64
#define DESC_MAX  32768
#define VIRTIO_TX 512 /* tx_desc of net_virtio_user: see fill_port() */
#define MTU_MIN   68  /* RFC 791: every internet module must forward 68 octets unfragmented */
#define MTU_MAX   9198

enum {
    PORT_NAME,
    PORT_DEVICE,
    PORT_POOL,
    PORT_MAC,
    PORT_MTU,
    PORT_TPID,
    PORT_ADDRESSES,
    PORT_RX_DESC,
    PORT_TX_DESC,
    PORT_PROMISCUOUS,
    PORT_ON_FULL,
    PORT_LINE_RATE,
    PORT_RECEIVE,
    N_PORT_KEYS
};

static const char *const tpid_names[] = {"0x88a8", "0x8100", NULL};

const char *const full_policy_names[] = {"drop", "wait", NULL};

static const struct key port_keys[N_PORT_KEYS] = {
    [PORT_NAME] = {"name", KEY_NAME, .required = true},
    [PORT_DEVICE] = {"device", KEY_STRING, .required = true},
    [PORT_POOL] = {"pool", KEY_STRING, .def = "default"},
    [PORT_MAC] = {"mac", KEY_MAC},
    [PORT_MTU] = {"mtu", KEY_COUNT, .def = "1500", .min = MTU_MIN, .max = MTU_MAX},
    [PORT_TPID] = {"tpid", KEY_ENUM, .def = "0x88a8", .choices = tpid_names},
    [PORT_ADDRESSES] = {"addresses", KEY_OTHER},
    [PORT_RX_DESC] = {"rx_desc", KEY_COUNT, .def = "1024", .min = DESC_MIN, .max = DESC_MAX},
    [PORT_TX_DESC] = {"tx_desc", KEY_COUNT, .def = "1024", .min = DESC_MIN, .max = DESC_MAX},
    [PORT_PROMISCUOUS] = {"promiscuous", KEY_BOOL, .def = "true"},
    [PORT_ON_FULL] = {"on_full", KEY_ENUM, .def = "drop", .choices = full_policy_names},
    [PORT_LINE_RATE] = {"line_rate", KEY_RATE, .def = "10G", .min = 1000000, .max = 10000000000000},
    [PORT_RECEIVE] = {"receive", KEY_OTHER},
};

/* Check that a buffer of the pool holds the largest frame of a port, because a frame must be
 * received into a single buffer. */
static void check_data_room(struct loader *l, const struct cfg_port *p, struct loc loc)
{
    const struct cfg_pool *pool = &l->m->pools[p->pool];
    unsigned need = HEADROOM + L2_MAX + p->mtu;

    if (pool->data_room > 0 && pool->data_room < need)
        diag_error(l->d, loc,
                   "key 'mtu': value '%u': pool '%s' has data_room %u: expected at least %u (mtu "
                   "+ %d of headers + %d of headroom)",
                   p->mtu, pool->name, pool->data_room, need, L2_MAX, HEADROOM);
}

static void read_addresses(struct loader *l, struct cfg_port *p, const config_setting_t *s)
{
    static const struct key key = {.name = "addresses", .type = KEY_ADDRESS};
    const config_setting_t *e[CFG_MAX_ADDRESSES];
    struct param_value v;
    char expected[80];
    unsigned n;

    if (s == NULL)
        return;
    n = read_strings(l, s, key.name, e, CFG_MAX_ADDRESSES);
    for (unsigned i = 0; i < n; i++) {
        const char *text = config_setting_get_string(e[i]);

        if (key_parse(&key, text, &v) == 0) {
            if (parse_ipv6(text, &p->addresses6[p->n_addresses6]) == 0)
                p->n_addresses6++;
            else
                p->addresses[p->n_addresses++] = (uint32_t)v.u;
            continue;
        }
        key_expected(&key, expected, sizeof(expected));
        key_error(l, e[i], key.name, "expected %s", expected);
    }
}

static bool power_of_two(uint64_t n)
{
    return (n & (n - 1)) == 0;
}

/* Check what only a wire asks of a port. */
static void check_wire(struct loader *l, const struct cfg_port *p, const struct value *v)
{
    static const unsigned desc[] = {PORT_RX_DESC, PORT_TX_DESC};

    if (p->device[WIRE_NAME] == '\0')
        key_error(l, v[PORT_DEVICE].setting, "device", "expected a name after \"" CFG_WIRE "\"");
    for (unsigned i = 0; i < 2; i++)
        if (!power_of_two(v[desc[i]].v.u))
            key_error(l, v[desc[i]].setting, port_keys[desc[i]].name,
                      "a wire is a ring: expected a power of two, %d..%d", DESC_MIN, DESC_MAX);
}

/* Are two devices the same, or the same vdev with other arguments? */
static bool same_device(const char *a, const char *b)
{
    size_t len = strcspn(a, ",");

    return len == strcspn(b, ",") && strncmp(a, b, len) == 0;
}

static void check_device(struct loader *l, const struct cfg_port *p, const struct value *v)
{
    if (p->device[0] == '\0') {
        key_error(l, v[PORT_DEVICE].setting, "device",
                  "expected a PCI address, a DPDK vdev, or \"" CFG_WIRE "NAME\"");
        return;
    }
    if (port_is_wire(p)) {
        check_wire(l, p, v);
        return;
    }
    for (const struct cfg_port *other = l->m->ports; other < p; other++)
        if (other->device != NULL && same_device(other->device, p->device)) {
            key_error(l, v[PORT_DEVICE].setting, "device",
                      "already the device of port '%s' at %s:%u", other->name, other->loc.file,
                      other->loc.line);
            return;
        }
}

static bool is_virtio_user(const char *device)
{
    return device != NULL && strncmp(device, "net_virtio_user", 15) == 0;
}

static void fill_port(struct loader *l, struct cfg_port *p, const struct value *v)
{
    p->device = v[PORT_DEVICE].v.s;
    p->mac_set = v[PORT_MAC].set;
    mac_from_u64(v[PORT_MAC].v.u, p->mac);
    p->mtu = (uint16_t)v[PORT_MTU].v.u;
    p->tpid = v[PORT_TPID].v.u == 0 ? 0x88a8 : 0x8100;
    p->rx_desc = (uint16_t)v[PORT_RX_DESC].v.u;
    /* the driver gives an mbuf of a packed ring back when its descriptor is needed again: of a
     * longer ring more mbufs have left the CPU's caches by then */
    p->tx_desc = !value_given(&v[PORT_TX_DESC]) && is_virtio_user(p->device)
                     ? VIRTIO_TX
                     : (uint16_t)v[PORT_TX_DESC].v.u;
    p->promiscuous = v[PORT_PROMISCUOUS].v.u != 0;
    p->on_full = (enum full_policy)v[PORT_ON_FULL].v.u;
    p->line_rate = v[PORT_LINE_RATE].v.u;
    read_addresses(l, p, v[PORT_ADDRESSES].setting);
    p->pool = resolve_pool(l, &v[PORT_POOL]);
    if (p->pool != CFG_NONE)
        check_data_room(l, p, v[PORT_MTU].v.loc);
    if (p->device != NULL)
        check_device(l, p, v);
    load_receive(l, v[PORT_RECEIVE].setting, p);
}

static void load_port(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    struct value v[N_PORT_KEYS];
    struct cfg_port *p = &l->m->ports[l->m->n_ports];
    uint32_t same = CFG_NONE;

    (void)i;
    (void)ctx;
    read_group(l, group, "port", port_keys, N_PORT_KEYS, v);
    p->loc = setting_loc(l, group);
    if (!v[PORT_NAME].set)
        l->port_nameless = true;
    else
        same = find_port(l, v[PORT_NAME].v.s);
    if (same != CFG_NONE)
        key_error(l, v[PORT_NAME].setting, "name", "already a port at %s:%u",
                  l->m->ports[same].loc.file, l->m->ports[same].loc.line);
    p->name = v[PORT_NAME].set ? v[PORT_NAME].v.s : "";
    l->m->n_ports++;
    fill_port(l, p, v);
}

/* Check that two ports name a wire. The first of its ends reports, so that there is one error. */
static void check_wire_ends(struct loader *l, const struct cfg_port *p)
{
    unsigned ends = 0;
    bool first = true, unknown_end = false;

    for (unsigned i = 0; i < l->m->n_ports; i++) {
        const struct cfg_port *other = &l->m->ports[i];

        unknown_end |= other->device == NULL;
        if (other->device == NULL || strcmp(other->device, p->device) != 0)
            continue;
        first &= ends > 0 || other == p;
        ends++;
    }
    if (p->device[WIRE_NAME] == '\0' || (ends == 1 && unknown_end))
        return; /* another error has been reported */
    if (first && ends != 2)
        diag_error(l->d, p->loc,
                   "key 'device': value '%s': %u port%s %s this wire: expected two, its ends",
                   p->device, ends, ends == 1 ? "" : "s", ends == 1 ? "names" : "name");
}

static void report_address(struct loader *l, const struct cfg_port *p, const char *text,
                           const struct cfg_port *other)
{
    diag_error(l->d, p->loc,
               "key 'addresses': value '%s': already an address of port '%s' at %s:%u", text,
               other->name, other->loc.file, other->loc.line);
}

/* Check that no other port, up to this one, has an address of this port. */
static void check_addresses(struct loader *l, unsigned port)
{
    const struct cfg_port *p = &l->m->ports[port];
    char text[IPV6_TEXT];

    for (const struct cfg_port *other = l->m->ports; other <= p; other++) {
        for (unsigned a = 0; a < p->n_addresses; a++)
            for (unsigned b = 0; b < (other == p ? a : other->n_addresses); b++)
                if (other->addresses[b] == p->addresses[a])
                    report_address(l, p, format_ipv4(p->addresses[a], text, sizeof(text)), other);
        for (unsigned a = 0; a < p->n_addresses6; a++)
            for (unsigned b = 0; b < (other == p ? a : other->n_addresses6); b++)
                if (same6(other->addresses6[b], p->addresses6[a]))
                    report_address(l, p, format_ipv6(p->addresses6[a], text), other);
    }
}

void load_ports(struct loader *l, const config_setting_t *ports)
{
    if (ports != NULL && config_setting_is_aggregate(ports) &&
        config_setting_length(ports) > CFG_MAX_PORTS) {
        key_error(l, ports, "ports", "%d ports: expected at most %d", config_setting_length(ports),
                  CFG_MAX_PORTS);
        l->port_nameless = true;
        return;
    }
    each_group(l, ports, "ports", load_port, NULL);
    for (unsigned i = 0; i < l->m->n_ports; i++) {
        if (l->m->ports[i].device != NULL && port_is_wire(&l->m->ports[i]))
            check_wire_ends(l, &l->m->ports[i]);
        check_addresses(l, i);
    }
}
