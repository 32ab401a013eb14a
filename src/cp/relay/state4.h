/* SPDX-License-Identifier: BSD-3-Clause */
/* What a line's relay of DHCPv4 has to keep. */
#ifndef CP_RELAY_STATE4_H
#define CP_RELAY_STATE4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cp/packet/dhcp4.h"
#include "cp/packet/octets.h"

struct relay4 {
    /* The message of the client that was taken last. */
    uint8_t type; /* enum dhcp4_type; 0: it is answered */
    bool unicast;
    uint8_t hops;
    uint8_t mac[6];
    uint16_t flags;
    uint32_t xid, ciaddr, requested;
    struct octets *access;  /* its option 82, or NULL */
    struct octets *message; /* all of it, until it is sent, or NULL */
    struct octets *reply;   /* the ACK to it, as the client is told it, or NULL */
    /* Of whoever has made the offer or given the lease. */
    uint32_t server, from; /* its identifier and address; 0: nobody yet */
    int64_t expires;       /* of its lease, seconds of CLOCK_REALTIME; 0: there is none */
    uint32_t lease;        /* how long it was when it was given; 0: not known any more */
    uint32_t own_xid;      /* of the REQUEST by which this gateway renews it, or 0 */
    struct octets *ack;    /* the server's ACK, of a proxy, or NULL */
    struct octets *client; /* option 61 of the client that has the lease, or NULL */
};

/** Octets as the value of an option. */
void octets_copy(struct dhcp4_bytes *b, const struct octets *o);

/** What is to be known of a lease after a restart, as a text to be freed. */
char *state4_text(const struct relay4 *r);

/** From such a text. Returns false where it is none. */
bool state4_parse(const char *text, struct relay4 *r);

/** Free what it has, and itself. */
void state4_free(struct relay4 *r);

#endif
