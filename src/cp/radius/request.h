/* SPDX-License-Identifier: BSD-3-Clause */
/* A request from when it is asked for until it is answered or given up, and lists of them. */
#ifndef CP_RADIUS_REQUEST_H
#define CP_RADIUS_REQUEST_H

#include <sys/queue.h>

#include "cp/radius/radius.h"

struct peer_socket;

TAILQ_HEAD(request_list, radius_request);

struct radius_request {
    TAILQ_ENTRY(radius_request) entry;
    struct request_list *list; /* in which it is */
    radius_done *done;
    void *ctx;
    struct peer_socket *socket; /* over which it was sent; NULL: it waits for a server */
    uint64_t sent;              /* first to this server */
    uint64_t due;               /* when it is sent again, or given up */
    uint8_t authenticator[RADIUS_AUTHENTICATOR];
    enum radius_role role;
    uint8_t id;
    uint8_t sends;       /* to this server */
    uint8_t tried;       /* bits of the servers that have not answered it */
    bool has_password;   /* hidden anew for each server */
    uint16_t n_body;     /* octets of attributes, all but the password */
    uint16_t n_password; /* behind them */
    uint8_t octets[];
};

/** Take a request out of its list and put it at the end of another. */
static inline void request_move(struct radius_request *q, struct request_list *to)
{
    TAILQ_REMOVE(q->list, q, entry);
    TAILQ_INSERT_TAIL(to, q, entry);
    q->list = to;
}

#endif
