/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IPv6 of a line: the /64 of the link, out of which the client may get one address (IA_NA), and a
 * delegated prefix (IA_PD). Both have one lease.
 */
#ifndef CP_DHCP6_SESSION6_H
#define CP_DHCP6_SESSION6_H

#include "cp/packet/dhcp6.h"
#include "cp/packet/octets.h"
#include "cp/session.h"

#define SESSION6_WAN_LEN 64 /* of a link on which hosts make addresses: RFC 4862 section 5.5.3 */
#define SESSION6_TEXT    (2 * IPV6_TEXT)

/** A message of a client, and what of its frame the answer needs. */
struct request6 {
    uint8_t mac[6];
    struct ipv6 from; /* link-local */
    struct dhcp6 m;
};

/** The server behind this gateway that has given a lease; duid.n 0: this one has. */
struct session6_giver {
    int64_t expires; /* of its lease, seconds of CLOCK_REALTIME */
    struct dhcp6_duid duid;
};

/** One of the client's identity associations. */
struct ia6 {
    bool held; /* it has its lease */
    uint32_t iaid;
};

struct session6 {
    struct timer timer;            /* the first member: of an offer, or of the lease */
    uint8_t state;                 /* enum lease_state */
    bool has_wan, has_delegated;   /* blocks of the pool are kept for the line */
    bool delegated_ends, wan_ends; /* the user plane is to forget it, and then it is free */
    uint8_t wan_len; /* SESSION6_WAN_LEN, or 128: a server behind has given the address alone */
    uint8_t delegated_len;
    struct ia6 na, pd;
    struct ipv6 wan; /* the address of IA_NA: its upper half is the block, or the last one */
    uint64_t delegated;
    int64_t expires;          /* seconds of CLOCK_REALTIME */
    struct request6 *waiting; /* the request that is to be answered, or NULL */
    struct octets *duid;      /* the client's; NULL: none has had a lease */
    struct name host; /* as which it is found by such an address; its session is always there */
};

void session6_free(struct session6 *v);

/** The name of the client that has a lease, and has it from now on. The latter aborts without
 * memory. */
struct dhcp6_duid session6_client(const struct session6 *v);
void session6_set_client(struct session6 *v, const struct dhcp6_duid *client);
bool session6_is_client(const struct session6 *v, const struct dhcp6_duid *client);

/** The session's lease of IPv6 is starting or up. */
static inline bool session6_held(const struct session *s)
{
    return s->v6 != NULL && lease_is_held(s->v6->state);
}

/** What the user plane is to have of a session. */
struct cpe_prefixes session6_prefixes(const struct session *s);

/** The prefixes that are kept for a line, "2001:db8::/64 2001:db8:100::/56"; buf is returned. */
char *session6_blocks(const struct session6 *v, char buf[SESSION6_TEXT]);

/** A lease as a text for the store, to be freed. */
char *session6_text(const struct session6 *v, const struct session6_giver *giver);

/** Read such a text into zeros, but for state, timer and host. Returns false where it is none.
 */
bool session6_parse(const char *text, struct session6 *v, struct session6_giver *giver);

#endif
