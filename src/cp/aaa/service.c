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

static struct service *make(size_t n_classes)
{
    struct service *s = calloc(1, sizeof(*s) + n_classes);

    if (s == NULL)
        abort();
    s->n_classes = (uint16_t)n_classes;
    service_set_user(s, "");
    return s;
}

void service_free(struct service *s)
{
    free(s->user);
    free(s);
}

void service_set_user(struct service *s, const char *user)
{
    free(s->user);
    s->user = strndup(user, SERVICE_USER - 1);
    if (s->user == NULL)
        abort();
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
static void take_user(struct service *s, const char *asked, struct radius_octets given)
{
    char user[SERVICE_USER];

    snprintf(user, sizeof(user), "%s", asked);
    if (given.n > 0 && given.n < sizeof(user) && is_text(given))
        snprintf(user, sizeof(user), "%.*s", (int)given.n, (const char *)given.p);
    service_set_user(s, user);
}

struct service *service_new(const struct radius_answer *answer, const char *id, const char *user,
                            const char **why)
{
    struct service *s = make(answer->classes.n);

    snprintf(s->id, sizeof(s->id), "%s", id);
    s->ipv4 = answer->ipv4;
    s->ipv6 = answer->ipv6;
    s->session_s = answer->session_s;
    s->interim_s = answer->interim_s;
    s->begun = time(NULL);
    take_user(s, user, answer->user);
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
    json_t *o;
    char *text;

    write_hex(classes, s->classes, s->n_classes);
    o = json_pack("{s:s, s:s, s:I, s:s, s:s, s:I, s:I, s:s}", "id", s->id, "profile", s->profile,
                  "ipv4", (json_int_t)s->ipv4, "wan", format_wan(&s->ipv6, wan), "delegated",
                  format_delegated(&s->ipv6, delegated), "session_s", (json_int_t)s->session_s,
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
static bool read_ipv6(const char *wan, const char *delegated, struct cpe_prefixes *p)
{
    struct ipv6 prefix;

    *p = (struct cpe_prefixes){.wan_len = 0};
    if (wan[0] != '\0' && parse_prefix6(wan, &p->wan, &p->wan_len) != 0)
        return false;
    if (delegated[0] == '\0')
        return true;
    if (parse_prefix6(delegated, &prefix, &p->delegated_len[0]) != 0)
        return false;
    p->delegated[0] = prefix.upper;
    p->n_delegated = 1;
    return true;
}

static struct service *read_object(json_t *o)
{
    const char *id, *profile, *classes, *wan = "", *delegated = "", *user = "";
    json_int_t ipv4, session_s, begun;
    struct service *s;

    if (json_unpack(o, "{s:s, s:s, s:I, s?s, s?s, s:I, s:I, s:s, s?s}", "id", &id, "profile",
                    &profile, "ipv4", &ipv4, "wan", &wan, "delegated", &delegated, "session_s",
                    &session_s, "begun", &begun, "classes", &classes, "user", &user) != 0 ||
        strlen(classes) > 2 * RADIUS_CLASSES_MAX)
        return NULL;
    s = make(strlen(classes) / 2);
    snprintf(s->id, sizeof(s->id), "%s", id);
    snprintf(s->profile, sizeof(s->profile), "%s", profile);
    s->ipv4 = (uint32_t)ipv4;
    s->session_s = (uint32_t)session_s;
    s->interim_s = (uint32_t)json_integer_value(json_object_get(o, "interim_s"));
    s->begun = begun;
    service_set_user(s, user);
    if (read_hex(classes, s->classes, s->n_classes) && read_ipv6(wan, delegated, &s->ipv6))
        return s;
    service_free(s);
    return NULL;
}

struct service *service_parse(const char *text)
{
    json_t *o = json_loads(text, 0, NULL);
    struct service *s = o != NULL ? read_object(o) : NULL;

    json_decref(o);
    return s;
}
