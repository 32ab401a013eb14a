/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sessions that outlive vbng-cp. What was committed is there after any process was killed at
 * any moment. Changes gather until they are committed together: all of them, or none.
 */
#ifndef CP_STORE_H
#define CP_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hist;
struct store;

/** A session, by its line. No two have the same address. Texts may be NULL. */
struct store_session {
    const char *port;
    uint16_t svlan, cvlan;
    uint8_t mac[6];
    uint32_t address;    /* IPv4, host order; 0: none */
    int64_t expires;     /* of IPv4, seconds of CLOCK_REALTIME */
    const char *service; /* what RADIUS has granted (service_text()) */
    const char *v6;      /* the lease of IPv6 (session6_text()) */
    const char *ppp;     /* a session of PPPoE (pppoe_text()); NULL: it is of IPoE */
    const char *relay;   /* of the lease of a server behind this gateway (relay4_text()) */
};

/** Open a store, or make one. No other process has it open meanwhile. Returns NULL with the reason
 * in the log. */
struct store *store_open(const char *path);
void store_close(struct store *s);

/** Put a session in the place of any with its line or its address. Returns whether the store has
 * taken the change; else nothing since the last commit counts, which store_commit() says, too. */
bool store_put(struct store *s, const struct store_session *session);

/** Remove the session of a line, if there is one. The same. */
bool store_remove(struct store *s, const char *port, uint16_t svlan, uint16_t cvlan);

/** The value of a name, for what is of no session, into room bytes, "" where there is none. Returns
 * false where the store cannot be read. */
bool store_value(struct store *s, const char *name, char *value, size_t room);

/** Give a name a value: a change as store_put(). */
bool store_set_value(struct store *s, const char *name, const char *value);

/** Give the account of an id a text; NULL: forget it. A change as store_put(). */
bool store_set_account(struct store *s, const char *id, const char *text);

/** Call with the text of every account. Returns false where the store cannot be read; the reason is
 * in the log. */
bool store_each_account(struct store *s, void (*call)(const char *text, void *ctx), void *ctx);

/** Make all changes since the last commit last. Returns false where none of them does; the reason
 * is in the log. */
bool store_commit(struct store *s);

/** How long commits have taken, in microseconds. */
const struct hist *store_commit_us(const struct store *s);

/** Call with every session. Returns false where the store cannot be read; the reason is in the
 * log. */
bool store_each(struct store *s, void (*call)(const struct store_session *session, void *ctx),
                void *ctx);

#endif
