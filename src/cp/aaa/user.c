/* SPDX-License-Identifier: BSD-3-Clause */
/* The question to RADIUS for a user of PPPoE: by what his CPE has said, not by his line. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cp/aaa/aaa.h"
#include "cp/pppoe/pppoe.h"

static struct radius_octets text(const char *s)
{
    return radius_octets(s, strlen(s));
}

static void answered(void *ctx, const struct radius_answer *answer)
{
    struct session *s = ctx;
    struct cp *cp = pppoe_cp(s);

    session_forget_service(&cp->sessions, s);
    pppoe_judged(s, aaa_grant(cp, s, answer), answer->message);
}

static struct radius_credentials credentials_of(const struct ppp_proof *proof)
{
    struct radius_credentials c = {.kind = RADIUS_PAP};

    if (proof->method == PPP_PAP) {
        c.password = radius_octets(proof->password.at, proof->password.n);
        return c;
    }
    c.kind = RADIUS_CHAP;
    c.chap_id = proof->id;
    c.challenge = radius_octets(proof->challenge.at, proof->challenge.n);
    memcpy(c.response, proof->response, sizeof(c.response));
    return c;
}

struct radius_request *aaa_ask_user(struct cp *cp, struct session *s, const struct ppp_proof *proof,
                                    const char *user, const char *circuit, const char *remote)
{
    struct radius_credentials credentials = credentials_of(proof);
    struct radius_user u = {.port_type = RADIUS_PORT_PPPOE_QINQ};
    char line[SESSION_LINE_TEXT], mac[20];

    session_line(s, line);
    u.name = text(user);
    u.line = text(line);
    u.station = text(format_mac(s->mac, mac, sizeof(mac)));
    u.circuit = circuit[0] != '\0' ? text(circuit) : u.line;
    u.remote = text(remote);
    return radius_access(aaa_radius(cp->aaa), &u, &credentials, answered, s);
}

void aaa_forget_user(struct radius_request *question)
{
    if (question != NULL)
        radius_cancel(question);
}
