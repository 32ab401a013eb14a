/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The account of a session: what it has used, and which records of that no server has taken yet
 * (RFC 2866). It is one text in the store, so that whoever is killed, the sums go on, and each
 * record is sent until it is taken.
 */
#ifndef CP_ACCT_ACCOUNT_H
#define CP_ACCT_ACCOUNT_H

#include <jansson.h>

#include "cp/session.h"

#define ACCOUNT_COUNTERS 8 /* packets and octets of IPv4, of IPv6 sent, and the same received */
#define ACCOUNT_LINE     SESSION_LINE_TEXT

/** A record that is to be sent. */
struct account_record {
    int64_t time_s; /* of the event, since 1970; 0: there is none */
    uint64_t counter[ACCOUNT_COUNTERS];
};

struct account {
    char id[SERVICE_ID]; /* Acct-Session-Id */
    char line[ACCOUNT_LINE], mac[20];
    char *name;    /* User-Name */
    uint32_t ipv4; /* 0: none */
    struct cpe_prefixes ipv6;
    int64_t begun;  /* seconds since 1970 */
    uint64_t since; /* of the user plane's counters: others begin at 0 again */
    uint64_t base[ACCOUNT_COUNTERS], last[ACCOUNT_COUNTERS]; /* before since, and from then on */
    bool ppp;                                                /* it is a session of PPPoE */
    bool started;                                            /* a server has taken the start */
    struct account_record interim; /* the last one; an older one is not sent any more */
    struct account_record stop;
    bool final; /* the counters of stop are the last */
    uint32_t cause;
    uint8_t *classes; /* of the answer that let him in */
    size_t n_classes;

    /* not in the store */
    struct session *session; /* NULL: it is over, and the user plane has forgotten it */
    struct radius_request *request;
    uint32_t asked;       /* enum radius_status of the request */
    int64_t next_interim; /* seconds since 1970; 0: none */
    uint32_t place;       /* among its owner's */
    bool dirty;           /* the store does not have it so */
    bool taken;           /* by a server, to the end */
    struct acct *owner;
};

/** Of a session that is up. Returns NULL without memory. */
struct account *account_new(const struct session *s);
void account_free(struct account *a);

/** What a session has now of addresses, which records say. */
void account_refresh(struct account *a, const struct session *s);

/** Since when a row of the user plane counts (doc/control.md, subscriber-octets). */
uint64_t account_since(const json_t *row);

/** Take such a row. Counters of a new subscriber go on from the sum. Returns whether he is another
 * one than before: what there was then nobody but this account knows. */
bool account_count(struct account *a, const json_t *row);

/** The sum of a counter. */
static inline uint64_t account_sum(const struct account *a, unsigned i)
{
    return a->base[i] + a->last[i];
}

/** As a text for the store, to be freed, and from such. The latter returns NULL where it is none.
 */
char *account_text(const struct account *a);
struct account *account_parse(const char *text);

#endif
