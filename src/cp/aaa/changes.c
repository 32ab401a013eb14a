/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/aaa/changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cp/dhcp6/session6.h"
#include "cp/lease.h"
#include "cp/pppoe/pppoe.h"
#include "cp/userplane/userplane.h"

/* --- which session --- */

struct search {
    const struct radius_change *change;
    const struct radius_config *config;
    struct session *found; /* the first one */
    unsigned n;
};

static bool is_text(struct radius_octets o, const char *text)
{
    return o.n == 0 || (o.n == strlen(text) && memcmp(o.p, text, o.n) == 0);
}

static bool has_ipv6(const struct session *s, const struct cpe_prefixes *named)
{
    struct cpe_prefixes own = session6_prefixes(s);

    if (named->wan_len != 0 && (own.wan_len == 0 || own.wan.upper != named->wan.upper ||
                                (named->wan_len == 128 && named->wan.lower != s->v6->wan.lower)))
        return false;
    for (unsigned i = 0; i < named->n_delegated; i++)
        if (own.n_delegated == 0 || named->delegated[i] != own.delegated[0] ||
            named->delegated_len[i] != own.delegated_len[0])
            return false;
    return true;
}

/* Does all that the change names fit? */
static bool fits(const struct session *s, const struct radius_change *c,
                 const struct radius_config *config)
{
    char line[SESSION_LINE_TEXT], mac[20];

    session_line(s, line);
    format_mac(s->mac, mac, sizeof(mac));
    return s->state == SESSION_UP && s->service != NULL &&
           (c->ipv4 == 0 || (lease_is_held(s->lease4) && c->ipv4 == s->address)) &&
           has_ipv6(s, &c->ipv6) && is_text(c->session, s->service->id) && is_text(c->line, line) &&
           is_text(c->station, mac) &&
           is_text(c->name, s->ppp != NULL        ? pppoe_user(s)
                            : config->names_lines ? line
                                                  : mac);
}

static void look(struct session *s, void *ctx)
{
    struct search *search = ctx;

    if (!fits(s, search->change, search->config))
        return;
    if (search->n++ == 0)
        search->found = s;
}

static struct session *find(struct cp *cp, const struct radius_change *change,
                            enum radius_error *error)
{
    struct search search = {.change = change, .config = cp->config->radius};

    sessions_each(&cp->sessions, look, &search);
    *error = search.n == 0   ? RADIUS_SESSION_NOT_FOUND
             : search.n == 1 ? RADIUS_NO_ERROR
                             : RADIUS_SEVERAL_SESSIONS;
    return search.found;
}

/* --- changes --- */

/* A profile that the user plane is to take. */
struct profile_change {
    struct cp *cp;
    struct radius_coa *coa;
    struct service service; /* of which only the profile counts */
};

static void profile_set(void *ctx, struct session *s, const char *error)
{
    struct profile_change *p = ctx;

    if (error == NULL) {
        memcpy(s->service->profile, p->service.profile, sizeof(p->service.profile));
        lease_changed(p->cp, s);
        session_log(s, "RADIUS: profile %s", s->service->profile);
    } else {
        session_log(s, "RADIUS: the profile stays: %s", error);
    }
    radius_answer_change(p->coa, error == NULL ? RADIUS_NO_ERROR : RADIUS_INVALID_VALUE);
    free(p);
}

static void set_profile(struct cp *cp, struct session *s, struct radius_coa *coa,
                        struct radius_octets profile)
{
    struct profile_change *p = calloc(1, sizeof(*p));

    if (p == NULL)
        abort();
    p->cp = cp;
    p->coa = coa;
    if (service_set_profile(&p->service, profile))
        userplane_set_profile(cp->userplane, s, p->service.profile, profile_set, p);
    else
        profile_set(p, s, "Filter-Id is no name of a profile");
}

void change_session(void *ctx, struct radius_coa *coa, const struct radius_change *change)
{
    struct cp *cp = ctx;
    enum radius_error error;
    struct session *s = find(cp, change, &error);

    if (error == RADIUS_NO_ERROR &&
        (change->has_session_s || change->has_idle_s || change->has_interim_s))
        error = RADIUS_UNSUPPORTED_ATTRIBUTE;
    if (error == RADIUS_NO_ERROR && change->profile.n > 0) {
        set_profile(cp, s, coa, change->profile);
        return;
    }
    if (error == RADIUS_NO_ERROR && change->disconnect)
        lease_end_for(cp, s, RADIUS_CAUSE_ADMIN_RESET, "RADIUS: Disconnect-Request");
    radius_answer_change(coa, error);
}
