/* SPDX-License-Identifier: BSD-3-Clause */
/* The client of vbng's punt socket (packet/punt.h): frames of subscribers' lines, both ways. */
#ifndef CP_PUNT_H
#define CP_PUNT_H

#include "cp/cp.h"
#include "packet/punt.h"

struct punt;

/** What the user plane says of one of its access ports. */
struct punt_port {
    char name[PUNT_PORT_ROOM];
    uint8_t mac[6];
    uint16_t mtu;
};

/** Connect, now or as soon as there is somebody. Returns NULL without memory. */
struct punt *punt_open(struct cp *cp);
void punt_close(struct punt *p);

/** An access port of the user plane, or NULL: there is none, or no connection. */
const struct punt_port *punt_port(const struct punt *p, const char *name);

/** The MAC of an access port, as the user plane has said last, on this connection or before; NULL:
 * it never has. */
const uint8_t *punt_mac(const struct punt *p, const char *name);

/** Send a frame of n bytes to a line, with the port's MAC as its source, whatever stands there. It
 * waits for room in the socket, up to 4 MiB of them; without a connection it is lost, as on a wire:
 * its receiver asks again. */
void punt_send(struct punt *p, enum punt_kind kind, const struct session *line,
               const uint8_t *frame, size_t n);

/** The same for what is said once and never again: it waits for a connection, too. */
void punt_send_last(struct punt *p, enum punt_kind kind, const struct session *line,
                    const uint8_t *frame, size_t n);

#endif
