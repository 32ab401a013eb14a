/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK's run-time folder of this process (/var/run/dpdk/vbng-PID for root), which EAL leaves
 * behind.
 */
#ifndef ENGINE_RUNTIME_H
#define ENGINE_RUNTIME_H

#define RUNTIME_PREFIX "vbng-" /* of EAL's --file-prefix */

/** Remove our own, at the end. */
void runtime_remove(void);

/** Remove those of other vbngs that were killed: their process is not there, and nobody has EAL's
 * lock on its configuration or, where there is none, listens on their telemetry socket (in another
 * container, the number says nothing). */
void runtime_sweep(void);

/** If name begins with the prefix and the number of a process that is not there: what follows
 * them; else NULL. */
const char *runtime_of_the_dead(const char *name);

#endif
