/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/aaa/aaa.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/units.h"
#include "cp/aaa/changes.h"
#include "cp/dhcp6/lease6.h"
#include "cp/dhcp6/server.h"
#include "cp/ipoe4.h"
#include "cp/lease.h"
#include "cp/pppoe/pppoe.h"

/* A question that is under way: its session's s->asking. */
struct asking {
    struct cp *cp;
    struct session *s;
    struct radius_request *request;
    struct dhcp4 *v4;    /* what is answered when RADIUS has, or NULL */
    struct request6 *v6; /* the same */
};

struct aaa {
    struct cp *cp;
    struct radius *radius;
    struct watch watch;
    struct timer timer;
    uint64_t next_id; /* begins at the us since 1970: no name of an earlier run comes again */
};

/* --- the loop --- */

static void ready(struct watch *w, short revents, void *ctx)
{
    struct cp *cp = ctx;

    radius_run(cp->aaa->radius, now_ns());
}

static void fire(struct timer *t, void *ctx)
{
    struct cp *cp = ctx;

    radius_run(cp->aaa->radius, now_ns());
}

void aaa_end_turn(struct aaa *a)
{
    if (radius_next(a->radius) == 0)
        radius_run(a->radius, now_ns());
    timer_set(&a->cp->loop.timers, &a->timer, radius_next(a->radius));
}

/* --- answers --- */

static const char *refusal(const struct radius_answer *answer)
{
    switch (answer->outcome) {
    case RADIUS_REJECTED:
        return "rejected";
    case RADIUS_UNUSABLE:
        return "accepted with what cannot be";
    case RADIUS_NO_ANSWER:
        return "no server answers";
    default:
        return NULL;
    }
}

static enum cp_failure failure(const struct radius_answer *answer)
{
    return answer->outcome == RADIUS_REJECTED    ? FAIL_REJECTED
           : answer->outcome == RADIUS_NO_ANSWER ? FAIL_NO_ANSWER
                                                 : FAIL_UNUSABLE;
}

static bool is_name(struct radius_octets o, const char *name)
{
    return o.n == strlen(name) && memcmp(o.p, name, o.n) == 0;
}

/* A pool of its own would have to be the line's. */
static const char *misfit4(const struct cp *cp, const struct session *s,
                           const struct radius_answer *answer)
{
    if (answer->pool.n == 0 && answer->ipv4 == 0)
        return NULL;
    if (s->access->pool == CP_NO_POOL)
        return "the line has no IPv4";
    if (answer->pool.n > 0 && !is_name(answer->pool, pool_config(cp, s)->name))
        return "Framed-Pool is not the pool of the line";
    if (answer->ipv4 != 0 && !pool_has(pool_of(cp, s), answer->ipv4))
        return "Framed-IP-Address is not of the pool of the line";
    return NULL;
}

static const char *misfit6(const struct cp *cp, const struct session *s,
                           const struct radius_answer *answer)
{
    const struct cpe_prefixes *p = &answer->ipv6;
    const struct pools6 *pools;

    if (answer->pool6.n == 0 && answer->delegated_pool.n == 0 && p->wan_len == 0 &&
        p->n_delegated == 0)
        return NULL;
    if (s->access->pool6 == CP_NO_POOL)
        return "the line has no IPv6";
    pools = pools6_of(cp, s);
    if (answer->pool6.n > 0 && !is_name(answer->pool6, pool6_config(cp, s)->name))
        return "Framed-IPv6-Pool is not the pool6 of the line";
    if (answer->delegated_pool.n > 0 && !is_name(answer->delegated_pool, pool6_config(cp, s)->name))
        return "Delegated-IPv6-Prefix-Pool is not the pool6 of the line";
    if (p->wan_len != 0 && !pool6_has(&pools->wan, p->wan.upper & mask64(pools->wan.len)))
        return "Framed-IPv6-Prefix or -Address is not of the pool6 of the line";
    if (p->n_delegated > 1)
        return "there is more than one Delegated-IPv6-Prefix";
    if (p->n_delegated == 1 && (p->delegated_len[0] != pools->delegated.len ||
                                !pool6_has(&pools->delegated, p->delegated[0])))
        return "Delegated-IPv6-Prefix is none of the pool6 of the line";
    return NULL;
}

/* The name by which RADIUS is asked for who is on a line. */
static const char *asked_name(const struct cp *cp, const struct session *s,
                              char buf[SESSION_LINE_TEXT])
{
    const struct radius_config *config = cp->config->radius;

    if (s->ppp != NULL)
        return pppoe_user(s);
    return config != NULL && config->names_lines ? session_line(s, buf)
                                                 : format_mac(s->mac, buf, SESSION_LINE_TEXT);
}

const char *aaa_grant(struct cp *cp, struct session *s, const struct radius_answer *answer)
{
    struct aaa *a = cp->aaa;
    char id[SERVICE_ID], name[SESSION_LINE_TEXT];
    const char *why = refusal(answer);
    struct service *service;

    if (why == NULL)
        why = misfit4(cp, s, answer);
    if (why == NULL)
        why = misfit6(cp, s, answer);
    if (why != NULL) {
        sessions_fail(&cp->sessions, failure(answer));
        return why;
    }
    snprintf(id, sizeof(id), "%016" PRIx64, a->next_id++);
    service = service_new(answer, id, asked_name(cp, s, name), &why);
    if (service != NULL)
        session_take_service(&cp->sessions, s, service);
    return why;
}

void aaa_resume(struct cp *cp, struct session *s, const char *text)
{
    char name[SESSION_LINE_TEXT]; /* what a version before this one did not write */
    struct service *service = service_parse(text, asked_name(cp, s, name));

    if (service != NULL)
        session_take_service(&cp->sessions, s, service);
}

static void free_asking(struct asking *asking)
{
    if (asking == NULL)
        return;
    free(asking->v4);
    free(asking->v6);
    free(asking);
}

static void authorized(struct cp *cp, struct session *s, const struct asking *asking)
{
    if (asking->v4 != NULL)
        ipoe4_authorized(cp, s, asking->v4);
    if (asking->v6 != NULL)
        dhcp6_authorized(cp, s, asking->v6);
}

static void answered(void *ctx, const struct radius_answer *answer)
{
    struct asking *asking = ctx;
    struct session *s = asking->s;
    struct cp *cp = asking->cp;
    const char *why;

    s->asking = NULL;
    session_set_state(&cp->sessions, s, SESSION_NONE);
    why = aaa_grant(cp, s, answer);
    if (why == NULL)
        authorized(cp, s, asking);
    else
        session_log(s, "refused: RADIUS: %s%s%.*s", why, answer->message.n > 0 ? ": " : "",
                    (int)answer->message.n, (const char *)answer->message.p);
    if (s->state == SESSION_NONE)
        session_forget_service(&cp->sessions, s);
    free_asking(asking);
}

/* --- questions --- */

static struct asking *ask(struct cp *cp, struct session *s, const uint8_t mac_of[6])
{
    const struct radius_config *config = cp->config->radius;
    struct asking *asking = calloc(1, sizeof(*asking));
    struct radius_credentials credentials = {.kind = RADIUS_PAP};
    char line[SESSION_LINE_TEXT], mac[20], name[SESSION_LINE_TEXT];
    struct radius_user user = {.port_type = RADIUS_PORT_ETHERNET};

    if (asking == NULL)
        return NULL; /* the client asks again */
    memcpy(s->mac, mac_of, sizeof(s->mac));
    session_line(s, line);
    format_mac(s->mac, mac, sizeof(mac));
    user.line = user.circuit = radius_octets(line, strlen(line));
    user.station = radius_octets(mac, strlen(mac));
    asked_name(cp, s, name);
    user.name = radius_octets(name, strlen(name));
    credentials.password = config->password[0] != '\0'
                               ? radius_octets(config->password, strlen(config->password))
                               : user.name;
    asking->cp = cp;
    asking->s = s;
    /* None of these values is too long for its attribute. */
    asking->request = radius_access(cp->aaa->radius, &user, &credentials, answered, asking);
    session_set_state(&cp->sessions, s, SESSION_ASKING);
    session_event(s, "RADIUS is asked");
    return asking;
}

/* Keep a message for the answer, instead of any of its family. */
static void *keep(void *kept, const void *message, size_t n)
{
    if (kept == NULL)
        kept = malloc(n);
    return kept != NULL ? memcpy(kept, message, n) : NULL;
}

void aaa_ask4(struct cp *cp, struct session *s, const struct dhcp4 *q)
{
    if (s->asking == NULL)
        s->asking = ask(cp, s, q->mac);
    if (s->asking != NULL)
        s->asking->v4 = keep(s->asking->v4, q, sizeof(*q));
}

void aaa_ask6(struct cp *cp, struct session *s, const struct request6 *r)
{
    if (s->asking == NULL)
        s->asking = ask(cp, s, r->mac);
    if (s->asking != NULL)
        s->asking->v6 = keep(s->asking->v6, r, sizeof(*r));
}

enum radius_cause aaa_expiry(const struct session *s)
{
    return s->service != NULL && s->service->session_s != 0 &&
                   wall_seconds() >= s->service->begun + s->service->session_s
               ? RADIUS_CAUSE_SESSION_TIMEOUT
               : RADIUS_CAUSE_LOST_CARRIER;
}

uint32_t aaa_lease(const struct session *s, uint32_t lease)
{
    int64_t left;

    if (s->service == NULL || s->service->session_s == 0)
        return lease;
    left = s->service->begun + s->service->session_s - wall_seconds();
    return left < 1 ? 1 : left < lease ? (uint32_t)left : lease;
}

/* --- opening --- */

struct radius *aaa_radius(const struct aaa *a)
{
    return a->radius;
}

struct aaa *aaa_open(struct cp *cp)
{
    struct aaa *a = calloc(1, sizeof(*a));
    struct timespec now;
    const char *where;

    if (a == NULL)
        abort();
    a->cp = cp;
    clock_gettime(CLOCK_REALTIME, &now);
    a->next_id = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    a->radius = radius_open(cp->config->radius, &where);
    if (a->radius == NULL) {
        log_error("RADIUS: %s: %s", where, strerror(errno));
        free(a);
        return NULL;
    }
    a->watch = (struct watch){.fd = radius_fd(a->radius), .events = POLLIN, .ready = ready};
    a->timer.fire = fire;
    loop_add(&cp->loop, &a->watch);
    radius_on_change(a->radius, change_session, cp);
    return a;
}

static void forget_question(struct session *s, void *ctx)
{
    (void)ctx;
    free_asking(s->asking);
    s->asking = NULL;
}

void aaa_close(struct aaa *a)
{
    loop_remove(&a->cp->loop, &a->watch);
    timer_stop(&a->cp->loop.timers, &a->timer);
    radius_close(a->radius);
    sessions_each(&a->cp->sessions, forget_question, NULL);
    free(a);
}
