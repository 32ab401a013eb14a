/* SPDX-License-Identifier: BSD-3-Clause */
/* What RADIUS has granted to a session, and how the store keeps it. */
#ifndef CP_AAA_SERVICE_H
#define CP_AAA_SERVICE_H

#include "cp/names.h"
#include "cp/line_prefixes.h"
#include "cp/radius/radius.h"

#define SERVICE_ID      24 /* with its NUL */
#define SERVICE_PROFILE 25
#define SERVICE_USER    129

struct service {
    const char *user;              /* User-Name, as RADIUS is told it: behind the classes */
    struct name as[N_NAMES];       /* its session's */
    char id[SERVICE_ID];           /* Acct-Session-Id */
    char profile[SERVICE_PROFILE]; /* in the user plane; "": the line's */
    uint32_t ipv4;                 /* the address that he must have; 0: any */
    struct line_prefixes ipv6;     /* the same */
    uint32_t session_s;            /* Session-Timeout; 0: none */
    uint32_t interim_s;            /* Acct-Interim-Interval; 0: as configured */
    int64_t begun;                 /* seconds of CLOCK_REALTIME */
    uint16_t n_classes;
    uint8_t classes[]; /* Class attributes as they came */
};

/** Of an accept. user: the name that was asked for, unless the answer has another (RFC 2865 section
 * 5.1). Returns NULL with the reason in *why where a session cannot have it. */
struct service *service_new(const struct radius_answer *answer, const char *id, const char *user,
                            const char **why);
void service_free(struct service *s);

/** Take another profile. Returns whether the octets can be the name of one. */
bool service_set_profile(struct service *s, struct radius_octets profile);

/** As a text for the store, to be freed. */
char *service_text(const struct service *s);

/** From such a text. user: the name of whom it does not name. Returns NULL where it is none. */
struct service *service_parse(const char *text, const char *user);

#endif
