/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines and their sessions. A line is a VLAN pair of an access port; it has one session or none,
 * which is a client, known by its MAC, with an address. A line that has been heard of stays, with
 * its last events, when its session ends.
 */
#ifndef CP_SESSION_H
#define CP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "cp/aaa/service.h"
#include "cp/config.h"
#include "cp/events.h"
#include "cp/metrics/failures.h"
#include "cp/names.h"
#include "cp/timer.h"

#define SESSION_LINE_TEXT 48 /* "PORT SVLAN.CVLAN" */
#define SESSION_ADDRESSES 120

enum session_state {
    SESSION_NONE,        /* the line is idle */
    SESSION_ASKING,      /* RADIUS is asked whether its client may have a session */
    SESSION_OFFERED,     /* addresses are kept for the client, until a timer */
    SESSION_NEGOTIATING, /* a CPE and this side agree on a PPPoE session */
    SESSION_STARTING, /* the client has asked for it; the store and the user plane have to take it
                       */
    SESSION_UP,       /* and have taken it */
    SESSION_ENDING,   /* the user plane is to forget it, and then its addresses are free */
    N_SESSION_STATES
};

/** What a line has of a family of addresses. The session's state follows from both, while it has
 * one. */
enum lease_state {
    LEASE_NONE,
    LEASE_ASKED,    /* a server behind this gateway is asked for one, until the timer */
    LEASE_OFFERED,  /* kept for the client, until the timer */
    LEASE_STARTING, /* the client has asked for it; the store and the user plane have to take it */
    LEASE_UP,       /* and have taken it. The timer is the lease's */
    LEASE_ENDING,   /* the user plane is to forget it, and then it is free */
};

/** It is starting or up. */
static inline bool lease_is_held(uint8_t state)
{
    return state == LEASE_STARTING || state == LEASE_UP;
}

enum session_kind { SESSION_IPOE, SESSION_PPPOE, N_SESSION_KINDS };

/** How many sessions of a kind are up; have come up, and have ended, since the start. */
struct session_figures {
    uint64_t up, begun, ended;
};

struct session {
    struct session *next;           /* in its bucket */
    struct session *older, *newer;  /* among the idle lines */
    const struct cp_access *access; /* its port, pool and profile */
    uint16_t svlan, cvlan;
    uint8_t mac[6];
    uint8_t state;             /* enum session_state */
    uint8_t lease4;            /* enum lease_state, of IPv4 */
    uint8_t up_as;             /* 1 + enum session_kind as which it counts as up; 0: it is not */
    bool in_userplane;         /* the user plane has its subscriber, */
    bool stale;                /* but not as he is to be now */
    bool asked;                /* a request to put or remove him is under way, or waits */
    bool others;               /* the user plane has another one on the line, who is not ours */
    bool in_turn;              /* the end of this turn has to do with it */
    bool declined;             /* ends because its address is in use elsewhere */
    uint32_t address;          /* of IPv4, or the last one that the line had; 0: none */
    int64_t expires;           /* of the lease of IPv4, seconds of CLOCK_REALTIME */
    struct timer timer;        /* of IPv4 */
    struct dhcp4 *waiting;     /* the request that is to be acknowledged, or NULL */
    struct session6 *v6;       /* what the line has or had of IPv6, or NULL */
    struct pppoe_session *ppp; /* of a session of PPPoE; NULL: it is of IPoE, or there is none */
    struct relay4 *relay;      /* of servers of IPv4 behind this gateway, or NULL */
    struct relay6 *relay6;     /* the same of IPv6 */
    struct account *account;   /* what RADIUS is told of its use, or NULL */
    uint32_t subscriber;       /* id in the user plane; 0: not known */
    struct asking *asking;     /* the question to RADIUS, or NULL */
    struct service *service;   /* what RADIUS has granted; NULL: it was not asked */
    struct events *events;     /* or NULL: nothing has happened */
};

/** All lines. */
struct sessions {
    struct session **bucket;
    uint32_t n_buckets; /* a power of two */
    uint32_t n, most;
    struct session *oldest, *newest; /* idle lines, by when they became idle */
    uint32_t in_state[N_SESSION_STATES];
    struct names names;
    struct session_figures of_kind[N_SESSION_KINDS];
    uint64_t failed[N_FAILURES]; /* by enum cp_failure */
};

/** Room for so many lines. Returns 0 or -ENOMEM. */
int sessions_open(struct sessions *t, uint32_t most);
void sessions_close(struct sessions *t);

/** The line of a group's port, or NULL. */
struct session *session_find(const struct sessions *t, const struct cp_access *access,
                             uint16_t svlan, uint16_t cvlan);

/** The same; a line that was not heard of is made, in the place of the one that is idle for longest
 * where there is no more room. Returns NULL where none is idle. */
struct session *session_get(struct sessions *t, const struct cp_access *access, uint16_t svlan,
                            uint16_t cvlan);

void session_set_state(struct sessions *t, struct session *s, enum session_state state);
const char *session_state_name(enum session_state state);

/** The line of a text such as session_line() writes, or NULL. */
struct session *session_of_line(const struct sessions *t, const struct cp_config *config,
                                const char *text);

/** From now on count what comes up and fails: what was taken from the store does not. */
void sessions_count_anew(struct sessions *t);

/** Count that somebody does not get what he wants. */
static inline void sessions_fail(struct sessions *t, enum cp_failure why)
{
    t->failed[why]++;
}

/** Call with every line. The function may change it, but not its place. */
void sessions_each(struct sessions *t, void (*call)(struct session *s, void *ctx), void *ctx);

/** "PORT SVLAN.CVLAN", as requests to the user plane name a subscriber; buf is returned. */
char *session_line(const struct session *s, char buf[SESSION_LINE_TEXT]);

/** The addresses of its leases, "10.64.0.2, 2001:db8::/64 2001:db8:100::/56"; buf is returned. */
char *session_addresses(const struct session *s, char buf[SESSION_ADDRESSES]);

/** The profile in the user plane, or NULL: none. */
const char *session_profile(const struct session *s);

/** A session has what RADIUS has granted, and is found by the names that RADIUS has for it: among
 * t->names, by the id, the user and the MAC of now. */
void session_take_service(struct sessions *t, struct session *s, struct service *service);
void session_forget_service(struct sessions *t, struct session *s);

/** The user's name, as RADIUS has it, or as his CPE has said; NULL: nobody has said one. */
const char *session_user(const struct session *s);

/** Keep in mind what happened to a line. */
void session_event(struct session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** The same, and a line in the log. */
void session_log(struct session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
