/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of a capture: what its files share. Nobody else includes this. */
#ifndef CAPTURE_CAPTURE_IMPL_H
#define CAPTURE_CAPTURE_IMPL_H

#include <pthread.h>

#include "capture/capture.h"
#include "capture/match.h"
#include "capture/pcapng.h"
#include "engine/tap_point.h"

/** Of one interface. packets: written by the writer, read by anyone. */
struct interface {
    char name[128];  /* "": it has no points in this capture */
    uint32_t number; /* in the file */
    uint64_t packets;
};

struct capture {
    struct engine *e;
    const struct tables *tables;
    int folder;
    char *folder_path;

    /* of the capture that runs, or of the last one; made before its writer starts */
    struct capture_spec spec; /* but for its texts */
    char path[4096];
    struct frames_of frames_of;
    struct tap_wants wants;
    struct tap_set taps;
    unsigned n_interfaces; /* ports, then instances */
    struct interface *interface;
    uint64_t tsc_hz, start_tsc, start_ns;
    bool any;       /* there was one */
    bool installed; /* the main thread's: its taps are, or may still be, in the data path */
    bool writing;   /* the main thread's: the writer has not been joined */
    pthread_t writer;
    struct pcapng *file;

    /* between the main thread and the writer */
    bool stop;            /* set by the main thread */
    bool ended;           /* set by the writer, last of all */
    enum capture_end end; /* what follows is the writer's; others read it with relaxed loads */
    int error;
    uint64_t packets, bytes, cycles;
};

/** The thread: writes what the rings bring until a bound is reached or stop is set. */
void *capture_writer(void *capture);

/* points.c: before the capture starts. */
void capture_make_wants(struct capture *c, const struct capture_spec *spec);
/** Give names and numbers to the ports and instances that have points. */
void capture_name_interfaces(struct capture *c);
void capture_write_interfaces(struct capture *c);

/** Packets that were wanted, and so on, of an interface, all cores and kinds together. */
struct tap_count capture_count(const struct capture *c, unsigned interface);

#endif
