/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/acct/account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cp/dhcp6/session6.h"
#include "cp/packet/hex.h"

void account_free(struct account *a)
{
    free(a->name);
    free(a->classes);
    free(a);
}

static struct account *make(const char *name, size_t n_classes)
{
    struct account *a = calloc(1, sizeof(*a));

    if (a == NULL)
        return NULL;
    a->name = strdup(name);
    a->classes = calloc(1, n_classes + 1);
    a->n_classes = n_classes;
    if (a->name != NULL && a->classes != NULL)
        return a;
    account_free(a);
    return NULL;
}

void account_refresh(struct account *a, const struct session *s)
{
    a->ipv4 = lease_is_held(s->lease4) ? s->address : 0;
    a->ipv6 = session6_prefixes(s);
}

struct account *account_new(const struct session *s)
{
    struct account *a = make(s->service->user, s->service->n_classes);

    if (a == NULL)
        return NULL;
    memcpy(a->id, s->service->id, sizeof(a->id));
    memcpy(a->classes, s->service->classes, s->service->n_classes);
    session_line(s, a->line);
    format_mac(s->mac, a->mac, sizeof(a->mac));
    a->ppp = s->ppp != NULL;
    account_refresh(a, s);
    return a;
}

uint64_t account_since(const json_t *row)
{
    return (uint64_t)json_integer_value(json_array_get(row, 1));
}

bool account_count(struct account *a, const json_t *row)
{
    uint64_t before = a->since, since = account_since(row);

    if (json_array_size(row) != 2 + ACCOUNT_COUNTERS)
        return false;
    for (unsigned i = 0; i < ACCOUNT_COUNTERS; i++) {
        a->base[i] += since != before ? a->last[i] : 0;
        a->last[i] = (uint64_t)json_integer_value(json_array_get(row, 2 + i));
    }
    a->since = since;
    return before != 0 && since != before;
}

/* --- in the store --- */

static json_t *counters_json(const uint64_t counter[ACCOUNT_COUNTERS])
{
    json_t *list = json_array();

    for (unsigned i = 0; i < ACCOUNT_COUNTERS; i++)
        json_array_append_new(list, json_integer((json_int_t)counter[i]));
    return list;
}

static void read_counters(const json_t *list, uint64_t counter[ACCOUNT_COUNTERS])
{
    for (unsigned i = 0; i < ACCOUNT_COUNTERS; i++)
        counter[i] = (uint64_t)json_integer_value(json_array_get(list, i));
}

static json_t *record_json(const struct account_record *r)
{
    return json_pack("{s:I, s:o}", "time", (json_int_t)r->time_s, "counters",
                     counters_json(r->counter));
}

static void read_record(const json_t *o, struct account_record *r)
{
    r->time_s = json_integer_value(json_object_get(o, "time"));
    read_counters(json_object_get(o, "counters"), r->counter);
}

char *account_text(const struct account *a)
{
    char wan[IPV6_TEXT], delegated[DELEGATED_TEXT], *classes = malloc(2 * a->n_classes + 1), *text;
    json_t *o;

    if (classes == NULL)
        abort();
    o = json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:I, s:I, s:o, s:o, s:b, s:o, s:o, s:b, s:i, "
        "s:s}",
        "id", a->id, "line", a->line, "name", a->name, "mac", a->mac, "ipv4", (json_int_t)a->ipv4,
        "ipv6", format_wan(&a->ipv6, wan), "delegated", format_delegated(&a->ipv6, delegated),
        "begun", (json_int_t)a->begun, "since", (json_int_t)a->since, "base",
        counters_json(a->base), "last", counters_json(a->last), "started", a->started, "interim",
        record_json(&a->interim), "stop", record_json(&a->stop), "final", a->final, "cause",
        (int)a->cause, "classes", write_hex(classes, a->classes, a->n_classes));
    json_object_set_new(o, "ppp", json_boolean(a->ppp));
    text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    free(classes);
    if (text == NULL)
        abort();
    return text;
}

static void read_text(const json_t *o, const char *key, char *to, size_t room)
{
    const char *text = json_string_value(json_object_get(o, key));

    snprintf(to, room, "%s", text != NULL ? text : "");
}

static void read_ipv6(const json_t *o, struct cpe_prefixes *p)
{
    char wan[IPV6_TEXT], delegated[DELEGATED_TEXT];
    struct ipv6 prefix[CPE_DELEGATED];
    int n;

    read_text(o, "ipv6", wan, sizeof(wan));
    read_text(o, "delegated", delegated, sizeof(delegated));
    if (wan[0] != '\0' && parse_prefix6(wan, &p->wan, &p->wan_len) != 0)
        p->wan_len = 0;
    n = delegated[0] != '\0' ? parse_prefixes6(delegated, prefix, p->delegated_len, CPE_DELEGATED)
                             : 0;
    for (int i = 0; i < n; i++)
        p->delegated[i] = prefix[i].upper;
    p->n_delegated = n > 0 ? (uint8_t)n : 0;
}

static struct account *read_object(const json_t *o)
{
    const char *classes = json_string_value(json_object_get(o, "classes"));
    const char *name = json_string_value(json_object_get(o, "name"));
    struct account *a = name != NULL && classes != NULL ? make(name, strlen(classes) / 2) : NULL;

    if (a == NULL)
        return NULL;
    read_text(o, "id", a->id, sizeof(a->id));
    read_text(o, "line", a->line, sizeof(a->line));
    read_text(o, "mac", a->mac, sizeof(a->mac));
    a->ipv4 = (uint32_t)json_integer_value(json_object_get(o, "ipv4"));
    read_ipv6(o, &a->ipv6);
    a->begun = json_integer_value(json_object_get(o, "begun"));
    a->since = (uint64_t)json_integer_value(json_object_get(o, "since"));
    read_counters(json_object_get(o, "base"), a->base);
    read_counters(json_object_get(o, "last"), a->last);
    a->ppp = json_is_true(json_object_get(o, "ppp"));
    a->started = json_is_true(json_object_get(o, "started"));
    read_record(json_object_get(o, "interim"), &a->interim);
    read_record(json_object_get(o, "stop"), &a->stop);
    a->final = json_is_true(json_object_get(o, "final"));
    a->cause = (uint32_t)json_integer_value(json_object_get(o, "cause"));
    if (a->id[0] != '\0' && read_hex(classes, a->classes, a->n_classes))
        return a;
    account_free(a);
    return NULL;
}

struct account *account_parse(const char *text)
{
    json_t *o = json_loads(text, 0, NULL);
    struct account *a = o != NULL ? read_object(o) : NULL;

    json_decref(o);
    return a;
}
