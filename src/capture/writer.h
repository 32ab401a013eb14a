/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The writer of a capture: a thread that empties the rings of all cores into a pcapng file, in the
 * order of the TSC. No other thread waits for the disk. struct capture is what the main thread
 * (capture.c) and the writer share.
 */
#ifndef CAPTURE_WRITER_H
#define CAPTURE_WRITER_H

#include <pthread.h>

#include "capture/capture.h"
#include "capture/match.h"
#include "capture/pcapng.h"

/** A port or a task instance. */
struct interface {
    char name[128];   /* "": no points in this capture */
    uint32_t number;  /* in the file */
    uint64_t packets; /* in the file; written by the writer, read by others */
};

struct capture {
    struct engine *e;
    const struct tables *tables;
    int folder;
    char *folder_path;

    /* of the present capture, or the last one; written before its writer starts */
    struct capture_spec spec; /* without its texts */
    char path[4096];
    struct frames_of frames_of;
    struct tap_wants wants;
    struct tap_set taps;
    unsigned n_interfaces; /* ports, then instances */
    struct interface *interface;
    uint64_t tsc_hz, start_tsc, start_ns;
    bool any;       /* a capture was started */
    bool installed; /* of the main thread: taps are, or may be, in the data path */
    bool writing;   /* of the main thread: the writer has not been joined */
    pthread_t writer;
    struct pcapng *file;

    /* between the main thread and the writer */
    bool stop;            /* set by the main thread */
    bool ended;           /* set by the writer, last of all */
    enum capture_end end; /* this and the rest are written by the writer, read by others */
    int error;
    uint64_t packets, bytes, cycles;
};

/** The thread: writes records until a bound is reached or stop is set. */
void *capture_writer(void *capture);

/** Sum up the counters of an interface over all cores and kinds. */
struct tap_count capture_count(const struct capture *c, unsigned interface);

#endif
