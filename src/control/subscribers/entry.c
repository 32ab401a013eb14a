/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/subscribers/entry.h"

#include <stdio.h>

json_t *circuit_json(const struct cfg_model *m, const struct cfg_subscriber *s)
{
    return json_sprintf("%s %u.%u", m->ports[s->port].name, s->svlan, s->cvlan);
}

json_t *mac_json(const struct cfg_subscriber *s)
{
    char text[32];

    return s->has_mac ? json_pack("s", format_mac(s->mac, text, sizeof(text))) : json_pack("n");
}

const char *profile_name_of(const struct cfg_model *m, const struct cfg_subscriber *s)
{
    return s->profile != CFG_NONE ? m->qos.profiles[s->profile].name : NULL;
}

static json_t *pppoe_json(const struct cfg_subscriber *s)
{
    json_t *o = json_pack("{s:i, s:o, s:i}", "session", (int)s->pppoe.session, "mac", mac_json(s),
                          "mtu", (int)s->pppoe.mtu);

    if (s->pppoe.magic != 0)
        json_object_set_new(o, "magic", json_integer(s->pppoe.magic));
    return o;
}

json_t *subscriber_entry_json(const struct cfg_model *m, const struct cfg_subscriber *s)
{
    char text[DELEGATED_TEXT];
    json_t *o =
        json_pack("{s:s, s:i, s:i, s:o*}", "port", m->ports[s->port].name, "svlan", (int)s->svlan,
                  "cvlan", (int)s->cvlan, "routed", s->routed ? json_true() : NULL);

    if (s->ipv4_len != 0)
        json_object_set_new(
            o, "ipv4",
            json_sprintf("%s/%u", format_ipv4(s->ipv4, text, sizeof(text)), s->ipv4_len));
    if (s->ipv6.wan_len != 0)
        json_object_set_new(o, "ipv6", json_string(format_wan(&s->ipv6, text)));
    if (s->ipv6.n_delegated != 0)
        json_object_set_new(o, "delegated", json_string(format_delegated(&s->ipv6, text)));
    if (s->has_gre_key)
        json_object_set_new(o, "gre_key", json_integer(s->gre_key));
    if (s->pppoe.session != 0)
        json_object_set_new(o, "pppoe", pppoe_json(s));
    else if (s->has_mac)
        json_object_set_new(o, "mac", mac_json(s));
    if (s->profile != CFG_NONE)
        json_object_set_new(o, "profile", json_pack("s", profile_name_of(m, s)));
    if (s->name != NULL)
        json_object_set_new(o, "name", json_pack("s", s->name));
    return o;
}
