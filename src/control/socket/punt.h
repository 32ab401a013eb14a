/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The punt socket (packet/punt.h): messages between the task of type arp, which makes and checks
 * them, and a control plane, which is one client at a time. The main thread moves them, and never
 * waits: what a client does not take stays in the task's ring, and what the task has no room for
 * stays in the socket.
 */
#ifndef CONTROL_SOCKET_PUNT_H
#define CONTROL_SOCKET_PUNT_H

#include "control/control.h"
#include "control/socket/listener.h"

struct punt_socket;

/** Listen on the configuration's punt_socket. Returns NULL with the reason on stderr. */
struct punt_socket *punt_open(const struct control *c, const struct access *access);

/** Take in a client that comes, and move some messages both ways. NULL: nothing to do. */
void punt_serve(struct punt_socket *p);

/** How long the main thread may wait before the next punt_serve(), where it would wait so many
 * seconds. NULL is allowed. */
double punt_pace(const struct punt_socket *p, double seconds);

/** Give the client what is left for it, and take leave: when the cores have stopped. NULL is
 * allowed. */
void punt_finish(struct punt_socket *p);

/** Close all; NULL is allowed. */
void punt_close(struct punt_socket *p);

#endif
