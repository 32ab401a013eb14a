/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/dhcp6/session6.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cp/packet/hex.h"

void session6_free(struct session6 *v)
{
    if (v == NULL)
        return;
    free(v->waiting);
    free(v->duid);
    free(v);
}

struct dhcp6_duid session6_client(const struct session6 *v)
{
    struct dhcp6_duid d = {.n = v->duid != NULL ? (uint8_t)v->duid->n : 0};

    octets_append(v->duid, d.at, 0, sizeof(d.at));
    return d;
}

void session6_set_client(struct session6 *v, const struct dhcp6_duid *client)
{
    if (!session6_is_client(v, client) && !octets_set(&v->duid, client->at, client->n))
        abort();
}

bool session6_is_client(const struct session6 *v, const struct dhcp6_duid *client)
{
    struct dhcp6_duid d = session6_client(v);

    return dhcp6_same_duid(&d, client);
}

/* The line has it, and is to have it. */
static bool keeps_wan(const struct session6 *v)
{
    return v->has_wan && !v->wan_ends;
}

struct cpe_prefixes session6_prefixes(const struct session *s)
{
    struct cpe_prefixes p = {.wan_len = 0};

    if (!session6_held(s))
        return p;
    if (keeps_wan(s->v6)) {
        p.wan = first6(s->v6->wan, s->v6->wan_len);
        p.wan_len = s->v6->wan_len;
    }
    if (s->v6->pd.held) {
        p.delegated[0] = s->v6->delegated;
        p.delegated_len[0] = s->v6->delegated_len;
        p.n_delegated = 1;
    }
    return p;
}

char *session6_blocks(const struct session6 *v, char buf[SESSION6_TEXT])
{
    char wan[IPV6_TEXT] = "", delegated[IPV6_TEXT] = "";

    if (v->has_wan)
        format_prefix6(first6(v->wan, v->wan_len), v->wan_len, wan);
    if (v->has_delegated)
        format_prefix6((struct ipv6){v->delegated, 0}, v->delegated_len, delegated);
    snprintf(buf, SESSION6_TEXT, "%s%s%s", wan, v->has_wan && v->has_delegated ? " " : "",
             delegated);
    return buf;
}

/* --- in the store --- */

static json_t *iaid_json(const struct ia6 *ia)
{
    return ia->held ? json_integer(ia->iaid) : json_null();
}

char *session6_text(const struct session6 *v, const struct session6_giver *giver)
{
    char duid[2 * DHCP6_MAX_DUID + 1], wan[IPV6_TEXT], delegated[IPV6_TEXT], *text;
    struct dhcp6_duid client = session6_client(v);
    json_t *o =
        json_pack("{s:s, s:o, s:o, s:I}", "duid", write_hex(duid, client.at, client.n), "na",
                  iaid_json(&v->na), "pd", iaid_json(&v->pd), "expires", (json_int_t)v->expires);

    if (keeps_wan(v))
        json_object_set_new(o, "wan", json_string(format_ipv6(v->wan, wan)));
    if (v->pd.held)
        json_object_set_new(o, "delegated",
                            json_string(format_prefix6((struct ipv6){v->delegated, 0},
                                                       v->delegated_len, delegated)));
    if (giver->duid.n > 0) {
        write_hex(duid, giver->duid.at, giver->duid.n);
        json_object_set_new(o, "server", json_string(duid));
        json_object_set_new(o, "until", json_integer(giver->expires));
    }
    if (v->wan_len != SESSION6_WAN_LEN)
        json_object_set_new(o, "wan_len", json_integer(v->wan_len));
    text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    if (text == NULL)
        abort();
    return text;
}

static bool read_duid(const char *text, struct dhcp6_duid *d)
{
    size_t n = strlen(text);

    if (n == 0 || n % 2 != 0 || n > 2 * (size_t)DHCP6_MAX_DUID)
        return false;
    d->n = (uint8_t)(n / 2);
    return read_hex(text, d->at, d->n);
}

static struct ia6 iaid_of(const json_t *o, const char *key)
{
    const json_t *iaid = json_object_get(o, key);

    return (struct ia6){json_is_integer(iaid), (uint32_t)json_integer_value(iaid)};
}

static bool read_object(const json_t *o, struct session6 *v, struct session6_giver *giver)
{
    const json_t *wan_len = json_object_get(o, "wan_len"), *until = json_object_get(o, "until");
    const char *duid = json_string_value(json_object_get(o, "duid")),
               *wan = json_string_value(json_object_get(o, "wan")),
               *delegated = json_string_value(json_object_get(o, "delegated")),
               *by = json_string_value(json_object_get(o, "server"));
    struct ipv6 prefix = {0, 0};
    struct dhcp6_duid client;

    if (duid == NULL || !read_duid(duid, &client) || (by != NULL && !read_duid(by, &giver->duid)))
        return false;
    session6_set_client(v, &client);
    v->wan_len = json_is_integer(wan_len) ? 128 : SESSION6_WAN_LEN;
    v->na = iaid_of(o, "na");
    v->pd = iaid_of(o, "pd");
    v->expires = json_integer_value(json_object_get(o, "expires"));
    giver->expires = until != NULL ? json_integer_value(until) : v->expires;
    v->has_wan = wan != NULL && parse_ipv6(wan, &v->wan) == 0;
    v->has_delegated =
        delegated != NULL && parse_prefix6(delegated, &prefix, &v->delegated_len) == 0;
    v->delegated = prefix.upper;
    return (v->has_wan || !v->na.held) && v->has_delegated == v->pd.held;
}

bool session6_parse(const char *text, struct session6 *v, struct session6_giver *giver)
{
    json_t *o = json_loads(text, 0, NULL);
    bool right = o != NULL && read_object(o, v, giver);

    json_decref(o);
    if (!right)
        octets_set(&v->duid, NULL, 0);
    return right;
}
