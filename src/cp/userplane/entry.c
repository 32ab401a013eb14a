/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/userplane/entry.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cp/dhcp6/session6.h"
#include "cp/pppoe/pppoe.h"

#define IPOE  "ipoe "
#define PPPOE "pppoe "

static const char *const addresses[] = {"ipv4", "ipv6", "delegated"};

/* What list-subscribers says of a subscriber beside the keys of an entry. */
static const char *const beside[] = {"id", "dynamic", "up", "down"};

const char *entry_text(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));

    return text != NULL ? text : "";
}

struct session *entry_session(const struct cp *cp, const json_t *subscriber)
{
    uint16_t svlan = (uint16_t)json_integer_value(json_object_get(subscriber, "svlan")),
             cvlan = (uint16_t)json_integer_value(json_object_get(subscriber, "cvlan"));
    const struct cp_access *a =
        cp_config_access(cp->config, entry_text(subscriber, "port"), svlan, cvlan);
    struct session *s = a != NULL ? session_find(&cp->sessions, a, svlan, cvlan) : NULL;

    return s != NULL && (s->state == SESSION_STARTING || s->state == SESSION_UP ||
                         s->state == SESSION_ENDING)
               ? s
               : NULL;
}

char *entry_line(const json_t *subscriber, char buf[SESSION_LINE_TEXT])
{
    snprintf(buf, SESSION_LINE_TEXT, "%s %u.%u", entry_text(subscriber, "port"),
             (unsigned)json_integer_value(json_object_get(subscriber, "svlan")),
             (unsigned)json_integer_value(json_object_get(subscriber, "cvlan")));
    return buf;
}

bool userplane_own(const char *name)
{
    return strncmp(name, IPOE, strlen(IPOE)) == 0 || strncmp(name, PPPOE, strlen(PPPOE)) == 0;
}

static void set(json_t *entry, const char *key, const char *text)
{
    if (text[0] != '\0')
        json_object_set_new(entry, key, json_string(text));
}

json_t *session_entry(const struct session *s)
{
    struct cpe_prefixes v6 = session6_prefixes(s);
    char address[20], mac[20], line[SESSION_LINE_TEXT], wan[IPV6_TEXT], delegated[DELEGATED_TEXT];
    json_t *o = json_pack(
        "{s:s, s:i, s:i, s:o}", "port", s->access->port, "svlan", s->svlan, "cvlan", s->cvlan,
        "name", json_sprintf("%s%s", s->ppp != NULL ? PPPOE : IPOE, session_line(s, line)));

    if (s->ppp != NULL)
        json_object_set_new(o, "pppoe", pppoe_entry(s));
    else
        json_object_set_new(o, "mac", json_string(format_mac(s->mac, mac, sizeof(mac))));
    if (lease_is_held(s->lease4))
        json_object_set_new(
            o, "ipv4", json_sprintf("%s/32", format_ipv4(s->address, address, sizeof(address))));
    set(o, "ipv6", format_wan(&v6, wan));
    set(o, "delegated", format_delegated(&v6, delegated));
    if (session_profile(s) != NULL)
        json_object_set_new(o, "profile", json_string(session_profile(s)));
    return o;
}

bool entry_lacks_address(const json_t *entry, const json_t *subscriber)
{
    for (unsigned i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        const json_t *there = json_object_get(subscriber, addresses[i]);

        if (there != NULL && !json_equal(there, json_object_get(entry, addresses[i])))
            return true;
    }
    return false;
}

/* Need an entry without a key not say what a subscriber has of it? */
static bool may_be_unsaid(const char *key)
{
    for (unsigned i = 0; i < sizeof(beside) / sizeof(beside[0]); i++)
        if (strcmp(key, beside[i]) == 0)
            return true;
    return strcmp(key, "profile") == 0;
}

bool entry_is_there(const json_t *entry, const json_t *subscriber)
{
    const char *key;
    json_t *value;

    json_object_foreach(
        (json_t *)(uintptr_t)entry, key,
        value) if (!json_equal(value, json_object_get(subscriber, key))) return false;
    json_object_foreach((json_t *)(uintptr_t)subscriber, key,
                        value) if (json_object_get(entry, key) == NULL &&
                                   !may_be_unsaid(key)) return false;
    return true;
}
