/* SPDX-License-Identifier: BSD-3-Clause */
/* pppoe = { session; mac; mtu; magic } of a subscriber: the session that a control plane has made
 * with his CPE, of which the user plane has to know no more. */
#include <inttypes.h>

#include <libconfig.h>

#include "config/subscribers.h"

#define HEADERS    8    /* bytes of an Ethernet frame's payload that PPPoE and PPP take */
#define LEAST_MTU6 1280 /* bytes: RFC 8200 section 5 */

/* 0xffff is reserved: RFC 2516 section 4. The least MTU is what every host of IPv4 takes. */
const struct key pppoe_keys[N_PPPOE_KEYS] = {
    [PPPOE_MAC] = {"mac", KEY_MAC, .required = true},
    [PPPOE_SESSION] = {"session", KEY_COUNT, .many = KEY_RANGE, .min = 1, .max = 65534,
                       .required = true},
    [PPPOE_MTU] = {"mtu", KEY_COUNT, .def = "1492", .min = 576, .max = 9000},
    [PPPOE_MAGIC] = {"magic", KEY_COUNT, .def = "0", .max = UINT32_MAX},
};

static bool read_keys(struct loader *l, const struct value *v, struct value *out)
{
    if (v->setting != NULL && config_setting_is_group(v->setting))
        return read_group(l, v->setting, "PPPoE session", pppoe_keys, N_PPPOE_KEYS, out);
    if (v->json != NULL && json_is_object(v->json))
        return read_object(l, v->json, "PPPoE session", pppoe_keys, N_PPPOE_KEYS, out);
    value_error(l, v, "pppoe", "expected a group: { session; mac; ... }");
    return false;
}

/* Each subscriber of a range takes the next session and the next MAC. */
static bool check_range(struct loader *l, const struct value *p, uint64_t count)
{
    const struct value *session = &p[PPPOE_SESSION];
    uint64_t sessions = session->v.u2 - session->v.u + 1;

    if (sessions != count) {
        value_error(l, session, "session",
                    "%" PRIu64 " session%s: expected %" PRIu64 ", one per VLAN pair", sessions,
                    sessions == 1 ? "" : "s", count);
        return false;
    }
    return check_macs(l, &p[PPPOE_MAC], count);
}

/* IPv6 does not fit: because of the session's own mtu, or of its port's. */
static void refuse_ipv6(struct loader *l, const struct value *p, const struct cfg_port *port)
{
    if (p[PPPOE_MTU].v.u < LEAST_MTU6)
        value_error(l, &p[PPPOE_MTU], "mtu", "IPv6 needs %d bytes (RFC 8200 section 5)",
                    LEAST_MTU6);
    else
        value_error(l, &p[PPPOE_SESSION], "session",
                    "port '%s' has an mtu of %u: IPv6 needs %d (RFC 8200 section 5), PPPoE's "
                    "headers among them",
                    port->name, port->mtu, LEAST_MTU6 + HEADERS);
}

/* Take the session that right values of its keys say. */
static bool take_session(struct loader *l, const struct value *p, struct cfg_subscriber *s)
{
    const struct cfg_port *port = &l->m->ports[s->port];
    uint64_t room = port->mtu - HEADERS, mtu = p[PPPOE_MTU].v.u;

    if (mtu > room && value_given(&p[PPPOE_MTU])) {
        value_error(l, &p[PPPOE_MTU], "mtu",
                    "port '%s' has an mtu of %u: expected at most %u, beside PPPoE's headers",
                    port->name, port->mtu, (unsigned)room);
        return false;
    }
    if ((mtu < LEAST_MTU6 || room < LEAST_MTU6) &&
        (s->ipv6.wan_len != 0 || s->ipv6.n_delegated != 0)) {
        refuse_ipv6(l, p, port);
        return false;
    }
    s->pppoe = (struct cfg_pppoe){.session = (uint16_t)p[PPPOE_SESSION].v.u,
                                  .mtu = (uint16_t)(mtu < room ? mtu : room),
                                  .magic = (uint32_t)p[PPPOE_MAGIC].v.u};
    s->has_mac = true;
    mac_from_u64(p[PPPOE_MAC].v.u, s->mac);
    return true;
}

bool read_pppoe(struct loader *l, const struct value *v, uint64_t count, struct cfg_subscriber *s)
{
    struct value p[N_PPPOE_KEYS];

    if (!value_given(&v[SUBSCRIBER_PPPOE]))
        return true;
    if (!read_keys(l, &v[SUBSCRIBER_PPPOE], p))
        return false;
    if (value_given(&v[SUBSCRIBER_MAC])) {
        value_error(l, &v[SUBSCRIBER_MAC], "mac", "expected it in pppoe alone, as his session's");
        return false;
    }
    if (p[PPPOE_SESSION].setting != NULL && !check_range(l, p, count))
        return false;
    return take_session(l, p, s);
}

/* An error of a row as a whole, of which only the first ones are listed. */
static bool row_error(struct loader *l, const char *key, const char *text)
{
    if (csv_lists(l->table, key))
        diag_error(l->d, l->at, "key '%s': %s", key, text);
    return false;
}

bool read_pppoe_cells(struct loader *l, const struct value *row, struct cfg_subscriber *s)
{
    struct value p[N_PPPOE_KEYS] = {[PPPOE_MAC] = row[SUBSCRIBER_MAC]};

    for (unsigned k = PPPOE_SESSION; k < N_PPPOE_KEYS; k++) {
        p[k] = row[N_SUBSCRIBER_COLUMNS + k - PPPOE_SESSION];
        if (!p[k].set && pppoe_keys[k].def != NULL)
            key_parse(&pppoe_keys[k], pppoe_keys[k].def, &p[k].v);
    }
    if (!p[PPPOE_SESSION].set) {
        if (p[PPPOE_MTU].set || p[PPPOE_MAGIC].set)
            return row_error(l, "session", "missing: mtu and magic are a session's");
        return true;
    }
    if (!p[PPPOE_MAC].set)
        return row_error(l, "mac", "missing: a session is between two MACs");
    return take_session(l, p, s);
}
