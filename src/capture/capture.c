/* SPDX-License-Identifier: BSD-3-Clause */
#include "capture/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "base/log.h"
#include "capture/capture_impl.h"
#include "capture/file.h"

#define READ(x)     __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define RINGS_BYTES (UINT64_C(32) << 20) /* of all cores together, */
#define RING_LEAST  (UINT64_C(1) << 20)  /* but each has at least this, */
#define RING_MOST   (UINT64_C(8) << 20)  /* and at most that */

struct capture *capture_open(struct engine *e, const struct tables *tables, const char *dir)
{
    struct capture *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    c->e = e;
    c->tables = tables;
    c->n_interfaces = e->plan->cfg->n_ports + e->plan->n_instances;
    c->folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (c->folder < 0)
        log_error("folder of captures %s: %s", dir, strerror(errno));
    c->folder_path = realpath(dir, NULL);
    c->interface = calloc(c->n_interfaces, sizeof(c->interface[0]));
    c->wants.before = calloc(e->plan->n_instances, sizeof(bool));
    c->wants.after = calloc(e->plan->n_instances, sizeof(bool));
    c->wants.reasons = calloc(e->plan->n_instances, sizeof(uint32_t));
    if (c->folder < 0 || c->folder_path == NULL || c->interface == NULL ||
        c->wants.before == NULL || c->wants.after == NULL || c->wants.reasons == NULL) {
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
    capture_write_interfaces(c);
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

/* Not while a core may still use them. What they have counted stays for whoever asks. */
static void take_out(struct capture *c)
{
    if (c->installed && tap_remove(c->e) == 0)
        c->installed = false;
}

int capture_start(struct capture *c, const struct capture_spec *spec, char *why)
{
    const char *name = capture_file_name(spec->file);
    int fd, rc;

    capture_watch(c); /* one that has just ended is in nobody's way */
    if (c->installed || c->writing) {
        snprintf(why, CAPTURE_WHY_MAX,
                 "a capture runs: expected to wait for its end, or to stop it");
        return -EBUSY;
    }
    fd = capture_file_create(c->folder, spec->file, spec->force, why, CAPTURE_WHY_MAX);
    if (fd < 0)
        return fd;
    tap_free(c->e, &c->taps);
    c->spec = *spec;
    c->any = false;
    c->stop = c->ended = false;
    c->end = CAPTURE_RUNS;
    c->packets = c->bytes = c->cycles = 0;
    snprintf(c->path, sizeof(c->path), "%s/%s", c->folder_path, name);
    capture_make_wants(c, spec);
    capture_name_interfaces(c);
    read_clocks(c);
    rc = begin_file(c, spec, fd, why);
    if (rc == 0)
        rc = install(c, why);
    if (rc != 0) {
        take_out(c);
        release(c);
        unlinkat(c->folder, name, 0);
        return rc;
    }
    c->any = true;
    return 0;
}

/* --- while it runs, and after it --- */

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
