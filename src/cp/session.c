/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/units.h"
#include "cp/dhcp6/session6.h"
#include "cp/pppoe/pppoe.h"
#include "cp/relay/relay4.h"
#include "cp/relay/relay6.h"

static const char *const state_names[N_SESSION_STATES] = {
    "none", "asking", "offered", "negotiating", "starting", "up", "ending"};

const char *session_state_name(enum session_state state)
{
    return state_names[state];
}

int sessions_open(struct sessions *t, uint32_t most)
{
    *t = (struct sessions){.n_buckets = 1, .most = most};
    while (t->n_buckets < most)
        t->n_buckets *= 2;
    t->bucket = calloc(t->n_buckets, sizeof(struct session *));
    return t->bucket != NULL && names_open(&t->names, t->n_buckets) == 0 ? 0 : -ENOMEM;
}

const char *session_profile(const struct session *s)
{
    return s->service != NULL && s->service->profile[0] != '\0' ? s->service->profile
                                                                : s->access->profile;
}

void session_take_service(struct sessions *t, struct session *s, struct service *service)
{
    char mac[20];

    s->service = service;
    format_mac(s->mac, mac, sizeof(mac));
    names_add(&t->names, &service->as[NAME_ID], s, NAME_ID, service->id, strlen(service->id));
    names_add(&t->names, &service->as[NAME_USER], s, NAME_USER, service->user,
              strlen(service->user));
    names_add(&t->names, &service->as[NAME_STATION], s, NAME_STATION, mac, strlen(mac));
}

void session_forget_service(struct sessions *t, struct session *s)
{
    if (s->service == NULL)
        return;
    for (unsigned i = 0; i < N_NAMES; i++)
        names_remove(&t->names, &s->service->as[i]);
    service_free(s->service);
    s->service = NULL;
}

const char *session_user(const struct session *s)
{
    if (s->service != NULL)
        return s->service->user;
    return s->ppp != NULL && pppoe_user(s)[0] != '\0' ? pppoe_user(s) : NULL;
}

static void release(struct sessions *t, struct session *s)
{
    free(s->events);
    free(s->waiting);
    session6_free(s->v6);
    relay4_free(s);
    relay6_free(s);
    if (s->ppp != NULL)
        pppoe_forget(s);
    session_forget_service(t, s);
    free(s);
}

void sessions_close(struct sessions *t)
{
    for (uint32_t i = 0; i < t->n_buckets; i++)
        for (struct session *s = t->bucket[i], *next; s != NULL; s = next) {
            next = s->next;
            release(t, s);
        }
    free(t->bucket);
    names_close(&t->names);
    *t = (struct sessions){0};
}

/* --- idle lines --- */

static void idle_add(struct sessions *t, struct session *s)
{
    s->older = t->newest;
    s->newer = NULL;
    *(t->newest != NULL ? &t->newest->newer : &t->oldest) = s;
    t->newest = s;
}

static void idle_remove(struct sessions *t, struct session *s)
{
    *(s->older != NULL ? &s->older->newer : &t->oldest) = s->newer;
    *(s->newer != NULL ? &s->newer->older : &t->newest) = s->older;
}

/* --- figures --- */

static void count(struct sessions *t, struct session *s, enum session_state state)
{
    if (state == SESSION_UP && s->up_as == 0) {
        s->up_as = s->ppp != NULL ? 1 + SESSION_PPPOE : 1 + SESSION_IPOE;
        t->of_kind[s->up_as - 1].up++;
        t->of_kind[s->up_as - 1].begun++;
    } else if (state != SESSION_UP && s->up_as != 0) {
        t->of_kind[s->up_as - 1].up--;
        t->of_kind[s->up_as - 1].ended++;
        s->up_as = 0;
    }
}

void sessions_count_anew(struct sessions *t)
{
    for (unsigned i = 0; i < N_SESSION_KINDS; i++)
        t->of_kind[i] = (struct session_figures){.up = t->of_kind[i].up};
    memset(t->failed, 0, sizeof(t->failed));
}

/* --- states --- */

void session_set_state(struct sessions *t, struct session *s, enum session_state state)
{
    if (s->state == SESSION_NONE && state != SESSION_NONE)
        idle_remove(t, s);
    if (s->state != SESSION_NONE && state == SESSION_NONE)
        idle_add(t, s);
    if (state == SESSION_NONE)
        session_forget_service(t, s);
    t->in_state[s->state]--;
    t->in_state[state]++;
    count(t, s, state);
    s->state = (uint8_t)state;
}

/* --- the table --- */

static struct session **bucket_of(const struct sessions *t, const struct cp_access *access,
                                  uint16_t svlan, uint16_t cvlan)
{
    uint64_t key = (uint64_t)(uintptr_t)access << 24 ^ (uint64_t)svlan << 12 ^ cvlan;

    return &t->bucket[key * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (t->n_buckets - 1)];
}

struct session *session_find(const struct sessions *t, const struct cp_access *access,
                             uint16_t svlan, uint16_t cvlan)
{
    struct session *s = *bucket_of(t, access, svlan, cvlan);

    while (s != NULL && (s->access != access || s->svlan != svlan || s->cvlan != cvlan))
        s = s->next;
    return s;
}

static void forget(struct sessions *t, struct session *s)
{
    struct session **at = bucket_of(t, s->access, s->svlan, s->cvlan);

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    idle_remove(t, s);
    t->in_state[SESSION_NONE]--;
    t->n--;
    release(t, s);
}

static struct session *make(struct sessions *t, const struct cp_access *access, uint16_t svlan,
                            uint16_t cvlan)
{
    struct session *s = calloc(1, sizeof(*s)), **bucket = bucket_of(t, access, svlan, cvlan);

    if (s == NULL)
        return NULL;
    s->access = access;
    s->svlan = svlan;
    s->cvlan = cvlan;
    s->next = *bucket;
    *bucket = s;
    t->n++;
    t->in_state[SESSION_NONE]++;
    idle_add(t, s);
    return s;
}

struct session *session_get(struct sessions *t, const struct cp_access *access, uint16_t svlan,
                            uint16_t cvlan)
{
    struct session *s = session_find(t, access, svlan, cvlan);

    if (s != NULL)
        return s;
    if (t->n == t->most && t->oldest == NULL)
        return NULL;
    if (t->n == t->most)
        forget(t, t->oldest);
    return make(t, access, svlan, cvlan);
}

void sessions_each(struct sessions *t, void (*call)(struct session *s, void *ctx), void *ctx)
{
    for (uint32_t i = 0; i < t->n_buckets; i++)
        for (struct session *s = t->bucket[i]; s != NULL; s = s->next)
            call(s, ctx);
}

struct session *session_of_line(const struct sessions *t, const struct cp_config *config,
                                const char *text)
{
    const char *blank = strchr(text, ' ');
    const struct cp_access *a;
    uint16_t svlan, cvlan;
    char port[SESSION_LINE_TEXT];

    if (blank == NULL || (size_t)(blank - text) >= sizeof(port) ||
        parse_vlan_pair(blank + 1, &svlan, &cvlan) != 0)
        return NULL;
    snprintf(port, sizeof(port), "%.*s", (int)(blank - text), text);
    a = cp_config_access(config, port, svlan, cvlan);
    return a != NULL ? session_find(t, a, svlan, cvlan) : NULL;
}

char *session_line(const struct session *s, char buf[SESSION_LINE_TEXT])
{
    snprintf(buf, SESSION_LINE_TEXT, "%s %u.%u", s->access->port, s->svlan, s->cvlan);
    return buf;
}

char *session_addresses(const struct session *s, char buf[SESSION_ADDRESSES])
{
    char ipv4[20] = "", ipv6[SESSION6_TEXT] = "";

    if (lease_is_held(s->lease4))
        format_ipv4(s->address, ipv4, sizeof(ipv4));
    if (session6_held(s))
        session6_blocks(s->v6, ipv6);
    snprintf(buf, SESSION_ADDRESSES, "%s%s%s", ipv4, ipv4[0] != '\0' && ipv6[0] != '\0' ? ", " : "",
             ipv6);
    return buf;
}

/* --- what happened --- */

static void add_event(struct session *s, const char *text)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    events_add(&s->events, now.tv_sec * 1000 + now.tv_nsec / 1000000, text);
}

void session_event(struct session *s, const char *fmt, ...)
{
    char text[EVENT_TEXT];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    add_event(s, text);
}

void session_log(struct session *s, const char *fmt, ...)
{
    char line[SESSION_LINE_TEXT], mac[20], text[EVENT_TEXT];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    add_event(s, text);
    log_info("session %s %s: %s", session_line(s, line), format_mac(s->mac, mac, sizeof(mac)),
             text);
}
