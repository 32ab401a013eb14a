/* SPDX-License-Identifier: BSD-3-Clause */
/* The control socket of vbng-cp: requests of doc/sessions.md, in the form of vbng's. */
#ifndef CP_CONTROL_H
#define CP_CONTROL_H

#include "cp/cp.h"

/** Serve a path in the loop. Returns NULL with the reason in the log. */
struct control_socket *cp_control_open(struct cp *cp, const char *path);
void cp_control_close(struct control_socket *c);

#endif
