/* SPDX-License-Identifier: BSD-3-Clause */
/* A capture from start to end: its file and its points in the graph. writer.c fills the file. */
#include "capture/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "base/log.h"
#include "base/owned.h"
#include "capture/match.h"
#include "capture/writer.h"
#include "plan/facts.h"

#define READ(x)      __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define FILE_MODE    0600
#define PCAPNG_BEGIN 0x0a0d0d0au /* the type of a Section Header Block, in any byte order */
#define RINGS_BYTES  (UINT64_C(32) << 20) /* of all cores together, */
#define RING_LEAST   (UINT64_C(1) << 20)  /* but each has at least this, */
#define RING_MOST    (UINT64_C(8) << 20)  /* and at most that */

/* The part of a path behind the last slash. */
static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* Tell whether two descriptors are of the same folder. */
static bool is_same(int a, int b)
{
    struct stat x, y;

    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool is_in_folder(int folder, const char *path)
{
    size_t len = (size_t)(file_name(path) - path);
    char dir[PATH_MAX];
    bool same;
    int fd;

    if (len == 0)
        return true;
    if (path[0] != '/' || len >= sizeof(dir))
        return false;
    memcpy(dir, path, len);
    dir[len] = '\0';
    fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    same = is_same(fd, folder);
    close(fd);
    return same;
}

static int create(int folder, const char *name)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);

    return fd >= 0 ? fd : -errno;
}

/* Is an open file a capture of this user's? Returns 0 or -errno. */
static int check_capture(int fd)
{
    uint32_t begin = 0;
    struct stat s;

    if (fstat(fd, &s) != 0)
        return -errno;
    if (!S_ISREG(s.st_mode))
        return -EINVAL;
    if (s.st_uid != geteuid())
        return -EPERM;
    return pread(fd, &begin, sizeof(begin), 0) == sizeof(begin) && begin == PCAPNG_BEGIN
               ? 0
               : -EMEDIUMTYPE;
}

/* Remove an earlier capture, and nothing else that the name may stand for. */
static int remove_capture(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), rc;

    if (fd < 0)
        return errno == ELOOP || errno == ENXIO ? -EINVAL : -errno;
    rc = check_capture(fd);
    close(fd);
    if (rc != 0)
        return rc;
    return unlinkat(folder, name, 0) == 0 ? 0 : -errno;
}

/*
 * Make a plain file of mode 0600 in the folder. path: a name without a slash, or an absolute path
 * that leads to this folder. A file that exists is replaced only if replace is set and it is a
 * capture of this user's; no link is followed. Returns a descriptor, or -errno with the reason in
 * why.
 */
static int create_file(int folder, const char *path, bool replace, char *why, size_t size)
{
    const char *name = file_name(path);
    int fd;

    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        !is_in_folder(folder, path)) {
        snprintf(why, size,
                 "file '%.100s' is not in the folder of captures: expected a name, or start vbng "
                 "with --capture-dir",
                 path);
        return -EINVAL;
    }
    fd = create(folder, name);
    if (fd == -EEXIST && replace) {
        fd = remove_capture(folder, name);
        if (fd == 0)
            fd = create(folder, name);
    }
    if (fd == -EEXIST)
        snprintf(why, size, "file '%.100s' exists: expected another name, or force", name);
    else if (fd == -EINVAL)
        snprintf(why, size, "'%.100s' is not a plain file: expected another name", name);
    else if (fd == -EMEDIUMTYPE)
        snprintf(why, size, "file '%.100s' is no pcapng file: expected another name", name);
    else if (fd == -EPERM || fd == -EACCES)
        snprintf(why, size, "file '%.100s' is another user's: expected another name", name);
    else if (fd < 0)
        snprintf(why, size, "file '%.100s': %s", name, strerror(-fd));
    return fd;
}

/* Set the wants of each port and instance (struct tap_wants). */
static void make_wants(struct capture *c, const struct capture_spec *spec)
{
    struct tap_wants *w = &c->wants;

    w->subscriber = spec->subscriber;
    w->snaplen = spec->snaplen;
    w->every = spec->every;
    w->rx = spec->rx;
    w->tx = spec->tx;
    w->is_match = is_frame_of;
    w->match = &c->frames_of;
    w->is_family = spec->family == CAPTURE_IPV4   ? is_frame_of_ipv4
                   : spec->family == CAPTURE_IPV6 ? is_frame_of_ipv6
                                                  : NULL;
    if (spec->subscriber != 0)
        c->frames_of = frames_of_subscriber(c->tables->subscribers, spec->subscriber);
    for (unsigned i = 0; i < c->e->plan->n_instances; i++) {
        uint16_t task = c->e->plan->instances[i].task;

        w->before[i] = spec->before[task];
        w->after[i] = spec->after[task];
        w->reasons[i] = spec->reasons[task];
    }
    plan_facts(c->e->plan->cfg, w->facts);
}

static unsigned instances_of(const struct plan *p, uint16_t task)
{
    unsigned n = 0;

    for (unsigned i = 0; i < p->n_instances; i++)
        n += p->instances[i].task == task;
    return n;
}

/* Give names and numbers to the ports and instances that have points in this capture. */
static void name_interfaces(struct capture *c)
{
    const struct plan *p = c->e->plan;
    uint32_t next = 0;

    for (unsigned i = 0; i < c->n_interfaces; i++) {
        struct interface *to = &c->interface[i];
        unsigned n = i - p->cfg->n_ports;

        *to = (struct interface){.number = next};
        if (i < p->cfg->n_ports) {
            if (((c->wants.rx | c->wants.tx) >> i & 1) != 0)
                snprintf(to->name, sizeof(to->name), "%s", p->cfg->ports[i].name);
        } else if (c->wants.before[n] || c->wants.after[n] || c->wants.reasons[n] != 0) {
            const struct plan_instance *inst = &p->instances[n];
            const char *name = p->cfg->tasks[inst->task].name;

            if (instances_of(p, inst->task) > 1)
                snprintf(to->name, sizeof(to->name), "%s.%u", name, inst->worker);
            else
                snprintf(to->name, sizeof(to->name), "%s", name);
        }
        next += to->name[0] != '\0';
    }
}

/* Write the interfaces that have a name into the file. */
static void write_interfaces(struct capture *c)
{
    const struct plan *p = c->e->plan;

    for (unsigned i = 0; i < c->n_interfaces; i++) {
        char text[128];

        if (c->interface[i].name[0] == '\0')
            continue;
        if (i < p->cfg->n_ports)
            snprintf(text, sizeof(text), "port");
        else
            snprintf(text, sizeof(text), "task of type %s on CPU %u",
                     p->cfg->tasks[p->instances[i - p->cfg->n_ports].task].schema->type,
                     p->cores[p->instances[i - p->cfg->n_ports].core].run_on);
        pcapng_interface(c->file, c->interface[i].name, text, c->spec.snaplen);
    }
}

static void open_folder(struct capture *c, const char *dir)
{
    c->folder_path = realpath(dir, NULL);
    c->folder = c->folder_path != NULL ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (c->folder < 0)
        log_error("folder of captures %s: %s", dir, strerror(errno));
}

/* Make the folder of captures where nobody has named one: a folder of its own, in which there is
 * nothing but captures. */
static int make_folder(struct capture *c, char *why)
{
    int rc = mkdir(CAPTURE_FOLDER, 0700) == 0 || errno == EEXIST ? 0 : -errno;

    if (rc == 0) {
        c->folder = owned_open(AT_FDCWD, CAPTURE_FOLDER);
        rc = c->folder < 0 ? c->folder : 0;
    }
    if (rc == 0 && (c->folder_path = realpath(CAPTURE_FOLDER, NULL)) == NULL)
        rc = -errno;
    if (rc == 0)
        return 0;
    snprintf(why, CAPTURE_WHY_MAX,
             "no folder for captures: " CAPTURE_FOLDER " where vbng was started: %s: start vbng "
             "with --capture-dir",
             rc == -EPERM ? "it is another user's, or others may write to it" : strerror(-rc));
    if (c->folder >= 0)
        close(c->folder);
    c->folder = -1;
    return rc;
}

struct capture *capture_open(struct engine *e, const struct tables *tables, const char *dir)
{
    struct capture *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    c->e = e;
    c->tables = tables;
    c->n_interfaces = e->plan->cfg->n_ports + e->plan->n_instances;
    c->folder = -1;
    if (dir != NULL)
        open_folder(c, dir);
    c->interface = calloc(c->n_interfaces, sizeof(c->interface[0]));
    c->wants.before = calloc(e->plan->n_instances, sizeof(bool));
    c->wants.after = calloc(e->plan->n_instances, sizeof(bool));
    c->wants.reasons = calloc(e->plan->n_instances, sizeof(uint64_t));
    if ((dir != NULL && c->folder < 0) || c->interface == NULL || c->wants.before == NULL ||
        c->wants.after == NULL || c->wants.reasons == NULL) {
        capture_close(c);
        return NULL;
    }
    return c;
}

static void release(struct capture *c)
{
    if (c->file != NULL)
        close(c->file->fd);
    free(c->file);
    c->file = NULL;
}

static int begin_file(struct capture *c, const struct capture_spec *spec, int fd, char *why)
{
    c->file = malloc(sizeof(*c->file));
    if (c->file == NULL) {
        close(fd);
        snprintf(why, CAPTURE_WHY_MAX, "no memory");
        return -ENOMEM;
    }
    pcapng_begin(c->file, fd, spec->bytes, "vbng", spec->words);
    if (spec->file == NULL)
        pcapng_to_stream(c->file, CAPTURE_STREAM_ANSWER);
    write_interfaces(c);
    if (pcapng_is_full(c->file)) {
        snprintf(why, CAPTURE_WHY_MAX, "a file of %llu bytes has no room for packets",
                 (unsigned long long)spec->bytes);
        return -EFBIG;
    }
    return 0;
}

static void read_clocks(struct capture *c)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    c->start_tsc = rte_rdtsc();
    c->start_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    c->tsc_hz = rte_get_tsc_hz();
}

static int install(struct capture *c, char *why)
{
    uint64_t each = RTE_MAX(RINGS_BYTES / c->e->plan->n_cores, RING_LEAST);
    int rc = tap_create(c->e, &c->taps, &c->wants, RTE_MIN(each, RING_MOST));

    if (rc != 0) {
        tap_free(c->e, &c->taps);
        snprintf(why, CAPTURE_WHY_MAX, "no memory for the copies");
        return rc;
    }
    c->installed = true;
    rc = tap_install(c->e, &c->taps);
    if (rc == 0)
        rc = -pthread_create(&c->writer, NULL, capture_writer, c);
    if (rc != 0) {
        snprintf(why, CAPTURE_WHY_MAX, "%s",
                 rc == -ETIMEDOUT ? "a core does not answer" : strerror(-rc));
        return rc;
    }
    c->writing = true;
    return 0;
}

/* Take the taps out of the data path, unless a core may still use them. Their counters stay, for
 * capture_read(). */
static void take_out(struct capture *c)
{
    if (c->installed && tap_remove(c->e) == 0)
        c->installed = false;
}

/* A copy of the stream. Returns a descriptor, or -errno with the reason in why. */
static int take_stream(int stream, char *why)
{
    int fd = fcntl(stream, F_DUPFD_CLOEXEC, 0), rc = -errno;

    if (fd >= 0)
        return fd;
    snprintf(why, CAPTURE_WHY_MAX, "the stream: %s", strerror(-rc));
    return rc;
}

static int open_target(struct capture *c, const struct capture_spec *spec, char *why)
{
    int rc = 0;

    c->path[0] = '\0';
    if (spec->file == NULL)
        return take_stream(spec->stream, why);
    if (c->folder < 0)
        rc = make_folder(c, why);
    if (rc != 0)
        return rc;
    snprintf(c->path, sizeof(c->path), "%s/%s", c->folder_path, file_name(spec->file));
    return create_file(c->folder, spec->file, spec->force, why, CAPTURE_WHY_MAX);
}

int capture_start(struct capture *c, const struct capture_spec *spec, char *why)
{
    int fd, rc;

    capture_watch(c); /* joins the writer of a capture that has just ended */
    if (c->installed || c->writing) {
        snprintf(why, CAPTURE_WHY_MAX,
                 "a capture runs: expected to wait for its end, or to stop it");
        return -EBUSY;
    }
    fd = open_target(c, spec, why);
    if (fd < 0)
        return fd;
    tap_free(c->e, &c->taps);
    c->spec = *spec;
    c->any = false;
    c->stop = c->ended = false;
    c->end = CAPTURE_RUNS;
    c->packets = c->bytes = c->cycles = 0;
    make_wants(c, spec);
    name_interfaces(c);
    read_clocks(c);
    rc = begin_file(c, spec, fd, why);
    if (rc == 0)
        rc = install(c, why);
    if (rc != 0) {
        take_out(c);
        release(c);
        if (spec->file != NULL)
            unlinkat(c->folder, file_name(spec->file), 0);
        return rc;
    }
    c->any = true;
    return 0;
}

int capture_stop(struct capture *c)
{
    if (!c->writing)
        return -ENOENT;
    __atomic_store_n(&c->stop, true, __ATOMIC_RELAXED);
    return 0;
}

void capture_watch(struct capture *c)
{
    if (c->writing && __atomic_load_n(&c->ended, __ATOMIC_ACQUIRE)) {
        pthread_join(c->writer, NULL);
        c->writing = false;
        release(c);
    }
    if (!c->writing)
        take_out(c);
}

void capture_read(const struct capture *c, struct capture_state *out)
{
    bool ended = __atomic_load_n(&c->ended, __ATOMIC_ACQUIRE);

    *out = (struct capture_state){.any = c->any, .path = c->path};
    if (!c->any)
        return;
    out->end = ended ? c->end : CAPTURE_RUNS;
    out->error = ended ? c->error : 0;
    out->seconds = (double)(ended ? c->cycles : rte_rdtsc() - c->start_tsc) / (double)c->tsc_hz;
    out->packets = READ(c->packets);
    out->bytes = READ(c->bytes);
    for (unsigned i = 0; i < c->n_interfaces; i++) {
        struct tap_count count = capture_count(c, i);

        out->matched += count.matched;
        out->taken += count.taken;
        out->lost += count.lost;
    }
}

void capture_close(struct capture *c)
{
    if (c == NULL)
        return;
    if (capture_stop(c) == 0) {
        pthread_join(c->writer, NULL);
        release(c);
        c->writing = false;
    }
    take_out(c);
    if (!c->installed)
        tap_free(c->e, &c->taps);
    if (c->folder >= 0)
        close(c->folder);
    free(c->folder_path);
    free(c->interface);
    free(c->wants.before);
    free(c->wants.after);
    free(c->wants.reasons);
    free(c);
}

bool capture_interface(const struct capture *c, unsigned i, struct capture_interface *out)
{
    struct tap_count count;

    if (i >= c->n_interfaces)
        return false;
    count = capture_count(c, i);
    *out = (struct capture_interface){.matched = count.matched,
                                      .taken = count.taken,
                                      .lost = count.lost,
                                      .packets = READ(c->interface[i].packets)};
    memcpy(out->name, c->interface[i].name, sizeof(out->name));
    return true;
}
