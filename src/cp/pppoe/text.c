/* SPDX-License-Identifier: BSD-3-Clause */
/* A session as a text for the store: what both ends have agreed on, so that the CPE does not notice
 * that vbng-cp has been started again. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cp/pppoe/session.h"

char *pppoe_text(const struct session *s)
{
    const struct pppoe_session *p = s->ppp;
    const struct ppp *l = &p->link;
    json_t *o =
        json_pack("{s:i, s:s, s:I, s:I, s:i, s:i, s:i, s:b, s:s, s:s, s:I}", "id", (int)p->id,
                  "user", pppoe_user(s), "magic", (json_int_t)(l->without_magic ? 0 : l->magic),
                  "peer_magic", (json_int_t)l->peer_magic, "mru", (int)l->mru, "peer_mru",
                  (int)l->peer_mru, "most", (int)l->most, "without_address",
                  (int)l->without_address, "circuit", pppoe_text_of(p->circuit), "remote",
                  pppoe_text_of(p->remote), "iid", (json_int_t)(l->grant.ipv6 ? l->grant.iid : 0));
    char *text = json_dumps(o, JSON_COMPACT);

    json_decref(o);
    if (text == NULL)
        abort();
    return text;
}

static bool read_object(struct pppoe_session *p, json_t *o)
{
    struct ppp *l = &p->link;
    const char *user, *circuit, *remote;
    json_int_t magic, peer_magic;
    int mru, peer_mru, without_address;

    if (json_unpack(o, "{s:s, s:I, s:I, s:i, s:i, s:b, s:s, s:s}", "user", &user, "magic", &magic,
                    "peer_magic", &peer_magic, "mru", &mru, "peer_mru", &peer_mru,
                    "without_address", &without_address, "circuit", &circuit, "remote",
                    &remote) != 0)
        return false;
    pppoe_set_text(&p->user, user);
    pppoe_set_text(&p->circuit, circuit);
    pppoe_set_text(&p->remote, remote);
    l->without_magic = magic == 0;
    l->magic = magic != 0 ? (uint32_t)magic : l->magic;
    l->peer_magic = (uint32_t)peer_magic;
    l->mru = (uint16_t)mru;
    l->peer_mru = (uint16_t)peer_mru;
    l->without_address = without_address != 0;
    return true;
}

/* What was granted: the address is the line's, the network's own is that of the configuration now.
 */
static void take_up(struct pppoe_session *p, uint64_t iid)
{
    struct ppp_grant g = pppoe_grant(p);

    g.ipv6 = iid != 0 && p->line->access->pool6 != CP_NO_POOL;
    g.iid = iid;
    ppp_resume(&p->link, &g, now_ns());
    pppoe_set_limit(p);
}

bool pppoe_resume(struct cp *cp, struct session *s, const char *text)
{
    struct pppoe_ids *ids = cp->pppoe != NULL ? pppoe_ids_of(cp->pppoe, s) : NULL;
    json_t *o = json_loads(text, 0, NULL);
    uint16_t id = (uint16_t)json_integer_value(json_object_get(o, "id"));
    json_int_t most = json_integer_value(json_object_get(o, "most"));
    struct pppoe_session *p = NULL;
    bool ok = false;

    if (ids != NULL && lease_is_held(s->lease4) && most >= PPP_LEAST_MRU && most <= UINT16_MAX &&
        pppoe_id_take(ids, id))
        p = pppoe_make(cp, s, id, (uint16_t)most);
    if (p != NULL)
        ok = read_object(p, o);
    if (ok)
        take_up(p, (uint64_t)json_integer_value(json_object_get(o, "iid")));
    else if (p != NULL)
        pppoe_forget(s);
    if (p != NULL && !ok)
        pppoe_id_give(ids, id);
    json_decref(o);
    return ok;
}
