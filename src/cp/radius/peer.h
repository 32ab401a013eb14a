/* SPDX-License-Identifier: BSD-3-Clause */
/* A server in one role: its sockets, the requests that are under way to it, and whether it lives.
 */
#ifndef CP_RADIUS_PEER_H
#define CP_RADIUS_PEER_H

#include "cp/radius/request.h"

#define IDS 256 /* requests under way on a socket (RFC 2865 section 3) */

struct peer;

struct peer_socket {
    struct peer *peer;
    int fd;
    unsigned n;      /* requests under way */
    uint8_t next_id; /* from which a free one is looked for: each has its turn */
    struct radius_request *of[IDS];
};

struct peer {
    const struct radius_config *config;
    const union radius_address *address;
    struct radius_octets secret;
    enum radius_role role;
    uint8_t bit;                                     /* in radius_request.tried */
    int epoll;                                       /* it watches the sockets */
    struct peer_socket *sockets[RADIUS_SOCKETS_MAX]; /* the first n_sockets are open */
    unsigned n_sockets;
    uint32_t pending;
    struct request_list sent[RADIUS_RETRIES_MAX + 1]; /* by sends - 1; the next due first */
    struct radius_request *trial;                     /* whether a dead one lives again */
    uint64_t dead_until;                              /* 0: it lives */
    uint64_t heard;                                   /* when it last gave a genuine answer */
    struct radius_peer_counts counts;
    struct hist rtt_us;
};

/** Begin with one socket. Returns 0 or -errno. */
int peer_open(struct peer *p, const struct radius_config *config, unsigned server,
              enum radius_role role, int epoll);
void peer_close(struct peer *p);

/** May a request be sent to it: it lives, or it is time to see whether it does? */
bool peer_is_usable(const struct peer *p, uint64_t now);

/** Send a request, which is in some list, for the first time. Returns false, and does nothing,
 * where as many are under way as may be. */
bool peer_send(struct peer *p, struct radius_request *q, uint64_t now);

/** When something is due, or UINT64_MAX. */
uint64_t peer_next(const struct peer *p);

/** Send again what is due. What was sent often enough goes to the list unanswered, and, if the
 * server is dead by that, all the others that were under way. */
void peer_expire(struct peer *p, uint64_t now, struct request_list *unanswered);

/** Take the next answer on a socket. Returns its request, which is in no list any more, or NULL
 * where there is none; those that are not genuine are counted and passed over. packet:
 * RADIUS_PACKET_MAX octets, of which *len are the answer. */
struct radius_request *peer_receive(struct peer_socket *s, uint64_t now, uint8_t *packet,
                                    size_t *len);

/** Forget a request that is under way. */
void peer_forget(struct radius_request *q);

#endif
