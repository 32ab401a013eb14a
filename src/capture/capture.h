/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures: copies of packets at points of the graph, written to a pcapng file by a thread of their
 * own. One runs at a time, and each has an end: in time, packets and bytes. All functions belong to
 * the main thread.
 */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/tap.h"
#include "tables/tables.h"

#define CAPTURE_MAX_SECONDS   3600
#define CAPTURE_MAX_PACKETS   1000000000u
#define CAPTURE_MAX_BYTES     (UINT64_C(1) << 40)
#define CAPTURE_MIN_SNAPLEN   16
#define CAPTURE_MAX_EVERY     1000000u
#define CAPTURE_WHY_MAX       256
#define CAPTURE_STREAM_ANSWER "{\"ok\":true}\n" /* before the first block of a stream */
#define CAPTURE_FOLDER        "vbng-captures"   /* where nobody names a folder */

/** Packets of which family? */
enum capture_family { CAPTURE_BOTH, CAPTURE_IPV4, CAPTURE_IPV6 };

/** What to capture, and how much of it. */
struct capture_spec {
    const char *file;    /* a name in the folder of captures, or its whole path; NULL: stream */
    int stream;          /* a socket that takes the capture in the place of a file */
    bool force;          /* a file of that name may be replaced */
    const char *words;   /* the capture, for people who read the file; or NULL */
    uint32_t subscriber; /* id, or 0: of anybody */
    enum capture_family family;
    uint64_t rx, tx; /* bit by port */
    bool before[CFG_MAX_TASKS], after[CFG_MAX_TASKS];
    uint64_t reasons[CFG_MAX_TASKS]; /* bits, TAP_ALL_REASONS; 0: no drops of this task */
    uint64_t seconds, packets, bytes;
    uint32_t snaplen, every;
};

enum capture_end {
    CAPTURE_RUNS,
    CAPTURE_BY_TIME,
    CAPTURE_BY_PACKETS,
    CAPTURE_BY_BYTES,
    CAPTURE_STOPPED,   /* by request, or because vbng ends */
    CAPTURE_FAILED,    /* the file could not be written */
    CAPTURE_BY_READER, /* who reads the stream has gone, or wants no more */
};

/** What the present capture has done so far, or the last one has done. */
struct capture_state {
    bool any; /* a capture was started at all; false: nothing else is set */
    enum capture_end end;
    int error;        /* CAPTURE_FAILED: errno */
    const char *path; /* "": a stream */
    double seconds;
    uint64_t packets, bytes;       /* in the file */
    uint64_t matched, taken, lost; /* as in struct tap_count, of all points */
};

struct capture;

/** Prepare captures into the folder dir. Returns NULL with the reason on stderr. */
struct capture *capture_open(struct engine *e, const struct tables *tables, const char *dir);

/** End a capture that runs, and release everything. After engine_stop(). c may be NULL. */
void capture_close(struct capture *c);

/** Start a capture. A stream, of which the capture takes a copy of its own, begins with
 * CAPTURE_STREAM_ANSWER. Returns 0, or -errno with the reason in why (CAPTURE_WHY_MAX bytes) and no
 * file left behind. */
int capture_start(struct capture *c, const struct capture_spec *spec, char *why);

/** Ask the capture that runs to end; capture_watch() completes that. Returns 0, or -ENOENT where
 * none runs. */
int capture_stop(struct capture *c);

/** Take the taps out of the data path when a capture has ended. To be called every 20 ms or so. */
void capture_watch(struct capture *c);

/** Read the state of the present capture, or of the last one. */
void capture_read(const struct capture *c, struct capture_state *out);

/** An interface of a capture: a port or a task instance. */
struct capture_interface {
    char name[128];                /* "": the capture has no points here */
    uint64_t matched, taken, lost; /* as in struct tap_count, of all points of the interface */
    uint64_t packets;              /* in the file */
};

/** Read interface number i. Returns false behind the last one. */
bool capture_interface(const struct capture *c, unsigned i, struct capture_interface *out);

/** Name of a task's drop reason (number of a bit of capture_spec.reasons), or NULL where it has no
 * such reason. */
const char *capture_reason(const struct cfg_task *t, unsigned reason);

#endif
