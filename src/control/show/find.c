/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/show/find.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "control/request.h"
#include "control/view.h"
#include "tasks/arp/arp.h"

bool search_begin(const struct control *c, struct search *s, const char *text)
{
    size_t len = strlen(text);
    uint8_t prefix = 32;

    *s = (struct search){.text = text};
    if (subscriber_on(c, text, &s->on_circuit) != 0)
        s->on_circuit = 0;
    s->is_number = parse_count(text, &s->number) == 0;
    s->is_addresses = !s->is_number && (parse_ipv4(text, &s->first) == 0 ||
                                        parse_prefix(text, &s->first, &prefix) == 0);
    s->is_prefix = parse_prefix6(text, &s->prefix, &s->prefix_len) == 0;
    s->is_mac = parse_mac(text, s->mac) == 0;
    s->is_vlans = !s->is_number && parse_vlan_pair(text, &s->svlan, &s->cvlan) == 0;
    if (s->is_addresses) {
        uint32_t hosts = (uint32_t)((UINT64_C(1) << (32 - prefix)) - 1);

        s->first &= ~hosts;
        s->last = s->first | hosts;
    }
    return len > 0 && len <= SEARCH_TEXT_MAX;
}

static bool has_mac(const struct control *c, uint32_t id, const uint8_t *mac)
{
    uint32_t arp = arp_instance(c);
    const struct task *t = arp != CFG_NONE ? c->e->tasks[arp] : NULL;
    struct arp_learned l;

    if (subscriber_mac(c, id, &l) != MAC_UNKNOWN && memcmp(l.mac, mac, sizeof(l.mac)) == 0)
        return true;
    for (unsigned i = 0; t != NULL && i < arp_n_of_subscriber(t, id); i++)
        if (arp_of_subscriber(t, id, i, &l) && memcmp(l.mac, mac, sizeof(l.mac)) == 0)
            return true;
    return false;
}

/* A text that is none of the other notations is a profile's name, or a part of a circuit. */
static bool is_word_of(const struct control *c, const struct cfg_subscriber *s, const char *text)
{
    const struct cfg_model *m = control_model(c);
    char circuit[64];

    if (s->profile != CFG_NONE && strcmp(m->qos.profiles[s->profile].name, text) == 0)
        return true;
    snprintf(circuit, sizeof(circuit), "%s %u.%u", m->ports[s->port].name, s->svlan, s->cvlan);
    return strstr(circuit, text) != NULL;
}

static bool overlap(const struct search *k, struct ipv6 addr, uint8_t len)
{
    uint8_t common = len < k->prefix_len ? len : k->prefix_len;

    return len != 0 && same6(first6(addr, common), first6(k->prefix, common));
}

static bool has_prefix(const struct cpe_prefixes *p, const struct search *k)
{
    bool found = overlap(k, p->wan, p->wan_len);

    for (unsigned i = 0; i < p->n_delegated; i++)
        found |= overlap(k, (struct ipv6){p->delegated[i], 0}, p->delegated_len[i]);
    return found;
}

static bool finds(const struct control *c, const struct search *k, uint32_t id)
{
    const struct cfg_subscriber *s = &control_model(c)->subscribers[id - 1];
    uint32_t hosts = (uint32_t)((UINT64_C(1) << (32 - s->ipv4_len)) - 1);

    if (s->name != NULL && utf8_contains(s->name, k->text))
        return true;
    if (k->on_circuit != 0)
        return id == k->on_circuit;
    if (k->is_number)
        return id == k->number || (s->has_gre_key && s->gre_key == k->number);
    if (k->is_addresses)
        return s->ipv4_len != 0 && (s->ipv4 & ~hosts) <= k->last && (s->ipv4 | hosts) >= k->first;
    if (k->is_prefix)
        return has_prefix(&s->ipv6, k);
    if (k->is_mac)
        return has_mac(c, id, k->mac);
    if (k->is_vlans)
        return s->svlan == k->svlan && s->cvlan == k->cvlan;
    return is_word_of(c, s, k->text);
}

uint32_t search_run(const struct control *c, const struct search *s, uint32_t first, uint32_t *id,
                    unsigned room, unsigned *n)
{
    const struct cfg_model *m = control_model(c);
    uint32_t looked = 0;

    *n = 0;
    for (uint32_t i = first; i != 0 && i <= m->n_subscribers; i++) {
        if (*n == room || looked++ == SEARCH_AT_ONCE)
            return i;
        if (running_has(m, i) && finds(c, s, i))
            id[(*n)++] = i;
    }
    return 0;
}

/* --- the request --- */

enum { FIND_TEXT, FIND_FIRST, FIND_COUNT, N_FIND_KEYS };

static const struct key find_keys[N_FIND_KEYS] = {
    [FIND_TEXT] = {"text", KEY_STRING, .required = true,
                   .help = "an id, address, MAC, key, circuit, profile, or a part of a name"},
    [FIND_FIRST] = {"first", KEY_COUNT, .def = "1", .min = 1, .max = UINT32_MAX,
                    .help = "the id to begin with"},
    [FIND_COUNT] = {"count", KEY_COUNT, .def = "100", .min = 1, .max = REQUEST_MAX_SUBSCRIBERS,
                    .help = "how many at most"},
};

static json_t *find_subscribers(struct control *c, struct request *r, struct refusal *why)
{
    uint32_t id[REQUEST_MAX_SUBSCRIBERS], next;
    json_t *found = json_array();
    struct search s;
    unsigned n;

    if (!search_begin(c, &s, r->v[FIND_TEXT].v.s)) {
        json_decref(found);
        refuse(why, "key 'text': expected 1 to %d bytes", SEARCH_TEXT_MAX);
        return NULL;
    }
    next =
        search_run(c, &s, (uint32_t)r->v[FIND_FIRST].v.u, id, (unsigned)r->v[FIND_COUNT].v.u, &n);
    for (unsigned i = 0; i < n; i++)
        json_array_append_new(found, identity_json(c, id[i]));
    return json_pack("{s:b, s:o, s:o}", "ok", 1, "subscribers", found, "next",
                     next != 0 ? json_integer(next) : json_null());
}

const struct command find_commands[] = {
    {"find-subscribers", KEYS(find_keys), find_subscribers,
     .help = "subscribers of an address, a MAC, a key, a name"},
    {NULL},
};
