/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chains of tasks whose work one function does at once (struct chain_type): one look at each frame,
 * one pass that prefetches for all of them, headers written once. What a task asks of a packet and
 * writes into it is in the task's own header.
 */
#ifndef TASKS_FUSED_FUSED_H
#define TASKS_FUSED_FUSED_H

#include "engine/link.h"

#define N_CHAINS_UP     4
#define N_CHAINS_DOWN   2
#define N_CHAINS_TUNNEL 1

/** From an access port: classify > qinq_decap > route, and gre_encap, mpls_push or both. */
extern const struct chain_type chains_up[N_CHAINS_UP];
/** The same without classify, behind a scheduler. */
extern const struct chain_type chains_routed[N_CHAINS_UP];
/** From the core: mpls_pop > gre_decap, and qinq_encap. */
extern const struct chain_type chains_down[N_CHAINS_DOWN];
/** From a core without labels: gre_decap > qinq_encap. */
extern const struct chain_type chains_tunnel[N_CHAINS_TUNNEL];

#endif
