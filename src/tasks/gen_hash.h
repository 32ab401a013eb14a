/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of the task gen: random numbers, each of which can be computed without the one before. */
#ifndef TASKS_GEN_HASH_H
#define TASKS_GEN_HASH_H

#include <stdint.h>

#define GOLDEN 0x9e3779b9u

/** A hash of 32 bits without bias (lowbias32 by Chris Wellons, public domain). Of a counter it
 * makes random numbers. */
static inline uint32_t hash(uint32_t x)
{
    x = (x ^ x >> 16) * 0x21f0aaad;
    x = (x ^ x >> 15) * 0x735a2d97;
    return x ^ x >> 15;
}

/** 32 bits of a seed of 64. */
static inline uint32_t hash_seed(uint64_t seed)
{
    return hash((uint32_t)seed) ^ hash((uint32_t)(seed >> 32) + GOLDEN);
}

#endif
