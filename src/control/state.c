/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/state.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "control/delta.h"
#include "control/request.h"
#include "control/state_file.h"
#include "tasks/arp/arp.h"

#define AFTER_CHANGE_S 1  /* from a request that changes something to the write */
#define LOOK_S         2  /* between two searches for MACs that were learned or forgotten */
#define AGE_S          60 /* between two writes that only make the MACs older */

/*
 * The file is one object:
 *   vbng_state  FORMAT
 *   name        of the configuration
 *   saved       when it was written, seconds since 1970
 *   changes     requests that make the configuration what it was then
 *   cpes        learned MACs of CPEs: "PORT SVLAN.CVLAN MAC ADDRESS AGE", AGE in seconds
 *   nexthops    and of next hops: "PORT MAC ADDRESS AGE"
 *   sum         STATE_NO_SUM, until state_text() has made the sum
 * The first and the last key stay the first and the last.
 */
#define FORMAT       2
#define LEARNED_TEXT 128 /* bytes that any of these strings fits into */
#define BEGIN        "{\"vbng_state\":"

struct state {
    struct control *c;
    const char *path;
    double looked, saved; /* CLOCK_MONOTONIC */
    uint64_t macs;        /* digest() at the last write */
    uint64_t changes;     /* c->changes at the last write */
    bool failing;         /* the last write failed */
    bool off;             /* the path is not a state file: nothing is written */

    /* the writer's, from its start until done is set; all else is the main thread's */
    pthread_t writer;
    bool writing; /* a writer was started and not joined */
    bool done;
    int result;
    json_t *content;
};

/* --- content --- */

/* One string for each takes half as long to write and to read as an array of its four values. */
static json_t *learned_json(const char *whose, const struct arp_learned *l)
{
    char text[LEARNED_TEXT], mac[24], ip[IPV6_TEXT];

    snprintf(text, sizeof(text), "%s %s %s %" PRIu32, whose, format_mac(l->mac, mac, sizeof(mac)),
             l->address != 0 ? format_ipv4(l->address, ip, sizeof(ip))
                             : format_ipv6(l->address6, ip),
             l->age);
    return json_string_nocheck(text);
}

static json_t *cpes_json(const struct control *c, const struct task *arp)
{
    const struct cfg_model *m = control_model(c);
    json_t *list = json_array();
    struct arp_learned l;
    char circuit[64];

    for (uint32_t id = 1; arp != NULL && id <= m->n_subscribers; id++) {
        const struct cfg_subscriber *s = &m->subscribers[id - 1];

        if (!running_has(m, id))
            continue;
        for (unsigned i = 0; i < arp_n_of_subscriber(arp, id); i++) {
            if (!arp_of_subscriber(arp, id, i, &l))
                continue;
            snprintf(circuit, sizeof(circuit), "%s %u.%u", m->ports[s->port].name, s->svlan,
                     s->cvlan);
            json_array_append_new(list, learned_json(circuit, &l));
        }
    }
    return list;
}

static json_t *nexthops_json(const struct control *c, const struct task *arp)
{
    const struct cfg_model *m = control_model(c);
    json_t *list = json_array();
    struct arp_learned l;
    uint8_t port;

    for (uint32_t i = 0; arp != NULL && i < arp_n_neighbours(arp); i++)
        if (arp_of_neighbour(arp, i, &port, &l))
            json_array_append_new(list, learned_json(m->ports[port].name, &l));
    return list;
}

/* The content of the file; NULL without memory. */
static json_t *content_json(const struct control *c)
{
    const struct task *arp = arp_settled(c);

    return json_pack("{s:i, s:s, s:I, s:o, s:o, s:o, s:s}", "vbng_state", FORMAT, "name",
                     control_model(c)->name, "saved", (json_int_t)time(NULL), "changes",
                     running_changes(c), "cpes", cpes_json(c, arp), "nexthops",
                     nexthops_json(c, arp), "sum", STATE_NO_SUM);
}

/* --- saving --- */

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A digest of all learned MACs and their owners; 0: there are none. One cache line of each
 * subscriber is read. */
static uint64_t digest(const struct control *c)
{
    const struct cfg_model *m = control_model(c);
    const struct task *arp = arp_settled(c);
    uint64_t sum = 0;
    struct arp_learned l;
    uint8_t port;

    for (uint32_t id = 1; arp != NULL && id <= m->n_subscribers; id++)
        for (unsigned i = 0; running_has(m, id) && i < arp_n_of_subscriber(arp, id); i++)
            if (arp_of_subscriber(arp, id, i, &l))
                sum = sum * 31 + state_sum((const char *)l.mac, sizeof(l.mac)) + id;
    for (uint32_t i = 0; arp != NULL && i < arp_n_neighbours(arp); i++)
        if (arp_of_neighbour(arp, i, &port, &l))
            sum = sum * 31 + state_sum((const char *)l.mac, sizeof(l.mac)) + i + 1;
    return sum;
}

/* Report the first write that fails, and the first that succeeds again. */
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
    size_t len;
    char *text = state_text(s->content, &len);

    s->result = text != NULL ? state_write_file(s->path, text, len) : -ENOMEM;
    free(text);
    json_decref(s->content);
    __atomic_store_n(&s->done, true, __ATOMIC_RELEASE);
    return NULL;
}

/* Wait for the writer. Returns 0 or -errno of the write. */
static int join(struct state *s)
{
    pthread_join(s->writer, NULL);
    s->writing = false;
    judge(s, s->result);
    return s->result;
}

/* Take the content as it is now, and start the writer with it. */
static int begin(struct state *s)
{
    int rc;

    s->saved = s->looked = seconds();
    s->changes = s->c->changes;
    s->macs = digest(s->c);
    s->content = content_json(s->c);
    if (s->content == NULL)
        return -ENOMEM;
    s->done = false;
    rc = pthread_create(&s->writer, NULL, write_it, s);
    s->writing = rc == 0;
    if (s->writing)
        return 0;
    json_decref(s->content);
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

/* --- restoring --- */

/* A file while it is loaded. */
struct loaded {
    struct control *c;
    struct task *arp;
    uint32_t since;         /* seconds from the write to now, which all ages grow by */
    unsigned changes, macs; /* restored */
    unsigned refused, old;  /* changes that no longer fit; MACs too old, or of nobody */
    char first[256];        /* the first refused change, and the reason */
    long long saved;        /* time of the write, seconds since 1970 */
    char problem[256];      /* the reason why the file cannot be used */
};

static int problem(struct loaded *l, const char *fmt, const char *what)
{
    snprintf(l->problem, sizeof(l->problem), fmt, what);
    return -EBADMSG;
}

static void load_change(struct loaded *l, const json_t *request)
{
    struct refusal why = {"no memory"};
    json_t *answer = request_run(l->c, request, &why);
    char *text;

    if (answer != NULL) {
        l->changes++;
        l->refused += (unsigned)json_integer_value(json_object_get(answer, "refused"));
    } else if (l->refused++ == 0) {
        text = json_dumps(request, JSON_COMPACT);
        snprintf(l->first, sizeof(l->first), "%.100s: %.140s", text != NULL ? text : "", why.text);
        free(text);
    }
    json_decref(answer);
}

static int give_cpe(const struct loaded *l, const char *circuit, const struct arp_learned *learned)
{
    uint32_t id;
    int rc = subscriber_on(l->c, circuit, &id);

    return rc == 0 ? arp_give_subscriber(l->arp, id, learned) : rc;
}

static int give_nexthop(const struct loaded *l, const char *port, const struct arp_learned *learned)
{
    uint32_t index = port_named(control_model(l->c), port, strlen(port));

    return index != CFG_NONE ? arp_give_neighbour(l->arp, (uint8_t)index, learned) : -ENODEV;
}

/* Cut the last word off a text. Returns NULL where there is but one. */
static char *cut_last(char *text)
{
    char *space = strrchr(text, ' ');

    if (space == NULL)
        return NULL;
    *space = '\0';
    return space + 1;
}

/* Read "WHOSE MAC ADDRESS AGE", and cut the text behind WHOSE. */
static bool read_learned(const struct loaded *l, char *text, struct arp_learned *out)
{
    const char *age = cut_last(text), *ip = age != NULL ? cut_last(text) : NULL,
               *mac = ip != NULL ? cut_last(text) : NULL;
    uint64_t seconds;

    out->address = 0;
    if (mac == NULL || parse_mac(mac, out->mac) != 0 ||
        (parse_ipv4(ip, &out->address) != 0 && parse_ipv6(ip, &out->address6) != 0) ||
        parse_count(age, &seconds) != 0 || seconds > UINT32_MAX)
        return false;
    out->age = (uint32_t)RTE_MIN(seconds + l->since, (uint64_t)UINT32_MAX);
    return true;
}

static void load_learned(struct loaded *l, const json_t *list,
                         int (*give)(const struct loaded *l, const char *whose,
                                     const struct arp_learned *learned))
{
    struct arp_learned learned;
    char text[LEARNED_TEXT];
    json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry)
    {
        snprintf(text, sizeof(text), "%s", json_is_string(entry) ? json_string_value(entry) : "");
        if (read_learned(l, text, &learned) && l->arp != NULL && give(l, text, &learned) == 0)
            l->macs++;
        else
            l->old++;
    }
}

static int check_head(struct loaded *l, const json_t *content)
{
    const json_t *format = json_object_get(content, "vbng_state");
    const char *name = json_string_value(json_object_get(content, "name"));
    char number[32];

    if (!json_is_integer(format))
        return -ENOMSG;
    if (json_integer_value(format) != FORMAT) {
        snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(format));
        return problem(l, "it is of format %s, which this vbng does not read", number);
    }
    if (name == NULL || strcmp(name, control_model(l->c)->name) != 0)
        return problem(l, "it is of another configuration, \"%.100s\"", name != NULL ? name : "");
    return 0;
}

static void load_content(struct loaded *l, const json_t *content)
{
    long long now = time(NULL);
    json_t *request;
    size_t i;

    l->saved = json_integer_value(json_object_get(content, "saved"));
    /* a clock that was set back says nothing about ages */
    l->since = now > l->saved ? (uint32_t)RTE_MIN(now - l->saved, (long long)UINT32_MAX) : 0;
    json_array_foreach(json_object_get(content, "changes"), i, request)
    {
        load_change(l, request);
    }
    load_learned(l, json_object_get(content, "cpes"), give_cpe);
    load_learned(l, json_object_get(content, "nexthops"), give_nexthop);
}

/* Returns 0; or, without a change: -ENOMSG: the text is that of no state file; -EBADMSG: the file
 * cannot be used, see l->problem. Text behind the object is an error of the sum. */
static int load_text(struct loaded *l, char *text, size_t len)
{
    json_t *content;
    int rc;

    if (len == 0) /* a file system may leave that when power is lost */
        return problem(l, "it is %s", "empty");
    if (strncmp(text, BEGIN, strlen(BEGIN)) != 0)
        return -ENOMSG;
    content = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, NULL);
    rc = content != NULL ? check_head(l, content) : 0;
    if (rc == 0 && (content == NULL || !state_is_whole(text, len)))
        rc = problem(l, "it is %s", "cut off or damaged: its checksum is wrong");
    if (rc == 0)
        load_content(l, content);
    json_decref(content);
    return rc;
}

static void say_loaded(const char *path, const struct loaded *l)
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

/* Rename a file that cannot be used, so that it is not lost. */
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
    struct loaded loaded = {.c = c, .arp = arp_settled(c)};
    char *text;
    size_t len;
    int rc = state_read_file(path, &text, &len);

    if (rc == -ENOENT) {
        log_info("state %s: is not there yet: starting as configured", path);
        return 0;
    }
    if (rc == 0) {
        rc = load_text(&loaded, text, len);
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
        log_error("state %s: %s; mend that, or give another path", path,
                  rc == -EPERM   ? "it is another user's, or others may write to it"
                  : rc == -ELOOP ? "it is a symbolic link"
                                 : strerror(-rc));
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
