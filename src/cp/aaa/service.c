/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/aaa/service.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "cp/packet/hex.h"
#include "cp/radius/message.h"

static struct service *make(const char *user, size_t n_classes)
{
    size_t n_user = strnlen(user, SERVICE_USER - 1);
    struct service *s = calloc(1, sizeof(*s) + n_classes + n_user + 1);

    if (s == NULL)
        abort();
    s->n_classes = (uint16_t)n_classes;
    s->user = memcpy(s->classes + n_classes, user, n_user);
    return s;
}

void service_free(struct service *s)
{
    free(s);
}

static bool is_text(struct radius_octets o)
{
    for (size_t i = 0; i < o.n; i++)
        if (!isgraph(o.p[i]) || o.p[i] >= 0x80)
            return false;
    return true;
}

bool service_set_profile(struct service *s, struct radius_octets profile)
{
    if (profile.n == 0 || profile.n >= sizeof(s->profile) || !is_text(profile))
        return false;
    memcpy(s->profile, profile.p, profile.n);
    s->profile[profile.n] = '\0';
    return true;
}

/* The name that the server has for him, if it is a text. */
static char *user_of(const char *asked, struct radius_octets given, char buf[SERVICE_USER])
{
    if (given.n > 0 && given.n < SERVICE_USER && is_text(given))
        snprintf(buf, SERVICE_USER, "%.*s", (int)given.n, (const char *)given.p);
    else
        snprintf(buf, SERVICE_USER, "%s", asked);
    return buf;
}

struct service *service_new(const struct radius_answer *answer, const char *id, const char *user,
                            const char **why)
{
    char name[SERVICE_USER];
    struct service *s = make(user_of(user, answer->user, name), answer->classes.n);

    snprintf(s->id, sizeof(s->id), "%s", id);
    s->ipv4 = answer->ipv4;
    s->ipv6 = line_prefixes_of(&answer->ipv6);
    s->session_s = answer->session_s;
    s->interim_s = answer->interim_s;
    s->begun = time(NULL);
    if (answer->classes.n > 0)
        memcpy(s->classes, answer->classes.p, answer->classes.n);
    if (answer->profile.n == 0 || service_set_profile(s, answer->profile))
        return s;
    *why = "Filter-Id is no name of a profile";
    service_free(s);
    return NULL;
}

/* --- in the store --- */

char *service_text(const struct service *s)
{
    char classes[2 * RADIUS_CLASSES_MAX + 1], wan[IPV6_TEXT], delegated[DELEGATED_TEXT];
    struct cpe_prefixes ipv6 = line_prefixes_all(&s->ipv6);
    json_t *o;
    char *text;

    write_hex(classes, s->classes, s->n_classes);
    o = json_pack("{s:s, s:s, s:I, s:s, s:s, s:I, s:I, s:s}", "id", s->id, "profile", s->profile,
                  "ipv4", (json_int_t)s->ipv4, "wan", format_wan(&ipv6, wan), "delegated",
                  format_delegated(&ipv6, delegated), "session_s", (json_int_t)s->session_s,
                  "begun", (json_int_t)s->begun, "classes", classes);
    json_object_set_new(o, "interim_s", json_integer(s->interim_s));
    json_object_set_new(o, "user", json_string(s->user));
    text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    if (text == NULL)
        abort();
    return text;
}

/* What vbng-cp wrote before it knew IPv6 has neither text. */
static bool read_ipv6(const char *wan, const char *delegated, struct line_prefixes *p)
{
    struct ipv6 prefix;

    *p = (struct line_prefixes){.wan_len = 0};
    if (wan[0] != '\0' && parse_prefix6(wan, &p->wan, &p->wan_len) != 0)
        return false;
    if (delegated[0] == '\0')
        return true;
    if (parse_prefix6(delegated, &prefix, &p->delegated_len) != 0)
        return false;
    p->delegated = prefix.upper;
    return true;
}

static struct service *read_object(json_t *o, const char *asked)
{
    const char *id, *profile, *classes, *wan = "", *delegated = "", *user = "";
    json_int_t ipv4, session_s, begun;
    struct service *s;

    if (json_unpack(o, "{s:s, s:s, s:I, s?s, s?s, s:I, s:I, s:s, s?s}", "id", &id, "profile",
                    &profile, "ipv4", &ipv4, "wan", &wan, "delegated", &delegated, "session_s",
                    &session_s, "begun", &begun, "classes", &classes, "user", &user) != 0 ||
        strlen(classes) > 2 * RADIUS_CLASSES_MAX)
        return NULL;
    s = make(user[0] != '\0' ? user : asked, strlen(classes) / 2);
    snprintf(s->id, sizeof(s->id), "%s", id);
    snprintf(s->profile, sizeof(s->profile), "%s", profile);
    s->ipv4 = (uint32_t)ipv4;
    s->session_s = (uint32_t)session_s;
    s->interim_s = (uint32_t)json_integer_value(json_object_get(o, "interim_s"));
    s->begun = begun;
    if (read_hex(classes, s->classes, s->n_classes) && read_ipv6(wan, delegated, &s->ipv6))
        return s;
    service_free(s);
    return NULL;
}

struct service *service_parse(const char *text, const char *user)
{
    json_t *o = json_loads(text, 0, NULL);
    struct service *s = o != NULL ? read_object(o, user) : NULL;

    json_decref(o);
    return s;
}
