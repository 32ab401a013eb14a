/* SPDX-License-Identifier: BSD-3-Clause */
#include "keys_bed.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct task_schema end = {.type = "end", .kind = TASK_SINK};
static const struct task_schema *const schemas[] = {&end, NULL};

static char dir[] = "/tmp/vbng-test-keys-XXXXXX";
struct cfg_model *there; /* the running config that requests refer to */
struct diags diags;      /* of what was read last */

/* --- reading --- */

void put(const char *name, const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
        abort();
}

/* A configuration with these sections; maps: entries of the DSCP map. */
static struct cfg_model *load(const char *subscribers, const char *routes, const char *subport,
                              const char *maps)
{
    struct config_options options = {.schemas = schemas};
    char text[4096], path[128];

    snprintf(text, sizeof(text),
             "name = \"keys\"; memory = \"no-huge\"; topology = \"1x2x1\";\n"
             "pools = { default = { mbufs = \"4K\"; }; };\n"
             "ports = ( { name = \"cpe0\"; device = \"net_null0\"; },\n"
             "  { name = \"core0\"; device = \"net_null1\"; addresses = \"192.0.2.1\"; } );\n"
             "qos = { profiles = { slow = { rate = \"10M\"; }; fast = { rate = \"50M\"; }; };\n"
             "  dscp_maps = { map = { queues = ( %s ); default = { class = \"be\"; }; }; };\n"
             "  schedulers = { acc = { ports = \"cpe0\"; rate = \"1G\"; dscp_map = \"map\";\n"
             "    classes = ( { class = \"0\"; } );\n"
             "    subports = ( { name = \"all\"; %s } ); }; }; };\n"
             "subscribers = ( %s );\nroutes = ( %s );\n"
             "tasks = ( { name = \"t\"; type = \"end\"; from = [\"cpe0\", \"core0\"]; } );\n"
             "layout = ( { core = \"0\"; tasks = [\"t\"]; } );\n",
             maps, subport, subscribers, routes);
    put("test.cfg", text);
    diag_free(&diags);
    snprintf(path, sizeof(path), "%s/test.cfg", dir);
    return config_load(path, &options, &diags);
}

/* The only error of what was read last, or what else there was. */
const char *message(void)
{
    const char *text = NULL;

    for (size_t i = 0; i < diags.n; i++)
        if (diags.list[i].level == DIAG_ERROR)
            text = text == NULL ? diags.list[i].text : "(several errors)";
    return text != NULL ? text : "(no error)";
}

const char *message_of_file(const char *subscribers, const char *routes, const char *subport,
                            const char *maps)
{
    config_free(load(subscribers, routes, subport, maps));
    return message();
}

struct loader request(const char *at)
{
    diag_free(&diags);
    return (struct loader){.m = there, .d = &diags, .at = {at, 0}};
}

/* A request's object, read by a table; v has room for its values. Returns whether it is right. */
bool read_request(struct loader *l, const char *text, const char *what, const struct key *keys,
                  unsigned n, struct value *v)
{
    static json_t *object; /* values refer to it */

    json_decref(object);
    object = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(object);
    return read_object(l, object, what, keys, n, v);
}

/* --- objects, each with one value in the place of a right one --- */

const struct pair subscriber[] = {
    {"port", "cpe0"},
    {"svlan", "7"},
    {"cvlan", "8"},
    {"ipv4", "10.9.0.1/32"},
    {"gre_key", "9"},
    {"mac", "02:00:00:00:00:01"},
    {"profile", "slow"},
    {"name", "Zoë"},
    {"ipv6", "2001:db8::/64"},
    {"delegated", "2001:db8:1::/56"},
    {NULL, NULL},
};
const struct pair route[] = {
    {"prefix", "198.18.0.0/24"}, {"port", "core0"}, {"via", "192.0.2.9"},
    {"gre", "203.0.113.1"},      {"mpls", "16"},    {NULL, NULL},
};
const struct pair route_with_mac[] = {
    {"prefix", "198.18.0.0/24"}, {"port", "core0"}, {"mac", "02:00:00:00:00:01"}, {NULL, NULL}};
const struct pair entry[] = {{"dscp", "46"}, {"class", "0"}, {"queue", "0"}, {NULL, NULL}};

/* Values of keys, in the notation of fmt, with sep between them; the value of key is another. */
static char *written(char *buf, size_t size, const struct pair *p, const char *fmt, const char *sep,
                     const char *key, const char *value)
{
    size_t len = 0;

    for (buf[0] = '\0'; p->key != NULL; p++)
        len += (size_t)snprintf(buf + len, size - len, fmt, p->key,
                                strcmp(p->key, key) == 0 ? value : p->value,
                                p[1].key != NULL ? sep : "");
    CU_ASSERT_FATAL(len < size);
    return buf;
}

const char *group(const struct pair *p, const char *key, const char *value)
{
    static char buf[1024], body[1000];

    snprintf(buf, sizeof(buf), "{ %s }",
             written(body, sizeof(body), p, "%s = \"%s\";%s", " ", key, value));
    return buf;
}

const char *object(const struct pair *p, const char *key, const char *value)
{
    static char buf[1024], body[1000];

    snprintf(buf, sizeof(buf), "{ %s }",
             written(body, sizeof(body), p, "\"%s\": \"%s\"%s", ", ", key, value));
    return buf;
}

void put_row(const struct pair *p, const char *key, const char *value)
{
    char text[1024] = "", *at = text;

    for (const struct pair *k = p; k->key != NULL; k++)
        at += sprintf(at, "%s%s", k->key, k[1].key != NULL ? "," : "\n");
    for (const struct pair *k = p; k->key != NULL; k++)
        at += sprintf(at, "%s%s", strcmp(k->key, key) == 0 ? value : k->value,
                      k[1].key != NULL ? "," : "\n");
    put("test.csv", text);
}

void same(const char *where, const char *value, const char *text, const char *as)
{
    if (strcmp(text, as) != 0) {
        fprintf(stderr, "\n%s of '%s' says:  %s\n  elsewhere: %s\n", where, value, text, as);
        CU_FAIL("the message");
    }
}

const char *of_subscriber(const char *text)
{
    struct value v[N_SUBSCRIBER_KEYS];
    struct loader l = request("");

    if (read_request(&l, text, "subscriber", subscriber_keys, N_SUBSCRIBER_KEYS, v))
        check_families(&l, l.at, v);
    return message();
}

const char *of_route(const char *text)
{
    struct value v[N_ROUTE_KEYS];
    struct loader l = request("");
    struct route_block block;
    bool ok = read_request(&l, text, "route", route_keys, N_ROUTE_KEYS, v);

    take_route(&l, v, l.at, ok, &block);
    return message();
}

int open_folder(void)
{
    if (mkdtemp(dir) == NULL)
        return 1;
    there = load("", "", "", "");
    diag_print(&diags, stderr);
    return there == NULL;
}

int close_folder(void)
{
    char path[128];

    config_free(there);
    diag_free(&diags);
    snprintf(path, sizeof(path), "%s/test.cfg", dir);
    unlink(path);
    snprintf(path, sizeof(path), "%s/test.csv", dir);
    unlink(path);
    return rmdir(dir) != 0;
}
