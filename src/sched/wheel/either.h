/* SPDX-License-Identifier: BSD-3-Clause */
/* A choice without a branch. Free of DPDK. */
#ifndef SCHED_EITHER_H
#define SCHED_EITHER_H

#include <stdbool.h>
#include <stdint.h>

/** One of two numbers, without a branch: what follows from the packets is often foretold wrongly.
 * For x86-64 by the instruction that does it, as gcc makes a branch of a ternary, and takes twice
 * as many instructions for masks. */
static inline uint64_t wheel_either(bool condition, uint64_t then, uint64_t otherwise)
{
#ifdef __x86_64__
    __asm__("test %b[condition], %b[condition]\n\t"
            "cmovne %[then], %[otherwise]"
            : [otherwise] "+r"(otherwise)
            : [then] "r"(then), [condition] "q"(condition)
            : "cc");
    return otherwise;
#else
    return otherwise ^ ((then ^ otherwise) & -(uint64_t)condition);
#endif
}

#endif
