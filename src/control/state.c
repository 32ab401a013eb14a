/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/state.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "control/state_impl.h"
#include "tasks/arp.h"

#define AFTER_CHANGE_S 1  /* from a request to its place in the file */
#define LOOK_S         2  /* between two looks for MACs that were learned or forgotten */
#define AGE_S          60 /* the file may say that MACs are younger than they are by so much */

/* All but what is said to be the writer's belongs to the main thread. */
struct state {
    struct control *c;
    const char *path;
    double looked, saved; /* CLOCK_MONOTONIC */
    uint64_t macs;        /* a digest of those that are in the file */
    uint64_t changes;     /* c->changes, of the same */
    bool failing;         /* the last try to write did */
    bool off;             /* the path is somebody else's: nothing is written */

    /* of the writer, from its start until done is set */
    pthread_t writer;
    bool writing; /* there is one */
    bool done;
    int result;
    char *text;
    size_t len;
};

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Of all learned MACs and whose they are; 0: none. One cache line of each subscriber is read. */
static uint64_t digest(const struct control *c)
{
    const struct cfg_model *m = control_model(c);
    const struct task *arp = state_arp(c);
    uint64_t sum = 0;
    struct arp_learned l;
    uint8_t port;

    for (uint32_t id = 1; arp != NULL && id <= m->n_subscribers; id++)
        if (live_has(m, id) && arp_of_subscriber(arp, id, &l))
            sum = sum * 31 + state_sum((const char *)l.mac, sizeof(l.mac)) + id;
    for (uint32_t i = 0; arp != NULL && i < arp_n_neighbours(arp); i++)
        if (arp_of_neighbour(arp, i, &port, &l))
            sum = sum * 31 + state_sum((const char *)l.mac, sizeof(l.mac)) + i + 1;
    return sum;
}

/* Say when it begins to fail, and when it does no more. */
static void judge(struct state *s, int rc)
{
    if (rc != 0 && !s->failing)
        log_error("state %s: %s; what has changed since then will not survive this process: make "
                  "room, or mend the folder's permissions; it is tried again",
                  s->path, strerror(-rc));
    else if (rc == 0 && s->failing)
        log_warning("state %s: is written again", s->path);
    s->failing = rc != 0;
}

static void *write_it(void *arg)
{
    struct state *s = arg;

    s->result = state_write_file(s->path, s->text, s->len);
    __atomic_store_n(&s->done, true, __ATOMIC_RELEASE);
    return NULL;
}

/* Returns 0 or -errno of the write. */
static int join(struct state *s)
{
    pthread_join(s->writer, NULL);
    s->writing = false;
    free(s->text);
    s->text = NULL;
    judge(s, s->result);
    return s->result;
}

/* Takes what is to be saved now; the rest is the writer's. */
static int begin(struct state *s)
{
    int rc;

    s->saved = s->looked = seconds();
    s->changes = s->c->changes;
    s->macs = digest(s->c);
    s->text = state_text(s->c, &s->len);
    if (s->text == NULL)
        return -ENOMEM;
    s->done = false;
    rc = pthread_create(&s->writer, NULL, write_it, s);
    s->writing = rc == 0;
    if (s->writing)
        return 0;
    free(s->text);
    s->text = NULL;
    return -rc;
}

static int save_now(struct state *s)
{
    int rc;

    if (s->writing)
        join(s);
    rc = begin(s);
    if (rc == 0)
        return join(s);
    judge(s, rc);
    return rc;
}

static bool is_due(struct state *s)
{
    double now = seconds();

    if (s->failing)
        return now - s->saved > LOOK_S;
    if (s->changes != s->c->changes)
        return now - s->saved > AFTER_CHANGE_S;
    if (now - s->looked < LOOK_S)
        return false;
    s->looked = now;
    return digest(s->c) != s->macs || (s->macs != 0 && now - s->saved > AGE_S);
}

void state_watch(struct state *s)
{
    if (s == NULL || s->off)
        return;
    if (s->writing) {
        if (__atomic_load_n(&s->done, __ATOMIC_ACQUIRE))
            join(s);
    } else if (is_due(s)) {
        int rc = begin(s);

        if (rc != 0)
            judge(s, rc);
    }
}

int state_close(struct state *s)
{
    int rc;

    if (s == NULL)
        return 0;
    rc = s->off ? 0 : save_now(s);
    free(s);
    return rc;
}

static void say_loaded(const char *path, const struct state_loaded *l)
{
    struct tm tm;
    time_t saved = (time_t)l->saved;
    char when[64] = "";

    if (localtime_r(&saved, &tm) != NULL)
        strftime(when, sizeof(when), "%F %T", &tm);
    log_info("state %s of %s: %u changes and %u learned MACs are back", path, when, l->changes,
             l->macs);
    if (l->old > 0)
        log_info("state %s: %u MACs are not: too old, or of nobody who is there now", path, l->old);
    if (l->refused > 0)
        log_warning("state %s: %u changes are not, since they do not fit the configuration any "
                    "more; make them anew where they are still wanted. The first: %s",
                    path, l->refused, l->first);
}

/* Out of the way, so that it can be looked at, and is not lost. */
static int put_aside(const char *path, const char *problem)
{
    char aside[4096];

    snprintf(aside, sizeof(aside), "%s.unusable", path);
    if (rename(path, aside) != 0) {
        log_error("state %s: %s, and cannot be put aside: %s; remove it", path, problem,
                  strerror(errno));
        return -errno;
    }
    log_warning("state %s: %s; starting without it: live changes and learned MACs are not back. It "
                "is kept as %s; to use it, give it back its name and start what has written it",
                path, problem, aside);
    return 0;
}

static int load(struct control *c, const char *path)
{
    struct state_loaded loaded;
    char *text;
    size_t len;
    int rc = state_read_file(path, &text, &len);

    if (rc == -ENOENT) {
        log_info("state %s: is not there yet: starting as configured", path);
        return 0;
    }
    if (rc == 0) {
        rc = state_load(c, text, len, &loaded);
        free(text);
    }
    if (rc == 0)
        say_loaded(path, &loaded);
    else if (rc == -EBADMSG)
        rc = put_aside(path, loaded.problem);
    else if (rc == -ENOMSG)
        log_warning("state %s: this is no state file of vbng: it is left as it is, and nothing is "
                    "saved; starting as configured; give another path, or remove it",
                    path);
    else
        log_error("state %s: %s; mend that, or give another path", path, strerror(-rc));
    return rc;
}

struct state *state_open(struct control *c, const char *path)
{
    struct state *s = calloc(1, sizeof(*s));
    int rc;

    if (s == NULL)
        return NULL;
    s->c = c;
    s->path = path;
    rc = load(c, path);
    s->off = rc == -ENOMSG;
    if (rc == 0)
        rc = save_now(s);
    if (rc != 0 && !s->off) {
        free(s);
        return NULL;
    }
    return s;
}
