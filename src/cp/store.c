/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The store as a database of SQLite with a write-ahead log. A commit appends to the log by write(2)
 * and waits for no disk (synchronous=NORMAL): what was written is the kernel's, whoever is killed.
 * Only a machine that loses its power may lose the last seconds.
 */
#include "cp/store.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/hist.h"
#include "base/log.h"
#include "base/units.h"

#define FORMAT "5" /* user_version of the database */

enum {
    BEGIN,
    COMMIT,
    ROLLBACK,
    PUT,
    REMOVE,
    EACH,
    GET_VALUE,
    SET_VALUE,
    SET_ACCOUNT,
    END_ACCOUNT,
    EACH_ACCOUNT,
    N_STATEMENTS
};

static const char *const sql[N_STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [PUT] = "INSERT OR REPLACE INTO session (port, svlan, cvlan, mac, address, expires, service, "
            "v6, ppp, relay) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [REMOVE] = "DELETE FROM session WHERE port = ?1 AND svlan = ?2 AND cvlan = ?3",
    [EACH] = "SELECT port, svlan, cvlan, mac, address, expires, service, v6, ppp, relay FROM "
             "session",
    [GET_VALUE] = "SELECT value FROM value WHERE name = ?1",
    [SET_VALUE] = "INSERT OR REPLACE INTO value (name, value) VALUES (?1, ?2)",
    [SET_ACCOUNT] = "INSERT OR REPLACE INTO account (id, text) VALUES (?1, ?2)",
    [END_ACCOUNT] = "DELETE FROM account WHERE id = ?1",
    [EACH_ACCOUNT] = "SELECT text FROM account ORDER BY id",
};

static const char setup[] =

    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = NORMAL;"
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS session (port TEXT, svlan INTEGER, cvlan INTEGER, mac TEXT, "
    "address TEXT UNIQUE, expires INTEGER, service TEXT, v6 TEXT, ppp TEXT, relay TEXT, PRIMARY "
    "KEY (port, "
    "svlan, "
    "cvlan)) "
    "WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS value (name TEXT PRIMARY KEY, value TEXT);"
    "CREATE TABLE IF NOT EXISTS account (id TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID;"
    "PRAGMA user_version = " FORMAT ";"
    "COMMIT;";

/* What a database of a format lacks of the next one. */
static const char *const added[] = {[1] = "ALTER TABLE session ADD COLUMN service TEXT",
                                    [2] = "ALTER TABLE session ADD COLUMN v6 TEXT",
                                    [3] = "ALTER TABLE session ADD COLUMN ppp TEXT",
                                    [4] = "ALTER TABLE session ADD COLUMN relay TEXT"};

struct store {
    sqlite3 *db;
    sqlite3_stmt *statement[N_STATEMENTS];
    bool open;   /* a transaction is */
    bool failed; /* since the last commit */
    struct hist commit_us;
};

static void say(const struct store *s, const char *what)
{
    log_error("the store: %s: %s", what, sqlite3_errmsg(s->db));
}

/* A newer vbng-cp may have written what this one would not understand. */
static int format_of(struct store *s)
{
    sqlite3_stmt *q = NULL;
    int format = -1;

    if (sqlite3_prepare_v2(s->db, "PRAGMA user_version", -1, &q, NULL) == SQLITE_OK &&
        sqlite3_step(q) == SQLITE_ROW)
        format = sqlite3_column_int(q, 0);
    sqlite3_finalize(q);
    return format;
}

static bool prepare(struct store *s)
{
    int format;

    if (sqlite3_exec(s->db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL) != SQLITE_OK)
        return false;
    format = format_of(s);
    if (format > atoi(FORMAT)) {
        log_error("the store: its format is %d, and this vbng-cp knows %s", format, FORMAT);
        return false;
    }
    for (int i = format; i > 0 && i < atoi(FORMAT); i++)
        if (sqlite3_exec(s->db, added[i], NULL, NULL, NULL) != SQLITE_OK)
            return false;
    if (format < 0 || sqlite3_exec(s->db, setup, NULL, NULL, NULL) != SQLITE_OK)
        return false;
    for (unsigned i = 0; i < N_STATEMENTS; i++)
        if (sqlite3_prepare_v3(s->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &s->statement[i],
                               NULL) != SQLITE_OK)
            return false;
    return true;
}

struct store *store_open(const char *path)
{
    struct store *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    if (sqlite3_open(path, &s->db) == SQLITE_OK && prepare(s))
        return s;
    log_error("the store %s: %s", path,
              sqlite3_errcode(s->db) == SQLITE_BUSY ? "another process has it open"
                                                    : sqlite3_errmsg(s->db));
    store_close(s);
    return NULL;
}

void store_close(struct store *s)
{
    for (unsigned i = 0; i < N_STATEMENTS; i++)
        sqlite3_finalize(s->statement[i]);
    sqlite3_close(s->db);
    free(s);
}

static bool run(struct store *s, unsigned statement)
{
    int rc = sqlite3_step(s->statement[statement]);

    sqlite3_reset(s->statement[statement]);
    return rc == SQLITE_DONE;
}

/* Begin a transaction before the first change. */
static bool begin(struct store *s)
{
    if (!s->open && !s->failed) {
        s->open = run(s, BEGIN);
        s->failed = !s->open;
        if (s->failed)
            say(s, "a change");
    }
    return s->open;
}

/* Make a change, or undo all of this transaction. */
static bool change(struct store *s, unsigned statement)
{
    if (run(s, statement))
        return true;
    say(s, "a change");
    run(s, ROLLBACK);
    s->open = false;
    s->failed = true;
    return false;
}

static void bind_line(sqlite3_stmt *q, const char *port, uint16_t svlan, uint16_t cvlan)
{
    sqlite3_bind_text(q, 1, port, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int(q, 2, svlan);
    sqlite3_bind_int(q, 3, cvlan);
}

bool store_put(struct store *s, const struct store_session *o)
{
    sqlite3_stmt *q = s->statement[PUT];
    char mac[20], address[20];
    const char *ipv4 = o->address != 0 ? format_ipv4(o->address, address, sizeof(address)) : NULL;

    if (!begin(s))
        return false;
    bind_line(q, o->port, o->svlan, o->cvlan);
    sqlite3_bind_text(q, 4, format_mac(o->mac, mac, sizeof(mac)), -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(q, 5, ipv4, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int64(q, 6, o->expires);
    sqlite3_bind_text(q, 7, o->service, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(q, 8, o->v6, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(q, 9, o->ppp, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(q, 10, o->relay, -1, SQLITE_TRANSIENT);
    return change(s, PUT);
}

bool store_remove(struct store *s, const char *port, uint16_t svlan, uint16_t cvlan)
{
    if (!begin(s))
        return false;
    bind_line(s->statement[REMOVE], port, svlan, cvlan);
    return change(s, REMOVE);
}

bool store_value(struct store *s, const char *name, char *value, size_t room)
{
    sqlite3_stmt *q = s->statement[GET_VALUE];
    const char *text = "";
    int rc;

    sqlite3_bind_text(q, 1, name, -1, SQLITE_TRANSIENT);
    rc = sqlite3_step(q);
    if (rc == SQLITE_ROW && sqlite3_column_text(q, 0) != NULL)
        text = (const char *)sqlite3_column_text(q, 0);
    snprintf(value, room, "%s", text);
    sqlite3_reset(q);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        say(s, "it cannot be read");
    return rc == SQLITE_ROW || rc == SQLITE_DONE;
}

bool store_set_value(struct store *s, const char *name, const char *value)
{
    if (!begin(s))
        return false;
    sqlite3_bind_text(s->statement[SET_VALUE], 1, name, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(s->statement[SET_VALUE], 2, value, -1, SQLITE_TRANSIENT);
    return change(s, SET_VALUE);
}

bool store_set_account(struct store *s, const char *id, const char *text)
{
    unsigned what = text != NULL ? SET_ACCOUNT : END_ACCOUNT;

    if (!begin(s))
        return false;
    sqlite3_bind_text(s->statement[what], 1, id, -1, SQLITE_TRANSIENT);
    if (text != NULL)
        sqlite3_bind_text(s->statement[what], 2, text, -1, SQLITE_TRANSIENT);
    return change(s, what);
}

bool store_each_account(struct store *s, void (*call)(const char *text, void *ctx), void *ctx)
{
    sqlite3_stmt *q = s->statement[EACH_ACCOUNT];
    int rc;

    while ((rc = sqlite3_step(q)) == SQLITE_ROW)
        if (sqlite3_column_text(q, 0) != NULL)
            call((const char *)sqlite3_column_text(q, 0), ctx);
    sqlite3_reset(q);
    if (rc != SQLITE_DONE)
        say(s, "it cannot be read");
    return rc == SQLITE_DONE;
}

static bool commit(struct store *s)
{
    struct timespec from, to;
    bool ok;

    clock_gettime(CLOCK_MONOTONIC, &from);
    ok = run(s, COMMIT);
    clock_gettime(CLOCK_MONOTONIC, &to);
    hist_add(&s->commit_us,
             (uint32_t)((to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000));
    return ok;
}

const struct hist *store_commit_us(const struct store *s)
{
    return &s->commit_us;
}

bool store_commit(struct store *s)
{
    bool ok = !s->failed;

    if (s->open && !commit(s)) {
        say(s, "a commit");
        run(s, ROLLBACK);
        ok = false;
    }
    s->open = false;
    s->failed = false;
    return ok;
}

bool store_each(struct store *s, void (*call)(const struct store_session *session, void *ctx),
                void *ctx)
{
    sqlite3_stmt *q = s->statement[EACH];
    int rc;

    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        const char *port = (const char *)sqlite3_column_text(q, 0),
                   *mac = (const char *)sqlite3_column_text(q, 3),
                   *address = (const char *)sqlite3_column_text(q, 4);
        struct store_session o = {.port = port,
                                  .svlan = (uint16_t)sqlite3_column_int(q, 1),
                                  .cvlan = (uint16_t)sqlite3_column_int(q, 2),
                                  .expires = sqlite3_column_int64(q, 5),
                                  .service = (const char *)sqlite3_column_text(q, 6),
                                  .v6 = (const char *)sqlite3_column_text(q, 7),
                                  .ppp = (const char *)sqlite3_column_text(q, 8),
                                  .relay = (const char *)sqlite3_column_text(q, 9)};

        if (port != NULL && mac != NULL && parse_mac(mac, o.mac) == 0 &&
            (address == NULL || parse_ipv4(address, &o.address) == 0))
            call(&o, ctx);
    }
    sqlite3_reset(q);
    if (rc != SQLITE_DONE)
        say(s, "it cannot be read");
    return rc == SQLITE_DONE;
}
