/* SPDX-License-Identifier: BSD-3-Clause */
/* pppoe = { session; mac; mtu; magic } of a subscriber: the session that a control plane has made
 * with his CPE, of which the user plane has to know no more. */
#include <libconfig.h>

#include "config/subscribers.h"

#define HEADERS 8 /* bytes of an Ethernet frame's payload that PPPoE and PPP take */

enum { PPPOE_SESSION, PPPOE_MAC, PPPOE_MTU, PPPOE_MAGIC, N_PPPOE_KEYS };

/* 0xffff is reserved: RFC 2516 section 4. The least MTU is what every host of IPv4 takes. */
static const struct key keys[N_PPPOE_KEYS] = {
    [PPPOE_SESSION] = {"session", KEY_COUNT, .min = 1, .max = 65534, .required = true},
    [PPPOE_MAC] = {"mac", KEY_MAC, .required = true},
    [PPPOE_MTU] = {"mtu", KEY_COUNT, .def = "1492", .min = 576, .max = 9000},
    [PPPOE_MAGIC] = {"magic", KEY_COUNT, .def = "0", .max = UINT32_MAX},
};

static bool read_keys(struct loader *l, const struct value *v, struct value *out)
{
    if (v->setting != NULL && config_setting_is_group(v->setting))
        return read_group(l, v->setting, "PPPoE session", keys, N_PPPOE_KEYS, out);
    if (v->json != NULL && json_is_object(v->json))
        return read_object(l, v->json, "PPPoE session", keys, N_PPPOE_KEYS, out);
    value_error(l, v, "pppoe", "expected a group: { session; mac; ... }");
    return false;
}

bool read_pppoe(struct loader *l, const struct value *v, struct cfg_subscriber *s)
{
    struct value p[N_PPPOE_KEYS];
    uint64_t room, mtu;

    if (!value_given(&v[SUBSCRIBER_PPPOE]))
        return true;
    if (!read_keys(l, &v[SUBSCRIBER_PPPOE], p))
        return false;
    if (value_given(&v[SUBSCRIBER_MAC])) {
        value_error(l, &v[SUBSCRIBER_MAC], "mac", "expected it in pppoe alone, as his session's");
        return false;
    }
    room = l->m->ports[s->port].mtu - HEADERS;
    mtu = p[PPPOE_MTU].v.u;
    if (mtu > room && value_given(&p[PPPOE_MTU])) {
        value_error(l, &p[PPPOE_MTU], "mtu",
                    "port '%s' has an mtu of %u: expected at most %u, beside PPPoE's headers",
                    l->m->ports[s->port].name, l->m->ports[s->port].mtu, (unsigned)room);
        return false;
    }
    if (mtu < 1280 && (s->ipv6.wan_len != 0 || s->ipv6.n_delegated != 0)) {
        value_error(l, &p[PPPOE_MTU], "mtu", "IPv6 needs 1280 bytes (RFC 8200 section 5)");
        return false;
    }
    s->pppoe = (struct cfg_pppoe){.session = (uint16_t)p[PPPOE_SESSION].v.u,
                                  .mtu = (uint16_t)(mtu < room ? mtu : room),
                                  .magic = (uint32_t)p[PPPOE_MAGIC].v.u};
    s->has_mac = true;
    mac_from_u64(p[PPPOE_MAC].v.u, s->mac);
    return true;
}
