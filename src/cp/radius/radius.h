/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of RADIUS servers (RFC 2865, 2866), and the server of their changes (RFC 5176): one
 * thread, in the caller's loop, nothing blocks. Times are of CLOCK_MONOTONIC in nanoseconds, so
 * that a test may have its own.
 */
#ifndef CP_RADIUS_RADIUS_H
#define CP_RADIUS_RADIUS_H

#include "base/hist.h"
#include "cp/radius/config.h"
#include "cp/radius/packet.h"

struct radius;
struct radius_request;

/* --- in the loop --- */

/** Open the sockets. The configuration must stay. Returns NULL with the reason in errno and, in
 * *where, the address that it is about. */
struct radius *radius_open(const struct radius_config *config, const char **where);

/** Close all. No request is called back any more. */
void radius_close(struct radius *r);

/** A descriptor that can be read from when radius_run() has something to do. */
int radius_fd(const struct radius *r);

/** When radius_run() is to be called although nothing has come; UINT64_MAX: never. */
uint64_t radius_next(const struct radius *r);

/** Send what waits, take what has come, give up what has waited too long. Calls back. */
void radius_run(struct radius *r, uint64_t now);

/* --- requests --- */

/** RFC 2865 section 5.41, RFC 4603. */
enum radius_port_type {
    RADIUS_PORT_ETHERNET = 15,
    RADIUS_PORT_PPPOE_QINQ = 34,
};

/** Whom a request is about. What is empty is left out. */
struct radius_user {
    struct radius_octets name;            /* User-Name */
    struct radius_octets session;         /* Acct-Session-Id */
    struct radius_octets line;            /* NAS-Port-Id, such as "cpe0 128.256" */
    struct radius_octets station;         /* Calling-Station-Id: his MAC */
    struct radius_octets called;          /* Called-Station-Id */
    struct radius_octets circuit, remote; /* RFC 4679: Agent-Circuit-Id, Agent-Remote-Id */
    enum radius_port_type port_type;
    uint32_t ipv4; /* 0: none */
    struct cpe_prefixes ipv6;
};

/** The credentials of a user. */
struct radius_credentials {
    enum { RADIUS_PAP, RADIUS_CHAP } kind;
    struct radius_octets password;  /* PAP: at most 128 octets */
    uint8_t chap_id;                /* CHAP (RFC 1994) */
    struct radius_octets challenge; /* at most 253 octets */
    uint8_t response[16];
};

enum radius_outcome {
    RADIUS_ACCEPTED,  /* or: the record has been taken */
    RADIUS_REJECTED,  /* or challenged, which RFC 2865 section 4.4 lets a NAS take for the same */
    RADIUS_UNUSABLE,  /* accepted with what this gateway cannot do: to be taken for a reject */
    RADIUS_NO_ANSWER, /* of any server */
};

/** What a server says of an Access-Request. Its octets live as long as the call. */
struct radius_answer {
    enum radius_outcome outcome;
    uint8_t unusable;                    /* type of the attribute that is to blame */
    uint32_t ipv4;                       /* 0: from a pool */
    struct cpe_prefixes ipv6;            /* what is not there comes from a pool */
    struct radius_octets pool;           /* Framed-Pool */
    struct radius_octets pool6;          /* Framed-IPv6-Pool */
    struct radius_octets delegated_pool; /* Delegated-IPv6-Prefix-Pool */
    struct radius_octets user;           /* User-Name, the first one */
    struct radius_octets profile;        /* Filter-Id, the first one */
    struct radius_octets message;        /* Reply-Message, the first one */
    struct radius_octets classes;        /* Class attributes as they are, for accounting */
    uint32_t session_s, idle_s;          /* Session-Timeout, Idle-Timeout; 0: none */
    uint32_t interim_s;                  /* Acct-Interim-Interval, at least 60; 0: none */
};

/** RFC 2866 section 5.1. */
enum radius_status {
    RADIUS_START = 1,
    RADIUS_STOP = 2,
    RADIUS_INTERIM = 3,
    RADIUS_ON = 7,
    RADIUS_OFF = 8,
};

/** RFC 2866 section 5.10. */
enum radius_cause {
    RADIUS_CAUSE_NONE = 0,
    RADIUS_CAUSE_USER_REQUEST = 1,
    RADIUS_CAUSE_LOST_CARRIER = 2,
    RADIUS_CAUSE_IDLE_TIMEOUT = 4,
    RADIUS_CAUSE_SESSION_TIMEOUT = 5,
    RADIUS_CAUSE_ADMIN_RESET = 6,
    RADIUS_CAUSE_ADMIN_REBOOT = 7,
    RADIUS_CAUSE_NAS_ERROR = 9,
    RADIUS_CAUSE_NAS_REQUEST = 10,
};

/** Octets are those of IP packets, packets those of a family; in: from the subscriber. */
struct radius_volume {
    uint64_t octets_in, octets_out, packets_in, packets_out;
};

/** A record of what was used. Records of ON and OFF have only a time. */
struct radius_record {
    enum radius_status status;
    struct radius_octets classes; /* of the answer that let him in */
    uint64_t time_s;              /* of the event, since 1970 */
    uint32_t session_s;           /* for how long the session has lasted */
    struct radius_volume ipv4, ipv6;
    enum radius_cause cause; /* of a STOP */
};

typedef void radius_done(void *ctx, const struct radius_answer *answer);

/** Ask whether a user may come in. done is called once, from radius_run(). Returns NULL, and calls
 * nobody, where a value is too long for its attribute. */
struct radius_request *radius_access(struct radius *r, const struct radius_user *user,
                                     const struct radius_credentials *credentials,
                                     radius_done *done, void *ctx);

/** Send a record, and keep it until a server has taken it, however long that takes. A user of ON
 * and OFF is NULL. The rest is as with radius_access(). */
struct radius_request *radius_account(struct radius *r, const struct radius_user *user,
                                      const struct radius_record *record, radius_done *done,
                                      void *ctx);

/** Forget a request: nobody is called. */
void radius_cancel(struct radius_request *request);

/* --- changes --- */

/** RFC 5176 section 3.5. */
enum radius_error {
    RADIUS_NO_ERROR = 0,
    RADIUS_UNSUPPORTED_ATTRIBUTE = 401,
    RADIUS_MISSING_ATTRIBUTE = 402,
    RADIUS_OTHER_NAS = 403,
    RADIUS_INVALID_REQUEST = 404,
    RADIUS_UNSUPPORTED_SERVICE = 405,
    RADIUS_INVALID_VALUE = 407,
    RADIUS_SESSION_NOT_FOUND = 503,
    RADIUS_NO_RESOURCES = 506,
    RADIUS_SEVERAL_SESSIONS = 508,
};

/** What a server wants of a session. It is the one to which all applies that is not empty or 0
 * (RFC 5176 section 3). A delegated prefix of a CoA-Request is one that it shall have, where the
 * rest names it (section 3.6). Its octets live as long as the call. */
struct radius_change {
    bool disconnect; /* end it */
    struct radius_octets name, session, line, station;
    uint32_t ipv4;
    struct cpe_prefixes ipv6;
    struct ipv6 address6;         /* Framed-IPv6-Address */
    struct radius_octets profile; /* empty: as it was */
    bool has_session_s, has_idle_s, has_interim_s;
    uint32_t session_s, idle_s, interim_s; /* 0: none from now on */
};

/** Does it name a session? */
bool radius_names_session(const struct radius_change *change);

struct radius_coa;
typedef void radius_changed(void *ctx, struct radius_coa *coa, const struct radius_change *change);

/** Whom to call for a change. He answers each by radius_answer_change(), at once or later. */
void radius_on_change(struct radius *r, radius_changed *changed, void *ctx);

/** Tell the server that a change has been made, or why not. coa is gone then. */
void radius_answer_change(struct radius_coa *coa, enum radius_error error);

/* --- what has happened --- */

enum radius_role { RADIUS_AUTHENTICATION, RADIUS_ACCOUNTING, RADIUS_ROLES };

/** Counters of a server in a role, as RFC 4668 and RFC 4670 name them. */
struct radius_peer_counts {
    uint64_t requests;        /* first transmissions */
    uint64_t retransmissions; /* further ones to the same server */
    uint64_t accepts, rejects, challenges, responses;
    uint64_t timeouts;  /* requests that the server has not answered, after all transmissions */
    uint64_t deaths;    /* how often it was taken for dead */
    uint64_t malformed; /* discarded, and so all that follow: */
    uint64_t bad_authenticators;
    uint64_t bad_message_authenticators;
    uint64_t no_message_authenticators;
    uint64_t unknown_types;
    uint64_t late; /* answers to what nobody asks any more */
};

struct radius_peer_state {
    struct radius_peer_counts counts;
    const struct hist *rtt_us; /* from the first transmission to the answer */
    uint32_t pending;
    bool dead;
};

/** How a server of the configuration does, in a role. */
struct radius_peer_state radius_peer_state(const struct radius *r, unsigned server,
                                           enum radius_role role);

/** Requests that no server has yet, in a role. */
uint32_t radius_waiting(const struct radius *r, enum radius_role role);

/** Counters of what servers of changes have sent. */
struct radius_coa_counts {
    uint64_t requests, acks, naks;
    uint64_t repeated;        /* answered as before, or still being worked on */
    uint64_t unknown_clients; /* discarded, and so all that follow */
    uint64_t malformed;
    uint64_t bad_authenticators;
    uint64_t bad_message_authenticators;
    uint64_t old; /* Event-Timestamp missing, or out of the window */
};

struct radius_coa_counts radius_coa_counts(const struct radius *r);

#endif
