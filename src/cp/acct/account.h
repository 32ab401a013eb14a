/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The account of a session: its usage, and the accounting records that no server has acknowledged
 * yet (RFC 2866). The account is one text in the store, so that the sums go on after a crash of any
 * process, and each record is sent until a server has acknowledged it.
 */
#ifndef CP_ACCT_ACCOUNT_H
#define CP_ACCT_ACCOUNT_H

#include <jansson.h>
#include <string.h>

#include "cp/session.h"

#define ACCOUNT_COUNTERS 8 /* packets and octets of IPv4, of IPv6 sent, and the same received */

/** What a session had used at a time. */
struct account_record {
    int64_t time_s; /* since 1970 */
    uint64_t counter[ACCOUNT_COUNTERS];
};

struct account {
    char id[SERVICE_ID]; /* Acct-Session-Id */
    uint8_t mac[6];
    bool ppp;      /* it is a session of PPPoE */
    bool started;  /* a server has taken the start */
    bool final;    /* nothing is counted any more */
    uint8_t cause; /* of the end: enum radius_cause */
    uint16_t n_classes;
    uint32_t ipv4; /* 0: none */
    struct line_prefixes ipv6;
    int64_t begun, ended; /* seconds since 1970; ended 0: it goes on */
    uint64_t since;       /* of the user plane's counters: others begin at 0 again */
    uint64_t base[ACCOUNT_COUNTERS], last[ACCOUNT_COUNTERS]; /* before since, and from then on */
    struct account_record *interim; /* the last one that is to be sent, or NULL */

    /* not in the store */
    struct session *session; /* NULL: it is over, and the user plane has forgotten it */
    struct radius_request *request;
    struct acct *owner;
    int64_t next_interim; /* seconds since 1970; 0: none */
    uint32_t place;       /* among its owner's */
    uint8_t asked;        /* enum radius_status of the request */
    bool dirty;           /* the store does not have it so */
    bool taken;           /* by a server, to the end */

    uint8_t classes[]; /* of the answer that let him in; then User-Name, and the line's name */
};

static inline const char *account_name(const struct account *a)
{
    return (const char *)a->classes + a->n_classes;
}
static inline const char *account_line(const struct account *a)
{
    return account_name(a) + strlen(account_name(a)) + 1;
}

/** Of a session that is up. Returns NULL without memory. */
struct account *account_new(const struct session *s);
void account_free(struct account *a);

/** What a session has now of addresses, which records say. */
void account_refresh(struct account *a, const struct session *s);

/** Since when a row of the user plane counts (doc/control.md, subscriber-octets). */
uint64_t account_since(const json_t *row);

/** Keep what it has used now as an interim record, instead of any; or none. Without memory none is
 * kept. */
void account_set_interim(struct account *a, int64_t time_s);
void account_forget_interim(struct account *a);

/** Take such a row. Counters of a new subscriber go on from the sum. Returns whether he is another
 * one than before: what there was then nobody but this account knows. */
bool account_count(struct account *a, const json_t *row);

/** What it has used; sum is returned. */
const uint64_t *account_sums(const struct account *a, uint64_t sum[ACCOUNT_COUNTERS]);

/** As a text for the store, to be freed, and from such. The latter returns NULL where it is none.
 */
char *account_text(const struct account *a);
struct account *account_parse(const char *text);

#endif
