/* SPDX-License-Identifier: BSD-3-Clause */
/* Building the frame of a description: fields without a word are as the gateway expects them. */
#ifndef EXPLAIN_FRAME_H
#define EXPLAIN_FRAME_H

#include "config/model.h"
#include "explain/spec.h"
#include "tables/tables.h"

/**
 * Build the frame of a description, without FCS: it is addressed to the gateway's MAC on the port,
 * and comes from the MAC of the subscriber with these tags, or of a next hop on that port, where
 * that is known. A tunnel goes from a next hop's far end to the port's first address. Returns 0, or
 * -EINVAL with the reason in err. frame has room for SPEC_MAX_FRAME; port is the configuration's
 * number.
 */
int frame_build(const struct frame_spec *s, const struct cfg_model *m, const struct tables *t,
                unsigned *port, uint8_t *frame, uint32_t *len, char *err, size_t err_len);

#endif
