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
    free(a->interim);
    free(a);
}

static struct account *make(const char *name, const char *line, size_t n_classes)
{
    size_t n_name = strlen(name) + 1, n_line = strlen(line) + 1;
    struct account *a = calloc(1, sizeof(*a) + n_classes + n_name + n_line);
    char *texts;

    if (a == NULL)
        return NULL;
    a->n_classes = (uint16_t)n_classes;
    texts = (char *)a->classes + n_classes;
    memcpy(texts, name, n_name);
    memcpy(texts + n_name, line, n_line);
    return a;
}

void account_refresh(struct account *a, const struct session *s)
{
    struct cpe_prefixes ipv6 = session6_prefixes(s);

    a->ipv4 = lease_is_held(s->lease4) ? s->address : 0;
    a->ipv6 = line_prefixes_of(&ipv6);
}

struct account *account_new(const struct session *s)
{
    char line[SESSION_LINE_TEXT];
    struct account *a = make(s->service->user, session_line(s, line), s->service->n_classes);

    if (a == NULL)
        return NULL;
    memcpy(a->id, s->service->id, sizeof(a->id));
    memcpy(a->classes, s->service->classes, s->service->n_classes);
    memcpy(a->mac, s->mac, sizeof(a->mac));
    a->ppp = s->ppp != NULL;
    account_refresh(a, s);
    return a;
}

uint64_t account_since(const json_t *row)
{
    return (uint64_t)json_integer_value(json_array_get(row, 1));
}

const uint64_t *account_sums(const struct account *a, uint64_t sum[ACCOUNT_COUNTERS])
{
    for (unsigned i = 0; i < ACCOUNT_COUNTERS; i++)
        sum[i] = a->base[i] + a->last[i];
    return sum;
}

void account_set_interim(struct account *a, int64_t time_s)
{
    if (a->interim == NULL)
        a->interim = malloc(sizeof(*a->interim));
    if (a->interim == NULL)
        return;
    a->interim->time_s = time_s;
    account_sums(a, a->interim->counter);
}

void account_forget_interim(struct account *a)
{
    free(a->interim);
    a->interim = NULL;
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

/* As versions have it that kept the counters of the end beside the sums. */
static json_t *end_json(const struct account *a)
{
    struct account_record r = {.time_s = a->ended};

    account_sums(a, r.counter);
    return record_json(&r);
}

static json_t *interim_json(const struct account *a)
{
    static const struct account_record none;

    return record_json(a->interim != NULL ? a->interim : &none);
}

static int64_t time_of(const json_t *record)
{
    return json_integer_value(json_object_get(record, "time"));
}

static void read_interim(const json_t *record, struct account *a)
{
    if (time_of(record) == 0)
        return;
    account_set_interim(a, time_of(record));
    if (a->interim != NULL)
        read_counters(json_object_get(record, "counters"), a->interim->counter);
}

char *account_text(const struct account *a)
{
    char wan[IPV6_TEXT], delegated[DELEGATED_TEXT], mac[20], *text,
        *classes = malloc(2 * (size_t)a->n_classes + 1);
    struct cpe_prefixes ipv6 = line_prefixes_all(&a->ipv6);
    json_t *o;

    if (classes == NULL)
        abort();
    o = json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:I, s:I, s:o, s:o, s:b, s:o, s:o, s:b, s:i, "
        "s:s}",
        "id", a->id, "line", account_line(a), "name", account_name(a), "mac",
        format_mac(a->mac, mac, sizeof(mac)), "ipv4", (json_int_t)a->ipv4, "ipv6",
        format_wan(&ipv6, wan), "delegated", format_delegated(&ipv6, delegated), "begun",
        (json_int_t)a->begun, "since", (json_int_t)a->since, "base", counters_json(a->base), "last",
        counters_json(a->last), "started", a->started, "interim", interim_json(a), "stop",
        end_json(a), "final", a->final, "cause", (int)a->cause, "classes",
        write_hex(classes, a->classes, a->n_classes));
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

static void read_ipv6(const json_t *o, struct line_prefixes *p)
{
    char wan[IPV6_TEXT], delegated[IPV6_TEXT];
    struct ipv6 prefix;

    read_text(o, "ipv6", wan, sizeof(wan));
    read_text(o, "delegated", delegated, sizeof(delegated));
    if (wan[0] != '\0' && parse_prefix6(wan, &p->wan, &p->wan_len) != 0)
        p->wan_len = 0;
    if (delegated[0] == '\0' || parse_prefix6(delegated, &prefix, &p->delegated_len) != 0)
        p->delegated_len = 0;
    else
        p->delegated = prefix.upper;
}

static struct account *read_object(const json_t *o)
{
    const char *classes = json_string_value(json_object_get(o, "classes"));
    const char *name = json_string_value(json_object_get(o, "name"));
    const char *line = json_string_value(json_object_get(o, "line"));
    const char *mac = json_string_value(json_object_get(o, "mac"));
    struct account *a = name != NULL && classes != NULL && strlen(classes) / 2 <= UINT16_MAX
                            ? make(name, line != NULL ? line : "", strlen(classes) / 2)
                            : NULL;

    if (a == NULL)
        return NULL;
    read_text(o, "id", a->id, sizeof(a->id));
    if (mac != NULL)
        parse_mac(mac, a->mac);
    a->ipv4 = (uint32_t)json_integer_value(json_object_get(o, "ipv4"));
    read_ipv6(o, &a->ipv6);
    a->begun = json_integer_value(json_object_get(o, "begun"));
    a->since = (uint64_t)json_integer_value(json_object_get(o, "since"));
    read_counters(json_object_get(o, "base"), a->base);
    read_counters(json_object_get(o, "last"), a->last);
    a->ppp = json_is_true(json_object_get(o, "ppp"));
    a->started = json_is_true(json_object_get(o, "started"));
    read_interim(json_object_get(o, "interim"), a);
    a->ended = time_of(json_object_get(o, "stop"));
    a->final = json_is_true(json_object_get(o, "final"));
    a->cause = (uint8_t)json_integer_value(json_object_get(o, "cause"));
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
