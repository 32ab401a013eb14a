/* SPDX-License-Identifier: BSD-3-Clause */
/* In-memory wires: two ports of the configuration that are joined by two rings. */
#ifndef ENGINE_WIRE_H
#define ENGINE_WIRE_H

#include <stdbool.h>

#include "engine/port.h"

/** Is this port the end of a wire? */
bool wire_is(const struct cfg_port *cfg);

/** Make the device of port number i and the rings that its peer has not made. Returns 0 or -errno
 * with the reason on stderr. */
int wire_open(struct port *port, const struct plan *p, unsigned i);

#endif
