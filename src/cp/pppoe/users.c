/* SPDX-License-Identifier: BSD-3-Clause */
/* Users of the configuration, where there is no RADIUS. */
#include <string.h>

#include <nettle/md5.h>
#include <nettle/memops.h>

#include "cp/pppoe/config.h"

static const struct pppoe_user *find(const struct pppoe_config *c, struct ppp_bytes name)
{
    for (unsigned i = 0; i < c->n_users; i++)
        if (strlen(c->users[i].name) == name.n && memcmp(c->users[i].name, name.at, name.n) == 0)
            return &c->users[i];
    return NULL;
}

/* RFC 1994 section 4.1: the digest of identifier, secret and challenge. */
static bool responds(const struct pppoe_user *u, const struct ppp_proof *proof)
{
    uint8_t right[MD5_DIGEST_SIZE];
    struct md5_ctx md5;

    md5_init(&md5);
    md5_update(&md5, 1, &proof->id);
    md5_update(&md5, strlen(u->password), (const uint8_t *)u->password);
    md5_update(&md5, proof->challenge.n, proof->challenge.at);
    md5_digest(&md5, sizeof(right), right);
    return memeql_sec(right, proof->response, PPP_CHAP_DIGEST);
}

bool pppoe_user_proves(const struct pppoe_config *c, const struct ppp_proof *proof)
{
    const struct pppoe_user *u = find(c, proof->name);

    if (u == NULL)
        return false;
    if (proof->method == PPP_CHAP)
        return responds(u, proof);
    return strlen(u->password) == proof->password.n &&
           memeql_sec(u->password, proof->password.at, proof->password.n);
}
