/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/relay/state4.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cp/packet/hex.h"

#define MOST_CLIENT 255 /* octets of option 61 */

void octets_copy(struct dhcp4_bytes *b, const struct octets *o)
{
    b->n = 0;
    if (o == NULL)
        return;
    b->n = (uint8_t)o->n;
    memcpy(b->at, o->at, o->n);
}

char *state4_text(const struct relay4 *r)
{
    char server[20], from[20], client[2 * MOST_CLIENT + 1], *text;
    json_t *o = json_pack(
        "{s:s, s:s, s:I, s:s}", "server", format_ipv4(r->server, server, sizeof(server)), "from",
        format_ipv4(r->from, from, sizeof(from)), "expires", (json_int_t)r->expires, "client",
        r->client != NULL ? write_hex(client, r->client->at, r->client->n) : "");

    text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    if (text == NULL)
        abort();
    return text;
}

static bool read_object(const json_t *o, struct relay4 *r)
{
    const char *server = json_string_value(json_object_get(o, "server")),
               *from = json_string_value(json_object_get(o, "from")),
               *client = json_string_value(json_object_get(o, "client"));
    uint8_t octets[MOST_CLIENT];
    size_t n = client != NULL ? strlen(client) / 2 : 0;

    if (server == NULL || from == NULL || client == NULL || n > sizeof(octets) ||
        parse_ipv4(server, &r->server) != 0 || parse_ipv4(from, &r->from) != 0 ||
        !read_hex(client, octets, n))
        return false;
    r->expires = json_integer_value(json_object_get(o, "expires"));
    return octets_set(&r->client, octets, n);
}

bool state4_parse(const char *text, struct relay4 *r)
{
    json_t *o = json_loads(text, 0, NULL);
    bool right = o != NULL && read_object(o, r);

    json_decref(o);
    return right;
}

void state4_free(struct relay4 *r)
{
    if (r == NULL)
        return;
    free(r->access);
    free(r->message);
    free(r->reply);
    free(r->ack);
    free(r->client);
    free(r);
}
