/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/aaa/changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cp/dhcp6/pool6.h"
#include "cp/dhcp6/session6.h"
#include "cp/lease.h"
#include "cp/userplane/userplane.h"

/* --- which session --- */

struct search {
    const struct cp *cp;
    const struct radius_change *change;
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

/* Has it this address by IA_NA? */
static bool has_address6(const struct session *s, struct ipv6 address)
{
    return is_none6(address) || (session6_held(s) && s->v6->na.held && same6(s->v6->wan, address));
}

/* Does all that the change names fit? */
static bool fits(const struct session *s, const struct radius_change *c)
{
    char line[SESSION_LINE_TEXT], mac[20];

    return s->state == SESSION_UP && s->service != NULL &&
           (c->ipv4 == 0 || (lease_is_held(s->lease4) && c->ipv4 == s->address)) &&
           has_ipv6(s, &c->ipv6) && has_address6(s, c->address6) &&
           is_text(c->session, s->service->id) && is_text(c->line, session_line(s, line)) &&
           is_text(c->station, format_mac(s->mac, mac, sizeof(mac))) &&
           is_text(c->name, s->service->user);
}

static void look(struct search *search, struct session *s)
{
    if (s == NULL || s == search->found || !fits(s, search->change))
        return;
    if (search->n++ == 0)
        search->found = s;
}

static void look_at_line(struct search *search)
{
    struct radius_octets o = search->change->line;
    char line[SESSION_LINE_TEXT];

    if (o.n >= sizeof(line))
        return;
    snprintf(line, sizeof(line), "%.*s", (int)o.n, (const char *)o.p);
    look(search, session_of_line(&search->cp->sessions, search->cp->config, line));
}

static void look_at_names(struct search *search, enum name_kind kind, struct radius_octets text)
{
    const struct name *n = names_find(&search->cp->sessions.names, kind, text.p, text.n);

    for (; n != NULL; n = names_next(n))
        look(search, n->session);
}

static void look_at_pools(struct search *search)
{
    for (unsigned i = 0; i < search->cp->config->n_pools; i++)
        look(search, pool_owner(&search->cp->pools[i], search->change->ipv4));
}

static void look_at_pools6(struct search *search)
{
    const struct cpe_prefixes *named = &search->change->ipv6;
    struct ipv6 link = named->wan_len != 0 ? named->wan : search->change->address6;

    for (unsigned i = 0; i < search->cp->config->pools6.n; i++) {
        const struct pools6 *p = &search->cp->pools6[i];

        if (!is_none6(link))
            look(search, pool6_owner(&p->wan, link.upper & mask64(p->wan.len)));
        else
            look(search, pool6_owner(&p->delegated, named->delegated[0]));
    }
}

static void look_at_one(struct session *s, void *search)
{
    look(search, s);
}

static bool names_ipv6(const struct radius_change *change)
{
    return change->ipv6.wan_len != 0 || !is_none6(change->address6) ||
           change->ipv6.n_delegated != 0;
}

/* One of what the change names leads to the sessions that it may mean, of which there are few; but
 * to addresses that are of another server's pools, which all lines are searched for. */
static struct session *find(struct cp *cp, const struct radius_change *change,
                            enum radius_error *error)
{
    struct search search = {.cp = cp, .change = change};

    if (change->session.n > 0)
        look_at_names(&search, NAME_ID, change->session);
    else if (change->line.n > 0)
        look_at_line(&search);
    else if (change->ipv4 != 0)
        look_at_pools(&search);
    else if (names_ipv6(change))
        look_at_pools6(&search);
    else if (change->station.n > 0)
        look_at_names(&search, NAME_STATION, change->station);
    else
        look_at_names(&search, NAME_USER, change->name);
    if (search.n == 0 && change->session.n == 0 && change->line.n == 0 &&
        (change->ipv4 != 0 || names_ipv6(change)))
        sessions_each(&cp->sessions, look_at_one, &search);
    *error = search.n == 0   ? RADIUS_SESSION_NOT_FOUND
             : search.n == 1 ? RADIUS_NO_ERROR
                             : RADIUS_SEVERAL_SESSIONS;
    return search.found;
}

/* A CoA-Request that names a session, but a delegated prefix that is not the session's, wants
 * another one for it (RFC 5176 section 3.6): a CPE learns of one when it renews, no sooner. */
static bool wants_other_prefix(struct cp *cp, const struct radius_change *change)
{
    struct radius_change rest = *change;
    enum radius_error error;

    rest.ipv6.n_delegated = 0;
    if (change->disconnect || change->ipv6.n_delegated == 0 || !radius_names_session(&rest))
        return false;
    find(cp, &rest, &error);
    return error == RADIUS_NO_ERROR;
}

/* --- changes --- */

static void answer_at_end_of_turn(struct cp *cp, struct radius_coa *coa)
{
    if (cp->n_made == cp->room_made) {
        cp->room_made = cp->room_made > 0 ? cp->room_made * 2 : 64;
        cp->made = reallocarray(cp->made, cp->room_made, sizeof(struct radius_coa *));
        if (cp->made == NULL)
            abort();
    }
    cp->made[cp->n_made++] = coa;
}

void changes_end_turn(struct cp *cp, bool committed)
{
    for (uint32_t i = 0; i < cp->n_made; i++)
        radius_answer_change(cp->made[i], committed ? RADIUS_NO_ERROR : RADIUS_NO_RESOURCES);
    cp->n_made = 0;
}

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
        answer_at_end_of_turn(p->cp, p->coa);
    } else {
        session_log(s, "RADIUS: the profile stays: %s", error);
        radius_answer_change(p->coa, RADIUS_INVALID_VALUE);
    }
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

    if (error == RADIUS_SESSION_NOT_FOUND && wants_other_prefix(cp, change))
        error = RADIUS_INVALID_VALUE;
    if (error == RADIUS_NO_ERROR &&
        (change->has_session_s || change->has_idle_s || change->has_interim_s))
        error = RADIUS_UNSUPPORTED_ATTRIBUTE;
    if (error == RADIUS_NO_ERROR && change->profile.n > 0) {
        set_profile(cp, s, coa, change->profile);
        return;
    }
    if (error != RADIUS_NO_ERROR) {
        radius_answer_change(coa, error);
        return;
    }
    if (change->disconnect)
        lease_end_for(cp, s, RADIUS_CAUSE_ADMIN_RESET, "RADIUS: Disconnect-Request");
    answer_at_end_of_turn(cp, coa);
}
