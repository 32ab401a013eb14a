/* SPDX-License-Identifier: BSD-3-Clause */
/* A gateway for tests of requests: built from a configuration, not started. */
#ifndef TESTS_CONTROL_BED_H
#define TESTS_CONTROL_BED_H

#include "control/control.h"

extern struct engine engine;
extern struct tables *tables;
extern struct control *control;

/** Of a test program whose argument is the configuration. Returns 0 or -1 with the reason on
 * stderr. */
int bed_open(void);

/** Returns whether mbufs are missing. */
int bed_close(void);

/** Keep the core of an instance, one at a time, from all else; and let it go on. */
void hold_core(uint32_t instance);
void let_core_go(void);

/** The answer to a request must contain a text. */
void answers(const char *request, const char *text);

/** Reload the configuration with one text replaced, with more keys in the request (begins with a
 * comma, or is empty); the answer must contain a text. */
void reload_with(const char *from, const char *to, const char *keys, const char *text);

/** An answer to the request must contain a text. */
void has(const char *request, const char *answer, const char *text);

/** The answer to a request, to be freed. */
char *ask(const char *request);

/* Requests for routes: by a port of the core, the MAC of its next hop, one of several next hops,
 * and a route that has several. */
#define ROUTE(p, more)       "{\"cmd\":\"add-route\",\"prefix\":\"" p "\",\"port\":\"core1\"," more "}"
#define MAC                  "\"mac\":\"02:00:00:00:00:01\""
#define HOP(mac, more)       "{\"port\":\"core1\",\"mac\":\"02:00:00:00:00:" mac "\"" more "}"
#define SPREAD(cmd, p, hops) "{\"cmd\":\"" cmd "\",\"prefix\":\"" p "\",\"nexthops\":[" hops "]}"

/** The number of the next hop or set that an address (of IPv6, as text) leads to, in the copies of
 * the routes of both sockets; 0: none. */
uint32_t number4(uint32_t addr);
uint32_t number6(const char *text);

/** All that requests can change, as text, to be freed. */
char *state(void);

/** A request is wrong: the answer names what is wrong, and nothing has changed. */
void refuses(const char *request, const char *text);

/** Go back to what the configuration says. */
void start_anew(void);

#endif
