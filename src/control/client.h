/* SPDX-License-Identifier: BSD-3-Clause */
/* One client of the control socket: what it has sent and not been answered, what it has not taken.
 */
#ifndef CONTROL_CLIENT_H
#define CONTROL_CLIENT_H

#include <stdbool.h>

#include "control/control.h"

#define CLIENT_STILL_S 5 /* seconds after which a still client must give way to a new one */

struct client {
    int fd;         /* -1: the place is free */
    double active;  /* when it last sent or took something, CLOCK_MONOTONIC seconds */
    char *in, *out; /* requests; the answer under way, NULL: none */
    size_t n_in, room_in;
    size_t n_out, sent;
    size_t scanned; /* bytes of in that hold no line end */
    bool has_line;  /* in holds a whole line */
    bool ended;     /* it sends no more */
    bool closing;   /* to be closed once it has taken the answer */
};

void client_open(struct client *k, int fd, double now);
void client_close(struct client *k);

/** What to poll() for. */
short client_events(const struct client *k);

/** Can a request be answered without waiting for the client? */
bool client_has_request(const struct client *k);

/** Take, answer and send what is possible without waiting, at most one request. */
void client_serve(struct client *k, struct control *c, short revents, double now);

#endif
