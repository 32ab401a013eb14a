/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a gateway would lose with its process, kept in a file of JSON: live changes (delta.h) and
 * learned MACs. The file is written as a whole under another name, flushed and renamed, so that
 * there is always a whole one; by a thread of its own, since a disk may take its time. Subscribers
 * are called by their circuit, never by id. doc/faults.md describes the format.
 */
#ifndef CONTROL_STATE_H
#define CONTROL_STATE_H

#include "control/control.h"

struct state;

/**
 * Take back what the file says, and write it anew. A file that is damaged, of another configuration
 * or of another format is reported on stderr and put aside; one that is no such file at all is
 * reported and left alone, and nothing is saved. After control_open(), before the cores run.
 * Returns NULL with the reason on stderr: the path cannot be read or written.
 */
struct state *state_open(struct control *c, const char *path);

/** Save what has changed: about a second after a request that changes something, else every two
 * seconds at most. To be called every 20 ms or so by the main thread. */
void state_watch(struct state *s);

/** Save for the last time. Returns 0, or -errno with the reason on stderr. NULL is allowed. */
int state_close(struct state *s);

#endif
